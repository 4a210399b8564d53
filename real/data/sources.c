#include "real/data/sources.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "strategy/base/path.h"

enum { MOST_FILES = 100000 };

/* ---- names ---- */

/* Finds `word` in a file's name with neither letter nor digit around it; NULL: it is not there. */
static const char *find_word(const char *name, const char *word)
{
	size_t length = strlen(word);
	for (const char *p = name; (p = strstr(p, word)); p++)
		if ((p == name || !isalnum((unsigned char)p[-1])) && !isalnum((unsigned char)p[length]))
			return p;
	return NULL;
}

static bool is_for_validation(const char *path)
{
	static const char *const words[] = {"val", "valid", "validation", "test"};
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (find_word(path_name(path), words[i]))
			return true;
	return false;
}

/* ---- the list ---- */

static enum status add(struct sources *s, const char *path, const char *pairs)
{
	if (s->count == MOST_FILES)
		return status_fail(STATUS_INPUT, "{data}: more than %d files", MOST_FILES);
	s->list = arena_grow(&s->arena, s->list, s->count, &s->capacity, sizeof *s->list);
	s->list[s->count++] = (struct source){.path = arena_copy(&s->arena, path),
	                                      .pairs = pairs ? arena_copy(&s->arena, pairs) : NULL,
	                                      .for_validation = is_for_validation(path)};
	return STATUS_OK;
}

static int by_path(const void *a, const void *b)
{
	return strcmp(((const struct source *)a)->path, ((const struct source *)b)->path);
}

static void sort_from(struct sources *s, int first)
{
	if (s->count > first)
		qsort(s->list + first, (size_t)(s->count - first), sizeof *s->list, by_path);
}

static enum status add_pattern(struct sources *s, const char *pattern, const char *pairs)
{
	glob_t found;
	int first = s->count, error = glob(pattern, GLOB_NOSORT, NULL, &found);
	enum status status = STATUS_OK;
	if (error == GLOB_NOMATCH)
		return status_fail(STATUS_INPUT, "%s: no file has such a name", pattern);
	if (error)
		return status_fail(STATUS_INPUT, "%s: the pattern cannot be expanded: %s", pattern,
		                   error == GLOB_NOSPACE ? "out of memory" : strerror(errno));
	for (size_t i = 0; i < found.gl_pathc && !status; i++)
		status = add(s, found.gl_pathv[i], pairs);
	globfree(&found);
	sort_from(s, first);
	return status;
}

/* ---- folders ---- */

/* Finds the word of its split in a name; NULL: it has none. */
static const char *split_of(const char *name, const struct source_folder *folder)
{
	const char *at = NULL;
	for (const char *const *word = folder->splits; *word && !at; word++)
		at = find_word(name, *word);
	return at;
}

bool source_folder_takes(const struct source_folder *folder, const char *name)
{
	return *name != '.' && path_ends_in_any(name, folder->endings) && split_of(name, folder);
}

static enum status read_folder(struct sources *s, DIR *dir, const char *path, const char *pairs,
                               const struct source_folder *folder)
{
	struct dirent *entry;
	while ((entry = readdir(dir))) {
		if (!source_folder_takes(folder, entry->d_name))
			continue;
		TRY(add(s, arena_print(&s->arena, "%s/%s", path, entry->d_name), pairs));
	}
	return STATUS_OK;
}

/* Files of two data sets would be mixed without a word. */
static enum status check_one_set(const struct sources *s, int first, const char *path,
                                 const struct source_folder *folder)
{
	const char *name = path_name(s->list[first].path);
	size_t length = (size_t)(split_of(name, folder) - name);
	for (int i = first + 1; i < s->count; i++) {
		const char *other = path_name(s->list[i].path);
		if ((size_t)(split_of(other, folder) - other) != length || strncmp(name, other, length) != 0)
			return status_fail(STATUS_INPUT,
			                   "%s: holds several data sets, those of %s and %s; name the files of one, a "
			                   "pattern will do",
			                   path, name, other);
	}
	return STATUS_OK;
}

static enum status add_folder(struct sources *s, const char *path, const char *pairs,
                              const struct source_folder *folder)
{
	int first = s->count;
	DIR *dir = opendir(path);
	if (!dir)
		return status_fail(STATUS_INPUT, "%s: %s", path, strerror(errno));
	enum status status = read_folder(s, dir, path, pairs, folder);
	closedir(dir);
	if (status)
		return status;
	if (s->count == first)
		return status_fail(STATUS_INPUT, "%s: is a folder without %s; name a file", path, folder->looked_for);
	sort_from(s, first);
	return check_one_set(s, first, path, folder);
}

