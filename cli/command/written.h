/* The files that a run has written, in one line for people:
 *
 *     wrote small (config.json, model.safetensors), losses.svg, run.csv
 */
#ifndef SHARDLAB_WRITTEN_H
#define SHARDLAB_WRITTEN_H

#include <stdio.h>

#include "cli/options/options.h"

/* Prints nothing where no option asked for a file. Names what is there now, so that nothing is claimed. */
void written_show(const struct options *o, FILE *out);

#endif
