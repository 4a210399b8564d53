/* --hosts of commands that start nothing: how many ranks there are, and how many on a node. */
#include <inttypes.h>
#include <string.h>

#include "cli/command/hosts.h"
#include "strategy/cluster/cluster.h"
#include "strategy/cluster/links.h"

static bool has_gpus(const char *cluster)
{
	struct cluster c;
	if (links_named(cluster, CLUSTER_LOCAL) || cluster_open(&c, cluster, 1))
		return false;
	bool gpus = c.kind == DEVICE_GPU;
	cluster_release(&c);
	return gpus;
}

/* Nodes have as many devices as hosts have slots, unless the cluster says how many. */
static void take_nodes(struct options *o, const struct hosts *h, int64_t each)
{
	struct option_value *cluster = &o->value[OPTION_CLUSTER];
	const char *text = cluster->text ? cluster->text : CLUSTER_LOCAL;
	if (!option_of(OPTION_CLUSTER, o->command) || h->count < 2 || strstr(text, ":node=") || !has_gpus(text))
		return;
	cluster->text = arena_print(&o->arena, "%s:node=%" PRId64, text, each);
}

static bool starts_ranks(enum command c)
{
	return c == COMMAND_TRAIN || c == COMMAND_VALIDATE || c == COMMAND_CALIBRATE;
}

/* Where ranks are started, that asks the hosts; only a file of --config needs to know the number before. */
enum status hosts_take(struct options *o)
{
	struct hosts h;
	struct option_value *ranks = &o->value[SETTING_RANKS];
	int64_t hosts, each;
	if (!o->value[OPTION_HOSTS].given ||
	    (starts_ranks(o->command) && (ranks->given || !o->value[OPTION_CONFIG].given)))
		return STATUS_OK;
	TRY(hosts_read_all(&h, o->value[OPTION_HOSTS].text));
	int64_t wanted = ranks->given ? ranks->whole : hosts_slots(&h);
	enum status s = hosts_place(&h, wanted, &hosts, &each);
	if (!s && !ranks->given) {
		o->hosts_ranks = wanted;
		o->place[SETTING_RANKS] = arena_print(&o->arena, "%s: %" PRId64 " hosts with %" PRId64 " slots",
		                                      o->value[OPTION_HOSTS].text, hosts, wanted);
	}
	if (!s && !starts_ranks(o->command))
		take_nodes(o, &h, each);
	if (!s && !starts_ranks(o->command) && !ranks->given && o->command != COMMAND_CONFIG)
		*ranks = (struct option_value){.given = true,
		                               .text = arena_print(&o->arena, "%" PRId64, wanted),
		                               .whole = wanted,
		                               .least = wanted};
	hosts_release(&h);
	return s;
}
