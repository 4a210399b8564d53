/* For tests of the window: a strategy that is shown, simulated from its words, in a playback and perhaps a window.
 *
 *     START_TEST(…) { open_player("gpt ddp ranks=4", SCENE_RING); … words_of(&playback); … }
 *     SUITE_WITH("pictures", 60, NULL, close_player)
 */
#ifndef SHARDLAB_PLAYER_H
#define SHARDLAB_PLAYER_H

#include "tests/viz/hands.h"
#include "tests/viz/picture_fixture.h"
#include "viz/scene/scene_parts.h"

static struct viewed v;

static inline void open_player(const char *words, enum scene scene)
{
	viewed_open(&v, "%s", words);
	open_playback(&v.shown);
	playback.scene = scene;
}

/* Closes the window and whatever else is open. */
static inline void close_player(void)
{
	close_window();
	close_playback();
	viewed_release(&v);
}

#endif
