#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/plan_edit.h"
#include "tests/support/suite.h"

/* ---- places ---- */

struct place {
	int role, op;
};

/* OP_KIND_COUNT: there is none of that name. */
static enum op_kind kind_named(const char *name)
{
	enum op_kind kind = 0;
	while (kind < OP_KIND_COUNT && strcmp(op_name(kind), name) != 0)
		kind++;
	return kind;
}

struct sought {
	enum op_kind kind;
	int queue; /* -1: any */
	int number;
};

static int find_op(const struct role *r, const struct section *in, const struct sought *s)
{
	int step = s->number < 0 ? -1 : 1, left = s->number < 0 ? -s->number - 1 : s->number;
	for (int i = step > 0 ? in->begin : in->end - 1; i >= in->begin && i < in->end; i += step)
		if (r->ops[i].kind == s->kind && (s->queue < 0 || (int)r->ops[i].queue == s->queue) && !left--)
			return i;
	return -1;
}

/* Cuts the word off at a sign; what stands behind it, or NULL. */
static char *cut(char *word, char sign)
{
	char *at = strchr(word, sign);
	if (!at)
		return NULL;
	*at = 0;
	return at + 1;
}

#define LOOK_UP(name_of, type, count)                                                                                  \
	for (int i = 0; i < (count); i++)                                                                              \
		if (!strcmp(name_of((enum type)i), name))                                                              \
	return i

/* The number of a queue, a type, a space or a kind of traffic. */
static int named(const char *name)
{
	LOOK_UP(queue_name, queue, QUEUE_COUNT);
	LOOK_UP(type_name, type, TYPE_COUNT);
	LOOK_UP(space_name, space, SPACE_COUNT);
	LOOK_UP(traffic_name, traffic_kind, TRAFFIC_COUNT);
	ck_abort_msg("nothing is called %s", name);
}

/* "receive-1"; but the number of "receive#-1" is its own. */
static char *cut_last(char *word, char sign)
{
	char *at = strrchr(word, sign);
	return !at || at[-1] == '#' ? NULL : cut(at, sign);
}

static enum section_kind section_named(const char *name)
{
	int k = 0;
	while (k < SECTION_KINDS && strcmp(section_name((enum section_kind)k), name) != 0)
		k++;
	ck_assert_msg(k < SECTION_KINDS, "no section %s", name);
	return (enum section_kind)k;
}

static struct place place_of(const struct plan *p, const char *word)
{
	char text[100], *kind;
	struct sought s = {.number = 0};
	struct place at = {0};
	snprintf(text, sizeof text, "%s", word);
	const char *queue = cut(text, '@'), *back = queue ? NULL : cut_last(text, '-'), *further = cut(text, '+');
	s.queue = queue ? named(queue) : -1;
	const char *number = cut(text, '#'), *behind = cut(text, '/');
	enum section_kind section = behind ? section_named(text) : SECTION_STEP;
	kind = behind ? text + (behind - text) : text;
	char *of_role = cut(kind, ':');
	at.role = of_role ? atoi(kind) : 0;
	kind = of_role ? of_role : kind;
	s.number = number ? atoi(number) : 0;
	const struct role *r = &p->roles[at.role];
	if (!strcmp(kind, "begin") || !strcmp(kind, "end"))
		return (struct place){at.role, *kind == 'b' ? r->step.begin : r->step.end - 1};
	s.kind = kind_named(kind);
	ck_assert_msg(s.kind < OP_KIND_COUNT, "no operation is called %s", kind);
	at.op = find_op(r, section_of(r, section), &s);
	ck_assert_msg(at.op >= 0, "the plan has no %s", word);
	at.op += further ? atoi(further) : back ? -atoi(back) : 0;
	return at;
}

struct op *plan_op(struct plan *p, const char *word)
{
	struct place at = place_of(p, word);
	return &p->roles[at.role].ops[at.op];
}

/* "adamw#1.first" */
struct region *plan_operand(struct plan *p, const char *word)
{
	char text[100];
	snprintf(text, sizeof text, "%s", word);
	char *name = strrchr(text, '.');
	ck_assert_msg(name != NULL, "%s names no operand", word);
	*name++ = 0;
	struct op *op = plan_op(p, text);
	for (int i = 0; i < op_operand_count(op->kind); i++)
		if (!strcmp(op_operand_name(op->kind, i), name))
			return &op->operand[i];
	ck_abort_msg("%s has no operand %s", text, name);
}

/* ---- fields ---- */

#define FIELD(of, name, type) #name, offsetof(struct of, name), type
static const struct field {
	const char *name;
	size_t offset;
	char type; /* int (or an enum), long (64 bits), double, bool */
} of_op[] = {{FIELD(op, root, 'i')},
             {FIELD(op, group, 'i')},
             {FIELD(op, payload, 'l')},
             {FIELD(op, micro, 'i')},
             {FIELD(op, scale, 'd')}},
  of_region[] = {{FIELD(region, count, 'l')}, {FIELD(region, offset, 'l')}, {FIELD(region, slice, 'i')}},
  of_buffer[] = {{FIELD(buffer, state, 'b')}},
  of_settings[] = {{FIELD(settings, loss_scaler, 'i')},
                   {FIELD(settings, loss_scale, 'd')},
                   {FIELD(settings, loss_scale_window, 'l')},
                   {FIELD(settings, offload.delayed, 'b')}};

