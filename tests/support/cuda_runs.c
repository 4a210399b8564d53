#include "tests/support/cuda_runs.h"

#include <stdio.h>
#include <string.h>

#include "real/cuda/library.h"
#include "tests/support/fake_cuda.h"
#include "tests/support/measured.h"
#include "tests/support/ranks.h"
#include "tests/support/runs.h"

enum { MOST_RANKS = 4 };

#define GPT "gpt:layers=2,width=32,heads=2,context=16"
#define MLP "mlp:sizes=48-33-17-10"
/* Grouped queries, norms of heads, a window shorter than the text; heads that two, three and four ranks can share. */
#define LLAMA "llama:layers=2,width=48,heads=24,kv_heads=12,head_size=4,hidden=72,context=24,qk_norm=yes,window=7"
#define MPT "mpt:layers=2,width=48,heads=12,context=24,vocabulary=257"
#define OPT "opt:layers=2,width=48,heads=12,context=24,vocabulary=257,hidden=72"

static const struct report *train(const struct settings *q, const char *device, const char *communicator, int steps)
{
	struct train_options o = runs_options(q, &(struct runs_how){.steps = steps, .communicator = communicator});
	o.device = device;
	return runs_run(q, &o);
}

bool cuda_runs_train(struct cuda_runs *r, const struct settings *q, const char *communicator, int steps)
{
	static uint64_t seed;
	bool ring = !strcmp(communicator, "ring"), nccl = !strcmp(communicator, "nccl");
	seed++;
	cuda_library_use(fake_cuda(&(struct fake_cuda_settings){.seed = seed * 8 + (uint64_t)rank_number,
	                                                        .devices = nccl ? ranks_count : 0}));
	struct settings library = *q;
	library.library_collectives = !ring;
	r->cpu = train(&library, "cpu", nccl ? "mpi" : communicator, steps);
	r->cuda = r->cpu ? train(&library, "cuda", communicator, steps) : NULL;
	if (!r->cuda)
		return false;
	compare_with_plan(&library, r->cuda, ring ? COUNTED_ALL : nccl ? COUNTED_MESSAGES : COUNTED_CONTROL);
	ranks_check(fake_cuda_counts()->live == 0, "%s, %s: %lld allocations are left", runs_name(q), communicator,
	            (long long)fake_cuda_counts()->live);
	return true;
}

/* Buckets are small: there are several. */
static struct settings on_all_ranks(const char *words)
{
	return settings_of("%s ranks=%d bucket=4096", words, ranks_count);
}

static void each_strategy(void (*try_settings)(const struct settings *))
{
	for (int i = ranks_count > 1; strategy_at(i); i++) {
		struct settings s = on_all_ranks(i % 2 ? GPT " accumulate=2" : MLP);
		snprintf(s.strategy, sizeof s.strategy, "%s", strategy_at(i)->name);
		s.micro_batch = 2 * ranks_count / strategy_data_ranks(&s);
		try_settings(&s);
	}
}

static void each_other(void (*try_settings)(const struct settings *))
{
	static const struct {
		bool ranks[MOST_RANKS + 1];
		const char *words;
	} others[] = {
	        {{0, 1, 1, 1, 1}, GPT " zero3:save=16bit micro_batch=2 precision=bf16"},
	        {{0, 1, 1, 1, 1}, GPT " zero2 micro_batch=2 precision=fp16 clip=1"},
	        {{0, 1, 1, 1, 1}, GPT " zero2 micro_batch=2 offload=optimizer"},
	        {{0, 1, 1, 1, 1}, GPT " zero3 micro_batch=2 offload=optimizer,parameters clip=1"},
	        /* of 2 samples, a difference near 0 is divided by itself: no two orders of sums would agree */
	        {{0, 1, 1, 1, 1}, MLP ",norm=batch ddp micro_batch=8"},
	        {{0, 1, 1, 1, 1}, MLP ",norm=sync-batch ddp micro_batch=2"},
	        {{0, 0, 1, 0, 1}, GPT " hybrid:shard=2 micro_batch=2"},
	        {{0, 0, 1, 0, 1}, "gpt:layers=2,width=32,heads=4,context=16 tensor micro_batch=4"},
	        {{0, 0, 1, 1, 0}, GPT " pipeline micro_batch=2 accumulate=2"},
	        {{0, 1, 1, 0, 1}, LLAMA " zero3 micro_batch=2 precision=bf16"},
	        {{0, 0, 1, 1, 0}, LLAMA ",bias=all tensor micro_batch=4"},
	        {{0, 0, 1, 1, 0}, LLAMA ",tied=yes pipeline micro_batch=2 accumulate=2"},
	        {{0, 0, 1, 0, 0}, MPT " fsdp micro_batch=2 accumulate=2"},
	        {{0, 0, 0, 1, 1}, MPT " tensor micro_batch=4 precision=bf16"},
	        {{0, 0, 1, 0, 0}, OPT " zero2 micro_batch=2 offload=optimizer"},
	        {{0, 0, 0, 1, 0}, OPT " tensor:sequence=yes micro_batch=4"},
	};
	for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
		struct settings s = on_all_ranks(others[i].words);
		if (others[i].ranks[ranks_count])
			try_settings(&s);
	}
}

void cuda_runs_each(void (*try_settings)(const struct settings *))
{
	if (ranks_count > MOST_RANKS) {
		struct settings s = on_all_ranks(MLP " fsdp micro_batch=2");
		try_settings(&s);
		return;
	}
	each_strategy(try_settings);
	each_other(try_settings);
}
