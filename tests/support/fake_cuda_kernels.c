/* The fake GPU's kernels: the arguments are kept until the stream comes to them, and then the CPU's kernel of the same
 * name has them. */
#include <math.h>

#include "real/cpu/operations.h"
#include "tests/support/fake_cuda_internal.h"

static double scale_of(const float *scaler)
{
	return scaler ? (double)scaler[SCALER_SCALE] : 1;
}

/* As real/cpu/update.c has it. */
static void update(bool adam, enum element type, const struct update *u, int64_t n, void *parameters,
                   const void *gradients, float *first, float *second, float *master)
{
	const struct settings s = {.learning_rate = u->learning_rate, .warmup = u->warmup, .decay = u->decay};
	int64_t step = *u->step - (u->scaler ? (int64_t)u->scaler[SCALER_SKIPPED] : 0);
	double unscale = 1 / scale_of(u->scaler), factor = 1;
	if (u->squares)
		factor = u->clip / (sqrt((double)*u->squares) * unscale + 1e-6);
	factor = factor < 1 ? factor * unscale : unscale;
	if (step < 1 || (u->overflow && *u->overflow > 0)) {
		if (u->keep_parameters)
			vector_convert(n, ELEMENT_FP32, master, type, parameters);
		if (u->keep_parameters && u->rounding && step > 1)
			vector_round(type, u->rounding, step - 1, n, master, parameters);
		return;
	}
	float rate = (float)settings_learning_rate(&s, step);
	struct adamw a = {rate, u->beta1, u->beta2, u->epsilon, u->weight_decay};
	if (adam)
		adamw_update(type, &a, step, n, parameters, gradients, (float)factor, first, second, master);
	else
		sgd_update(type, rate, n, parameters, gradients, (float)factor, master);
	if (u->rounding)
		vector_round(type, u->rounding, step, n, master, parameters);
}

/* What is pointed to in this process's memory is kept as well. */
static const struct update *keep_update(struct kernel_context *c, const struct update *u)
{
	struct update *kept = fake_keep(c, u, sizeof *u);
	if (u->rounding)
		kept->rounding = fake_keep(c, u->rounding, sizeof *u->rounding);
	return kept;
}

static void run_linear_forward(const struct arguments *g)
{
	linear_forward(g->a[0].at, g->a[1].at, g->a[2].at, g->a[3].at, g->a[4].at, g->a[5].at, g->a[6].at);
}

static int put_linear_forward(struct kernel_context *c, kernel_stream s, const struct linear_shape *shape, const void *x,
                              const void *weight, const void *bias, const void *residual, void *y, void *pre)
{
	return fake_push_working(c, s, run_linear_forward,
	                         &(struct arguments){{AT(fake_keep(c, shape, sizeof *shape)), AT(x), AT(weight),
	                                              AT(bias), AT(residual), AT(y), AT(pre)}});
}

static void run_linear_backward(const struct arguments *g)
{
	linear_backward(g->a[0].at, g->a[1].at, g->a[2].at, g->a[3].at, g->a[4].at, g->a[5].at, g->a[6].at,
	                g->a[7].whole != 0, g->a[8].at, g->a[9].whole != 0);
}

static int put_linear_backward(struct kernel_context *c, kernel_stream s, const struct linear_shape *shape, void *dy, const void *x,
                               const void *weight, const void *pre, void *dx, void *dweight, bool accumulate_weight,
                               void *dbias, bool accumulate_bias)
{
	return fake_push_working(
	        c, s, run_linear_backward,
	        &(struct arguments){{AT(fake_keep(c, shape, sizeof *shape)), AT(dy), AT(x), AT(weight), AT(pre), AT(dx),
	                             AT(dweight), WHOLE(accumulate_weight), AT(dbias), WHOLE(accumulate_bias)}});
}

/* A gradient that is to go through GELU does so when the layer that had it comes for it, as on the CPU: the bits are
 * the same then. That layer comes next on the stream. */
