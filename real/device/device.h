/* A rank's device, chosen by name: its memory and its executor.
 *
 *     struct device d;
 *     status = device_open(&d, &plan, rank, &input, &(struct device_choice){.name = "cuda"});
 *     d.rank->weights = …;                              what the rank keeps, wherever its memory is (memory.h)
 *     status = device_start(&d, &choice, communicator);
 *     status = executor_run(d.executor, &d.rank->role->step);
 *     device_release(&d);
 *
 * Another device is a folder beside real/cpu and real/cuda with a struct device_table in it
 * (real/rank/device.h), and a line in device.c.
 */
#ifndef SHARDLAB_DEVICE_H
#define SHARDLAB_DEVICE_H

#include "real/rank/device.h"

/* STATUS_INPUT, with the known names, if there is none of this name. */
enum status device_find(const char *name, const struct device_table **out);

/* Checks libraries, drivers, the GPUs and that the plan fits, before any rank starts. */
enum status device_check(const struct device_choice *c, const struct plan *p);

/* Takes all memory. Release it after a failure too. */
enum status device_open(struct device *d, const struct plan *p, int64_t rank, const struct input_source *input,
                        const struct device_choice *c);
/* communicator: NULL for one rank. It outlives the device. */
enum status device_start(struct device *d, const struct device_choice *c, struct communicator *communicator);
void device_release(struct device *d); /* accepts a zeroed struct */

/* Bytes of the device's memory that libraries took; 0 where that is not measured. */
int64_t device_overhead(const struct device *d, struct report_overhead *out);

/* Adds what has been slower on the device than it could be. */
void device_slowed(const struct device *d, struct report_slowed *out);

#endif
