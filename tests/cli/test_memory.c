/* The first, second, third … allocation fails, once or from then on. A command then ends with one line that speaks of
 * memory, and exit status 1 or 2; or it did without, and its output is whole. It never leaves a temporary, nor half a
 * file.
 *
 * malloc and its relatives are this program's own here. Allocations of libraries that compute or draw do not count:
 * what they do without memory is theirs. */
#define _GNU_SOURCE /* dladdr */
#include <ctype.h>
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/suite.h"

/* The command itself, from its first line on. */
int command_main(int argc, char **argv);
#define main command_main
#include "cli/main.c" // NOLINT(bugprone-suspicious-include): the command is what is tested
#undef main

/* ---- failing ---- */

static long *counted; /* shared with the child that counts */
static long failing;  /* the allocation that fails; 0: none */
static bool from_then_on;

#ifndef __SANITIZE_ADDRESS__ /* which has an allocator of its own */
void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *p, size_t bytes);

static bool is_counted(const void *caller)
{
	static const char *const whose[] = {"test_memory", "libjansson", "libyaml", "libc.so", "libz"};
	Dl_info info;
	if (!dladdr(caller, &info) || !info.dli_fname)
		return false;
	const char *slash = strrchr(info.dli_fname, '/'), *name = slash ? slash + 1 : info.dli_fname;
	for (int i = 0; i < COUNT(whose); i++)
		if (!strncmp(name, whose[i], strlen(whose[i])))
			return true;
	return false;
}

static bool fails(const void *caller)
{
	if (!counted || !is_counted(caller))
		return false;
	long n = ++*counted;
	bool yes = failing && (from_then_on ? n >= failing : n == failing);
	if (yes)
		errno = ENOMEM;
	return yes;
}

void *malloc(size_t bytes)
{
	return fails(__builtin_return_address(0)) ? NULL : __libc_malloc(bytes);
}

void *calloc(size_t count, size_t bytes)
{
	return fails(__builtin_return_address(0)) ? NULL : __libc_calloc(count, bytes);
}

void *realloc(void *p, size_t bytes)
{
	return fails(__builtin_return_address(0)) ? NULL : __libc_realloc(p, bytes);
}
#endif

/* ---- a run of the command ---- */

enum { ARGUMENTS = 24, TEXT = 1 << 20 };

static char folder[256], *whole, *text;

struct result {
	int status; /* as from waitpid */
	long count;
	char *out; /* numbers left out */
	char error[512];
};

static void in_folder(char *out, size_t size, const char *name)
{
	snprintf(out, size, "%s/%s", folder, name);
}

/* Numbers differ from run to run where time is measured: each becomes a #. */
static void leave_out_numbers(char *s)
{
	char *out = s;
	for (const char *p = s; *p;) {
		if (isdigit((unsigned char)*p)) {
			p += strspn(p, "0123456789abcdef.+-");
			*out++ = '#';
		} else {
			*out++ = *p++;
		}
	}
	*out = 0;
}

static void read_back(const char *name, char *out, size_t size)
{
	char path[300];
	in_folder(path, sizeof path, name);
	int fd = open(path, O_RDONLY);
	ssize_t n = read(fd, out, size - 1);
	out[n < 0 ? 0 : n] = 0;
	close(fd);
}

static void become_command(char *words)
{
	char path[300], *argv[ARGUMENTS] = {"shardlab"};
	int argc = 1;
	for (char *w = strtok(words, " "); w; w = strtok(NULL, " "))
		argv[argc++] = w;
	static const char *const names[] = {NULL, "out", "err"};
	for (int fd = 1; fd <= 2; fd++) {
		in_folder(path, sizeof path, names[fd]);
		dup2(open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600), fd);
	}
	alarm(30);
	*counted = 0;
	_exit(command_main(argc, argv));
}

static void carry_out(const char *command, long which, bool all_after, struct result *r, char *out)
{
	char words[512];
	snprintf(words, sizeof words, command, folder);
	failing = which;
	from_then_on = all_after;
	long *shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t child = fork();
	if (!child) {
		counted = shared;
		become_command(words);
	}
	ck_assert_int_eq(waitpid(child, &r->status, 0), child);
	r->count = *shared;
	munmap(shared, sizeof *shared);
	r->out = out;
	read_back("out", out, TEXT);
	read_back("err", r->error, sizeof r->error);
	leave_out_numbers(out);
}

