/* SwiGLU. With s = 1/(1 + e^−g): silu(g) = g·s, silu'(g) = s + g·s·(1 − s), and 1 − s = e^−g·s. */
#include "kernels/cpu/simd/math.h"

/* Beyond this, silu is its argument or 0 in fp32; within it, the exponential does not overflow. */
#define SILU_END 87.0f

/* s[j] = the sigmoid of g[j], rest[j] = 1 − s[j], without cancellation; g is cut off where silu is 0. */
ALWAYS_INLINE void vectors_sigmoid(vector *g, vector *s, vector *rest, const int n)
{
	EACH(n) g[j] = vector_maximum(vector_all(-SILU_END), g[j]);
	EACH(n) s[j] = -vector_minimum(vector_all(SILU_END), g[j]);
	vectors_exp_within(s, n);
	EACH(n) rest[j] = s[j];
	EACH(n) s[j] = 1.0f / (1.0f + s[j]);
	EACH(n) rest[j] = rest[j] * s[j];
}

ALWAYS_INLINE void forward_vectors(const element *gate, const element *up, element *y, const int n, int64_t lanes)
{
	vector g[TOGETHER], s[TOGETHER], rest[TOGETHER];
	EACH(n) g[j] = elements_load(gate + j * LANES, lanes);
	vectors_sigmoid(g, s, rest, n);
	EACH(n) elements_store(y + j * LANES, g[j] * s[j] * elements_load(up + j * LANES, lanes), lanes);
}

void SIMD_BODY(swiglu_forward)(const void *task, int64_t begin, int64_t end)
{
	const struct swiglu_forward_task *t = task;
	int64_t width = t->width;
	for (int64_t row = begin; row < end; row++) {
		const element *gate = (const element *)t->x + row * 2 * width, *up = gate + width;
		element *y = (element *)t->y + row * width;
		int64_t i = 0;
		for (; i + TOGETHER * LANES <= width; i += TOGETHER * LANES)
			forward_vectors(gate + i, up + i, y + i, TOGETHER, LANES);
		for (; i < width; i += LANES)
			forward_vectors(gate + i, up + i, y + i, 1, smaller(LANES, width - i));
	}
}

ALWAYS_INLINE void backward_vectors(const element *dy, const element *x, element *dx, int64_t width, const int n,
                                    int64_t lanes)
{
	vector g[TOGETHER], s[TOGETHER], rest[TOGETHER], d[TOGETHER];
	EACH(n) g[j] = elements_load(x + j * LANES, lanes);
	vectors_sigmoid(g, s, rest, n);
	EACH(n) d[j] = elements_load(dy + j * LANES, lanes);
	EACH(n) elements_store(dx + width + j * LANES, d[j] * g[j] * s[j], lanes);
	EACH(n) d[j] = d[j] * elements_load(x + width + j * LANES, lanes);
	EACH(n) elements_store(dx + j * LANES, d[j] * (s[j] + g[j] * s[j] * rest[j]), lanes);
}

void SIMD_BODY(swiglu_backward)(const void *task, int64_t begin, int64_t end)
{
	const struct swiglu_backward_task *t = task;
	int64_t width = t->width;
	for (int64_t row = begin; row < end; row++) {
		const element *x = (const element *)t->x + row * 2 * width, *dy = (const element *)t->dy + row * width;
		element *dx = (element *)t->dx + row * 2 * width;
		int64_t i = 0;
		for (; i + TOGETHER * LANES <= width; i += TOGETHER * LANES)
			backward_vectors(dy + i, x + i, dx + i, width, TOGETHER, LANES);
		for (; i < width; i += LANES)
			backward_vectors(dy + i, x + i, dx + i, width, 1, smaller(LANES, width - i));
	}
}
