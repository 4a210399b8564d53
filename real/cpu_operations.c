/* Each operation finds its memory, says what it touches by the kernel's own shape, and calls the kernel. */
#include "real/cpu_operations.h"

#include <math.h>
#include <string.h>

#include "kernels/kernels.h"
#include "kernels/sliced.h"
#include "real/checksum.h"
#include "real/random.h"
#include "strategy/model/slice.h"

/* An operand's memory, of which `count` elements are used. */
static void *use(struct cpu_device *d, const struct op *op, int operand, int64_t count)
{
	int64_t n;
	cpu_device_touch(d, op, operand, count);
	return cpu_device_region(d, &op->operand[operand], &n);
}

/* An operand used as far as its region goes: vector operations have no shape of their own. */
static void *use_all(struct cpu_device *d, const struct op *op, int operand, int64_t *count)
{
	void *p = cpu_device_region(d, &op->operand[operand], count);
	cpu_device_touch(d, op, operand, *count);
	return p;
}

static const struct kernel *kernel_of(const struct cpu_device *d, const struct op *op)
{
	return &d->plan->model->kernels[op->kernel];
}

static int64_t samples_of(const struct cpu_device *d, const struct op *op)
{
	return d->plan->settings.micro_batch * (op->wide ? plan_data_ranks(d->plan) : 1);
}

static int64_t rows_of(const struct cpu_device *d, const struct op *op)
{
	return samples_of(d, op) * kernel_of(d, op)->tokens;
}

static bool adds(const struct op *op, int operand)
{
	return op->accumulate >> operand & 1;
}

/* ---- what a group holds ---- */

struct group_walk {
	struct cpu_device *d;
	enum status (*visit)(struct cpu_device *d, int tensor, int64_t first, int64_t count, float *at);
	bool fills; /* what is visited is written; and what is past the last tensor becomes zero */
};

/* Elements of this rank's slice of a tensor are visited by their places in the whole one; padding is zeros. */
static enum status walk_slice(const struct group_walk *w, int tensor, int64_t first, int64_t count, float *at)
{
	const struct plan *p = w->d->plan;
	for (int64_t done = 0; done < count;) {
		struct run_of_tensor run = tensor_run(&p->model->tensors[tensor], p->model->slices,
		                                      plan_slice_of(p, w->d->rank), first + done);
		int64_t n = run.count < count - done ? run.count : count - done;
		enum status s = STATUS_OK;
		if (run.whole >= 0)
			s = w->visit(w->d, tensor, run.whole, n, at + done);
		else if (w->fills)
			memset(at + done, 0, (size_t)n * sizeof *at);
		if (s)
			return s;
		done += n;
	}
	return STATUS_OK;
}

/* Where in its group the first element of the operand stands: the operand is this rank's slice of what the buffer has
 * of it, which is this rank's shard of the group. */
static int64_t place_in_group(const struct cpu_device *d, const struct op *op)
{
	const struct plan *p = d->plan;
	const struct region *g = &op->operand[0];
	unsigned shards = op_shard_axes(p, op);
	int64_t shard = p->groups[op->group].padded / plan_along(p, shards);
	return plan_place(p, shards, d->rank) * shard + plan_place(p, g->slice, d->rank) * region_elements(p, g);
}

/* Visits a part of a tensor as fp32: where it stands, or by way of the stack. */
static enum status walk_part(const struct group_walk *w, enum element type, int tensor, int64_t first, int64_t count,
                             void *at)
{
	enum { TILE = 1024 };
	float tile[TILE];
	if (type == ELEMENT_FP32)
		return walk_slice(w, tensor, first, count, at);
	for (int64_t i = 0; i < count; i += TILE) {
		int64_t n = count - i < TILE ? count - i : TILE;
		uint16_t *elements = (uint16_t *)at + i;
		if (!w->fills)
			vector_convert(n, type, elements, ELEMENT_FP32, tile);
		enum status s = walk_slice(w, tensor, first + i, n, tile);
		if (s)
			return s;
		if (w->fills)
			vector_convert(n, ELEMENT_FP32, tile, type, elements);
	}
	return STATUS_OK;
}

