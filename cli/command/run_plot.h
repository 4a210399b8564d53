/* `train --plot FILE.svg` (or .pdf, .png): the losses of a run over its steps, written at the end. */
#ifndef SHARDLAB_RUN_PLOT_H
#define SHARDLAB_RUN_PLOT_H

#include "strategy/trace/curves.h"
#include "strategy/trace/report.h"

/* STATUS_INPUT: another ending, no font, or a file that cannot be written. Touches nothing. */
enum status run_plot_check(const char *path);
enum status run_plot_write(const char *path, const struct curves *c, const struct report *measured);

#endif
