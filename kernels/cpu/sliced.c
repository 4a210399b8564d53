/* Embeddings, and layers whose weights are sliced over ranks: the loops around the bodies, and sums in a fixed order.
 */
#include <math.h>
#include <stddef.h>

#include "kernels/cpu/bodies.h"

KERNEL_FUNCTION(linear_finish)
{
	struct sum_finish_task t = {width, rows, bias, residual, sum};
	if (bias || residual)
		parallel_for(kernel_bodies(type)->sum_finish, &t, rows, 1);
	if (y) {
		struct activation_task a = {activation, sum, y};
		parallel_for(kernel_bodies(type)->activation_forward, &a, rows * width, 64);
	}
}

KERNEL_FUNCTION(embedding_finish)
{
	struct sum_finish_task t = {width, tokens, NULL, position_table, y};
	parallel_for(kernel_bodies(type)->sum_finish, &t, samples * tokens, 1);
}

KERNEL_FUNCTION(embedding_sliced_backward)
{
	struct embedding_task token = {.slice = slice,
	                               .samples = samples,
	                               .tokens = tokens,
	                               .width = width,
	                               .first = first,
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
KERNEL_FUNCTION(embedding_backward)
{
	const struct class_slice all = {0, vocabulary, vocabulary};
	embedding_sliced_backward(type, samples, tokens, width, &all, context, first, ids, dy, dtoken_table,
	                          accumulate_token, dposition_table, accumulate_position);
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

KERNEL_FUNCTION(evaluate_count)
{
	double sum = 0;
	for (int64_t row = 0; row < rows; row++) {
		const float *s = sums + 3 * row;
		sum += row_loss(maxima[row], s);
		*correct += s[1] == maxima[row] && s[2] == 0;
	}
	*loss += sum;
}
