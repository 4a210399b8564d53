/* Folders of weights: what several writers write together is read back; shards are as large as they may be; nothing
 * half-written stands at the final name, and nothing that stands there is lost. */
#include "real/data/weights_file.h"
#include "real/data/weights_writer.h"
#include "tests/support/refusal.h"
#include "tests/support/scratch.h"
#include "tests/support/suite.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { MANY = 1000000000, ELEMENTS = 4, BYTES = 4 * ELEMENTS };

static char out[96];

static void setup(void)
{
	scratch_make();
	snprintf(out, sizeof out, "%s/out", scratch);
}

static void teardown(void)
{
	folder_empty(out);
	rmdir(out);
	ck_assert_int_eq(rmdir(scratch), 0); /* and so: nothing else was left in it */
}

static void declare(struct weights_writer *w)
{
	static const char *const names[] = {"a", "b", "c", "d", "e"};
	for (int i = 0; i < COUNT(names); i++)
		must(weights_writer_declare(w, names[i], 1, (int64_t[]){ELEMENTS}));
	must(weights_writer_begin(w));
}

/* The elements [first, end) of each of the five tensors: 100 times its number and the element's. */
static void put(struct weights_writer *w, int first, int end)
{
	for (int t = 0; t < 5; t++)
		for (int i = first; i < end; i++)
			must(weights_writer_write(w, t, i, 1, (float[]){(float)(100 * t + i)}));
}

static void check_tensors(void)
{
	struct weights_file f;
	float values[ELEMENTS];
	must(weights_file_open(&f, out));
	ck_assert_int_eq(f.count, 5);
	for (int t = 0; t < 5; t++) {
		must(weights_file_read(&f.tensors[t], 0, ELEMENTS, values));
		for (int i = 0; i < ELEMENTS; i++)
			ck_assert(values[i] == (float)(100 * t + i));
	}
	weights_file_release(&f);
}

static int files_of(int64_t shard_bytes)
{
	struct weights_writer w;
	int64_t counts[5];
	must(weights_writer_create(&w, out, shard_bytes));
	declare(&w);
	put(&w, 0, ELEMENTS);
	ck_assert_int_le(folder_entries(out), 0);
	weights_writer_counts(&w, counts);
	must(weights_writer_finish(&w, counts));
	weights_writer_release(&w);
	weights_writer_release(&w);
	check_tensors();
	return folder_entries(out);
}

static const struct {
	int64_t shard_bytes;
	int files; /* with the index */
} sizes[] = {{MANY, 1}, {5 * BYTES, 1}, {5 * BYTES - 1, 3}, {2 * BYTES, 4}, {2 * BYTES - 1, 6}, {1, 6}};

START_LOOP_TEST(shards_are_as_large_as_they_may_be, 0, COUNT(sizes))
{
	ck_assert_int_eq(files_of(sizes[_i].shard_bytes), sizes[_i].files);
}

START_LOOP_TEST(several_write, 0, 2)
{
	struct weights_writer root, other;
	int64_t shard = _i ? MANY : 2 * BYTES, mine[3] = {0}, theirs[3] = {0};
	must(weights_writer_create(&root, out, shard));
	declare(&root);
	must(weights_writer_join(&other, out, root.temporary, shard));
	declare(&other);
	put(&other, 1, ELEMENTS);
	put(&root, 0, 1);
	weights_writer_counts(&root, mine);
	weights_writer_counts(&other, theirs);
	weights_writer_release(&other);
	for (int i = 0; i < 3; i++)
		mine[i] += theirs[i];
	must(weights_writer_add(&root, "config.json", "{}", 2));
	must(weights_writer_finish(&root, mine));
	weights_writer_release(&root);
	check_tensors();
	ck_assert_int_eq(folder_entries(out), _i ? 2 : 5);
}

/* A tensor that nobody wrote, or a folder that is given up, leaves nothing. */
START_TEST(unfinished)
{
	struct weights_writer w;
	int64_t counts[3];
	must(weights_writer_create(&w, out, 2 * BYTES));
	declare(&w);
	put(&w, 1, ELEMENTS);
	weights_writer_counts(&w, counts);
	must_fail(weights_writer_finish(&w, counts), STATUS_RUN, "6 elements were written, but its tensors have 8");
	weights_writer_release(&w);
	ck_assert_int_eq(folder_entries(scratch), 0);
}

START_TEST(what_is_there_stays)
{
	struct weights_writer w;
	char file[128];
	snprintf(file, sizeof file, "%s/file", out);
	ck_assert_int_eq(mkdir(out, 0777), 0);
	ck_assert_int_eq(files_of(MANY), 1); /* an empty folder is taken */
	must_fail(weights_writer_create(&w, out, MANY), STATUS_INPUT, "is there and not empty");
	check_tensors();
	folder_empty(out);
	ck_assert_int_eq(rmdir(out), 0);
	file_put_text(out, "");
	must_fail(weights_writer_create(&w, out, MANY), STATUS_INPUT, "is there and not a folder");
	must_fail(weights_writer_create(&w, file, MANY), STATUS_INPUT, "cannot be written");
	ck_assert_int_eq(unlink(out), 0);
}

