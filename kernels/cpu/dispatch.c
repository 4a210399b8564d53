/* Which bodies run: the best instruction level that the processor has, chosen once at start. */
#include "kernels/cpu/bodies.h"

static const struct kernel_bodies levels[KERNEL_LEVELS] = {
#define X(name) .name = name##_level0,
        {.instruction_set = "plain C", KERNEL_BODIES(X)},
#undef X
#if KERNEL_LEVELS > 1
#define X(name) .name = name##_level1,
        {.instruction_set = "AVX2", KERNEL_BODIES(X)},
#undef X
#define X(name) .name = name##_level2,
        {.instruction_set = "AVX-512", KERNEL_BODIES(X)},
#undef X
#endif
};

static int level_in_use;

static int level_supported(void)
{
#if KERNEL_LEVELS > 1
	__builtin_cpu_init();
	bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
	if (avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
	    __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl"))
		return 2;
	if (avx2)
		return 1;
#endif
	return 0;
}

__attribute__((constructor)) static void level_choose(void)
{
	level_in_use = level_supported();
}

const struct kernel_bodies *kernel_bodies(void)
{
	return &levels[level_in_use];
}

const char *kernels_instruction_set(void)
{
	return levels[level_in_use].instruction_set;
}

int kernels_limit_instruction_set(int level)
{
	int supported = level_supported();
	level_in_use = level < 0 ? 0 : level < supported ? level : supported;
	return level_in_use;
}
