/* Chooses the bodies once at start: those of the best instruction level that the processor has. OpenBLAS chooses its
 * core by itself, but a release knows the processors of its day alone. */
#include <cblas.h>
#include <stdlib.h>
#include <strings.h>

#include "kernels/cpu/bodies.h"

#if KERNEL_LEVELS > 1
#include <cpuid.h>
#endif

#define BODY(name, type, level) .name = name##_##type##_level##level,
#define BODIES_32(type, level)                                                                                         \
	{                                                                                                              \
		KERNEL_BODIES(BODY, type, level) KERNEL_BODIES_32(BODY, type, level)                                   \
	}
#define BODIES_16(type, level)                                                                                         \
	{                                                                                                              \
		KERNEL_BODIES(BODY, type, level) KERNEL_BODIES_16(BODY, type, level)                                   \
	}
#if KERNEL_LEVELS > 1
#define LEVELS(BODIES, type, last) BODIES(type, 0), BODIES(type, 1), BODIES(type, 2), BODIES(type, last)
#else
#define LEVELS(BODIES, type, last) BODIES(type, 0)
#endif

/* At the level with BF16, the other types use level 2. */
static const struct kernel_bodies bodies[ELEMENT_TYPES][KERNEL_LEVELS] = {
        [ELEMENT_FP32] = {LEVELS(BODIES_32, fp32, 2)},
        [ELEMENT_BF16] = {LEVELS(BODIES_16, bf16, 3)},
        [ELEMENT_FP16] = {LEVELS(BODIES_16, fp16, 2)},
};

static int level_in_use;

#if KERNEL_LEVELS > 1
/* Conversions of fp16; not every compiler's __builtin_cpu_supports knows the name. */
static bool supports_f16c(void)
{
	unsigned a, b, c, d;
	return __get_cpuid(1, &a, &b, &c, &d) && (c & bit_F16C);
}
#endif

static int level_supported(void)
{
#if KERNEL_LEVELS > 1
	__builtin_cpu_init();
	bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && supports_f16c();
	if (avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
	    __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl"))
		return __builtin_cpu_supports("avx512bf16") ? 3 : 2;
	if (avx2)
		return 1;
#endif
	return 0;
}

__attribute__((constructor)) static void level_choose(void)
{
	level_in_use = level_supported();
}

const struct kernel_bodies *kernel_bodies(enum element type)
{
	return &bodies[type][level_in_use];
}

const char *kernels_instruction_set(void)
{
	static const char *const names[] = {"plain C", "AVX2", "AVX-512", "AVX-512 with BF16"};
	return names[level_in_use];
}

int kernels_limit_instruction_set(int level)
{
	int supported = level_supported();
	level_in_use = level < 0 ? 0 : level < supported ? level : supported;
	return level_in_use;
}

/* ---- OpenBLAS's core ---- */

const char *kernels_blas_core(void)
{
	return openblas_get_corename();
}

/* The cores that OpenBLAS takes on a processor that it does not know. Their products are several times slower than
 * those of the processor's own vectors: a fifth to a tenth of the rate on an Emerald Rapids with OpenBLAS 0.3.21. */
static bool is_general(const char *core)
{
	static const char *const names[] = {"Prescott",   "Generic",   "Core2", "Katmai",
	                                    "Coppermine", "Northwood", "ARMV8"};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (!strcasecmp(core, names[i]))
			return true;
	return false;
}

static const char *core_of_level(int level)
{
	static const char *const names[] = {NULL, "Haswell", "SkylakeX", "SkylakeX"};
	return names[level];
}

static const char *core_asked_for(void)
{
	const char *core = getenv("OPENBLAS_CORETYPE");
	return core && *core ? core : NULL;
}

const char *kernels_better_core(void)
{
	return is_general(kernels_blas_core()) ? core_of_level(level_supported()) : NULL;
}

const char *kernels_forced_core(void)
{
	const char *asked = core_asked_for(), *fits = core_of_level(level_supported());
	return asked && !(fits && !strcasecmp(asked, fits)) ? asked : NULL;
}
