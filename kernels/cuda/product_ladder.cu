/* The ladder of products: which of shardlab's own kernels makes one. Of cuBLASLt's epilogues they have bias and
 * residual alone: GELU, its slope and the sums of a bias's gradient are passes then. */
#include "kernels/cuda/product.h"
#include "kernels/cuda/table.h"

static bool takes_all(const struct kernel_context *, const struct product *)
{
	return true;
}

static bool tensor_takes(const struct kernel_context *c, const struct product *p)
{
	return c->major >= 8 && product_is_in_pieces(p);
}

static bool hopper_takes(const struct kernel_context *c, const struct product *p)
{
	return product_hopper_is_here(c) && product_is_in_pieces(p);
}

static const struct {
	bool (*takes)(const struct kernel_context *c, const struct product *p);
	int (*run)(kernel_stream s, const struct product *p);
} ladder[CUDA_PRODUCT_RUNGS] = {{nullptr, nullptr}, /* cuBLASLt's */
                                {takes_all, product_plain},
                                {takes_all, product_simple},
                                {tensor_takes, product_tensor},
                                {hopper_takes, product_hopper}};

int product_by_rung(struct kernel_context *c, kernel_stream s, const struct product *p, enum cuda_product_rung most)
{
	int rung = most;
	while (!ladder[rung].takes(c, p))
		rung--;
	c->products.by[rung]++;
	return ladder[rung].run(s, p);
}

void cuda_use_products(struct kernel_context *c, enum cuda_product_rung most)
{
	c->rung_of_products = most;
}
