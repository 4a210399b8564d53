/* The kernels that are shipped, under emulation, driven by the CUDA executor on all ranks of this job, beside the
 * CPU's:
 *
 *     mpirun --oversubscribe --bind-to none -n 2 build/tests/mpi/mpi_noisy
 *
 * Every strategy and contrast trains GPT, Llama and an MLP with batch normalization, in fp32, bf16 and fp16, from a
 * graph and eagerly, with the losses of the CPU within the limits of tests/gpu/plans.sh. All of these cases are
 * mpi_noisy's, whose kernels round as a GPU's do. This program's tell of every access to memory, which takes twice as
 * long: on one rank it takes a sixth, and in half of those looks for races, on several ranks an eighteenth. Ranks
 * meet in the stand-in for NCCL where steps are replayed. One case more has its attention by cuDNN's rung, on the
 * stand-in for cuDNN, and on one rank two have their products by tensor cores of the ladder, those that these do not
 * take by the rungs below.
 *
 * ranks: 1 2 4
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "real/cuda/library.h"
#include "tests/gpu/target.h"
#include "tests/support/fake_cuda.h"
#include "tests/support/fake_nccl.h"
#include "tests/support/ranks.h"
#include "tests/support/runs.h"
#include "tests/support/suite.h"

enum { SINGLE, ZERO3 = 4 /* of strategies */ };
/* A replayed step is the third, and the fourth shows what it updated. */
enum { STEPS = 4, EAGER_STEPS = 3, WAYS = 2, EVERY_WAY = 3, TYPES = 3, MOST_RANKS = 4, WORKSPACE = 1 << 20 };

/* Heads of keys, and all sizes but a vocabulary, divide by four. */
static const struct {
	const char *words;
	int batch; /* of a rank */
} models[] = {
        {"gpt:layers=2,width=32,heads=4,context=16,vocabulary=257", 2},
        {"llama:layers=2,width=32,heads=8,kv_heads=4,hidden=44,context=16,vocabulary=257,qk_norm=yes,window=7", 2},
        {"mlp:sizes=48-36-20-12-10,norm=batch", 8},
};
/* Ranks that share a layer would have its running statistics whole on none. */
static const char *const shared_mlp = "mlp:sizes=48-36-20-12-10";

static const struct {
	const char *name;
	bool ranks[MOST_RANKS + 1];
} strategies[] = {{"single", {0, 1}},         {"ddp", {0, 1, 1, 0, 1}},
                  {"zero1", {0, 1, 1, 0, 1}}, {"zero2", {0, 1, 1, 0, 1}},
                  {"zero3", {0, 1, 1, 0, 1}}, {"fsdp", {0, 1, 1, 0, 1}},
                  {"dp", {0, 0, 1, 0, 1}},    {"hybrid:shard=2", {0, 0, 1, 0, 1}},
                  {"model", {0, 0, 1, 0, 1}}, {"pipeline", {0, 0, 1, 0, 1}},
                  {"tensor", {0, 0, 1, 0, 1}}};

/* The plans of tests/gpu/plans.sh. */
static const struct {
	const char *words;
	double limit;
} types[TYPES] = {{"precision=fp32", 1e-6}, {"precision=bf16", 5e-4}, {"precision=fp16", 6e-5}};

#ifndef SHIPPED_NAME
#define SHIPPED_NAME "mpi_shipped"
#define SHIPPED_ALL false
#endif

static double worst[TYPES];
static bool nccl;
static int tried;

/* The rungs of attention and of products that are asked for; NULL: none. */
struct rungs {
	const char *attention, *products;
};

static const struct report *train(const struct settings *q, int steps, const char *communicator,
                                  const struct train_options *like)
{
	struct train_options o = runs_options(
	        q, &(struct runs_how){.steps = steps, .communicator = communicator, .no_evaluation = true});
	o.device = like->device;
	o.no_graph = like->no_graph;
	o.attention = like->attention;
	o.products = like->products;
	return runs_run(q, &o);
}

/* A rank's samples: of several ranks each has half as many, but for statistics, which need samples. */
static int samples(int model)
{
	return ranks_count == 1 || strstr(models[model].words, "norm=batch") ? models[model].batch
	                                                                     : models[model].batch / 2;
}

static struct settings settings_for(int strategy, int model, int type)
{
	const char *name = strategies[strategy].name, *words = models[model].words;
	if (!strcmp(name, "tensor") && strstr(words, "norm=batch"))
		words = shared_mlp;
	struct settings q = settings_of("%s %s ranks=%d %s bucket=4096 accumulate=%d", words, name, ranks_count,
	                                types[type].words, 1 + (strategy & 1));
	q.micro_batch = samples(model) * ranks_count / strategy_data_ranks(&q);
	return q;
}