/* A process that was killed leaves its folder; the next writer to that name removes it, and none that is at work. */
START_TEST(what_the_dead_left)
{
	struct weights_writer alive, w;
	char dead[128], other[128], file[160];
	snprintf(dead, sizeof dead, "%s.123456789.0.partial", out);
	snprintf(other, sizeof other, "%s.old.partial", out);
	snprintf(file, sizeof file, "%s/shard-0", dead);
	ck_assert(!mkdir(dead, 0777) && !mkdir(other, 0777));
	file_put_text(file, "");
	must(weights_writer_create(&alive, out, MANY));
	ck_assert_int_eq(folder_entries(dead), -1);
	ck_assert_int_eq(folder_entries(other), 0);
	must(weights_writer_create(&w, out, MANY));
	ck_assert_int_eq(folder_entries(alive.temporary), 0);
	ck_assert_int_eq(folder_entries(w.temporary), 0);
	weights_writer_release(&w);
	weights_writer_release(&alive);
	ck_assert_int_eq(rmdir(other), 0);
}

/* ---- the system's calls ---- */

static bool swept;       /* the next folder is taken away as soon as it is made, as a sweep may do */
static int folder_syncs; /* the number that worked */
static int sync_error;   /* of those of folders */

int mkdir(const char *path, mode_t mode)
{
	int failed = (int)syscall(SYS_mkdirat, AT_FDCWD, path, mode);
	if (!failed && swept)
		rmdir(path);
	swept = false;
	return failed;
}

int fsync(int fd)
{
	struct stat info;
	if (fstat(fd, &info) || !S_ISDIR(info.st_mode))
		return 0;
	folder_syncs++;
	errno = sync_error;
	return sync_error ? -1 : 0;
}

START_TEST(a_folder_that_is_swept_away_is_made_again)
{
	struct weights_writer w;
	swept = true;
	must(weights_writer_create(&w, out, MANY));
	ck_assert_int_eq(folder_entries(w.temporary), 0);
	ck_assert_ptr_nonnull(strstr(w.temporary, ".1.partial"));
	weights_writer_release(&w);
}

START_TEST(the_name_reaches_the_disk)
{
	struct weights_writer w;
	files_of(MANY);
	ck_assert_int_eq(folder_syncs, 2); /* itself, and the one that has its name */
	sync_error = EIO;
	folder_empty(out);
	must(weights_writer_create(&w, out, MANY));
	declare(&w);
	put(&w, 0, ELEMENTS);
	must_fail(weights_writer_finish(&w, (int64_t[]){5 * ELEMENTS}), STATUS_RUN, strerror(EIO));
	weights_writer_release(&w);
	ck_assert_int_eq(folder_entries(out), 0);
}

START_TEST(a_link_to_a_folder_stays)
{
	char link[128];
	struct stat info;
	struct weights_writer w;
	snprintf(link, sizeof link, "%s/link", scratch);
	ck_assert(!mkdir(out, 0777) && !symlink("out", link));
	must(weights_writer_create(&w, link, MANY));
	declare(&w);
	put(&w, 0, ELEMENTS);
	must(weights_writer_finish(&w, (int64_t[]){5 * ELEMENTS}));
	weights_writer_release(&w);
	check_tensors();
	ck_assert(!lstat(link, &info) && S_ISLNK(info.st_mode));
	ck_assert_int_eq(unlink(link), 0);
}

/* ---- very many shards ---- */

enum { SHARDS = 150, DESCRIPTORS = 100 };

static void declare_many(struct weights_writer *w)
{
	char name[16];
	for (int i = 0; i < SHARDS; i++) {
		snprintf(name, sizeof name, "t%03d", i);
		must(weights_writer_declare(w, name, 1, (int64_t[]){2}));
	}
	must(weights_writer_begin(w));
}

static void write_many(struct weights_writer *w, int element)
{
	for (int i = 0; i < SHARDS; i++)
		must(weights_writer_write(w, i, element, 1, (float[]){(float)(2 * i + element)}));
	must(weights_writer_leave(w));
}

static enum status read_many(const struct weights_file *f)
{
	float two[2];
	for (int i = 0; i < SHARDS; i++) {
		TRY(weights_file_read(&f->tensors[i], 0, 2, two));
		ck_assert(two[0] == (float)(2 * i) && two[1] == (float)(2 * i + 1));
	}
	return STATUS_OK;
}

START_TEST(more_shards_than_descriptors)
{
	struct weights_writer root, other;
	struct weights_file f;
	int64_t counts[SHARDS];
	char last[160];
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &(struct rlimit){DESCRIPTORS, DESCRIPTORS}), 0);
	must(weights_writer_create(&root, out, 1));
	declare_many(&root);
	must(weights_writer_join(&other, out, root.temporary, 1));
	declare_many(&other);
	write_many(&root, 0);
	write_many(&other, 1);
	for (int i = 0; i < SHARDS; i++)
		counts[i] = 2;
	weights_writer_release(&other);
	must(weights_writer_finish(&root, counts));
	weights_writer_release(&root);
	must(weights_file_open(&f, out));
	must(read_many(&f));
	/* One that has no descriptor and is replaced is not taken for the old one. */
	snprintf(last, sizeof last, "%s/model-%05d-of-%05d.safetensors", out, SHARDS, SHARDS);
	ck_assert_int_eq(unlink(last), 0);
	must_fail(read_many(&f), STATUS_INPUT, "cannot be opened");
	weights_file_release(&f);
}

START_TEST(slashes_and_endings)
{
	char with[128];
	struct weights_writer w;
	ck_assert(weights_writer_takes_folder("out") && weights_writer_takes_folder("out.safetensors/"));
	ck_assert(weights_writer_takes_folder(".safetensors") && !weights_writer_takes_folder("a/out.safetensors"));
	snprintf(with, sizeof with, "%s//", out);
	must(weights_writer_create(&w, with, MANY));
	ck_assert_str_eq(w.made.path, out);
	weights_writer_release(&w);
	must_fail(weights_writer_create(&w, "model.pt", MANY), STATUS_INPUT, "model.pt: weights are written as a file");
}

SUITE_WITH("weights writer", 0, setup, teardown)
