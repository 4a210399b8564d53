#define _GNU_SOURCE /* memmem */
#include "real/tokenizer/pattern.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "real/tokenizer/tokenizer.h"
#include "strategy/base/arena.h"
#include "strategy/base/memory.h"

struct pattern_expression {
	pcre2_code *code;
	pcre2_match_context *limits;
	pcre2_match_data *found;
	pcre2_jit_stack *stack;
};

/* ---- from Oniguruma's language to PCRE2's ---- */

/* White space as Unicode has it; PCRE2's \s is U+180E as well. */
#define SPACES "\\x09-\\x0d\\x20\\x{85}\\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}\\x{202f}\\x{205f}\\x{3000}"

struct translation {
	const char *at, *where;
	struct bytes out;
	bool in_class;
};

static enum status refuse(const struct translation *t, const char *what)
{
	char place[24];
	snprintf(place, sizeof place, "%s", t->at);
	for (char *c = place; *c; c++)
		*c = (unsigned char)*c < ' ' ? ' ' : *c;
	return status_fail(STATUS_INPUT, "%s: %s in its pattern is not supported, at \"%s\"", t->where, what, place);
}

static void put(struct translation *t, const char *text)
{
	bytes_add(&t->out, text, strlen(text));
}

/* \p{L}, \P{Nd}, \pL */
static enum status translate_property(struct translation *t)
{
	size_t n = 3;
	if (t->at[2] == '{')
		n = strcspn(t->at, "}") + 1;
	if (!t->at[2] || n > strlen(t->at))
		return refuse(t, "a property without an end");
	bytes_add(&t->out, t->at, n);
	t->at += n;
	return STATUS_OK;
}

/* \x20, \x{3000}, \u4e00 */
static enum status translate_code(struct translation *t)
{
	size_t digits = strspn(t->at + 2, "0123456789abcdefABCDEF");
	size_t want = t->at[1] == 'u' ? 4 : 2;
	if (t->at[2] == '{') {
		size_t n = strcspn(t->at, "}");
		if (!t->at[n])
			return refuse(t, "a character without an end");
		bytes_add(&t->out, t->at, n + 1);
		t->at += n + 1;
		return STATUS_OK;
	}
	if (digits < want)
		return refuse(t, "an unfinished character");
	put(t, "\\x{");
	bytes_add(&t->out, t->at + 2, want);
	put(t, "}");
	t->at += 2 + want;
	return STATUS_OK;
}

static enum status translate_escape(struct translation *t)
{
	char c = t->at[1];
	if (c == 'p' || c == 'P')
		return translate_property(t);
	if (c == 'x' || c == 'u')
		return translate_code(t);
	if (c == 's') {
		put(t, t->in_class ? SPACES : "[" SPACES "]");
	} else if (c == 'S' && !t->in_class) {
		put(t, "[^" SPACES "]");
	} else if (c && (strchr("rntfvdDwW", c) || (strchr("bB", c) && !t->in_class) ||
	                 strchr("\\^$.|?*+()[]{}-/'\"#!&~@%=:;,<> `_", c))) {
		bytes_add(&t->out, t->at, 2);
	} else {
		return refuse(t, "this");
	}
	t->at += 2;
	return STATUS_OK;
}

static bool is_group(const char *at)
{
	static const char *const known[] = {"(?:", "(?=", "(?!", "(?<=", "(?<!", "(?>", "(?i:"};
	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (!strncmp(at, known[i], strlen(known[i])))
			return true;
	return at[1] != '?' && at[1] != '*';
}

/* Behind {…}: Oniguruma repeats the repetition, PCRE2 makes it possessive. */
static bool is_possessive(const struct translation *t)
{
	const struct bytes *b = &t->out;
	return *t->at == '+' && b->size > 1 && b->at[b->size - 1] == '}' && strchr("0123456789,", b->at[b->size - 2]);
}

static enum status translate_one(struct translation *t)
{
	if (*t->at == '\\')
		return translate_escape(t);
	if (!t->in_class && *t->at == '(' && !is_group(t->at))
		return refuse(t, "this group");
	if (!t->in_class && is_possessive(t))
		return refuse(t, "+ behind a count");
	if (t->in_class && (*t->at == '[' || !strncmp(t->at, "&&", 2)))
		return refuse(t, "a class within a class");
	if (!t->in_class && *t->at == '[') {
		size_t begin = t->at[1] == '^' ? 2 : 1;
		if (t->at[begin] == ']')
			return refuse(t, "a class that begins with ]");
		t->in_class = true;
		bytes_add(&t->out, t->at, begin);
		t->at += begin;
		return STATUS_OK;
	}
	if (*t->at == ']')
		t->in_class = false;
	bytes_add(&t->out, t->at++, 1);
	return STATUS_OK;
}

