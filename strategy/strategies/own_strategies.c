#include <stddef.h>

#include "strategy/strategies/strategy.h"

const struct strategy *const own_strategies[] = {NULL};
