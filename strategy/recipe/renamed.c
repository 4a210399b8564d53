/* Keys that have another name today. */
#include <string.h>

#include "strategy/recipe/reader.h"

static const struct recipe_renamed renamed[] = {
#define RENAMED(reader, path, now, how) {RECIPE_##reader, path, now, how},
#include "strategy/recipe/renamed.def"
#undef RENAMED
};

const struct recipe_renamed *recipe_renamed_at(int i)
{
	return (size_t)i < sizeof renamed / sizeof renamed[0] ? &renamed[i] : NULL;
}

const struct recipe_renamed *table_renamed(const struct recipe_table *t, const char *path)
{
	const struct recipe_renamed *r;
	for (int i = 0; (r = recipe_renamed_at(i)); i++)
		if (recipe_tables[r->reader] == t && !strcmp(r->path, path))
			return r;
	return NULL;
}
