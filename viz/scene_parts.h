/* Parts of scenes that have files of their own. */
#ifndef SHARDLAB_VIZ_SCENE_PARTS_H
#define SHARDLAB_VIZ_SCENE_PARTS_H

#include "viz/scene.h"

/* Who sent what to whom, and the running totals beside their closed forms. */
void draw_ledger(struct canvas *c, const struct view *v, struct box b);

/* Buffers alive on a rank, largest first. */
void draw_alive(struct canvas *c, const struct view *v, struct box b);

/* Bytes of a rank over the positions of the step, with the cursor. */
void draw_over_time(struct canvas *c, const struct view *v, int index, struct box b);

#endif
