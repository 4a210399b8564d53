/* Fuzz target: TOML, and a torchtitan configuration in it. What is refused says where, on one line. */
#include <stddef.h>
#include <stdint.h>

#include "tests/fuzz/recipe.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	for (int ranks = 0; ranks <= 8; ranks += 8) {
		const struct recipe_question q = {.reader = RECIPE_GUESSED, .ranks = ranks};
		fuzz_recipe((const char *)data, size, "input.toml", &q);
	}
	return 0;
}