/* Visits the tensors, or parts of tensors, that the operand holds of the operation's group. */
static enum status walk_group(struct cpu_device *d, const struct op *op, const struct group_walk *w)
{
	const struct group *g = &d->plan->groups[op->group];
	enum element type = cpu_element(d, op, 0);
	int64_t count;
	char *values = use_all(d, op, 0, &count);
	int64_t first = place_in_group(d, op);
	for (int i = 0; i < g->tensor_count; i++) {
		int t = g->tensors[i];
		int64_t begin = d->plan->tensor_offset[t], end = begin + d->plan->model->tensors[t].elements;
		int64_t from = begin > first ? begin : first, to = end < first + count ? end : first + count;
		if (from >= to)
			continue;
		enum status s =
		        walk_part(w, type, t, from - begin, to - from, values + (from - first) * element_bytes(type));
		if (s)
			return s;
	}
	if (w->fills && first + count > g->elements) {
		int64_t pad = g->elements > first ? g->elements - first : 0;
		vector_zero(type, count - pad, values + pad * element_bytes(type));
	}
	return STATUS_OK;
}

static enum status fill_tensor(struct cpu_device *d, int tensor, int64_t first, int64_t count, float *at)
{
	static const enum weights_init kinds[] = {[INIT_ZERO] = WEIGHTS_ZEROS,
	                                          [INIT_ONE] = WEIGHTS_ONES,
	                                          [INIT_NORMAL] = WEIGHTS_NORMAL,
	                                          [INIT_UNIFORM] = WEIGHTS_UNIFORM};
	const struct tensor *t = &d->plan->model->tensors[tensor];
	if (d->weights.read)
		return d->weights.read(d->weights.context, tensor, first, count, at);
	weights_fill((uint64_t)d->plan->settings.seed, (uint64_t)tensor, first, count, kinds[t->init], t->init_scale,
	             at);
	return STATUS_OK;
}

static enum status show_tensor(struct cpu_device *d, int tensor, int64_t first, int64_t count, float *at)
{
	int64_t place = 0;
	/* The last step's loss is from before its update. */
	if (d->plan->settings.precision != TYPE_FP32 && !vector_is_finite(ELEMENT_FP32, count, at))
		return status_fail(STATUS_RUN,
		                   "the weights of %s are not finite in the end; lower --learning-rate, give --clip or "
		                   "--warmup, or use --precision fp32",
		                   d->plan->model->tensors[tensor].name);
	for (int t = 0; t < tensor; t++)
		place += tensor_whole_elements(&d->plan->model->tensors[t]);
	d->checksum += weights_checksum(place + first, count, at);
	return d->weights.show ? d->weights.show(d->weights.context, tensor, first, count, at) : STATUS_OK;
}

static enum status op_initialize(struct cpu_device *d, const struct op *op)
{
	return walk_group(d, op, &(struct group_walk){.d = d, .visit = fill_tensor, .fills = true});
}

static enum status op_weights(struct cpu_device *d, const struct op *op)
{
	return walk_group(d, op, &(struct group_walk){.d = d, .visit = show_tensor});
}

/* ---- vectors ---- */

static enum status op_zero(struct cpu_device *d, const struct op *op)
{
	int64_t n;
	void *x = use_all(d, op, 0, &n);
	memset(x, 0, (size_t)(n * type_bytes(d->role->buffers[op->operand[0].buffer].type)));
	return STATUS_OK;
}

/* Between floating-point types it converts; others are only moved. */
static enum status op_copy(struct cpu_device *d, const struct op *op)
{
	if (op_transfer(d->role, op) != TRANSFER_COUNT)
		return cpu_device_transfer(d, op);
	int64_t n;
	void *x = use_all(d, op, 0, &n), *y = use_all(d, op, 1, &n);
	enum type from = d->role->buffers[op->operand[0].buffer].type;
	if (from == d->role->buffers[op->operand[1].buffer].type)
		memcpy(y, x, (size_t)(n * type_bytes(from)));
	else
		vector_convert(n, cpu_element(d, op, 0), x, cpu_element(d, op, 1), y);
	return STATUS_OK;
}

static enum status op_add(struct cpu_device *d, const struct op *op)
{
	int64_t n;
	void *x = use_all(d, op, 0, &n), *y = use_all(d, op, 1, &n);
	vector_add(cpu_element(d, op, 0), n, x, y);
	return STATUS_OK;
}