static void run_linear_backward_gelu(const struct arguments *g)
{
	static _Thread_local const void *waiting, *waiting_pre;
	struct linear_shape s = *(const struct linear_shape *)g->a[0].at;
	const void *pre = g->a[4].at;
	if (waiting && waiting == g->a[1].at) {
		s.gelu = true;
		pre = waiting_pre;
	}
	linear_backward(&s, g->a[1].at, g->a[2].at, g->a[3].at, pre, g->a[5].at, g->a[6].at, g->a[7].whole != 0,
	                g->a[8].at, g->a[9].whole != 0);
	waiting_pre = g->a[10].at;
	waiting = waiting_pre ? g->a[5].at : NULL;
}

static int put_linear_backward_gelu(struct kernel_context *c, kernel_stream s, const struct linear_shape *shape, void *dy,
                                    const void *x, const void *weight, const void *pre, const void *x_pre, void *dx,
                                    void *dweight, bool accumulate_weight, void *dbias, bool accumulate_bias)
{
	return fake_push_working(c, s, run_linear_backward_gelu,
	                         &(struct arguments){{AT(fake_keep(c, shape, sizeof *shape)), AT(dy), AT(x), AT(weight),
	                                              AT(pre), AT(dx), AT(dweight), WHOLE(accumulate_weight), AT(dbias),
	                                              WHOLE(accumulate_bias), AT(x_pre)}});
}

static void run_norm_forward(const struct arguments *g)
{
	norm_forward((enum element)g->a[0].whole, g->a[1].whole, g->a[2].whole, g->a[3].at, g->a[4].at, g->a[5].at,
	             g->a[6].at, g->a[7].at);
}

static int put_norm_forward(struct kernel_context *c, kernel_stream s, enum element type, int64_t rows, int64_t width,
                            const void *x, const void *weight, const void *bias, void *y, float *statistics)
{
	return fake_push(c, s, run_norm_forward,
	                 &(struct arguments){{WHOLE(type), WHOLE(rows), WHOLE(width), AT(x), AT(weight), AT(bias),
	                                      AT(y), AT(statistics)}});
}

static void run_norm_backward(const struct arguments *g)
{
	norm_backward((enum element)g->a[0].whole, g->a[1].whole, g->a[2].whole, g->a[3].at, g->a[4].at, g->a[5].at,
	              g->a[6].at, g->a[7].at, g->a[8].whole != 0, g->a[9].at, g->a[10].whole != 0, g->a[11].at,
	              g->a[12].whole != 0);
}

static int put_norm_backward(struct kernel_context *c, kernel_stream s, enum element type, int64_t rows, int64_t width,
                             const void *dy, const void *x, const float *statistics, const void *weight, void *dx,
                             bool accumulate_x, void *dweight, bool accumulate_weight, void *dbias,
                             bool accumulate_bias)
{
	return fake_push_working(
	        c, s, run_norm_backward,
	        &(struct arguments){{WHOLE(type), WHOLE(rows), WHOLE(width), AT(dy), AT(x), AT(statistics), AT(weight),
	                             AT(dx), WHOLE(accumulate_x), AT(dweight), WHOLE(accumulate_weight), AT(dbias),
	                             WHOLE(accumulate_bias)}});
}

static void run_batch_norm_statistics(const struct arguments *g)
{
	batch_norm_statistics(g->a[0].at, g->a[1].at, g->a[2].at);
}

static int put_batch_norm_statistics(struct kernel_context *c, kernel_stream s, const struct batch_norm_shape *shape, const void *x,
                                     float *part)
{
	return fake_push_working(c, s, run_batch_norm_statistics,
	                         &(struct arguments){{AT(fake_keep(c, shape, sizeof *shape)), AT(x), AT(part)}});
}

static void run_batch_norm_merge(const struct arguments *g)
{
	batch_norm_merge(g->a[0].whole, g->a[1].whole, g->a[2].at, g->a[3].at, g->a[4].at);
}

static int put_batch_norm_merge(struct kernel_context *c, kernel_stream s, int64_t parts, int64_t width, const float *part,
                                float *running, float *statistics)
{
	return fake_push(c, s, run_batch_norm_merge,
	                 &(struct arguments){{WHOLE(parts), WHOLE(width), AT(part), AT(running), AT(statistics)}});
}

static void run_batch_norm_running(const struct arguments *g)
{
	batch_norm_running(g->a[0].whole, g->a[1].at, g->a[2].at);
}

static int put_batch_norm_running(struct kernel_context *c, kernel_stream s, int64_t width, const float *running, float *statistics)
{
	return fake_push(c, s, run_batch_norm_running,
	                 &(struct arguments){{WHOLE(width), AT(running), AT(statistics)}});
}

