/* LayerNorm: rows are independent forward; backward, rows for dx and columns for the sums, in blocks of rows so that
 * the second reads what the first has left in cache. */
#include "kernels/cpu/bodies.h"

void norm_forward(int64_t rows, int64_t width, const float *x, const float *weight, const float *bias, float *y,
                  float *statistics)
{
	struct norm_forward_task t = {width, x, weight, bias, y, statistics};
	parallel_for(kernel_bodies()->norm_forward, &t, rows, 1);
}

static void input_and_weight(const struct norm_backward_task *t, int64_t begin, int64_t end)
{
	const struct kernel_bodies *bodies = kernel_bodies();
	struct norm_backward_task block = *t;
	block.row_begin = begin;
	block.row_end = end;
	block.accumulate_weight |= begin > 0;
	block.accumulate_bias |= begin > 0;
	/* dx and the rows themselves do not depend on the order; dy and x are unchanged by the first. */
	bodies->norm_backward_input(&block, begin, end);
	bodies->norm_backward_weight(&block, 0, t->width);
}

/* The columns of all blocks: the same sums in the same order as one thread makes. */
static void weight_columns(const void *task, int64_t begin, int64_t end)
{
	struct norm_backward_task block = *(const struct norm_backward_task *)task;
	int64_t rows = block.row_end;
	for (int64_t row = 0; row < rows || row == 0; row += ROW_BLOCK) {
		block.row_begin = row;
		block.row_end = rows - row < ROW_BLOCK ? rows : row + ROW_BLOCK;
		kernel_bodies()->norm_backward_weight(&block, begin, end);
		block.accumulate_weight = block.accumulate_bias = true;
	}
}

void norm_backward(int64_t rows, int64_t width, const float *dy, const float *x, const float *statistics,
                   const float *weight, float *dx, bool accumulate_x, float *dweight, bool accumulate_weight,
                   float *dbias, bool accumulate_bias)
{
	struct norm_backward_task t = {.width = width,
	                               .row_begin = 0,
	                               .row_end = rows,
	                               .dy = dy,
	                               .x = x,
	                               .statistics = statistics,
	                               .weight = weight,
	                               .dx = dx,
	                               .dweight = dweight,
	                               .dbias = dbias,
	                               .accumulate_x = accumulate_x,
	                               .accumulate_weight = accumulate_weight,
	                               .accumulate_bias = accumulate_bias};

	if (kernels_threads() == 1) {
		for (int64_t row = 0; row < rows || row == 0; row += ROW_BLOCK)
			input_and_weight(&t, row, rows - row < ROW_BLOCK ? rows : row + ROW_BLOCK);
		return;
	}
	parallel_for(kernel_bodies()->norm_backward_input, &t, rows, 1);
	parallel_for(weight_columns, &t, width, 64);
}
