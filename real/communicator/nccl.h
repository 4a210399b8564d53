/* NCCL's collectives, put on a CUDA stream. The library is opened when it is asked for (libnccl.so.2); where the
 * program was compiled without its header, every call is an error that says so.
 *
 * The communicator of all ranks is opened: they find each other through one over MPI, on which the first sends NCCL's
 * id. Those of groups are split off it and share its memory and connections, of which each would take hundreds of MB
 * and a second. Bytes sent inside the library cannot be counted.
 *
 *     status = nccl_open(&n, members);                  collective over the members
 *     status = nccl_split(&group, n, colour, place);    … over n's
 *     status = nccl_run(n, &collective, stream);        returns at once
 *     status = nccl_watch(n);                           between steps, or while waiting: has a peer died?
 *     nccl_close(n, false);
 */
#ifndef SHARDLAB_COMMUNICATOR_NCCL_H
#define SHARDLAB_COMMUNICATOR_NCCL_H

#include "kernels/cuda/cuda.h"
#include "real/communicator/communicator.h"

struct nccl;

/* STATUS_INPUT, and a line, if NCCL is missing. */
enum status nccl_check(void);

/* members: their ranks are NCCL's. The device of the calling thread is theirs. */
enum status nccl_open(struct nccl **out, struct communicator *members);
/* The ranks of `of` with this colour, in the order of their places; colour -1: this rank is in none, and *out NULL. All
 * ranks of `of` call it. `of` is closed after them. */
enum status nccl_split(struct nccl **out, struct nccl *of, int colour, int place);
/* abort: without the others, when a peer is dead. */
void nccl_close(struct nccl *n, bool abort); /* accepts NULL */

enum status nccl_run(struct nccl *n, const struct collective *what, kernel_stream stream);
enum status nccl_sum(struct nccl *n, float *values, int64_t count, kernel_stream stream);
enum status nccl_message(struct nccl *n, const struct point_to_point *what, kernel_stream stream);

/* STATUS_RUN when an operation under way has failed; then close with `abort`. */
enum status nccl_watch(struct nccl *n);

#endif
