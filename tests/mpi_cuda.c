/* The CUDA executor on all ranks of this job, each with a GPU of functions (tests/support/fake_cuda.h):
 *
 *     mpirun --oversubscribe --bind-to none -n 3 build/tests/mpi_cuda
 *
 * Staged through pinned memory by `ring` and by `mpi`, every strategy gives the bits that the CPU device gives, and
 * what was measured is what the plan says, byte by byte. Ranks go on in orders of their own. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

#include "real/calibrate_cuda.h"
#include "real/cuda_library.h"
#include "real/train.h"
#include "tests/support/fake_cuda.h"
#include "tests/support/measured.h"
#include "tests/support/plans.h"
#include "tests/support/ranks.h"
#include "tests/support/runs.h"

enum { STEPS = 4, MOST_RANKS = 4 };

static const char gpt[] = "gpt:layers=2,width=32,heads=2,context=16", mlp[] = "mlp:sizes=48-33-17-10";

static bool train(const struct request *q, const char *device, const char *communicator, struct report *out)
{
	struct train_options o = train_options_default();
	struct request r = *q;
	r.library_collectives = !strcmp(communicator, "mpi");
	o.settings = request_settings(&r);
	o.device = device;
	o.communicator = communicator;
	o.steps = STEPS;
	o.data = runs_data(!strncmp(r.model, "gpt", 3));
	enum status s = train_run(&o, out);
	ranks_check(s == STATUS_OK, "%s, %s, --comm %s: %s", q->strategy, device, communicator, status_message());
	return s == STATUS_OK;
}

static void compare(const char *what, const struct report *cpu, const struct report *cuda)
{
	if (rank_number)
		return;
	for (int i = 0; i < STEPS; i++)
		ranks_check(!memcmp(&cpu->losses[i], &cuda->losses[i], sizeof(double)),
		            "%s: step %d: loss %.17g, the CPU has %.17g", what, i + 1, cuda->losses[i], cpu->losses[i]);
	ranks_check(!strcmp(cpu->weights_checksum, cuda->weights_checksum), "%s: checksum %s, the CPU has %s", what,
	            cuda->weights_checksum, cpu->weights_checksum);
	ranks_check(cpu->validation_loss == cuda->validation_loss, "%s: validation %.17g, the CPU has %.17g", what,
	            cuda->validation_loss, cpu->validation_loss);
}

static void try_request(const struct request *q)
{
	static const char *const communicators[] = {"ring", "mpi"};
	static uint64_t seed;
	struct request r = *q;
	r.ranks = ranks_count;
	r.bucket = 4096; /* several */
	for (int i = 0; i < 2; i++) {
		struct report cpu, cuda;
		char what[256];
		snprintf(what, sizeof what, "%.3s, %s, %s, --comm %s", r.model, r.strategy, r.offload ? r.offload : "",
		         communicators[i]);
		seed++;
		cuda_library_use(fake_cuda(&(struct fake_cuda_settings){.seed = seed * 8 + (uint64_t)rank_number}));
		if (!train(&r, "cpu", communicators[i], &cpu) || !train(&r, "cuda", communicators[i], &cuda))
			return;
		compare(what, &cpu, &cuda);
		compare_with_plan(what, &r, &cuda, i ? COUNTED_CONTROL : COUNTED_ALL);
		ranks_check(fake_cuda_counts()->live == 0, "%s: %lld allocations are left", what,
		            (long long)fake_cuda_counts()->live);
		/* One rank's steps are replayed; what is staged by the host is not. */
		ranks_check((fake_cuda_counts()->launches > 0) == (ranks_count == 1 && !r.offload), "%s: %lld replayed",
		            what, (long long)fake_cuda_counts()->launches);
		report_release(&cpu);
		report_release(&cuda);
	}
}

static void try_strategies(void)
{
	for (int i = ranks_count > 1; strategy_at(i); i++) {
		struct request r = {
		        .model = i % 2 ? gpt : mlp, .strategy = strategy_at(i)->name, .accumulate = 1 + i % 2};
		struct settings s = {.ranks = ranks_count};
		snprintf(s.strategy, sizeof s.strategy, "%s", r.strategy);
		r.micro_batch = 2 * ranks_count / strategy_data_ranks(&s);
		try_request(&r);
	}
}

