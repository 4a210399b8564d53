#include "tests/support/cuda_runs.h"

#include <stdio.h>
#include <string.h>

#include "real/cuda/library.h"
#include "real/train/train.h"
#include "tests/support/fake_cuda.h"
#include "tests/support/measured.h"
#include "tests/support/ranks.h"
#include "tests/support/runs.h"

enum { MOST_RANKS = 4 };

static const char gpt[] = "gpt:layers=2,width=32,heads=2,context=16", mlp[] = "mlp:sizes=48-33-17-10";

static bool train(const struct request *q, const char *device, const char *communicator, int steps, struct report *out)
{
	struct train_options o = train_options_default();
	o.settings = request_settings(q);
	o.device = device;
	o.communicator = communicator;
	o.steps = steps;
	o.data = runs_data(q->model);
	enum status s = train_run(&o, out);
	ranks_check(s == STATUS_OK, "%s, %s, --comm %s: %s", q->strategy, device, communicator, status_message());
	return s == STATUS_OK;
}

bool cuda_runs_train(struct cuda_runs *r, const struct request *q, const char *communicator, int steps)
{
	static uint64_t seed;
	bool ring = !strcmp(communicator, "ring"), nccl = !strcmp(communicator, "nccl");
	struct request request = *q;
	request.ranks = ranks_count;
	request.bucket = 4096; /* several */
	request.library_collectives = !ring;
	snprintf(r->what, sizeof r->what, "%.3s, %s, %s, --comm %s", q->model, q->strategy,
	         q->offload ? q->offload : "", communicator);
	seed++;
	cuda_library_use(fake_cuda(&(struct fake_cuda_settings){.seed = seed * 8 + (uint64_t)rank_number,
	                                                        .devices = nccl ? ranks_count : 0}));
	if (!train(&request, "cpu", nccl ? "mpi" : communicator, steps, &r->cpu))
		return false;
	if (!train(&request, "cuda", communicator, steps, &r->cuda)) {
		report_release(&r->cpu);
		return false;
	}
	compare_with_plan(r->what, &request, &r->cuda, ring ? COUNTED_ALL : nccl ? COUNTED_MESSAGES : COUNTED_CONTROL);
	ranks_check(fake_cuda_counts()->live == 0, "%s: %lld allocations are left", r->what,
	            (long long)fake_cuda_counts()->live);
	return true;
}

void cuda_runs_release(struct cuda_runs *r)
{
	report_release(&r->cpu);
	report_release(&r->cuda);
}

static void each_strategy(void (*try_request)(const struct request *))
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

static void each_other(void (*try_request)(const struct request *))
{
	static const struct {
		bool ranks[MOST_RANKS + 1];
		struct request request;
	} others[] = {
	        {{0, 1, 1, 1, 1}, {.model = gpt, .strategy = "zero3", .precision = TYPE_BF16, .micro_batch = 2}},
	        {{0, 1, 1, 1, 1},
	         {.model = gpt, .strategy = "zero2", .precision = TYPE_FP16, .clip = 1, .micro_batch = 2}},
	        {{0, 1, 1, 1, 1}, {.model = gpt, .strategy = "zero2", .offload = "optimizer", .micro_batch = 2}},
	        {{0, 1, 1, 1, 1},
	         {.model = gpt, .strategy = "zero3", .offload = "optimizer,parameters", .clip = 1, .micro_batch = 2}},
	        /* of 2 samples, a difference near 0 is divided by itself: no two orders of sums would agree */
	        {{0, 1, 1, 1, 1}, {.model = "mlp:sizes=48-33-17-10,norm=batch", .strategy = "ddp", .micro_batch = 8}},
	        {{0, 1, 1, 1, 1},
	         {.model = "mlp:sizes=48-33-17-10,norm=sync-batch", .strategy = "ddp", .micro_batch = 2}},
	        {{0, 0, 1, 0, 1}, {.model = gpt, .strategy = "hybrid:shard=2", .micro_batch = 2}},
	        {{0, 0, 1, 0, 1},
	         {.model = "gpt:layers=2,width=32,heads=4,context=16", .strategy = "tensor", .micro_batch = 4}},
	        {{0, 0, 1, 1, 0}, {.model = gpt, .strategy = "pipeline", .accumulate = 2, .micro_batch = 2}},
	};
	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		if (others[i].ranks[ranks_count])
			try_request(&others[i].request);
}

void cuda_runs_each(void (*try_request)(const struct request *))
{
	if (ranks_count > MOST_RANKS) {
		try_request(&(struct request){.model = mlp, .strategy = "fsdp", .micro_batch = 2});
		return;
	}
	each_strategy(try_request);
	each_other(try_request);
}
