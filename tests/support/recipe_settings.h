/* Checks the settings that a configuration became. */
#ifndef SHARDLAB_TEST_RECIPE_SETTINGS_H
#define SHARDLAB_TEST_RECIPE_SETTINGS_H

#include "strategy/recipe/recipe.h"

/* list: "strategy=zero2 bucket=50000000": each of these is among the recipe's settings, with this value. */
void must_have_settings(const struct recipe *r, const char *list);

#endif
