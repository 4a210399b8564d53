/* Shared by the fuzz targets of configurations: reads a text, and holds each refusal to one line that says where. */
#ifndef SHARDLAB_FUZZ_RECIPE_H
#define SHARDLAB_FUZZ_RECIPE_H

#include <stdlib.h>
#include <string.h>

#include "strategy/recipe/recipe.h"

/* where: the file's name. */
static inline void fuzz_check_line(const char *where)
{
	const char *line = status_message();
	size_t n = strlen(where);
	if (strncmp(line, where, n) != 0 || line[n] != ':' || strchr(line, '\n'))
		abort();
}

static inline void fuzz_recipe(const char *text, size_t size, const char *where, const struct recipe_question *q)
{
	struct recipe r;
	if (recipe_read(&r, text, size, where, q)) {
		fuzz_check_line(where);
		return;
	}
	if (recipe_plan(&r))
		fuzz_check_line(where);
	recipe_release(&r);
}

#endif
