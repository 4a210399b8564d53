#include "strategy/base/type.h"

#include <string.h>

static const struct {
	const char *name;
	int64_t bytes;
} types[] = {{"fp32", 4}, {"bf16", 2}, {"fp16", 2}, {"i32", 4}, {"i64", 8}, {"u8", 1}};

int64_t type_bytes(enum type t)
{
	return types[t].bytes;
}

const char *type_name(enum type t)
{
	return types[t].name;
}

enum status type_parse(const char *text, enum type *out)
{
	for (int i = TYPE_FP32; i <= TYPE_FP16; i++)
		if (!strcmp(text, types[i].name)) {
			*out = (enum type)i;
			return STATUS_OK;
		}
	return status_fail(STATUS_INPUT, "{precision}: unknown type '%.40s'; known: fp32, bf16, fp16", text);
}
