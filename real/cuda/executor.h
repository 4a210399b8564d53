/* The CUDA executor: carries out one rank's program on a GPU. Queues are streams, waits are events, and one thread puts
 * operations on streams in issue order.
 *
 *     compute stream          op ─ op ─ record ── op ── wait ─ op ─ …
 *                                        └─────┐        ▲
 *     communication stream          wait ─ all-reduce ─ record ─ …
 *     host stream                      └ wait ─ adamw ─ …               host_call: the CPU's operations
 *
 * The compute stream forks into the others when a section begins, and they join it when the section ends.
 *
 * Steps of which every operation is the GPU's (one rank, or NCCL; nothing that the host computes) are captured after
 * two eager ones, once for even and once for odd steps (samples lie in two places), and replayed from then on. Spans
 * are of the last eager step: events around every operation. Of a replayed step the time is measured; what its compute
 * and communication took is that of the last eager step.
 *
 * `ring` and `mpi` move device memory by way of pinned memory of the host: out, the collective on the host's copy, and
 * in. `nccl` moves it itself. Collectives of one rank are no calls.
 */
#ifndef SHARDLAB_CUDA_EXECUTOR_H
#define SHARDLAB_CUDA_EXECUTOR_H

#include "real/cuda/device.h"
#include "real/rank/executor.h"

/* communicator NULL: there is one rank. executor_close closes it. */
enum status cuda_executor_open(struct executor **out, struct cuda_device *device, struct communicator *communicator,
                               const struct device_choice *choice);

/* Captures steps that can be captured, or not, from the next on; at first as `choice` says. */
void cuda_executor_replay(struct executor *e, bool yes);

/* Steps that were replayed so far. */
int64_t cuda_executor_replayed(const struct executor *e);

#endif
