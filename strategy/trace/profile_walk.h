/* For profile_foreign.c: the nested calls of a host's threads, by the names that PyTorch gives them. */
#ifndef SHARDLAB_PROFILE_WALK_H
#define SHARDLAB_PROFILE_WALK_H

#include "strategy/trace/profile.h"

/* The first span of a process, or of one behind it: those of a process follow one another. */
size_t profile_first_span(const struct trace_file *f, int process);

/* Goes through the threads of a process. phases: by span of the file; those of this process are set. w: NULL, or the
 * times of operators and collectives are added to it, each operator in pieces, without those that it calls; steps are
 * not set.
 */
void profile_walk(const struct trace_file *f, int process, enum profile_phase *phases, struct profile_work *w);

#endif
