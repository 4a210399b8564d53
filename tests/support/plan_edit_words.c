#include <check.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/plan_edit.h"

/* ---- places ---- */

struct place {
	int role, op;
};

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

static int queue_named(const char *name)
{
	for (int q = 0; name && q < QUEUE_COUNT; q++)
		if (!strcmp(queue_name((enum queue)q), name))
			return q;
	ck_assert_msg(!name, "no queue %s", name);
	return -1;
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
	char text[100], *kind = text;
	struct sought s = {.number = 0};
	struct place at = {0};
	snprintf(text, sizeof text, "%s", word);
	const char *further = cut(text, '+');
	s.queue = queue_named(cut(text, '@'));
	const char *number = cut(text, '#'), *behind = cut(text, '/');
	enum section_kind section = behind ? section_named(text) : SECTION_STEP;
	kind = behind ? text + (behind - text) : text;
	char *of_role = cut(kind, ':');
	at.role = of_role ? atoi(kind) : 0;
	kind = of_role ? of_role : kind;
	s.number = number ? atoi(number) : 0;
	const struct role *r = &p->roles[at.role];
	if (!strcmp(kind, "end"))
		return (struct place){at.role, r->step.end - 1};
	ck_assert_msg(op_kind_parse(kind, &s.kind), "no operation is called %s", kind);
	at.op = find_op(r, section_of(r, section), &s);
	ck_assert_msg(at.op >= 0, "the plan has no %s", word);
	at.op += further ? atoi(further) : 0;
	return at;
}

static struct op *op_at(struct plan *p, const char *word)
{
	struct place at = place_of(p, word);
	return &p->roles[at.role].ops[at.op];
}

/* "adamw#1.first" */
static struct region *operand_at(struct plan *p, const char *word)
{
	char text[100];
	snprintf(text, sizeof text, "%s", word);
	char *name = strrchr(text, '.');
	ck_assert_msg(name != NULL, "%s names no operand", word);
	*name++ = 0;
	struct op *op = op_at(p, text);
	for (int i = 0; i < op_operand_count(op->kind); i++)
		if (!strcmp(op_operand_name(op->kind, i), name))
			return &op->operand[i];
	ck_abort_msg("%s has no operand %s", text, name);
}

/* ---- fields ---- */

#define FIELD(type, name)                                                                                              \
	{                                                                                                              \
#name, offsetof(struct type, name), sizeof((struct type){0}.name)                                      \
	}
static const struct field {
	const char *name;
	size_t offset, size;
} of_op[] = {FIELD(op, root),       FIELD(op, payload), FIELD(op, micro), FIELD(op, shift),
             FIELD(op, accumulate), FIELD(op, axes),    FIELD(op, queue), {0}},
  of_region[] = {FIELD(region, count), FIELD(region, offset), FIELD(region, slice), FIELD(region, buffer), {0}};

static int64_t changed(int64_t old, const char *value)
{
	int64_t by = atoll(value + 1);
	switch (*value) {
	case '+':
		return old + by;
	case '-':
		return old - by;
	case '/':
		return old / by;
	default:
		return *value >= '0' && *value <= '9' ? atoll(value) : queue_named(value);
	}
}

static void set_field(void *of, const struct field *fields, const char *name, const char *value)
{
	const struct field *f = fields;
	while (f->name && strcmp(f->name, name) != 0)
		f++;
	ck_assert_msg(f->name != NULL, "no field %s", name);
	char *at = (char *)of + f->offset;
	if (f->size == sizeof(int64_t)) {
		*(int64_t *)(void *)at = changed(*(int64_t *)(void *)at, value);
	} else {
		ck_assert_uint_eq(f->size, sizeof(int));
		*(int *)(void *)at = (int)changed(*(int *)(void *)at, value);
	}
}

/* ---- edits ---- */

static void edit(struct plan *p, const char *verb, const char *a, const char *b, const char *c)
{
	if (!strcmp(verb, "put")) {
		struct region none = {.buffer = -1}, *to = operand_at(p, a);
		*to = strcmp(b, "none") ? *operand_at(p, b) : none;
		return;
	}
	if (!strcmp(verb, "set")) {
		enum op_kind kind;
		char text[100];
		snprintf(text, sizeof text, "%s", a);
		text[strcspn(text, "#@+")] = 0;
		bool whole = op_kind_parse(strrchr(text, ':') ? strrchr(text, ':') + 1 : text, &kind);
		set_field(whole ? (void *)op_at(p, a) : (void *)operand_at(p, a), whole ? of_op : of_region, b, c);
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
