/* The CUDA executor on all ranks of this job, each with a GPU of functions (tests/support/fake_cuda.h):
 *
 *     mpirun --oversubscribe --bind-to none -n 3 build/tests/mpi/mpi_cuda
 *
 * Staged through pinned memory by `ring` and by `mpi`, every strategy gives the bits that the CPU device gives, and
 * what was measured is what the plan says, byte by byte. Ranks go on in orders of their own. */
#include <mpi.h>
#include <string.h>

#include "real/calibrate/cuda.h"
#include "real/cuda/library.h"
#include "tests/support/cuda_runs.h"
#include "tests/support/fake_cuda.h"
#include "tests/support/ranks.h"
#include "tests/support/runs.h"

enum { STEPS = 4, MOST_RANKS = 4 };

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

static void try_settings(const struct settings *q)
{
	static const char *const communicators[] = {"ring", "mpi"};
	for (int i = 0; i < 2; i++) {
		struct cuda_runs r;
		if (!cuda_runs_train(&r, q, communicators[i], STEPS))
			return;
		compare(runs_name(q), r.cpu, r.cuda);
		/* One rank's steps are replayed; what is staged by the host is not. */
		ranks_check((fake_cuda_counts()->launches > 0) == (ranks_count == 1 && !q->offload.optimizer),
		            "%s: %lld replayed", runs_name(q), (long long)fake_cuda_counts()->launches);
	}
}

/* The link between ranks that share a GPU is measured; rank 0 has the figures. */
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
	cuda_runs_each(try_settings);
	if (ranks_count > 1 && ranks_count <= MOST_RANKS) {
		try_links("ring");
		try_links("mpi");
	}
	cuda_library_use(NULL);
	return runs_finish("mpi_cuda");
}
