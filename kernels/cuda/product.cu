/* Products by cuBLASLt. Descriptions are made on the stack, algorithms are kept by shape: nothing is allocated after
 * product_open().
 *
 * Deterministic: where the sum over k is split, parts are kept in the workspace and added up in their order, in fp32
 * (CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE); no other way of splitting is allowed. */
#include <cstdlib>
#include <cstring>
#include <cublasLt.h>
#include <type_traits>

#include "kernels/cuda/product.h"
#include "kernels/cuda/stopwatch.h"
#include "kernels/cuda/table.h"

namespace
{

enum {
	PLACES = CUDA_PRODUCT_CHOICES,
	BLAS_ERROR = 10000, /* cuBLASLt's errors follow CUDA's */
	MOST_TIMED = 8      /* algorithms of a shape */
};

/* All that an algorithm depends on. Compared as bytes. */
struct key {
	struct product_arguments arguments;
	uint32_t type, epilogue, adds, tf32;
};
static_assert(std::has_unique_object_representations<struct key>::value, "there are no bytes between its members");

static_assert(sizeof(struct key) == sizeof cuda_algorithm::product, "a key is kept as it is");
static_assert(sizeof(cublasLtMatmulAlgo_t) == sizeof cuda_algorithm::algorithm, "and so is an algorithm");

struct place {
	struct key key;
	bool kept;                  /* it was given, or timed */
	bool unchecked;             /* given, and not asked about yet */
	int refusal;                /* the error if cuBLASLt has nothing; 0: it has */
	cublasStatus_t description; /* of one that cannot be described: a bug here, or a library of another version */
	cublasLtMatmulAlgo_t algorithm;
};

struct products {
	bool tf32;
	int used;
	struct place place[PLACES];
};

struct description {
	cublasLtMatmulDescOpaque_t product;
	cublasLtMatrixLayoutOpaque_t a, b, c, d;
};

cudaDataType_t data_type(enum element type)
{
	return type == ELEMENT_FP32 ? CUDA_R_32F : type == ELEMENT_BF16 ? CUDA_R_16BF : CUDA_R_16F;
}

/* Indexed by product_epilogue. Our A is cuBLASLt's B. */
const cublasLtEpilogue_t epilogues[] = {CUBLASLT_EPILOGUE_DEFAULT,  CUBLASLT_EPILOGUE_BIAS,
                                        CUBLASLT_EPILOGUE_GELU_AUX, CUBLASLT_EPILOGUE_GELU_AUX_BIAS,
                                        CUBLASLT_EPILOGUE_DGELU,    CUBLASLT_EPILOGUE_BGRADB,
                                        CUBLASLT_EPILOGUE_BGRADA};

template <typename T>
void set(cublasStatus_t *status, cublasLtMatmulDesc_t d, cublasLtMatmulDescAttributes_t a, T value)
{
	if (!*status)
		*status = cublasLtMatmulDescSetAttribute(d, a, &value, sizeof value);
}

template <typename T>
void set(cublasStatus_t *status, cublasLtMatmulPreference_t p, cublasLtMatmulPreferenceAttributes_t a, T value)
{
	if (!*status)
		*status = cublasLtMatmulPreferenceSetAttribute(p, a, &value, sizeof value);
}

cublasStatus_t describe(const struct product *p, const struct product_arguments *a, bool tf32, struct description *d)
{
	cudaDataType_t type = data_type(p->type);
	cublasStatus_t status = cublasLtMatmulDescInit(
	        &d->product, tf32 && p->type == ELEMENT_FP32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F,
	        CUDA_R_32F);

	set<int32_t>(&status, &d->product, CUBLASLT_MATMUL_DESC_TRANSA, a->a_transposed ? CUBLAS_OP_T : CUBLAS_OP_N);
	set<int32_t>(&status, &d->product, CUBLASLT_MATMUL_DESC_TRANSB, a->b_transposed ? CUBLAS_OP_T : CUBLAS_OP_N);
	set<uint32_t>(&status, &d->product, CUBLASLT_MATMUL_DESC_EPILOGUE, epilogues[p->epilogue]);
	if (p->epilogue == PRODUCT_BIAS || p->epilogue == PRODUCT_GELU_BIAS)
		set<const void *>(&status, &d->product, CUBLASLT_MATMUL_DESC_BIAS_POINTER, p->bias);
	if (p->epilogue == PRODUCT_SUMS_A || p->epilogue == PRODUCT_SUMS_B)
		set<const void *>(&status, &d->product, CUBLASLT_MATMUL_DESC_BIAS_POINTER, p->sums);
	if (p->epilogue == PRODUCT_GELU || p->epilogue == PRODUCT_GELU_BIAS || p->epilogue == PRODUCT_GELU_SLOPE) {
		set<void *>(&status, &d->product, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, p->pre);
		set<int64_t>(&status, &d->product, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, p->c_stride);
	}
	if (!status)
		status = cublasLtMatrixLayoutInit(&d->a, type, a->a_rows, a->a_columns, a->a_leading);
	if (!status)
		status = cublasLtMatrixLayoutInit(&d->b, type, a->b_rows, a->b_columns, a->b_leading);
	if (!status)
		status = cublasLtMatrixLayoutInit(&d->c, type, a->c_rows, a->c_columns, a->c_leading);
	d->d = d->c;
	return status;
}

cublasStatus_t prefer(const struct product_arguments *a, size_t workspace_bytes,
                      cublasLtMatmulPreferenceOpaque_t *preference)
{
	cublasStatus_t status = cublasLtMatmulPreferenceInit(preference);
	set<uint64_t>(&status, preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, workspace_bytes);
	set<uint32_t>(&status, preference, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
	              CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE);
	set<uint32_t>(&status, preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, a->a_alignment);
	set<uint32_t>(&status, preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, a->b_alignment);
	set<uint32_t>(&status, preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, a->c_alignment);
	set<uint32_t>(&status, preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, a->d_alignment);
	return status;
}

struct products *products_of(const struct kernel_context *c)
{
	return static_cast<struct products *>(c->algorithms);
}

/* Puts a product on a stream with this algorithm; the result into `out`. */
cublasStatus_t put(struct kernel_context *c, kernel_stream s, const struct product *p, struct description *d,
                   const cublasLtMatmulAlgo_t *algorithm, void *out)
{
	const float alpha = 1, beta = p->residual ? 1 : 0;
	return cublasLtMatmul((cublasLtHandle_t)c->blas, &d->product, &alpha, p->b, &d->a, p->a, &d->b, &beta,
	                      p->residual ? p->residual : out, &d->c, out, &d->d, algorithm, c->workspace,
	                      c->workspace_bytes, cuda_stream(s));
}

/* ---- which of the algorithms is the fastest ---- */

struct timed {
	struct kernel_context *c;
	kernel_stream s;
	const struct product *p;
	struct description *d;
	const cublasLtMatmulAlgo_t *algorithm;
	void *out; /* memory of its own for a result that is added to itself: it may be added once */
};

int put_timed(void *context)
{
	const struct timed *t = static_cast<const struct timed *>(context);
	return put(t->c, t->s, t->p, t->d, t->algorithm, t->out);
}

/* The number of the fastest; 0, cuBLASLt's own choice, where time cannot be taken. All of them leave the same result
 * where it belongs, up to rounding, and what is chosen overwrites it. */
int fastest(struct kernel_context *c, kernel_stream s, const struct product *p, struct description *d,
            const cublasLtMatmulHeuristicResult_t *found, int n)
{
	const bool adds = p->residual == p->c;
	void *spare = adds ? stopwatch_memory(product_bytes(p)) : nullptr;
	struct timed t = {c, s, p, d, nullptr, spare ? spare : p->c};
	float best = -1;
	int number = 0;
	const bool opened = !adds || spare;
	for (int i = 0; i < n && opened; i++) {
		t.algorithm = &found[i].algo;
		float took = found[i].state ? -1 : stopwatch_run(s, put_timed, &t);
		if (took >= 0 && (best < 0 || took < best)) {
			best = took;
			number = i;
		}
	}
	stopwatch_memory_release(spare);
	return number;
}

bool may_time(const struct kernel_context *c, kernel_stream s)
{
	return c->times_products && stopwatch_may(s);
}

/* Returns 0, or why there is none. */
int choose(struct kernel_context *c, kernel_stream s, const struct product *p, struct description *d,
           struct place *place)
{
	cublasLtMatmulPreferenceOpaque_t preference;
	cublasLtMatmulHeuristicResult_t found[MOST_TIMED];
	int n = 0;
	const bool timed = may_time(c, s);
	cublasStatus_t status = prefer(&place->key.arguments, c->workspace_bytes, &preference);
	if (!status)
		status = cublasLtMatmulAlgoGetHeuristic((cublasLtHandle_t)c->blas, &d->product, &d->a, &d->b, &d->c,
		                                        &d->d, &preference, timed ? MOST_TIMED : 1, found, &n);
	if (status || n < 1)
		return status ? BLAS_ERROR + status : CUDA_ERROR_NO_ALGORITHM;
	int number = timed && n > 1 ? fastest(c, s, p, d, found, n) : 0;
	place->kept = timed;
	place->algorithm = found[number].algo;
	return found[number].state ? BLAS_ERROR + found[number].state : 0;
}

/* Whether a given algorithm is one for this product, within the workspace. */
bool still_serves(struct kernel_context *c, struct description *d, const struct place *place)
{
	cublasLtMatmulHeuristicResult_t result;
	cublasStatus_t status = cublasLtMatmulAlgoCheck((cublasLtHandle_t)c->blas, &d->product, &d->a, &d->b, &d->c,
	                                                &d->d, &place->algorithm, &result);
	return !status && !result.state && result.workspaceSize <= c->workspace_bytes;
}

/* Fills in the place of a product that is met for the first time. */
void decide(struct kernel_context *c, kernel_stream s, const struct product *p, struct place *place)
{
	struct description d;
	place->refusal = CUDA_ERROR_NO_ALGORITHM;
	if (!product_epilogue_fits(p))
		return;
	place->description = describe(p, &place->key.arguments, products_of(c)->tf32, &d);
	if (place->description)
		return;
	if (place->unchecked && still_serves(c, &d, place))
		place->refusal = 0;
	else
		place->refusal = choose(c, s, p, &d, place);
}

struct place *take_place(struct products *all, const struct key *key)
{
	struct place *place = &all->place[all->used++ % PLACES];
	*place = {};
	memcpy(&place->key, key, sizeof *key);
	return place;
}

/* The place of this product's shape. When all are taken, the first ones are used again. */
struct place *find(struct kernel_context *c, kernel_stream s, const struct product *p)
{
	struct products *all = products_of(c);
	const struct key key = {product_arguments_of(p), static_cast<uint32_t>(p->type),
	                        static_cast<uint32_t>(p->epilogue), p->residual != nullptr, all->tf32};
	struct place *place = nullptr;
	for (int i = 0; i < PLACES && i < all->used && !place; i++)
		if (!memcmp(&all->place[i].key, &key, sizeof key))
			place = &all->place[i];
	if (place && !place->unchecked)
		return place;
	place = place ? place : take_place(all, &key);
	decide(c, s, p, place);
	place->unchecked = false;
	return place;
}

} // namespace

