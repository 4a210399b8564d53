/* The memory layout of every strategy's plans: buffers that share bytes are never alive together and are ordered by
 * waits, places are aligned, guard zones are kept, and the arena is hardly larger than the peak.
 *
 * The order of operations is worked out here a second time, as sets of operations, without strategy/plan/order.c. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/plan_check.h"
#include "tests/support/suite.h"

/* ---- what is done before what ---- */

struct before {
	int begin, count;
	size_t words;
	uint64_t *set; /* [operation][words]: all operations that are done when it begins */
};

static bool is_before(const struct before *b, int first, int second)
{
	int bit = first - b->begin;
	return b->set[(size_t)(second - b->begin) * b->words + (size_t)bit / 64] >> (bit % 64) & 1;
}

static void add_before(struct before *b, int first, int second)
{
	uint64_t *to = &b->set[(size_t)(second - b->begin) * b->words];
	const uint64_t *from = &b->set[(size_t)(first - b->begin) * b->words];
	for (size_t w = 0; w < b->words; w++)
		to[w] |= from[w];
	to[(first - b->begin) / 64] |= UINT64_C(1) << ((first - b->begin) % 64);
}

static void before_make(struct before *b, const struct role *r, const struct section *s)
{
	int last[QUEUE_COUNT];
	b->begin = s->begin;
	b->count = s->end - s->begin;
	b->words = (size_t)b->count / 64 + 1;
	b->set = calloc((size_t)b->count + 1, b->words * sizeof *b->set);
	ck_assert_ptr_nonnull(b->set);
	memset(last, -1, sizeof last);
	for (int i = s->begin; i < s->end; i++) {
		const struct op *op = &r->ops[i];
		if (op_class(op->kind) == OP_CLASS_M)
			continue;
		if (last[op->queue] >= 0)
			add_before(b, last[op->queue], i);
		for (int w = 0; w < op->after_count; w++)
			add_before(b, op->after[w], i);
		last[op->queue] = i;
	}
}

/* ---- one section ---- */

struct life {
	int buffer, born, died; /* operations; the end of the section for what outlives it */
	int first[QUEUE_COUNT], last[QUEUE_COUNT];
};

static int find_lives(struct life *lives, const struct role *r, const struct section *s)
{
	int n = 0, *at = malloc(((size_t)r->buffer_count + 1) * sizeof *at);
	ck_assert_ptr_nonnull(at);
	memset(at, -1, (size_t)r->buffer_count * sizeof *at);
	for (int i = s->begin; i < s->end; i++) {
		const struct op *op = &r->ops[i];
		int b = op_buffer(op);
		if (op->kind == OP_ALLOC && !r->buffers[b].state) {
			memset(&lives[n], -1, sizeof *lives);
			lives[n].buffer = b;
			lives[n].born = i;
			lives[n].died = s->end;
			at[b] = n++;
		} else if (op->kind == OP_FREE && !r->buffers[b].state) {
			lives[at[b]].died = i;
		}
		for (int k = 0; k < op_operand_count(op->kind) && op_class(op->kind) != OP_CLASS_M; k++) {
			b = op->operand[k].buffer;
			if (b < 0 || r->buffers[b].state)
				continue;
			struct life *life = &lives[at[b]];
			if (life->first[op->queue] < 0)
				life->first[op->queue] = i;
			life->last[op->queue] = i;
		}
	}
	free(at);
	return n;
}

static bool uses_are_ordered(const struct before *b, const struct life *first, const struct life *second)
{
	for (int q = 0; q < QUEUE_COUNT; q++)
		for (int p = 0; p < QUEUE_COUNT; p++)
			if (first->last[q] >= 0 && second->first[p] >= 0 &&
			    !is_before(b, first->last[q], second->first[p]))
				return false;
	return true;
}

/* Number of pairs that share bytes. */
static int check_section(const struct role *r, const struct section *s, const struct layout *l, int64_t guard)
{
	struct before before;
	struct life *lives = malloc(((size_t)r->buffer_count + 1) * sizeof *lives);
	ck_assert_ptr_nonnull(lives);
	before_make(&before, r, s);
	int n = find_lives(lives, r, s), shared = 0;
	for (int i = 0; i < n; i++)
		for (int j = i + 1; j < n; j++) {
			const struct life *a = &lives[i], *b = &lives[j]; /* a was born first */
			int64_t a0 = l->offset[a->buffer] - guard, b0 = l->offset[b->buffer] - guard;
			int64_t a1 = a0 + buffer_bytes(&r->buffers[a->buffer]) + 2 * guard;
			int64_t b1 = b0 + buffer_bytes(&r->buffers[b->buffer]) + 2 * guard;
			if (a1 <= b0 || b1 <= a0)
				continue;
			shared++;
			ck_assert_msg(a->died < b->born, "'%s' and '%s' are alive together", r->buffers[a->buffer].name,
			              r->buffers[b->buffer].name);
			ck_assert_msg(uses_are_ordered(&before, a, b), "'%s' may still be in use when '%s' is",
			              r->buffers[a->buffer].name, r->buffers[b->buffer].name);
		}
	free(before.set);
	free(lives);
	return shared;
}

