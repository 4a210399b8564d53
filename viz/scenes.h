/* The list of scenes. To add one, write its file, which defines its row (viz/scene/scene.h), and name it here. */
#ifndef SHARDLAB_VIZ_SCENES_H
#define SHARDLAB_VIZ_SCENES_H

/* constant, name in options, row */
#define SCENE_LIST(X)                                                                                                  \
	X(OVERVIEW, "overview", scene_overview)                                                                        \
	X(RING, "collective", scene_ring)                                                                              \
	X(MEMORY, "memory", scene_memory)                                                                              \
	X(TIMELINE, "timeline", scene_timeline)                                                                        \
	X(PLAN, "plan", scene_plan)

enum scene {
#define X(constant, name, row) SCENE_##constant,
	SCENE_LIST(X)
#undef X
	        SCENE_COUNT
};

/* Their names, as an option's choices: "overview|ring|…". */
#define SCENE_OR_NAME(constant, name, row) "|" name
#define SCENE_CHOICES (&(SCENE_LIST(SCENE_OR_NAME))[1])

#endif