static enum status op_squares(struct cpu_device *d, const struct op *op)
{
	int64_t n;
	const void *x = use_all(d, op, 0, &n);
	float *norm = use(d, op, 1, 1);
	double sum = vector_sum_of_squares(cpu_element(d, op, 0), n, x);
	*norm = (float)(adds(op, 1) ? *norm + sum : sum);
	return STATUS_OK;
}

static enum status op_advance(struct cpu_device *d, const struct op *op)
{
	int64_t *step = use(d, op, 0, 1);
	++*step;
	return STATUS_OK;
}

/* ---- data ---- */

/* The place of this rank among those that have samples of their own. */
static int64_t data_place(const struct cpu_device *d)
{
	return plan_place(d->plan, plan_data_axes(d->plan), d->rank);
}

static enum type input_type(const struct cpu_device *d, const struct op *op)
{
	return d->role->buffers[op->operand[0].buffer].type;
}

typedef void take_samples(void *context, int64_t first, int64_t count, void *inputs, int32_t *targets);

/* 16-bit inputs come sample by sample, by way of one in fp32. */
static void load_samples(struct cpu_device *d, const struct op *op, take_samples *take, int64_t first, int64_t count,
                         void *inputs, int32_t *targets)
{
	const struct model *m = d->plan->model;
	enum type type = inputs ? input_type(d, op) : TYPE_FP32;
	if (type_bytes(type) == 4) {
		take(d->input.context, first, count, inputs, targets);
		return;
	}
	for (int64_t i = 0; i < count; i++) {
		take(d->input.context, first + i, 1, d->sample, targets ? targets + i * m->tokens : NULL);
		vector_convert(m->input_elements, ELEMENT_FP32, d->sample, (enum element)type,
		               (uint16_t *)inputs + i * m->input_elements);
	}
}

/* Of n data ranks, sample m·n·micro + place·micro + i of the step's batch is the i-th of micro-batch m at that place.
 */
static void load_training(struct cpu_device *d, const struct op *op, int64_t step, void *inputs, int32_t *targets)
{
	const struct settings *s = &d->plan->settings;
	int64_t first = step * s->batch + op->micro * s->micro_batch * plan_data_ranks(d->plan);
	if (!op->wide)
		first += data_place(d) * s->micro_batch;
	load_samples(d, op, d->input.training, first, samples_of(d, op), inputs, targets);
}

static void load_validation(struct cpu_device *d, const struct op *op, void *inputs, int32_t *targets)
{
	const struct settings *s = &d->plan->settings;
	const struct model *m = d->plan->model;
	int64_t samples = samples_of(d, op);
	int64_t first = d->evaluate_pass * s->micro_batch * plan_data_ranks(d->plan) +
	                (op->wide ? 0 : data_place(d) * s->micro_batch);
	int64_t left = d->input.validation_samples - first, count = left < samples ? left > 0 ? left : 0 : samples;
	/* Rows past the end of the data are computed like the others, and not counted. */
	if (inputs)
		memset(inputs, 0, (size_t)(samples * m->input_elements * type_bytes(input_type(d, op))));
	if (targets)
		memset(targets, 0, (size_t)(samples * m->tokens) * sizeof *targets);
	if (count)
		load_samples(d, op, d->input.validation, first, count, inputs, targets);
	d->evaluate_rows = count * m->tokens;
}

static enum status op_load(struct cpu_device *d, const struct op *op)
{
	const struct model *m = d->plan->model;
	int64_t samples = samples_of(d, op);
	void *inputs = use(d, op, 0, samples * m->input_elements);
	int32_t *targets = use(d, op, 1, samples * m->tokens);
	const int64_t *step = use(d, op, 2, 1);
	if (d->evaluating)
		load_validation(d, op, inputs, targets);
	else
		load_training(d, op, *step, inputs, targets);
	return STATUS_OK;
}

/* ---- the model's kernels ---- */

/* The classes (or token ids) that this rank has, of a kernel whose token table or logits are sliced. */
static struct class_slice class_slice_of(const struct cpu_device *d, int64_t stride)
{
	struct class_range r = model_classes_of(d->plan->model, stride, plan_slice_of(d->plan, d->rank));
	return (struct class_slice){r.first, r.count, stride};
}

