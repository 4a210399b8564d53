/* PyTorch's DDP and FSDP and DeepSpeed's ZeRO beside our plans: what they send and hold: the table that
 * tests/oracle/frameworks.py measured, with our side made again here. Where the two differ, the table says why; where
 * it gives a reason, they do differ; and what the two must have in common is checked in numbers. */
#include <stdio.h>
#include <string.h>

#include "tests/support/plan_check.h"
#include "tests/support/suite.h"

enum { COLUMNS = 8, MOST_ROWS = 1000, MOST_LINE = 1200 };

struct row {
	char framework[32], strategy[16], precision[8], quantity[32], why[800];
	int64_t ranks, theirs, ours;
};

static struct row rows[MOST_ROWS];
static int row_count;

/* ---- the table: framework,ranks,strategy,precision,quantity,theirs,ours,why; no comma in the reason ---- */

static void read_row(const char *line)
{
	long long ranks = -1, theirs = -1, ours = -1;
	ck_assert_int_lt(row_count, MOST_ROWS);
	struct row *r = &rows[row_count++];
	int columns = sscanf(line, "%31[^,],%lld,%31[^,],%7[^,],%31[^,],%lld,%lld,%799[^,\r\n]", r->framework, &ranks,
	                     r->strategy, r->precision, r->quantity, &theirs, &ours, r->why);
	ck_assert_msg(columns >= COLUMNS - 1 && ranks > 0 && theirs >= 0 && ours >= 0, "no row of the table: %s", line);
	r->ranks = ranks;
	r->theirs = theirs;
	r->ours = ours;
}

static void read_table(void)
{
	char line[MOST_LINE];
	FILE *f = fopen("tests/golden/frameworks.csv", "r");
	ck_assert_ptr_nonnull(f);
	row_count = 0;
	while (fgets(line, sizeof line, f))
		if (*line != '#' && strncmp(line, "framework,", 10))
			read_row(line);
	fclose(f);
}

static const struct row *find(const char *framework, int64_t ranks, const char *quantity)
{
	for (int i = 0; i < row_count; i++)
		if (!strcmp(rows[i].framework, framework) && rows[i].ranks == ranks &&
		    !strcmp(rows[i].quantity, quantity))
			return &rows[i];
	ck_abort_msg("the table has no %s of %s on %lld ranks", quantity, framework, (long long)ranks);
}

/* ---- our side ---- */

static int64_t moved_of(const struct plan *p, const char *quantity)
{
	const char *kind = strchr(quantity, '.') + 1;
	if (!strcmp(kind, "total"))
		return plan_moved_all(p, 0).sent;
	for (int t = 0; t < TRAFFIC_COUNT; t++)
		if (!strcmp(kind, traffic_name((enum traffic_kind)t))) {
			struct moved m = plan_moved(p, 0, (enum traffic_kind)t);
			return *quantity == 'c' ? m.calls : m.sent;
		}
	return 0; /* a kind that is not ours */
}

static int64_t held_of(const struct plan *p, const char *quantity)
{
	struct memory_use use;
	plan_memory(p, plan_role_of(p, 0), SPACE_DEVICE, &use);
	for (int c = 0; c < CATEGORY_COUNT; c++)
		if (!strcmp(strchr(quantity, '.') + 1, category_name((enum category)c)))
			return use.steady[c];
	ck_abort_msg("unknown quantity %s", quantity);
}

START_TEST(our_figures_match_the_table)
{
	read_table();
	ck_assert_int_gt(row_count, 100);
	for (int i = 0; i < row_count; i++) {
		const struct row *r = &rows[i];
		const struct plan *p = made_plan("gpt:layers=2,width=32,heads=2,context=16,vocabulary=256 %s ranks=%d "
		                                 "micro_batch=2 precision=%s",
		                                 r->strategy, (int)r->ranks, r->precision);
		int64_t ours = !strncmp(r->quantity, "held.", 5) ? held_of(p, r->quantity) : moved_of(p, r->quantity);
		plans_forget();
		ck_assert_msg(ours == r->ours, "%s beside %s on %lld ranks, %s: our plan has %lld, the table %lld",
		              r->strategy, r->framework, (long long)r->ranks, r->quantity, (long long)ours,
		              (long long)r->ours);
		ck_assert_msg((r->theirs != r->ours) == (*r->why != 0),
		              "%s on %lld ranks, %s: %lld and %lld, and the reason is '%s'", r->framework,
		              (long long)r->ranks, r->quantity, (long long)r->theirs, (long long)r->ours, r->why);
	}
}

/* ---- theirs, of a plan that does as they do ---- */

