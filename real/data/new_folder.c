#include "real/data/new_folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "strategy/base/arena.h"
#include "strategy/base/memory.h"
#include "strategy/base/path.h"

#define SUFFIX ".partial"
enum { NAME_TRIES = 1000, NAME_ROOM = 48 };

static enum status cannot_write(enum status s, const char *path)
{
	return status_fail(s, "%s: cannot be written: %s", path, strerror(errno));
}

/* ---- files in folders ---- */

static bool is_dot(const char *name)
{
	return !strcmp(name, ".") || !strcmp(name, "..");
}

static void remove_file(void *folder, const char *name)
{
	char *path = path_in_folder(folder, name);
	unlink(path);
	free(path);
}

bool folder_each(const char *folder, void (*entry)(void *context, const char *name), void *context)
{
	DIR *d = opendir(folder);
	if (!d)
		return false;
	for (struct dirent *e; (e = readdir(d));)
		if (!is_dot(e->d_name))
			entry(context, e->d_name);
	closedir(d);
	return true;
}

static void remove_folder(char *folder)
{
	folder_each(folder, remove_file, folder);
	rmdir(folder);
}

/* -1: another has it (EWOULDBLOCK), it is gone (ENOENT), or this file system has no locks. */
static int lock_folder(const char *path)
{
	int folder = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (folder < 0 || !flock(folder, LOCK_EX | LOCK_NB))
		return folder;
	int error = errno;
	close(folder);
	errno = error;
	return -1;
}

/* ---- what the dead left ---- */

struct sweep {
	const char *parent, *name; /* of the folder that is to be made */
	bool begins;               /* so does its name */
};

/* "saved.4711.0.partial", for "saved" */
static bool is_temporary_of(const char *entry, const char *name)
{
	size_t length = strlen(name);
	if (strncmp(entry, name, length) != 0 || entry[length] != '.')
		return false;
	entry += length + 1;
	size_t process = strspn(entry, "0123456789");
	size_t turn = entry[process] == '.' ? strspn(entry + process + 1, "0123456789") : 0;
	return process && turn && !strcmp(entry + process + 1 + turn, SUFFIX);
}

/* "step-00001000.4711.0.partial", for "step-" */
static bool is_temporary_beginning(const char *entry, const char *begins)
{
	char name[NAME_ROOM];
	size_t length = strcspn(entry, ".");
	return !strncmp(entry, begins, strlen(begins)) && length < sizeof name &&
	       snprintf(name, sizeof name, "%.*s", (int)length, entry) > 0 && is_temporary_of(entry, name);
}

static void sweep_entry(void *context, const char *entry)
{
	const struct sweep *s = context;
	if (s->begins ? !is_temporary_beginning(entry, s->name) : !is_temporary_of(entry, s->name))
		return;
	char *path = path_in_folder(s->parent, entry);
	struct stat info;
	int lock = lock_folder(path);
	if (lock >= 0 && !fstat(lock, &info) && info.st_uid == geteuid())
		remove_folder(path);
	if (lock >= 0)
		close(lock);
	free(path);
}

/* The folder that a path stands in; the caller frees it. */
static char *parent_of(const char *path)
{
	const char *slash = strrchr(path, '/');
	char *parent = memory_text(!slash ? "." : slash == path ? "/" : path);
	if (slash && slash != path)
		parent[slash - path] = '\0';
	return parent;
}

static void sweep(const char *path)
{
	char *parent = parent_of(path);
	struct sweep s = {parent, path_name(path), false};
	folder_each(parent, sweep_entry, &s);
	free(parent);
}

void new_folder_sweep_all(const char *parent, const char *begins)
{
	folder_each(parent, sweep_entry, &(struct sweep){parent, begins, true});
}

/* Under a temporary name: whoever is killed meanwhile leaves what the next sweeps. */
void folder_remove(const char *path, const char *first)
{
	size_t bytes = strlen(path) + NAME_ROOM;
	char *folder = array_unset(bytes, 1);
	snprintf(folder, bytes, "%s.%ld.%d" SUFFIX, path, (long)getpid(), NAME_TRIES);
	if (rename(path, folder))
		snprintf(folder, bytes, "%s", path);
	remove_file(folder, first);
	remove_folder(folder);
	free(folder);
}

/* ---- making ---- */

static void count(void *context, const char *name)
{
	(void)name;
	++*(int *)context;
}

