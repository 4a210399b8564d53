/* LayerNorm and RMSNorm, backward: rows for dx and columns for the sums, in blocks of rows so that
 * the second reads what the first has left in cache. */
#include "kernels/cpu/bodies.h"

struct backward {
	kernel_body *input, *weight, *narrow;
	enum element type;
	struct norm_backward_task task;
	void *dweight, *dbias; /* in 16 bits, where the task's sums are on the stack; dbias may be NULL */
};

static void input_rows(const void *task, int64_t begin, int64_t end)
{
	const struct backward *b = task;
	b->input(&b->task, begin, end);
}

/* Takes rows in blocks, for a range of columns, so that sums have the same order at any number of threads. With
 * `input`, dx of a block's rows is made first, which leaves dy and x unchanged. */
static void blocks(const struct backward *b, bool input, int64_t begin, int64_t end)
{
	struct norm_backward_task block = b->task;
	int64_t rows = block.row_end;
	for (int64_t row = 0; row < rows || row == 0; row += ROW_BLOCK) {
		block.row_begin = row;
		block.row_end = rows - row < ROW_BLOCK ? rows : row + ROW_BLOCK;
		if (input)
			b->input(&block, row, block.row_end);
		b->weight(&block, begin, end);
		block.accumulate_weight = block.accumulate_bias = true;
	}
}

/* Columns in pieces whose sums fit the stack, which are then rounded. */
static void blocks16(const struct backward *whole, bool input, int64_t begin, int64_t end)
{
	const struct norm_backward_task *t = &whole->task;
	float weight[SUM_COLUMNS], bias[SUM_COLUMNS];
	struct backward b = *whole;
	b.task.dweight = weight;
	b.task.dbias = bias;
	b.task.accumulate_weight = b.task.accumulate_bias = false;
	for (; begin < end; begin += SUM_COLUMNS) {
		int64_t n = end - begin < SUM_COLUMNS ? end - begin : SUM_COLUMNS;
		struct narrow_task w = {weight, element_at(b.type, b.dweight, begin), t->accumulate_weight};
		struct narrow_task o = {bias, element_at(b.type, b.dbias, begin), t->accumulate_bias};
		b.task.sum_begin = begin;
		blocks(&b, input, begin, begin + n);
		b.narrow(&w, 0, n);
		if (b.dbias)
			b.narrow(&o, 0, n);
	}
}

static void weight_columns(const void *task, int64_t begin, int64_t end)
{
	const struct backward *b = task;
	if (b->type == ELEMENT_FP32)
		blocks(b, false, begin, end);
	else
		blocks16(b, false, begin, end);
}

/* Puts the task's sums where they belong; in 16 bits they go by way of the stack. */
static void backward_run(struct backward *b, int64_t rows)
{
	bool fp32 = b->type == ELEMENT_FP32;
	int64_t width = b->task.width;
	b->task.row_end = rows;
	b->narrow = kernel_bodies(b->type)->narrow;
	if (fp32) {
		b->task.dweight = b->dweight;
		b->task.dbias = b->dbias;
	}
	if (kernels_threads() == 1 && fp32) {
		blocks(b, true, 0, width);
	} else if (kernels_threads() == 1 && width <= SUM_COLUMNS) {
		blocks16(b, true, 0, width);
	} else {
		parallel_for(input_rows, b, rows, 1);
		parallel_for(weight_columns, b, width, 64);
	}
}

/* The parameters that both have. */
#define BACKWARD(norm)                                                                                                 \
	.input = kernel_bodies(type)->norm##_backward_input, .weight = kernel_bodies(type)->norm##_backward_weight,    \
	.type = type, .dweight = dweight,                                                                              \
	.task = {.width = width,                                                                                       \
	         .dy = dy,                                                                                             \
	         .x = x,                                                                                               \
	         .statistics = statistics,                                                                             \
	         .weight = weight,                                                                                     \
	         .dx = dx,                                                                                             \
	         .accumulate_x = accumulate_x,                                                                         \
	         .accumulate_weight = accumulate_weight}

KERNEL_FUNCTION(norm_backward)
{
	struct backward b = {BACKWARD(norm), .dbias = dbias};
	b.task.accumulate_bias = accumulate_bias;
	backward_run(&b, rows);
}

KERNEL_FUNCTION(rms_norm_backward)
{
	struct backward b = {BACKWARD(rms_norm)};
	backward_run(&b, rows);
}
