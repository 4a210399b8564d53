/* --hosts FILE: the machines that ranks are started on, a line each, as Open MPI's host files have them:
 *
 *     # name, or address        how many ranks at most; 1 unless it says
 *     node1 slots=2
 *     node2 slots=2
 *
 * Ranks fill the hosts in this order. Each host that has any has as many as the first, but for the last, which may have
 * fewer: so rank r is on host r / slots, as clusters have it.
 */
#ifndef SHARDLAB_COMMAND_HOSTS_H
#define SHARDLAB_COMMAND_HOSTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/options/options.h"
#include "strategy/base/arena.h"

enum { HOSTS_MOST = 65536, HOST_SLOTS_MOST = 4096 };

struct host {
	const char *name;
	int64_t slots;
};

struct hosts {
	struct host *list; /* owned; names in the arena */
	size_t count, capacity;
	struct arena arena;
};

/* STATUS_INPUT, with FILE:line:column. On failure `h` is released. */
enum status hosts_parse(struct hosts *h, const char *text, size_t size, const char *file);
enum status hosts_read_all(struct hosts *h, const char *path);
/* Leaves out those that are gone (reach.h). */
enum status hosts_read(struct hosts *h, const char *path);
void hosts_release(struct hosts *h); /* accepts a zeroed struct */

int64_t hosts_slots(const struct hosts *h); /* of all */
/* How many hosts so many ranks fill, and how many each has. STATUS_INPUT: they are not alike, or too few. */
enum status hosts_place(const struct hosts *h, int64_t ranks, int64_t *hosts, int64_t *each);
/* "node1:2,node2:2", for mpirun's --host; in the arena. */
const char *hosts_list(struct hosts *h);
/* Does that name mean this machine? */
bool hosts_is_here(const char *name);
/* The host of a rank. "" if there are no hosts. */
const char *hosts_name(const struct hosts *h, int64_t rank);

/* Rank 0's version of hosts_say for ranks that a user started on several hosts. */
void hosts_say_joined(int rank, int ranks);
/* A line, once, on what a library's collectives reach between hosts. each: as hosts_ranks_each has it. */
void hosts_say_library(const struct options *o, int64_t each);
/* --ranks becomes the number of slots of --hosts, if that is given and --ranks is not. With --restarts fewer will do:
 * as many as the hosts have that are there. */
enum status hosts_set_ranks(struct options *o);
/* --hosts while options are read (options_on_hosts): for commands that start nothing --ranks and the devices of a node,
 * and for --config how many ranks there are (hosts_take.c). */
enum status hosts_take(struct options *o);
/* True of ranks but the first that a user started: one says what there is to say. */
bool hosts_is_quiet(void);
/* How many ranks each host has of those that will be started by these options, or with which this one was; 0: all are
 * on one. */
enum status hosts_ranks_each(const struct options *o, int64_t ranks, int64_t *each);

#endif
