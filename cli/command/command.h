/* The subcommands: one file each. */
#ifndef SHARDLAB_COMMAND_H
#define SHARDLAB_COMMAND_H

#include <stdbool.h>

#include "cli/options/options.h"

#define X(constant, name, what, more) enum status command_##name(const struct options *o);
COMMAND_LIST(X)
#undef X

/* `help` and `help TOPIC`: its arguments are words, not options. more: there was another word behind it. */
enum status help_topic(const char *topic, bool more);

#endif