static double changed(double old, const char *value)
{
	double by = atof(value + 1);
	switch (*value) {
	case '+':
		return old + by;
	case '-':
		return old - by;
	case '*':
		return old * by;
	case '/':
		return old / by;
	default:
		return *value >= '0' && *value <= '9' ? atof(value) : named(value);
	}
}

static bool set_field(void *of, const struct field *fields, int count, const char *name, const char *value)
{
	const struct field *f = fields;
	while (f < fields + count && strcmp(f->name, name) != 0)
		f++;
	if (f == fields + count)
		return false;
	void *at = (char *)of + f->offset;
	if (f->type == 'd')
		*(double *)at = changed(*(double *)at, value);
	else if (f->type == 'l')
		*(int64_t *)at = (int64_t)changed((double)*(int64_t *)at, value);
	else if (f->type == 'b')
		*(bool *)at = changed(*(bool *)at, value) > 0;
	else
		*(int *)at = (int)changed(*(int *)at, value);
	return true;
}

/* Fields of an operation, and of a buffer, that have no address: they are some of its bits. */
#define OP_BITS(X)                                                                                                     \
	X(item, enum item)                                                                                             \
	X(queue, enum queue)                                                                                           \
	X(traffic, enum traffic_kind)                                                                                  \
	X(axes, uint8_t) X(accumulate, uint16_t) X(neighbour, enum neighbour) X(ends_only, bool) X(stochastic, bool)

#define BUFFER_BITS(X) X(type, enum type) X(space, enum space)

#define X(field, type)                                                                                                 \
	if (!strcmp(name, #field)) {                                                                                   \
		of->field = (type)(int)changed((double)of->field, value);                                              \
		return true;                                                                                           \
	}
static bool set_op_bits(struct op *of, const char *name, const char *value)
{
	OP_BITS(X)
	return false;
}

static bool set_buffer_bits(struct buffer *of, const char *name, const char *value)
{
	BUFFER_BITS(X)
	return false;
}
#undef X

/* Sets a field of the plan's settings ("settings"), of an operation, of one of its operands, or of that operand's
 * buffer ("all_reduce#1.staging"). */
static void set(struct plan *p, const char *word, const char *field, const char *value)
{
	if (!strcmp(word, "settings")) {
		ck_assert_msg(set_field(&p->settings, of_settings, COUNT(of_settings), field, value), "no field %s",
		              field);
		return;
	}
	const char *section = strchr(word, '/'), *role = strchr(word, ':');
	const char *name = role ? role + 1 : section ? section + 1 : word, *number = strpbrk(word, "#@");
	if (number ? !strchr(number, '.') : kind_named(name) < OP_KIND_COUNT) {
		struct op *op = plan_op(p, word);
		ck_assert_msg(set_op_bits(op, field, value) || set_field(op, of_op, COUNT(of_op), field, value),
		              "no field %s", field);
		return;
	}
	struct region *r = plan_operand(p, word);
	struct buffer *b = &p->roles[role ? atoi(role - 1) : 0].buffers[r->buffer];
	ck_assert_msg(set_field(r, of_region, COUNT(of_region), field, value) || set_buffer_bits(b, field, value) ||
	                      set_field(b, of_buffer, COUNT(of_buffer), field, value),
	              "no field %s", field);
}

/* ---- edits ---- */

static void edit(struct plan *p, const char *verb, const char *a, const char *b, const char *c)
{
	if (!strcmp(verb, "put")) {
		struct region none = {.buffer = -1}, *to = plan_operand(p, a);
		*to = strcmp(b, "none") ? *plan_operand(p, b) : none;
		return;
	}
	if (!strcmp(verb, "set")) {
		set(p, a, b, c);
		return;
	}
	struct place at = place_of(p, a);
	int other = *c ? place_of(p, c).op : -1;
	if (!strcmp(verb, "drop"))
		plan_drop_op(p, at.role, at.op);
	else if (!strcmp(verb, "double"))
		plan_double_op(p, at.role, at.op);
	else if (!strcmp(verb, "unwait"))
		plan_set_waits(p, at.role, at.op, NULL, 0);
	else if (!strcmp(verb, "wait") && *c)
		plan_set_waits(p, at.role, at.op, &other, 1);
	else if (!strcmp(verb, "move") && *c)
		plan_move_op(p, at.role, at.op, other);
	else
		ck_abort_msg("no edit: %s", verb);
}

void plan_edit_words(struct plan *p, const char *edits)
{
	for (const char *at = edits; *at; at += strspn(at, ", ")) {
		char text[300], word[4][100] = {"", "", "", ""};
		size_t length = strcspn(at, ",");
		snprintf(text, sizeof text, "%.*s", (int)length, at);
		ck_assert_int_ge(sscanf(text, "%99s %99s %99s %99s", word[0], word[1], word[2], word[3]), 2);
		edit(p, word[0], word[1], word[2], word[3]);
		at += length;
	}
}
