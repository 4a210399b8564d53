/* Steps as they were recorded (strategy/trace/profile.h), as tables for people. */
#ifndef SHARDLAB_SHOW_PROFILE_H
#define SHARDLAB_SHOW_PROFILE_H

#include <stdio.h>

#include "strategy/trace/profile.h"

struct profile_column {
	char heading[264]; /* a strategy as it was asked for, and a mark */
	const struct profile_step *step;
};

/* Figures of steps side by side: the parts of a step, computing by kind and by phase, communication by kind with its
 * calls and bytes. ratio: with two columns, a third has the first over the second. */
void show_profile_columns(const struct profile_column *columns, int count, bool ratio, FILE *out);
/* A line a rank and step. */
void show_profile_steps(const struct profile *p, FILE *out);
/* Says how much was read and what it cannot tell: "mean of 3 steps on 2 of 2 ranks". */
void show_profile_notes(const struct profile *p, FILE *out);

#endif
