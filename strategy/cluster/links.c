/* A cluster with other links, "a100-80gb:link=50GB:network=10GB", bytes a second; with other nodes,
 * "a100-80gb:node=4:nic=1600"; a card at a lower clock, "h100:clock=0.9"; and the stack that runs on it. */
#include <stdio.h>
#include <string.h>

#include "strategy/base/keys.h"
#include "strategy/base/number.h"
#include "strategy/cluster/effective.h"
#include "strategy/cluster/links.h"

static const struct key keys[] = {{"link", "", "", "inside a node: of a device, in each direction"},
                                  {"network", "", "", "between nodes: of one NIC"},
                                  {"node", "", "", "devices of a node"},
                                  {"nic", "", "", "between nodes: all NICs of a node, in Gb/s of their line rate"},
                                  {"clock", "", "", "of every rate of compute, the share that the card may take"},
                                  {"memory", "", "", "of a device, in bytes"},
                                  {"stack", "", "", "what is reached of the rates"},
                                  {"class", "", "", "the same, where it does not say"}};
enum { LINK, NETWORK, NODE, NIC, CLOCK, MEMORY, STACK_OF, CLASS_OF };
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
	TRY(number_bytes(text, what, LINK_LEAST, LINK_MOST, &value));
	link->bandwidth = rate_assumed(value);
	return STATUS_OK;
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

static enum status whole_of(const struct cluster *c, int key, const struct key_value *v, int64_t most, int64_t *out)
{
	char text[32], what[112];
	snprintf(what, sizeof what, "%s %.60s: %s", status_words("{cluster}"), c->name, keys[key].name);
	snprintf(text, sizeof text, "%.*s", (int)(v->length < sizeof text ? v->length : sizeof text - 1), v->text);
	return number_whole(text, what, 1, most, out);
}

static enum status change_node(struct cluster *c, const struct key_value *v)
{
	if (!v->given)
		return STATUS_OK;
	if (c->kind != DEVICE_GPU)
		return status_fail(STATUS_INPUT, "{cluster} %.60s: node=N is how many GPUs a node has; leave it out",
		                   c->name);
	return whole_of(c, NODE, v, 65536, &c->devices);
}

/* NCCL's model of a network: 12.0 GB/s for each 100 Gb/s, over as many rails as the cluster has. */
static enum status change_nic(struct cluster *c, const struct key_value *v)
{
	int64_t gigabits = 0;
	if (!v->given)
		return STATUS_OK;
	enum status s = whole_of(c, NIC, v, 1000000, &gigabits);
	if (!s && !c->network.bandwidth.value)
		return status_fail(STATUS_INPUT, "{cluster} %.60s has no 'network' that could be changed", c->name);
	if (!s)
		c->network.bandwidth = rate_assumed(gigabits * 120000000 / c->rails);
	return s;
}

static void slow_down(struct curve *curve, double share)
{
	for (int i = 0; i < curve->count; i++)
		curve->point[i].rate = rate_assumed((int64_t)((double)curve->point[i].rate.value * share));
}

/* A card that is held at fewer watts. The data sheet's peak stays: MFU is a share of it. */
static enum status change_clock(struct cluster *c, const struct key_value *v)
{
	char text[32], what[112];
	double share;
	if (!v->given)
		return STATUS_OK;
	snprintf(what, sizeof what, "%s %.60s: clock", status_words("{cluster}"), c->name);
	snprintf(text, sizeof text, "%.*s", (int)(v->length < sizeof text ? v->length : sizeof text - 1), v->text);
	enum status s = number_real(text, what, CLOCK_LEAST, 1, &share);
	for (int key = 0; !s && key < COMPUTE_PEAK; key++)
		for (int column = 0; column < CLUSTER_COLUMNS; column++)
			slow_down(&c->compute[key][column], share);
	return s;
}

static enum status change_memory(struct cluster *c, const struct key_value *v)
{
	char text[32], what[112];
	if (!v->given)
		return STATUS_OK;
	if (c->kind != DEVICE_GPU)
		return status_fail(STATUS_INPUT, "{cluster} %.60s: memory=BYTES is of a GPU; leave it out", c->name);
	snprintf(what, sizeof what, "%s %.60s: memory", status_words("{cluster}"), c->name);
	snprintf(text, sizeof text, "%.*s", (int)(v->length < sizeof text ? v->length : sizeof text - 1), v->text);
	return number_bytes(text, what, LINK_LEAST, INT64_C(1) << 50, &c->device_memory);
}

/* ":link=…" and ":network=…" become part of the cluster's name; the stack has a place of its own. */
static void name_links(struct cluster *c, const struct key_value *v)
{
	for (int i = 0; i < STACK_OF; i++) {
		size_t n = strlen(c->name);
		if (v[i].given)
			snprintf(c->name + n, sizeof c->name - n, ":%s=%.*s", keys[i].name, (int)v[i].length,
			         v[i].text);
	}
}

static enum status take_named(struct cluster *c, const char *name)
{
	struct stack stack;
	if (!strcmp(name, STACK_CEILING))
		return STATUS_OK;
	enum status s = stack_open(&stack, name, c->card);
	return s ? s : cluster_take_stack(c, &stack);
}

static enum status take_stack(struct cluster *c, const struct key_value *named, const struct key_value *class)
{
	const struct key_value *v = named->given ? named : class;
	char text[4096];
	if (!v->given)
		return cluster_take_class(c, STACK_DEFAULT);
	if (v->length >= sizeof text)
		return status_fail(STATUS_INPUT, "{stack}: the name has more than %zu characters", sizeof text - 1);
	snprintf(text, sizeof text, "%.*s", (int)v->length, v->text);
	return named->given ? take_named(c, text) : cluster_take_class(c, text);
}

enum status links_change(struct cluster *c, const char *pairs)
{
	struct keys of = {"{cluster}", c->name, keys, KEY_COUNT, NULL, 0, 0};
	struct key_value v[KEY_COUNT];
	if (!*pairs)
		return cluster_take_class(c, STACK_DEFAULT);
	enum status s = keys_read(&of, pairs + 1, v);
	if (s || (s = change(c, keys[LINK].name, &v[LINK], &c->link)) ||
	    (s = change(c, keys[NETWORK].name, &v[NETWORK], &c->network)) || (s = change_node(c, &v[NODE])) ||
	    (s = change_nic(c, &v[NIC])) || (s = change_clock(c, &v[CLOCK])) || (s = change_memory(c, &v[MEMORY])))
		return s;
	name_links(c, v);
	return take_stack(c, &v[STACK_OF], &v[CLASS_OF]);
}
