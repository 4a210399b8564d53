#include "strategy/trace/gpu_names.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* The first row that fits counts. `*` stands for any characters; case is of no matter. */
static const struct {
	const char *category, *name;
	enum gpu_kind kind;
	const char *what;
} rows[] = {
#define GPU_NAME(category, name, kind, what, source) {category, name, GPU_##kind, what},
#include "strategy/trace/gpu_names.def"
#undef GPU_NAME
};
enum { ROWS = sizeof rows / sizeof rows[0] };

static int lower(char c)
{
	return tolower((unsigned char)c);
}

/* After a mismatch the last star takes one character more: at most as long as both texts multiplied. */
bool name_fits(const char *pattern, const char *text)
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
		if (name_fits(categories[i], category))
			return true;
	return name_fits("stream *", thread);
}

enum gpu_kind gpu_kind_of(const char *category, const char *thread, const char *name, const char **what)
{
	if (on_gpu(category, thread))
		for (int i = 0; i < ROWS; i++)
			if (name_fits(rows[i].category, category) && name_fits(rows[i].name, name)) {
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

enum gpu_collective gpu_collective_of(const char *name)
{
	/* The first row that is part of the name counts. */
	static const struct {
		const char *part;
		enum gpu_collective collective;
	} parts[] = {{"allreduce", GPU_ALL_REDUCE},
	             {"all_reduce", GPU_ALL_REDUCE},
	             {"cross_device_reduce", GPU_ALL_REDUCE},
	             {"reducescatter", GPU_REDUCE_SCATTER},
	             {"reduce_scatter", GPU_REDUCE_SCATTER},
	             {"allgather", GPU_ALL_GATHER},
	             {"all_gather", GPU_ALL_GATHER},
	             {"alltoall", GPU_ALL_TO_ALL},
	             {"all_to_all", GPU_ALL_TO_ALL},
	             {"gather", GPU_GATHER},
	             {"scatter", GPU_SCATTER},
	             {"broadcast", GPU_BROADCAST},
	             {"reduce", GPU_REDUCE},
	             {"send", GPU_MESSAGE},
	             {"recv", GPU_MESSAGE}};
	for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
		for (const char *at = name; *at; at++)
			if (!strncasecmp(at, parts[i].part, strlen(parts[i].part)))
				return parts[i].collective;
	return GPU_COLLECTIVES;
}

bool host_communicates(const char *category, const char *name)
{
	static const char *const patterns[] = {"gloo:*", "mpi:*", "ucc:*"};
	for (size_t i = 0; i < sizeof patterns / sizeof patterns[0]; i++)
		if (name_fits(patterns[i], name))
			return strcmp(category, "gpu_user_annotation") != 0;
	return false;
}
