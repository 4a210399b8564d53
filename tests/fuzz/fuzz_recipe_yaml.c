/* Fuzz target: an Accelerate configuration in YAML. What is refused says where, on one line. */
#include <stddef.h>
#include <stdint.h>

#include "tests/fuzz/recipe.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct recipe_question q = {.reader = RECIPE_GUESSED, .ranks = 4};
	fuzz_recipe((const char *)data, size, "input.yaml", &q);
	return 0;
}
