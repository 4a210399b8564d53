/* Reads JSON from memory as it goes, without building a tree: for files of hundreds of megabytes. Nothing is copied; a
 * text is a stretch of the input. The first error is kept (status_fail with name:line:column), and after it every
 * function returns false.
 *
 *     struct json_stream j = {.at = text, .begin = text, .end = text + size, .name = path};
 *     struct stream_text key;
 *     if (stream_enter(&j, '{'))
 *         while (stream_key(&j, &key))
 *             if (stream_is(&key, "ph")) stream_string(&j, &value); else stream_skip(&j);
 *     if (j.failed) return j.failed;
 */
#ifndef SHARDLAB_JSON_STREAM_H
#define SHARDLAB_JSON_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "strategy/base/arena.h"
#include "strategy/base/status.h"

#define STREAM_DEPTH 64

struct json_stream {
	const char *at, *begin, *end;
	const char *name;           /* of the file, for messages */
	char closers[STREAM_DEPTH]; /* of the arrays and objects that are open */
	bool fresh[STREAM_DEPTH];   /* nothing has been read of it yet */
	int depth;
	enum status failed;
};

/* A text as it stands between the quotes. */
struct stream_text {
	const char *text;
	size_t size;
	bool escaped; /* it has a backslash */
};

/* '{', '[', '"', '0' (a number), 't', 'f', 'n', or 0 at the end or an error. */
char stream_peek(struct json_stream *j);
bool stream_enter(struct json_stream *j, char open);
/* The next key of the object that was entered; false (and the object is left) behind the last. */
bool stream_key(struct json_stream *j, struct stream_text *key);
/* True if the array that was entered has another element; false leaves the array. */
bool stream_element(struct json_stream *j);
bool stream_string(struct json_stream *j, struct stream_text *out);
bool stream_number(struct json_stream *j, struct stream_text *out);
bool stream_whole(struct json_stream *j, int64_t *out);
bool stream_boolean(struct json_stream *j, bool *out);
/* A number of thousands (microseconds) as whole units (nanoseconds), rounded; exact for three decimals. */
bool stream_thousandths(struct json_stream *j, int64_t *out);
bool stream_skip(struct json_stream *j);
/* True if only white space is left. */
bool stream_finished(struct json_stream *j);

/* False, so that a reader can `return stream_fail(…)`. */
bool stream_fail(struct json_stream *j, const char *format, ...) __attribute__((format(printf, 2, 3)));

static inline bool stream_is(const struct stream_text *t, const char *word)
{
	return strlen(word) == t->size && !memcmp(t->text, word, t->size);
}
bool stream_same(const struct stream_text *a, const struct stream_text *b);
/* True if the text is a whole number of 64 bits. */
bool stream_text_whole(const struct stream_text *t, int64_t *out);
/* With its escapes resolved, as UTF-8; control characters become spaces if `plain`. */
char *stream_copy(struct arena *a, const struct stream_text *t, bool plain, size_t *size);

#endif
