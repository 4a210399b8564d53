/* The offload setting as text: optimizer:to=disk:delayed=no,parameters:to=host:staging=0,
 * activations. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "strategy/base/keys.h"
#include "strategy/settings/settings.h"

enum { NONE, OPTIMIZER, PARAMETERS, ACTIVATIONS, THINGS };
enum { TO, QUEUE, DELAYED, BUFFERS, KEYS };
enum { STAGING = 2 }; /* of parameters */

static const char things[] = "none|optimizer|parameters|activations";
static const struct key keys_of_optimizer[] = {{"to", "host|disk", "host", ""},
                                               {"queue", "N", "0", ""},
                                               {"delayed", "no|yes", "no", ""},
                                               {"buffers", "N", "0", ""}};
static const struct key keys_of_parameters[] = {
        {"to", "host|disk", "host", ""}, {"queue", "N", "0", ""}, {"staging", "N", "0", ""}};
static const struct {
	const struct key *list;
	int count;
} keys_of[THINGS] = {[OPTIMIZER] = {keys_of_optimizer, KEYS}, [PARAMETERS] = {keys_of_parameters, 3}};

static enum status check_buffers(int64_t n)
{
	return n <= OFFLOAD_BUFFERS_MOST
	               ? STATUS_OK
	               : status_fail(STATUS_INPUT, "{offload} optimizer:buffers=%" PRId64 ": at most %d", n,
	                             OFFLOAD_BUFFERS_MOST);
}

/* There is one queue to a disk, whatever comes from it. */
static enum status take_queue(const char *thing, bool disk, int64_t n, struct offload *out)
{
	if (n && !disk)
		return status_fail(STATUS_INPUT,
		                   "{offload} %s:queue=%" PRId64 ": it is a disk's; say to=disk, or leave it out",
		                   thing, n);
	if (n && out->queue && out->queue != n)
		return status_fail(STATUS_INPUT,
		                   "{offload} queue=%" PRId64 " and queue=%" PRId64 ": there is one disk; give it once",
		                   out->queue, n);
	out->queue = n ? n : out->queue;
	return STATUS_OK;
}

static enum status read_thing(char *text, bool given[THINGS], struct offload *out)
{
	struct key_value value[KEYS];
	int i;
	char *pairs = strchr(text, ':');
	if (pairs)
		*pairs++ = 0;
	TRY(word_parse(things, status_words("{offload}"), text, &i));
	if (i == NONE)
		return status_fail(STATUS_INPUT, "{offload}: none stands alone; leave it or the others out");
	if (given[i])
		return status_fail(STATUS_INPUT, "{offload}: %s is given twice", text);
	given[i] = true;
	const struct keys keys = {"{offload}", text, keys_of[i].list, keys_of[i].count, ":", 0, OFFLOAD_STAGING_MOST};
	TRY(keys_read(&keys, pairs, value));
	if (i == OPTIMIZER) {
		out->optimizer = true;
		out->optimizer_on_disk = key_is(&value[TO], "disk");
		out->delayed = key_is(&value[DELAYED], "yes");
		out->buffers = key_whole(&value[BUFFERS], 0);
		TRY(check_buffers(out->buffers));
	} else if (i == PARAMETERS) {
		out->parameters = true;
		out->parameters_on_disk = key_is(&value[TO], "disk");
		out->staging = key_whole(&value[STAGING], 0);
	} else {
		out->activations = true;
		return STATUS_OK;
	}
	return take_queue(text, i == OPTIMIZER ? out->optimizer_on_disk : out->parameters_on_disk,
	                  key_whole(&value[QUEUE], 0), out);
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

/* ":key=N", or "" of 0. */
static const char *number(char *out, size_t size, const char *key, int64_t n)
{
	snprintf(out, size, ":%s=%" PRId64, key, n);
	return n ? out : "";
}

void offload_print(const struct offload *o, char *out, size_t size)
{
	char buffers[40], staging[40], first[40], second[40];
	snprintf(out, size, "%s%s%s%s%s%s%s%s%s%s%s", o->optimizer ? ",optimizer" : "",
	         o->optimizer_on_disk ? ":to=disk" : "", o->delayed ? ":delayed=yes" : "",
	         number(buffers, sizeof buffers, "buffers", o->buffers),
	         number(first, sizeof first, "queue", o->optimizer_on_disk ? o->queue : 0),
	         o->parameters ? ",parameters" : "", o->parameters_on_disk ? ":to=disk" : "",
	         number(staging, sizeof staging, "staging", o->staging),
	         number(second, sizeof second, "queue", o->parameters_on_disk && !o->optimizer_on_disk ? o->queue : 0),
	         o->activations ? ",activations" : "", o->optimizer || o->parameters || o->activations ? "" : ",none");
	memmove(out, out + 1, strlen(out)); /* the first comma */
}
