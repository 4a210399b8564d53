#include "cli/options/variants.h"

#include <stdlib.h>
#include <string.h>

#include "cli/options/options_table.h"

static int alternatives(const struct options *o, int i)
{
	int n = 1;
	for (const char *p = option_varies((enum option)i, o->command) ? option_text(o, (enum option)i) : ""; *p; p++)
		n += *p == '/';
	return n;
}

/* The text of one alternative of an option. */
static enum status choose(struct variants *v, enum option i, int alternative, struct option_value *out)
{
	const char *text = out->text;
	while (alternative-- > 0)
		text = strchr(text, '/') + 1;
	size_t length = strcspn(text, "/");
	if (!length)
		return status_fail(STATUS_INPUT, "--%s %.60s: an alternative is empty; it looks like none/full",
		                   option_name(i), out->text);
	out->text = arena_print(&v->arena, "%.*s", (int)length, text);
	return STATUS_OK;
}

enum status variants_make(struct variants *v, const struct options *o)
{
	*v = (struct variants){.list = calloc(VARIANTS, sizeof *v->list), .count = 1};
	if (!v->list)
		return status_fail(STATUS_MEMORY, "out of memory");
	for (int i = 0; i < OPTION_COUNT; i++) {
		v->count *= alternatives(o, i);
		if (v->count > VARIANTS)
			return status_fail(STATUS_INPUT,
			                   "--%s %.60s: more than %d combinations; give fewer alternatives",
			                   option_name((enum option)i), option_text(o, (enum option)i), (int)VARIANTS);
	}
	v->several = v->count > 1;
	for (int k = 0; k < v->count; k++) {
		int rest = k;
		v->list[k] = *o;
		for (int i = OPTION_COUNT - 1; i >= 0; i--) {
			int n = alternatives(o, i);
			enum status s = n > 1 ? choose(v, (enum option)i, rest % n, &v->list[k].value[i]) : STATUS_OK;
			if (s)
				return s;
			rest /= n;
		}
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
