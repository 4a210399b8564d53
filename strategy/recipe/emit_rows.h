/* Inside the writing of recipes: the rows of each target, and what they use. */
#ifndef SHARDLAB_EMIT_ROWS_H
#define SHARDLAB_EMIT_ROWS_H

#include "strategy/recipe/emit.h"
#include "strategy/step/choices.h"

/* A key, the setting that it says, and its value as JSON has it. value NULL: the setting as a number; a function that
 * returns NULL: the key is left out. */
struct emit_row {
	const char *path;
	enum setting setting;
	const char *(*value)(struct emission *e);
};

/* The rows of a target; an empty path ends them. */
const struct emit_row *emit_rows(enum emit_target t);

/* Puts the rows into the file, below a section or at the top (""). */
void emit_put(struct emission *e, const struct emit_row *rows, const char *section);

/* One line that says what the program does otherwise. */
void emit_note(struct emission *e, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The strategy's name, up to the first colon; and its keys as values. */
bool emit_is(const struct emission *e, const char *strategy);
bool emit_is_zero(const struct emission *e);
struct choices emit_choices(const struct emission *e);

/* What cannot be said in any of a target's rows: STATUS_INPUT, by name (emit_check.c). */
enum status emit_check(struct emission *e);

#endif
