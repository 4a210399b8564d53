/* Fuzz target: an Accelerate configuration in YAML. What is refused says where, on one line. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "strategy/recipe/recipe.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_line(void)
{
	const char *line = status_message();
	if (strncmp(line, "input.yaml:", 11) != 0 || strchr(line, '\n'))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct recipe_question q = {.reader = RECIPE_GUESSED, .ranks = 4};
	struct recipe r;
	if (recipe_read(&r, (const char *)data, size, "input.yaml", &q)) {
		check_line();
		return 0;
	}
	if (recipe_plan(&r))
		check_line();
	recipe_release(&r);
	return 0;
}
