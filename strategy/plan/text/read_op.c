/* One operation of a plan's text:
 *
 *     28: reduce_scatter on communication in backward group bucket.0 micro 0 by ring root 0 as reduce_scatter
 *         payload 18 -> x=gathered.gradients.bucket.0[0:18] y=gradients[0:9] staging=staging[0:262144] after 25
 *
 * (in one line). Words stand in this order; what does not belong to the kind is an error.
 */
#include <stdlib.h>
#include <string.h>

#include "strategy/plan/text/read.h"

/* ---- operands ---- */

static int find_operand(enum op_kind kind, const char *name, size_t length)
{
	for (int i = 0; i < op_operand_count(kind); i++)
		if (strlen(op_operand_name(kind, i)) == length && !strncmp(op_operand_name(kind, i), name, length))
			return i;
	return -1;
}

/* "replica,shard", or "r" for all of them; cuts the text up. */
static enum status read_axes(struct reader *r, size_t word, char *text, unsigned *out)
{
	*out = 0;
	if (!strcmp(text, "r")) {
		*out = plan_all_axes(r->p);
		return STATUS_OK;
	}
	for (char *save, *name = strtok_r(text, ",", &save); name; name = strtok_r(NULL, ",", &save)) {
		unsigned axis = plan_axis(r->p, name);
		if (!axis || *out & axis)
			return scan_fail(&r->scan, word, "'%.60s' is %s", name,
			                 axis ? "named twice" : "no axis of the plan");
		*out |= axis;
	}
	return *out ? STATUS_OK : scan_fail(&r->scan, word, "names of axes are missing");
}

/* "buffer[offset:count]", or "buffer[offset:count/axes]" for a slice; cuts the text up. */
static enum status read_region(struct reader *r, size_t word, char *text, struct region *out)
{
	char *open = strrchr(text, '['), *end = text + strlen(text);
	char *colon = open ? strchr(open, ':') : NULL;
	if (!open || !colon || end[-1] != ']')
		return scan_fail(&r->scan, word,
		                 "a region is buffer[offset:count], or buffer[offset:count/r] for a slice");
	*open = *colon = end[-1] = 0;
	char *slash = strchr(colon + 1, '/');
	if (slash) {
		*slash = 0;
		TRY(read_axes(r, word, slash + 1, &out->slice));
	}
	out->buffer = names_find(&r->buffers, text);
	if (out->buffer < 0)
		return scan_fail(&r->scan, word, "unknown buffer '%.60s'", text);
	int64_t elements = r->role->buffers[out->buffer].elements;
	if (!whole_parse(open + 1, elements, &out->offset) || !whole_parse(colon + 1, elements, &out->count) ||
	    !out->count || out->offset > elements - out->count)
		return scan_fail(&r->scan, word,
		                 "[offset:count] is not a part of buffer '%.60s', which has %lld elements", text,
		                 (long long)elements);
	int64_t slices = plan_along(r->p, out->slice);
	if (out->count % slices)
		return scan_fail(&r->scan, word, "%lld elements do not divide into %lld slices", (long long)out->count,
		                 (long long)slices);
	return STATUS_OK;
}

