/* The GPU's kernels for norms, the classifier and embeddings. */
#include "tests/cuda/cuda_check.h"

static const int64_t widths[] = {1, 7, 63, 129, 768, 1600, 2056, 12304};
static const int64_t row_counts[] = {1, 2, 37};

/* ---- LayerNorm ---- */

struct norm_case {
	enum element type;
	int64_t rows, width;
	bool accumulate, bias;
};

CASE_RUN(norm_forward_run, struct norm_case, n)
{
	return kernels->norm_forward(c, NULL, n->type, n->rows, n->width, a[0].now, a[1].now, n->bias ? a[2].now : NULL,
	                             a[3].now, a[4].now);
}

CASE_RUN(norm_backward_run, struct norm_case, n)
{
	bool add = n->accumulate;
	return kernels->norm_backward(c, NULL, n->type, n->rows, n->width, a[0].now, a[1].now, a[2].now, a[3].now,
	                              a[4].now, add, a[5].now, add, n->bias ? a[6].now : NULL, add);
}

static void norm_check(enum element type, int64_t rows, int64_t width, bool accumulate, bool bias)
{
	struct norm_case n = {type, rows, width, accumulate, bias};
	struct array forward[] = {only_read(type, rows * width, 3), only_read(type, width, 1),
	                          only_read(type, width, 1), changed("norm y", type, rows * width, 1),
	                          changed("norm statistics", ELEMENT_FP32, 2 * rows, 1)};
	cuda_check(norm_forward_run, &n, forward, COUNT(forward), 4e-6);
	struct array backward[] = {only_read(type, rows * width, 1),          only_read(type, rows * width, 3),
	                           only_read(ELEMENT_FP32, 2 * rows, 1),      only_read(type, width, 1),
	                           changed("norm dx", type, rows * width, 1), changed("norm dweight", type, width, 1),
	                           changed("norm dbias", type, width, 1)};
	cuda_check(norm_backward_run, &n, backward, COUNT(backward), 4e-6);
}

START_LOOP_TEST(norms, 0, 2)
{
	EACH_ELEMENT(type)
	for (int i = 0; i < CASES(widths); i++)
		for (int j = 0; j < COUNT(row_counts); j++) {
			begin(_i);
			norm_check(type, row_counts[j], widths[i], (i + j) % 2, (i + 2 * j) % 3 > 0);
		}
}

/* ---- classifier ---- */

struct classifier_case {
	enum element type;
	int64_t rows;
	struct class_slice slice;
	const int32_t *targets;
	bool accumulate;
};

static const double SCALE = 0.125, LOSS_SCALE = 64;

/* Scalars that kernels read or add to. */
struct numbers {
	float scaler[4];
	double loss;
	int64_t correct;
};

static struct numbers *numbers_new(void)
{
	struct numbers *n = keep(target_memory(sizeof *n), 0);
	*n = (struct numbers){.scaler = {(float)LOSS_SCALE}};
	return n;
}

CASE_RUN(classifier_run, struct classifier_case, k)
{
	return kernels->classifier(c, NULL, k->type, k->rows, k->slice.count, k->slice.stride, a[0].now, k->targets,
	                           SCALE, numbers_new()->scaler, a[1].now, k->accumulate);
}

/* Twice: loss and how many are right come on top of what was there. */
CASE_RUN(evaluate_run, struct classifier_case, k)
{
	struct numbers *n = numbers_new();
	float *out = a[1].now;
	int error = 0;
	for (int i = 0; i < 2; i++)
		error |= kernels->classifier_evaluate(c, NULL, k->type, k->rows, k->slice.count, k->slice.stride,
		                                      a[0].now, k->targets, &n->loss, &n->correct);
	error = c ? target_wait(c, error) : error;
	out[0] = (float)n->loss;
	out[1] = (float)n->correct;
	return error;
}

CASE_RUN(slice_run, struct classifier_case, k)
{
	const struct class_slice *s = &k->slice;
	struct numbers *n = numbers_new();
	float *evaluated = a[5].now;
	int error = kernels->classifier_maxima(c, NULL, k->type, k->rows, s, a[0].now, a[1].now);
	error |= kernels->classifier_sums(c, NULL, k->type, k->rows, s, a[0].now, k->targets, a[1].now, a[2].now);
	error |= kernels->evaluate_sums(c, NULL, k->type, k->rows, s, a[0].now, k->targets, a[1].now, a[3].now);
	error |= kernels->evaluate_count(c, NULL, k->rows, a[1].now, a[3].now, &n->loss, &n->correct);
	error |= kernels->classifier_gradient(c, NULL, k->type, k->rows, s, a[0].now, k->targets, a[1].now, a[2].now,
	                                      SCALE, n->scaler, a[4].now, k->accumulate);
	error = c ? target_wait(c, error) : error;
	evaluated[0] = (float)n->loss;
	evaluated[1] = (float)n->correct;
	return error;
}

