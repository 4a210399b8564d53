/* Rows of logits that begin further apart than there are classes: the layer that makes them, their loss and gradient,
 * and the layer's backward pass, whole and as one of two slices, on the CPU and by the GPU's kernels, with cuBLASLt,
 * by the ladder of products and, on the host, without either. Whatever the pads hold, NaN or numbers, no bit of a
 * result is another; and results are those of rows without pads. */
#include <cmath>
#include <vector>

#include "kernels/cuda/context.h"
#include "tests/gpu/target.h"
#include "tests/support/elements.hpp"
#include "tests/support/suite.h"

extern "C" {
#include "strategy/model/model.h"
}

namespace
{

enum { ROWS = 5, WIDTH = 24, CLASSES = 133, PADDED = 192, FIRST = 40 };
enum way { CPU, WITHOUT_BLAS, WITH_BLAS, BY_LADDER, WAYS };

struct head {
	enum element type;
	int64_t stride;
	bool sliced; /* CLASSES of more, from FIRST on */
	elements x, weight, logits, dx, dweight, loss;
	template <typename T> using reached = std::vector<T, target_allocator<T>>; /* by kernels */
	reached<int32_t> targets;
	reached<double> evaluated = reached<double>(1);
	reached<int64_t> correct = reached<int64_t>(1);
	reached<float> maxima = reached<float>(ROWS), sums = reached<float>(3 * ROWS);