static enum status op_embedding_forward(struct cpu_device *d, const struct op *op)
{
	const struct kernel *k = kernel_of(d, op);
	const struct model *m = d->plan->model;
	int64_t rows = rows_of(d, op);
	if (op->operand[2].buffer < 0) {
		struct class_slice slice = class_slice_of(d, m->tensors[k->weight].rows);
		embedding_sliced_forward(cpu_element(d, op, 3), samples_of(d, op), k->tokens, k->out, &slice,
		                         use(d, op, 0, rows), use(d, op, 1, m->tensors[k->weight].elements),
		                         use(d, op, 3, rows * k->out));
		return STATUS_OK;
	}
	embedding_forward(cpu_element(d, op, 3), samples_of(d, op), k->tokens, k->out, use(d, op, 0, rows),
	                  use(d, op, 1, m->tensors[k->weight].elements), use(d, op, 2, m->tensors[k->bias].elements),
	                  use(d, op, 3, rows * k->out));
	return STATUS_OK;
}

/* Rows of what the kernel makes on this rank: with sequence parallelism its own part of them. */
static int64_t made_rows(const struct cpu_device *d, const struct op *op)
{
	return rows_of(d, op) / (d->plan->model->values[kernel_of(d, op)->y].spread ? d->plan->model->slices : 1);
}

/* Rows may begin and end within a sample: the position table is gone through from where they begin. */
static enum status op_embedding_finish(struct cpu_device *d, const struct op *op)
{
	const struct kernel *k = kernel_of(d, op);
	enum element type = cpu_element(d, op, 1);
	int64_t rows = made_rows(d, op), first = rows < rows_of(d, op) ? rows * plan_slice_of(d->plan, d->rank) : 0;
	const unsigned char *positions = use(d, op, 0, d->plan->model->tensors[k->bias].elements);
	unsigned char *y = use(d, op, 1, rows * k->out);
	int64_t row_bytes = k->out * type_bytes(d->role->buffers[op->operand[1].buffer].type);
	for (int64_t done = 0; done < rows;) {
		int64_t at = (first + done) % k->tokens, left = rows - done, n = k->tokens - at;
		n = n < left ? n : left;
		embedding_finish(type, 1, n, k->out, positions + at * row_bytes, y + done * row_bytes);
		done += n;
	}
	return STATUS_OK;
}

static enum status op_embedding_backward(struct cpu_device *d, const struct op *op)
{
	const struct kernel *k = kernel_of(d, op);
	const struct model *m = d->plan->model;
	const struct tensor *tokens = &m->tensors[k->weight], *positions = &m->tensors[k->bias];
	int64_t rows = rows_of(d, op);
	if (tokens->cut != CUT_NONE) {
		struct class_slice slice = class_slice_of(d, tokens->rows);
		embedding_sliced_backward(cpu_element(d, op, 0), samples_of(d, op), k->tokens, k->out, &slice,
		                          positions->rows, use(d, op, 1, rows), use(d, op, 0, rows * k->out),
		                          use(d, op, 2, tokens->elements), adds(op, 2),
		                          use(d, op, 3, positions->elements), adds(op, 3));
		return STATUS_OK;
	}
	embedding_backward(cpu_element(d, op, 0), samples_of(d, op), k->tokens, k->out, tokens->rows, positions->rows,
	                   use(d, op, 1, rows), use(d, op, 0, rows * k->out), use(d, op, 2, tokens->elements),
	                   adds(op, 2), use(d, op, 3, positions->elements), adds(op, 3));
	return STATUS_OK;
}

static enum status op_norm_forward(struct cpu_device *d, const struct op *op)
{
	int64_t rows = rows_of(d, op), width = kernel_of(d, op)->out;
	norm_forward(cpu_element(d, op, 0), rows, width, use(d, op, 0, rows * width), use(d, op, 1, width),
	             use(d, op, 2, width), use(d, op, 3, rows * width), use(d, op, 4, 2 * rows));
	return STATUS_OK;
}