static void try_others(void)
{
	try_request(&(struct request){.model = gpt, .strategy = "zero3", .precision = TYPE_BF16, .micro_batch = 2});
	try_request(&(struct request){
	        .model = gpt, .strategy = "zero2", .precision = TYPE_FP16, .clip = 1, .micro_batch = 2});
	try_request(&(struct request){.model = gpt, .strategy = "zero2", .offload = "optimizer", .micro_batch = 2});
	try_request(&(struct request){
	        .model = gpt, .strategy = "zero3", .offload = "optimizer,parameters", .clip = 1, .micro_batch = 2});
	try_request(
	        &(struct request){.model = "mlp:sizes=48-33-17-10,norm=batch", .strategy = "ddp", .micro_batch = 2});
	if (ranks_count == 2 || ranks_count == 4) {
		try_request(&(struct request){.model = gpt, .strategy = "hybrid:shard=2", .micro_batch = 2});
		try_request(&(struct request){
		        .model = "gpt:layers=2,width=32,heads=4,context=16", .strategy = "tensor", .micro_batch = 4});
	}
	if (ranks_count == 2 || ranks_count == 3)
		try_request(&(struct request){.model = gpt, .strategy = "pipeline", .accumulate = 2, .micro_batch = 2});
}

/* What ranks that share a GPU have between them: measured, on rank 0, and as one link. */
static void try_links(const char *name)
{
	struct calibrate_options o = calibrate_options_default();
	struct calibrate_figures figures = {0};
	struct cluster cluster = {.kind = DEVICE_GPU};
	struct calibration_gpu gpu = {.choice = {.name = "cuda", .collectives = name, .local_ranks = ranks_count},
	                              .count = 1};
	MPI_Comm world = MPI_COMM_WORLD;
	struct calibration k = {.options = &o,
	                        .cluster = &cluster,
	                        .figures = &figures,
	                        .rank = rank_number,
	                        .ranks = ranks_count,
	                        .local_rank = rank_number,
	                        .local_ranks = ranks_count,
	                        .gpu = &gpu};
	o.communicator = name;
	o.quick = true;
	k.tasks = calibrate_cuda_links_tasks(&k);
	cuda_library_use(fake_cuda(&(struct fake_cuda_settings){.seed = (uint64_t)rank_number}));
	enum status s = communicator_open(&k.communicator, name, &world);
	if (!s)
		s = calibrate_cuda_links(&k);
	ranks_check(s == STATUS_OK, "links by %s: %s", name, status_message());
	ranks_check(fake_cuda_counts()->live == 0, "links by %s: %lld allocations are left", name,
	            (long long)fake_cuda_counts()->live);
	const struct rate *rates[] = {&cluster.link.latency, &cluster.link.bandwidth};
	for (int i = 0; i < 2; i++)
		ranks_check(rates[i]->measured && rates[i]->value > 0 && rates[i]->low <= rates[i]->value &&
		                    rates[i]->value <= rates[i]->high,
		            "links by %s: rate %d is %lld", name, i, (long long)rates[i]->value);
	ranks_check(cluster.collective_launch.measured && cluster.collective_launch.value >= 0,
	            "links by %s: the launch is %lld", name, (long long)cluster.collective_launch.value);
	ranks_check(cluster.collective_share.measured && !cluster.collective_share.value,
	            "links by %s: of the GPU, a share", name);
	/* three collectives at each size */
	ranks_check((int)figures.count == (rank_number ? 0 : 3 * k.tasks), "links by %s: %d figures", name,
	            (int)figures.count);
	ranks_check(k.tasks_done == k.tasks, "links by %s: %d of %d tasks", name, k.tasks_done, k.tasks);
	calibrate_figures_release(&figures);
	communicator_close(k.communicator);
}

int main(int argc, char **argv)
{
	runs_begin(&argc, &argv, 60, 20);
	if (ranks_count <= MOST_RANKS) {
		try_strategies();
		try_others();
	} else {
		try_request(&(struct request){.model = mlp, .strategy = "fsdp", .micro_batch = 2});
	}
	if (ranks_count > 1 && ranks_count <= MOST_RANKS) {
		try_links("ring");
		try_links("mpi");
	}
	cuda_library_use(NULL);
	return runs_finish("mpi_cuda");
}
