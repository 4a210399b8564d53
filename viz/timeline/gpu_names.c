#include "viz/timeline/gpu_names.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* The first row that fits counts. `*` stands for any characters; case is of no matter. */
static const struct {
	const char *category, *name;
	enum gpu_kind kind;
	const char *what;
} rows[] = {
#define GPU_NAME(category, name, kind, what, source) {category, name, GPU_##kind, what},
#include "viz/timeline/gpu_names.def"
#undef GPU_NAME
};
enum { ROWS = sizeof rows / sizeof rows[0] };

static int lower(char c)
{
	return tolower((unsigned char)c);
}

/* After a mismatch the last star takes one character more: at most as long as both texts multiplied. */
static bool fits(const char *pattern, const char *text)
{
	const char *star = NULL, *resume = NULL;
	while (*text) {
		if (*pattern == '*') {
			star = pattern++;
			resume = text;
		} else if (lower(*pattern) == lower(*text)) {
			pattern++;
			text++;
		} else if (star) {
			pattern = star + 1;
			text = ++resume;
		} else {
			return false;
		}
	}
	return pattern[strspn(pattern, "*")] == 0;
}

static bool on_gpu(const char *category, const char *thread)
{
	static const char *const categories[] = {"kernel", "gpu_memcpy", "gpu_memset", "gpu_user_annotation",
	                                         "memcpy", "memset"};
	for (size_t i = 0; i < sizeof categories / sizeof categories[0]; i++)
		if (fits(categories[i], category))
			return true;
	return fits("stream *", thread);
}

enum gpu_kind gpu_kind_of(const char *category, const char *thread, const char *name, const char **what)
{
	if (on_gpu(category, thread))
		for (int i = 0; i < ROWS; i++)
			if (fits(rows[i].category, category) && fits(rows[i].name, name)) {
				*what = rows[i].what;
				return rows[i].kind;
			}
	*what = "";
	return GPU_NONE;
}

enum gpu_kind gpu_kind_of_span(const struct trace_file *f, const struct foreign_span *s, const char **what)
{
	const char *thread = f->lanes[s->lane].thread;
	if (!s->collective || !on_gpu(s->category, thread))
		return gpu_kind_of(s->category, thread, s->name, what);
	*what = "collective";
	return GPU_COMMUNICATION;
}
