/* Finds the GPU to run checks on, if there is one.
 *
 *     struct gpu gpu;
 *     enum gpu_found found = gpu_find(&gpu);
 *     if (found != GPU_FOUND)
 *             puts(gpu.why), exit(found);
 *
 * No card, no driver, or a build without CUDA is no fault: checks are skipped. A card whose driver does not answer, is
 * too old, or that the library has no code for, is an error.
 */
#ifndef SHARDLAB_TESTS_GPU_H
#define SHARDLAB_TESTS_GPU_H

#include "kernels/cuda/cuda.h"

/* Exit statuses, as tools/run-tests.sh reads them. */
enum gpu_found { GPU_FOUND = 0, GPU_BROKEN = 1, GPU_MISSING = 77 };

struct gpu {
	const struct cuda_api *api;
	int devices;
	struct cuda_properties properties; /* of the first */
	char why[1024];                    /* one line: what is missing, or broken */
};

enum gpu_found gpu_find(struct gpu *out);

#endif
