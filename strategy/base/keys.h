/* Settings behind a name: `zero3:prefetch=0:reuse=1000`, `full:number_checkpoints=4`. A table says which keys there
 * are, and parsing, defaults and help come from it.
 *
 *     static const struct key list[] = {{"reshard", "yes|no", "yes", "free a unit after its forward pass"}};
 *     struct keys keys = {"--strategy", "fsdp", list, 1, "strategies"};
 *     enum status s = keys_check(&keys, "reshard=no");
 *     keys_value(&keys, "reshard=no", "reshard", value, sizeof value);     // "no"
 */
#ifndef SHARDLAB_KEYS_H
#define SHARDLAB_KEYS_H

#include <stddef.h>

#include "strategy/base/status.h"

struct key {
	const char *name;
	const char *values; /* "yes|no", with N among them for a whole number */
	const char *fallback;
	const char *help;
};

struct keys {
	const char *option, *name; /* for messages: "--strategy", "zero3" */
	const struct key *list;
	int count;
	const char *help; /* the topic of `shardlab help` that lists them */
};

/* pairs: key=value:…, or NULL for none. An unknown key, one that comes twice, or a value that is not among those
 * possible, is STATUS_INPUT with a line that names it. */
enum status keys_check(const struct keys *k, const char *pairs);

/* The value of a key, as given or its fallback; "" if the table has no such key. The pairs have been checked. */
void keys_value(const struct keys *k, const char *pairs, const char *key, char *out, size_t size);

#endif
