/* Operations in plain words: what their rows of the plan's table (strategy/plan/ops.def) say, with names put in.
 *
 * `does` follows a subject: "~" stands for the verb's ending, so that "clear~ <b>" is "clears the loss" of one rank and
 * "clear the loss" of two. `names` stands for the operation where another waits for it. In angles:
 *
 *     <k> the kernel       "block.3.qkv"                        <b> what it works on    "the output of block.3.qkv"
 *     <g> the group        "bucket.0", "the model"              <way> between memories  "to host memory"
 *     <which> pass         "forward", "repeated forward"        <part> of an update     "its own slice of bucket.0"
 *     <samples>            "4 samples of its own"           <seen> by attention       "those before it"
 */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "strategy/base/language.h"
#include "strategy/strategies/strategy.h"
#include "viz/timeline/op_words.h"

struct row {
	const char *does, *names;
};

static const struct row rows[OP_KIND_COUNT] = {
#define WORDS(constant, does, names) [OP_##constant] = {does, names},
#include "strategy/plan/ops.def"
};

enum {
	ROWS = 0
#define WORDS(...) +1
#include "strategy/plan/ops.def"
};
static_assert((int)ROWS == (int)OP_KIND_COUNT, "an operation has no words");

/* ---- what buffers hold ---- */

struct part_words {
	enum part part;
	const char *words; /* <k>: the kernel's name */
};

/* An operand's part says what its buffer is; earlier rows say more. */
static const struct part_words of_part[] = {
        {PART_LOSS, "the loss"},
        {PART_NORM, "the squares of the gradients"},
        {PART_SCALER, "the loss scale"},
        {PART_OVERFLOW, "the flag for infinities"},
        {PART_COUNTER, "the number of the step"},
        {PART_MASTER, "the fp32 copy of the weights"},
        {PART_FIRST_MOMENT, "the first moments"},
        {PART_SECOND_MOMENT, "the second moments"},
        {PART_TARGET, "the targets"},
        {PART_MAXIMA, "the largest logits"},
        {PART_CLASS_SUMS, "the sums of the exponentials"},
        {PART_LOCAL, "the rank's own statistics of <k>"},
        {PART_PARTS, "the statistics of all ranks for <k>"},
        {PART_RUNNING, "the running statistics of <k>"},
        {PART_SUMS, "the sums of <k>"},
        {PART_Y, "the output of <k>"},
        {PART_SAVED, "what <k> keeps for its backward pass"},
        {PART_DX, "the input gradients of <k>"},
        {PART_DSECOND, "the input gradients of <k>"},
        {PART_DY, "the output gradients of <k>"},
        {PART_X, "the input of <k>"},
};

static bool uses(const struct op *op, int operand, int buffer)
{
	return op->operand[operand].buffer == buffer;
}

/* The first operation of the step in which the buffer is such a part; it says of which kernel. */
static const struct op *used_as(const struct role *r, int buffer, enum part part)
{
	for (int i = r->step.begin; i < r->step.end; i++)
		for (int k = 0; k < op_operand_count(r->ops[i].kind); k++)
			if (op_part(r->ops[i].kind, k) == part && uses(&r->ops[i], k, buffer))
				return &r->ops[i];
	return NULL;
}

const char *group_word(const struct plan *p, int group)
{
	static const struct {
		const char *name, *words;
	} plain[] = {{"all", "the model"},
	             {"whole", "the tensors that are not sliced"},
	             {"tied", "the tied embedding"},
	             {"the buffer", "the buffer"}}; /* of a collective alone */
	const char *name = p->groups[group].name;
	for (size_t i = 0; i < sizeof plain / sizeof plain[0]; i++)
		if (!strcmp(name, plain[i].name))
			return tr(plain[i].words);
	return name;
}

const char *role_word(const struct role *r)
{
	static const char *const keys[] = {"root:", "worker:", NULL}; /* a unit of a model is called root, too */
	return tr_name(r->name, keys);
}

const char *own_part_word(const struct plan *p)
{
	const struct strategy *g = strategy_find(p->strategy);
	if (!g || g->optimizer == PLACE_WHOLE)
		return NULL;
	return g->optimizer == PLACE_SHARD ? tr("shard") : tr("slice");
}

/* The group of parameters or gradients that is packed in a buffer; NULL: there is not exactly one. */
static const char *group_in(const struct plan *p, const struct role *r, int buffer)
{
	int group = -1;
	for (int i = r->step.begin; i < r->step.end; i++)
		for (int k = 0; k < op_operand_count(r->ops[i].kind); k++) {
			const struct op *op = &r->ops[i];
			if (!uses(op, k, buffer) || op->group < 0)
				continue;
			if (group >= 0 && op->group != group)
				return NULL;
			group = op->group;
		}
	return group < 0 ? NULL : group_word(p, group);
}