/* The words up to `after` or the end: operands, those that are only read before "->". */
static enum status read_operands(struct reader *r, struct op *op)
{
	struct scan *c = &r->scan;
	size_t where[OP_OPERANDS] = {0}, arrow = 0;
	for (; c->next < c->count && strcmp(c->words[c->next].text, "after"); c->next++) {
		char *text = c->words[c->next].text, *equals = strchr(text, '=');
		if (!strcmp(text, "->") && !arrow) {
			arrow = c->next;
			continue;
		}
		bool adds = equals && equals > text && equals[-1] == '+';
		int i = equals ? find_operand(op->kind, text, (size_t)(equals - text) - adds) : -1;
		if (i < 0)
			return scan_fail(c, c->next, "'%.60s' is no operand of %s", text, op_name(op->kind));
		if (op->operand[i].buffer >= 0)
			return scan_fail(c, c->next, "operand %s is there already", op_operand_name(op->kind, i));
		if (adds && op_declared_access(op->kind, i) != 'a')
			return scan_fail(c, c->next,
			                 "operand %s cannot be added to; use =", op_operand_name(op->kind, i));
		op->accumulate = (uint16_t)(op->accumulate | (adds ? 1u << i : 0));
		where[i] = c->next;
		TRY(read_region(r, c->next, equals + 1, &op->operand[i]));
	}
	for (int i = 0; i < op_operand_count(op->kind); i++) {
		char access = op_access(op, i);
		if (!access && !op_operand_optional(op->kind, i))
			return scan_fail(c, c->next, "operand %s is missing", op_operand_name(op->kind, i));
		if (access && (access == 'r') != (!arrow || where[i] < arrow))
			return scan_fail(c, where[i], "operand %s is %s and stands %s '->'",
			                 op_operand_name(op->kind, i), access == 'r' ? "only read" : "written",
			                 access == 'r' ? "behind" : "before");
	}
	return STATUS_OK;
}

/* ---- what stands before the operands ---- */

static enum status read_kernel(struct reader *r, struct op *op)
{
	TRY(scan_known(&r->scan, "kernel", &r->kernels, &op->kernel));
	op->unit = r->model->kernels[op->kernel].unit;
	op->pass = op_pass(op->kind);
	return STATUS_OK;
}

/* The axes that communication runs over: 0 stands for all of them. */
static enum status read_op_axes(struct reader *r, char *text, struct op *op)
{
	unsigned axes = 0;
	enum status s = read_axes(r, r->scan.next - 1, text, &axes);
	op->axes = axes == plan_all_axes(r->p) ? 0 : (uint8_t)axes;
	return s;
}

static enum status read_pass(struct reader *r, struct op *op)
{
	int pass;
	TRY(scan_name(&r->scan, "pass", pass_name, PASS_COUNT, &pass));
	op->pass = (enum pass)pass;
	return STATUS_OK;
}

/* A kernel's pass is that of its kind; a forward one may be carried out once more. */
static enum status read_recompute(struct reader *r, struct op *op)
{
	if (!scan_is(&r->scan, pass_name(PASS_RECOMPUTE)) || op->pass != PASS_FORWARD)
		return scan_fail(&r->scan, r->scan.next,
		                 "a kernel's pass follows from its kind; a forward kernel may be 'in recompute'");
	op->pass = PASS_RECOMPUTE;
	return STATUS_OK;
}

/* "to stage+1", "from stage-1" */
static enum status read_peer(struct reader *r, struct op *op)
{
	struct scan *c = &r->scan;
	char *text;
	TRY(scan_expect(c, op->kind == OP_SEND ? "to" : "from"));
	TRY(scan_word(c, "a neighbour", &text));
	size_t length = strlen(text);
	if (length < 3 || (strcmp(text + length - 2, "+1") && strcmp(text + length - 2, "-1")))
		return scan_fail(c, c->next - 1, "a neighbour is an axis, and +1 or -1 behind it");
	op->neighbour = text[length - 2] == '+' ? NEIGHBOUR_BEHIND : NEIGHBOUR_BEFORE;
	text[length - 2] = 0;
	return read_op_axes(r, text, op);
}

/* A number of the text that an operation keeps as an int. */
static enum status read_int(struct reader *r, const char *what, int64_t most, int *out)
{
	int64_t number = 0;
	enum status s = scan_whole(&r->scan, what, 0, most, &number);
	*out = (int)number;
	return s;
}

static enum status read_algorithm(struct reader *r, struct op *op)
{
	struct scan *c = &r->scan;
	enum schedule_algorithm algorithm;
	char *text;
	TRY(scan_expect(c, "by"));
	TRY(scan_word(c, "an algorithm", &text));
	if (!schedule_find(op_operation(op->kind), text, &algorithm))
		return scan_fail(c, c->next - 1, "%s has no algorithm '%.60s'", op_name(op->kind), text);
	op->algorithm = algorithm;
	TRY(scan_expect(c, "root"));
	return read_int(r, "a root", r->p->ranks - 1, &op->root);
}

