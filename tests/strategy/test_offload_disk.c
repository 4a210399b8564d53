/* Offload's memory and files: stray writes are found in every arena, files are gone as soon as they are made, and a
 * disk that fails ends the run with a line. */
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "real/rank/disk.h"
#include "tests/support/plan_check.h"
#include "tests/support/suite.h"
#include "tests/support/trainer.h"

#define ON_DISK "gpt:layers=3,width=32,heads=2,context=16 single offload=optimizer:to=disk"

/* A stray write beside a buffer on the host, and on disk, is found. */
START_LOOP_TEST(guard_zones_in_every_arena, 0, 2)
{
	static const char *const names[] = {"gradients", "first_moment"};
	struct trainer t;
	const unsigned char byte = 1;
	ck_assert_msg(!trainer_open(&t, right_plan(ON_DISK), "tests/golden/text.txt", true), "%s", status_message());
	ck_assert_int_eq(rank_memory_check(&t.device), STATUS_OK);
	int buffer = role_buffer(t.device.role, names[_i]);
	const struct buffer *b = &t.device.role->buffers[buffer];
	ck_assert_int_eq(b->space, _i ? SPACE_DISK : SPACE_HOST);
	if (b->space == SPACE_HOST)
		((unsigned char *)rank_memory_buffer(&t.device, buffer))[buffer_bytes(b)] = byte;
	else
		ck_assert(!disk_write(t.device.disk, t.device.layout.offset[buffer] + buffer_bytes(b), &byte, 1));
	ck_assert_int_eq(rank_memory_check(&t.device), STATUS_RUN);
	ck_assert_ptr_nonnull(strstr(status_message(), names[_i]));
	trainer_release(&t);
}

static int entries(const char *folder)
{
	int n = 0;
	DIR *d = opendir(folder);
	ck_assert_ptr_nonnull(d);
	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

START_TEST(files_have_no_name)
{
	char folder[256], text[] = "0123456789", back[sizeof text];
	struct disk *disk;
	snprintf(folder, sizeof folder, "%s/offload.XXXXXX", support_folder());
	ck_assert_ptr_nonnull(mkdtemp(folder));
	ck_assert_int_eq(disk_open(&disk, folder, 1 << 20), STATUS_OK);
	ck_assert_int_eq(entries(folder), 2); /* . and .. */
	ck_assert_int_eq(disk_write(disk, 12345, text, sizeof text), STATUS_OK);
	ck_assert_int_eq(disk_read(disk, 12345, back, sizeof back), STATUS_OK);
	ck_assert_str_eq(text, back);
	ck_assert_int_eq(disk_read(disk, (1 << 20) - 4, back, 8), STATUS_RUN);
	ck_assert_ptr_nonnull(strstr(status_message(), "the file ends"));
	disk_close(disk);
	/* More than any disk has. */
	ck_assert_int_eq(disk_open(&disk, folder, INT64_C(1) << 60), STATUS_INPUT);
	ck_assert_ptr_nonnull(strstr(status_message(), "has no room"));
	ck_assert_ptr_null(disk);
	ck_assert_int_eq(entries(folder), 2);
	ck_assert_int_eq(rmdir(folder), 0);
	ck_assert_int_eq(disk_open(&disk, folder, 1), STATUS_INPUT);
	ck_assert_int_eq(disk_open(&disk, NULL, 1), STATUS_INPUT);
}

/* The file that this process has open in the folder, though it has no name any more. */
static int nameless_file(const char *folder)
{
	char link[64], target[512];
	for (int file = 0; file < 1024; file++) {
		snprintf(link, sizeof link, "/proc/self/fd/%d", file);
		ssize_t n = readlink(link, target, sizeof target - 1);
		target[n > 0 ? n : 0] = 0;
		if (!strncmp(target, folder, strlen(folder)) && strstr(target, "/shardlab."))
			return file;
	}
	ck_abort_msg("no file is open in %s", folder);
	return -1;
}

/* A queue's thread says so, all queues end, and the threads that waited for it too: else this would not return. */
START_LOOP_TEST(disk_that_fails_ends_the_section, 0, 2)
{
	static const char *const lines[] = {"cannot read in", "cannot write in"};
	struct trainer t;
	struct rlimit limit;
	double loss;
	signal(SIGXFSZ, SIG_IGN);
	ck_assert_msg(!trainer_open(&t, right_plan(ON_DISK), "tests/golden/text.txt", false), "%s", status_message());
	ck_assert_msg(!trainer_step(&t, &loss), "%s", status_message());
	ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &limit), 0);
	if (!_i)
		ck_assert_int_eq(ftruncate(nameless_file(support_folder()), 0), 0);
	else
		ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &(struct rlimit){0, limit.rlim_max}), 0);
	for (int again = 0; again < 2; again++) {
		enum status s = trainer_step(&t, &loss);
		ck_assert_int_eq(s, STATUS_RUN);
		ck_assert_msg(strstr(status_message(), lines[_i]) != NULL, "%s", status_message());
	}
	setrlimit(RLIMIT_FSIZE, &limit);
	trainer_release(&t);
}

SUITE("offload disk", 120)