static void assert_no_temporary(const char *command, long which)
{
	DIR *d = opendir(folder);
	for (const struct dirent *e = readdir(d); e; e = readdir(d))
		ck_assert_msg(!strstr(e->d_name, ".partial"), "%s, allocation %ld: leaves %s", command, which,
		              e->d_name);
	closedir(d);
}

static void assert_ended_well(const char *command, long which, const struct result *r, const struct result *want)
{
	int code = WIFEXITED(r->status) ? WEXITSTATUS(r->status) : -WTERMSIG(r->status);
	if (!code) {
		ck_assert_msg(!*r->error && !strcmp(r->out, want->out),
		              "%s, allocation %ld: exit status 0, and its output lacks something: '%s'", command, which,
		              r->error);
	} else {
		const char *end = strchr(r->error, '\n');
		ck_assert_msg((code == 1 || code == 2) && !strncmp(r->error, "fatal: ", 7) && end && !end[1] &&
		                      strcasestr(r->error, "memory"),
		              "%s, allocation %ld: exit status %d, '%s'", command, which, code, r->error);
	}
	assert_no_temporary(command, which);
}

/* All of the first ones, then fewer and fewer. */
static long next_of(long n)
{
	return n < 16 ? n + 1 : n + n / 7;
}

static const char *const commands[] = {
        "plan --model mlp:sizes=8-4-2 --strategy zero2 --ranks 2 --batch 4",
        "plan --model mlp:sizes=8-4-2 --strategy zero3 --ranks 2 --batch 4 --format json",
        "sim --model gpt:layers=1,width=16,heads=2,vocabulary=32,context=8 --strategy fsdp --ranks 4 --json --trace "
        "%s/trace.json",
        "sim --model mlp:sizes=8-4-2 --strategy ddp --ranks 2 --batch 4",
        "compare --model mlp:sizes=8-4-2 --strategy all --ranks 2 --batch 4 --json",
        "compare --model mlp:sizes=8-4-2 --strategy ddp,zero1 --ranks 2 --batch 4 --export %s/table.csv",
        "train --model mlp:sizes=784-4-10 --ranks 1 --batch 4 --steps 2 --threads 1 --json --save "
        "%1$s/weights.safetensors "
        "--trace %1$s/trace.json",
};

static void make_folder(void)
{
	const char *tmp = getenv("TMPDIR");
	snprintf(folder, sizeof folder, "%s/memory.XXXXXX", tmp ? tmp : "/tmp");
	ck_assert_ptr_nonnull(mkdtemp(folder));
	whole = mmap(NULL, 2 * TEXT, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	text = whole + TEXT;
}

static void remove_folder(void)
{
	char command[300];
	snprintf(command, sizeof command, "rm -rf '%s'", folder);
	ck_assert_int_eq(system(command), 0);
	munmap(whole, 2 * TEXT);
}

/* For tests/bench/bench_faults.sh. */
static void say(const char *command, long tried, long done_without, long all)
{
	if (getenv("FAULTS_SAY"))
		printf("faults %ld done-without %ld of %ld: %s, %s\n", tried, done_without, all, command,
		       from_then_on ? "all from there on" : "one");
}

START_LOOP_TEST(an_allocation_that_fails_is_told, 0, 2 * COUNT(commands))
{
	const char *command = commands[_i / 2];
	struct result want, r;
	long tried = 0, done_without = 0;
	carry_out(command, 0, false, &want, whole);
	ck_assert_msg(!want.status && !*want.error, "%s: %s", command, want.error);
	ck_assert_msg(want.count > 100, "%s: %ld allocations are too few to be all", command, want.count);
	for (long n = 1; n <= want.count; n = next_of(n)) {
		carry_out(command, n, _i % 2, &r, text);
		assert_ended_well(command, n, &r, &want);
		tried++;
		done_without += !r.status;
	}
	say(command, tried, done_without, want.count);
}

int main(int argc, char **argv)
{
	(void)argc;
	suite_alone(argv, kernels_better_core()); /* or the command would begin anew, as this test */
#ifdef __SANITIZE_ADDRESS__
	return suite_skip("the sanitizer has an allocator of its own");
#endif
	suite_fixture(make_folder, remove_folder);
	return suite_run("memory", 120);
}
