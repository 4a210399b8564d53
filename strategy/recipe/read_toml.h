/* Inside the reader of TOML: white space, texts and words (read_toml_word.c). */
#ifndef SHARDLAB_READ_TOML_H
#define SHARDLAB_READ_TOML_H

#include "strategy/recipe/reading.h"

void toml_skip_blanks(struct reading *r); /* spaces and tabs */
enum status toml_skip_comment(struct reading *r);
bool toml_ends_line(const struct reading *r); /* or the file */
void toml_next_line(struct reading *r);       /* past a line end */
/* Fails: what stands here where something else should. */
enum status toml_unexpected(const struct reading *r, const char *wanted);

/* "…" or '…', and """…""" or '''…'''. */
enum status toml_line_text(struct reading *r, const char **out);
enum status toml_lines_text(struct reading *r, const char **out);
/* A number, true, false, or a date, which is a text. */
enum status toml_word(struct reading *r, struct tree *v);

#endif
