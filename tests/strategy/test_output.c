/* Files are written whole: what stands where a file is written, permissions, links, what is synced when, and
 * what is left when the writer dies. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "strategy/base/file.h"
#include "strategy/base/output.h"
#include "tests/support/scratch.h"
#include "tests/support/suite.h"

static char folder[256];

static void make_folder(void)
{
	/* Not in TMPDIR, which may be the tests' own: one case is another user, and must get there. */
	snprintf(folder, sizeof folder, "/tmp/shardlab-output.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(folder));
	ck_assert_int_eq(chmod(folder, 0755), 0);
	umask(022);
}

static void remove_folder(void)
{
	char command[300];
	snprintf(command, sizeof command, "rm -rf '%s'", folder);
	ck_assert_int_eq(system(command), 0);
}

/* One of two texts lives at a time. */
static const char *in_folder(const char *name)
{
	static char path[2][512];
	static int next;
	next = !next;
	snprintf(path[next], sizeof path[next], "%s/%s", folder, name);
	return path[next];
}

static void put(const char *name, const char *text, mode_t mode)
{
	FILE *f = fopen(in_folder(name), "w");
	ck_assert_ptr_nonnull(f);
	fputs(text, f);
	ck_assert_int_eq(fchmod(fileno(f), mode), 0);
	fclose(f);
}

static void assert_text(const char *name, const char *want)
{
	char have[64] = "";
	FILE *f = fopen(in_folder(name), "r");
	ck_assert_ptr_nonnull(f);
	size_t n = fread(have, 1, sizeof have - 1, f);
	have[n] = 0;
	fclose(f);
	ck_assert_str_eq(have, want);
}

static mode_t mode_of(const char *name)
{
	struct stat info;
	ck_assert_int_eq(lstat(in_folder(name), &info), 0);
	return info.st_mode;
}

static enum status print_new(void *context, FILE *out)
{
	(void)context;
	fputs("new", out);
	return STATUS_OK;
}

static enum status write_new(const char *name)
{
	return file_write(in_folder(name), "{trace}", print_new, NULL);
}

/* ---- the order of system calls, and their failures ---- */

static char calls[16]; /* f: a file was synced, r: renamed, d: a folder was synced */
static char failing;   /* one of these */

static int note(char call)
{
	calls[strlen(calls)] = call;
	errno = EIO;
	return call == failing;
}

int fsync(int fd)
{
	struct stat info;
	return fstat(fd, &info) || note(S_ISDIR(info.st_mode) ? 'd' : 'f') ? -1 : 0;
}

int renameat(int from_folder, const char *from, int to_folder, const char *to)
{
	return note('r') ? -1 : (int)syscall(SYS_renameat2, from_folder, from, to_folder, to, 0);
}

START_TEST(data_is_synced_before_its_name_and_then_the_folder)
{
	ck_assert_int_eq(write_new("a"), STATUS_OK);
	ck_assert_str_eq(calls, "frd");
	assert_text("a", "new");
}

START_TEST(what_fails_leaves_the_old_file)
{
	put("a", "old", 0644);
	for (const char *f = "fr"; *f; f++) {
		failing = *f;
		ck_assert_int_eq(write_new("a"), STATUS_RUN);
		ck_assert_ptr_nonnull(strstr(status_message(), "cannot write"));
		ck_assert_ptr_nonnull(strstr(status_message(), strerror(EIO)));
		assert_text("a", "old");
		ck_assert_int_eq(folder_entries(folder), 1);
	}
}

static enum status print_and_fail(void *context, FILE *out)
{
	(void)context;
	fputs("half", out);
	return status_fail(STATUS_CHECK, "no more");
}

START_TEST(a_writer_that_gives_up_leaves_the_old_file)
{
	put("a", "old", 0644);
	ck_assert_int_eq(file_write(in_folder("a"), "{trace}", print_and_fail, NULL), STATUS_CHECK);
	assert_text("a", "old");
	ck_assert_int_eq(folder_entries(folder), 1);
}

/* ---- permissions ---- */

START_TEST(a_new_file_has_what_the_umask_leaves)
{
	umask(027);
	ck_assert_int_eq(write_new("a"), STATUS_OK);
	ck_assert_int_eq(mode_of("a") & 07777, 0640);
}

START_TEST(a_file_keeps_its_permissions)
{
	put("a", "old", 0604);
	umask(077);
	ck_assert_int_eq(write_new("a"), STATUS_OK);
	ck_assert_int_eq(mode_of("a") & 07777, 0604);
	assert_text("a", "new");
}

START_TEST(a_private_file_is_private_while_it_is_written)
{
	struct output *o;
	struct stat info;
	put("a", "old", 0600);
	ck_assert_int_eq(output_open(&o, in_folder("a"), "{trace}"), STATUS_OK);
	ck_assert_int_eq(stat(output_temporary(o), &info), 0);
	ck_assert_int_eq(info.st_mode & 0777, 0600);
	output_close(o);
}

