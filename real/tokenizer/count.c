/* How many ids a tokenizer.json has, whatever kind it is: also of those that nothing here can read. */
#include "real/tokenizer/json_file.h"
#include "real/tokenizer/tokenizer.h"

static void take_id(int64_t *size, const json_t *id)
{
	int64_t value = json_integer_value(id);
	if (json_is_integer(id) && value >= *size && value < INT32_MAX)
		*size = value + 1;
}

/* {"token": id, …}, or Unigram's [["token", score], …] */
static void take_vocabulary(int64_t *size, json_t *tokens)
{
	if (json_is_array(tokens))
		*size = (int64_t)json_array_size(tokens);
	for (void *at = json_object_iter(tokens); at; at = json_object_iter_next(tokens, at))
		take_id(size, json_object_iter_value(at));
}

enum status tokenizer_count(const char *path, int64_t *size)
{
	json_t *object;
	enum status s = json_file_read("", path, &object);
	*size = 0;
	if (s)
		return s;
	take_vocabulary(size, json_object_get(json_object_get(object, "model"), "vocab"));
	const json_t *added = json_object_get(object, "added_tokens");
	for (size_t i = 0; i < json_array_size(added); i++)
		take_id(size, json_object_get(json_array_get(added, i), "id"));
	json_decref(object);
	return STATUS_OK;
}