static void classifier_check(enum element type, int64_t rows, int64_t classes, bool accumulate)
{
	int32_t *targets = keep(target_memory((size_t)rows * sizeof *targets), 0);
	for (int64_t i = 0; i < rows; i++)
		targets[i] = (int32_t)((double)classes * fabs((double)uniform()));
	struct classifier_case k = {type, rows, {0, classes, classes}, targets, accumulate};
	struct array whole[] = {changed("logits", type, rows * classes, 5), changed("loss", ELEMENT_FP32, 1, 1)};
	cuda_check(classifier_run, &k, whole, COUNT(whole), 4e-6);
	/* every third row's first largest logit is at the target, and there is another one later */
	struct array evaluated[] = {only_read(type, rows * classes, 5), changed("evaluation", ELEMENT_FP32, 2, 1)};
	for (int64_t row = 0; row < rows; row += 3) {
		void *logits = (void *)(uintptr_t)evaluated[0].before;
		set(type, logits, row * classes + targets[row], 6);
		set(type, logits, row * classes + classes - 1, 6);
	}
	cuda_check(evaluate_run, &k, evaluated, COUNT(evaluated), 4e-6);
	/* a slice that lacks the first classes, with padding */
	int64_t first = classes / 3, stride = classes - first + 3;
	k.slice = (struct class_slice){first, classes - first, stride};
	struct array slice[] = {changed("slice's logits", type, rows * stride, 5),
	                        changed("maxima", ELEMENT_FP32, rows, 1),
	                        changed("sums", ELEMENT_FP32, 2 * rows, 1),
	                        changed("evaluation's sums", ELEMENT_FP32, 3 * rows, 1),
	                        changed("loss of sums", ELEMENT_FP32, 1, 1),
	                        changed("count of sums", ELEMENT_FP32, 2, 1)};
	cuda_check(slice_run, &k, slice, COUNT(slice), 4e-6);
}

START_LOOP_TEST(classifiers, 0, 2)
{
	static const int64_t classes[] = {1, 2, 10, 63, 513, 9001};
	EACH_ELEMENT(type)
	for (int i = 0; i < CASES(classes); i++) {
		begin(_i);
		classifier_check(type, 1 + 4 * (i % 2), classes[i], i % 2);
	}
	begin(_i);
	classifier_check(ELEMENT_BF16, 1030, 5, true); /* more rows than the block that adds up has threads */
}

/* ---- embedding ---- */

struct embedding_case {
	enum element type;
	int64_t samples, tokens, width, vocabulary, context, first;
	struct class_slice slice;
	const int32_t *ids;
	bool accumulate;
};

CASE_RUN(embedding_run, struct embedding_case, k)
{
	bool add = k->accumulate;
	int error = kernels->embedding_forward(c, NULL, k->type, k->samples, k->tokens, k->width, k->ids, a[0].now,
	                                       a[1].now, a[2].now);
	error |= kernels->embedding_backward(c, NULL, k->type, k->samples, k->tokens, k->width, k->vocabulary,
	                                     k->context, k->first, k->ids, a[3].now, a[4].now, add, a[5].now, add);
	return error;
}

CASE_RUN(embedding_slice_run, struct embedding_case, k)
{
	bool add = k->accumulate;
	int error = kernels->embedding_sliced_forward(c, NULL, k->type, k->samples, k->tokens, k->width, &k->slice,
	                                              k->ids, a[0].now, a[2].now);
	error |= kernels->embedding_finish(c, NULL, k->type, k->samples, k->tokens, k->width, a[1].now, a[2].now);
	error |= kernels->embedding_sliced_backward(c, NULL, k->type, k->samples, k->tokens, k->width, &k->slice,
	                                            k->context, k->first, k->ids, a[3].now, a[4].now, add, a[5].now,
	                                            add);
	return error;
}

/* Few ids have most of the tokens, as words have. */
static void embedding_check(enum element type, int64_t samples, int64_t tokens, int64_t width, int64_t vocabulary,
                            bool accumulate)
{
	int64_t n = samples * tokens, context = tokens + 3;
	int32_t *ids = keep(target_memory((size_t)n * sizeof *ids), 0);
	for (int64_t i = 0; i < n; i++)
		ids[i] = (int32_t)((double)vocabulary * pow(fabs((double)uniform()), 6));
	struct class_slice slice = {vocabulary / 4, vocabulary / 2, vocabulary / 2 + 2};
	struct embedding_case k = {type,    samples,    tokens, width, vocabulary,
	                           context, tokens % 4, slice,  ids,   accumulate};
	/* the CPU rounds a table's row once for every 1024 tokens, the GPU once */
	double slack = n > 1024 && type != ELEMENT_FP32 ? 4 * unit(type) : 4e-6;
	struct array whole[] = {
	        only_read(type, vocabulary * width, 1),         only_read(type, context * width, 1),
	        changed("embedding y", type, n * width, 1),     only_read(type, n * width, 1),
	        changed("dtoken", type, vocabulary * width, 1), changed("dposition", type, context * width, 1)};
	cuda_check(embedding_run, &k, whole, COUNT(whole), slack);
	struct array part[] = {only_read(type, slice.stride * width, 1),
	                       only_read(type, context * width, 1),
	                       changed("slice's y", type, n * width, 1),
	                       only_read(type, n * width, 1),
	                       changed("slice's dtoken", type, slice.stride * width, 1),
	                       changed("dposition", type, context * width, 1)};
	cuda_check(embedding_slice_run, &k, part, COUNT(part), slack);
}

START_LOOP_TEST(embeddings, 0, 2)
{
	EACH_ELEMENT(type)
	{
		static const int64_t shapes[][4] = {
		        {1, 1, 1, 5}, {2, 33, 7, 40}, {3, 32, 64, 11}, {1, 100, 3, 70000}, {2, 40, 1040, 30}};
		for (int i = 0; i < CASES(shapes); i++) {
			begin(_i);
			embedding_check(type, shapes[i][0], shapes[i][1], shapes[i][2], shapes[i][3], i % 2);
		}
	}
	/* several blocks of the sort, and runs over many chunks */
	begin(_i);
	embedding_check(ELEMENT_FP32, 3, 1500, 4, 300, true);
}

CUDA_SUITE("cuda_kernels", 60)