static enum status check_place(const char *path)
{
	struct stat info;
	int entries = 0;
	if (lstat(path, &info) != 0)
		return errno == ENOENT ? STATUS_OK : cannot_write(STATUS_INPUT, path);
	if (!S_ISDIR(info.st_mode))
		return status_fail(STATUS_INPUT,
		                   "%s: is there and not a folder; choose another name, or one that ends in "
		                   ".safetensors for a file",
		                   path);
	return folder_each(path, count, &entries) && !entries
	               ? STATUS_OK
	               : status_fail(STATUS_INPUT, "%s: is there and not empty; choose another folder", path);
}

/* Made and locked. Between the two another's sweep may take it away: then it has no name, and errno is EEXIST. */
static bool try_name(struct new_folder *f, const char *name)
{
	struct stat info;
	if (mkdir(name, 0777))
		return false;
	f->lock = lock_folder(name);
	if (f->lock < 0 && errno != EWOULDBLOCK && errno != ENOENT)
		return true; /* without locks nobody sweeps either */
	if (f->lock >= 0 && (fstat(f->lock, &info) || info.st_nlink))
		return true;
	if (f->lock >= 0)
		close(f->lock);
	f->lock = -1;
	errno = EEXIST;
	return false;
}

/* A name that is in no use, so that two runs that save to one path do not write into the same folder. */
static enum status make_temporary(struct new_folder *f)
{
	size_t bytes = strlen(f->path) + NAME_ROOM;
	char *name = array_unset(bytes, 1);
	bool made = false;
	for (int i = 0; !made && i < NAME_TRIES; i++) {
		snprintf(name, bytes, "%s.%ld.%d" SUFFIX, f->path, (long)getpid(), i);
		made = try_name(f, name);
		if (!made && errno != EEXIST)
			break;
	}
	if (!made) {
		enum status s = cannot_write(STATUS_INPUT, f->path);
		free(name);
		return s;
	}
	f->temporary = name;
	return STATUS_OK;
}

static void cut_slashes(char *path)
{
	size_t length = strlen(path);
	while (length > 1 && path[length - 1] == '/')
		path[--length] = '\0';
}

/* A link to a folder stays, and leads to the new one. */
static void follow_link(struct new_folder *f)
{
	struct stat info;
	char *place = lstat(f->path, &info) || !S_ISLNK(info.st_mode) ? NULL : realpath(f->path, NULL);
	if (!place)
		return;
	free(f->path);
	f->path = place;
}

enum status new_folder_make(struct new_folder *f, const char *path)
{
	*f = (struct new_folder){.path = memory_text(path), .lock = -1};
	cut_slashes(f->path);
	follow_link(f);
	enum status s = check_place(f->path);
	if (!s) {
		sweep(f->path);
		s = make_temporary(f);
	}
	if (s)
		new_folder_release(f);
	return s;
}

/* False, with errno: the names in it may not be on the disk. Some file systems cannot sync a folder, and say EINVAL. */
static bool sync_folder(const char *path)
{
	int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	bool synced = folder >= 0 && (!fsync(folder) || errno == EINVAL);
	int error = errno;
	if (folder >= 0)
		close(folder);
	errno = error;
	return synced;
}

/* The names inside reach the disk before the folder has its own, and then that does. */
enum status new_folder_finish(struct new_folder *f)
{
	if (!sync_folder(f->temporary))
		return cannot_write(STATUS_RUN, f->path);
	if (rename(f->temporary, f->path) != 0)
		return status_fail(STATUS_RUN, "%s: cannot be renamed to %s: %s", f->temporary, f->path,
		                   strerror(errno));
	free(f->temporary);
	f->temporary = NULL;
	char *parent = parent_of(f->path);
	enum status s = sync_folder(parent) ? STATUS_OK : cannot_write(STATUS_RUN, f->path);
	free(parent);
	return s;
}

void new_folder_sweep(const char *path)
{
	struct new_folder f = {.path = memory_text(path), .lock = -1};
	cut_slashes(f.path);
	follow_link(&f);
	sweep(f.path);
	new_folder_release(&f);
}

void new_folder_release(struct new_folder *f)
{
	if (!f || !f->path)
		return;
	if (f->temporary)
		remove_folder(f->temporary);
	if (f->lock >= 0)
		close(f->lock);
	free(f->temporary);
	free(f->path);
	*f = (struct new_folder){0};
}
