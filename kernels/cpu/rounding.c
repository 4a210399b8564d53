#include "kernels/rounding.h"

#include <string.h>

#include "kernels/cpu/bodies.h"

#define GRAIN 4096

struct rounding_task {
	struct element_numbers numbers;
	uint64_t key;
	bool to_fp16;
	const float *x;
	uint16_t *y;
};

static void round_range(const void *task, int64_t begin, int64_t end)
{
	const struct rounding_task *t = task;
	for (int64_t i = begin; i < end; i++) {
		uint32_t from, random = rounding_bits(t->key, element_number(&t->numbers, i));
		memcpy(&from, t->x + i, sizeof from);
		t->y[i] = t->to_fp16 ? round_to_fp16(from, random) : round_to_bf16(from, random);
	}
}

void vector_round(enum element to, const struct rounding *r, int64_t step, int64_t n, const float *x, void *y)
{
	struct rounding_task t = {.numbers = r->numbers,
	                          .key = rounding_key(r->seed, step),
	                          .to_fp16 = to == ELEMENT_FP16,
	                          .x = x,
	                          .y = y};
	parallel_for(round_range, &t, n, GRAIN);
}
