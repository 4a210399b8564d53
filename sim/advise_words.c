/* A line of advice as options of a command. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "sim/advise.h"
#include "strategy/base/number.h"

/* Appends a name in braces and its value to the text. */
static void say(char *out, const char *option, const char *value)
{
	size_t n = strlen(out);
	snprintf(out + n, ADVISE_OPTIONS - n, "%s{%s} %s", n ? " " : "", option, value);
}

static void say_number(char *out, const char *option, int64_t value)
{
	char text[24];
	snprintf(text, sizeof text, "%" PRId64, value);
	say(out, option, text);
}

/* from: only what differs from it; NULL: all, but for what is left undone. */
static void say_options(const struct settings *from, const struct settings *s, char *out)
{
	char offload[OFFLOAD_TEXT], before[OFFLOAD_TEXT] = "none", text[ADVISE_OPTIONS] = "";
	const char *checkpointing = from ? from->checkpointing : "none";
	const struct settings usual = settings_default();
	offload_print(&s->offload, offload, sizeof offload);
	if (from)
		offload_print(&from->offload, before, sizeof before);
	if (!from || strcmp(s->strategy, from->strategy) != 0)
		say(text, "strategy", s->strategy);
	if (!from || s->precision != from->precision)
		say(text, "precision", type_name(s->precision));
	if (!from || s->micro_batch != from->micro_batch)
		say_number(text, "micro_batch", s->micro_batch);
	if (!from || s->accumulate != from->accumulate)
		say_number(text, "accumulate", s->accumulate);
	if (strcmp(s->checkpointing, checkpointing) != 0)
		say(text, "activation_checkpointing", s->checkpointing);
	if (strcmp(offload, before) != 0)
		say(text, "offload", offload);
	if (s->bucket != (from ? from->bucket : 0)) {
		number_exact_bytes(offload, sizeof offload, s->bucket);
		say(text, "bucket", offload);
	}
	if (strcmp(s->software, from ? from->software : usual.software) != 0)
		say(text, "as", s->software);
	snprintf(out, ADVISE_OPTIONS, "%s", status_words(text));
}

void advise_options(const struct settings *s, char out[ADVISE_OPTIONS])
{
	say_options(NULL, s, out);
}

void advise_change(const struct settings *from, const struct settings *to, char out[ADVISE_OPTIONS])
{
	say_options(from, to, out);
}