static void run_batch_norm_forward(const struct arguments *g)
{
	batch_norm_forward(g->a[0].at, g->a[1].at, g->a[2].at, g->a[3].at, g->a[4].at, g->a[5].at);
}

static int put_batch_norm_forward(struct kernel_context *c, kernel_stream s, const struct batch_norm_shape *shape, const void *x,
                                  const float *statistics, const void *weight, const void *bias, void *y)
{
	return fake_push(c, s, run_batch_norm_forward,
	                 &(struct arguments){{AT(fake_keep(c, shape, sizeof *shape)), AT(x), AT(statistics), AT(weight),
	                                      AT(bias), AT(y)}});
}

static void run_batch_norm_sums(const struct arguments *g)
{
	batch_norm_sums(g->a[0].at, g->a[1].at, g->a[2].at, g->a[3].at, g->a[4].at, g->a[5].at, g->a[6].at, g->a[7].at,
	                g->a[8].whole != 0, g->a[9].at, g->a[10].whole != 0);
}

static int put_batch_norm_sums(struct kernel_context *c, kernel_stream s, const struct batch_norm_shape *shape, void *dy,
                               const void *x, const float *statistics, const void *weight, const void *bias,
                               float *sums, void *dweight, bool accumulate_weight, void *dbias, bool accumulate_bias)
{
	return fake_push_working(c, s, run_batch_norm_sums,
	                         &(struct arguments){{AT(fake_keep(c, shape, sizeof *shape)), AT(dy), AT(x),
	                                              AT(statistics), AT(weight), AT(bias), AT(sums), AT(dweight),
	                                              WHOLE(accumulate_weight), AT(dbias), WHOLE(accumulate_bias)}});
}

static void run_batch_norm_backward(const struct arguments *g)
{
	batch_norm_backward(g->a[0].at, g->a[1].at, g->a[2].at, g->a[3].at, g->a[4].at, g->a[5].at, g->a[6].at);
}

static int put_batch_norm_backward(struct kernel_context *c, kernel_stream s, const struct batch_norm_shape *shape, const void *du,
                                   const void *x, const float *statistics, const float *sums, const void *weight,
                                   void *dx)
{
	return fake_push(c, s, run_batch_norm_backward,
	                 &(struct arguments){{AT(fake_keep(c, shape, sizeof *shape)), AT(du), AT(x), AT(statistics),
	                                      AT(sums), AT(weight), AT(dx)}});
}

static void run_attention_forward(const struct arguments *g)
{
	attention_forward(g->a[0].at, g->a[1].at, g->a[2].at, g->a[3].at);
}

static int put_attention_forward(struct kernel_context *c, kernel_stream s, const struct attention_shape *shape, const void *qkv,
                                 void *y, float *log_sum_exp)
{
	return fake_push(
	        c, s, run_attention_forward,
	        &(struct arguments){{AT(fake_keep(c, shape, sizeof *shape)), AT(qkv), AT(y), AT(log_sum_exp)}});
}

static void run_attention_backward(const struct arguments *g)
{
	attention_backward(g->a[0].at, g->a[1].at, g->a[2].at, g->a[3].at, g->a[4].at, g->a[5].at);
}

static int put_attention_backward(struct kernel_context *c, kernel_stream s, const struct attention_shape *shape, const void *dy,
                                  const void *qkv, const void *y, const float *log_sum_exp, void *dqkv)
{
	return fake_push_working(c, s, run_attention_backward,
	                         &(struct arguments){{AT(fake_keep(c, shape, sizeof *shape)), AT(dy), AT(qkv), AT(y),
	                                              AT(log_sum_exp), AT(dqkv)}});
}

static void run_embedding_forward(const struct arguments *g)
{
	embedding_forward((enum element)g->a[0].whole, g->a[1].whole, g->a[2].whole, g->a[3].whole, g->a[4].at,
	                  g->a[5].at, g->a[6].at, g->a[7].at);
}

