/* Alternatives of an option: --precision bf16/fp16. */
#include <string.h>

#include "cli/options/options.h"

int option_alternatives(const struct options *o, enum option i)
{
	int n = 1;
	for (const char *p = option_varies(i, o->command) && option_text(o, i) ? option_text(o, i) : ""; *p; p++)
		n += *p == '/';
	return n;
}

enum status option_alternative(const struct options *o, enum option i, int n, struct arena *a, const char **out)
{
	const char *text = option_text(o, i);
	while (n-- > 0)
		text = strchr(text, '/') + 1;
	size_t length = strcspn(text, "/");
	if (!length)
		return status_fail(STATUS_INPUT, "--%s %.60s: an alternative is empty; it looks like none/full",
		                   option_name(i), option_text(o, i));
	*out = arena_print(a, "%.*s", (int)length, text);
	return STATUS_OK;
}
