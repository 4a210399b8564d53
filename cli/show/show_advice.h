/* Advice (sim/advise.h) as text and as JSON. */
#ifndef SHARDLAB_SHOW_ADVICE_H
#define SHARDLAB_SHOW_ADVICE_H

#include <jansson.h>
#include <stdio.h>

#include "sim/advise.h"

/* model: as the user named it, for commands. all: every line, not the best alone. */
void show_advice(const struct advice *a, const char *model, bool all, FILE *out);

/* The object that docs/json.md describes. New reference. */
json_t *advice_to_json(const struct advice *a);

#endif
