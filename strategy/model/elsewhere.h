/* Well-known models that are built otherwise than those here.
 *
 *     const char *why = model_elsewhere(&arena, "mixtral-8x7b");
 *     … "a mixture of experts; …; {model} params=46.7e9:units=32 has the model states of Mixtral 8x7B" …
 */
#ifndef SHARDLAB_MODEL_ELSEWHERE_H
#define SHARDLAB_MODEL_ELSEWHERE_H

#include "strategy/base/arena.h"

/* Says what differs, and what to give instead. NULL: nothing is known of such a name. */
const char *model_elsewhere(struct arena *a, const char *typed);

#endif