static enum status read_communication(struct reader *r, struct op *op)
{
	struct scan *c = &r->scan;
	int traffic;
	enum status s = STATUS_OK;
	if (op_is_message(op->kind))
		s = read_peer(r, op);
	else if (op->kind != OP_SUM)
		s = read_algorithm(r, op);
	else
		op->algorithm = schedule_first(OPERATION_SUM);
	if (s || (s = scan_expect(c, "as")) ||
	    (s = scan_name(c, "kind of traffic", traffic_name, TRAFFIC_COUNT, &traffic)) ||
	    (s = scan_expect(c, "payload")))
		return s;
	op->traffic = (enum traffic_kind)traffic;
	return scan_whole(c, "a payload", 0, READ_MOST_ELEMENTS, &op->payload);
}

static const char *nth_item(unsigned i)
{
	return item_name((enum item)i);
}

static enum status read_item(struct reader *r, struct op *op)
{
	int item = 0;
	enum status s = scan_expect(&r->scan, "item");
	if (!s)
		s = scan_name(&r->scan, "item", nth_item, ITEM_COUNT, &item);
	op->item = (enum item)item;
	return s;
}

static enum status read_words(struct reader *r, struct op *op)
{
	struct scan *c = &r->scan;
	int queue;
	char *text;
	enum status s;
	bool names_kernel = op_class(op->kind) == OP_CLASS_K;
	/* A collective may belong to a kernel: to a synchronised batch norm. */
	if (op_class(op->kind) == OP_CLASS_C && c->next < c->count)
		names_kernel = strcmp(c->words[c->next].text, "on") != 0;
	if (names_kernel && (s = read_kernel(r, op)))
		return s;
	if ((s = scan_expect(c, "on")) || (s = scan_name(c, "queue", queue_name, QUEUE_COUNT, &queue)))
		return s;
	op->queue = (enum queue)queue;
	if (scan_is(c, "over") && ((s = scan_word(c, "axes", &text)) || (s = read_op_axes(r, text, op))))
		return s;
	op->ends_only = op_class(op->kind) == OP_CLASS_C && scan_is(c, "ends");
	op->joined = op_class(op->kind) == OP_CLASS_C && scan_is(c, "joined");
	if (scan_is(c, "in") && (s = op_class(op->kind) == OP_CLASS_K ? read_recompute(r, op) : read_pass(r, op)))
		return s;
	if (scan_is(c, "group") && (s = scan_known(c, "group", &r->groups, &op->group)))
		return s;
	if (op_has_item(op->kind) && (s = read_item(r, op)))
		return s;
	if (op->kind == OP_COPY && scan_is(c, "unit") && (s = scan_known(c, "unit", &r->units, &op->unit)))
		return s;
	if (scan_is(c, "micro") && (s = read_int(r, "a micro-batch", r->p->settings.accumulate - 1, &op->micro)))
		return s;
	op->in_a_row = op->kind == OP_LOAD && scan_is(c, "row");
	op->all_ranks = scan_is(c, "wide");
	op->stochastic = (op->kind == OP_ADAMW || op->kind == OP_SGD) && scan_is(c, "stochastic");
	if (op_has_scale(op->kind) && ((s = scan_expect(c, "scale")) || (s = scan_real(c, "a scale", &op->scale))))
		return s;
	return op_class(op->kind) == OP_CLASS_C ? read_communication(r, op) : STATUS_OK;
}

