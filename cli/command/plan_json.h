/* A plan as JSON, for programs: {"model", "strategy", "ranks", …, "groups": […], "roles": [{"role", "buffers",
 * "operations"}]}. */
#ifndef SHARDLAB_PLAN_JSON_H
#define SHARDLAB_PLAN_JSON_H

#include <jansson.h>

#include "strategy/plan/plan.h"

json_t *plan_to_json(const struct plan *p, const char *role); /* role: NULL for all. New reference */

#endif