int product_open(struct kernel_context *c)
{
	cublasLtHandle_t handle;
	struct products *all = (struct products *)calloc(1, sizeof *all);
	if (!all)
		return cudaErrorMemoryAllocation;
	cublasStatus_t status = cublasLtCreate(&handle);
	if (status) {
		free(all);
		return BLAS_ERROR + status;
	}
	c->blas = handle;
	c->algorithms = all;
	return 0;
}

void product_close(struct kernel_context *c)
{
	if (c->blas)
		(void)cublasLtDestroy((cublasLtHandle_t)c->blas);
	free(c->algorithms);
	c->blas = nullptr;
	c->algorithms = nullptr;
}

void product_allow_tf32(struct kernel_context *c, bool allow)
{
	products_of(c)->tf32 = allow;
}

int product_check(const struct product *p, bool tf32)
{
	struct product_arguments arguments = product_arguments_of(p);
	cublasLtMatmulPreferenceOpaque_t preference;
	struct description d;
	cublasStatus_t status = describe(p, &arguments, tf32, &d);
	return status ? status : prefer(&arguments, 1 << 20, &preference);
}

/* cuBLASLt says so before anything is on the stream. */
static bool is_refusal(cublasStatus_t status)
{
	return status == CUBLAS_STATUS_NOT_SUPPORTED || status == CUBLAS_STATUS_INVALID_VALUE ||
	       status == CUBLAS_STATUS_ARCH_MISMATCH;
}