static enum status translate(struct translation *t)
{
	enum status s = STATUS_OK;
	while (*t->at && !s)
		s = translate_one(t);
	return s;
}

/* ---- opening ---- */

enum status pattern_open_text(struct pattern *p, const char *where, const char *text)
{
	*p = (struct pattern){.text = memory_text(text), .size = strlen(text)};
	if (p->size)
		return STATUS_OK;
	pattern_release(p);
	return status_fail(STATUS_INPUT, "%s: its pattern is empty", where);
}

/* A pattern of a file must not hang the program. */
enum { MOST_STEPS = 10 * 1000 * 1000, MOST_STACK = 16 << 20, MOST_KILOBYTES = 256 << 10 };

static enum status compile(struct pattern_expression *e, const char *where, const struct bytes *text)
{
	int error;
	PCRE2_SIZE at;
	pcre2_compile_context *c = pcre2_compile_context_create(NULL);
	if (!c || pcre2_set_newline(c, PCRE2_NEWLINE_LF) || pcre2_set_parens_nest_limit(c, 100))
		abort();
	/* Ruby's ^ and $ are those of lines, and HF's tokenizers has Ruby's. */
	e->code = pcre2_compile((PCRE2_SPTR)text->at, text->size, PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE, &error, &at,
	                        c);
	pcre2_compile_context_free(c);
	if (e->code)
		return STATUS_OK;
	char why[128];
	pcre2_get_error_message(error, (PCRE2_UCHAR *)why, sizeof why);
	return status_fail(STATUS_INPUT, "%s: its pattern is wrong: %s", where, why);
}

static void prepare(struct pattern_expression *e)
{
	e->found = pcre2_match_data_create_from_pattern(e->code, NULL);
	e->limits = pcre2_match_context_create(NULL);
	e->stack = pcre2_jit_stack_create(32 << 10, MOST_STACK, NULL);
	if (!e->found || !e->limits)
		abort();
	pcre2_set_match_limit(e->limits, MOST_STEPS);
	pcre2_set_heap_limit(e->limits, MOST_KILOBYTES);
	/* On a processor without PCRE2's compiler, the interpreter matches the same. */
	if (!pcre2_jit_compile(e->code, PCRE2_JIT_COMPLETE) && e->stack)
		pcre2_jit_stack_assign(e->limits, NULL, e->stack);
}

enum status pattern_open_expression(struct pattern *p, const char *where, const char *expression)
{
	struct translation t = {.at = expression, .where = where};
	*p = (struct pattern){.expression = array_make(1, sizeof *p->expression)};
	enum status s = translate(&t);
	if (!s && !t.out.size)
		s = status_fail(STATUS_INPUT, "%s: its pattern is empty", where);
	if (!s)
		s = compile(p->expression, where, &t.out);
	if (!s)
		prepare(p->expression);
	bytes_release(&t.out);
	if (s)
		pattern_release(p);
	return s;
}

void pattern_release(struct pattern *p)
{
	if (!p)
		return;
	if (p->expression) {
		pcre2_code_free(p->expression->code);
		pcre2_match_data_free(p->expression->found);
		pcre2_match_context_free(p->expression->limits);
		pcre2_jit_stack_free(p->expression->stack);
	}
	free(p->expression);
	free(p->text);
	*p = (struct pattern){0};
}

/* ---- finding ---- */

static enum status find_expression(struct pattern_expression *e, const char *text, size_t size, size_t from,
                                   size_t *begin, size_t *end)
{
	/* The text has been looked at once; to look at all of it for each match would take its square. */
	uint32_t options = PCRE2_NO_UTF_CHECK | PCRE2_NOTEMPTY;
	int n = pcre2_match(e->code, (PCRE2_SPTR)text, size, from, options, e->found, e->limits);
	if (n == PCRE2_ERROR_JIT_STACKLIMIT)
		n = pcre2_match(e->code, (PCRE2_SPTR)text, size, from, options | PCRE2_NO_JIT, e->found, e->limits);
	if (n == PCRE2_ERROR_NOMATCH)
		return STATUS_OK;
	const PCRE2_SIZE *place = pcre2_get_ovector_pointer(e->found);
	if (n < 0 || place[0] < from || place[1] <= place[0])
		return status_fail(STATUS_INPUT,
		                   "the tokenizer's pattern takes too many steps on this text, at byte %zu", from);
	*begin = place[0];
	*end = place[1];
	return STATUS_OK;
}

enum status pattern_find(const struct pattern *p, const char *text, size_t size, size_t from, size_t *begin,
                         size_t *end)
{
	*end = 0;
	if (p->expression)
		return find_expression(p->expression, text, size, from, begin, end);
	const char *found = size > from ? memmem(text + from, size - from, p->text, p->size) : NULL;
	if (found) {
		*begin = (size_t)(found - text);
		*end = *begin + p->size;
	}
	return STATUS_OK;
}