START_TEST(a_file_that_is_read_only_is_refused)
{
	put("a", "old", 0444);
	if (!geteuid()) { /* root may write anything */
		ck_assert_int_eq(chown(folder, 65534, 65534), 0);
		ck_assert_int_eq(seteuid(65534), 0);
	}
	enum status written = write_new("a"), checked = output_check(in_folder("a"), "{trace}");
	int n = folder_entries(folder);
	if (!getuid())
		ck_assert_int_eq(seteuid(0), 0);
	ck_assert_int_eq(written, STATUS_INPUT);
	ck_assert_int_eq(checked, STATUS_INPUT);
	ck_assert_int_eq(n, 1);
	assert_text("a", "old");
}

START_TEST(root_leaves_a_file_to_its_owner)
{
	struct stat info;
	if (geteuid())
		return;
	put("a", "old", 0640);
	ck_assert_int_eq(chown(in_folder("a"), 65534, 65533), 0);
	ck_assert_int_eq(write_new("a"), STATUS_OK);
	ck_assert_int_eq(stat(in_folder("a"), &info), 0);
	ck_assert_int_eq(info.st_uid, 65534);
	ck_assert_int_eq(info.st_gid, 65533);
	ck_assert_int_eq(info.st_mode & 07777, 0640);
}

/* ---- what stands there ---- */

START_TEST(the_file_behind_a_link_is_replaced)
{
	ck_assert_int_eq(mkdir(in_folder("there"), 0755), 0);
	put("there/a", "old", 0644);
	ck_assert_int_eq(symlink("there/a", in_folder("link")), 0);
	ck_assert_int_eq(symlink("link", in_folder("link to link")), 0);
	ck_assert_int_eq(write_new("link to link"), STATUS_OK);
	ck_assert(S_ISLNK(mode_of("link")) && S_ISLNK(mode_of("link to link")));
	assert_text("there/a", "new");
	ck_assert_int_eq(folder_entries(folder), 3);
}

START_TEST(a_link_to_nothing_is_refused)
{
	ck_assert_int_eq(symlink(in_folder("victim"), in_folder("link")), 0);
	ck_assert_int_eq(write_new("link"), STATUS_INPUT);
	ck_assert_ptr_nonnull(strstr(status_message(), "symbolic link"));
	ck_assert_int_eq(folder_entries(folder), 1);
}

START_TEST(a_link_in_the_place_of_the_temporary_is_not_followed)
{
	char planted[64];
	put("victim", "old", 0644);
	snprintf(planted, sizeof planted, "a.%d.0.partial", (int)getpid());
	ck_assert_int_eq(symlink("victim", in_folder(planted)), 0);
	ck_assert_int_eq(write_new("a"), STATUS_OK);
	assert_text("victim", "old");
	assert_text("a", "new");
	ck_assert(S_ISREG(mode_of("a")));
}

START_TEST(a_fifo_is_written_into)
{
	char have[8] = "";
	ck_assert_int_eq(mkfifo(in_folder("fifo"), 0600), 0);
	pid_t writer = fork();
	if (!writer)
		_exit(output_check(in_folder("fifo"), "{trace}") != STATUS_OK || write_new("fifo") != STATUS_OK);
	int fd = open(in_folder("fifo"), O_RDONLY), status;
	ck_assert_int_eq(read(fd, have, sizeof have), 3);
	ck_assert_str_eq(have, "new");
	close(fd);
	ck_assert_int_eq(waitpid(writer, &status, 0), writer);
	ck_assert_int_eq(status, 0);
	ck_assert(S_ISFIFO(mode_of("fifo")));
	ck_assert_int_eq(folder_entries(folder), 1);
}

/* Root could lose the machine's own device to a bug, and tests with one that is made here; false: none can be made.
 * Others cannot replace what is in /dev. */
