#include <stddef.h>

#include "strategy/collective/algorithms.h"

const struct algorithm *const own_algorithms[] = {NULL};