static void check_rungs(const struct settings *q, const struct report *cuda, struct rungs rungs)
{
	ranks_check(!rungs.attention || !strcmp(cuda->slowed.attention_backward, rungs.attention),
	            "%s: attention by %s", runs_name(q), cuda->slowed.attention_backward);
	ranks_check(!rungs.products || strstr(cuda->slowed.products_by, rungs.products), "%s: products by %s",
	            runs_name(q), cuda->slowed.products_by);
}

static void try_way(const struct settings *q, int type, bool graph, struct rungs rungs, const struct report *cpu)
{
	static uint64_t seed;
	bool replayed = graph && (ranks_count == 1 || nccl);
	struct kernel_context *on = target_open(3, WORKSPACE);
	(void)target_products(on, ~0U);
	/* With it races are looked for, which takes a third longer: on one rank is enough. */
	target_order(++seed & 1 || ranks_count > 1);
	cuda_library_use(fake_cuda(&(struct fake_cuda_settings){.seed = seed * 8 + (uint64_t)rank_number,
	                                                        .devices = ranks_count,
	                                                        .shipped = target_api(),
	                                                        .shipped_on = on}));
	const struct report *cuda = train(q, graph ? STEPS : EAGER_STEPS, graph && nccl ? "nccl" : "ring",
	                                  &(struct train_options){.device = "cuda",
	                                                          .no_graph = !graph,
	                                                          .attention = rungs.attention,
	                                                          .products = rungs.products});
	if (cuda && !rank_number) {
		worst[type] =
		        fmax(worst[type], runs_compare_losses(runs_name(q), cuda, cpu->losses, types[type].limit));
		check_rungs(q, cuda, rungs);
	}
	ranks_check(!cuda || (fake_cuda_counts()->launches > 0) == replayed, "%s: %lld replayed", runs_name(q),
	            (long long)fake_cuda_counts()->launches);
	target_close(on);
	tried++;
}

/* ways: 1 << eagerly (0), from a graph (1). */
static void try_case(int strategy, int model, int type, unsigned ways, struct rungs rungs)
{
	struct settings q = settings_for(strategy, model, type);
	const struct report *cpu = train(&q, STEPS, "ring", &(struct train_options){.device = "cpu"});
	for (int way = 0; way < WAYS && cpu; way++)
		if (ways >> way & 1)
			try_way(&q, type, way, rungs, cpu);
}

/* Of a strategy's and a model's six cases one, consecutive ones of the three models, so that each strategy meets every
 * type, and both ways; of few cases a third of these. */
static void try_some(int strategy, int model, bool few)
{
	int i = (strategy + model + ranks_count / 2) % (TYPES * WAYS);
	if (!few || (strategy + 2 * model) % 3 == 0)
		try_case(strategy, model, i % TYPES, 1U << i % WAYS, (struct rungs){NULL, NULL});
}

static void try_all(int strategy, int model)
{
	for (int type = 0; type < TYPES; type++)
		try_case(strategy, model, type, EVERY_WAY, (struct rungs){NULL, NULL});
}

int main(int argc, char **argv)
{
	runs_begin(&argc, &argv, 100, 20);
	nccl = fake_nccl();
	for (int s = 0; s < COUNT(strategies) && ranks_count <= MOST_RANKS; s++)
		for (int m = 0; m < COUNT(models) && strategies[s].ranks[ranks_count]; m++)
			if (SHIPPED_ALL)
				try_all(s, m);
			else
				try_some(s, m, ranks_count > 1 || SUITE_CASES(false, true));
	for (int model = 0; model < 2 && ranks_count == 1; model++)
		try_case(SINGLE, model, 1, 1U << model, (struct rungs){NULL, model ? "tensor" : "hopper"});
	if (target_cudnn() && ranks_count <= MOST_RANKS)
		try_case(ranks_count > 1 ? ZERO3 : SINGLE, 0, 1, 2, (struct rungs){"cudnn", NULL});
	cuda_library_use(NULL);
	if (!rank_number)
		printf(SHIPPED_NAME ": %d ranks, %d cases: losses %.1e apart in fp32, %.1e in bf16, %.1e in fp16\n",
		       ranks_count, tried, worst[0], worst[1], worst[2]);
	return runs_finish(SHIPPED_NAME);
}
