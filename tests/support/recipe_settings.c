#define _GNU_SOURCE /* strsep */
#include "tests/support/recipe_settings.h"

#include <stdlib.h>
#include <string.h>

#include "strategy/settings/settings.h"
#include "tests/support/suite.h"

static void must_have(const struct recipe *r, const char *setting)
{
	size_t n = strcspn(setting, "=");
	int i = 0;
	while (strlen(setting_rows[i].name) != n || strncmp(setting_rows[i].name, setting, n) != 0)
		ck_assert_int_lt(++i, SETTING_COUNT);
	const char *got = recipe_pair_find(r, (enum setting)i);
	ck_assert_msg(got && !strcmp(got, setting + n + 1), "%s, and not %s", got ? got : "nothing", setting);
}

void must_have_settings(const struct recipe *r, const char *list)
{
	char *copy = strdup(list), *rest = copy;
	ck_assert_ptr_nonnull(copy);
	for (char *one; (one = strsep(&rest, " "));)
		must_have(r, one);
	free(copy);
}
