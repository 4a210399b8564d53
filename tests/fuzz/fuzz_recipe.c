/* Fuzz target: another program's configuration. What is refused says where, on one line; what reads as JSON is what
 * jansson takes for JSON, and the other way round; judging it twice says the same. */
#include <jansson.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/recipe.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* jansson has limits of its own: on numbers, on depth, on zero bytes and halves of characters in texts. */
static bool is_limit(const char *text)
{
	return strstr(text, "too big") || strstr(text, "overflow") || strstr(text, "depth") || strstr(text, "\\u") ||
	       strstr(text, "memory");
}

/* Behind a word jansson passes over a zero byte, which is in no text. */
static bool has_zero(const char *text, size_t size)
{
	return size && memchr(text, 0, size);
}

static void compare_with_jansson(const char *text, size_t size, const struct tree_file *f, bool read)
{
	json_error_t error;
	json_t *json = json_loadb(text, size, 0, &error);
	if (json_is_object(json) && (!read || f->not_json))
		if (read || !strstr(status_message(), "values") || strstr(status_message(), "nested"))
			abort();
	if (!json && read && !f->not_json && !is_limit(error.text))
		abort();
	json_decref(json);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;
	struct arena a = {0};
	struct tree_file f;
	enum status s = tree_read_hjson(&a, text, size, "input", &f);
	if (s)
		fuzz_check_line("input");
	if (has_zero(text, size) ? s != STATUS_INPUT : s && s != STATUS_INPUT)
		abort();
	if (!has_zero(text, size) && (!s || !strstr(status_message(), "nested")))
		compare_with_jansson(text, size, &f, !s);
	arena_release(&a);
	for (int reader = RECIPE_GUESSED; reader < RECIPE_READER_COUNT; reader++) {
		const struct recipe_question q = {
		        .reader = (enum recipe_reader)reader, .model = "gpt2-124m", .ranks = 4};
		fuzz_recipe(text, size, "input", &q);
	}
	return 0;
}
