/* calibrate --step, --peak, --trace: a stack from steps of the user's own, without running anything. */
#ifndef SHARDLAB_CALIBRATE_OWN_H
#define SHARDLAB_CALIBRATE_OWN_H

#include "cli/options/options.h"

bool calibrate_is_own(const struct options *o);
/* STATUS_INPUT: an option that belongs to the other way of calibrating. */
enum status calibrate_check_options(const struct options *o);
enum status calibrate_own(const struct options *o);

#endif
