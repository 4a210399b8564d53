/* The cheapest change that makes a plan fit is the least of those that tie with the shortest step of the whole grid of
 * variants. Here all of them are simulated, one by one, on devices that have a part of the memory that a plan needs.
 */
#include <check.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sim/fit.h"
#include "sim/sim.h"
#include "strategy/cluster/effective.h"
#include "strategy/strategies/variants.h"
#include "strategy/trace/ratio.h"
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

/* Every place of the grid that fits. */
struct tried {
	struct settings settings;
	char words[160];
	int64_t step;
};
enum { TRIED = VARIANT_STRATEGIES * VARIANT_LEVELS * VARIANT_LEVELS * VARIANT_MICROS };
static struct tried tried[TRIED];

static int try_all(const char *path, double margin, const struct settings *given)
{
	struct variant_grid g;
	struct variant_place at;
	struct variant v;
	int count = 0;
	variant_grid_make(&g, given);
	for (at.strategy = 0; at.strategy < g.strategies; at.strategy++)
		for (at.checkpointing = 0; at.checkpointing < g.checkpointings; at.checkpointing++)
			for (at.offload = 0; at.offload < g.offloads; at.offload++)
				for (at.micro = 0; at.micro < g.micros; at.micro++) {
					struct tried *x = &tried[count];
					x->step = variant_at(&g, &at, &v)
					                  ? small_cluster_step(path, margin, &v.settings)
					                  : -1;
					x->settings = v.settings;
					snprintf(x->words, sizeof x->words, "%s", status_words(v.change));
					count += x->step >= 0;
				}
	return count;
}

static int64_t shortest_of(int count)
{
	int64_t best = INT64_MAX;
	for (int i = 0; i < count; i++)
		best = tried[i].step < best ? tried[i].step : best;
	return best;
}

/* The clusters of this test are under a stack. The least change among those that tie with the shortest step; of these
 * the shortest. */
static const struct tried *cheapest(const struct settings *given, int count)
{
	const struct tried *best = NULL;
	int64_t shortest = shortest_of(count);
	for (int i = 0; i < count; i++) {
		const struct tried *x = &tried[i];
		int apart = best ? variant_distance(given, &x->settings) - variant_distance(given, &best->settings) : 0;
		if ((double)x->step <= (1 + RATIO_SPREAD) * (double)shortest &&
		    (!best || apart < 0 || (apart == 0 && x->step < best->step)))
			best = x;
	}
	return best;
}

static bool has_words(int count, const char *words)
{
	for (int i = 0; i < count; i++)
		if (!strcmp(tried[i].words, words))
			return true;
	return false;
}

START_LOOP_TEST(nothing_on_the_grid_is_cheaper, 0, JOBS *PERCENTS)
{
	struct settings s = settings_of("%s", jobs[_i / PERCENTS]);
	struct made m;
	struct report_change found;
	char path[4096];
	s = settings_resolved(&s);
	ck_assert(!made_open(&m, &s));
	small_cluster_write(path, sizeof path, &m.plan, percents[_i % PERCENTS]);
	int count = try_all(path, 1.0 / REPORT_CLOSE, &s);
	bool sure = count > 0;
	if (!sure)
		count = try_all(path, 0, &s);
	const struct tried *best = cheapest(&s, count);
	fit_find_change(&m.plan, path, &found);
	ck_assert(found.close == !sure || !best);
	if (best)
		ck_assert_msg(found.step == best->step,
		              "%s, %d %%: %s in %" PRId64 " ns, but %s in %" PRId64 " ns, the shortest %" PRId64 " ns",
		              jobs[_i / PERCENTS], percents[_i % PERCENTS], found.words, found.step, best->words,
		              best->step, shortest_of(count));
	else
		ck_assert_msg(!*found.words || strstr(found.words, "ranks"), "%s", found.words);
	if (*found.near) { /* faster by more than a tie, and not sure */
		ck_assert((double)found.near_step * (1 + RATIO_SPREAD) < (double)found.step);
		ck_assert(sure && !has_words(count, found.near));
		ck_assert(has_words(try_all(path, 0, &s), found.near));
	}
	unlink(path);
	made_release(&m);
}

/* Of two differences, in either order of the jobs, the first is the smaller change. */
static const char *const nearer[][2] = {
        {"micro_batch=1", "activation_checkpointing=full"},
        {"activation_checkpointing=selective", "activation_checkpointing=full"},
        {"micro_batch=1 activation_checkpointing=full", "strategy=zero2"},
        {"strategy=zero2", "strategy=zero3"},
        {"micro_batch=1 activation_checkpointing=full strategy=zero3", "offload=optimizer"},
        {"offload=optimizer", "offload=optimizer,parameters"},
        {"offload=optimizer,parameters activation_checkpointing=full strategy=zero3", "precision=fp16"}};