int product_run(struct kernel_context *c, kernel_stream s, const struct product *p)
{
	struct place *place = find(c, s, p);
	struct description d;
	if (place->description)
		return BLAS_ERROR + place->description;
	if (!place->refusal) {
		cublasStatus_t status = describe(p, &place->key.arguments, products_of(c)->tf32, &d);
		if (!status)
			status = put(c, s, p, &d, &place->algorithm, p->c);
		if (!is_refusal(status))
			return status ? BLAS_ERROR + status : 0;
		place->refusal = BLAS_ERROR + status;
	}
	c->product_refusal = place->refusal;
	return CUDA_ERROR_NO_ALGORITHM;
}

void cuda_cublaslt(int *built, int *here)
{
	*built = CUBLAS_VERSION;
	*here = static_cast<int>(cublasLtGetVersion());
}

void cuda_use_algorithms(struct kernel_context *c, const struct cuda_algorithm *given, int count, bool time)
{
	struct products *all = products_of(c);
	c->times_products = time;
	for (int i = 0; i < count; i++) {
		struct key key;
		if (cuda_attention_is_word(&given[i])) {
			cuda_attention_give(c, &given[i]);
			continue;
		}
		if (cuda_bias_give(c, &given[i]))
			continue;
		memcpy(&key, given[i].product, sizeof key);
		struct place *place = take_place(all, &key);
		memcpy(&place->algorithm, given[i].algorithm, sizeof place->algorithm);
		place->kept = place->unchecked = true;
	}
}

int cuda_algorithms(const struct kernel_context *c, struct cuda_algorithm *out, int most)
{
	const struct products *all = products_of(c);
	int n = 0;
	for (int i = 0; i < PLACES && i < all->used; i++) {
		const struct place *place = &all->place[i];
		if (!place->kept || place->refusal)
			continue;
		if (n < most) {
			memcpy(out[n].product, &place->key, sizeof place->key);
			memcpy(out[n].algorithm, &place->algorithm, sizeof place->algorithm);
		}
		n++;
	}
	n += cuda_attention_tell(c, out + (n < most ? n : most), n < most ? most - n : 0);
	return n + cuda_bias_tell(c, out + (n < most ? n : most), n < most ? most - n : 0);
}
