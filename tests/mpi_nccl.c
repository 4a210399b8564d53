/* The CUDA executor with NCCL on all ranks of this job, on stand-ins for both (tests/support/fake_cuda.h, fake_nccl.h):
 *
 *     mpirun --oversubscribe --bind-to none -n 3 build/tests/mpi_nccl
 *
 * Every strategy gives the losses that the CPU device gives, whose sums are made in another order; calls and payload
 * are the plan's, and steps are replayed. */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>

#include "real/cuda_library.h"
#include "real/train.h"
#include "tests/support/fake_cuda.h"
#include "tests/support/fake_nccl.h"
#include "tests/support/measured.h"
#include "tests/support/plans.h"
#include "tests/support/ranks.h"
#include "tests/support/runs.h"

enum { STEPS = 6, MOST_RANKS = 4 };

static const char gpt[] = "gpt:layers=2,width=32,heads=2,context=16", mlp[] = "mlp:sizes=48-33-17-10";

static bool train(const struct request *r, const char *device, const char *communicator, struct report *out)
{
	struct train_options o = train_options_default();
	o.settings = request_settings(r);
	o.device = device;
	o.communicator = communicator;
	o.steps = STEPS;
	o.data = runs_data(!strncmp(r->model, "gpt", 3));
	enum status s = train_run(&o, out);
	ranks_check(s == STATUS_OK, "%s, %s, --comm %s: %s", r->strategy, device, communicator, status_message());
	return s == STATUS_OK;
}

static void compare(const char *what, const struct report *cpu, const struct report *cuda, double limit)
{
	for (int i = 0; i < STEPS && !rank_number; i++)
		ranks_check(fabs(cuda->losses[i] / cpu->losses[i] - 1) <= limit,
		            "%s: step %d: loss %.9g, the CPU has %.9g", what, i + 1, cuda->losses[i], cpu->losses[i]);
}

/* replays: all of a step is the GPU's. */
static void try_request(const struct request *q, bool replays)
{
	static uint64_t seed;
	struct request r = *q;
	struct report cpu, cuda;
	char what[256];
	int64_t calls = fake_nccl_calls();
	r.ranks = ranks_count;
	r.bucket = 4096; /* several */
	r.library_collectives = true;
	snprintf(what, sizeof what, "%.3s, %s, %s", r.model, r.strategy, r.offload ? r.offload : "");
	seed++;
	cuda_library_use(fake_cuda(
	        &(struct fake_cuda_settings){.seed = seed * 8 + (uint64_t)rank_number, .devices = ranks_count}));
	if (!train(&r, "cpu", "mpi", &cpu) || !train(&r, "cuda", "nccl", &cuda))
		return;
	compare(what, &cpu, &cuda, r.precision == TYPE_FP32 ? 1e-6 : 1e-3);
	compare_with_plan(what, &r, &cuda, COUNTED_MESSAGES);
	ranks_check(fake_cuda_counts()->live == 0, "%s: %lld allocations are left", what,
	            (long long)fake_cuda_counts()->live);
	ranks_check(fake_cuda_counts()->launches == (replays ? STEPS - 2 : 0), "%s: %lld replayed", what,
	            (long long)fake_cuda_counts()->launches);
	ranks_check((fake_nccl_calls() > calls) == (ranks_count > 1), "%s: NCCL was called %lld times", what,
	            (long long)(fake_nccl_calls() - calls));
	report_release(&cpu);
	report_release(&cuda);
}

static void try_strategies(void)
{
	for (int i = ranks_count > 1; strategy_at(i); i++) {
		struct request r = {
		        .model = i % 2 ? gpt : mlp, .strategy = strategy_at(i)->name, .accumulate = 1 + i % 2};
		struct settings s = {.ranks = ranks_count};
		snprintf(s.strategy, sizeof s.strategy, "%s", r.strategy);
		r.micro_batch = 2 * ranks_count / strategy_data_ranks(&s);
		try_request(&r, true);
	}
}

static void try_others(void)
{
	try_request(&(struct request){.model = gpt, .strategy = "zero3", .precision = TYPE_BF16, .micro_batch = 2},
	            true);
	try_request(
	        &(struct request){
	                .model = gpt, .strategy = "zero2", .precision = TYPE_FP16, .clip = 1, .micro_batch = 2},
	        true);
	try_request(&(struct request){.model = gpt,
	                              .strategy = "zero3",
	                              .offload = "optimizer,parameters",
	                              .clip = 1,
	                              .micro_batch = 2},
	            false);
	try_request(&(struct request){.model = "mlp:sizes=48-33-17-10,norm=sync-batch",
	                              .strategy = "ddp",
	                              .micro_batch = 2},
	            true);
	if (ranks_count == 2 || ranks_count == 4) {
		try_request(&(struct request){.model = gpt, .strategy = "hybrid:shard=2", .micro_batch = 2}, true);
		try_request(&(struct request){.model = "gpt:layers=2,width=32,heads=4,context=16",
		                              .strategy = "tensor",
		                              .micro_batch = 4},
		            true);
	}
	if (ranks_count == 2 || ranks_count == 3)
		try_request(&(struct request){.model = gpt, .strategy = "pipeline", .accumulate = 2, .micro_batch = 2},
		            true);
}

int main(int argc, char **argv)
{
	runs_begin(&argc, &argv, 60, 20);
	if (!fake_nccl()) {
		if (!rank_number)
			puts("there is no nccl.h: nothing to try");
	} else if (ranks_count <= MOST_RANKS) {
		try_strategies();
		try_others();
	} else {
		try_request(&(struct request){.model = mlp, .strategy = "fsdp", .micro_batch = 2}, true);
	}
	cuda_library_use(NULL);
	return runs_finish("mpi_nccl");
}
