/* One rank keeps everything and sends nothing. */
#include "strategy/step/hooks.h"

const struct strategy strategy_single = {
        .name = "single",
        .what = "one rank, no communication: what all the others are compared with",
        .pack = pack_units,
        .parameters = PLACE_WHOLE,
        .gradients = PLACE_WHOLE,
        .optimizer = PLACE_WHOLE,
        .one_rank = true,
};
