/* --emit TARGET[:FILE]: the settings of a command as a configuration of another program. */
#ifndef SHARDLAB_CLI_EMIT_H
#define SHARDLAB_CLI_EMIT_H

#include "cli/options/options.h"

/* True if the option was given and its file goes to stdout, where then nothing else goes: the command ends with it. */
bool emit_is_all(const struct options *o);
/* STATUS_INPUT: no such program, no name of a file, or --json beside a file on stdout. */
enum status emit_check_option(const struct options *o);
/* Writes the file, to stdout or to its name, and on stderr a line for each thing that it does not say. Without the
 * option nothing happens. s: resolved. */
enum status emit_settings(const struct options *o, const struct settings *s);

#endif
