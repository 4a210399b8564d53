/* Types of the elements of a buffer: of parameters and activations, of token ids and labels, of flags. */
#ifndef SHARDLAB_TYPE_H
#define SHARDLAB_TYPE_H

#include <stdint.h>

#include "strategy/base/status.h"

enum type { TYPE_FP32, TYPE_BF16, TYPE_FP16, TYPE_I32, TYPE_I64, TYPE_U8 };

int64_t type_bytes(enum type t);
const char *type_name(enum type t);                       /* "fp32" */
enum status type_parse(const char *text, enum type *out); /* of --precision: fp32, bf16, fp16 */

#endif
