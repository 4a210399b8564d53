/* NCCL for tests, on streams of tests/support/fake_cuda.h and over MPI. As NCCL has it, a communicator that is
 * destroyed waits for the graphs that captured it: here that ends the program with a line. Stricter than NCCL, what was
 * not used before in an eager step (a collective; a peer) is an error in a capture, since it would have to connect
 * there; so is a message to oneself outside of a group.
 *
 *     if (!fake_nccl())
 *             … there is no nccl.h …
 *     … train_run with device "cuda" and communicator "nccl", on every rank …
 *     ranks_check(fake_nccl_calls() > 0, "…");
 */
#ifndef SHARDLAB_TESTS_FAKE_NCCL_H
#define SHARDLAB_TESTS_FAKE_NCCL_H

#include <stdbool.h>
#include <stdint.h>

/* Puts it in NCCL's place. MPI is initialized. */
bool fake_nccl(void);
/* Collectives and groups of messages that were carried out. */
int64_t fake_nccl_calls(void);

#endif
