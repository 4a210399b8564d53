/* The Llama family on all ranks of this job, under every strategy; run at 1, 2, 3, 4 and 8 ranks:
 *
 *     mpirun --oversubscribe --bind-to none -n 2 build/tests/mpi/mpi_llama
 *     LLAMA_CASES=all mpirun --oversubscribe --bind-to none -n 2 -x LLAMA_CASES build/tests/mpi/mpi_llama
 *
 * Losses are those of one rank with the same global batch, and what was measured is what the plan says, byte by byte:
 * strategies × precisions × what is made again × what is on the host. Of a strategy's twelve cases two are run at 2 and
 * 4 ranks and one elsewhere, others at each number of ranks; with LLAMA_CASES=all every one. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/measured.h"
#include "tests/support/plans.h"
#include "tests/support/ranks.h"
#include "tests/support/runs.h"
#include "tests/support/suite.h"

enum { STEPS = 6, MICRO_BATCH = 2, CASES = 12 };

/* fp32's limit is 1e-4; in bf16 sums are rounded at another place. */
static const struct {
	const char *words;
	double limit;
} precisions[] = {{"precision=fp32", 1e-4}, {"precision=bf16", 1e-3}};
static const char *const again[] = {"activation_checkpointing=none", "activation_checkpointing=full",
                                    "activation_checkpointing=selective"};
static const char *const host[] = {"offload=none", "offload=optimizer"};
static double worst[2];

/* Grouped queries, biases and norms of heads; a head that is tied or not. */
#define BLOCK "layers=3,width=32,heads=4,kv_heads=2,hidden=44,context=16,bias=qkv"
/* Heads of keys and all sizes but the vocabulary divide by every number of ranks. */
#define DIVISIBLE "layers=2,width=48,heads=48,kv_heads=24,head_size=4,hidden=72,context=24,vocabulary=257"

static const struct {
	const char *strategy, *model;
	int most_ranks, multiple; /* stages are units at most; shards divide ranks */
} strategies[] = {{"single", "llama:" BLOCK ",qk_norm=yes", 1, 1},
                  {"dp", "llama:" BLOCK ",qk_norm=yes", 8, 1},
                  {"ddp", "llama:" BLOCK ",tied=yes", 8, 1},
                  {"zero1", "llama:" BLOCK ",qk_norm=yes", 8, 1},
                  {"zero2", "llama:" BLOCK ",tied=yes", 8, 1},
                  {"zero3", "llama:" BLOCK ",qk_norm=yes", 8, 1},
                  {"fsdp", "llama:" BLOCK ",tied=yes,qk_norm=yes", 8, 1},
                  {"hybrid:shard=2", "llama:" BLOCK ",qk_norm=yes", 8, 2},
                  {"model", "llama:" BLOCK ",qk_norm=yes", 4, 1},
                  {"model", "llama:" BLOCK ",tied=yes", 4, 1},
                  {"pipeline", "llama:" BLOCK ",qk_norm=yes", 4, 1},
                  {"pipeline:schedule=gpipe", "llama:" BLOCK ",tied=yes", 4, 1},
                  {"tensor", "llama:" DIVISIBLE ",bias=all,qk_norm=yes", 8, 1},
                  {"tensor:sequence=yes", "llama:" DIVISIBLE ",tied=yes,qk_norm=yes", 8, 1}};

static void try_case(int strategy, int precision, int checkpointing, int offload)
{
	struct settings q = settings_of("%s %s ranks=%d %s %s %s accumulate=2 bucket=4096", strategies[strategy].model,
	                                strategies[strategy].strategy, ranks_count, precisions[precision].words,
	                                again[checkpointing], host[offload]);
	double single[STEPS] = {0};
	q.micro_batch = MICRO_BATCH * ranks_count / strategy_data_ranks(&q);
	struct settings one = settings_with(&q, "strategy=single ranks=1 activation_checkpointing=none offload=none");
	one.micro_batch = (int64_t)MICRO_BATCH * ranks_count;
	runs_single(&one, STEPS, false, single, NULL);
	const struct report *r = runs_train(&q, &(struct runs_how){.steps = STEPS, .guard = true});
	if (!r)
		return;
	compare_with_plan(&q, r, COUNTED_ALL);
	worst[precision] =
	        fmax(worst[precision], runs_compare_losses(runs_name(&q), r, single, precisions[precision].limit));
}

static bool fits(int strategy)
{
	bool alone = !strcmp(strategies[strategy].strategy, "single");
	return ranks_count <= strategies[strategy].most_ranks && ranks_count % strategies[strategy].multiple == 0 &&
	       (ranks_count > 1 || alone);
}

int main(int argc, char **argv)
{
	runs_begin(&argc, &argv, 200, STEPS);
	const char *cases = getenv("LLAMA_CASES");
	bool all = cases && !strcmp(cases, "all");
	int tried = 0, each = ranks_count == 2 || ranks_count == 4 ? 6 : 12;
	for (int s = 0; s < COUNT(strategies); s++)
		for (int c = 0; fits(s) && c < CASES; c++) {
			if (!all && (c + 5 * s + ranks_count) % each)
				continue;
			try_case(s, c / 6, c / 2 % 3, c % 2);
			tried++;
		}
	if (!rank_number)
		printf("mpi_llama: %d ranks, %d cases: losses within %.1e of one rank's, %.1e in bf16\n", ranks_count,
		       tried, worst[0], worst[1]);
	return runs_finish("mpi_llama");
}
