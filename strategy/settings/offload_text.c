/* --offload as text: optimizer:to=disk:delayed=no,parameters:to=host,activations. */
#include <stdio.h>
#include <string.h>

#include "strategy/settings/settings.h"

/* What can be offloaded, and the keys that each takes. */
static const struct {
	const char *name;
	bool to, delayed;
} things[] = {{"optimizer", true, true}, {"parameters", true, false}, {"activations", false, false}};
enum { THINGS = sizeof things / sizeof things[0] };

struct choice {
	bool given, disk, delayed;
};

static bool is_word(const char *text, size_t length, const char *word)
{
	return strlen(word) == length && !strncmp(text, word, length);
}

static int shown(size_t length)
{
	return (int)(length < 40 ? length : 40);
}

/* key=value */
static enum status read_key(int thing, const char *text, size_t length, unsigned *seen, struct choice *out)
{
	const char *equals = memchr(text, '=', length);
	size_t key = equals ? (size_t)(equals - text) : length;
	const char *value = equals ? equals + 1 : "";
	size_t size = equals ? length - key - 1 : 0;
	bool to = things[thing].to && is_word(text, key, "to");
	bool delayed = things[thing].delayed && is_word(text, key, "delayed");
	if (!equals || (!to && !delayed))
		return status_fail(STATUS_INPUT, "{offload} %s: '%.*s' is no key of it; %s", things[thing].name,
		                   shown(length), text,
		                   things[thing].delayed ? "known: to=host|disk, delayed=yes|no"
		                   : things[thing].to    ? "known: to=host|disk"
		                                         : "it has none: activations go to host memory");
	if (*seen >> to & 1)
		return status_fail(STATUS_INPUT, "{offload} %s: %.*s is given twice", things[thing].name, (int)key,
		                   text);
	*seen |= 1u << to;
	const char *yes = to ? "disk" : "yes", *no = to ? "host" : "no";
	if (!is_word(value, size, yes) && !is_word(value, size, no))
		return status_fail(STATUS_INPUT, "{offload} %s: %.*s is '%.*s'; possible: %s", things[thing].name,
		                   (int)key, text, shown(size), value, to ? "host|disk" : "yes|no");
	*(to ? &out->disk : &out->delayed) = is_word(value, size, yes);
	return STATUS_OK;
}

static enum status read_thing(const char *text, size_t length, struct choice *choices)
{
	size_t name = strcspn(text, ":,");
	unsigned seen = 0;
	int thing = 0;
	while (thing < THINGS && !is_word(text, name, things[thing].name))
		thing++;
	if (thing == THINGS)
		return status_fail(STATUS_INPUT,
		                   "{offload}: '%.*s' is not one of: none, optimizer, parameters, activations",
		                   shown(name), text);
	if (choices[thing].given)
		return status_fail(STATUS_INPUT, "{offload}: %s is given twice", things[thing].name);
	choices[thing].given = true;
	for (size_t at = name; at < length;) {
		size_t part = strcspn(text + at + 1, ":,");
		enum status s = read_key(thing, text + at + 1, part, &seen, &choices[thing]);
		if (s)
			return s;
		at += part + 1;
	}
	return STATUS_OK;
}

enum status offload_parse(const char *text, struct offload *out)
{
	struct choice c[THINGS] = {{0}};
	*out = (struct offload){0};
	if (!strcmp(text, "none"))
		return STATUS_OK;
	for (const char *p = text;; p++) {
		size_t length = strcspn(p, ",");
		enum status s = read_thing(p, length, c);
		if (s)
			return s;
		p += length;
		if (!*p)
			break;
	}
	*out = (struct offload){.optimizer = c[0].given,
	                        .optimizer_on_disk = c[0].disk,
	                        .delayed = c[0].delayed,
	                        .parameters = c[1].given,
	                        .parameters_on_disk = c[1].disk,
	                        .activations = c[2].given};
	return STATUS_OK;
}

void offload_print(const struct offload *o, char *out, size_t size)
{
	char optimizer[64] = "", parameters[64] = "";
	if (o->optimizer)
		snprintf(optimizer, sizeof optimizer, "optimizer%s%s", o->optimizer_on_disk ? ":to=disk" : "",
		         o->delayed ? ":delayed=yes" : "");
	if (o->parameters)
		snprintf(parameters, sizeof parameters, "%sparameters%s", o->optimizer ? "," : "",
		         o->parameters_on_disk ? ":to=disk" : "");
	snprintf(out, size, "%s%s%s", optimizer, parameters,
	         !o->activations                 ? o->optimizer || o->parameters ? "" : "none"
	         : o->optimizer || o->parameters ? ",activations"
	                                         : "activations");
}