/* ---- paths ---- */

static enum status add_any(struct sources *s, const char *path, const char *pairs, const struct source_folder *folder)
{
	struct stat info;
	if (stat(path, &info) == 0)
		return folder && S_ISDIR(info.st_mode) ? add_folder(s, path, pairs, folder) : add(s, path, pairs);
	return strpbrk(path, "*?[") ? add_pattern(s, path, pairs) : add(s, path, pairs);
}

/* Finds the keys of a path: they begin behind the first colon after which all is key=value, with colons between. NULL:
 * there are none. */
static char *find_pairs(char *path)
{
	char *at = NULL;
	for (char *end = path + strlen(path); end > path; end--) {
		if (end[-1] != ':')
			continue;
		size_t name = strspn(end, "abcdefghijklmnopqrstuvwxyz_");
		if (!name || end[name] != '=')
			break;
		at = end;
	}
	return at;
}

static enum status add_piece(struct sources *s, char *path, const struct source_folder *folder)
{
	char *pairs = path_is_there(path) ? NULL : find_pairs(path);
	if (pairs)
		pairs[-1] = 0;
	if (!*path)
		return status_fail(STATUS_INPUT, "{data}: a path is empty");
	return add_any(s, path, pairs, folder);
}

static enum status add_pieces(struct sources *s, char *text, const struct source_folder *folder)
{
	enum status status = STATUS_OK;
	for (char *piece = text, *comma; piece && !status; piece = comma) {
		comma = strchr(piece, ',');
		if (comma)
			*comma++ = 0;
		status = add_piece(s, piece, folder);
	}
	return status;
}

/* ---- all ---- */

struct place {
	const char *path;
	int order;
	dev_t device;
	ino_t inode;
};

static int by_place(const void *a, const void *b)
{
	const struct place *x = a, *y = b;
	if (x->device != y->device)
		return x->device < y->device ? -1 : 1;
	if (x->inode != y->inode)
		return x->inode < y->inode ? -1 : 1;
	return x->order - y->order;
}

/* Finds the files that are there; opening tells of the others. */
static int find_places(const struct sources *s, struct place *out)
{
	struct stat info;
	int n = 0;
	for (int i = 0; i < s->count; i++)
		if (stat(s->list[i].path, &info) == 0)
			out[n++] = (struct place){s->list[i].path, i, info.st_dev, info.st_ino};
	return n;
}

/* A file that is named twice would count twice, however it is spelled. */
static enum status check_once(struct sources *s)
{
	struct place *sorted = arena_alloc(&s->arena, (size_t)s->count * sizeof *sorted);
	int n = find_places(s, sorted);
	qsort(sorted, (size_t)n, sizeof *sorted, by_place);
	for (int i = 1; i < n; i++) {
		const struct place *first = &sorted[i - 1], *again = &sorted[i];
		if (first->device != again->device || first->inode != again->inode)
			continue;
		if (!strcmp(first->path, again->path))
			return status_fail(STATUS_INPUT, "%s: is named twice; leave it out once", again->path);
		return status_fail(STATUS_INPUT, "%s: is the same file as %s; leave it out once", again->path,
		                   first->path);
	}
	return STATUS_OK;
}

/* Files to train on come first, in the order in which they are named. */
static void part(struct sources *s)
{
	struct source *parted = arena_alloc(&s->arena, (size_t)s->count * sizeof *parted);
	int n = 0;
	for (int validation = 0; validation < 2; validation++) {
		for (int i = 0; i < s->count; i++)
			if (s->list[i].for_validation == validation)
				parted[n++] = s->list[i];
		if (!validation)
			s->training = n;
	}
	for (int i = 0; i < n && !s->training; i++)
		parted[i].for_validation = false;
	if (!s->training)
		s->training = n;
	memcpy(s->list, parted, (size_t)n * sizeof *parted);
}

enum status sources_find(struct sources *s, const char *text, const struct source_folder *folder)
{
	*s = (struct sources){.count = 0};
	enum status status = path_is_there(text) ? add_any(s, text, NULL, folder)
	                                         : add_pieces(s, arena_copy(&s->arena, text), folder);
	if (!status)
		status = check_once(s);
	if (status)
		sources_release(s);
	else
		part(s);
	return status;
}

void sources_release(struct sources *s)
{
	if (!s)
		return;
	arena_release(&s->arena);
	*s = (struct sources){.count = 0};
}
