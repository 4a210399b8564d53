/* Fuzz target: TOML, and a torchtitan configuration in it. What is refused says where, on one line. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "strategy/recipe/recipe.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_line(void)
{
	const char *line = status_message();
	if (strncmp(line, "input.toml:", 11) != 0 || strchr(line, '\n'))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	for (int ranks = 0; ranks <= 8; ranks += 8) {
		const struct recipe_question q = {.reader = RECIPE_GUESSED, .ranks = ranks};
		struct recipe r;
		if (recipe_read(&r, (const char *)data, size, "input.toml", &q)) {
			check_line();
			continue;
		}
		if (recipe_plan(&r))
			check_line();
		recipe_release(&r);
	}
	return 0;
}
