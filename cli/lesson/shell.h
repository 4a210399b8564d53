/* A place where the commands of a lesson run: a folder of its own, in which `shardlab` is this program, `lessons` the
 * folder of the lessons, `tools` that of the tree, and what a calibration or a download would leave for later is out of
 * sight.
 *
 *     struct place p;
 *     status = place_open(&p, "lessons");
 *     status = place_run(&p, "shardlab plan --ranks 2 | head -3", &output, &exit_status);
 *     place_close(&p);
 */
#ifndef SHARDLAB_LESSON_SHELL_H
#define SHARDLAB_LESSON_SHELL_H

#include <stdbool.h>

#include "strategy/base/status.h"

struct place {
	char folder[256]; /* "": not open */
	char *path;       /* the variable PATH, with this program before all */
};

enum status place_open(struct place *p, const char *lessons);
/* Standard output and errors, together; the caller frees *output. A command that runs longer than its time is killed,
 * and is an error. */
enum status place_run(const struct place *p, const char *command, char **output, int *exit_status);
/* Does it succeed here? "" does. What it prints is not kept. */
enum status place_try(const struct place *p, const char *command, bool *succeeds);
/* Like place_run, but on the terminal, with the user's own settings and no time limit. */
enum status place_show(const struct place *p, const char *command, int *exit_status);
void place_close(struct place *p); /* takes the folder away; accepts NULL and a zeroed struct */

#endif
