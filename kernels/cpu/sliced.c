/* Embeddings, and layers whose weights are sliced over ranks: the loops around the bodies, and sums in a fixed order.
 */
#include <math.h>
#include <stddef.h>

#include "kernels/cpu/bodies.h"

void linear_finish(enum element type, int64_t rows, int64_t width, const void *bias, const void *residual, void *sum,
                   void *y)
{
	struct sum_finish_task t = {width, rows, bias, residual, sum};
	if (bias || residual)
		parallel_for(kernel_bodies(type)->sum_finish, &t, rows, 1);
	if (y) {
		struct elementwise_task g = {sum, y};
		parallel_for(kernel_bodies(type)->gelu_forward, &g, rows * width, 64);
	}
}

void embedding_finish(enum element type, int64_t samples, int64_t tokens, int64_t width, const void *position_table,
                      void *y)
{
	struct sum_finish_task t = {width, tokens, NULL, position_table, y};
	parallel_for(kernel_bodies(type)->sum_finish, &t, samples * tokens, 1);
}

void embedding_sliced_backward(enum element type, int64_t samples, int64_t tokens, int64_t width,
                               const struct class_slice *slice, int64_t context, const int32_t *ids, const void *dy,
                               void *dtoken_table, bool accumulate_token, void *dposition_table,
                               bool accumulate_position)
{
	struct embedding_task token = {.slice = slice,
	                               .samples = samples,
	                               .tokens = tokens,
	                               .width = width,
	                               .ids = ids,
	                               .dy = dy,
	                               .dtable = dtoken_table};
	struct embedding_task position = token;
	position.dtable = dposition_table;
	position.accumulate = accumulate_position;
	if (!accumulate_token)
		vector_zero(type, slice->stride * width, dtoken_table);
	parallel_for(kernel_bodies(type)->embedding_token_rows, &token, width, 64);
	parallel_for(kernel_bodies(type)->embedding_position_rows, &position, context, 1);
}

/* The whole table is a slice of it. */
void embedding_backward(enum element type, int64_t samples, int64_t tokens, int64_t width, int64_t vocabulary,
                        int64_t context, const int32_t *ids, const void *dy, void *dtoken_table, bool accumulate_token,
                        void *dposition_table, bool accumulate_position)
{
	const struct class_slice all = {0, vocabulary, vocabulary};
	embedding_sliced_backward(type, samples, tokens, width, &all, context, ids, dy, dtoken_table, accumulate_token,
	                          dposition_table, accumulate_position);
}

/* A row's loss: log of the sum of exponentials, less the target's logit. */
static double row_loss(float maximum, const float *sums)
{
	return log((double)sums[0]) + (double)maximum - (double)sums[1];
}

void classifier_gradient(enum element type, int64_t rows, const struct class_slice *slice, void *logits,
                         const int32_t *targets, const float *maxima, const float *sums, double scale,
                         double gradient_scale, float *loss, bool accumulate)
{
	double sum = 0;
	const struct classifier_gradient_task t = {slice, logits, targets, maxima, sums, gradient_scale};
	parallel_for(kernel_bodies(type)->classifier_gradient, &t, rows, 1);
	for (int64_t row = 0; row < rows; row++)
		sum += row_loss(maxima[row], sums + 2 * row);
	*loss = (float)((accumulate ? (double)*loss : 0.0) + scale * sum);
}

void evaluate_count(int64_t rows, const float *maxima, const float *sums, double *loss, int64_t *correct)
{
	*loss = 0;
	*correct = 0;
	for (int64_t row = 0; row < rows; row++) {
		const float *s = sums + 3 * row;
		*loss += row_loss(maxima[row], s);
		*correct += s[1] == maxima[row] && s[2] == 0;
	}
}
