/* The kernels of kernels/kernels.h in their simplest form; batch normalization's and slices' have files of their own.
 */
#include "tests/plain/plain.cuh"
#include "tests/plain/plain.h"

namespace
{

/* ---- LayerNorm ---- */

template <typename T> struct norm_row {
	int64_t width;
	const T *x, *weight, *bias;
	T *y;
	float *statistics;
	__device__ void operator()(int64_t row) const
	{
		const T *in = x + row * width;
		double sum = 0, squares = 0;
		for (int64_t i = 0; i < width; i++)
			sum += static_cast<double>(widen(in[i]));
		float mean = static_cast<float>(sum / static_cast<double>(width));
		for (int64_t i = 0; i < width; i++)
			squares += static_cast<double>((widen(in[i]) - mean) * (widen(in[i]) - mean));
		float inverse = static_cast<float>(1 / sqrt(squares / static_cast<double>(width) + 1e-5));
		for (int64_t i = 0; i < width; i++)
			put(y[row * width + i], (widen(in[i]) - mean) * inverse * widen(weight[i]) + widen(bias[i]));
		if (statistics) {
			statistics[2 * row] = mean;
			statistics[2 * row + 1] = inverse;
		}
	}
};

int norm_forward_plain(struct kernel_context *, kernel_stream s, enum element type, int64_t rows, int64_t width,
                       const void *x, const void *weight, const void *bias, void *y, float *statistics)
{
	return RUN(type, rows, norm_row, width, IN(x), IN(weight), IN(bias), OUT(y), statistics);
}

template <typename T> struct norm_input {
	int64_t width;
	const T *dy, *x;
	const float *statistics;
	const T *weight;
	T *dx;
	bool accumulate;
	__device__ void operator()(int64_t row) const
	{
		float mean = statistics[2 * row], inverse = statistics[2 * row + 1];
		double sum = 0, product = 0, n = static_cast<double>(width);
		for (int64_t i = 0; i < width; i++) {
			float g = widen(dy[row * width + i]) * widen(weight[i]);
			sum += static_cast<double>(g);
			product += static_cast<double>(g * ((widen(x[row * width + i]) - mean) * inverse));
		}
		float mean_g = static_cast<float>(sum / n), mean_product = static_cast<float>(product / n);
		for (int64_t i = 0; i < width; i++) {
			float g = widen(dy[row * width + i]) * widen(weight[i]);
			float normal = (widen(x[row * width + i]) - mean) * inverse;
			put(dx[row * width + i], (g - mean_g - normal * mean_product) * inverse, accumulate);
		}
	}
};

template <typename T> struct norm_weight {
	int64_t rows, width;
	const T *dy, *x;
	const float *statistics;
	T *dweight, *dbias;
	bool accumulate_weight, accumulate_bias;
	__device__ void operator()(int64_t c) const
	{
		double sum = 0, product = 0;
		for (int64_t row = 0; row < rows; row++) {
			float d = widen(dy[row * width + c]);
			float normal = (widen(x[row * width + c]) - statistics[2 * row]) * statistics[2 * row + 1];
			sum += static_cast<double>(d);
			product += static_cast<double>(d * normal);
		}
		put(dweight[c], static_cast<float>(product), accumulate_weight);
		put(dbias[c], static_cast<float>(sum), accumulate_bias);
	}
};

int norm_backward_plain(struct kernel_context *, kernel_stream s, enum element type, int64_t rows, int64_t width,
                        const void *dy, const void *x, const float *statistics, const void *weight, void *dx,
                        bool accumulate_x, void *dweight, bool accumulate_weight, void *dbias, bool accumulate_bias)
{
	int error = RUN(type, rows, norm_input, width, IN(dy), IN(x), statistics, IN(weight), OUT(dx), accumulate_x);
	return error ? error
	             : RUN(type, width, norm_weight, rows, width, IN(dy), IN(x), statistics, OUT(dweight), OUT(dbias),
	                   accumulate_weight, accumulate_bias);
}

/* ---- embedding ---- */

template <typename T> struct embedding_element {
	int64_t tokens, width;
	const int32_t *ids;
	const T *token, *position;
	T *y;
	__device__ void operator()(int64_t i) const
	{
		int64_t row = i / width, c = i % width;
		put(y[i], widen(token[ids[row] * width + c]) + widen(position[row % tokens * width + c]));
	}
};

int embedding_forward_plain(struct kernel_context *, kernel_stream s, enum element type, int64_t samples,
                            int64_t tokens, int64_t width, const int32_t *ids, const void *token_table,
                            const void *position_table, void *y)
{
	return RUN(type, samples * tokens * width, embedding_element, tokens, width, ids, IN(token_table),
	           IN(position_table), OUT(y));
}

int embedding_backward_plain(struct kernel_context *, kernel_stream s, enum element type, int64_t samples,
                             int64_t tokens, int64_t width, int64_t vocabulary, int64_t context, const int32_t *ids,
                             const void *dy, void *dtoken_table, bool accumulate_token, void *dposition_table,
                             bool accumulate_position)
{
	int error = RUN(type, vocabulary * width, token_element, samples * tokens, width, 0, vocabulary, ids, IN(dy),
	                OUT(dtoken_table), accumulate_token);
	return error ? error
	             : RUN(type, context * width, position_element, samples, tokens, width, IN(dy),
	                   OUT(dposition_table), accumulate_position);
}

/* ---- classifier: rows by one thread each, whose losses go to the workspace and are added up by one ---- */

template <typename T> struct classifier_row {
	int64_t classes, stride;
	T *logits;
	const int32_t *targets;
	double scale;
	const float *scaler;
	double *losses;
	__device__ void operator()(int64_t row) const
	{
		T *x = logits + row * stride;
		float maximum = widen(x[0]), chosen = widen(x[targets[row]]);
		double sum = 0, whole = scale * (scaler ? static_cast<double>(scaler[SCALER_SCALE]) : 1);
		for (int64_t i = 1; i < classes; i++)
			maximum = fmaxf(maximum, widen(x[i]));
		for (int64_t i = 0; i < classes; i++)
			sum += static_cast<double>(expf(widen(x[i]) - maximum));
		for (int64_t i = 0; i < classes; i++) {
			double p = static_cast<double>(expf(widen(x[i]) - maximum)) / sum;
			put(x[i], static_cast<float>(whole * (i == targets[row] ? p - 1 : p)));
		}
		losses[row] = log(sum) + static_cast<double>(maximum) - static_cast<double>(chosen);
	}
};

struct add_losses {
	int64_t rows;
	double scale;
	const double *losses;
	float *loss;
	bool accumulate;
	__device__ void operator()(int64_t) const
	{
		double sum = 0;
		for (int64_t row = 0; row < rows; row++)
			sum += losses[row];
		*loss = static_cast<float>((accumulate ? static_cast<double>(*loss) : 0) + scale * sum);
	}
};

int classifier_plain(struct kernel_context *c, kernel_stream s, enum element type, int64_t rows, int64_t classes,
                     int64_t stride, void *logits, const int32_t *targets, double scale, const float *scaler,
                     float *loss, bool accumulate)
{
	double *losses = static_cast<double *>(c->workspace);
	if (static_cast<size_t>(rows) * sizeof *losses > c->workspace_bytes)
		return CUDA_ERROR_WORKSPACE;
	int error = RUN(type, rows, classifier_row, classes, stride, OUT(logits), targets, scale, scaler, losses);
	return error ? error : for_each(s, 1, add_losses{rows, scale, losses, loss, accumulate});
}

template <typename T> struct evaluate_row {
	int64_t classes, stride;
	const T *logits;
	const int32_t *targets;
	double *losses;
	int32_t *correct;
	__device__ void operator()(int64_t row) const
	{
		const T *x = logits + row * stride;
		int64_t largest = 0;
		double sum = 0;
		for (int64_t i = 1; i < classes; i++)
			if (widen(x[i]) > widen(x[largest]))
				largest = i;
		for (int64_t i = 0; i < classes; i++)
			sum += static_cast<double>(expf(widen(x[i]) - widen(x[largest])));
		losses[row] = log(sum) + static_cast<double>(widen(x[largest]) - widen(x[targets[row]]));
		correct[row] = largest == targets[row];
	}
};

struct add_evaluations {
	int64_t rows;
	const double *losses;
	const int32_t *hits;
	double *loss;
	int64_t *correct;
	__device__ void operator()(int64_t) const
	{
		for (int64_t row = 0; row < rows; row++) {
			*loss += losses[row];
			*correct += hits[row];
		}
	}
};

int evaluate_plain(struct kernel_context *c, kernel_stream s, enum element type, int64_t rows, int64_t classes,
                   int64_t stride, const void *logits, const int32_t *targets, double *loss, int64_t *correct)
{
	double *losses = static_cast<double *>(c->workspace);
	int32_t *hits = reinterpret_cast<int32_t *>(losses + rows);
	if (static_cast<size_t>(rows) * (sizeof *losses + sizeof *hits) > c->workspace_bytes)
		return CUDA_ERROR_WORKSPACE;
	int error = RUN(type, rows, evaluate_row, classes, stride, IN(logits), targets, losses, hits);
	return error ? error : for_each(s, 1, add_evaluations{rows, losses, hits, loss, correct});
}

} // namespace

const struct kernel_table *shardlab_plain_kernels(void)
{
	static struct kernel_table t;
	plain_fill_linear(&t);
	plain_fill_attention(&t);
	plain_fill_norm(&t);
	plain_fill_batch_norm(&t);
	plain_fill_embedding(&t);
	plain_fill_classifier(&t);
	plain_fill_update(&t);
	plain_fill_sliced(&t);
	return &t;
}

void plain_fill_norm(struct kernel_table *t)
{
	t->norm_forward = norm_forward_plain;
	t->norm_backward = norm_backward_plain;
}

void plain_fill_embedding(struct kernel_table *t)
{
	t->embedding_forward = embedding_forward_plain;
	t->embedding_backward = embedding_backward_plain;
}

void plain_fill_classifier(struct kernel_table *t)
{
	t->classifier = classifier_plain;
	t->classifier_evaluate = evaluate_plain;
}
