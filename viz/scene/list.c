#include "viz/scenes.h"

#include <string.h>

#include "viz/scene/scene_parts.h"

static const struct {
	const char *name;
	const struct scene_row *row;
} scenes[SCENE_COUNT] = {
#define X(constant, name, row) {name, &(row)},
        SCENE_LIST(X)
#undef X
};

const char *scene_name(enum scene s)
{
	return scenes[s].name;
}

const struct scene_row *scene_row(enum scene s)
{
	return scenes[s].row;
}

bool scene_parse(const char *name, enum scene *out)
{
	for (int i = 0; i < SCENE_COUNT; i++)
		if (!strcmp(name, scenes[i].name)) {
			*out = (enum scene)i;
			return true;
		}
	return false;
}

/* A trace of another program has only lanes. */
const struct scene_row *scene_of(const struct view *v)
{
	if (v->upright)
		return v->scene == SCENE_RING ? &scene_ring_alone : &scene_upright;
	return scene_row(v->state ? v->scene : SCENE_TIMELINE);
}
