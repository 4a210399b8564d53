/* Reads and writes a stack file, every field by the same table. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "strategy/base/keys.h"
#include "strategy/cluster/reader.h"
#include "strategy/cluster/stack_fields.h"

static const struct field fields[STACK_VALUES] = {
#define X(constant, section, key, kind, low, high, what) {section, key, FIELD_##kind, 0, low, high, 0},
        STACK_LIST(X)
#undef X
};

const struct field *stack_field(int value)
{
	return &fields[value];
}

/* ---- texts ---- */

enum { TEXT_NAME, TEXT_ABOUT, TEXT_CLASS, TEXT_CARD, TEXTS };

static const struct {
	const char *key, *words; /* NULL: any text */
	const char *missing;     /* NULL: it may be left out */
	size_t offset, size;
} texts[TEXTS] = {
        {"name", NULL, "'name' is missing", offsetof(struct stack, name), sizeof((struct stack *)0)->name},
        {"about", NULL, NULL, offsetof(struct stack, about), sizeof((struct stack *)0)->about},
        {"class", STACK_CLASSES, "'class' is missing: it gives what the file does not say; one of: " STACK_CLASSES,
         offsetof(struct stack, class), sizeof((struct stack *)0)->class},
        {"card", STACK_CARDS,
         "'card' is missing: the generation whose ceilings these are shares of; one of: " STACK_CARDS,
         offsetof(struct stack, card), sizeof((struct stack *)0)->card},
};

/* The sections in the order of the list, each once, behind the texts. */
enum { SECTIONS = 20 };

static int top_keys(const char *name[SECTIONS])
{
	int n = 0;
	while (n < TEXTS) {
		name[n] = texts[n].key;
		n++;
	}
	for (int i = 0; i < STACK_VALUES && n < SECTIONS; i++)
		if (!i || strcmp(fields[i].section, fields[i - 1].section) != 0)
			name[n++] = fields[i].section;
	return n;
}

static enum status read_word(struct reader *r, const yaml_node_t *node, int i, char *at)
{
	enum status s = reader_text(r, node, texts[i].key, at, texts[i].size);
	if (s || !texts[i].words || word_find(texts[i].words, at) >= 0)
		return s;
	return FAIL(r, node, "%s '%.40s' is not one of: %s", texts[i].key, at, texts[i].words);
}

static enum status read_texts(struct reader *r, const yaml_node_t *root, const yaml_node_t *const *value,
                              struct stack *out)
{
	enum status s = STATUS_OK;
	for (int i = 0; !s && i < TEXTS; i++) {
		if (!value[i] && texts[i].missing)
			return FAIL(r, root, "%s", texts[i].missing);
		if (value[i])
			s = read_word(r, value[i], i, (char *)out + texts[i].offset);
	}
	return s;
}

/* ---- sections ---- */

/* A share of a ceiling says so where it is above it; for all else the bounds are words enough. */
static enum status read_value(struct reader *r, const yaml_node_t *node, int i, int64_t *out)
{
	const struct field *f = &fields[i];
	char what[64];
	snprintf(what, sizeof what, "%s.%s", f->section, f->key);
	const char *text = reader_scalar(node);
	if (text && f->kind == FIELD_SHARE && f->high == 1 && i < STACK_RANGE_LOW && strtod(text, NULL) > 1)
		return FAIL(r, node, "%s is %.40s, above the ceiling: it is a share of the cluster's, at most 1", what,
		            text);
	return reader_number(r, node, what, f, out);
}

/* Reads the runs that a stack was fitted on: their number, and their range from least to most. */
static enum status check_fit(struct reader *r, const yaml_node_t *node, const struct stack *s)
{
	if (s->value[STACK_FIT_ROWS] == STACK_MISSING)
		return FAIL(r, node,
		            "fit: 'rows' is missing: fitted on how many runs? At least 1; leave 'fit' out if on none");
	for (int least = STACK_FIT_WIDTH_LEAST; least <= STACK_FIT_TOKENS_LEAST; least += 2) {
		int64_t a = s->value[least], b = s->value[least + 1];
		if (a != STACK_MISSING && b != STACK_MISSING && a > b)
			return FAIL(r, node, "fit: %s is %lld, above %s, %lld", fields[least].key, (long long)a,
			            fields[least + 1].key, (long long)b);
	}
	return STATUS_OK;
}

static enum status read_section(struct reader *r, const char *section, const yaml_node_t *node, struct stack *out)
{
	const char *name[STACK_VALUES];
	const yaml_node_t *value[STACK_VALUES];
	enum status s;
	for (int i = 0; i < STACK_VALUES; i++)
		name[i] = strcmp(fields[i].section, section) ? NULL : fields[i].key;
	const struct reader_keys keys = {name, STACK_VALUES, NULL};
	if ((s = reader_values(r, node, section, &keys, value)))
		return s;
	for (int i = 0; !s && i < STACK_VALUES; i++)
		if (value[i])
			s = read_value(r, value[i], i, &out->value[i]);
	return s || strcmp(section, "fit") != 0 ? s : check_fit(r, node, out);
}

static enum status read_top(struct reader *r, const yaml_node_t *root, const char *card, struct stack *out)
{
	const char *name[SECTIONS];
	const yaml_node_t *value[SECTIONS];
	const struct reader_keys keys = {name, top_keys(name), NULL};
	enum status s = reader_values(r, root, "", &keys, value);
	if (s || (s = read_texts(r, root, value, out)))
		return s;
	if (*card && strcmp(out->card, card) != 0)
		return FAIL(r, value[TEXT_CARD],
		            "the stack is for %s, and the cluster's card is %s; take another stack, or a class",
		            out->card, card);
	for (int i = TEXTS; !s && i < keys.count; i++)
		if (value[i])
			s = read_section(r, name[i], value[i], out);
	if (!s)
		stack_complete(out);
	return s;
}

enum status stack_read(struct stack *out, const char *text, size_t size, const char *file, const char *card)
{
	struct reader r = {.file = file, .what = "stack"};
	const yaml_node_t *root = NULL;
	*out = (struct stack){.name = ""};
	for (int i = 0; i < STACK_VALUES; i++)
		out->value[i] = STACK_MISSING;
	TRY(reader_open(&r, text, size, &root));
	enum status s =
	        root ? read_top(&r, root, card, out)
	             : status_fail(STATUS_INPUT, "%s:1:1: empty; a stack file begins with `name:` and `class:`", file);
	reader_release(&r);
	return s;
}

/* ---- writing ---- */

void stack_print(const struct stack *s, FILE *out)
{
	const char *section = "";
	for (int i = 0; i < TEXTS; i++)
		if (*((const char *)s + texts[i].offset)) {
			fprintf(out, "%s: ", texts[i].key);
			print_text((const char *)s + texts[i].offset, out);
			fputc('\n', out);
		}
	for (int i = 0; i < STACK_VALUES; i++) {
		if (s->value[i] == STACK_MISSING)
			continue;
		if (strcmp(section, fields[i].section) != 0)
			fprintf(out, "%s:\n", fields[i].section);
		section = fields[i].section;
		fprintf(out, "  %s: ", fields[i].key);
		print_scaled(s->value[i], field_scale(fields[i].kind), out);
		fputc('\n', out);
	}
}
