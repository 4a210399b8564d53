/* Advice beside brute force: every strategy, precision, checkpointing, offload and micro-batch of a small grid,
 * compiled and simulated as it is.
 */
#include <check.h>
#include <inttypes.h>
#include <string.h>

#include "sim/advise_habits.h"
#include "strategy/strategies/strategy.h"
#include "strategy/trace/ratio.h"
#include "tests/sim/small_cluster.h"
#include "tests/support/refusal.h"

#define GPT "gpt:layers=3,width=512,heads=8,vocabulary=8192,context=256"
#define MARGIN 0.05

static const char *const names[] = {"ddp", "zero1", "zero3", "hybrid", "pipeline", "tensor"};
static const enum type precisions[] = {TYPE_BF16, TYPE_FP32};
static const char *const levels[] = {"none", "selective", "full"};
static const struct offload places[] = {{0}, {.optimizer = true}, {.optimizer = true, .parameters = true}};
static const int percents[] = {110, 70, 40, 20, 9};
enum { NAMES = 6, TYPES = 2, LEVELS = 3, PERCENTS = 5, RANKS = 4, BATCH = 32 };

static char path[4096];
static struct advice *advice;

static struct settings wished(void)
{
	return settings_of("%s ddp ranks=%d batch=%d", GPT, RANKS, BATCH);
}

static void begin(int percent)
{
	struct settings s = wished();
	struct made m;
	s.batch = 0;
	s.micro_batch = BATCH / RANKS;
	s = settings_resolved(&s);
	ck_assert(!made_open(&m, &s));
	small_cluster_write(path, sizeof path, &m.plan, percent);
	made_release(&m);
}

static void search(const struct advise_request *q)
{
	ck_assert(!advise_begin(&advice, q));
	while (advise_next(advice))
		;
}

static void advise(const struct settings *given, int strategies)
{
	struct advise_request q = {.given = *given, .cluster = path, .margin = MARGIN, .strategies = strategies};
	memcpy(q.strategy, names, sizeof names);
	memcpy(q.precision, precisions, sizeof precisions);
	q.precisions = TYPES;
	search(&q);
}

static void end(void)
{
	advise_end(advice);
	unlink(path);
}

static bool near(int64_t a, int64_t b)
{
	return a - b <= b / 1000 && b - a <= b / 1000;
}

/* A place of the grid, in words that no code of the search has put together. -1: it does not fit, or makes no sense. */
static int64_t step_at(int name, int type, int level, int place, int64_t micro)
{
	struct settings s = wished();
	snprintf(s.strategy, sizeof s.strategy, "%s", names[name]);
	snprintf(s.checkpointing, sizeof s.checkpointing, "%s", levels[level]);
	s.precision = precisions[type];
	s.offload = places[place];
	s.batch = BATCH;
	s.micro_batch = micro;
	s.accumulate = 0;
	return settings_resolve(&s, strategy_data_ranks(&s)) ? -1 : small_cluster_step(path, MARGIN, &s);
}

static int64_t shortest(int name, int type)
{
	int64_t best = -1;
	for (int level = 0; level < LEVELS; level++)
		for (int place = 0; place < LEVELS; place++)
			for (int64_t micro = 1; micro <= BATCH; micro *= 2) {
				int64_t step = step_at(name, type, level, place, micro);
				if (step >= 0 && (best < 0 || step < best))
					best = step;
			}
	return best;
}

static const struct advised *first_line(int name, int type)
{
	for (int i = 0; i < advice->fit_count; i++)
		if (!strcmp(advice->fit[i].settings.strategy, names[name]) &&
		    advice->fit[i].settings.precision == precisions[type])
			return &advice->fit[i];
	return NULL;
}

START_LOOP_TEST(no_candidate_is_faster_than_its_strategys_line, 0, PERCENTS)
{
	struct settings s = wished();
	begin(percents[_i]);
	advise(&s, NAMES);
	for (int name = 0; name < NAMES; name++)
		for (int type = 0; type < TYPES; type++) {
			int64_t best = shortest(name, type);
			const struct advised *line = first_line(name, type);
			ck_assert_msg(!line == (best < 0), "%s at %d %%: %s", names[name], percents[_i],
			              line ? "advised, and nothing fits" : "something fits, and nothing is advised");
			ck_assert_msg(!line || near(line->step, best),
			              "%s at %d %%: %" PRId64 " ns, and the best has %" PRId64, names[name],
			              percents[_i], line ? line->step : 0, best);
		}
	end();
}

