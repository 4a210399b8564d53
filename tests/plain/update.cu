/* Optimizers and vectors in their simplest form: a thread has an element, or where there is one result, all of them. */
#include "tests/plain/plain.cuh"
#include "tests/plain/plain.h"

namespace
{

/* ---- AdamW and SGD ---- */

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

template <typename T> struct update_element {
	struct update u;
	bool stochastic, adamw;
	T *parameters;
	const T *gradients;
	float *first, *second, *master;
	__device__ double rate(int64_t step) const
	{
		double past = static_cast<double>(step - u.warmup), span = static_cast<double>(u.decay - u.warmup);
		if (u.warmup > 0 && step <= u.warmup)
			return u.learning_rate * static_cast<double>(step) / static_cast<double>(u.warmup);
		return u.learning_rate * (u.decay > 0 ? 1 - 0.9 * fmin(past / fmax(span, 1.0), 1.0) : 1);
	}
	__device__ double adamw_step(int64_t i, double p, double g, int64_t step) const
	{
		double beta1 = static_cast<double>(u.beta1), beta2 = static_cast<double>(u.beta2);
		double m = beta1 * static_cast<double>(first[i]) + (1 - beta1) * g;
		double v = beta2 * static_cast<double>(second[i]) + (1 - beta2) * g * g;
		double root = sqrt(v / (1 - pow(beta2, static_cast<double>(step)))), lr = rate(step);
		first[i] = static_cast<float>(m);
		second[i] = static_cast<float>(v);
		p -= lr * static_cast<double>(u.weight_decay) * p;
		return p -
		       lr * m / (1 - pow(beta1, static_cast<double>(step))) / (root + static_cast<double>(u.epsilon));
	}
	/* As the update of this step rounds; what was there before the first is rounded to the nearest. */
	__device__ void put_parameter(int64_t i, float x, int64_t step) const
	{
		if (stochastic && step > 0)
			put_random(parameters[i], x,
			           rounding_bits(rounding_key(u.rounding.seed, step),
			                         element_number(&u.rounding.numbers, i)));
		else
			put(parameters[i], x);
	}
	__device__ void operator()(int64_t i) const
	{
		double unscale = u.scaler ? 1 / static_cast<double>(u.scaler[SCALER_SCALE]) : 1, factor = 1;
		int64_t step = *u.step - (u.scaler ? static_cast<int64_t>(u.scaler[SCALER_SKIPPED]) : 0);
		if ((u.overflow && *u.overflow > 0) || step < 1) {
			if (u.keep_parameters && master)
				put_parameter(i, master[i], step - 1);
			return;
		}
		if (u.squares)
			factor = fmin(u.clip / (sqrt(static_cast<double>(*u.squares)) * unscale + 1e-6), 1.0);
		double g = static_cast<double>(widen(gradients[i])) * factor * unscale;
		double p = static_cast<double>(master ? master[i] : widen(parameters[i]));
		p = adamw ? adamw_step(i, p, g, step) : p - rate(step) * g;
		if (master)
			master[i] = static_cast<float>(p);
		put_parameter(i, static_cast<float>(p), step);
	}
};

int adamw_plain(struct kernel_context *, kernel_stream s, enum element type, const struct update *u, int64_t n,
                void *parameters, const void *gradients, float *first_moment, float *second_moment, float *master)
{
	return RUN(type, n, update_element, *u, sizeof(T) < 4 && u->stochastic, true, OUT(parameters), IN(gradients),
	           first_moment, second_moment, sizeof(T) == 4 ? nullptr : master);
}

int sgd_plain(struct kernel_context *, kernel_stream s, enum element type, const struct update *u, int64_t n,
              void *parameters, const void *gradients, float *master)
{
	return RUN(type, n, update_element, *u, sizeof(T) < 4 && u->stochastic, false, OUT(parameters), IN(gradients),
	           nullptr, nullptr, sizeof(T) == 4 ? nullptr : master);
}

/* ---- vectors ---- */

template <typename T> struct add_element {
	const T *x;
	T *y;
	__device__ void operator()(int64_t i) const
	{
		put(y[i], widen(x[i]), true);
	}
};

int add_plain(struct kernel_context *, kernel_stream s, enum element type, int64_t n, const void *x, void *y)
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

int squares_plain(struct kernel_context *, kernel_stream s, enum element type, int64_t n, const void *x, float *sum,
                  bool accumulate)
{
	return RUN(type, 1, squares_all, n, IN(x), sum, accumulate);
}

template <typename From, typename To> struct convert_element {
	const From *x;
	To *y;
	__device__ void operator()(int64_t i) const
	{
		put(y[i], widen(x[i]));
	}
};

int convert_plain(struct kernel_context *, kernel_stream s, int64_t n, enum element from, const void *x,
                  enum element to, void *y)
{
	return with_type(from, [&](auto source) {
		typedef typename decltype(source)::type From;
		return with_type(to, [&](auto target) {
			typedef typename decltype(target)::type To;
			return for_each(s, n,
			                convert_element<From, To>{static_cast<const From *>(x), static_cast<To *>(y)});
		});
	});
}

template <typename T> struct overflow_all {
	int64_t n;
	const T *x;
	float *overflow;
	bool accumulate;
	__device__ void operator()(int64_t) const
	{
		bool found = accumulate && *overflow > 0;
		for (int64_t i = 0; i < n; i++)
			found = found || !(widen(x[i]) - widen(x[i]) == 0);
		*overflow = found ? 1 : 0;
	}
};

int overflow_plain(struct kernel_context *, kernel_stream s, enum element type, int64_t n, const void *x,
                   float *overflow, bool accumulate)
{
	return RUN(type, 1, overflow_all, n, IN(x), overflow, accumulate);
}

} // namespace

void plain_fill_update(struct kernel_table *t)
{
	t->adamw_update = adamw_plain;
	t->sgd_update = sgd_plain;
	t->vector_add = add_plain;
	t->vector_convert = convert_plain;
	t->vector_squares = squares_plain;
	t->vector_overflow = overflow_plain;
}
