#define _GNU_SOURCE /* cpu_set_t */
#include "real/calibrate/calibrate.h"

#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "kernels/kernels.h"
#include "real/calibrate/internal.h"
#include "real/communicator/kind.h"
#include "real/rank/kernel_threads.h"
#include "real/train/train.h"
#include "strategy/base/arena.h"

struct calibrate_options calibrate_options_default(void)
{
	return (struct calibrate_options){.threads = 1, .device = "cpu", .communicator = "ring"};
}

void calibrate_figures_release(struct calibrate_figures *f)
{
	free(f->list);
	*f = (struct calibrate_figures){0};
}

/* Models without kernels, and operations that no plan here has, were not measured. They get the largest rate of the
 * operation most like them, marked as assumed. The families of measured operations are never looked up. */
static void assume_the_rest(struct cluster *c)
{
	static const struct {
		int key;
		enum op_kind like;
	} families[] = {
	        {COMPUTE_FAMILY + KERNEL_ABSTRACT, OP_LINEAR_FORWARD},
	        {COMPUTE_DEFAULT, OP_NORM_FORWARD},
	};
	for (int type = TYPE_FP32; type < CLUSTER_TYPES; type++) {
		c->compute[COMPUTE_FAMILY + KERNEL_LINEAR][type].count = 0;
		c->compute[COMPUTE_FAMILY + KERNEL_ATTENTION][type].count = 0;
		for (size_t i = 0; i < sizeof families / sizeof *families; i++) {
			const struct curve *like = &c->compute[families[i].like][type];
			struct curve *curve = &c->compute[families[i].key][type];
			int64_t best = 0;
			for (int p = 0; p < like->count; p++)
				best = like->point[p].rate.value > best ? like->point[p].rate.value : best;
			*curve = (struct curve){.count = best ? 1 : 0};
			curve->point[0].work = 1;
			curve->point[0].rate = rate_assumed(best);
		}
	}
}

static void describe(struct cluster *c, const struct calibration *k)
{
	char day[16] = "", gpus[sizeof c->about];
	time_t now = time(NULL);
	struct tm t;
	if (localtime_r(&now, &t))
		strftime(day, sizeof day, "%Y-%m-%d", &t);
	if (k->cluster->kind == DEVICE_GPU) {
		snprintf(gpus, sizeof gpus, "%s", c->about);
		snprintf(c->about, sizeof c->about, "this machine, measured %s with %d rank%s, %s %s%s%s: %.140s", day,
		         k->ranks, k->ranks == 1 ? "" : "s", status_words("{comm}"), k->options->communicator,
		         k->options->no_graph ? ", " : "", k->options->no_graph ? status_words("{no_graph}") : "",
		         gpus);
		return;
	}
	snprintf(c->about, sizeof c->about,
	         "this machine, measured %s with %d rank%s of %d thread%s: %s, OpenBLAS core %s%s", day, k->ranks,
	         k->ranks == 1 ? "" : "s", k->options->threads, k->options->threads == 1 ? "" : "s",
	         kernels_instruction_set(), kernels_blas_core(), kernels_forced_core() ? " (forced)" : "");
}

static enum status measure_cpu(struct calibration *k)
{
	enum status s = STATUS_OK;
	k->cluster->threads = k->options->threads;
	k->tasks = calibrate_compute_tasks(k) + calibrate_links_tasks(k);
	k->alone = true;
	if (!k->rank)
		s = calibrate_compute(k);
	k->alone = false;
	calibrate_wait_for_first(k);
	if (!s)
		s = calibrate_together(k);
	if (!s && k->ranks > 1)
		s = calibrate_links(k);
	return s;
}

static enum status measure(struct calibration *k)
{
	enum status s = kernel_threads_start(k->options->threads);
	if (!s)
		s = k->cluster->kind == DEVICE_GPU ? calibrate_cuda(k) : measure_cpu(k);
	if (s)
		return s;
	if (!k->rank)
		curve_points_fill(&k->points, k->cluster);
	assume_the_rest(k->cluster);
	describe(k->cluster, k);
	return STATUS_OK;
}

static enum status join(struct calibration *k, bool *ours)
{
	int initialized = 0;
	*ours = false;
	k->ranks = k->local_ranks = 1;
	MPI_Initialized(&initialized);
	if (!initialized && !train_under_mpi(&k->rank, &k->ranks))
		return STATUS_OK;
	enum status s = initialized ? STATUS_OK : communicator_start_mpi();
	if (s) {
		k->ranks = 1; /* it is alone */
		return s;
	}
	*ours = !initialized;
	if ((s = communicator_deadline("meeting")))
		return s;
	MPI_Comm_rank(MPI_COMM_WORLD, &k->rank);
	MPI_Comm_size(MPI_COMM_WORLD, &k->ranks);
	MPI_Comm world = MPI_COMM_WORLD;
	MPI_Comm_split_type(world, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &k->node);
	MPI_Comm_rank(k->node, &k->local_rank);
	MPI_Comm_size(k->node, &k->local_ranks);
	calibrate_gather(k, world);
	const char *name = communicator_kind(k->options->communicator)->host;
	s = k->ranks > 1 ? communicator_open(&k->communicator, name, &world) : STATUS_OK;
	communicator_deadline_end();
	return s;
}

/* Two machines differ in the boot of the kernel, or in the cores that it lets the host have. */
struct machine {
	char boot[64];
	cpu_set_t cores;
};

