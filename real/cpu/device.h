/* The CPU as a device. */
#ifndef SHARDLAB_CPU_DEVICE_H
#define SHARDLAB_CPU_DEVICE_H

#include "real/rank/device.h"

extern const struct device_table cpu_device_table;

/* The CPU executor: a thread for each queue that the program uses; the compute queue's is the caller's. communicator
 * NULL: there is one rank. Memory and communicator outlive the executor; executor_close closes it, also after a
 * failure. */
enum status cpu_executor_open(struct executor **out, struct rank_memory *memory, struct communicator *communicator);

#endif
