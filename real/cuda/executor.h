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
 * A step that runs on the GPU alone (one rank, or NCCL; nothing that the host computes) is captured after two eager
 * steps, once for even and once for odd steps, whose samples lie in two places, and replayed from then on. Spans come
 * from events around every operation of the last eager step. Of a replayed step only the total time is measured; its
 * compute and communication times are those of the last eager step.
 *
 * `ring` and `mpi` move device memory through pinned memory: copy out, run the collective on the host's copy, copy in.
 * `nccl` moves it directly. A collective of one rank is no call.
 */
#ifndef SHARDLAB_CUDA_EXECUTOR_H
#define SHARDLAB_CUDA_EXECUTOR_H

#include "real/cuda/device.h"
#include "real/rank/executor.h"

/* communicator NULL: there is one rank. executor_close closes it. */
enum status cuda_executor_open(struct executor **out, struct cuda_device *device, struct communicator *communicator,
                               const struct device_choice *choice);

/* Turns capturing on or off from the next step on. `choice` says how it begins. */
void cuda_executor_replay(struct executor *e, bool yes);

#endif
