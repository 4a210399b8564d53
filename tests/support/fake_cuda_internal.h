/* What the two files of the fake GPU share: work that waits on a stream. */
#ifndef SHARDLAB_TESTS_FAKE_CUDA_INTERNAL_H
#define SHARDLAB_TESTS_FAKE_CUDA_INTERNAL_H

#include "tests/support/fake_cuda.h"

union argument {
	int64_t whole;
	double real;
	void *at;
};

enum { FAKE_ARGUMENTS = 20 };

/* A kernel's arguments, in the order in which it was given them. */
struct arguments {
	union argument a[FAKE_ARGUMENTS];
};

#define WHOLE(x) ((union argument){.whole = (int64_t)(x)})
#define REAL(x) ((union argument){.real = (x)})
#define AT(x) ((union argument){.at = (void *)(uintptr_t)(x)})

/* Puts a kernel on a stream. */
int fake_push(struct cuda *c, cuda_stream s, void (*kernel)(const struct arguments *g), const struct arguments *g);
/* A copy that lives as long as the device. */
void *fake_keep(struct cuda *c, const void *bytes, size_t size);

void fake_fill_kernels(struct cuda_api *api); /* fake_cuda_kernels.c */

#endif
