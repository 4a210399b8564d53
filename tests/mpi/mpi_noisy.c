/* All cases of mpi_shipped, with kernels that round as a GPU's do: products fused into sums, exp2 off by a unit in the
 * last place, sums over k in parts. The limits of losses hold all the same.
 *
 * ranks: 1 2 4
 */
#define SHIPPED_NAME "mpi_noisy"
#define SHIPPED_ALL true
#include "tests/mpi/mpi_shipped.c" /* NOLINT(bugprone-suspicious-include) */
