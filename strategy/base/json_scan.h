/* Reads JSON from memory as it goes, without building a tree: for files of hundreds of megabytes. Nothing is copied; a
 * text is a stretch of the input. The first error is kept (status_fail with name:line:column), and after it every
 * function returns false.
 *
 *     struct json_scan j = {.at = text, .begin = text, .end = text + size, .name = path};
 *     struct json_text key;
 *     if (json_enter(&j, '{'))
 *         while (json_key(&j, &key))
 *             if (json_is(&key, "ph")) json_string(&j, &value); else json_skip(&j);
 *     if (j.failed) return j.failed;
 */
#ifndef SHARDLAB_JSON_SCAN_H
#define SHARDLAB_JSON_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "strategy/base/arena.h"
#include "strategy/base/status.h"

#define JSON_DEPTH 64

struct json_scan {
	const char *at, *begin, *end;
	const char *name;         /* of the file, for messages */
	char closers[JSON_DEPTH]; /* of the arrays and objects that are open */
	bool fresh[JSON_DEPTH];   /* nothing has been read of it yet */
	int depth;
	enum status failed;
};

/* As it stands between the quotes. */
struct json_text {
	const char *text;
	size_t size;
	bool escaped; /* it has a backslash */
};

/* '{', '[', '"', '0' (a number), 't', 'f', 'n', or 0 at the end or an error. */
char json_peek(struct json_scan *j);
bool json_enter(struct json_scan *j, char open);
/* The next key of the object that was entered; false (and the object is left) behind the last. */
bool json_key(struct json_scan *j, struct json_text *key);
/* Is there another element in the array that was entered? False leaves it. */
bool json_element(struct json_scan *j);
bool json_string(struct json_scan *j, struct json_text *out);
bool json_number(struct json_scan *j, struct json_text *out);
bool json_whole(struct json_scan *j, int64_t *out);
bool json_boolean(struct json_scan *j, bool *out);
/* A number of thousands (microseconds) as whole units (nanoseconds), rounded; exact for three decimals. */
bool json_thousandths(struct json_scan *j, int64_t *out);
bool json_skip(struct json_scan *j);
/* Nothing but white space is left. */
bool json_finished(struct json_scan *j);

enum status json_fail(struct json_scan *j, const char *format, ...) __attribute__((format(printf, 2, 3)));

bool json_is(const struct json_text *t, const char *word);
/* With its escapes resolved, as UTF-8; control characters become spaces if `plain`. */
char *json_copy(struct arena *a, const struct json_text *t, bool plain, size_t *size);

#endif
