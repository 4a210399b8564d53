/* The bytes of a checkpoint, of the state alone: what a rank writes in section save, and reads in section restore. They
 * are those of fp32, without padding and the headers of files; a file that a real run writes has as many. */
#ifndef SHARDLAB_SAVED_H
#define SHARDLAB_SAVED_H

#include "strategy/plan/plan.h"

/* section: SECTION_SAVE or SECTION_RESTORE; 0 of a plan without checkpoints. */
int64_t plan_saved_bytes(const struct plan *p, enum section_kind section, int64_t rank);

#endif