/* State stands beside everything for good. */
static void check_state(const struct role *r, const struct layout *l, int64_t guard)
{
	for (int i = 0; i < r->buffer_count; i++) {
		const struct buffer *a = &r->buffers[i];
		int64_t a0 = l->offset[i], a1 = a0 + buffer_bytes(a);
		ck_assert_int_eq(a0 % LAYOUT_ALIGNMENT, 0);
		ck_assert_int_ge(a0, guard);
		ck_assert_int_le(a1 + guard, l->arena_bytes[a->space]);
		for (int j = 0; j < r->buffer_count && a->state; j++)
			if (j != i && r->buffers[j].space == a->space)
				ck_assert_msg(l->offset[j] - guard >= a1 + guard ||
				                      l->offset[j] + buffer_bytes(&r->buffers[j]) + guard <= a0 - guard,
				              "state '%s' lies on '%s'", a->name, r->buffers[j].name);
	}
}

static void check_layout(const struct plan *p, int64_t guard)
{
	for (int i = 0; i < p->role_count; i++) {
		const struct role *r = &p->roles[i];
		struct layout l;
		layout_make(&l, p, r, guard);
		check_state(r, &l, guard);
		check_section(r, &r->prologue, &l, guard);
		int shared = check_section(r, &r->step, &l, guard);
		check_section(r, &r->evaluate, &l, guard);
		check_section(r, &r->epilogue, &l, guard);
		ck_assert_int_gt(shared, 0); /* else there was nothing to find */
		layout_release(&l);
	}
}

static const char *const names[] = {"mlp", "mlp:sizes=784-33-17-10", "gpt", "gpt:layers=2,width=32,heads=2,context=16"};
static const char *const variants[] = {"single", "dp", "dp:broadcast=chain:reduce=tree", "ddp", "zero1",
                                       /* from here on communication has buffers that come and go */
                                       "zero2", "zero3", "zero3:prefetch=0", "zero3:prefetch=100000000",
                                       "zero3:reuse=1000000", "fsdp", "fsdp:reshard=no", "fsdp:sync=last",
                                       "fsdp:prefetch=two:backward=post"};
enum { NAMES = sizeof names / sizeof *names, VARIANTS = sizeof variants / sizeof *variants, FIRST_SHARDED = 5 };

START_LOOP_TEST(nothing_overlaps, 0, VARIANTS)
{
	static const int64_t ranks[] = {1, 3, 8};
	for (int model = 0; model < NAMES; model++)
		for (int n = 0; n < 3; n++)
			for (int accumulate = 1; accumulate <= 2; accumulate++) {
				if (!strcmp(variants[_i], "single") && ranks[n] > 1)
					continue;
				const struct plan *p = made_plan("%s %s ranks=%d micro_batch=3 accumulate=%d%s",
				                                 names[model], variants[_i], (int)ranks[n], accumulate,
				                                 accumulate > 1 ? " clip=1 bucket=65536" : "");
				check_layout(p, 0);
				check_layout(p, 256);
			}
}

/* In the plans of our strategies waits already order whatever comes to share bytes. Without its waits a communication
 * queue runs ahead, and the layout has to keep apart what it could then overwrite. */
START_LOOP_TEST(layout_follows_the_waits, FIRST_SHARDED, VARIANTS)
{
	for (int keep = 0; keep < 4; keep++) {
		struct layout before, after;
		struct plan *p = made_plan("gpt %s ranks=3 accumulate=2", variants[_i]);
		struct role *r = &p->roles[0];
		layout_make(&before, p, r, 0);
		int collectives = 0;
		for (int i = 0; i < r->op_count; i++)
			if (r->ops[i].queue == QUEUE_COMMUNICATION && (!keep || collectives++ % 4 != keep))
				r->ops[i].after_count = 0;
		layout_make(&after, p, r, 0);
		check_layout(p, 0);
		if (!keep)
			ck_assert_int_gt(after.arena_bytes[SPACE_DEVICE], before.arena_bytes[SPACE_DEVICE]);
		layout_release(&before);
		layout_release(&after);
	}
}

