/* Layers whose weights are sliced over ranks: the loops around the bodies, and sums in a fixed order. */
#include "kernels/sliced.h"

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

void embedding_sliced_forward(enum element type, int64_t samples, int64_t tokens, int64_t width,
                              const struct class_slice *slice, const int32_t *ids, const void *token_table, void *y)
{
	struct embedding_slice_task t = {
	        .slice = *slice, .rows = samples * tokens, .width = width, .ids = ids, .table = token_table, .y = y};
	parallel_for(kernel_bodies(type)->embedding_slice_forward, &t, samples * tokens, 1);
}

void embedding_sliced_backward(enum element type, int64_t samples, int64_t tokens, int64_t width,
                               const struct class_slice *slice, int64_t context, const int32_t *ids, const void *dy,
                               void *dtoken_table, bool accumulate_token, void *dposition_table,
                               bool accumulate_position)
{
	struct embedding_slice_task token = {.slice = *slice,
	                                     .rows = samples * tokens,
	                                     .width = width,
	                                     .ids = ids,
	                                     .dy = dy,
	                                     .dtable = dtoken_table};
	struct embedding_task position = {.samples = samples,
	                                  .tokens = tokens,
	                                  .width = width,
	                                  .dy = dy,
	                                  .dtable = dposition_table,
	                                  .accumulate = accumulate_position};
	if (!accumulate_token)
		vector_zero(type, slice->stride * width, dtoken_table);
	parallel_for(kernel_bodies(type)->embedding_slice_rows, &token, width, 64);
	parallel_for(kernel_bodies(type)->embedding_position_rows, &position, context, 1);
}

void classifier_maxima(enum element type, int64_t rows, const struct class_slice *slice, const void *logits,
                       float *maxima)
{
	struct classifier_slice_task t = {.slice = *slice, .rows = rows, .logits = logits, .maxima_out = maxima};
	parallel_for(kernel_bodies(type)->classifier_maxima, &t, rows, 1);
}

static void sums_of(enum element type, int64_t rows, const struct class_slice *slice, const void *logits,
                    const int32_t *targets, const float *maxima, float *sums, int width)
{
	struct classifier_slice_task t = {.slice = *slice,
	                                  .rows = rows,
	                                  .logits = logits,
	                                  .targets = targets,
	                                  .maxima = maxima,
	                                  .sums_out = sums,
	                                  .sums_width = width};
	parallel_for(kernel_bodies(type)->classifier_sums, &t, rows, 1);
}

void classifier_sums(enum element type, int64_t rows, const struct class_slice *slice, const void *logits,
                     const int32_t *targets, const float *maxima, float *sums)
{
	sums_of(type, rows, slice, logits, targets, maxima, sums, 2);
}

void evaluate_sums(enum element type, int64_t rows, const struct class_slice *slice, const void *logits,
                   const int32_t *targets, const float *maxima, float *sums)
{
	sums_of(type, rows, slice, logits, targets, maxima, sums, 3);
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
	struct classifier_slice_task t = {.slice = *slice,
	                                  .rows = rows,
	                                  .logits = logits,
	                                  .targets = targets,
	                                  .maxima = maxima,
	                                  .sums = sums,
	                                  .gradient = logits,
	                                  .scale = gradient_scale};
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