static const char *kernel_name(const struct plan *p, const struct op *op)
{
	return op->kernel >= 0 ? p->model->kernels[op->kernel].name : tr("the model");
}

static void fill(char *out, size_t size, const char *words, const char *kernel)
{
	const char *at = strstr(words, "<k>");
	if (at)
		snprintf(out, size, "%.*s%s%s", (int)(at - words), words, kernel, at + 3);
	else
		snprintf(out, size, "%s", words);
}

static void packed_words(const struct plan *p, const struct role *r, int buffer, const char *what, char *out,
                         size_t size)
{
	const char *group = group_in(p, r, buffer);
	if (group)
		snprintf(out, size, tr("the %s of %s"), what, group);
	else
		snprintf(out, size, tr("the %s"), what);
}

/* The other end of a copy; -1: it is never copied. */
static int copied_with(const struct role *r, int buffer)
{
	for (int i = r->step.begin; i < r->step.end; i++) {
		const struct op *op = &r->ops[i];
		if (op->kind == OP_COPY && op->operand[COPY_Y].buffer == buffer && op->operand[COPY_X].buffer != buffer)
			return op->operand[COPY_X].buffer;
	}
	return -1;
}

/* Describes a buffer by its part in the operations that use it; false: that says nothing. */
static bool part_words(const struct timeline *s, const struct role *r, int buffer, char *out)
{
	for (size_t i = 0; i < sizeof of_part / sizeof of_part[0]; i++) {
		const struct op *op = used_as(r, buffer, of_part[i].part);
		if (!op)
			continue;
		bool samples = of_part[i].part == PART_X && op->kind == OP_LOAD;
		fill(out, OP_WORDS, tr(samples ? "the samples" : of_part[i].words), kernel_name(s->plan, op));
		return true;
	}
	return false;
}

/* A role may only pass on what another one makes, under the same name. */
static void words_of_namesake(const struct timeline *s, const struct role *r, int buffer, char *out)
{
	for (int i = 0; i < s->plan->role_count; i++) {
		const struct role *other = &s->plan->roles[i];
		for (int k = 0; other != r && k < other->buffer_count; k++)
			if (!strcmp(other->buffers[k].name, r->buffers[buffer].name) && part_words(s, other, k, out))
				return;
	}
}

const char *buffer_words(char *out, const struct timeline *s, const struct role *r, int buffer)
{
	const struct plan *p = s->plan;
	enum held held = s->roles[r - p->roles].held[buffer];
	snprintf(out, OP_WORDS, "%s", r->buffers[buffer].name);
	if (held == HELD_PARAMETERS || held == HELD_GRADIENTS || held == HELD_WHOLE_GRADIENTS ||
	    held == HELD_WHOLE_PARAMETERS) {
		packed_words(p, r, buffer, tr(held_name(held)), out, OP_WORDS);
		return out;
	}
	int source = copied_with(r, buffer);
	if (used_as(r, buffer, PART_STAGING))
		snprintf(out, OP_WORDS, "%s", tr("room for what is on its way"));
	else if (!part_words(s, r, buffer, out) && (source < 0 || !part_words(s, r, source, out)) &&
	         group_in(p, r, buffer))
		snprintf(out, OP_WORDS, tr("its part of %s"), group_in(p, r, buffer));
	if (!strcmp(out, r->buffers[buffer].name))
		words_of_namesake(s, r, buffer, out);
	return out;
}

/* ---- operations ---- */

static const char *const which_passes[PASS_COUNT] = {"", "forward", "repeated forward", "backward", "update"};

/* The buffer that an operation writes, or else reads. */
static int object_of(const struct op *op)
{
	for (int pass = 0; pass < 2; pass++)
		for (int i = 0; i < op_operand_count(op->kind); i++)
			if (op->operand[i].buffer >= 0 && op_part(op->kind, i) != PART_STAGING &&
			    (pass || op_access(op, i) != 'r'))
				return op->operand[i].buffer;
	return -1;
}

static const char *way_words(enum queue queue)
{
	static const char *const ways[QUEUE_COUNT] = {
	        [QUEUE_HOST_TO_DEVICE] = " from host memory to the device",
	        [QUEUE_DEVICE_TO_HOST] = " from the device to host memory",
	        [QUEUE_DISK] = " between disk and host memory",
	};
	return ways[queue] ? tr(ways[queue]) : "";
}

static void sample_words(const struct plan *p, const struct op *op, char *out, size_t size)
{
	int64_t samples = p->settings.micro_batch * (op->all_ranks ? p->ranks : 1);
	snprintf(out, size, tr("%lld sample%s%s"), (long long)samples, samples == 1 ? "" : "s",
	         op->all_ranks             ? tr(" for all ranks")
	         : plan_data_ranks(p) == 1 ? "" /* those that work on the same samples */
	                                   : tr(" of its own"));
}