/* The layout of large plans goes another way than that of small ones (strategy/plan/layout.c). */
START_LOOP_TEST(large_plans_do_not_overlap, 0, 2)
{
	const struct plan *p = made_plan("gpt2-124m %s ranks=4 accumulate=10", _i ? "zero3" : "zero2");
	ck_assert_int_gt(p->roles[0].buffer_count, 2000);
	check_layout(p, 0);
}

START_TEST(arena_is_close_to_the_peak)
{
	static const char *const large[] = {"gpt", "gpt2-124m"};
	for (int model = 0; model < 2; model++)
		for (int i = 0; strategy_at(i); i++) {
			int64_t ranks = i ? 4 : 1;
			const struct plan *p = made_plan("%s %s ranks=%d micro_batch=4", large[model],
			                                 strategy_at(i)->name, (int)ranks);
			for (int role = 0; role < p->role_count; role++) {
				struct memory_use use;
				plan_memory(p, &p->roles[role], SPACE_DEVICE, &use);
				double above = (double)use.arena_bytes / (double)use.peak_bytes - 1;
				printf("%-10s %-7s %-7s peak %12lld, arena %12lld: %+.3f%%\n", large[model],
				       strategy_at(i)->name, p->roles[role].name, (long long)use.peak_bytes,
				       (long long)use.arena_bytes, 100 * above);
				ck_assert_int_ge(use.arena_bytes, use.peak_bytes);
				ck_assert_msg(above < 0.03, "%s %s: the arena is %.2f%% above the peak", large[model],
				              strategy_at(i)->name, 100 * above);
			}
		}
}

static const char *peak_buffer(const struct role *r, const struct memory_use *use)
{
	ck_assert_int_eq(r->ops[use->peak_op].kind, OP_ALLOC);
	return r->buffers[op_buffer(&r->ops[use->peak_op])].name;
}

/* Memory at each point of the step, added up by hand for a layer of 4 → 4 on one rank and two samples: state is
 * 20 elements of parameters, gradients and two moments, loss and step; a step has the inputs and targets, and the
 * logits, which become their gradient in place. */
START_TEST(peak_of_one_layer)
{
	const struct plan *p;
	struct memory_use use;
	p = made_plan("mlp:sizes=4-4 single micro_batch=2");
	plan_memory(p, &p->roles[0], SPACE_DEVICE, &use);
	ck_assert_int_eq(use.steady[CATEGORY_PARAMETERS], 80);
	ck_assert_int_eq(use.steady[CATEGORY_GRADIENTS], 80);
	ck_assert_int_eq(use.steady[CATEGORY_OPTIMIZER], 160);
	ck_assert_int_eq(use.steady[CATEGORY_BUFFERS], 8 + 4);
	ck_assert_int_eq(use.steady[CATEGORY_ACTIVATIONS], 0);
	ck_assert_int_eq(use.at_peak[CATEGORY_ACTIVATIONS], 2 * 4 * 4 + 2 * 4 + 2 * 4 * 4);
	ck_assert_int_eq(use.at_peak[CATEGORY_GATHERED], 0);
	ck_assert_int_eq(use.peak_bytes, 80 + 80 + 160 + 12 + 72);
	ck_assert_str_eq(peak_buffer(&p->roles[0], &use), "logits");
	/* both micro-batches reach it; the first counts */
	p = made_plan("mlp:sizes=4-4 single micro_batch=2 accumulate=2");
	plan_memory(p, &p->roles[0], SPACE_DEVICE, &use);
	ck_assert_int_eq(use.peak_bytes, 80 + 80 + 160 + 12 + 72);
	ck_assert_str_eq(peak_buffer(&p->roles[0], &use), "logits.m0");
}

/* A peak belongs to the operation that was allocated for: the first behind it that is no alloc or free of its own. */
START_TEST(peaks_in_words)
{
	struct memory_use use;
	char text[200];
	struct plan *p = made_plan("mlp:sizes=4-4 single micro_batch=2");
	struct role *r = &p->roles[0];
	plan_memory(p, r, SPACE_DEVICE, &use);
	plan_peak_describe(p, r, use.peak_op, text, sizeof text);
	ck_assert_str_eq(text, "forward layer.0.linear");
	plan_peak_describe(p, r, -1, text, sizeof text);
	ck_assert_str_eq(text, "between steps");
	int last = r->step.end;
	while (op_class(r->ops[last - 1].kind) != OP_CLASS_M)
		last--;
	r->step.end = last; /* nothing follows it any more */
	plan_peak_describe(p, r, last - 1, text, sizeof text);
	ck_assert_str_eq(text, "the end of the step");
}

SUITE("layout", 0)