	head(enum element of, int64_t apart, bool slice)
	    : type(of), stride(apart), sliced(slice), x(of, ROWS * WIDTH), weight(of, CLASSES * WIDTH),
	      logits(of, ROWS * apart), dx(of, ROWS * WIDTH), dweight(of, CLASSES * WIDTH), loss(ELEMENT_FP32, 1)
	{
		for (int i = 0; i < ROWS; i++)
			targets.push_back((slice ? FIRST : 0) + i * 31 % CLASSES);
		x.fill(1);
		weight.fill(1);
		dweight.fill(1);
		loss.fill(1);
	}
	/* Zeros instead of NaN in the padding. */
	void clear_pads()
	{
		const size_t element = static_cast<size_t>(element_bytes(type));
		for (size_t row = 0; row < ROWS; row++)
			memset(static_cast<char *>(logits.data()) +
			               (row * static_cast<size_t>(stride) + CLASSES) * element,
			       0, static_cast<size_t>(stride - CLASSES) * element);
	}
};

struct linear_shape shape_of(const struct head *h)
{
	return {ROWS, WIDTH, CLASSES, false, ACTIVATION_NONE, h->type, h->stride};
}

int run_classifier(const struct kernel_table *kernels, struct kernel_context *c, struct head *h)
{
	const struct class_slice slice = {FIRST, CLASSES, h->stride};
	float *loss = static_cast<float *>(h->loss.data()), *maxima = h->maxima.data(), *sums = h->sums.data();
	void *logits = h->logits.data();
	const int32_t *targets = h->targets.data();
	double *evaluated = h->evaluated.data();
	int64_t *correct = h->correct.data();
	int error = 0;
	if (!h->sliced) {
		error = kernels->classifier_evaluate(c, nullptr, h->type, ROWS, CLASSES, h->stride, logits, targets,
		                                     evaluated, correct);
		return error | kernels->classifier(c, nullptr, h->type, ROWS, CLASSES, h->stride, logits, targets, 0.5,
		                                   nullptr, loss, true);
	}
	error |= kernels->classifier_maxima(c, nullptr, h->type, ROWS, &slice, logits, maxima);
	error |= kernels->evaluate_sums(c, nullptr, h->type, ROWS, &slice, logits, targets, maxima, sums);
	error |= kernels->evaluate_count(c, nullptr, ROWS, maxima, sums, evaluated, correct);
	error |= kernels->classifier_sums(c, nullptr, h->type, ROWS, &slice, logits, targets, maxima, sums);
	error |= kernels->classifier_gradient(c, nullptr, h->type, ROWS, &slice, logits, targets, maxima, sums, 0.5,
	                                      nullptr, loss, true);
	return error;
}

void run(enum way way, struct head *h)
{
	const struct kernel_table *kernels = way == CPU ? &cpu_kernels : target_kernels();
	struct kernel_context *c = target_open(4, 1 << 16);
	struct linear_shape s = shape_of(h);
	target_products(c, way == WITH_BLAS ? ~0U : 0);
	target_api()->use_products(c, way == BY_LADDER ? CUDA_PRODUCT_HOPPER : CUDA_PRODUCT_CUBLASLT);
	int error = kernels->linear_forward(c, nullptr, &s, h->x.data(), h->weight.data(), nullptr, nullptr,
	                                    h->logits.data(), nullptr);
	error |= run_classifier(kernels, c, h);
	error |= kernels->linear_backward(c, nullptr, &s, h->logits.data(), h->x.data(), h->weight.data(), nullptr,
	                                  nullptr, h->dx.data(), h->dweight.data(), true, nullptr, false);
	ck_assert_int_eq(target_wait(c, error), 0);
	target_products(c, 0);
	target_api()->use_products(c, CUDA_PRODUCT_CUBLASLT);
	target_close(c);
}

/* Elements of the first `columns` of rows that begin `stride` apart. */
std::vector<double> columns_of(elements &e, int64_t rows, int64_t columns, int64_t stride)
{
	std::vector<double> all = e.numbers(), out;
	for (int64_t row = 0; row < rows; row++)
		for (int64_t i = 0; i < columns; i++)
			out.push_back(all[static_cast<size_t>(row * stride + i)]);
	return out;
}

void assert_close(const char *what, enum element type, const std::vector<double> &a, const std::vector<double> &b)
{
	for (size_t i = 0; i < a.size(); i++)
		ck_assert_msg(fabs(a[i] - b[i]) <= (2 * unit(type) + 4e-6) * (1 + fabs(b[i])),
		              "%s: element %zu is %.9g, without pads %.9g", what, i, a[i], b[i]);
}

START_LOOP_TEST(pads, 0, 6 * WAYS)
{
	const enum element type = static_cast<enum element>(_i % 3);
	const bool sliced = _i / 3 % 2;
	const enum way way = static_cast<enum way>(_i / 6);
	struct head nan(type, PADDED, sliced), zero = nan, dense(type, CLASSES, sliced);
	dense.x = nan.x;
	dense.weight = nan.weight;
	dense.dweight = nan.dweight;
	dense.loss = nan.loss;
	zero.clear_pads();
	run(way, &nan);
	run(way, &zero);
	run(way, &dense);
	ck_assert(nan.dx.same(zero.dx) && nan.dweight.same(zero.dweight) && nan.loss.same(zero.loss));
	ck_assert(columns_of(nan.logits, ROWS, CLASSES, PADDED) == columns_of(zero.logits, ROWS, CLASSES, PADDED));
	ck_assert(nan.logits.intact() && nan.dx.intact() && nan.dweight.intact());
	ck_assert(!(nan.evaluated[0] < zero.evaluated[0]) && !(nan.evaluated[0] > zero.evaluated[0]));
	ck_assert_int_eq(nan.correct[0], dense.correct[0]);
	ck_assert(fabs(nan.evaluated[0] - dense.evaluated[0]) <= 1e-5 * fabs(dense.evaluated[0]));
	assert_close("loss", ELEMENT_FP32, nan.loss.numbers(), dense.loss.numbers());
	assert_close("gradient of logits", type, columns_of(nan.logits, ROWS, CLASSES, PADDED), dense.logits.numbers());
	assert_close("dx", type, nan.dx.numbers(), dense.dx.numbers());
	assert_close("dweight", type, nan.dweight.numbers(), dense.dweight.numbers());
}

/* Large and unaligned vocabularies alone are padded, by at most 1 in 100. */
START_TEST(strides)
{
	static const int64_t same[] = {1, 5, 65, 256, 512, 1000, 6336, 50304, 1 << 26};
	for (int64_t classes : same)
		ck_assert_int_eq(logits_stride(classes), classes);
	ck_assert_int_eq(logits_stride(50257), 50304);
	ck_assert_int_eq(logits_stride(2047), 2048);
	for (int64_t classes = 1; classes < 20000; classes++) {
		int64_t stride = logits_stride(classes);
		ck_assert(stride == classes || (stride % 64 == 0 && stride > classes));
		ck_assert((stride - classes) * 100 <= classes);
		ck_assert(classes < 6300 || stride % 64 == 0);
	}
}

} // namespace

int main()
{
	return target_run("cuda_logits", 120);
}