START_LOOP_TEST(every_line_is_as_it_says, 0, PERCENTS)
{
	struct settings s = wished();
	begin(percents[_i]);
	advise(&s, NAMES);
	for (int i = 0; i < advice->fit_count; i++) {
		const struct advised *x = &advice->fit[i];
		int64_t step = small_cluster_step(path, MARGIN, &x->settings);
		ck_assert_msg(near(x->step, step), "%s: %" PRId64 " ns, simulated %" PRId64, x->settings.strategy,
		              x->step, step);
		ck_assert_int_eq(x->settings.batch, BATCH);
		ck_assert(x->tightest.needed_bytes <= x->tightest.capacity_bytes);
		ck_assert(!i || x->step >= x[-1].step);
		ck_assert(!i || x->place >= x[-1].place);
		ck_assert_int_ge(i + 1, x->place);
		ck_assert_double_eq_tol(x->tokens_per_s * (double)x->step, 1e9 * BATCH * 256, 1e3 * BATCH * 256);
	}
	for (int i = 0; i < advice->lack_count; i++) {
		const struct advise_lack *x = &advice->lack[i];
		ck_assert_int_eq(small_cluster_step(path, MARGIN, &x->settings), -1);
		ck_assert(x->tightest.needed_bytes > x->tightest.capacity_bytes);
		ck_assert(x->category_bytes > 0 && *x->peak_at);
		ck_assert(!*x->mend == !advice->fit_count);
	}
	end();
}

/* Lines on the frontier have less memory than every faster line. */
START_TEST(the_frontier_has_nothing_above_it)
{
	struct settings s = wished();
	begin(40);
	advise(&s, NAMES);
	ck_assert_int_gt(advice->fit_count, 3);
	for (int i = 0; i < advice->fit_count; i++)
		for (int k = 0; k < i; k++)
			ck_assert(!advice->fit[i].frontier ||
			          advice->fit[k].tightest.needed_bytes > advice->fit[i].tightest.needed_bytes);
	ck_assert(advice->fit[0].frontier);
	end();
}

/* From bounds of its layout where these are enough. */
START_TEST(whether_a_plan_fits_is_known_without_its_report)
{
	for (int name = 0; name < NAMES; name++)
		for (int percent = 80; percent <= 120; percent += 5) {
			struct settings s = wished();
			struct made m;
			struct cluster c;
			struct report r;
			snprintf(s.strategy, sizeof s.strategy, "%s", names[name]);
			s = settings_resolved(&s);
			ck_assert(!made_open(&m, &s));
			small_cluster_write(path, sizeof path, &m.plan, percent);
			ck_assert(!cluster_open(&c, path, RANKS));
			sim_memory(&m.plan, &c, &r);
			ck_assert_msg(sim_fits(&m.plan, &c) == r.fits, "%s at %d %%", names[name], percent);
			for (int i = 0; i < m.plan.role_count; i++)
				for (int space = 0; space < SPACE_COUNT; space++) {
					const struct role *role = &m.plan.roles[i];
					int64_t exact = layout_arena_bytes(role, space, LAYOUT_EXACT);
					ck_assert_int_le(layout_arena_bytes(role, space, LAYOUT_LEAST), exact);
					ck_assert_int_ge(layout_arena_bytes(role, space, LAYOUT_MOST), exact);
				}
			report_release(&r);
			cluster_release(&c);
			made_release(&m);
			unlink(path);
		}
}

/* `sim`'s own range of a line; and what is within that of a ratio shares a place. */
START_TEST(lines_under_a_stack_have_ranges)
{
	struct settings s = wished();
	struct cluster c;
	struct report r = {0};
	struct made m;
	snprintf(path, sizeof path, "a100-80gb:stack=megatron");
	advise(&s, NAMES);
	ck_assert_int_gt(advice->fit_count, 3);
	for (int i = 0; i < advice->fit_count; i++) {
		const struct advised *x = &advice->fit[i], *first = &advice->fit[x->place - 1];
		ck_assert((double)x->step <= (1 + RATIO_SPREAD) * (double)first->step);
		ck_assert(x->place == 1 || (double)first->step > (1 + RATIO_SPREAD) * (double)advice->fit[0].step);
		ck_assert(!made_open(&m, &x->settings));
		ck_assert(!cluster_open(&c, path, RANKS) && !sim_run(&m.plan, &c, GRAIN_OPERATION, NULL, &r));
		double low = (double)x->range_low / (double)x->step, high = (double)x->range_high / (double)x->step;
		ck_assert_double_eq_tol(low, (double)r.range_low / (double)r.time.step, 1e-6);
		ck_assert_double_eq_tol(high, (double)r.range_high / (double)r.time.step, 1e-6);
		ck_assert(x->range_low < x->step && x->step < x->range_high);
		report_release(&r);
		cluster_release(&c);
		made_release(&m);
	}
	advise_end(advice);
}