static int put_embedding_forward(struct kernel_context *c, kernel_stream s, enum element type, int64_t samples, int64_t tokens,
                                 int64_t width, const int32_t *ids, const void *token_table, const void *position_table,
                                 void *y)
{
	return fake_push(c, s, run_embedding_forward,
	                 &(struct arguments){{WHOLE(type), WHOLE(samples), WHOLE(tokens), WHOLE(width), AT(ids),
	                                      AT(token_table), AT(position_table), AT(y)}});
}

static void run_embedding_backward(const struct arguments *g)
{
	embedding_backward((enum element)g->a[0].whole, g->a[1].whole, g->a[2].whole, g->a[3].whole, g->a[4].whole,
	                   g->a[5].whole, g->a[6].at, g->a[7].at, g->a[8].at, g->a[9].whole != 0, g->a[10].at,
	                   g->a[11].whole != 0);
}

static int put_embedding_backward(struct kernel_context *c, kernel_stream s, enum element type, int64_t samples, int64_t tokens,
                                  int64_t width, int64_t vocabulary, int64_t context, const int32_t *ids,
                                  const void *dy, void *dtoken_table, bool accumulate_token, void *dposition_table,
                                  bool accumulate_position)
{
	return fake_push_working(
	        c, s, run_embedding_backward,
	        &(struct arguments){{WHOLE(type), WHOLE(samples), WHOLE(tokens), WHOLE(width), WHOLE(vocabulary),
	                             WHOLE(context), AT(ids), AT(dy), AT(dtoken_table), WHOLE(accumulate_token),
	                             AT(dposition_table), WHOLE(accumulate_position)}});
}

static void run_classifier(const struct arguments *g)
{
	classifier((enum element)g->a[0].whole, g->a[1].whole, g->a[2].whole, g->a[9].whole, g->a[3].at, g->a[4].at,
	           g->a[5].real, g->a[5].real * scale_of(g->a[6].at), g->a[7].at, g->a[8].whole != 0);
}

static int put_classifier(struct kernel_context *c, kernel_stream s, enum element type, int64_t rows, int64_t classes,
                          int64_t stride, void *logits, const int32_t *targets, double scale, const float *scaler,
                          float *loss, bool accumulate)
{
	return fake_push_working(
	        c, s, run_classifier,
	        &(struct arguments){{WHOLE(type), WHOLE(rows), WHOLE(classes), AT(logits), AT(targets), REAL(scale),
	                             AT(scaler), AT(loss), WHOLE(accumulate), WHOLE(stride)}});
}

static void run_classifier_evaluate(const struct arguments *g)
{
	double loss = 0;
	int64_t correct = 0;
	classifier_evaluate((enum element)g->a[0].whole, g->a[1].whole, g->a[2].whole, g->a[7].whole, g->a[3].at,
	                    g->a[4].at, &loss, &correct);
	*(double *)g->a[5].at += loss;
	*(int64_t *)g->a[6].at += correct;
}

static int put_classifier_evaluate(struct kernel_context *c, kernel_stream s, enum element type, int64_t rows, int64_t classes,
                                   int64_t stride, const void *logits, const int32_t *targets, double *loss,
                                   int64_t *correct)
{
	return fake_push_working(c, s, run_classifier_evaluate,
	                         &(struct arguments){{WHOLE(type), WHOLE(rows), WHOLE(classes), AT(logits), AT(targets),
	                                              AT(loss), AT(correct), WHOLE(stride)}});
}

static void run_adamw_update(const struct arguments *g)
{
	update(true, (enum element)g->a[0].whole, g->a[1].at, g->a[2].whole, g->a[3].at, g->a[4].at, g->a[5].at,
	       g->a[6].at, g->a[7].at);
}

static int put_adamw_update(struct kernel_context *c, kernel_stream s, enum element type, const struct update *u, int64_t n,
                            void *parameters, const void *gradients, float *first_moment, float *second_moment,
                            float *master)
{
	return fake_push(c, s, run_adamw_update,
	                 &(struct arguments){{WHOLE(type), AT(keep_update(c, u)), WHOLE(n), AT(parameters),
	                                      AT(gradients), AT(first_moment), AT(second_moment), AT(master)}});
}

static void run_sgd_update(const struct arguments *g)
{
	update(false, (enum element)g->a[0].whole, g->a[1].at, g->a[2].whole, g->a[3].at, g->a[4].at, NULL, NULL,
	       g->a[5].at);
}

