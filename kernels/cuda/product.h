/* Matrix products of linear layers, and how they are put to cuBLASLt. What is here are plain functions of shapes and
 * addresses, which tests reach without a GPU.
 *
 *     C[m,n] = op(A)[m,k] · op(B)[k,n]  (+ residual[m,n])  (+ bias[n])  → epilogue
 *
 * row-major: a stored row of A has k elements, or m if it is transposed, and so on, and the next begins a stride (at
 * least as many) after it; `residual` and `pre` lie as C does. cuBLASLt counts matrices column by column; the same
 * memory is then Cᵀ = op(B)ᵀ · op(A)ᵀ: its first operand is our B, its result has n rows,
 * and a bias, which it adds to each column, is ours for each row.
 */
#ifndef SHARDLAB_CUDA_PRODUCT_H
#define SHARDLAB_CUDA_PRODUCT_H

#include <stdbool.h>
#include <stdint.h>

#include "kernels/cuda/context.h"

#ifdef __cplusplus
extern "C" {
#endif

enum product_epilogue {
	PRODUCT_PLAIN,
	PRODUCT_BIAS,       /* + bias */
	PRODUCT_GELU,       /* pre = C, C = gelu(C) */
	PRODUCT_GELU_BIAS,  /* the same after + bias */
	PRODUCT_GELU_SLOPE, /* C = C × the slope of gelu at pre, which is read */
	PRODUCT_SUMS_A,     /* sums[m] = the sums over k of op(A)'s rows */
	PRODUCT_SUMS_B      /* sums[n] = the sums over k of op(B)'s columns */
};

struct product {
	enum element type;
	enum product_epilogue epilogue;
	bool a_transposed, b_transposed;
	int64_t m, n, k;
	int64_t a_stride, b_stride, c_stride;
	const void *a, *b;
	const void *residual; /* added; `c` itself to accumulate; NULL: nothing is */
	const void *bias;
	void *c, *pre, *sums;
};

static inline struct product product_forward(const struct linear_shape *s, const void *x, const void *weight)
{
	struct product p = {};
	p.type = s->type;
	p.b_transposed = !s->weight_in_out;
	p.m = s->rows;
	p.n = s->out;
	p.k = s->in;
	p.a_stride = s->in;
	p.b_stride = s->weight_in_out ? s->out : s->in;
	p.c_stride = linear_stride(s);
	p.a = x;
	p.b = weight;
	return p;
}

/* dx = dy · Wᵀ */
static inline struct product product_input(const struct linear_shape *s, const void *dy, const void *weight)
{
	struct product p = {};
	p.type = s->type;
	p.b_transposed = s->weight_in_out;
	p.m = s->rows;
	p.n = s->in;
	p.k = s->out;
	p.a_stride = linear_stride(s);
	p.b_stride = s->weight_in_out ? s->out : s->in;
	p.c_stride = s->in;
	p.a = dy;
	p.b = weight;
	return p;
}

/* dW = dyᵀ · x, or with the Conv1D layout xᵀ · dy */
static inline struct product product_weight(const struct linear_shape *s, const void *dy, const void *x)
{
	struct product p = {};
	p.type = s->type;
	p.a_transposed = true;
	p.m = s->weight_in_out ? s->in : s->out;
	p.n = s->weight_in_out ? s->out : s->in;
	p.k = s->rows;
	p.a_stride = s->weight_in_out ? s->in : linear_stride(s);
	p.b_stride = s->weight_in_out ? linear_stride(s) : s->in;
	p.c_stride = p.n;
	p.a = s->weight_in_out ? x : dy;
	p.b = s->weight_in_out ? dy : x;
	return p;
}

/* C's bytes, with the gaps between its rows. */
static inline size_t product_bytes(const struct product *p)
{
	return (size_t)(p->m * p->c_stride) * (p->type == ELEMENT_FP32 ? 4 : 2);
}

/* Whichever of the two operands is dy: the sums that are the bias's gradient. */
static inline enum product_epilogue product_bias_sums(const struct linear_shape *s)
{
	return s->weight_in_out ? PRODUCT_SUMS_B : PRODUCT_SUMS_A;
}

/* The largest power of two, up to 16 bytes, that an address is a multiple of. No algorithm asks for more, and with more
 * places of one shape would be many. */
static inline uint32_t product_alignment(const void *p)
{
	uintptr_t address = (uintptr_t)p | 16;
	return (uint32_t)(address & (~address + 1));
}

/* True if cuBLASLt has this epilogue for such a product. It stores `pre` only with rows of a multiple of 8 elements, 16
 * bytes apart. False too where it has none for fp32, or where the epilogue would rule out the fast algorithms. */
static inline bool product_epilogue_fits(const struct product *p)
{
	bool vectors = p->n % 8 == 0 && product_alignment(p->pre) >= 16 && product_alignment(p->c) >= 16;
	switch (p->epilogue) {
	case PRODUCT_PLAIN:
		return true;
	case PRODUCT_BIAS:
		return product_alignment(p->bias) >= (p->type == ELEMENT_FP32 ? 4U : 2U);
	case PRODUCT_GELU:
	case PRODUCT_GELU_BIAS:
	case PRODUCT_GELU_SLOPE:
		return p->type != ELEMENT_FP32 && vectors && !p->residual;
	default:
		return p->type != ELEMENT_FP32 && p->m % 8 == 0 && p->n % 8 == 0 && product_alignment(p->sums) >= 16;
	}
}

/* A product as cuBLASLt's arguments: its A is our B. Matrices are rows × columns as stored. Without gaps, so that its
 * bytes can be compared. */
struct product_arguments {
	uint32_t a_transposed, b_transposed;
	uint64_t a_rows, a_columns, b_rows, b_columns, c_rows, c_columns;
	int64_t a_leading, b_leading, c_leading; /* dimensions: elements from a column to the next */
	uint32_t a_alignment, b_alignment, c_alignment, d_alignment, bias_alignment, pre_alignment;
};

static inline struct product_arguments product_arguments_of(const struct product *p)
{
	uint64_t m = (uint64_t)p->m, n = (uint64_t)p->n, k = (uint64_t)p->k;
	struct product_arguments a = {};
	a.a_transposed = p->b_transposed;
	a.b_transposed = p->a_transposed;
	a.a_rows = p->b_transposed ? k : n;
	a.a_columns = p->b_transposed ? n : k;
	a.b_rows = p->a_transposed ? m : k;
	a.b_columns = p->a_transposed ? k : m;
	a.c_rows = n;
	a.c_columns = m;
	a.a_leading = p->b_stride;
	a.b_leading = p->a_stride;
	a.c_leading = p->c_stride;
	a.a_alignment = product_alignment(p->b);
	a.b_alignment = product_alignment(p->a);
	a.c_alignment = product_alignment(p->residual ? p->residual : p->c);
	a.d_alignment = product_alignment(p->c);
	a.bias_alignment = product_alignment(p->bias ? p->bias : p->sums);
	a.pre_alignment = product_alignment(p->pre);
	return a;
}

/* cuBLASLt's fast algorithms move whole pieces of 16 bytes, and ask for rows that consist of them: rows that begin at
 * such pieces are not enough. 50,257 classes took 7.8 times as long as 50,304 on an H200 (kernels/RESULTS.md). So a
 * product whose rows of one operand end within a piece is put in two: whole pieces, and the last 9 to 15 elements
 * (fp32: 5 to 7). With a single one 65,536 rows of 50,304 ended in an illegal address there: more than 2³¹ elements,
 * presumably too many for the kernels that cuBLASLt has for vectors. Extents below PRODUCT_PARTS_FROM are left as they
 * are, where a second launch costs as much. */
enum { PRODUCT_PARTS_FROM = 128 };

/* Does such a row begin at a piece of 16 bytes and end within one? */
static inline bool product_row_is_uneven(const struct product *p, int64_t extent, int64_t stride)
{
	const int64_t piece = p->type == ELEMENT_FP32 ? 4 : 8;
	return extent >= PRODUCT_PARTS_FROM && extent % piece && stride % piece == 0;
}

/* `count` elements of a matrix further on. */
static inline const void *product_after(const struct product *p, const void *at, int64_t count)
{
	return at ? (const char *)at + count * (p->type == ELEMENT_FP32 ? 4 : 2) : NULL;
}

/* Columns [first, first + n) of C. */
static inline struct product product_columns(const struct product *p, int64_t first, int64_t n)
{
	struct product part = *p;
	part.n = n;
	part.b = product_after(p, p->b, p->b_transposed ? first * p->b_stride : first);
	part.c = (void *)product_after(p, p->c, first);
	part.pre = (void *)product_after(p, p->pre, first);
	part.bias = product_after(p, p->bias, first);
	part.residual = product_after(p, p->residual, first);
	return part;
}

/* Rows [first, first + m) of C. */
static inline struct product product_rows(const struct product *p, int64_t first, int64_t m)
{
	struct product part = *p;
	part.m = m;
	part.a = product_after(p, p->a, p->a_transposed ? first : first * p->a_stride);
	part.c = (void *)product_after(p, p->c, first * p->c_stride);
	part.residual = product_after(p, p->residual, first * p->c_stride);
	return part;
}

/* Terms [first, first + k) of each sum. */
static inline struct product product_terms(const struct product *p, int64_t first, int64_t k)
{
	struct product part = *p;
	part.k = k;
	part.a = product_after(p, p->a, p->a_transposed ? first * p->a_stride : first);
	part.b = product_after(p, p->b, p->b_transposed ? first : first * p->b_stride);
	return part;
}

/* The one or two products that make this one, in the order in which they run; returns how many. Only of one with at
 * most a bias and a residual. Of a sum in two, the few terms come first, so that what is rounded on the way is small.
 */
static inline int product_parts(const struct product *p, struct product parts[2])
{
	const int64_t piece = p->type == ELEMENT_FP32 ? 4 : 8;
	const int64_t m = (p->m - piece) / piece * piece, n = (p->n - piece) / piece * piece;
	const int64_t k = (p->k - piece) / piece * piece;
	if (product_row_is_uneven(p, p->n, p->c_stride) ||
	    (!p->b_transposed && product_row_is_uneven(p, p->n, p->b_stride))) {
		parts[0] = product_columns(p, 0, n);
		parts[1] = product_columns(p, n, p->n - n);
	} else if (p->a_transposed && product_row_is_uneven(p, p->m, p->a_stride)) {
		parts[0] = product_rows(p, 0, m);
		parts[1] = product_rows(p, m, p->m - m);
	} else if ((!p->a_transposed && product_row_is_uneven(p, p->k, p->a_stride)) ||
	           (p->b_transposed && product_row_is_uneven(p, p->k, p->b_stride))) {
		parts[0] = product_terms(p, k, p->k - k);
		parts[1] = product_terms(p, 0, k);
		parts[1].residual = p->c;
		parts[1].bias = NULL;
		parts[1].epilogue = PRODUCT_PLAIN;
	} else {
		parts[0] = *p;
		return 1;
	}
	return 2;
}

/* ---- cuBLASLt: product.cu; under emulation there is none ---- */

/* Algorithms by shape: 96 places, more than a step of any model here has products. Taken once, when the device is
 * opened; freed with it. */
int product_open(struct kernel_context *c);
void product_close(struct kernel_context *c);

/* fp32 products by TF32's tensor cores: 10 bits of mantissa. Off unless set. */
void product_allow_tf32(struct kernel_context *c, bool allow);

/* Puts it on the stream, with all of the workspace; or CUDA_ERROR_NO_ALGORITHM, and nothing is done but that
 * c->product_refusal says why. An algorithm is looked for once per shape, in the first eager step: in cuBLASLt's own
 * table of what is fastest, without running anything, unless use_algorithms (cuda.h) gave one or wants them timed.
 * Same shape, same library, same card, same algorithms given: same algorithm. One that is in the table and then refused
 * counts as none from then on; one that cannot be described to cuBLASLt is an error, and never slow in silence. */
int product_run(struct kernel_context *c, kernel_stream s, const struct product *p);

/* Checks, without a device, that such a product can be described to cuBLASLt. Returns its status, CUBLAS_STATUS_SUCCESS
 * (0) if so. */
int product_check(const struct product *p, bool tf32);

/* ---- kernels of shardlab's own: the ladder ---- */

/* Each makes a product with bias and residual, but without GELU and sums whatever the epilogue. The first two take any
 * type, shape and address; the others those that product_is_in_pieces(), the last on compute capability 9.0. */
int product_plain(kernel_stream s, const struct product *p);
int product_simple(kernel_stream s, const struct product *p);
int product_tensor(kernel_stream s, const struct product *p);
int product_hopper(kernel_stream s, const struct product *p);
bool product_hopper_is_here(const struct kernel_context *c);

/* By this rung, or by the highest below it that takes it. */
int product_by_rung(struct kernel_context *c, kernel_stream s, const struct product *p, enum cuda_product_rung most);

/* 16 bits, and both operands' rows are whole pieces of 16 bytes, C's whole pairs of elements. */
static inline bool product_is_in_pieces(const struct product *p)
{
	const int64_t a_row = p->a_transposed ? p->m : p->k, b_row = p->b_transposed ? p->k : p->n;
	bool pieces = a_row % 8 == 0 && b_row % 8 == 0 && p->a_stride % 8 == 0 && p->b_stride % 8 == 0;
	bool pairs = p->n % 2 == 0 && p->c_stride % 2 == 0 && product_alignment(p->c) >= 4 &&
	             product_alignment(p->residual) >= 4 && product_alignment(p->bias) >= 4;
	bool of_layers = !p->a_transposed || !p->b_transposed;
	return p->type != ELEMENT_FP32 && of_layers && pieces && pairs && product_alignment(p->a) >= 16 &&
	       product_alignment(p->b) >= 16;
}

#ifdef __cplusplus
}
#endif
#endif