START_LOOP_TEST(a_change_that_asks_more_of_a_user_is_larger, 0, sizeof nearer / sizeof nearer[0])
{
	struct settings given = settings_of(GPT "zero1 ranks=4 precision=bf16 micro_batch=8"), less, more;
	less = settings_of(GPT "zero1 ranks=4 precision=bf16 micro_batch=8 %s", nearer[_i][0]);
	more = settings_of(GPT "zero1 ranks=4 precision=bf16 micro_batch=8 %s", nearer[_i][1]);
	ck_assert_int_eq(variant_distance(&given, &given), 0);
	ck_assert_int_gt(variant_distance(&given, &less), 0);
	ck_assert_int_lt(variant_distance(&given, &less), variant_distance(&given, &more));
	ck_assert_int_eq(variant_distance(&less, &given), variant_distance(&given, &less));
}

/* Under a stack memory is known within a twentieth: what is proposed leaves as much, where anything does. What fits in
 * the last twentieth alone is proposed too, and said to be close. */
START_TEST(a_change_surely_fits_or_is_said_to_be_close)
{
	struct settings s = settings_of("gpt2-1558m single ranks=1 precision=fp16 micro_batch=4");
	struct made m;
	struct cluster c;
	int sure = 0, close = 0;
	s = settings_resolved(&s);
	ck_assert(!made_open(&m, &s));
	for (int percent = 1000; percent >= 100; percent = percent * 24 / 25) {
		char path[4096];
		struct report_change found;
		struct report r = {0};
		ck_assert(!cluster_open(&c, "v100-16gb", 1));
		c.device_memory = c.device_memory * percent / 400;
		snprintf(path, sizeof path, "%s/close_%ld.yaml", support_folder(), (long)getpid());
		FILE *f = fopen(path, "w");
		ck_assert_ptr_nonnull(f);
		cluster_print(&c, f);
		fclose(f);
		cluster_release(&c);
		snprintf(path + strlen(path), sizeof path - strlen(path), ":stack=fused");
		ck_assert(!cluster_open(&c, path, 1));
		ck_assert(cluster_has_stack(&c));
		sim_memory(&m.plan, &c, &r);
		bool fits = r.fits;
		report_release(&r);
		if (!fits) {
			fit_find_change(&m.plan, path, &found);
			sure += *found.words && !found.close;
			close += *found.words && found.close;
		}
		cluster_release(&c);
		*strrchr(path, ':') = 0;
		unlink(path);
	}
	ck_assert_int_gt(sure, 5);
	ck_assert_int_gt(close, 0);
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

/* Found in a cluster, with steps simulated as they are up to so many operations; how many plans that took. */
static int64_t plans_of_search(const struct plan *p, const char *cluster, int64_t exact, struct report_change *out)
{
	struct fit_search *f = fit_begin(p, cluster);
	fit_exact_up_to(f, exact);
	while (fit_next(f, out))
		;
	int64_t plans = fit_plans(f);
	fit_end(f);
	return plans;
}

/* The chosen step is not simulated once more if it is too long for that: the same change is found with a plan less, and
 * its time is the same but for a rounding of each micro-batch. */
static const char *const many[] = {GPT "single ranks=1 precision=bf16 micro_batch=8 accumulate=24",
                                   GPT "zero2 ranks=2 precision=bf16 micro_batch=8 accumulate=16",
                                   GPT "pipeline ranks=2 precision=bf16 micro_batch=2 accumulate=40",
                                   GPT "pipeline ranks=3 precision=bf16 micro_batch=2 accumulate=24",
                                   GPT "model ranks=2 precision=bf16 micro_batch=4 accumulate=24"};

START_LOOP_TEST(a_long_step_is_predicted_from_short_ones, 0, sizeof many / sizeof *many)
{
	struct settings s = settings_of("%s", many[_i]);
	struct made m;
	struct report_change exact, predicted;
	char path[4096];
	s = settings_resolved(&s);
	ck_assert(!made_open(&m, &s));
	small_cluster_write(path, sizeof path, &m.plan, 60);
	int64_t all = plans_of_search(&m.plan, path, INT64_MAX, &exact),
	        fewer = plans_of_search(&m.plan, path, 0, &predicted);
	ck_assert(*exact.words);
	ck_assert_str_eq(predicted.words, exact.words);
	ck_assert_int_eq(fewer, all - 1);
	ck_assert_int_le(llabs(predicted.step - exact.step), 8 * s.accumulate);
	unlink(path);
	made_release(&m);
}

SUITE("fit", 120)
