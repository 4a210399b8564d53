/* Chooses the form for the data of a model whose inputs are numbers. */
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "real/data/file.h"
#include "real/data/form.h"
#include "real/data/images.h"
#include "real/data/rows.h"
#include "strategy/base/path.h"

/* A folder is one of tables if there is a table in it, and else one of images. */
static bool has_tables(const char *path, const char *const *endings)
{
	DIR *dir = opendir(path);
	struct dirent *entry;
	bool found = false;
	while (dir && !found && (entry = readdir(dir)))
		found = path_ends_in_any(entry->d_name, endings);
	if (dir)
		closedir(dir);
	return found;
}

/* NULL: not a regular file, or it cannot be opened. Opening a pipe must not wait for its writer. */
static gzFile open_regular(const char *path)
{
	struct stat info;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	gzFile f = fd < 0 || fstat(fd, &info) || !S_ISREG(info.st_mode) ? NULL : gzdopen(fd, "rb");
	if (!f && fd >= 0)
		close(fd);
	return f;
}

/* The kind of an IDX file, packed or not; 0: it is none. Opening says what is wrong with it. */
static int idx_kind(const char *path)
{
	unsigned char head[4] = {0};
	gzFile f = open_regular(path);
	if (!f)
		return 0;
	int n = gzread(f, head, sizeof head);
	gzclose(f);
	return n == (int)sizeof head && !head[0] && !head[1] && head[2] == 8 ? head[3] : 0;
}

static enum status open_idx_files(struct dataset *d, const struct sources *s, const struct dataset_spec *spec)
{
	if (s->count != 2)
		return status_fail(STATUS_INPUT,
		                   "%s: one of %d files; an IDX file of images goes with one of labels, as "
		                   "IMAGES,LABELS",
		                   s->list[0].path, s->count);
	for (int i = 0; i < 2; i++)
		if (s->list[i].pairs)
			return status_fail(STATUS_INPUT, "%s: IDX files have no keys; leave ':%s' out", s->list[i].path,
			                   s->list[i].pairs);
	int images = idx_kind(s->list[0].path) == IDX_LABELS;
	return dataset_open_pair(d, spec, s->list[images].path, s->list[!images].path);
}

static enum status open_files(struct dataset *d, const struct dataset_spec *spec, const struct source_folder *folder)
{
	struct sources s;
	TRY(sources_find(&s, spec->path, folder));
	enum status status = idx_kind(s.list[0].path) ? open_idx_files(d, &s, spec) : dataset_open_rows(d, &s, spec);
	sources_release(&s);
	return status;
}

enum status dataset_open_samples(struct dataset *d, const struct dataset_spec *spec)
{
	static const char *const endings[] = {".csv", ".csv.gz", ".tsv", ".tsv.gz", NULL};
	static const char *const splits[] = {"train", "val", "test", NULL};
	static const struct source_folder folder = {endings, splits, "train.csv or NAME_train.csv"};
	if (spec->pixels < 1 || spec->classes < 1)
		abort();
	if (!spec->path || (path_is_folder(spec->path) && !has_tables(spec->path, endings)))
		return dataset_open_images(d, spec);
	return open_files(d, spec, &folder);
}
