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

namespace
{

enum { PLACES = 96, BLAS_ERROR = 10000 /* cuBLASLt's errors follow CUDA's */ };

/* All that an algorithm depends on. Compared as bytes. */
struct key {
	struct product_arguments arguments;
	uint32_t type, epilogue, adds, tf32;
};
static_assert(std::has_unique_object_representations<struct key>::value, "there are no bytes between its members");

struct place {
	struct key key;
	bool supported;
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

/* By product_epilogue. Our A is its B. */
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

bool choose(struct kernel_context *c, const struct product_arguments *a, struct description *d,
            cublasLtMatmulAlgo_t *out)
{
	cublasLtMatmulPreferenceOpaque_t preference;
	cublasLtMatmulHeuristicResult_t found;
	int n = 0;
	cublasStatus_t status = prefer(a, c->workspace_bytes, &preference);
	if (!status)
		status = cublasLtMatmulAlgoGetHeuristic((cublasLtHandle_t)c->blas, &d->product, &d->a, &d->b, &d->c,
		                                        &d->d, &preference, 1, &found, &n);
	if (status || n < 1 || found.state)
		return false;
	*out = found.algo;
	return true;
}

/* The place of this product's shape. When all are taken, the first ones are used again. */
struct place *find(struct kernel_context *c, const struct product *p)
{
	struct products *all = (struct products *)c->products;
	const struct key key = {product_arguments_of(p), static_cast<uint32_t>(p->type),
	                        static_cast<uint32_t>(p->epilogue), p->residual != nullptr, all->tf32};

	for (int i = 0; i < PLACES && i < all->used; i++)
		if (!memcmp(&all->place[i].key, &key, sizeof key))
			return &all->place[i];

	struct place *place = &all->place[all->used++ % PLACES];
	struct description d;
	memcpy(&place->key, &key, sizeof key);
	bool fits = product_epilogue_fits(p);
	place->description = fits ? describe(p, &key.arguments, all->tf32, &d) : CUBLAS_STATUS_SUCCESS;
	place->supported = fits && !place->description && choose(c, &key.arguments, &d, &place->algorithm);
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
	c->products = all;
	return 0;
}

void product_close(struct kernel_context *c)
{
	if (c->blas)
		(void)cublasLtDestroy((cublasLtHandle_t)c->blas);
	free(c->products);
	c->blas = nullptr;
	c->products = nullptr;
}

void product_allow_tf32(struct kernel_context *c, bool allow)
{
	((struct products *)c->products)->tf32 = allow;
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
	struct place *place = find(c, p);
	struct product_arguments arguments = product_arguments_of(p);
	const float alpha = 1, beta = p->residual ? 1 : 0;
	struct description d;
	if (place->description)
		return BLAS_ERROR + place->description;
	if (!place->supported)
		return CUDA_ERROR_NO_ALGORITHM;
	cublasStatus_t status = describe(p, &arguments, ((struct products *)c->products)->tf32, &d);
	if (!status)
		status = cublasLtMatmul((cublasLtHandle_t)c->blas, &d.product, &alpha, p->b, &d.a, p->a, &d.b, &beta,
		                        p->residual ? p->residual : p->c, &d.c, p->c, &d.d, &place->algorithm,
		                        c->workspace, c->workspace_bytes, s);
	if (is_refusal(status)) {
		place->supported = false;
		return CUDA_ERROR_NO_ALGORITHM;
	}
	return status ? BLAS_ERROR + status : 0;
}
