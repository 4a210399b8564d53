/* Lessons as one file: a page that works without a network, slides, or a handout.
 *
 *     enum lesson_format format;
 *     status = lesson_format_of("slides.pdf", &format);
 *     status = lesson_export(&course, format, "slides.pdf");
 */
#ifndef SHARDLAB_LESSON_EXPORT_H
#define SHARDLAB_LESSON_EXPORT_H

#include <stdio.h>

#include "cli/lesson/lesson.h"

enum lesson_format { LESSON_PAGE, LESSON_SLIDES, LESSON_HANDOUT };

/* The file's name decides: .html, or a .pdf that begins with `slides` or `handout`. */
enum status lesson_format_of(const char *path, enum lesson_format *out);

struct course {
	const struct lesson *lessons;
	int count;
	const char *language; /* "en", "zh" */
};

/* The file is written whole or not at all. */
enum status lesson_export(const struct course *c, enum lesson_format format, const char *path);

/* ---- shared by the files of this folder ---- */

enum status lesson_write_page(const struct course *c, FILE *out);
/* The path of a picture of the lesson, in `out`; STATUS_INPUT, with file and line, if there is none. */
enum status lesson_picture_path(const struct lesson *l, int line, const char *url, char *out, size_t size);

#endif