/* strategy: NULL: the table's. DeepSpeed's stage 3 was measured without prefetch and reuse, and with its defaults. */
static const struct stack {
	const char *framework, *as, *strategy;
} stacks[] = {
        {"ddp", "pytorch", NULL},
        {"fsdp1", "pytorch", NULL},
        {"fsdp2", "pytorch", NULL},
        {"deepspeed-1", "deepspeed", NULL},
        {"deepspeed-2", "deepspeed", NULL},
        {"deepspeed-3", "deepspeed", "zero3:prefetch=0"},
        {"deepspeed-3-default", "deepspeed", "zero3:prefetch=50000000:live=1000000000:reuse=1000000000"},
        {"deepspeed-1-bf16", "deepspeed", NULL},
        {"deepspeed-2-bf16", "deepspeed", NULL},
        {"deepspeed-3-bf16", "deepspeed", "zero3:prefetch=0"},
};

static const struct stack *stack_of(const char *framework)
{
	for (int i = 0; i < COUNT(stacks); i++)
		if (!strcmp(stacks[i].framework, framework))
			return &stacks[i];
	ck_abort_msg("%s is no framework of the table", framework);
}

/* Gradients as they are before the update, which may free them. */
static int64_t gradients_of(const struct plan *p)
{
	const struct role *r = plan_role_of(p, 0);
	int64_t live = 0, most;
	for (int b = 0; b < r->buffer_count; b++)
		live += r->buffers[b].state && r->buffers[b].category == CATEGORY_GRADIENTS
		                ? buffer_bytes(&r->buffers[b])
		                : 0;
	most = live;
	for (int i = r->step.begin; i < r->step.end; i++) {
		const struct op *op = &r->ops[i];
		if (op->kind != OP_ALLOC && op->kind != OP_FREE)
			continue;
		const struct buffer *b = &r->buffers[op_buffer(op)];
		if (b->category == CATEGORY_GRADIENTS)
			live += op->kind == OP_ALLOC ? buffer_bytes(b) : -buffer_bytes(b);
		most = live > most ? live : most;
	}
	return most;
}

static int64_t figure_of(const struct plan *p, const char *quantity)
{
	return !strcmp(quantity, "held.gradients") ? gradients_of(p)
	       : !strncmp(quantity, "held.", 5)    ? held_of(p, quantity)
	                                           : moved_of(p, quantity);
}

/* Every row, to the byte. */
START_TEST(plans_do_as_the_frameworks_do)
{
	read_table();
	for (int i = 0; i < row_count; i++) {
		const struct row *r = &rows[i];
		const struct stack *t = stack_of(r->framework);
		const struct plan *p =
		        right_plan("gpt:layers=2,width=32,heads=2,context=16,vocabulary=256 %s ranks=%d "
		                   "micro_batch=2 precision=%s as=%s",
		                   t->strategy ? t->strategy : r->strategy, (int)r->ranks, r->precision, t->as);
		int64_t ours = figure_of(p, r->quantity);
		plans_forget();
		ck_assert_msg(ours == r->theirs, "%s on %lld ranks, %s: %lld, and --as %s says %lld", r->framework,
		              (long long)r->ranks, r->quantity, (long long)r->theirs, t->as, (long long)ours);
	}
}

/* ---- what the frameworks are known to do, in numbers ---- */

enum { PARAMETERS = 34176, ROOT = 8192 + 512 + 64, BLOCK = 12704 };

static int64_t theirs(const char *framework, int64_t ranks, const char *quantity)
{
	return find(framework, ranks, quantity)->theirs;
}

START_TEST(frameworks_send_what_is_known)
{
	read_table();
	ck_assert_int_eq(ROOT + 2 * BLOCK, PARAMETERS);
	for (int64_t n = 2; n <= 4; n += 2) {
		int64_t all = 4 * PARAMETERS, share = (n - 1) * all / n;
		/* DDP: one all-reduce of everything. */
		ck_assert_int_eq(theirs("ddp", n, "sent.total"), 2 * share);
		/* FSDP: blocks twice gathered, the root once; everything reduce-scattered. */
		int64_t fsdp = 4 * (n - 1) * (ROOT + 4 * BLOCK) / n + share;
		ck_assert_int_eq(theirs("fsdp1", n, "sent.total"), fsdp);
		ck_assert_int_eq(theirs("fsdp2", n, "sent.total"), fsdp);
		/* Stages 1 and 2 as shipped: an all-reduce, of which each rank keeps a slice, and an all-gather. */
		for (int stage = 1; stage <= 2; stage++) {
			char name[32];
			snprintf(name, sizeof name, "deepspeed-%d", stage);
			ck_assert_int_eq(theirs(name, n, "sent.all_reduce"), 2 * share);
			ck_assert_int_eq(theirs(name, n, "sent.all_gather"), share);
			ck_assert_int_eq(find(name, n, "sent.total")->ours, 2 * share);
		}
		/* Stage 3 holds its shards, nothing whole; gathers all twice, and the tied table twice more. */
		ck_assert_int_eq(theirs("deepspeed-3", n, "sent.all_gather"), 2 * share + 2 * 4 * 8192 * (n - 1) / n);
		ck_assert_int_eq(theirs("deepspeed-3", n, "held.parameters") * n, all);
	}
}

SUITE("frameworks", 60)
