#include "real/checkpoint/folder.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "real/checkpoint/manifest.h"
#include "strategy/base/arena.h"
#include "strategy/base/file.h"
#include "strategy/base/memory.h"
#include "strategy/base/output.h"
#include "strategy/base/path.h"

#define BEGINS "step-"
#define LATEST CHECKPOINT_LATEST
enum { NAME = 32 };

static void name_of(int64_t step, char out[NAME])
{
	snprintf(out, NAME, BEGINS "%08" PRId64, step);
}

char *checkpoint_path(const char *folder, int64_t step)
{
	char name[NAME];
	name_of(step, name);
	return path_in_folder(folder, name);
}

/* ---- what is there ---- */

static bool has_manifest(const char *folder)
{
	return path_folder_has(folder, MANIFEST_NAME);
}

struct list {
	const char *folder;
	bool any;       /* folders without a manifest count too */
	int64_t *steps; /* of whole checkpoints */
	int count;
	size_t capacity;
};

/* The step of a checkpoint of that name; -1: it is no checkpoint's name. */
static int64_t step_of(const char *name)
{
	char back[NAME];
	size_t begin = strlen(BEGINS), digits = strncmp(name, BEGINS, begin) ? 0 : strspn(name + begin, "0123456789");
	if (!digits || digits > 18)
		return -1;
	int64_t step = strtoll(name + begin, NULL, 10);
	name_of(step, back);
	return strcmp(back, name) ? -1 : step;
}

bool checkpoint_has_name(const char *name)
{
	return !strcmp(name, LATEST) || step_of(name) >= 0;
}

static void add(void *context, const char *name)
{
	struct list *l = context;
	int64_t step = step_of(name);
	char *path = path_in_folder(l->folder, name);
	if (step >= 0 && (l->any || has_manifest(path))) {
		l->steps = array_reserve(l->steps, (size_t)l->count, &l->capacity, sizeof *l->steps);
		l->steps[l->count++] = step;
	}
	free(path);
}

static int by_step(const void *left, const void *right)
{
	const int64_t *a = left, *b = right;
	return (*a > *b) - (*a < *b);
}

static struct list list_of(const char *folder, bool any)
{
	struct list l = {.folder = folder, .any = any};
	folder_each(folder, add, &l);
	if (l.count)
		qsort(l.steps, (size_t)l.count, sizeof *l.steps, by_step);
	return l;
}

/* ---- writing ---- */

void checkpoint_folder_sweep(const char *folder)
{
	char *latest = path_in_folder(folder, LATEST);
	new_folder_sweep_all(folder, BEGINS);
	output_sweep(latest);
	free(latest);
}

enum status checkpoint_folder_try(struct new_folder *f, const char *folder)
{
	char *path = path_in_folder(folder, BEGINS "trial");
	enum status s = new_folder_make(f, path);
	free(path);
	return s ? status_fail(STATUS_INPUT, "{checkpoint} %.200s: cannot be written to; choose another folder", folder)
	         : STATUS_OK;
}

enum status checkpoint_folder_check(const char *folder)
{
	struct new_folder f;
	if (mkdir(folder, 0777) && errno != EEXIST)
		return status_fail(STATUS_INPUT, "{checkpoint} %.200s: cannot be made: %s", folder, strerror(errno));
	enum status s = checkpoint_folder_try(&f, folder);
	new_folder_release(&f);
	checkpoint_folder_sweep(folder);
	return s;
}

enum status checkpoint_folder_make(struct new_folder *f, const char *folder, int64_t step)
{
	char *path = checkpoint_path(folder, step);
	new_folder_sweep_all(folder, BEGINS);
	folder_remove(path, MANIFEST_NAME);
	enum status s = new_folder_make(f, path);
	free(path);
	return s;
}

static enum status print_latest(void *context, FILE *out)
{
	fprintf(out, "%s\n", (const char *)context);
	return STATUS_OK;
}

static enum status sync_folder(const char *folder)
{
	int descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (descriptor < 0)
		return status_fail(STATUS_RUN, "{checkpoint} %.200s: %s", folder, strerror(errno));
	(void)fsync(descriptor); /* not every file system can */
	close(descriptor);
	return STATUS_OK;
}

/* Those of later steps, of a run that was resumed before them, are not older. */
static void remove_old(const char *folder, int64_t step, int64_t keep)
{
	struct list l = list_of(folder, false);
	int older = 0;
	while (older < l.count && l.steps[older] < step)
		older++;
	for (int i = 0; keep && i < older - (keep - 1); i++) {
		char *path = checkpoint_path(folder, l.steps[i]);
		folder_remove(path, MANIFEST_NAME);
		free(path);
	}
	free(l.steps);
}

