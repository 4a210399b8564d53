/* The offload setting as text: optimizer:to=disk:delayed=no,parameters:to=host,activations. */
#include <stdio.h>
#include <string.h>

#include "strategy/base/keys.h"
#include "strategy/settings/settings.h"

enum { NONE, OPTIMIZER, PARAMETERS, ACTIVATIONS, THINGS };
enum { TO, DELAYED, KEYS };

static const char things[] = "none|optimizer|parameters|activations";
static const struct key keys_of_things[KEYS] = {{"to", "host|disk", "host", ""}, {"delayed", "no|yes", "no", ""}};
static const int key_count[THINGS] = {[OPTIMIZER] = 2, [PARAMETERS] = 1, [ACTIVATIONS] = 0};

static enum status read_thing(char *text, bool given[THINGS], struct offload *out)
{
	struct key_value value[KEYS];
	int i;
	char *pairs = strchr(text, ':');
	if (pairs)
		*pairs++ = 0;
	enum status s = word_parse(things, status_words("{offload}"), text, &i);
	if (s)
		return s;
	if (i == NONE)
		return status_fail(STATUS_INPUT, "{offload}: none stands alone; leave it or the others out");
	if (given[i])
		return status_fail(STATUS_INPUT, "{offload}: %s is given twice", text);
	given[i] = true;
	const struct keys keys = {"{offload}", text, keys_of_things, key_count[i], ":", 0, 0};
	if ((s = keys_read(&keys, pairs, value)))
		return s;
	if (i == OPTIMIZER) {
		out->optimizer = true;
		out->optimizer_on_disk = key_is(&value[TO], "disk");
		out->delayed = key_is(&value[DELAYED], "yes");
	} else if (i == PARAMETERS) {
		out->parameters = true;
		out->parameters_on_disk = key_is(&value[TO], "disk");
	} else {
		out->activations = true;
	}
	return STATUS_OK;
}

enum status offload_parse(const char *text, struct offload *out)
{
	bool given[THINGS] = {false};
	enum status s = STATUS_OK;
	*out = (struct offload){0};
	if (!strcmp(text, "none"))
		return STATUS_OK;
	for (const char *p = text; !s; p++) {
		char thing[OFFLOAD_TEXT];
		size_t length = strcspn(p, ",");
		snprintf(thing, sizeof thing, "%.*s", (int)(length < OFFLOAD_TEXT ? length : OFFLOAD_TEXT - 1), p);
		s = read_thing(thing, given, out);
		p += length;
		if (!*p)
			break;
	}
	return s;
}

void offload_print(const struct offload *o, char *out, size_t size)
{
	snprintf(out, size, "%s%s%s%s%s%s%s", o->optimizer ? ",optimizer" : "", o->optimizer_on_disk ? ":to=disk" : "",
	         o->delayed ? ":delayed=yes" : "", o->parameters ? ",parameters" : "",
	         o->parameters_on_disk ? ":to=disk" : "", o->activations ? ",activations" : "",
	         o->optimizer || o->parameters || o->activations ? "" : ",none");
	memmove(out, out + 1, strlen(out)); /* the first comma */
}
