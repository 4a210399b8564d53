#include "tests/support/scratch.h"

#include <check.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

char scratch[64], scratch_paths[SCRATCH_PATHS][128];
static int path_count;

void scratch_make(void)
{
	path_count = 0;
	snprintf(scratch, sizeof scratch, "/tmp/shardlab-test-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(scratch));
}

void scratch_remove(void)
{
	folder_empty(scratch);
	ck_assert_int_eq(rmdir(scratch), 0);
}

const char *scratch_path(const char *name)
{
	char path[128];
	snprintf(path, sizeof path, "%s/%s", scratch, name);
	for (int i = 0; i < path_count; i++)
		if (!strcmp(scratch_paths[i], path))
			return scratch_paths[i];
	ck_assert_int_lt(path_count, SCRATCH_PATHS);
	memcpy(scratch_paths[path_count], path, sizeof path);
	return scratch_paths[path_count++];
}

void file_put(const char *path, const void *bytes, size_t size)
{
	FILE *f = fopen(path, "wb");
	ck_assert_ptr_nonnull(f);
	ck_assert_uint_eq(fwrite(bytes, 1, size, f), size);
	ck_assert_int_eq(fclose(f), 0);
}

void file_put_text(const char *path, const char *text)
{
	file_put(path, text, strlen(text));
}

const char *scratch_put(const char *name, const void *bytes, size_t size)
{
	const char *path = scratch_path(name);
	file_put(path, bytes, size);
	return path;
}

const char *scratch_text(const char *name, const char *text)
{
	return scratch_put(name, text, strlen(text));
}

static void each_entry(DIR *d, void (*visit)(void *context, const char *name), void *context)
{
	for (struct dirent *e; (e = readdir(d));)
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
			visit(context, e->d_name);
	closedir(d);
}

static void count_one(void *context, const char *name)
{
	(void)name;
	++*(int *)context;
}

int folder_entries(const char *folder)
{
	int count = 0;
	DIR *d = opendir(folder);
	if (!d)
		return -1;
	each_entry(d, count_one, &count);
	return count;
}

static void remove_one(void *folder, const char *name)
{
	char path[512];
	snprintf(path, sizeof path, "%s/%s", (const char *)folder, name);
	unlink(path);
}

void folder_empty(const char *folder)
{
	char copy[256];
	DIR *d = opendir(folder);
	snprintf(copy, sizeof copy, "%s", folder);
	if (d)
		each_entry(d, remove_one, copy);
}