const char *payload_words(char *out, const struct timeline *s, const struct role *r, const struct op *op)
{
	const struct op *made = used_as(r, op_buffer(op), PART_Y);
	buffer_words(out, s, r, op_buffer(op));
	/* They take the outputs' place in memory. */
	if (op->traffic == TRAFFIC_SCATTER_OUTPUT_GRADIENTS && made)
		fill(out, OP_WORDS, tr("the output gradients of <k>"), kernel_name(s->plan, made));
	return out;
}

static void group_words(const struct timeline *s, const struct role *r, const struct op *op, char *out)
{
	int object = object_of(op);
	if (op->group >= 0)
		snprintf(out, OP_WORDS, "%s", group_word(s->plan, op->group));
	else if (op_class(op->kind) == OP_CLASS_C && object >= 0)
		payload_words(out, s, r, op);
	else
		snprintf(out, OP_WORDS, "%s", tr("the model"));
}

static void part_of_update(const struct plan *p, const struct op *op, char *out)
{
	const char *own = own_part_word(p), *group = op->group >= 0 ? group_word(p, op->group) : tr("the model");
	if (own)
		snprintf(out, OP_WORDS, tr("its own %s of %s"), tr(own), group);
	else
		snprintf(out, OP_WORDS, tr("the parameters of %s"), group);
}

/* The tokens that a token attends to. */
static void seen_words(const struct kernel *k, char *out)
{
	if (k->window)
		snprintf(out, OP_WORDS, tr("the last %lld up to itself"), (long long)k->window);
	else
		snprintf(out, OP_WORDS, "%s", tr("those before it"));
}

/* The value of a name in braces; its length. */
static size_t value_of(const char *name, const struct timeline *s, const struct role *r, const struct op *op, char *out)
{
	int object = object_of(op);
	if (!strncmp(name, "<k>", 3))
		return (size_t)snprintf(out, OP_WORDS, "%s", kernel_name(s->plan, op)), 3;
	if (!strncmp(name, "<g>", 3))
		return group_words(s, r, op, out), 3;
	if (!strncmp(name, "<which>", 7))
		return (size_t)snprintf(out, OP_WORDS, "%s", tr(which_passes[op->pass])), 7;
	if (!strncmp(name, "<seen>", 6))
		return seen_words(&s->plan->model->kernels[op->kernel], out), 6;
	if (!strncmp(name, "<way>", 5))
		return (size_t)snprintf(out, OP_WORDS, "%s", way_words(op->queue)), 5;
	if (!strncmp(name, "<samples>", 9))
		return sample_words(s->plan, op, out, OP_WORDS), 9;
	if (!strncmp(name, "<part>", 6))
		return part_of_update(s->plan, op, out), 6;
	snprintf(out, OP_WORDS, "%s", tr("it"));
	if (object >= 0)
		buffer_words(out, s, r, object);
	return 3; /* <b> */
}

/* "~" after a verb: "clears", "copies"; nothing if several do it. */
static size_t add_ending(char *out, size_t at, size_t size, bool several)
{
	if (several)
		return at;
	if (at && out[at - 1] == 'y' && at > 1 && !strchr("aeou", out[at - 2]))
		return at - 1 + (size_t)snprintf(out + at - 1, size - at + 1, "ies");
	return at + (size_t)snprintf(out + at, size - at, "s");
}

/* micro: the micro-batch that is known already. */
static void put_together(char *out, const char *words, const struct timeline *s, const struct role *r,
                         const struct op *op, bool several, int micro)
{
	size_t at = 0;
	char value[OP_WORDS];
	for (const char *c = tr(words); *c && at + 4 < OP_WORDS;) {
		if (*c == '<') {
			c += value_of(c, s, r, op, value);
			at += (size_t)snprintf(out + at, OP_WORDS - at, "%s", value);
		} else if (*c == '~') {
			at = add_ending(out, at, OP_WORDS, several);
			c++;
		} else {
			out[at++] = *c++;
		}
	}
	at = at < OP_WORDS ? at : OP_WORDS - 1;
	out[at] = 0;
	if (op->micro >= 0 && op->micro != micro && s->plan->settings.accumulate > 1 && at + 1 < OP_WORDS)
		snprintf(out + at, OP_WORDS - at, tr(", micro-batch %d"), op->micro);
}

const char *op_words(char *out, const struct timeline *s, const struct role *r, const struct op *op)
{
	put_together(out, rows[op->kind].names, s, r, op, false, -1);
	return out;
}

const char *op_words_beside(char *out, const struct timeline *s, const struct role *r, const struct op *op,
                            const struct op *other)
{
	put_together(out, rows[op->kind].names, s, r, op, false, other->micro);
	return out;
}

const char *op_does(char *out, const struct timeline *s, const struct role *r, const struct op *op, bool several)
{
	put_together(out, rows[op->kind].does, s, r, op, several, -1);
	return out;
}
