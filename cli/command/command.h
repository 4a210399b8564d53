/* The subcommands: one file each. */
#ifndef SHARDLAB_COMMAND_H
#define SHARDLAB_COMMAND_H

#include "cli/options/options.h"

#define X(constant, name, what, more) enum status command_##name(const struct options *o);
COMMAND_LIST(X)
#undef X

#endif
