/* A GPU's kernels in their simplest form, one thread a row, column or element: what the shipped ones are checked
 * against, on the host and on a GPU. For the host they are linked into the tests; for a GPU they are a library beside
 * the tests, which plain_kernels_of() opens. */
#ifndef SHARDLAB_TESTS_PLAIN_H
#define SHARDLAB_TESTS_PLAIN_H

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "kernels/table.h"

#ifdef __cplusplus
extern "C" {
#endif

#define PLAIN_LIBRARY "tests/gpu/libshardlab-plain.so" /* in the folder of libshardlab-cuda.so */
#define PLAIN_SYMBOL "shardlab_plain_kernels"

/* The table. What it has no plain kernel for is NULL. */
const struct kernel_table *shardlab_plain_kernels(void);

void plain_fill_linear(struct kernel_table *t);
void plain_fill_attention(struct kernel_table *t);
void plain_fill_norm(struct kernel_table *t);
void plain_fill_batch_norm(struct kernel_table *t);
void plain_fill_embedding(struct kernel_table *t);
void plain_fill_classifier(struct kernel_table *t);
void plain_fill_update(struct kernel_table *t); /* optimizers, vectors */
void plain_fill_sliced(struct kernel_table *t); /* kernels/sliced.h */

/* The table of the library that belongs to this libshardlab-cuda.so; NULL if there is none. */
static inline const struct kernel_table *plain_kernels_of(const char *cuda_library)
{
	const char *slash = strrchr(cuda_library, '/');
	const struct kernel_table *(*table)(void) = NULL;
	char path[4096];
	snprintf(path, sizeof path, "%.*s%s", slash ? (int)(slash - cuda_library) + 1 : 0, cuda_library, PLAIN_LIBRARY);
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	void *symbol = library ? dlsym(library, PLAIN_SYMBOL) : NULL;
	memcpy(&table, &symbol, sizeof table); /* ISO C converts no object pointer to a function's */
	return table ? table() : NULL;
}

#ifdef __cplusplus
}
#endif
#endif
