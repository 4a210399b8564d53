/* A JSON object that one function both writes and reads, so that each member has one line:
 *
 *     static void times(struct form *f, struct times *t)
 *     {
 *             FORM_INSIDE(f, "time", outer)
 *             {
 *                     form_seconds(f, "step_s", &t->step);
 *                     form_yes_no(f, "measured", &t->measured);
 *             }
 *     }
 *
 * Reading keeps the first failure, a member that is missing or has another type, and skips everything after it.
 */
#ifndef SHARDLAB_JSON_FORM_H
#define SHARDLAB_JSON_FORM_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "strategy/base/status.h"

struct figure_list;

struct form {
	bool reads;
	json_t *o; /* the object at hand; NULL: it was not there */
	enum status status;
	struct figure_list *figures; /* of a report: filled with what tables show of it (figure.h); else NULL */
};

/* Fails unless `holds`: "a report whose 'key' is not `what`". Returns whether all is well so far. */
bool form_expect(struct form *f, bool holds, const char *key, const char *what);

void form_whole(struct form *f, const char *key, int64_t *v);
void form_whole_or_null(struct form *f, const char *key, int64_t *v, int64_t none); /* `none` stands for null */
void form_countable(struct form *f, const char *key, int64_t *v);                   /* -1 stands for null */
void form_real(struct form *f, const char *key, double *v);                         /* NaN stands for null */
void form_seconds(struct form *f, const char *key, int64_t *ns);
void form_yes_no(struct form *f, const char *key, bool *v);
void form_text(struct form *f, const char *key, char *v, size_t size);
#define FORM_TEXT(f, key, array) form_text(f, key, array, sizeof(array))
/* The place of a word in `words`, which end with NULL. */
int form_word(struct form *f, const char *key, int place, const char *const *words);

/* A number of a list. */
json_t *form_real_to_json(double v);
double form_real_from_json(struct form *f, const json_t *v, const char *key);

/* True if the member is left out; when written, `out` says so. */
bool form_absent(const struct form *f, const char *key, bool out);
/* True if the member is null; when written, `none` says so. */
bool form_null(struct form *f, const char *key, bool none);

/* The body acts on a member that is an object. `outer` is a name for the loop's own use. */
#define FORM_INSIDE(f, key, outer) for (json_t *outer = form_enter(f, key); outer; outer = form_leave(f, outer))
json_t *form_enter(struct form *f, const char *key);
json_t *form_leave(struct form *f, json_t *outer);

/* A member that is a list of at most `most` elements. When written, it is empty. */
json_t *form_list(struct form *f, const char *key, int64_t most);
/* The i-th element of a list; when written, a new object at its end. */
json_t *form_element(const struct form *f, json_t *list, int64_t i);

#endif