static enum status op_norm_backward(struct cpu_device *d, const struct op *op)
{
	int64_t rows = rows_of(d, op), width = kernel_of(d, op)->out;
	norm_backward(cpu_element(d, op, 0), rows, width, use(d, op, 0, rows * width), use(d, op, 1, rows * width),
	              use(d, op, 2, 2 * rows), use(d, op, 3, width), use(d, op, 4, rows * width), adds(op, 4),
	              use(d, op, 5, width), adds(op, 5), use(d, op, 6, width), adds(op, 6));
	return STATUS_OK;
}

/* ---- batch normalization, and the model's buffers ---- */

static struct batch_norm_shape batch_norm_shape_of(const struct cpu_device *d, const struct op *op)
{
	const struct kernel *k = kernel_of(d, op);
	return (struct batch_norm_shape){rows_of(d, op), k->out, k->gelu, cpu_element(d, op, 0)};
}

static enum status op_batch_norm_statistics(struct cpu_device *d, const struct op *op)
{
	struct batch_norm_shape s = batch_norm_shape_of(d, op);
	batch_norm_statistics(&s, use(d, op, 0, s.rows * s.width), use(d, op, 1, 2 * s.width + 1));
	return STATUS_OK;
}

static enum status op_batch_norm_merge(struct cpu_device *d, const struct op *op)
{
	int64_t n, width = kernel_of(d, op)->out;
	const float *parts = use_all(d, op, 0, &n);
	batch_norm_merge(n / (2 * width + 1), width, parts, use(d, op, 1, 2 * width), use(d, op, 2, 2 * width + 1));
	return STATUS_OK;
}

static enum status op_batch_norm_running(struct cpu_device *d, const struct op *op)
{
	int64_t width = kernel_of(d, op)->out;
	batch_norm_running(width, use(d, op, 0, 2 * width), use(d, op, 1, 2 * width + 1));
	return STATUS_OK;
}

static enum status op_batch_norm_forward(struct cpu_device *d, const struct op *op)
{
	struct batch_norm_shape s = batch_norm_shape_of(d, op);
	batch_norm_forward(&s, use(d, op, 0, s.rows * s.width), use(d, op, 1, 2 * s.width + 1), use(d, op, 2, s.width),
	                   use(d, op, 3, s.width), use(d, op, 4, s.rows * s.width));
	return STATUS_OK;
}

static enum status op_batch_norm_sums(struct cpu_device *d, const struct op *op)
{
	struct batch_norm_shape s = batch_norm_shape_of(d, op);
	batch_norm_sums(&s, use(d, op, 0, s.rows * s.width), use(d, op, 1, s.rows * s.width),
	                use(d, op, 2, 2 * s.width + 1), use(d, op, 3, s.width), use(d, op, 4, s.width),
	                use(d, op, 5, 2 * s.width), use(d, op, 6, s.width), adds(op, 6), use(d, op, 7, s.width),
	                adds(op, 7));
	return STATUS_OK;
}

static enum status op_batch_norm_backward(struct cpu_device *d, const struct op *op)
{
	struct batch_norm_shape s = batch_norm_shape_of(d, op);
	batch_norm_backward(&s, use(d, op, 0, s.rows * s.width), use(d, op, 1, s.rows * s.width),
	                    use(d, op, 2, 2 * s.width + 1), use(d, op, 3, 2 * s.width), use(d, op, 4, s.width),
	                    use(d, op, 5, s.rows * s.width));
	return STATUS_OK;
}

/* Buffers are numbered after the tensors for whoever reads or shows them. */
static enum status op_initialize_buffers(struct cpu_device *d, const struct op *op)
{
	const struct model *m = d->plan->model;
	int64_t n;
	float *values = use_all(d, op, 0, &n);
	memset(values, 0, (size_t)n * sizeof *values); /* the padding too */
	for (int b = 0; b < m->buffer_count; b++) {
		const struct model_buffer *buffer = &m->buffers[b];
		float *at = values + buffer->offset;
		for (int64_t i = 0; i < buffer->elements; i++)
			at[i] = (float)buffer->initial;
		enum status s = d->weights.read ? d->weights.read(d->weights.context, m->tensor_count + b, 0,
		                                                  buffer->elements, at)
		                                : STATUS_OK;
		if (s)
			return s;
	}
	return STATUS_OK;
}

