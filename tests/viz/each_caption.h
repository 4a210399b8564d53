/* The captions of a step. */
#ifndef SHARDLAB_EACH_CAPTION_H
#define SHARDLAB_EACH_CAPTION_H

#include "tests/support/viewed.h"
#include "viz/scene/scene.h"

/* Gives each caption of a step to `look`, with the event that it begins with. */
static inline void each_caption(const struct timeline *s, enum step_size step_size,
                                void (*look)(const struct state *st, const char *caption))
{
	struct state st = {0};
	for (size_t k = 0; k < s->stop_count[step_size]; k++) {
		char caption[CAPTION_SIZE];
		state_make(&st, s, step_size, timeline_stop(s, step_size, k));
		caption_make(&st, caption, sizeof caption);
		look(&st, caption);
	}
	state_release(&st);
}

#endif
