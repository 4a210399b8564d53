/* Arguments of another program's events: those that say something to a reader, in words. */
#include <stdio.h>
#include <string.h>

#include "strategy/trace/trace_foreign.h"

/* As Kineto and PyTorch write them (libkineto/src/output_json.cpp; ParamCommsUtils.hpp for collectives). */
static const struct {
	const char *key, *before, *after;
} shown[] = {
        {"device", ", device ", ""},    {"stream", ", stream ", ""},
        {"Collective name", ", ", ""},  {"In msg nelems", " of ", " elements"},
        {"dtype", " of ", ""},          {"Group size", " on ", " ranks"},
        {"bytes", ", ", " B"},          {"memory bandwidth (GB/s)", " at ", " GB/s"},
        {"Input Dims", ", input ", ""},
};
enum { SHOWN = sizeof shown / sizeof shown[0], ARGS_SIZE = 160, VALUE = 60 };

/* A text without its quotes, anything else as it stands. */
static struct stream_text read_value(struct json_stream *j)
{
	struct stream_text value = {0};
	if (stream_peek(j) == '"') {
		stream_string(j, &value);
		return value;
	}
	const char *begin = j->at;
	if (stream_skip(j))
		value = (struct stream_text){.text = begin, .size = (size_t)(j->at - begin)};
	return value;
}

const char *foreign_args(struct arena *a, const struct stream_text *args)
{
	struct json_stream j = {.at = args->text, .begin = args->text, .end = args->text + args->size, .name = "args"};
	struct stream_text key, value[SHOWN] = {{0}};
	char out[ARGS_SIZE] = "";
	size_t at = 0;
	if (!args->size || !stream_enter(&j, '{'))
		return NULL;
	while (stream_key(&j, &key)) {
		size_t i = 0;
		while (i < SHOWN && !stream_is(&key, shown[i].key))
			i++;
		if (i < SHOWN)
			value[i] = read_value(&j);
		else
			stream_skip(&j);
	}
	for (int i = 0; i < SHOWN; i++)
		if (value[i].size && at < sizeof out)
			at += (size_t)snprintf(out + at, sizeof out - at, "%s%.*s%s%s",
			                       shown[i].before + (at ? 0 : strspn(shown[i].before, ", ")),
			                       (int)(value[i].size < VALUE ? value[i].size : VALUE), value[i].text,
			                       value[i].size > VALUE ? "…" : "", shown[i].after);
	if (!at)
		return NULL;
	struct stream_text text = {.text = out, .size = strlen(out), .escaped = true};
	return stream_copy(a, &text, true, NULL);
}