/* Rank 0's are the model's. */
static enum status op_show_buffers(struct cpu_device *d, const struct op *op)
{
	const struct model *m = d->plan->model;
	int64_t n;
	const float *values = use_all(d, op, 0, &n);
	enum status s = STATUS_OK;
	for (int b = 0; b < m->buffer_count && !s && !d->rank && d->weights.show; b++)
		s = d->weights.show(d->weights.context, m->tensor_count + b, 0, m->buffers[b].elements,
		                    values + m->buffers[b].offset);
	return s;
}

static struct linear_shape linear_shape_of(const struct cpu_device *d, const struct op *op)
{
	const struct kernel *k = kernel_of(d, op);
	return (struct linear_shape){rows_of(d, op), k->in, k->out, k->weight_in_out, k->gelu, cpu_element(d, op, 0)};
}

static enum status op_linear_forward(struct cpu_device *d, const struct op *op)
{
	struct linear_shape s = linear_shape_of(d, op);
	s.gelu &= op->operand[5].buffer >= 0; /* else it is a part of a sum, and GELU comes after that */
	linear_forward(&s, use(d, op, 0, s.rows * s.in), use(d, op, 1, s.in * s.out), use(d, op, 2, s.out),
	               use(d, op, 3, s.rows * s.out), use(d, op, 4, s.rows * s.out), use(d, op, 5, s.rows * s.out));
	return STATUS_OK;
}

static enum status op_linear_finish(struct cpu_device *d, const struct op *op)
{
	struct linear_shape s = linear_shape_of(d, op);
	s.rows = made_rows(d, op);
	linear_finish(s.type, s.rows, s.out, use(d, op, 0, s.out), use(d, op, 1, s.rows * s.out),
	              use(d, op, 2, s.rows * s.out), use(d, op, 3, s.rows * s.out));
	return STATUS_OK;
}

static enum status op_linear_backward(struct cpu_device *d, const struct op *op)
{
	struct linear_shape s = linear_shape_of(d, op);
	linear_backward(&s, use(d, op, 0, s.rows * s.out), use(d, op, 1, s.rows * s.in), use(d, op, 2, s.in * s.out),
	                use(d, op, 3, s.rows * s.out), use(d, op, 4, s.rows * s.in), use(d, op, 5, s.in * s.out),
	                adds(op, 5), use(d, op, 6, s.out), adds(op, 6));
	return STATUS_OK;
}

static struct attention_shape attention_shape_of(const struct cpu_device *d, const struct op *op)
{
	const struct kernel *k = kernel_of(d, op);
	return (struct attention_shape){samples_of(d, op), k->tokens, k->heads, k->head_size, cpu_element(d, op, 0)};
}

static enum status op_attention_forward(struct cpu_device *d, const struct op *op)
{
	struct attention_shape s = attention_shape_of(d, op);
	int64_t rows = rows_of(d, op), width = s.heads * s.head_size;
	attention_forward(&s, use(d, op, 0, 3 * rows * width), use(d, op, 1, rows * width),
	                  use(d, op, 2, rows * s.heads));
	return STATUS_OK;
}

static enum status op_attention_backward(struct cpu_device *d, const struct op *op)
{
	struct attention_shape s = attention_shape_of(d, op);
	int64_t rows = rows_of(d, op), width = s.heads * s.head_size;
	attention_backward(&s, use(d, op, 0, rows * width), use(d, op, 1, 3 * rows * width),
	                   use(d, op, 2, rows * width), use(d, op, 3, rows * s.heads), use(d, op, 4, 3 * rows * width));
	return STATUS_OK;
}

static enum status op_classifier(struct cpu_device *d, const struct op *op)
{
	int64_t rows = rows_of(d, op), classes = kernel_of(d, op)->out;
	classifier(cpu_element(d, op, 0), rows, classes, use(d, op, 0, rows * classes), use(d, op, 1, rows), op->scale,
	           op->scale * cpu_loss_scale(d, op, 3), use(d, op, 2, 1), adds(op, 2));
	return STATUS_OK;
}

