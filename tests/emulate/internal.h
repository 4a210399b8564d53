/* Calls by which the emulator's files tell the watcher. */
#ifndef SHARDLAB_CUDA_EMULATE_INTERNAL_H
#define SHARDLAB_CUDA_EMULATE_INTERNAL_H

#include "tests/emulate/watch.h"

/* Variables of the emulator that kernels read: no memory of theirs. */
#define EMULATE_OWN __attribute__((section("emulate_own")))

/* Set while a kernel's own code runs and somebody watches. */
extern bool emulate_told;

/* Tells the one who watches, if there is one and it is a kernel's memory. */
void emulate_tell(emulate_kind kind, const void *p, size_t bytes, const void *site);
void emulate_tell_arrived(emulate_kind kind, const void *p, size_t bytes, const void *site);

#endif