START_TEST(a_micro_batch_that_is_given_stays)
{
	struct settings s = wished();
	s.micro_batch = 2;
	begin(110);
	advise(&s, 3);
	ck_assert_int_gt(advice->fit_count, 0);
	for (int i = 0; i < advice->fit_count; i++)
		ck_assert_int_eq(advice->fit[i].settings.micro_batch, 2);
	end();
}

/* ---- with --emit: as a file's program has it ---- */

static void advise_for(enum emit_target t, const char *cluster, const char *const *strategies, int count,
                       struct arena *a)
{
	struct advise_request q = {.given = wished(), .cluster = cluster, .precision = {TYPE_BF16}, .precisions = 1};
	q.given.clip = 1;
	for (q.strategies = 0; q.strategies < count; q.strategies++)
		q.strategy[q.strategies] = strategies[q.strategies];
	advise_take_habits(&q, t, "launch.yaml", a);
	ck_assert_int_eq(q.asked, count);
	search(&q);
}

/* Its switches, its buckets, and what it can compute again: of no line it makes another plan. */
START_TEST(lines_for_torchtitan_are_its_plans)
{
	static const char *const strategies[] = {"ddp", "fsdp"};
	struct arena a = {0};
	advise_for(EMIT_TORCHTITAN, "a100-80gb:class=pytorch-eager", strategies, 2, &a);
	const struct advise_request *q = &advice->request;
	ck_assert_int_eq(q->strategies, 3);
	ck_assert_str_eq(q->strategy[2], "fsdp:reshard=no");
	ck_assert_str_eq(q->habit[0].software[0], "shardlab:gradients=fp32");
	ck_assert_str_eq(q->habit[1].software[0], "shardlab:gradients=fp32:weights=fp32");
	ck_assert_int_eq(q->checkpointings, 4);
	ck_assert_str_eq(q->checkpointing[1], "operations");
	ck_assert_str_eq(q->checkpointing[2], "full:one_in=2");
	ck_assert_int_gt(advice->fit_count, 1);
	for (int i = 0; i < advice->fit_count; i++) {
		struct emission e;
		char options[ADVISE_OPTIONS];
		advise_options(&advice->fit[i].settings, options);
		must(emit_make(&e, EMIT_TORCHTITAN, NULL, &advice->fit[i].settings, 1));
		ck_assert_msg(!e.otherwise, "%s: another plan there", options);
		ck_assert(strstr(options, "as shardlab:gradients=fp32"));
		emit_release(&e);
	}
	advise_end(advice);
	arena_release(&a);
}

static bool is_skipped(const char *strategy)
{
	for (int i = 0; i < advice->skipped_count; i++)
		if (!strcmp(advice->skipped[i].strategy, strategy))
			return true;
	return false;
}

static void must_be_told(enum emit_target t, const struct settings *s)
{
	struct emission e;
	char options[ADVISE_OPTIONS];
	advise_options(s, options);
	enum status status = emit_make(&e, t, "launch.yaml", s, 1);
	ck_assert_msg(!status, "%s: %s: %s", emit_target_name(t), options, status_message());
	emit_release(&e);
}

/* Every strategy that there is, of a batch that leaves both axes of the grid open. */
START_LOOP_TEST(each_line_can_be_told, 0, EMIT_TARGET_COUNT)
{
	static const char *const all[] = {"dp",       "ddp",   "zero1", "zero2", "zero3", "fsdp", "hybrid:shard=2",
	                                  "pipeline", "tensor"};
	enum { ALL = sizeof all / sizeof *all };
	struct arena a = {0};
	int strategies = 0;
	begin(20);
	advise_for((enum emit_target)_i, path, all, ALL, &a);
	ck_assert_int_gt(advice->fit_count, 0);
	for (int i = 0; i < advice->fit_count; i++)
		must_be_told((enum emit_target)_i, &advice->fit[i].settings);
	for (int i = 0; i < advice->lack_count; i++)
		must_be_told((enum emit_target)_i, &advice->lack[i].settings);
	for (int i = 0; i < ALL; i++) {
		struct emission e;
		struct settings s = wished();
		snprintf(s.strategy, sizeof s.strategy, "%s", all[i]);
		s.precision = TYPE_BF16;
		s = settings_resolved(&s);
		bool told = !emit_make(&e, (enum emit_target)_i, "launch.yaml", &s, 1);
		strategies += told;
		ck_assert_msg(is_skipped(all[i]) != told, "%s: %s", emit_target_name((enum emit_target)_i), all[i]);
		if (told)
			emit_release(&e);
	}
	ck_assert_int_ge(strategies, 4);
	end();
	arena_release(&a);
}