static enum status op_evaluate(struct cpu_device *d, const struct op *op)
{
	int64_t rows = rows_of(d, op), classes = kernel_of(d, op)->out, correct = 0;
	double loss = 0;
	const void *logits = use(d, op, 0, rows * classes);
	const int32_t *targets = use(d, op, 1, rows);
	classifier_evaluate(cpu_element(d, op, 0), d->evaluate_rows, classes, logits, targets, &loss, &correct);
	d->evaluate_loss += loss;
	d->evaluate_correct += correct;
	d->evaluate_total += d->evaluate_rows;
	return STATUS_OK;
}

static enum status op_classifier_maxima(struct cpu_device *d, const struct op *op)
{
	int64_t rows = rows_of(d, op);
	struct class_slice slice = class_slice_of(d, kernel_of(d, op)->out);
	classifier_maxima(cpu_element(d, op, 0), rows, &slice, use(d, op, 0, rows * slice.stride), use(d, op, 1, rows));
	return STATUS_OK;
}

static enum status op_classifier_sums(struct cpu_device *d, const struct op *op)
{
	int64_t rows = rows_of(d, op);
	bool evaluate = op->kind == OP_EVALUATE_SUMS;
	struct class_slice slice = class_slice_of(d, kernel_of(d, op)->out);
	(evaluate ? evaluate_sums : classifier_sums)(cpu_element(d, op, 0), rows, &slice,
	                                             use(d, op, 0, rows * slice.stride), use(d, op, 1, rows),
	                                             use(d, op, 2, rows), use(d, op, 3, (evaluate ? 3 : 2) * rows));
	return STATUS_OK;
}

static enum status op_classifier_gradient(struct cpu_device *d, const struct op *op)
{
	int64_t rows = rows_of(d, op);
	struct class_slice slice = class_slice_of(d, kernel_of(d, op)->out);
	classifier_gradient(cpu_element(d, op, 0), rows, &slice, use(d, op, 0, rows * slice.stride),
	                    use(d, op, 1, rows), use(d, op, 2, rows), use(d, op, 3, 2 * rows), op->scale,
	                    op->scale * cpu_loss_scale(d, op, 5), use(d, op, 4, 1), adds(op, 4));
	return STATUS_OK;
}

static enum status op_evaluate_count(struct cpu_device *d, const struct op *op)
{
	int64_t rows = rows_of(d, op), correct = 0;
	double loss = 0;
	const float *maxima = use(d, op, 0, rows), *sums = use(d, op, 1, 3 * rows);
	evaluate_count(d->evaluate_rows, maxima, sums, &loss, &correct);
	d->evaluate_loss += loss;
	d->evaluate_correct += correct;
	d->evaluate_total += d->evaluate_rows;
	return STATUS_OK;
}

/* ---- the optimizer ---- */

double settings_learning_rate(const struct settings *s, int64_t step)
{
	double rate = s->learning_rate;
	if (s->warmup > 0 && step <= s->warmup)
		return rate * (double)step / (double)s->warmup;
	if (s->decay <= 0)
		return rate;
	double done = (double)(step - s->warmup) / (double)(s->decay - s->warmup > 0 ? s->decay - s->warmup : 1);
	return rate * (1 - 0.9 * (done < 1 ? done : 1));
}

/* What the gradients are multiplied by: out of the loss scale, and clipped by the global norm as
 * torch.nn.utils.clip_grad_norm_ does: clip / (norm + 1e-6), at most 1. */
static float gradient_factor(struct cpu_device *d, const struct op *op, int norm_operand, double unscale)
{
	const float *squares = use(d, op, norm_operand, 1);
	double factor = squares ? d->plan->settings.clip / (sqrt((double)*squares) * unscale + 1e-6) : 1;
	return (float)(factor < 1 ? factor * unscale : unscale);
}

/* Everything stays as it is after an overflow; and before the first gradient of a delayed update is there, when the
 * count of updates is 0. */
static bool is_kept(const struct cpu_range *r)
{
	return r->skip || r->step < 1;
}

/* Kept master weights: parameters in memory of their own are as they were; those that the host makes anew come from the
 * master weights as after any update. */
static void keep_parameters(const struct cpu_device *d, const struct op *op, int64_t n, const float *master,
                            void *parameters)
{
	if (op_access(op, 0) == 'w')
		vector_convert(n, ELEMENT_FP32, master, cpu_element(d, op, 0), parameters);
}

