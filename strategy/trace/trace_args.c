/* Arguments of another program's events: those that say something to a reader, in words. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "strategy/trace/gpu_names.h"
#include "strategy/trace/trace_foreign.h"

/* Arguments as Kineto and PyTorch write them (libkineto/src/output_json.cpp; ParamCommsUtils.hpp for collectives):
 * constant, key, before and after its value. */
#define ARGUMENT_LIST(X)                                                                                               \
	X(DEVICE, "device", ", device ", "")                                                                           \
	X(STREAM, "stream", ", stream ", "")                                                                           \
	X(COLLECTIVE, "Collective name", ", ", "")                                                                     \
	X(IN, "In msg nelems", " of ", " elements")                                                                    \
	X(TYPE, "dtype", " of ", "")                                                                                   \
	X(RANKS, "Group size", " on ", " ranks")                                                                       \
	X(BYTES, "bytes", ", ", " B")                                                                                  \
	X(RATE, "memory bandwidth (GB/s)", " at ", " GB/s")                                                            \
	X(DIMENSIONS, "Input Dims", ", input ", "")                                                                    \
	X(OUT, "Out msg nelems", NULL, NULL) /* not shown */                                                           \
	X(INPUT_TYPE, "Input type", NULL, NULL)

enum argument {
#define X(constant, key, before, after) ARGUMENT_##constant,
	ARGUMENT_LIST(X)
#undef X
	        ARGUMENTS
};

static const struct {
	const char *key, *before, *after;
} shown[] = {
#define X(constant, key, before, after) {key, before, after},
        ARGUMENT_LIST(X)
#undef X
};
enum { ARGS_SIZE = 160, VALUE = 60 };

/* Types as PyTorch names them, the bytes of an element, and the type in C++, as inputs have it. */
static const struct {
	const char *name;
	int64_t bytes;
	const char *input;
} types[] = {{"Double", 8, "double"},   {"Long", 8, "long int"},      {"Float", 4, "float"},
             {"Int", 4, "int"},         {"Half", 2, "c10::Half"},     {"BFloat16", 2, "c10::BFloat16"},
             {"Short", 2, "short int"}, {"Byte", 1, "unsigned char"}, {"Char", 1, "signed char"},
             {"Bool", 1, "bool"}};

static int64_t whole(const struct stream_text *value)
{
	int64_t n = 0;
	return value->size && stream_text_whole(value, &n) && n > 0 ? n : 0;
}

/* A collective's size is the larger of its input and output, as nccl-tests count it. */
static int64_t bytes_of(const struct stream_text *value)
{
	int64_t in = whole(&value[ARGUMENT_IN]), out = whole(&value[ARGUMENT_OUT]), most = in > out ? in : out;
	for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
		if (most && most < INT64_MAX / 8 && stream_is(&value[ARGUMENT_TYPE], types[i].name))
			return most * types[i].bytes;
	return whole(&value[ARGUMENT_BYTES]);
}

/* The elements of "[[32, 1024], [8]]", where a list in the list is a tensor; 0: it is no such text, or has too many. */
static int64_t elements_of(const struct stream_text *dimensions)
{
	int64_t sum = 0, product = 1, n;
	const char *at = dimensions->text, *end = at + dimensions->size;
	for (int depth = 0; at < end; at++) {
		size_t digits = 0;
		while (at + digits < end && isdigit((unsigned char)at[digits]))
			digits++;
		struct stream_text number = {.text = at, .size = digits};
		depth += (*at == '[') - (*at == ']');
		if (*at == '[')
			product = 1;
		else if (*at == ']' && depth == 1 && __builtin_add_overflow(sum, product, &sum))
			return 0;
		if (digits && (!stream_text_whole(&number, &n) || __builtin_mul_overflow(product, n, &product)))
			return 0;
		at += digits ? digits - 1 : 0;
	}
	return sum;
}

/* Bytes of a host's collective, recorded with record_shapes. The first input's type holds for all. */
static int64_t bytes_of_inputs(const struct stream_text *value)
{
	const struct stream_text *type = &value[ARGUMENT_INPUT_TYPE];
	int64_t elements = elements_of(&value[ARGUMENT_DIMENSIONS]);
	for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
		size_t size = strlen(types[i].input);
		if (elements > 0 && elements < INT64_MAX / 8 && type->size > size + 2 && type->text[1] == '"' &&
		    type->text[size + 2] == '"' && !memcmp(type->text + 2, types[i].input, size))
			return elements * types[i].bytes;
	}
	return 0;
}

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

const char *foreign_args(struct arena *a, const struct stream_text *args, struct foreign_span *span)
{
	struct json_stream j = {.at = args->text, .begin = args->text, .end = args->text + args->size, .name = "args"};
	struct stream_text key, value[ARGUMENTS] = {{0}};
	char out[ARGS_SIZE] = "";
	size_t at = 0;
	if (!args->size || !stream_enter(&j, '{'))
		return NULL;
	while (stream_key(&j, &key)) {
		size_t i = 0;
		while (i < ARGUMENTS && !stream_is(&key, shown[i].key))
			i++;
		if (i < ARGUMENTS)
			value[i] = read_value(&j);
		else
			stream_skip(&j);
	}
	span->bytes = bytes_of(value);
	if (!span->bytes && host_communicates(span->category, span->name))
		span->bytes = bytes_of_inputs(value);
	span->ranks = whole(&value[ARGUMENT_RANKS]);
	if (value[ARGUMENT_COLLECTIVE].size)
		span->collective = stream_copy(a, &value[ARGUMENT_COLLECTIVE], true, NULL);
	for (int i = 0; i < ARGUMENTS; i++)
		if (value[i].size && shown[i].before && at < sizeof out)
			at += (size_t)snprintf(out + at, sizeof out - at, "%s%.*s%s%s",
			                       shown[i].before + (at ? 0 : strspn(shown[i].before, ", ")),
			                       (int)(value[i].size < VALUE ? value[i].size : VALUE), value[i].text,
			                       value[i].size > VALUE ? "…" : "", shown[i].after);
	if (!at)
		return NULL;
	struct stream_text text = {.text = out, .size = strlen(out), .escaped = true};
	return stream_copy(a, &text, true, NULL);
}
