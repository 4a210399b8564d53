/* Types of the elements of a buffer: of parameters and activations, of token ids and labels, of flags, and of what
 * products in fp8 take. */
#ifndef SHARDLAB_TYPE_H
#define SHARDLAB_TYPE_H

#include <stdint.h>

enum type { TYPE_FP32, TYPE_BF16, TYPE_FP16, TYPE_I32, TYPE_I64, TYPE_U8, TYPE_FP8 };
enum { TYPE_COUNT = TYPE_FP8 + 1 };

int64_t type_bytes(enum type t);
const char *type_name(enum type t); /* "fp32" */

#endif
