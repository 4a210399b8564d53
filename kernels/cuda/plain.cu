/* The kernels in their simplest form: one thread a row, a column or an element, everything in the order in which it
 * stands. Shipped kernels are checked against these; for speed they are nothing. */
#include <cmath>

#include "kernels/cuda/gelu.cuh"
#include "kernels/cuda/table.h"

namespace
{

enum { THREADS = 128 };

/* f(i) for i of 0 … n-1, one thread each. */
template <typename F> __global__ void each(int64_t n, F f)
{
	int64_t i = static_cast<int64_t>(blockIdx.x) * THREADS + threadIdx.x;
	if (i < n)
		f(i);
}

template <typename F> int for_each(cuda_stream s, int64_t n, F f)
{
	return n == 0 ? 0 : launch(each<F>, blocks_for(n, THREADS, INT32_MAX), THREADS, 0, s, n, f);
}

template <typename T> __device__ __forceinline__ void put(T &to, float x, bool accumulate = false)
{
	narrow(accumulate ? widen(to) + x : x, to);
}

/* A task is a structure of what it reads and writes, whose operator () is one thread's work. RUN makes it one of type T
 * and starts it. */
#define RUN(type, n, task, ...)                                                                                        \
	with_type(type, [&](auto tag) {                                                                                \
		typedef typename decltype(tag)::type T;                                                                \
		return for_each(s, n, task<T>{__VA_ARGS__});                                                           \
	})
#define IN(p) static_cast<const T *>(p)
#define OUT(p) static_cast<T *>(p)

/* ---- LayerNorm ---- */

template <typename T> struct norm_row {
	int64_t width;
	const T *x, *weight, *bias;
	T *y;
	float *statistics;
	__device__ void operator()(int64_t row) const
	{
		const T *in = x + row * width;
		float sum = 0, squares = 0;
		for (int64_t i = 0; i < width; i++)
			sum += widen(in[i]);
		float mean = sum / static_cast<float>(width);
		for (int64_t i = 0; i < width; i++)
			squares += (widen(in[i]) - mean) * (widen(in[i]) - mean);
		float inverse = 1 / sqrtf(squares / static_cast<float>(width) + 1e-5F);
		for (int64_t i = 0; i < width; i++)
			put(y[row * width + i], (widen(in[i]) - mean) * inverse * widen(weight[i]) + widen(bias[i]));
		if (statistics) {
			statistics[2 * row] = mean;
			statistics[2 * row + 1] = inverse;
		}
	}
};

int norm_forward_plain(struct cuda *, cuda_stream s, enum element type, int64_t rows, int64_t width, const void *x,
                       const void *weight, const void *bias, void *y, float *statistics)
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
		float mean = statistics[2 * row], inverse = statistics[2 * row + 1], sum = 0, product = 0;
		for (int64_t i = 0; i < width; i++) {
			float g = widen(dy[row * width + i]) * widen(weight[i]);
			sum += g;
			product += g * ((widen(x[row * width + i]) - mean) * inverse);
		}
		for (int64_t i = 0; i < width; i++) {
			float g = widen(dy[row * width + i]) * widen(weight[i]);
			float normal = (widen(x[row * width + i]) - mean) * inverse;
			float n = static_cast<float>(width);
			put(dx[row * width + i], (g - sum / n - normal * (product / n)) * inverse, accumulate);
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

int norm_backward_plain(struct cuda *, cuda_stream s, enum element type, int64_t rows, int64_t width, const void *dy,
                        const void *x, const float *statistics, const void *weight, void *dx, bool accumulate_x,
                        void *dweight, bool accumulate_weight, void *dbias, bool accumulate_bias)
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

int embedding_forward_plain(struct cuda *, cuda_stream s, enum element type, int64_t samples, int64_t tokens,
                            int64_t width, const int32_t *ids, const void *token_table, const void *position_table,
                            void *y)
{
	return RUN(type, samples * tokens * width, embedding_element, tokens, width, ids, IN(token_table),
	           IN(position_table), OUT(y));
}

/* Each element of the table looks through all tokens. */
template <typename T> struct token_element {
	int64_t rows, width;
	const int32_t *ids;
	const T *dy;
	T *table;
	bool accumulate;
	__device__ void operator()(int64_t i) const
	{
		double sum = 0;
		bool used = false;
		for (int64_t row = 0; row < rows; row++)
			if (ids[row] == i / width) {
				sum += static_cast<double>(widen(dy[row * width + i % width]));
				used = true;
			}
		if (used || !accumulate)
			put(table[i], static_cast<float>(sum), accumulate);
	}
};

template <typename T> struct position_element {
	int64_t samples, tokens, width;
	const T *dy;
	T *table;
	bool accumulate;
	__device__ void operator()(int64_t i) const
	{
		double sum = 0;
		for (int64_t sample = 0; sample < samples && i < tokens * width; sample++)
			sum += static_cast<double>(widen(dy[sample * tokens * width + i]));
		put(table[i], static_cast<float>(sum), accumulate);
	}
};

int embedding_backward_plain(struct cuda *, cuda_stream s, enum element type, int64_t samples, int64_t tokens,
                             int64_t width, int64_t vocabulary, int64_t context, const int32_t *ids, const void *dy,
                             void *dtoken_table, bool accumulate_token, void *dposition_table, bool accumulate_position)
{
	int error = RUN(type, vocabulary * width, token_element, samples * tokens, width, ids, IN(dy),
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
		double sum = 0, whole = scale * (scaler ? static_cast<double>(scaler[CUDA_SCALER_SCALE]) : 1);
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

int classifier_plain(struct cuda *c, cuda_stream s, enum element type, int64_t rows, int64_t classes, int64_t stride,
                     void *logits, const int32_t *targets, double scale, const float *scaler, float *loss,
                     bool accumulate)
{
	double *losses = static_cast<double *>(c->workspace);
	if (static_cast<size_t>(rows) * sizeof *losses > c->workspace_bytes)
		return CUDA_ERROR_WORKSPACE;
	int error = RUN(type, rows, classifier_row, classes, stride, OUT(logits), targets, scale, scaler, losses);
	return error ? error : for_each(s, 1, add_losses{rows, scale, losses, loss, accumulate});
}

/* ---- updates and vectors ---- */

__device__ void put_random(float &out, float x, uint32_t)
{
	out = x;
}
__device__ void put_random(__nv_bfloat16 &out, float x, uint32_t random)
{
	uint16_t bits = round_to_bf16(__float_as_uint(x), random);
	memcpy(&out, &bits, sizeof bits);
}
__device__ void put_random(__half &out, float x, uint32_t random)
{
	uint16_t bits = round_to_fp16(__float_as_uint(x), random);
	memcpy(&out, &bits, sizeof bits);
}

template <typename T> struct adamw_element {
	struct cuda_update u;
	T *parameters;
	const T *gradients;
	float *first, *second, *master;
	bool stochastic;
	struct rounding rounding;
	__device__ void operator()(int64_t i) const
	{
		double unscale = u.scaler ? 1 / static_cast<double>(u.scaler[CUDA_SCALER_SCALE]) : 1, factor = 1;
		double rate = u.learning_rate, beta1 = static_cast<double>(u.beta1);
		double beta2 = static_cast<double>(u.beta2);
		int64_t step = *u.step - (u.scaler ? static_cast<int64_t>(u.scaler[CUDA_SCALER_SKIPPED]) : 0);
		if ((u.overflow && *u.overflow > 0) || step < 1)
			return;
		if (u.warmup > 0 && step <= u.warmup)
			rate *= static_cast<double>(step) / static_cast<double>(u.warmup);
		else if (u.decay > 0)
			rate *= 1 - 0.9 * fmin(static_cast<double>(step - u.warmup) /
			                               fmax(static_cast<double>(u.decay - u.warmup), 1.0),
			                       1.0);
		if (u.squares)
			factor = fmin(u.clip / (sqrt(static_cast<double>(*u.squares)) * unscale + 1e-6), 1.0);
		double g = static_cast<double>(widen(gradients[i])) * factor * unscale;
		double m = beta1 * static_cast<double>(first[i]) + (1 - beta1) * g;
		double v = beta2 * static_cast<double>(second[i]) + (1 - beta2) * g * g;
		double p = static_cast<double>(master ? master[i] : widen(parameters[i]));
		double root = sqrt(v / (1 - pow(beta2, static_cast<double>(step))));
		p -= rate * static_cast<double>(u.weight_decay) * p;
		p -= rate * m / (1 - pow(beta1, static_cast<double>(step))) / (root + static_cast<double>(u.epsilon));
		first[i] = static_cast<float>(m);
		second[i] = static_cast<float>(v);
		if (master)
			master[i] = static_cast<float>(p);
		if (stochastic)
			put_random(
			        parameters[i], static_cast<float>(p),
			        rounding_bits(rounding_key(rounding.seed, step), element_number(&rounding.numbers, i)));
		else
			put(parameters[i], static_cast<float>(p));
	}
};

int adamw_plain(struct cuda *, cuda_stream s, enum element type, const struct cuda_update *u, int64_t n,
                void *parameters, const void *gradients, float *first_moment, float *second_moment, float *master)
{
	return RUN(type, n, adamw_element, *u, OUT(parameters), IN(gradients), first_moment, second_moment,
	           sizeof(T) == 4 ? nullptr : master, sizeof(T) < 4 && u->rounding,
	           u->rounding ? *u->rounding : rounding());
}

template <typename T> struct add_element {
	const T *x;
	T *y;
	__device__ void operator()(int64_t i) const
	{
		put(y[i], widen(x[i]), true);
	}
};

int add_plain(struct cuda *, cuda_stream s, enum element type, int64_t n, const void *x, void *y)
{
	return RUN(type, n, add_element, IN(x), OUT(y));
}

template <typename T> struct squares_all {
	int64_t n;
	const T *x;
	float *sum;
	bool accumulate;
	__device__ void operator()(int64_t) const
	{
		double all = accumulate ? static_cast<double>(*sum) : 0;
		for (int64_t i = 0; i < n; i++)
			all += static_cast<double>(widen(x[i])) * static_cast<double>(widen(x[i]));
		*sum = static_cast<float>(all);
	}
};

int squares_plain(struct cuda *, cuda_stream s, enum element type, int64_t n, const void *x, float *sum,
                  bool accumulate)
{
	return RUN(type, 1, squares_all, n, IN(x), sum, accumulate);
}

/* ---- after a sum over ranks ---- */

template <typename T> struct finish_element {
	int64_t width;
	const T *bias, *residual;
	T *sum, *y;
	__device__ void operator()(int64_t i) const
	{
		put(sum[i], (bias ? widen(bias[i % width]) : 0) + (residual ? widen(residual[i]) : 0), true);
		if (y)
			put(y[i], gelu<float>(widen(sum[i])));
	}
};

int finish_plain(struct cuda *, cuda_stream s, enum element type, int64_t rows, int64_t width, const void *bias,
                 const void *residual, void *sum, void *y)
{
	return RUN(type, rows * width, finish_element, width, IN(bias), IN(residual), OUT(sum), OUT(y));
}

} // namespace

extern "C" const struct cuda_api *shardlab_cuda_plain_api(void);
const struct cuda_api *shardlab_cuda_plain_api(void)
{
	static struct cuda_api api;
	api.version = CUDA_API_VERSION;
	cuda_fill_plain_linear(&api);
	cuda_fill_plain_attention(&api);
	cuda_fill_plain_norm(&api);
	cuda_fill_plain_embedding(&api);
	cuda_fill_plain_classifier(&api);
	cuda_fill_plain_update(&api);
	return &api;
}

void cuda_fill_plain_norm(struct cuda_api *api)
{
	api->norm_forward = norm_forward_plain;
	api->norm_backward = norm_backward_plain;
}

void cuda_fill_plain_embedding(struct cuda_api *api)
{
	api->embedding_forward = embedding_forward_plain;
	api->embedding_backward = embedding_backward_plain;
}

void cuda_fill_plain_classifier(struct cuda_api *api)
{
	api->classifier = classifier_plain;
}

void cuda_fill_plain_update(struct cuda_api *api)
{
	api->adamw_update = adamw_plain;
	api->vector_add = add_plain;
	api->vector_squares = squares_plain;
	api->linear_finish = finish_plain;
}
