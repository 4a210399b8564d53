/* The cheapest change that makes a plan fit is the one with the shortest step of the whole grid of variants. Here all
 * of them are simulated, one by one, on devices that have a part of the memory that a plan needs.
 */
#include <check.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "sim/fit.h"
#include "sim/sim.h"
#include "strategy/strategies/variants.h"
#include "tests/sim/small_cluster.h"
#include "tests/support/plans.h"
#include "tests/support/suite.h"

#define GPT "gpt:layers=3,width=512,heads=8,vocabulary=8192,context=256 "

static const char *const jobs[] = {"params=50e6:units=8 zero2 ranks=4 precision=fp16",
                                   GPT "ddp ranks=2 precision=bf16 micro_batch=8",
                                   GPT "ddp ranks=4 precision=bf16 micro_batch=8 accumulate=2",
                                   GPT "zero2 ranks=2 precision=bf16 micro_batch=8",
                                   GPT "single ranks=1 precision=bf16 micro_batch=8",
                                   GPT "zero3 ranks=4 precision=bf16 micro_batch=4 activation_checkpointing=selective",
                                   GPT "pipeline ranks=3 precision=bf16 micro_batch=2 accumulate=8",
                                   GPT "pipeline:schedule=gpipe ranks=2 precision=bf16 micro_batch=2 accumulate=6",
                                   GPT "model ranks=2 precision=bf16 micro_batch=4 accumulate=6",
                                   GPT "hybrid ranks=8 precision=bf16 micro_batch=2"};
static const int percents[] = {90, 60, 40, 25, 15, 8};
enum { JOBS = sizeof jobs / sizeof jobs[0], PERCENTS = sizeof percents / sizeof percents[0] };

static int64_t shortest_of_all(const char *path, const struct settings *given, char words[160])
{
	struct variant_grid g;
	struct variant_place at;
	struct variant v;
	int64_t best = -1;
	variant_grid_make(&g, given);
	for (at.strategy = 0; at.strategy < g.strategies; at.strategy++)
		for (at.checkpointing = 0; at.checkpointing < g.checkpointings; at.checkpointing++)
			for (at.offload = 0; at.offload < g.offloads; at.offload++)
				for (at.micro = 0; at.micro < g.micros; at.micro++) {
					int64_t step =
					        variant_at(&g, &at, &v) ? small_cluster_step(path, 0, &v.settings) : -1;
					if (step < 0 || (best >= 0 && step >= best))
						continue;
					best = step;
					snprintf(words, 160, "%s", v.change);
				}
	return best;
}

START_LOOP_TEST(nothing_on_the_grid_is_faster, 0, JOBS *PERCENTS)
{
	struct settings s = settings_of("%s", jobs[_i / PERCENTS]);
	struct made m;
	struct report_change found;
	char words[160] = "", path[4096];
	s = settings_resolved(&s);
	ck_assert(!made_open(&m, &s));
	small_cluster_write(path, sizeof path, &m.plan, percents[_i % PERCENTS]);
	int64_t best = shortest_of_all(path, &s, words);
	fit_find_change(&m.plan, path, &found);
	if (best >= 0)
		ck_assert_msg(found.step == best, "%s, %d %%: %s in %" PRId64 " ns, but %s in %" PRId64 " ns",
		              jobs[_i / PERCENTS], percents[_i % PERCENTS], found.words, found.step, words, best);
	else
		ck_assert_msg(!*found.words || strstr(found.words, "ranks"), "%s", found.words);
	unlink(path);
	made_release(&m);
}

/* The search rests on this: under 1F1B and one at a time, more micro-batches than are under way need no more memory. */
static const char *const staged[] = {GPT "pipeline ranks=4 precision=bf16 accumulate=%d",
                                     GPT "model ranks=3 precision=bf16 accumulate=%d"};
static const int enough[] = {4, 2};

START_LOOP_TEST(more_micro_batches_need_no_more_memory, 0, 2)
{
	struct settings s[2] = {settings_of(staged[_i], enough[_i]), settings_of(staged[_i], 3 * enough[_i] + 1)};
	struct made m[2];
	for (int i = 0; i < 2; i++)
		ck_assert(!made_open(&m[i], &s[i]));
	for (int role = 0; role < m[0].plan.role_count; role++) {
		struct memory_use use[2];
		for (int i = 0; i < 2; i++)
			plan_memory(&m[i].plan, &m[i].plan.roles[role], SPACE_DEVICE, &use[i]);
		ck_assert_int_eq(use[0].peak_bytes, use[1].peak_bytes);
	}
	for (int i = 0; i < 2; i++)
		made_release(&m[i]);
}

/* The batch grows with the ranks that have samples of their own, and stages have not. */
START_TEST(more_stages_take_the_same_batch)
{
	struct settings s = settings_of(GPT "pipeline ranks=2 micro_batch=2 accumulate=8");
	struct variant v;
	s = settings_resolved(&s);
	ck_assert(variant_of_ranks(&s, 1, &v));
	ck_assert_str_eq(v.change, "{ranks} 4 {batch} 16");
	s = settings_of(GPT "ddp ranks=2 micro_batch=2 accumulate=8");
	s = settings_resolved(&s);
	ck_assert(variant_of_ranks(&s, 1, &v));
	ck_assert_str_eq(v.change, "{ranks} 4 {batch} 64");
}

SUITE("fit", 120)
