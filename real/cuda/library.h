/* Finds and opens the library with the GPU's part of the program, and asks it for the GPUs of this machine.
 *
 *     const struct cuda_api *api;
 *     status = cuda_library_open(&api);                  one line if there is none
 *     status = cuda_library_devices(api, &count);        … no driver, an old one, no GPU
 *     status = cuda_library_describe(api, 0, &properties);
 *
 * libshardlab-cuda.so lies beside the executable, or in PREFIX/lib of the executable's PREFIX/bin.
 * SHARDLAB_CUDA_LIBRARY names another file. Failures are STATUS_INPUT ("missing hardware"), except errors during a run.
 */
#ifndef SHARDLAB_CUDA_LIBRARY_H
#define SHARDLAB_CUDA_LIBRARY_H

#include "kernels/cuda/cuda.h"
#include "strategy/base/status.h"

enum status cuda_library_open(const struct cuda_api **out);
/* For tests: this table from now on, instead of the library's; NULL: the library's again. */
void cuda_library_use(const struct cuda_api *api);

/* At least one. */
enum status cuda_library_devices(const struct cuda_api *api, int *count);
/* STATUS_INPUT too if the library has no code for this GPU. */
enum status cuda_library_describe(const struct cuda_api *api, int gpu, struct cuda_properties *out);

/* "GPU 0: <what>: <CUDA's own words>" */
enum status cuda_library_failed(const struct cuda_api *api, enum status status, int error, const char *format, ...)
        __attribute__((format(printf, 4, 5)));

#endif
