#include "real/cpu/operations.h"

enum status (*const cpu_operation_table[OP_KIND_COUNT])(struct rank_memory *d, const struct op *op) = {
#define X(kind, function) [OP_##kind] = function,
        CPU_OPERATION_LIST(X)
#undef X
};