/* A gather of one unit's parameters belongs to the unit; the text does not say it again. */
static void derive_unit(const struct reader *r, struct op *op)
{
	if (op->kind != OP_ALL_GATHER || op->group < 0 || op->pass == PASS_NONE || op->pass == PASS_UPDATE)
		return;
	const struct group *g = &r->p->groups[op->group];
	int unit = r->model->tensors[g->tensors[0]].unit;
	for (int i = 1; i < g->tensor_count; i++)
		if (r->model->tensors[g->tensors[i]].unit != unit)
			return;
	op->unit = unit;
}

/* ---- labels and waits ---- */

static enum status read_label(struct reader *r)
{
	char *word = r->scan.words[r->scan.next++].text;
	int64_t number;
	word[strlen(word) - 1] = 0;
	if (!whole_parse(word, INT32_MAX, &number))
		return scan_fail(&r->scan, 0, "'%.40s' is no number for an operation, from 0 to %d", word, INT32_MAX);
	/* 007 is 7 */
	const char *label = arena_print(&r->p->arena, "%lld", (long long)number);
	if (!names_add(&r->labels, label, r->role->op_count))
		return scan_fail(&r->scan, 0, "there is an operation %s already in this role", label);
	return STATUS_OK;
}

static enum status read_after(struct reader *r, struct op *op, int number)
{
	struct scan *c = &r->scan;
	if (!scan_is(c, "after"))
		return STATUS_OK;
	if (c->next == c->count)
		return scan_fail(c, c->next, "numbers of operations belong behind 'after'");
	op->after = arena_alloc(&r->p->arena, (c->count - c->next) * sizeof *op->after);
	while (c->next < c->count) {
		int64_t label;
		int column = c->words[c->next].column;
		TRY(scan_whole(c, "an operation", 0, INT32_MAX, &label));
		r->waits = array_reserve(r->waits, r->wait_count, &r->wait_capacity, sizeof *r->waits);
		r->waits[r->wait_count++] =
		        (struct waiting){number, c->line, column, arena_print(&r->p->arena, "%lld", (long long)label)};
	}
	return STATUS_OK;
}

enum status resolve_waits(struct reader *r)
{
	for (size_t i = 0; i < r->wait_count; i++) {
		const struct waiting *w = &r->waits[i];
		struct op *op = &r->role->ops[w->op];
		int on = names_find(&r->labels, w->label);
		if (on < 0)
			return status_fail(
			        STATUS_INPUT,
			        "%.200s:%d:%d: role %.60s has no operation %s to wait for; name another or take it out",
			        r->scan.name, w->line, w->column, r->role->name, w->label);
		op->after[op->after_count++] = on;
	}
	r->wait_count = 0;
	return STATUS_OK;
}

/* ---- the line ---- */

static enum status read_memory(struct reader *r, struct op *op)
{
	int b;
	TRY(scan_known(&r->scan, "buffer", &r->buffers, &b));
	*op->operand = (struct region){b, 0, 0, r->role->buffers[b].elements};
	return STATUS_OK;
}

enum status read_op(struct reader *r)
{
	struct op op = {.unit = -1, .kernel = -1, .micro = -1, .group = -1};
	struct role *role = r->role;
	int kind;
	enum status s;
	if (!role || r->section < 0)
		return scan_fail(&r->scan, 0,
		                 "operations stand in a section: prologue, step, evaluate, save, restore or epilogue");
	if ((s = read_label(r)) || (s = scan_name(&r->scan, "operation", op_name, OP_KIND_COUNT, &kind)))
		return s;
	op.kind = (enum op_kind)kind;
	op.operand = plan_operands(r->p, op_operand_count(op.kind));
	if (op_class(op.kind) == OP_CLASS_M)
		s = read_memory(r, &op);
	else if (!(s = read_words(r, &op)) && !(s = read_operands(r, &op)))
		s = read_after(r, &op, role->op_count);
	if (s || (s = scan_end(&r->scan)))
		return s;
	derive_unit(r, &op);
	role->ops = arena_grow(&r->p->arena, role->ops, role->op_count, &role->op_capacity, sizeof *role->ops);
	role->ops[role->op_count++] = op;
	return STATUS_OK;
}
