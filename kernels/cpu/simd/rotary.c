/* Rotary embedding of queries and keys, and before it the norm of each head, if there is one. The sines of a token
 * serve its heads of all samples.
 *
 *     forward    z = x·r·weight (RMSNorm),  y₁ = z₁·cos − z₂·sin,  y₂ = z₂·cos + z₁·sin    of a head's two halves
 *     backward   dz by the angle turned round, then as RMSNorm's gradient
 */
#include <math.h>

#include "kernels/cpu/simd/simd.h"

#define MOST_SIZE (2 * ROTARY_PAIRS)

struct turn {
	float cosine[ROTARY_PAIRS], sine[ROTARY_PAIRS];
};

static void turn_make(const struct rotary_shape *s, int64_t token, struct turn *t)
{
	for (int64_t i = 0; i < s->head_size / 2; i++) {
		float angle = (float)(s->first + token) * s->frequency[i];
		t->cosine[i] = s->amplitude * cosf(angle);
		t->sine[i] = s->amplitude * sinf(angle);
	}
}

/* Turns a head, or turns it back. */
ALWAYS_INLINE void head_turn(const struct turn *t, int64_t size, float *z, const bool back)
{
	int64_t half = size / 2;
	for (int64_t i = 0; i < half; i += LANES) {
		int64_t n = smaller(LANES, half - i);
		vector a = vector_load_part(z + i, n), b = vector_load_part(z + half + i, n);
		vector cosine = vector_load_part(t->cosine + i, n), sine = vector_load_part(t->sine + i, n);
		if (back)
			sine = -sine;
		vector_store_part(z + i, a * cosine - b * sine, n);
		vector_store_part(z + half + i, b * cosine + a * sine, n);
	}
}

static void head_load(int64_t size, const element *x, float *out)
{
	for (int64_t i = 0; i < size; i += LANES) {
		int64_t n = smaller(LANES, size - i);
		vector_store_part(out + i, elements_load(x + i, n), n);
	}
}

static void head_store(int64_t size, const float *z, element *out)
{
	for (int64_t i = 0; i < size; i += LANES) {
		int64_t n = smaller(LANES, size - i);
		elements_store(out + i, vector_load_part(z + i, n), n);
	}
}

static float head_inverse(int64_t size, const float *x, float epsilon)
{
	vector squares = {0};
	for (int64_t i = 0; i < size; i += LANES) {
		vector v = vector_load_part(x + i, smaller(LANES, size - i));
		squares += v * v;
	}
	return 1.0f / sqrtf(vector_reduce_sum(squares) / (float)size + epsilon);
}

static void head_forward(const struct rotary_shape *s, const struct turn *t, const element *x, const element *norm,
                         element *y)
{
	float z[MOST_SIZE];
	head_load(s->head_size, x, z);
	if (norm) {
		float inverse = head_inverse(s->head_size, z, s->epsilon);
		for (int64_t i = 0; i < s->head_size; i += LANES) {
			int64_t n = smaller(LANES, s->head_size - i);
			vector_store_part(z + i, vector_load_part(z + i, n) * inverse * elements_load(norm + i, n), n);
		}
	}
	head_turn(t, s->head_size, z, false);
	head_store(s->head_size, z, y);
}

/* The number of elements in a row of q|k|v. */
static int64_t row_elements(const struct rotary_shape *s)
{
	return (s->heads + 2 * s->kv_heads) * s->head_size;
}

static void copy_values(const struct rotary_shape *s, const element *from, element *to)
{
	int64_t keys = (s->heads + s->kv_heads) * s->head_size;
	memcpy(to + keys, from + keys, (size_t)(s->kv_heads * s->head_size) * sizeof *to);
}

void SIMD_BODY(rotary_forward)(const void *task, int64_t begin, int64_t end)
{
	const struct rotary_forward_task *t = task;
	const struct rotary_shape *s = t->shape;
	struct turn turn;
	for (int64_t token = begin; token < end; token++) {
		turn_make(s, token, &turn);
		for (int64_t sample = 0; sample < s->samples; sample++) {
			int64_t row = (sample * s->tokens + token) * row_elements(s);
			const element *x = (const element *)t->x + row;
			element *y = (element *)t->y + row;
			for (int64_t h = 0; h < s->heads + s->kv_heads; h++)
				head_forward(s, &turn, x + h * s->head_size, h < s->heads ? t->q_norm : t->k_norm,
				             y + h * s->head_size);
			copy_values(s, x, y);
		}
	}
}

/* dz becomes dx, and what it adds to the weight's gradient is added. */
static void head_norm_backward(const struct rotary_shape *s, const element *x, const element *norm, const float *dz,
                               element *dx, float *sum)
{
	float v[MOST_SIZE];
	vector product = {0};
	head_load(s->head_size, x, v);
	float inverse = head_inverse(s->head_size, v, s->epsilon);
	for (int64_t i = 0; i < s->head_size; i += LANES) {
		int64_t n = smaller(LANES, s->head_size - i);
		vector d = vector_load_part(dz + i, n) * vector_load_part(v + i, n);
		product += d * elements_load(norm + i, n);
		vector_store_part(sum + i, vector_load_part(sum + i, n) + d * inverse, n);
	}
	float slope = vector_reduce_sum(product) / (float)s->head_size * inverse * inverse;
	for (int64_t i = 0; i < s->head_size; i += LANES) {
		int64_t n = smaller(LANES, s->head_size - i);
		vector g = vector_load_part(dz + i, n) * elements_load(norm + i, n);
		elements_store(dx + i, (g - vector_load_part(v + i, n) * slope) * inverse, n);
	}
}

/* sums: [2][head_size], of this part; NULL without norms. */
static void token_backward(const struct rotary_backward_task *t, int64_t token, float *sums)
{
	const struct rotary_shape *s = t->shape;
	struct turn turn;
	turn_make(s, token, &turn);
	for (int64_t sample = 0; sample < s->samples; sample++) {
		int64_t row = (sample * s->tokens + token) * row_elements(s);
		element *dx = (element *)t->dx + row;
		for (int64_t h = 0; h < s->heads + s->kv_heads; h++) {
			int64_t head = row + h * s->head_size;
			float z[MOST_SIZE];
			head_load(s->head_size, (const element *)t->dy + head, z);
			head_turn(&turn, s->head_size, z, true);
			if (sums)
				head_norm_backward(s, (const element *)t->x + head,
				                   h < s->heads ? t->q_norm : t->k_norm, z, dx + h * s->head_size,
				                   sums + (h < s->heads ? 0 : s->head_size));
			else
				head_store(s->head_size, z, dx + h * s->head_size);
		}
		copy_values(s, (const element *)t->dy + row, dx);
	}
}

void SIMD_BODY(rotary_backward)(const void *task, int64_t begin, int64_t end)
{
	const struct rotary_backward_task *t = task;
	int64_t size = t->shape->head_size, tokens = t->shape->tokens;
	for (int64_t part = begin; part < end; part++) {
		float *sums = t->sums ? t->sums + part * 2 * size : NULL;
		if (sums)
			memset(sums, 0, (size_t)(2 * size) * sizeof *sums);
		for (int64_t token = part_begin(tokens, part); token < part_begin(tokens, part + 1); token++)
			token_backward(t, token, sums);
	}
}
