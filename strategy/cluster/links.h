/* Behind a cluster's name or file its links may be given anew, to see what faster or slower ones would do:
 *
 *     a100-80gb:link=50GB              inside a node, of a device and in each direction: bytes a second
 *     ./mine.yaml:link=5e9:network=1e9 … and between nodes, of one NIC
 *
 *     a100-80gb:node=4:nic=1600           nodes of 4 devices, whose NICs together have 1,600 Gb/s
 *
 *     h100:memory=96GiB                   … and another device memory
 *     h100:clock=0.9                      a card that may take 0.9 of its clock, as one at fewer watts: of all rates of
 * compute
 *
 * Where people count devices, a count stands before the name:
 *
 *     8xh100                              nodes of 8 of these cards: h100:node=8
 *     2x8xh100                            two such nodes, and no more
 *     2xp4d.24xlarge                      two of these machines
 *
 * Such a rate is assumed. So may the stack that runs on it (strategy/cluster/stack.h): a100-80gb:stack=megatron, or
 * which class it is where none is named: a100-80gb:class=deepspeed.
 */
#ifndef SHARDLAB_LINKS_H
#define SHARDLAB_LINKS_H

#include "strategy/cluster/cluster.h"

#define CLOCK_LEAST 0.1
#define LINK_LEAST INT64_C(1000)
#define LINK_MOST INT64_C(1000000000000000)

/* Finds ":link=…" in a cluster's name; its end, if there is none. */
const char *links_find(const char *cluster);
/* Is it this one, with whatever links; and is it this machine or in the catalogue? */
bool links_named(const char *cluster, const char *name);
bool links_known(const char *cluster);
/* A name with a count before it. */
struct links_count {
	char cluster[4096]; /* without it: "h100:node=8" */
	int64_t ranks;      /* the devices */
	bool of_nodes;      /* it says how many nodes there are */
};
bool links_counted(const char *cluster, struct links_count *out);
/* STATUS_INPUT: there is no such cluster, or node=N says its devices again. */
enum status links_check_count(const char *typed, const struct links_count *count);
/* A count of a known cluster in another form, "h100 x 8", as it is read: "8xh100". */
enum { LINKS_MISCOUNTED = 80 };
bool links_miscounted(const char *typed, char out[LINKS_MISCOUNTED]);
/* pairs: from there on. The cluster's name gets them too. STATUS_INPUT: a cluster without such links, or no rate. */
enum status links_change(struct cluster *c, const char *pairs);

#endif