/* DeepSpeed has state on a disk in stage 3 alone. */
START_TEST(each_line_with_a_disk_can_be_told)
{
	struct arena a = {0};
	struct advise_request q = {
	        .given = wished(), .cluster = "a100-80gb", .precision = {TYPE_BF16}, .precisions = 1};
	q.strategy[0] = "zero1";
	q.strategy[1] = "zero3";
	q.strategies = 2;
	q.offload[0].optimizer = q.offload[0].optimizer_on_disk = true;
	q.offloads = 1;
	advise_take_habits(&q, EMIT_DEEPSPEED, "file.json", &a);
	search(&q);
	ck_assert_int_gt(advice->fit_count, 0);
	for (int i = 0; i < advice->fit_count; i++)
		must_be_told(EMIT_DEEPSPEED, &advice->fit[i].settings);
	ck_assert(is_skipped("zero1"));
	advise_end(advice);
	arena_release(&a);
}

/* A program whose file was read and is not written leaves its switches and its buckets as they are. */
START_TEST(what_a_program_cannot_be_told_is_left_out)
{
	struct arena a = {0};
	struct advise_request q = {
	        .given = wished(), .cluster = "a100-80gb", .precision = {TYPE_BF16}, .precisions = 1};
	q.strategy[0] = "ddp";
	q.strategy[1] = "fsdp";
	q.strategies = 2;
	q.offload[1].optimizer = true;
	q.offloads = 2;
	advise_take_program(&q, EMIT_TORCHTITAN, &a);
	ck_assert_int_eq(q.strategies, 2);
	ck_assert_ptr_null(q.habit[1].software[0]);
	ck_assert_str_eq(q.checkpointing[1], "operations");
	search(&q);
	ck_assert_int_gt(advice->fit_count, 0);
	for (int i = 0; i < advice->fit_count; i++)
		ck_assert(!advice->fit[i].settings.offload.optimizer);
	advise_end(advice);
	q.offload[0].optimizer = true;
	q.offloads = 1;
	search(&q);
	ck_assert_int_eq(advise_status(advice), STATUS_INPUT);
	ck_assert_ptr_nonnull(strstr(status_message(), "optimizer cannot be said there"));
	advise_end(advice);
	arena_release(&a);
}

/* A strategy's other ways are lines where they are faster by more than a tie. */
START_TEST(a_way_is_a_line_where_it_pays)
{
	static const char *const strategies[] = {"zero2", "zero3"};
	struct arena a = {0};
	advise_for(EMIT_DEEPSPEED, "a100-80gb:network=1MB:class=deepspeed", strategies, 2, &a);
	ck_assert_int_eq(advice->request.strategies, 4); /* on one node zero3 has no second copy */
	for (int i = 0; i < advice->fit_count; i++)
		for (int k = 0; k < i; k++) {
			const struct advised *x = &advice->fit[k], *y = &advice->fit[i];
			bool alike = !strcmp(x->settings.strategy, y->settings.strategy) &&
			             !strcmp(x->settings.checkpointing, y->settings.checkpointing) &&
			             !memcmp(&x->settings.offload, &y->settings.offload, sizeof x->settings.offload);
			ck_assert(!alike || (x->settings.bucket && !ratio_of(y->step, x->step, false).tied));
		}
	advise_end(advice);
	arena_release(&a);
}

/* What a stack moves besides is not less for gradients in fp32. */
START_TEST(a_switch_keeps_the_stacks_share)
{
	int64_t steps[2];
	for (int i = 0; i < 2; i++) {
		struct cluster c;
		struct report r = {0};
		struct made m;
		struct settings s =
		        settings_of("gpt2-124m ddp ranks=2 precision=bf16 %s", i ? "as=shardlab:gradients=fp32" : "");
		s = settings_resolved(&s);
		ck_assert(!made_open(&m, &s) && !cluster_open(&c, "a100-80gb:class=pytorch-eager", 2));
		ck_assert(!sim_run(&m.plan, &c, GRAIN_OPERATION, NULL, &r));
		steps[i] = r.time.step;
		report_release(&r);
		cluster_release(&c);
		made_release(&m);
	}
	ck_assert_int_ge(steps[1], steps[0]);
}

SUITE("advise", 120)
