/* The measured choice of cuBLASLt's algorithm for each shape of product. It is kept in a file beside the GPUs'
 * calibration, one for each kind of card and version of cuBLASLt, so that a run has the same bits as the one before.
 *
 *     ~/.config/shardlab/algorithms-NVIDIA-H200-130100.txt
 *
 *     shardlab algorithms 1
 *     <15 words of a product> <8 words of an algorithm>          in hexadecimal, a line each
 *
 * `--autotune` times the shapes that the file lacks and adds them; other runs read it, and have cuBLASLt's own choice
 * for what it lacks.
 */
#ifndef SHARDLAB_CUDA_ALGORITHMS_H
#define SHARDLAB_CUDA_ALGORITHMS_H

#include <stddef.h>
#include <stdio.h>

#include "real/cuda/device.h"

enum { CUDA_ALGORITHMS_MOST = CUDA_CHOICES }; /* as many as the library has places for */

/* The text of such a file; `path` is for the message. The caller frees *out. STATUS_INPUT: "path:line: what". */
enum status cuda_algorithms_read(const char *text, size_t size, const char *path, struct cuda_algorithm **out,
                                 int *count);
void cuda_algorithms_print(const struct cuda_algorithm *a, int count, FILE *out);

/* Gives the library what the file has, if there is one. `time`: and tells it to time the others. */
enum status cuda_algorithms_use(struct cuda_device *c, bool time);
/* Writes what the library has found out, at rank 0 of a run that times. */
enum status cuda_algorithms_keep(const struct cuda_device *c);

#endif
