/* The exercise as text: for screen readers, lessons and tests. */
#ifndef SHARDLAB_VIZ_BUILD_DESCRIBE_H
#define SHARDLAB_VIZ_BUILD_DESCRIBE_H

#include <stdio.h>

#include "viz/build/exercise.h"
#include "viz/build/outcome.h"

/* The drawer: what there is to place, by kind. */
void build_describe_drawer(const struct exercise *e, FILE *out);
/* Describes the placed moves and the verdict. own, mine: NULL if it was not accepted. */
void build_describe(const struct exercise *e, const struct outcome *own, const struct outcome *mine, FILE *out);

#endif