static bool find_device(const char *name, unsigned minor, char path[512])
{
	snprintf(path, 512, "%s/%s", geteuid() ? "/dev" : folder, name);
	if (!geteuid() && mknod(path, S_IFCHR | 0666, makedev(1, minor)))
		return false;
	int fd = open(path, O_WRONLY); /* a file system may have no devices */
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

START_TEST(a_fifo_that_nobody_reads_is_given_up)
{
	ck_assert_int_eq(mkfifo(in_folder("fifo"), 0600), 0);
	ck_assert_int_eq(output_check(in_folder("fifo"), "{trace}"), STATUS_INPUT);
	ck_assert_ptr_nonnull(strstr(status_message(), "nobody reads it"));
}

START_TEST(a_fifo_is_not_waited_for)
{
	char *text;
	size_t size;
	ck_assert_int_eq(mkfifo(in_folder("a"), 0644), 0);
	ck_assert_int_eq(file_read(in_folder("a"), "{trace}", 10, &text, &size), STATUS_INPUT);
	ck_assert_ptr_nonnull(strstr(status_message(), "is a FIFO"));
	ck_assert_ptr_null(text);
}

START_TEST(the_other_end_of_a_pipe_is_waited_for)
{
	int ends[2];
	char *text, path[64];
	size_t size;
	ck_assert_int_eq(pipe(ends), 0);
	snprintf(path, sizeof path, "/dev/fd/%d", ends[0]);
	if (!fork()) {
		close(ends[0]);
		usleep(50000);
		_exit(write(ends[1], "new", 3) != 3);
	}
	close(ends[1]);
	ck_assert_int_eq(file_read(path, "{trace}", 10, &text, &size), STATUS_OK);
	ck_assert_uint_eq(size, 3);
	ck_assert_mem_eq(text, "new", 3);
	free(text);
	close(ends[0]);
	wait(NULL);
}

START_TEST(a_device_stays_one)
{
	enum { NULL_MINOR = 3, FULL_MINOR = 7 };
	struct stat before, after;
	char null[512], full[512];
	if (!find_device("null", NULL_MINOR, null) || !find_device("full", FULL_MINOR, full))
		return;
	ck_assert_int_eq(stat(null, &before), 0);
	ck_assert_int_eq(output_check(null, "{trace}"), STATUS_OK);
	ck_assert_int_eq(file_write(null, "{trace}", print_new, NULL), STATUS_OK);
	ck_assert_int_eq(stat(null, &after), 0);
	ck_assert(S_ISCHR(after.st_mode) && after.st_ino == before.st_ino);
	ck_assert_int_eq(file_write(full, "{trace}", print_new, NULL), STATUS_RUN);
}

START_TEST(stdout_is_written_into)
{
	int kept = dup(STDOUT_FILENO), file;
	fflush(stdout);
	put("out", "first ", 0644);
	file = open(in_folder("out"), O_WRONLY | O_APPEND);
	dup2(file, STDOUT_FILENO);
	enum status s = file_write("/dev/stdout", "{trace}", print_new, NULL);
	dup2(kept, STDOUT_FILENO);
	close(file);
	ck_assert_int_eq(s, STATUS_OK);
	assert_text("out", "first new");
}

START_TEST(a_folder_is_refused)
{
	static const char *const names[] = {"", "/.", "/..", "/"};
	for (int i = 0; i < COUNT(names); i++) {
		char path[300];
		snprintf(path, sizeof path, "%s%s", folder, names[i]);
		ck_assert_int_eq(file_write(path, "{trace}", print_new, NULL), STATUS_INPUT);
		ck_assert_ptr_nonnull(strstr(status_message(), "it is a folder"));
	}
	ck_assert_int_eq(file_write("", "{trace}", print_new, NULL), STATUS_INPUT);
	ck_assert_int_eq(write_new("nowhere/a"), STATUS_INPUT);
	ck_assert_int_eq(folder_entries(folder), 0);
}

START_TEST(the_longest_name_can_be_written)
{
	char name[256];
	memset(name, 'n', sizeof name - 1);
	name[sizeof name - 1] = 0;
	ck_assert_int_eq(write_new(name), STATUS_OK);
	assert_text(name, "new");
	ck_assert_int_eq(folder_entries(folder), 1);
}

/* ---- writers that die ---- */

/* A child that opens the output and dies in the middle. */
static void die_while_writing(const char *name, bool abandons)
{
	int status;
	pid_t child = fork();
	if (!child) {
		struct output *o;
		if (output_open(&o, in_folder(name), "{trace}"))
			_exit(1);
		if (abandons)
			outputs_abandon();
		_exit(0);
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
}

START_TEST(an_exit_in_a_hurry_leaves_nothing)
{
	die_while_writing("a", true);
	ck_assert_int_eq(folder_entries(folder), 0);
}

START_TEST(what_the_dead_left_is_removed_and_nothing_else)
{
	struct output *alive;
	put("a.1.2.partial.txt", "", 0644);
	put("a.b.1.partial", "", 0644);
	put("ab.1.2.partial", "", 0644);
	ck_assert_int_eq(symlink("ab.1.2.partial", in_folder("a.1.3.partial")), 0);
	die_while_writing("a", false);
	ck_assert_int_eq(folder_entries(folder), 5);
	ck_assert_int_eq(output_open(&alive, in_folder("a"), "{trace}"), STATUS_OK);
	ck_assert_int_eq(folder_entries(folder), 5); /* the one of the dead is gone, one is new */
	output_sweep(in_folder("a"));
	ck_assert_int_eq(folder_entries(folder), 5); /* it is locked */
	output_close(alive);
	die_while_writing("a", false);
	ck_assert_int_eq(folder_entries(folder), 5);
	output_sweep(in_folder("a"));
	ck_assert_int_eq(folder_entries(folder), 4);
}

SUITE_WITH("output", 60, make_folder, remove_folder)
