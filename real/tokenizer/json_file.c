#include "real/tokenizer/json_file.h"

#include <stdlib.h>

#include "strategy/base/file.h"

enum status json_file_read(const char *setting, const char *path, json_t **value)
{
	enum { MOST = 256 << 20 };
	char *text;
	size_t size;
	json_error_t error = {.text = ""};
	*value = NULL;
	TRY(file_read(path, "{tokenizer}", MOST, &text, &size));
	*value = json_loadb(text, size, JSON_REJECT_DUPLICATES, &error);
	free(text);
	return *value ? STATUS_OK
	              : status_fail(STATUS_INPUT, "%s%s:%d:%d: not JSON: %.120s", status_words(setting), path,
	                            error.line, error.column, error.text);
}

enum status json_file_read_object(const char *path, json_t **object)
{
	enum status s = json_file_read("", path, object);
	if (s || json_is_object(*object))
		return s;
	json_decref(*object);
	*object = NULL;
	return status_fail(STATUS_INPUT, "%s: not a JSON object", path);
}