enum status checkpoint_folder_finish(struct new_folder *f, const char *folder, int64_t step, int64_t keep)
{
	char name[NAME], *latest = path_in_folder(folder, LATEST);
	name_of(step, name);
	enum status s = new_folder_finish(f);
	if (!s)
		s = sync_folder(folder);
	if (!s)
		s = file_write(latest, "{checkpoint}", print_latest, name);
	if (!s)
		remove_old(folder, step, keep);
	free(latest);
	return s;
}

/* ---- finding ---- */

/* The path that `latest` names; NULL: none that is a checkpoint. */
static char *named_latest(const char *folder)
{
	char *path = path_in_folder(folder, LATEST), *text = NULL, *found = NULL;
	struct stat info;
	size_t size;
	if (!stat(path, &info) && !file_read(path, "{resume}", NAME, &text, &size)) {
		text[size < NAME ? size : 0] = '\0';
		text[strcspn(text, "\n")] = '\0';
		if (!strncmp(text, BEGINS, strlen(BEGINS)) && !strchr(text, '/'))
			found = path_in_folder(folder, text);
	}
	free(text);
	free(path);
	if (found && !has_manifest(found)) {
		free(found);
		found = NULL;
	}
	return found;
}

static char *last_there(const char *folder, bool any)
{
	struct list l = list_of(folder, any);
	char *path = l.count ? checkpoint_path(folder, l.steps[l.count - 1]) : NULL;
	free(l.steps);
	return path;
}

/* A run's file `latest` stands for its folder, which the caller frees; NULL: it is none. */
static char *folder_of_latest(const char *given)
{
	const char *slash = strrchr(given, '/');
	struct stat info;
	return slash && !strcmp(slash + 1, LATEST) && !stat(given, &info) && S_ISREG(info.st_mode)
	               ? strndup(given, (size_t)(slash - given))
	               : NULL;
}

enum status checkpoint_find(const char *given, const char *folder, char **out)
{
	char *named = folder_of_latest(given);
	if (named) {
		enum status s = checkpoint_find(LATEST, named, out);
		free(named);
		return s;
	}
	bool latest = !strcmp(given, LATEST);
	const char *in = latest ? folder : given;
	*out = NULL;
	if (!in)
		return status_fail(STATUS_INPUT,
		                   "{resume} latest: of which run? Give {checkpoint} DIR too, or {resume} DIR");
	*out = !latest && has_manifest(in) ? memory_text(in) : named_latest(in);
	if (!*out)
		*out = last_there(in, false);
	if (*out)
		return STATUS_OK;
	return status_fail(STATUS_INPUT, "%.200s: there is no checkpoint in it; give a folder that {checkpoint} wrote",
	                   in);
}

int checkpoint_each(const char *folder, void (*visit)(void *context, const char *path), void *context)
{
	struct list l = {.count = 0};
	if (!has_manifest(folder))
		l = list_of(folder, true);
	for (int i = 0; i < l.count; i++) {
		char *path = checkpoint_path(folder, l.steps[i]);
		visit(context, path);
		free(path);
	}
	free(l.steps);
	return l.count;
}

/* ---- whose they are ---- */

/* The folder that a checkpoint lies in, by its true name. */
static char *true_parent(const char *checkpoint)
{
	char *path = realpath(checkpoint, NULL), *slash = path ? strrchr(path, '/') : NULL;
	if (slash)
		slash[slash == path] = '\0';
	return path;
}

static bool lies_in(const char *checkpoint, const char *folder)
{
	char *parent = true_parent(checkpoint), *in = realpath(folder, NULL);
	bool same = parent && in && !strcmp(parent, in);
	free(parent);
	free(in);
	return same;
}

/* A file that shows that a run has saved there, whole or not; NULL: none. */
static char *trace_of_run(const char *folder)
{
	char *found = named_latest(folder), *latest = path_in_folder(folder, LATEST);
	struct stat info;
	if (!found)
		found = last_there(folder, true);
	if (found || lstat(latest, &info)) {
		free(latest);
		return found;
	}
	return latest;
}

enum status checkpoint_folder_check_own(const char *folder, const char *resume)
{
	char *there = trace_of_run(folder), *from = NULL;
	enum status s = there && resume ? checkpoint_find(resume, folder, &from) : STATUS_OK;
	if (!s && there && !(from && lies_in(from, folder)))
		s = status_fail(
		        STATUS_INPUT,
		        "{checkpoint} %.200s: it has checkpoints of another run, up to %.40s; give {resume} latest "
		        "to go on from there, choose another folder, or remove this one",
		        folder, path_name(there));
	free(there);
	free(from);
	return s;
}
