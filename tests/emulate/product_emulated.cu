/* cuBLASLt on the host, for tests: what its manual says of cublasLtMatmul and its epilogues, column by column, done
 * with the arguments that product.cu would give it. A device has it if its `algorithms` are set: to the epilogues that
 * it has, bits 1 << enum product_epilogue. With the highest bit sums over k are made in four parts that are added up in
 * their order, as split-K has them. */
#ifdef SHARDLAB_EMULATE

#include "kernels/cuda/gelu.cuh"
#include "kernels/cuda/product.h"
#include "kernels/cuda/table.h"

namespace
{

/* Element of a matrix whose columns begin so many elements apart, or of its transpose. */
template <typename T> float at(const void *matrix, int64_t leading, bool transposed, uint64_t row, uint64_t column)
{
	uint64_t step = static_cast<uint64_t>(leading), place = transposed ? column + row * step : row + column * step;
	return widen(static_cast<const T *>(matrix)[place]);
}

/* The sum of k terms, in parts of so many. */
template <typename Term> float sum_of(uint64_t k, uint64_t part, Term term)
{
	float sum = 0;
	for (uint64_t begin = 0; begin < k; begin += part) {
		float of_part = 0;
		for (uint64_t i = begin; i < k && i < begin + part; i++)
			of_part += term(i);
		sum += of_part;
	}
	return sum;
}

template <typename T> int multiply(const struct product *p, bool split)
{
	const struct product_arguments a = product_arguments_of(p);
	const uint64_t k = a.a_transposed ? a.a_rows : a.a_columns;
	const uint64_t part = split ? (k + 3) / 4 : k;
	T *d = static_cast<T *>(p->c);

	for (uint64_t column = 0; column < a.c_columns; column++)
		for (uint64_t row = 0; row < a.c_rows; row++) {
			const uint64_t place = row + column * static_cast<uint64_t>(a.c_leading);
			float sum = sum_of(k, part, [&](uint64_t i) {
				return at<T>(p->b, a.a_leading, a.a_transposed, row, i) *
				       at<T>(p->a, a.b_leading, a.b_transposed, i, column);
			});
			if (p->residual)
				sum += widen(static_cast<const T *>(p->residual)[place]);
			if (p->epilogue == PRODUCT_BIAS || p->epilogue == PRODUCT_GELU_BIAS)
				sum += widen(static_cast<const T *>(p->bias)[row]);
			if (p->epilogue == PRODUCT_GELU || p->epilogue == PRODUCT_GELU_BIAS) {
				narrow(sum, static_cast<T *>(p->pre)[place]);
				sum = gelu<T>(sum);
			}
			if (p->epilogue == PRODUCT_GELU_SLOPE)
				sum *= gelu_slope<T>(widen(static_cast<const T *>(p->pre)[place]));
			narrow(sum, d[place]);
		}
	/* The sums over k of its B's columns, or of its A's rows */
	for (uint64_t column = 0; p->epilogue == PRODUCT_SUMS_A && column < a.c_columns; column++) {
		float sum = sum_of(k, part,
		                   [&](uint64_t i) { return at<T>(p->a, a.b_leading, a.b_transposed, i, column); });
		narrow(sum, static_cast<T *>(p->sums)[column]);
	}
	for (uint64_t row = 0; p->epilogue == PRODUCT_SUMS_B && row < a.c_rows; row++) {
		float sum =
		        sum_of(k, part, [&](uint64_t i) { return at<T>(p->b, a.a_leading, a.a_transposed, row, i); });
		narrow(sum, static_cast<T *>(p->sums)[row]);
	}
	return 0;
}

} // namespace

int product_run(struct kernel_context *c, kernel_stream, const struct product *p)
{
	const unsigned *epilogues = static_cast<const unsigned *>(c->algorithms);
	if (!epilogues || !(*epilogues >> p->epilogue & 1) || !product_epilogue_fits(p))
		return CUDA_ERROR_NO_ALGORITHM;
	const bool split = *epilogues >> 31;
	return with_type(p->type, [&](auto tag) { return multiply<typename decltype(tag)::type>(p, split); });
}

/* There are no algorithms of products here to choose from, but there are the other choices. */
void cuda_use_algorithms(struct kernel_context *c, const struct cuda_algorithm *given, int count, bool time)
{
	c->times_products = time;
	for (int i = 0; i < count; i++)
		if (cuda_attention_is_word(&given[i]))
			cuda_attention_give(c, &given[i]);
		else
			(void)cuda_bias_give(c, &given[i]);
}

int cuda_algorithms(const struct kernel_context *c, struct cuda_algorithm *out, int most)
{
	const int n = cuda_attention_tell(c, out, most), left = n < most ? most - n : 0;
	return n + cuda_bias_tell(c, out + (most - left), left);
}

#endif
