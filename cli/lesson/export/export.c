#include "cli/lesson/export/export.h"

#include <string.h>

#include "cli/lesson/export/paper.h"
#include "strategy/base/file.h"
#include "strategy/base/output.h"
#include "strategy/base/path.h"

enum status lesson_format_of(const char *path, enum lesson_format *out)
{
	static const struct {
		const char *begin, *end;
		enum lesson_format format;
	} names[] = {
	        {"", ".html", LESSON_PAGE}, {"slides", ".pdf", LESSON_SLIDES}, {"handout", ".pdf", LESSON_HANDOUT}};
	const char *name = path_name(path);
	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
		if (!strncmp(name, names[i].begin, strlen(names[i].begin)) && path_ends_in(name, names[i].end)) {
			*out = names[i].format;
			return STATUS_OK;
		}
	if (path_ends_in(name, ".pdf"))
		return status_fail(
		        STATUS_INPUT,
		        "{export}: '%.80s': slides or a handout? Begin the name with the one or the other, as "
		        "in slides-3.pdf",
		        name);
	return status_fail(STATUS_INPUT,
	                   "{export}: '%.80s': a lesson is written as NAME.html, slides.pdf or handout.pdf", name);
}

struct writing {
	const struct course *course;
	enum lesson_format format;
};

static enum status write_course(void *context, FILE *out)
{
	const struct writing *w = context;
	return w->format == LESSON_PAGE ? lesson_write_page(w->course, out) : paper_write(w->course, w->format, out);
}

enum status lesson_export(const struct course *c, enum lesson_format format, const char *path)
{
	struct writing w = {c, format};
	enum status s = output_check(path, "{export}");
	return s ? s : file_write(path, "{export}", write_course, &w);
}
