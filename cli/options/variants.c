#include "cli/options/variants.h"

#include <stdlib.h>
#include <string.h>

#include "cli/options/options_table.h"

/* Multiplies what there is by the alternatives of one option. */
static enum status vary(struct variants *v, enum option i, const char *text)
{
	int before = v->count, alternatives = 1;
	for (const char *p = text; *p; p++)
		alternatives += *p == '/';
	if (alternatives == 1)
		return STATUS_OK;
	if (before * alternatives > VARIANTS)
		return status_fail(STATUS_INPUT, "--%s %.60s: more than %d combinations; give fewer alternatives",
		                   option_name(i), text, (int)VARIANTS);
	v->several = true;
	/* From behind, so that what is spread out is not overwritten before it is read. */
	for (int k = before - 1; k >= 0; k--)
		for (int a = alternatives - 1; a >= 0; a--)
			v->list[k * alternatives + a] = v->list[k];
	v->count = before * alternatives;
	char *copy = arena_copy(&v->arena, text);
	for (int a = 0;; a++) {
		char *end = strchr(copy, '/');
		if (end)
			*end = 0;
		if (!*copy)
			return status_fail(STATUS_INPUT, "--%s %.60s: an alternative is empty; it looks like none/full",
			                   option_name(i), text);
		for (int k = 0; k < before; k++)
			v->list[k * alternatives + a].value[i].text = copy;
		if (!end)
			break;
		copy = end + 1;
	}
	return STATUS_OK;
}

enum status variants_make(struct variants *v, const struct options *o)
{
	*v = (struct variants){.list = calloc(VARIANTS, sizeof *v->list), .count = 1};
	if (!v->list)
		return status_fail(STATUS_MEMORY, "out of memory");
	v->list[0] = *o;
	for (int i = 0; i < OPTION_COUNT; i++) {
		enum status s = STATUS_OK;
		if (option_varies((enum option)i, o->command))
			s = vary(v, (enum option)i, option_text(o, (enum option)i));
		if (s)
			return s;
	}
	return STATUS_OK;
}

void variants_release(struct variants *v)
{
	if (!v)
		return;
	free(v->list);
	arena_release(&v->arena);
	*v = (struct variants){0};
}
