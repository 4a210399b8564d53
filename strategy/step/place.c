/* Below everything else of the step: names, places of groups in buffers, operations and collectives on them. */
#include <stdarg.h>

#include "strategy/step/step.h"

struct step_view step_view(const struct step *s)
{
	return (struct step_view){.b = s->b,
	                          .plan = s->plan,
	                          .model = s->model,
	                          .settings = s->settings,
	                          .choices = &s->choices,
	                          .ranks = s->ranks,
	                          .root = s->root,
	                          .evaluating = s->evaluating,
	                          .micro = s->micro,
	                          .last_micro = s->last_micro};
}

struct name {
	char text[160];
	size_t length;
};

static void put(struct name *n, size_t most, const char *word)
{
	while (*word && n->length < most)
		n->text[n->length++] = *word++;
}

static void put_number(struct name *n, int number)
{
	char digits[12], *p = digits + sizeof digits - 1;
	*p = 0;
	do
		*--p = (char)('0' + number % 10);
	while (number /= 10);
	put(n, sizeof n->text - 1, p);
}

/* A plan has tens of thousands of names, and printf would be a tenth of the time that it takes. */
static void put_words(struct name *n, size_t most, const char *format, va_list args)
{
	for (; *format && n->length < most; format++)
		if (format[0] == '%' && format[1] == 's') {
			put(n, most, va_arg(args, const char *));
			format++;
		} else {
			n->text[n->length++] = *format;
		}
}

const char *step_name(struct step *s, const char *format, ...)
{
	enum { SUFFIX = 25 };
	struct name n;
	n.length = 0;
	WITH_ARGS(format, put_words(&n, sizeof n.text - SUFFIX, format, args));
	if (s->evaluating) {
		put(&n, sizeof n.text - 1, ".eval");
	} else if (s->settings->accumulate > 1 && s->micro >= 0) {
		put(&n, sizeof n.text - 1, ".m");
		put_number(&n, s->micro);
	}
	n.text[n.length] = 0;
	return arena_copy(s->scratch, n.text);
}

int *step_numbers(struct step *s, int n)
{
	int *p = arena_alloc(s->scratch, (size_t)n * sizeof *p);
	for (int i = 0; i < n; i++)
		p[i] = -1;
	return p;
}

bool step_mixed(const struct step *s)
{
	return (s->settings->precision != TYPE_FP32 && !s->state.casts) ||
	       step_software(s, SOFTWARE_MASTER) == MASTER_ALWAYS;
}

bool step_adamw(const struct step *s)
{
	return s->settings->optimizer == OPTIMIZER_ADAMW;
}

bool step_holds_state(const struct step *s)
{
	return s->root || !s->strategy->root_alone;
}

bool step_speaks(const struct step *s)
{
	return s->root || s->stages > 1 || s->strategy->root_alone;
}

/* ---- places ---- */

enum placement step_owned(enum placement p)
{
	return p == PLACE_SLICE ? PLACE_SHARD : p;
}

struct region step_place(const struct step *s, int buffer, enum placement placement, int group)
{
	int64_t base = s->group[group].base, padded = s->plan->groups[group].padded;
	if (placement == PLACE_SHARD)
		return region_of(buffer, base / s->shards, padded / s->shards);
	if (placement == PLACE_SLICE && s->shards > 1)
		return region_slice(buffer, s->shard_axes, base, padded);
	return region_of(buffer, base, padded);
}

struct region state_own(const struct step *s, enum state_kind kind, int group)
{
	const struct home *h = &s->state.home[kind];
	if (kind == STATE_GRADIENTS && s->state.frees_gradients)
		return region_whole(s->b, s->group[group].shard);
	if (h->buffer < 0)
		return region_none();
	return step_place(s, h->buffer, h->place == PLACE_WHOLE ? s->strategy->optimizer : h->place, group);
}

bool state_stays(const struct step *s, enum state_kind kind)
{
	const struct home *h = &s->state.home[kind];
	return h->buffer >= 0 && h->space == SPACE_DEVICE && (h->place == PLACE_WHOLE || s->shards == 1);
}

uint8_t step_shard_axes(const struct step *s, enum placement place)
{
	return place == PLACE_SHARD ? step_axes(s, s->shard_axes) : 0;
}

int step_software(const struct step *s, int which)
{
	return s->state.elsewhere ? 0 : s->plan->software.does[which];
}

/* ---- operations ---- */

uint8_t step_axes(const struct step *s, unsigned axes)
{
	return axes == plan_all_axes(s->plan) ? 0 : (uint8_t)axes;
}

void step_zero(struct step *s, struct region region)
{
	build_op(s->b, OP_ZERO, QUEUE_COMPUTE)->operand[ZERO_X] = region;
}

void step_zero_padding(struct step *s, int buffer, int64_t begin, int64_t end)
{
	if (end > begin)
		step_zero(s, region_of(buffer, begin, end - begin));
}

struct region step_weight(const struct step *s, int tensor)
{
	return tensor < 0 ? region_none() : s->tensor[tensor].weight;
}

struct op *step_kernel_op(struct step *s, enum op_kind kind, int index, enum pass pass)
{
	struct op *op = build_op(s->b, kind, QUEUE_COMPUTE);
	op->kernel = index;
	op->unit = s->model->kernels[index].unit;
	op->pass = pass;
	op->micro = s->micro;
	return op;
}

struct op *step_collective_after(struct step *s, enum queue made_by, enum op_kind kind, enum traffic_kind t, int group)
{
	enum operation operation = op_operation(kind);
	build_wait_all(s->b, QUEUE_COMMUNICATION, made_by);
	struct op *op = build_op(s->b, kind, QUEUE_COMMUNICATION);
	enum schedule_algorithm algorithm = group >= 0 ? s->choices.algorithm[operation] : schedule_first(operation);
	op->algorithm = algorithm;
	op->traffic = t;
	op->group = group;
	op->micro = s->micro;
	if (group >= 0)
		op->payload = s->plan->groups[group].elements;
	if (s->state.staging >= 0)
		build_operand(op, PART_STAGING, region_whole(s->b, s->state.staging), false);
	return op;
}

struct op *step_collective(struct step *s, enum op_kind kind, enum traffic_kind t, int group)
{
	return step_collective_after(s, QUEUE_COMPUTE, kind, t, group);
}

int step_copy(struct step *s, int group, enum pass pass, struct region from, struct region to)
{
	int number = build_copy(s->b, from, to);
	struct op *op = &s->b->role->ops[number];
	op->group = group;
	op->micro = s->micro;
	op->pass = pass;
	if (op_is_pageable(s->plan, op))
		build_wait(s->b, QUEUE_COMPUTE, number);
	if (op_bytes_in_turn(s->plan, s->b->role, op)) /* the stream of the reductions makes it */
		build_wait(s->b, QUEUE_COMMUNICATION, number);
	return number;
}

int step_add_gradients(struct step *s, int group, enum queue queue, int staging, struct region sum)
{
	struct op *op = build_op(s->b, OP_ADD, queue);
	op->group = group;
	op->micro = s->micro;
	op->pass = PASS_BACKWARD;
	op->operand[ADD_X] = region_whole(s->b, staging);
	op->operand[ADD_Y] = sum;
	int number = build_number(s->b, op);
	build_free(s->b, staging);
	return number;
}