static enum status op_adamw(struct cpu_device *d, const struct op *op)
{
	const struct settings *s = &d->plan->settings;
	struct cpu_range range = cpu_range_of(d, op, 5);
	int64_t n;
	void *parameters = use_all(d, op, 0, &n), *gradients = use_all(d, op, 1, &n);
	float *first = use_all(d, op, 2, &n), *second = use_all(d, op, 3, &n), *master = use(d, op, 4, n);
	float factor = gradient_factor(d, op, 6, range.unscale);
	struct adamw a = {.learning_rate = (float)settings_learning_rate(s, range.step),
	                  .beta1 = 0.9F,
	                  .beta2 = 0.999F,
	                  .epsilon = 1e-8F,
	                  .weight_decay = (float)s->weight_decay};
	if (is_kept(&range))
		keep_parameters(d, op, n, master, parameters);
	else
		adamw_update(cpu_element(d, op, 0), &a, range.step, n, parameters, gradients, factor, first, second,
		             master);
	return STATUS_OK;
}

static enum status op_sgd(struct cpu_device *d, const struct op *op)
{
	struct cpu_range range = cpu_range_of(d, op, 3);
	int64_t n;
	void *parameters = use_all(d, op, 0, &n), *gradients = use_all(d, op, 1, &n);
	float *master = use(d, op, 2, n), factor = gradient_factor(d, op, 4, range.unscale);
	float rate = (float)settings_learning_rate(&d->plan->settings, range.step);
	if (is_kept(&range))
		keep_parameters(d, op, n, master, parameters);
	else
		sgd_update(cpu_element(d, op, 0), rate, n, parameters, gradients, factor, master);
	return STATUS_OK;
}

enum status (*const cpu_operation_table[OP_KIND_COUNT])(struct cpu_device *d, const struct op *op) = {
        [OP_INITIALIZE] = op_initialize,
        [OP_ZERO] = op_zero,
        [OP_COPY] = op_copy,
        [OP_ADD] = op_add,
        [OP_LOAD] = op_load,
        [OP_EMBEDDING_FORWARD] = op_embedding_forward,
        [OP_EMBEDDING_FINISH] = op_embedding_finish,
        [OP_EMBEDDING_BACKWARD] = op_embedding_backward,
        [OP_NORM_FORWARD] = op_norm_forward,
        [OP_NORM_BACKWARD] = op_norm_backward,
        [OP_LINEAR_FORWARD] = op_linear_forward,
        [OP_LINEAR_FINISH] = op_linear_finish,
        [OP_LINEAR_BACKWARD] = op_linear_backward,
        [OP_ATTENTION_FORWARD] = op_attention_forward,
        [OP_ATTENTION_BACKWARD] = op_attention_backward,
        [OP_BATCH_NORM_STATISTICS] = op_batch_norm_statistics,
        [OP_BATCH_NORM_MERGE] = op_batch_norm_merge,
        [OP_BATCH_NORM_RUNNING] = op_batch_norm_running,
        [OP_BATCH_NORM_FORWARD] = op_batch_norm_forward,
        [OP_BATCH_NORM_SUMS] = op_batch_norm_sums,
        [OP_BATCH_NORM_BACKWARD] = op_batch_norm_backward,
        [OP_INITIALIZE_BUFFERS] = op_initialize_buffers,
        [OP_SHOW_BUFFERS] = op_show_buffers,
        [OP_CLASSIFIER] = op_classifier,
        [OP_EVALUATE] = op_evaluate,
        [OP_CLASSIFIER_MAXIMA] = op_classifier_maxima,
        [OP_CLASSIFIER_SUMS] = op_classifier_sums,
        [OP_CLASSIFIER_GRADIENT] = op_classifier_gradient,
        [OP_EVALUATE_SUMS] = op_classifier_sums,
        [OP_EVALUATE_COUNT] = op_evaluate_count,
        [OP_ADAMW] = op_adamw,
        [OP_SGD] = op_sgd,
        [OP_SQUARES] = op_squares,
        [OP_OVERFLOW] = cpu_overflow,
        [OP_SCALER_BEGIN] = cpu_scaler_begin,
        [OP_SCALER_UPDATE] = cpu_scaler_update,
        [OP_ADVANCE] = op_advance,
        [OP_WEIGHTS] = op_weights,
};
