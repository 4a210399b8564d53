/* Advice (sim/advise.h) as text and as JSON. */
#ifndef SHARDLAB_SHOW_ADVICE_H
#define SHARDLAB_SHOW_ADVICE_H

#include <jansson.h>
#include <stdio.h>

#include "sim/advise.h"

/* model: as the user named it, for commands. all: every line, not the best alone. */
void show_advice(const struct advice *a, const char *model, bool all, FILE *out);

/* The plan of the configuration that advice was asked for beside it: predicted as it is, and set against the best line.
 */
void show_own(const struct advice *a, const struct report *own, FILE *out);
json_t *own_to_json(const struct report *own);

/* "zero3:save=16bit", or "zero3:…" of many keys. */
void advice_strategy(const char *strategy, char *out, size_t size);

/* The object that docs/json.md describes. New reference. */
json_t *advice_to_json(const struct advice *a);

#endif
