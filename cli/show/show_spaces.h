/* What a report says of the memory of each space, and of the copies between them. */
#ifndef SHARDLAB_SHOW_SPACES_H
#define SHARDLAB_SHOW_SPACES_H

#include <stdio.h>

#include "strategy/trace/report.h"

/* A table: by category, a pair of columns for each role. */
void show_space(const struct report *r, int space, FILE *out);
/* The host's and the disk's. Nothing is printed where nothing is offloaded. */
void show_spaces(const struct report *r, FILE *out);
void show_transfers(const struct report *r, FILE *out);

/* Before a role's name: "a " worker, "the " root, "" stage.0. */
const char *show_article(const struct report_role *role);

#endif