static int put_sgd_update(struct kernel_context *c, kernel_stream s, enum element type, const struct update *u, int64_t n,
                          void *parameters, const void *gradients, float *master)
{
	return fake_push(c, s, run_sgd_update,
	                 &(struct arguments){{WHOLE(type), AT(keep_update(c, u)), WHOLE(n), AT(parameters),
	                                      AT(gradients), AT(master)}});
}

static void run_vector_add(const struct arguments *g)
{
	vector_add((enum element)g->a[0].whole, g->a[1].whole, g->a[2].at, g->a[3].at);
}

static int put_vector_add(struct kernel_context *c, kernel_stream s, enum element type, int64_t n, const void *x, void *y)
{
	return fake_push(c, s, run_vector_add, &(struct arguments){{WHOLE(type), WHOLE(n), AT(x), AT(y)}});
}

static void run_vector_convert(const struct arguments *g)
{
	vector_convert(g->a[0].whole, (enum element)g->a[1].whole, g->a[2].at, (enum element)g->a[3].whole, g->a[4].at);
}

static int put_vector_convert(struct kernel_context *c, kernel_stream s, int64_t n, enum element from, const void *x,
                              enum element to, void *y)
{
	return fake_push(c, s, run_vector_convert,
	                 &(struct arguments){{WHOLE(n), WHOLE(from), AT(x), WHOLE(to), AT(y)}});
}

static void run_vector_squares(const struct arguments *g)
{
	float *sum = g->a[3].at;
	double squares = vector_sum_of_squares((enum element)g->a[0].whole, g->a[1].whole, g->a[2].at);
	*sum = (float)(g->a[4].whole != 0 ? *sum + squares : squares);
}

static int put_vector_squares(struct kernel_context *c, kernel_stream s, enum element type, int64_t n, const void *x, float *sum,
                              bool accumulate)
{
	return fake_push_working(c, s, run_vector_squares,
	                         &(struct arguments){{WHOLE(type), WHOLE(n), AT(x), AT(sum), WHOLE(accumulate)}});
}

static void run_vector_overflow(const struct arguments *g)
{
	float *overflow = g->a[3].at;
	bool before = g->a[4].whole != 0 && *overflow > 0;
	*overflow = before || !vector_is_finite((enum element)g->a[0].whole, g->a[1].whole, g->a[2].at);
}

static int put_vector_overflow(struct kernel_context *c, kernel_stream s, enum element type, int64_t n, const void *x,
                               float *overflow, bool accumulate)
{
	return fake_push(c, s, run_vector_overflow,
	                 &(struct arguments){{WHOLE(type), WHOLE(n), AT(x), AT(overflow), WHOLE(accumulate)}});
}

static void run_advance(const struct arguments *g)
{
	++*(int64_t *)g->a[0].at;
}

static int put_advance(struct kernel_context *c, kernel_stream s, int64_t *step)
{
	return fake_push(c, s, run_advance, &(struct arguments){{AT(step)}});
}

static void run_scaler_update(const struct arguments *g)
{
	const struct scale_rule *rule = g->a[0].at;
	const float *overflow = g->a[1].at;
	if (!loss_scale_update(rule->pytorch ? LOSS_SCALER_PYTORCH : LOSS_SCALER_DEEPSPEED, rule->window, *overflow > 0,
	                       g->a[2].at))
		*(int32_t *)g->a[3].at = 1;
}

static int put_scaler_update(struct kernel_context *c, kernel_stream s, const struct scale_rule *rule,
                             const float *overflow, float *scaler, int32_t *gave_up)
{
	return fake_push(
	        c, s, run_scaler_update,
	        &(struct arguments){{AT(fake_keep(c, rule, sizeof *rule)), AT(overflow), AT(scaler), AT(gave_up)}});
}

static void run_linear_finish(const struct arguments *g)
{
	linear_finish((enum element)g->a[0].whole, g->a[1].whole, g->a[2].whole, g->a[3].at, g->a[4].at, g->a[5].at,
	              g->a[6].at);
}

static int put_linear_finish(struct kernel_context *c, kernel_stream s, enum element type, int64_t rows, int64_t width,
                             const void *bias, const void *residual, void *sum, void *y)
{
	return fake_push(
	        c, s, run_linear_finish,
	        &(struct arguments){{WHOLE(type), WHOLE(rows), WHOLE(width), AT(bias), AT(residual), AT(sum), AT(y)}});
}

