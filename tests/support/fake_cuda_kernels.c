/* The fake GPU's kernels: a table behind a queue, the CPU's or the one that is shipped. A call's parameters are kept
 * until the stream comes to them, structures by value, and then that table's kernel of the same name has them. */
#include <stdio.h>
#include <stdlib.h>

#include "tests/support/fake_cuda_internal.h"

/* The CPU's, but for linear_backward; or those of fake_settings.shipped. */
static struct kernel_table kernels;

static void must_be_done(const char *name, int error)
{
	if (!error)
		return;
	fprintf(stderr, "fatal: the fake GPU: %s: error %d\n", name, error);
	abort();
}

/* A gradient that is to go through GELU does so when the layer that had it comes for it, as on the CPU: the bits are
 * the same then. That layer comes next on the stream. */
static int linear_backward_late(struct kernel_context *c,
                                kernel_stream s PARAMETERS_linear_backward(KERNEL_VALUE, KERNEL_SHAPE))
{
	static _Thread_local const void *waiting, *waiting_pre;
	struct linear_shape own = *shape;
	if (waiting && waiting == dy) {
		own.activation = ACTIVATION_GELU_TANH;
		pre = waiting_pre;
	}
	waiting_pre = x_pre;
	waiting = x_pre ? dx : NULL;
	return cpu_kernels.linear_backward(c, s, &own, dy, x, weight, pre, NULL, dx, dweight, accumulate_weight, dbias,
	                                   accumulate_bias);
}

#define FIELD_VALUE(type, name) type name;
#define FIELD_SHAPE(type, name) struct type name;
#define KEEP_VALUE(type, name) .name = name,
#define KEEP_SHAPE(type, name) .name = *name,
#define GIVE_VALUE(type, name) , kept->name
#define GIVE_SHAPE(type, name) , &kept->name
#define PUSH_ANYWHERE fake_push
#define PUSH_WORKSPACE fake_push_working
/* clang-format off */
#define KERNEL(name, place)                                                                                            \
	struct call_##name {                                                                                           \
		PARAMETERS_##name(FIELD_VALUE, FIELD_SHAPE)                                                            \
	};                                                                                                             \
	static void run_##name(const void *arguments)                                                                  \
	{                                                                                                              \
		const struct call_##name *kept = arguments;                                                            \
		must_be_done(#name, kernels.name(fake_settings.shipped_on,                                             \
		                                 NULL PARAMETERS_##name(GIVE_VALUE, GIVE_SHAPE)));                     \
	}                                                                                                              \
	static int put_##name(struct kernel_context *c, kernel_stream s PARAMETERS_##name(KERNEL_VALUE, KERNEL_SHAPE)) \
	{                                                                                                              \
		const struct call_##name kept = {PARAMETERS_##name(KEEP_VALUE, KEEP_SHAPE)};                           \
		return PUSH_##place(c, s, run_##name, &kept, sizeof kept);                                             \
	}
#include "kernels/table.def"
/* clang-format on */

void fake_fill_kernels(struct kernel_table *t)
{
	kernels = fake_settings.shipped ? fake_settings.shipped->kernels : cpu_kernels;
	if (!fake_settings.shipped)
		kernels.linear_backward = linear_backward_late;
#define KERNEL(name, place) t->name = put_##name;
#include "kernels/table.def"
}