static struct machine machine_here(void)
{
	struct machine m;
	memset(&m, 0, sizeof m);
	FILE *f = fopen("/proc/sys/kernel/random/boot_id", "r");
	if (f) {
		if (!fgets(m.boot, sizeof m.boot, f))
			*m.boot = 0;
		fclose(f);
	}
	(void)sched_getaffinity(0, sizeof m.cores, &m.cores); /* left empty, and the same for all, where it fails */
	return m;
}

/* Hosts that are containers or namespaces of one machine share its cores. Without a boot's name each host is one. */
static void meet_on_machine(struct calibration *k)
{
	struct machine ours = machine_here(), *all = array_make((size_t)k->ranks, sizeof *all);
	int first = k->rank, least;
	CALIBRATE_WAITS(MPI_Bcast(&ours, sizeof ours, MPI_BYTE, 0, k->node));
	CALIBRATE_WAITS(MPI_Allgather(&ours, sizeof ours, MPI_BYTE, all, sizeof ours, MPI_BYTE, MPI_COMM_WORLD));
	for (int i = k->rank; *ours.boot && i >= 0; i--)
		if (!memcmp(&all[i], &ours, sizeof ours))
			first = i;
	CALIBRATE_WAITS(MPI_Allreduce(&first, &least, 1, MPI_INT, MPI_MIN, k->node));
	free(all);
	CALIBRATE_WAITS(MPI_Comm_split(MPI_COMM_WORLD, least, k->rank, &k->machine));
	MPI_Comm_size(k->machine, &k->machine_ranks);
	int hosts = (k->machine_ranks + k->local_ranks - 1) / k->local_ranks;
	k->cluster->together = hosts > 1 ? hosts : 0;
}

/* With several machines, the ranks of each machine are one group, and one rank of every machine is another. */
static enum status part(struct calibration *k)
{
	struct communicator *all = k->communicator, *here = NULL;
	int first = k->rank, several = k->local_ranks < k->ranks, anywhere = several;
	if (k->ranks > 1)
		CALIBRATE_WAITS(MPI_Allreduce(&several, &anywhere, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD));
	if (!anywhere)
		return STATUS_OK;
	CALIBRATE_WAITS(MPI_Bcast(&first, 1, MPI_INT, 0, k->node));
	CALIBRATE_WAITS(MPI_Comm_split(MPI_COMM_WORLD, k->local_rank ? MPI_UNDEFINED : 0, k->rank, &k->hosts));
	enum status s = communicator_split(&here, all, first, k->rank);
	if (!s)
		s = communicator_split(&k->between, all, k->local_rank ? -1 : 0, k->rank);
	communicator_close(all);
	k->communicator = here;
	if (here && here->ranks == 1) {
		communicator_close(here);
		k->communicator = NULL;
	}
	return s;
}

static void leave(struct calibration *k, bool ours)
{
	communicator_close(k->communicator);
	communicator_close(k->between);
	if (k->ranks > 1 && k->hosts != MPI_COMM_NULL)
		MPI_Comm_free(&k->hosts);
	if (k->ranks > 1)
		MPI_Comm_free(&k->node);
	if (k->ranks > 1 && k->machine != MPI_COMM_NULL)
		MPI_Comm_free(&k->machine);
	if (ours)
		communicator_end_mpi();
}

enum status calibrate_check(const struct calibrate_options *o, int64_t ranks)
{
	const struct device_choice choice = {
	        .name = o->device, .collectives = o->communicator, .eager = o->no_graph, .local_ranks = (int)ranks};
	const struct device_table *table;
	enum status s = device_find(o->device, &table);
	if (!s && table->kind == DEVICE_CPU && communicator_kind(o->communicator)->library)
		return status_fail(
		        STATUS_INPUT,
		        "{comm} %s: between processors calibrate measures ring; leave it out, or say {device} cuda",
		        o->communicator);
	return s ? s : table->check(&choice, NULL);
}

enum status calibrate_run(const struct calibrate_options *o, struct cluster *out, struct calibrate_figures *figures)
{
	struct calibration k = {.options = o,
	                        .cluster = out,
	                        .figures = figures,
	                        .group_ranks = 1,
	                        .group = MPI_COMM_NULL,
	                        .node = MPI_COMM_NULL,
	                        .hosts = MPI_COMM_NULL,
	                        .machine = MPI_COMM_NULL,
	                        .machine_ranks = 1};
	bool ours = false;
	*out = (struct cluster){0};
	*figures = (struct calibrate_figures){0};
	const struct device_table *table;
	enum status s = device_find(o->device, &table);
	if (!s)
		s = join(&k, &ours);
	if (!s)
		s = cluster_local_assumed(out, table->kind);
	if (!s && table->kind == DEVICE_CPU && k.ranks > 1)
		meet_on_machine(&k);
	if (!s && table->kind == DEVICE_CPU)
		s = part(&k);
	if (!s)
		s = measure(&k);
	/* A rank that failed alone would leave the others waiting. */
	if (s && k.ranks > 1) {
		fprintf(stderr, "fatal: rank %d: %s\n", k.rank, status_message());
		MPI_Abort(MPI_COMM_WORLD, status_exit_code(s));
	}
	if (s || k.rank) {
		cluster_release(out);
		*out = (struct cluster){0};
	}
	curve_points_release(&k.points);
	leave(&k, ours);
	return s;
}