static void run_embedding_sliced_forward(const struct arguments *g)
{
	embedding_sliced_forward((enum element)g->a[0].whole, g->a[1].whole, g->a[2].whole, g->a[3].whole, g->a[4].at,
	                         g->a[5].at, g->a[6].at, g->a[7].at);
}

static int put_embedding_sliced_forward(struct kernel_context *c, kernel_stream s, enum element type, int64_t samples,
                                        int64_t tokens, int64_t width, const struct class_slice *slice,
                                        const int32_t *ids, const void *token_table, void *y)
{
	return fake_push(
	        c, s, run_embedding_sliced_forward,
	        &(struct arguments){{WHOLE(type), WHOLE(samples), WHOLE(tokens), WHOLE(width),
	                             AT(fake_keep(c, slice, sizeof *slice)), AT(ids), AT(token_table), AT(y)}});
}

static void run_embedding_finish(const struct arguments *g)
{
	embedding_finish((enum element)g->a[0].whole, g->a[1].whole, g->a[2].whole, g->a[3].whole, g->a[4].at,
	                 g->a[5].at);
}

static int put_embedding_finish(struct kernel_context *c, kernel_stream s, enum element type, int64_t samples, int64_t tokens,
                                int64_t width, const void *position_table, void *y)
{
	return fake_push(c, s, run_embedding_finish,
	                 &(struct arguments){{WHOLE(type), WHOLE(samples), WHOLE(tokens), WHOLE(width),
	                                      AT(position_table), AT(y)}});
}

static void run_embedding_sliced_backward(const struct arguments *g)
{
	embedding_sliced_backward((enum element)g->a[0].whole, g->a[1].whole, g->a[2].whole, g->a[3].whole, g->a[4].at,
	                          g->a[5].whole, g->a[6].at, g->a[7].at, g->a[8].at, g->a[9].whole != 0, g->a[10].at,
	                          g->a[11].whole != 0);
}

static int put_embedding_sliced_backward(struct kernel_context *c, kernel_stream s, enum element type, int64_t samples,
                                         int64_t tokens, int64_t width, const struct class_slice *slice,
                                         int64_t context, const int32_t *ids, const void *dy, void *dtoken_table,
                                         bool accumulate_token, void *dposition_table, bool accumulate_position)
{
	return fake_push_working(c, s, run_embedding_sliced_backward,
	                         &(struct arguments){{WHOLE(type), WHOLE(samples), WHOLE(tokens), WHOLE(width),
	                                              AT(fake_keep(c, slice, sizeof *slice)), WHOLE(context), AT(ids),
	                                              AT(dy), AT(dtoken_table), WHOLE(accumulate_token),
	                                              AT(dposition_table), WHOLE(accumulate_position)}});
}

static void run_classifier_maxima(const struct arguments *g)
{
	classifier_maxima((enum element)g->a[0].whole, g->a[1].whole, g->a[2].at, g->a[3].at, g->a[4].at);
}

static int put_classifier_maxima(struct kernel_context *c, kernel_stream s, enum element type, int64_t rows,
                                 const struct class_slice *slice, const void *logits, float *maxima)
{
	return fake_push(c, s, run_classifier_maxima,
	                 &(struct arguments){{WHOLE(type), WHOLE(rows), AT(fake_keep(c, slice, sizeof *slice)),
	                                      AT(logits), AT(maxima)}});
}

static void run_classifier_sums(const struct arguments *g)
{
	classifier_sums((enum element)g->a[0].whole, g->a[1].whole, g->a[2].at, g->a[3].at, g->a[4].at, g->a[5].at,
	                g->a[6].at);
}

static int put_classifier_sums(struct kernel_context *c, kernel_stream s, enum element type, int64_t rows,
                               const struct class_slice *slice, const void *logits, const int32_t *targets,
                               const float *maxima, float *sums)
{
	return fake_push(c, s, run_classifier_sums,
	                 &(struct arguments){{WHOLE(type), WHOLE(rows), AT(fake_keep(c, slice, sizeof *slice)),
	                                      AT(logits), AT(targets), AT(maxima), AT(sums)}});
}

