/* The CPU as a device. */
#ifndef SHARDLAB_CPU_DEVICE_H
#define SHARDLAB_CPU_DEVICE_H

#include "real/rank/device.h"

extern const struct device_table cpu_device_table;

#endif
