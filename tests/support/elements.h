/* Elements of any floating-point type, one at a time, by the definition of their bits: what tests compare with.
 *
 * fp16 is IEEE's binary16 (a sign, 5 bits of exponent, 10 of fraction), bf16 the upper half of an fp32. Both are
 * rounded to the nearest, ties to even; what is too large becomes infinite.
 */
#ifndef SHARDLAB_TESTS_ELEMENTS_H
#define SHARDLAB_TESTS_ELEMENTS_H

#include "strategy/base/type.h"

float element_get(enum type t, const void *x, int64_t i);
void element_set(enum type t, void *x, int64_t i, float value);

#endif