static void run_classifier_gradient(const struct arguments *g)
{
	classifier_gradient((enum element)g->a[0].whole, g->a[1].whole, g->a[2].at, g->a[3].at, g->a[4].at, g->a[5].at,
	                    g->a[6].at, g->a[7].real, g->a[7].real * scale_of(g->a[8].at), g->a[9].at,
	                    g->a[10].whole != 0);
}

static int put_classifier_gradient(struct kernel_context *c, kernel_stream s, enum element type, int64_t rows,
                                   const struct class_slice *slice, void *logits, const int32_t *targets,
                                   const float *maxima, const float *sums, double scale, const float *scaler,
                                   float *loss, bool accumulate)
{
	return fake_push_working(c, s, run_classifier_gradient,
	                         &(struct arguments){{WHOLE(type), WHOLE(rows), AT(fake_keep(c, slice, sizeof *slice)),
	                                              AT(logits), AT(targets), AT(maxima), AT(sums), REAL(scale),
	                                              AT(scaler), AT(loss), WHOLE(accumulate)}});
}

static void run_evaluate_sums(const struct arguments *g)
{
	evaluate_sums((enum element)g->a[0].whole, g->a[1].whole, g->a[2].at, g->a[3].at, g->a[4].at, g->a[5].at,
	              g->a[6].at);
}

static int put_evaluate_sums(struct kernel_context *c, kernel_stream s, enum element type, int64_t rows,
                             const struct class_slice *slice, const void *logits, const int32_t *targets,
                             const float *maxima, float *sums)
{
	return fake_push(c, s, run_evaluate_sums,
	                 &(struct arguments){{WHOLE(type), WHOLE(rows), AT(fake_keep(c, slice, sizeof *slice)),
	                                      AT(logits), AT(targets), AT(maxima), AT(sums)}});
}

static void run_evaluate_count(const struct arguments *g)
{
	double loss = 0;
	int64_t correct = 0;
	evaluate_count(g->a[0].whole, g->a[1].at, g->a[2].at, &loss, &correct);
	*(double *)g->a[3].at += loss;
	*(int64_t *)g->a[4].at += correct;
}

static int put_evaluate_count(struct kernel_context *c, kernel_stream s, int64_t rows, const float *maxima, const float *sums,
                              double *loss, int64_t *correct)
{
	return fake_push_working(c, s, run_evaluate_count,
	                         &(struct arguments){{WHOLE(rows), AT(maxima), AT(sums), AT(loss), AT(correct)}});
}

void fake_fill_kernels(struct cuda_api *api)
{
	api->linear_forward = put_linear_forward;
	api->linear_backward = put_linear_backward;
	api->linear_backward_gelu = put_linear_backward_gelu;
	api->norm_forward = put_norm_forward;
	api->norm_backward = put_norm_backward;
	api->batch_norm_statistics = put_batch_norm_statistics;
	api->batch_norm_merge = put_batch_norm_merge;
	api->batch_norm_running = put_batch_norm_running;
	api->batch_norm_forward = put_batch_norm_forward;
	api->batch_norm_sums = put_batch_norm_sums;
	api->batch_norm_backward = put_batch_norm_backward;
	api->attention_forward = put_attention_forward;
	api->attention_backward = put_attention_backward;
	api->embedding_forward = put_embedding_forward;
	api->embedding_backward = put_embedding_backward;
	api->classifier = put_classifier;
	api->classifier_evaluate = put_classifier_evaluate;
	api->adamw_update = put_adamw_update;
	api->sgd_update = put_sgd_update;
	api->vector_add = put_vector_add;
	api->vector_convert = put_vector_convert;
	api->vector_squares = put_vector_squares;
	api->vector_overflow = put_vector_overflow;
	api->advance = put_advance;
	api->scaler_update = put_scaler_update;
	api->linear_finish = put_linear_finish;
	api->embedding_sliced_forward = put_embedding_sliced_forward;
	api->embedding_finish = put_embedding_finish;
	api->embedding_sliced_backward = put_embedding_sliced_backward;
	api->classifier_maxima = put_classifier_maxima;
	api->classifier_sums = put_classifier_sums;
	api->classifier_gradient = put_classifier_gradient;
	api->evaluate_sums = put_evaluate_sums;
	api->evaluate_count = put_evaluate_count;
}
