/* --emit TARGET[:FILE]: the settings of a command as a configuration of another program. */
#ifndef SHARDLAB_CLI_EMIT_H
#define SHARDLAB_CLI_EMIT_H

#include <jansson.h>

#include "cli/options/options.h"

/* True if the option was given and its file goes to stdout, where then nothing else goes: the command ends with it. */
bool emit_is_all(const struct options *o);
/* The name of the file; NULL: stdout, or the option was not given. */
const char *emit_file(const struct options *o);
/* STATUS_INPUT: no such program, no name of a file, or --json beside a file on stdout. */
enum status emit_check_option(const struct options *o);
/* Writes the file, to stdout or to its name, and on stderr a line for each thing that it does not say. Without the
 * option nothing happens. s: resolved. said: with --json the same as an object, for `emitted` of what is printed; or
 * NULL. It stays as it is where nothing was written. */
enum status emit_settings(const struct options *o, const struct settings *s, json_t **said);
/* The nodes of the command's cluster that so many ranks fill. */
int64_t emit_nodes(const struct options *o, int64_t ranks);
/* Adds what was said to what is printed, if anything was. Takes the reference. */
void emit_add_said(json_t *printed, json_t *said);

#endif
