#include "strategy/base/type.h"

static const struct {
	const char *name;
	int64_t bytes;
} types[] = {{"fp32", 4}, {"bf16", 2}, {"fp16", 2}, {"i32", 4}, {"i64", 8}, {"u8", 1}, {"fp8", 1}};

int64_t type_bytes(enum type t)
{
	return types[t].bytes;
}

const char *type_name(enum type t)
{
	return types[t].name;
}
