/* A cluster with other links: "a100-80gb:link=50GB:network=10GB", bytes a second. */
#include <stdio.h>
#include <string.h>

#include "strategy/base/keys.h"
#include "strategy/base/number.h"
#include "strategy/cluster/links.h"

static const struct key keys[] = {{"link", "", "", "inside a node: of a device, in each direction"},
                                  {"network", "", "", "between nodes: of one NIC"}};
enum { KEY_COUNT = sizeof keys / sizeof keys[0] };

const char *links_find(const char *cluster)
{
	const char *at = NULL;
	for (int i = 0; i < KEY_COUNT; i++) {
		char start[16];
		snprintf(start, sizeof start, ":%s=", keys[i].name);
		const char *here = strstr(cluster, start);
		at = here && (!at || here < at) ? here : at;
	}
	return at ? at : cluster + strlen(cluster);
}

static enum status change(struct cluster *c, const char *name, const struct key_value *v, struct link *link)
{
	char text[32], what[112];
	if (!v->given)
		return STATUS_OK;
	snprintf(what, sizeof what, "%s %.60s: %s", status_words("{cluster}"), c->name, name);
	snprintf(text, sizeof text, "%.*s", (int)(v->length < sizeof text ? v->length : sizeof text - 1), v->text);
	if (!link->bandwidth.value)
		return status_fail(STATUS_INPUT, "{cluster} %.60s has no '%s' that could be changed", c->name, name);
	int64_t value;
	enum status s = number_bytes(text, what, LINK_LEAST, LINK_MOST, &value);
	if (!s)
		link->bandwidth = rate_assumed(value);
	return s;
}

bool links_named(const char *cluster, const char *name)
{
	size_t n = (size_t)(links_find(cluster) - cluster);
	return n == strlen(name) && !strncmp(cluster, name, n);
}

bool links_known(const char *cluster)
{
	char name[64];
	size_t n = (size_t)(links_find(cluster) - cluster);
	if (n >= sizeof name)
		return false;
	snprintf(name, sizeof name, "%.*s", (int)n, cluster);
	return !strcmp(name, CLUSTER_LOCAL) || !strcmp(name, CLUSTER_LOCAL_CUDA) || cluster_catalogue(name) != NULL;
}

enum status links_change(struct cluster *c, const char *pairs)
{
	struct keys of = {"{cluster}", c->name, keys, KEY_COUNT, NULL, 0, 0};
	struct key_value v[KEY_COUNT];
	if (!*pairs)
		return STATUS_OK;
	enum status s = keys_read(&of, pairs + 1, v);
	if (s || (s = change(c, keys[0].name, &v[0], &c->link)) || (s = change(c, keys[1].name, &v[1], &c->network)))
		return s;
	size_t n = strlen(c->name);
	snprintf(c->name + n, sizeof c->name - n, "%s", pairs);
	return STATUS_OK;
}
