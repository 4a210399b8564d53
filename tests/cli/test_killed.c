/* SIGKILL at every system call of a save, each time in a run of its own: from the moment at which the first
 * checkpoint's folder is made to the run's last call. `latest` then leads to a whole checkpoint, of the step that was
 * being saved or the one before. The run goes on from it to the same weights, and leaves nothing unfinished.
 *
 * A run is a child that was forked, so that none loads the program again. It lets itself be traced where the first save
 * begins, with the threads that it starts from there on, and is killed where it comes to its n-th call, which the
 * kernel then leaves out. (Several ranks: tests/cli/cli_strikes.sh.) */
#define _GNU_SOURCE /* __WALL */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "real/checkpoint/folder.h"
#include "real/checkpoint/manifest.h"
#include "real/data/new_folder.h"
#include "strategy/base/path.h"
#include "tests/support/plans.h"
#include "tests/support/suite.h"

/* The command itself, from its first line on. */
int command_main(int argc, char **argv);
#define main command_main
#include "cli/main.c" // NOLINT(bugprone-suspicious-include): the command is what is tested
#undef main

/* ---- a run that waits to be traced where it begins to save ---- */

static bool is_traced; /* this process is to be */
static int *saves;     /* begun by it; shared */

int mkdir(const char *path, mode_t mode)
{
	if (is_traced && strstr(path, "/step-0") && !(*saves)++) {
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		raise(SIGSTOP);
	}
	return (int)syscall(SYS_mkdirat, AT_FDCWD, path, mode);
}

static char folder[256], saved[300], out[300], error[300];

enum { ARGUMENTS = 40 };

static pid_t begin(const char *words, bool traced)
{
	*saves = 0;
	pid_t child = fork();
	if (child)
		return child;
	char *text = strdup(words), *argv[ARGUMENTS] = {"shardlab"};
	int argc = 1;
	for (char *w = strtok(text, " "); w; w = strtok(NULL, " "))
		argv[argc++] = w;
	dup2(open(out, O_WRONLY | O_CREAT | O_TRUNC, 0600), STDOUT_FILENO);
	dup2(open(error, O_WRONLY | O_CREAT | O_TRUNC, 0600), STDERR_FILENO);
	is_traced = traced;
	alarm(60);
	int status = command_main(argc, argv);
	fflush(NULL);
	_exit(status);
}

/* Before these a kill leaves what it leaves before the next call: they change no file. */
static const long harmless[] = {SYS_read,
                                SYS_pread64,
                                SYS_newfstatat,
                                SYS_fstat,
                                SYS_lseek,
                                SYS_getdents64,
                                SYS_mmap,
                                SYS_munmap,
                                SYS_mprotect,
                                SYS_madvise,
                                SYS_brk,
                                SYS_futex,
                                SYS_getpid,
                                SYS_gettid,
                                SYS_sched_yield,
                                SYS_rt_sigaction,
                                SYS_rt_sigprocmask,
                                SYS_nanosleep,
                                SYS_faccessat,
                                SYS_clone3,
                                SYS_rseq,
                                SYS_set_robust_list,
                                SYS_clock_nanosleep,
                                SYS_ppoll};

static bool begins_call(pid_t thread, int status)
{
	struct __ptrace_syscall_info info;
	if (WSTOPSIG(status) != (SIGTRAP | 0x80))
		return false;
	ck_assert(ptrace(PTRACE_GET_SYSCALL_INFO, thread, sizeof info, &info) > 0);
	for (int i = 0; i < COUNT(harmless); i++)
		if ((long)info.entry.nr == harmless[i])
			return false;
	return info.op == PTRACE_SYSCALL_INFO_ENTRY;
}

/* A thread that is new stops by itself, and one that makes a new one is stopped for that. */
static int signal_to_pass_on(int status)
{
	int signal = WSTOPSIG(status) & ~0x80;
	return signal == SIGTRAP || signal == SIGSTOP ? 0 : signal;
}

/* Follows the child to its end, and kills it at its n-th call; 0: at none. The number of calls that it came to. */
static long follow(pid_t child, long n, int *status)
{
	long calls = 0;
	for (bool first = true;; first = false) {
		pid_t thread = waitpid(-1, status, __WALL);
		ck_assert_msg(thread > 0, "waiting for the run: %s", strerror(errno));
		if (!WIFSTOPPED(*status)) {
			if (thread == child)
				return calls;
			continue;
		}
		if (first)
			ptrace(PTRACE_SETOPTIONS, child, 0,
			       PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE | PTRACE_O_EXITKILL);
		if (begins_call(thread, *status) && ++calls == n)
			kill(child, SIGKILL);
		ptrace(PTRACE_SYSCALL, thread, 0, signal_to_pass_on(*status));
	}
}

/* ---- what is there then ---- */

static void read_text(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY);
	ssize_t n = read(fd, text, size - 1);
	text[n < 0 ? 0 : n] = '\0';
	close(fd);
}

static void weights_checksum(char sum[17])
{
	static const char key[] = "\"weights_checksum\": \"";
	char text[1 << 16];
	read_text(out, text, sizeof text);
	const char *at = strstr(text, key);
	ck_assert_ptr_nonnull(at);
	snprintf(sum, 17, "%.16s", at + strlen(key));
}

static void run_to_end(const char *words, char sum[17])
{
	int status;
	char said[512];
	pid_t child = begin(words, false);
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	read_text(error, said, sizeof said);
	ck_assert_msg(!status && !*said, "%s: %s", words, said);
	weights_checksum(sum);
}

/* The step that `latest` leads to; 0: there is no checkpoint. */
static int64_t step_of_latest(long n)
{
	struct manifest m;
	char *path;
	if (checkpoint_find("latest", saved, &path))
		return 0;
	ck_assert_msg(!manifest_read(&m, path), "killed at call %ld: %s", n, status_message());
	ck_assert_int_eq(m.file_count, 1);
	ck_assert_msg(!manifest_check_file(&m, path, 0), "killed at call %ld: %s", n, status_message());
	int64_t step = m.step;
	manifest_release(&m);
	free(path);
	return step;
}

static void assert_finished(void *n, const char *name)
{
	ck_assert_msg(!strstr(name, ".partial"), "killed at call %ld and gone on: %s is left", *(long *)n, name);
}

static void remove_checkpoint(void *context, const char *name)
{
	(void)context;
	char *path = path_in_folder(saved, name);
	if (unlink(path))
		folder_remove(path, MANIFEST_NAME);
	free(path);
}

static void remove_run(void)
{
	folder_each(saved, remove_checkpoint, NULL);
	ck_assert_msg(!rmdir(saved), "%s: %s", saved, strerror(errno));
}

/* ---- the test ---- */

static const char *const ways[] = {"", " --checkpoint-async"};

/* Three steps, of which the first two are saved before a kill comes. */
static void print_words(char *words, size_t size, int steps, const char *way, bool resumes)
{
	snprintf(words, size,
	         "train --model gpt:layers=1,width=8,heads=2,context=8 --data tests/golden/text.txt --batch 4 "
	         "--threads 1 "
	         "--evaluate no --json --steps %d --checkpoint %s --checkpoint-every 1 --checkpoint-keep 1%s%s",
	         steps, saved, way, resumes ? " --resume latest" : "");
}

/* wanted: the weights that a run comes to which goes on from here; NULL: none does, since it would go on in the same
 * way as those of the way before. */
static void look(long n, int64_t saving, const char *way, const char *wanted)
{
	char words[600], sum[17];
	int64_t step = step_of_latest(n);
	ck_assert_msg(step == saving || step == saving - 1, "killed at call %ld, in save %d: latest leads to step %d",
	              n, (int)saving, (int)step);
	if (wanted) {
		print_words(words, sizeof words, 3, way, step > 0);
		run_to_end(words, sum);
		ck_assert_msg(!strcmp(sum, wanted), "killed at call %ld and gone on: other weights", n);
		folder_each(saved, assert_finished, &n);
	}
	remove_run();
}

START_LOOP_TEST(every_call_of_a_save, 0, COUNT(ways))
{
	char words[600], wanted[17];
	int status;
	print_words(words, sizeof words, 3, ways[_i], false);
	run_to_end(words, wanted);
	remove_run();
	print_words(words, sizeof words, 2, ways[_i], false);
	long n = 0, calls, most = 0;
	do {
		calls = follow(begin(words, true), ++n, &status);
		most = calls > most ? calls : most;
		look(n, *saves, ways[_i], _i ? NULL : wanted);
	} while (WIFSIGNALED(status));
	ck_assert_msg(WIFEXITED(status) && !WEXITSTATUS(status), "the run that nothing killed: status %d", status);
	if (getenv("FAULTS_SAY")) /* for tests/bench/bench_faults.sh */
		printf("faults %ld%s\n", n - 1, ways[_i]);
	ck_assert_msg(most > 100, "%ld calls are too few to be two saves'", most);
}

static void make_folder(void)
{
	/* What a kill leaves is the same in memory, and there a sync takes no time. */
	snprintf(folder, sizeof folder, "%s/test_killed.XXXXXX",
	         access("/dev/shm", W_OK) ? support_folder() : "/dev/shm");
	ck_assert_ptr_nonnull(mkdtemp(folder));
	snprintf(saved, sizeof saved, "%s/run", folder);
	snprintf(out, sizeof out, "%s/out", folder);
	snprintf(error, sizeof error, "%s/err", folder);
	saves = mmap(NULL, sizeof *saves, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
}

/* Whatever a test that failed has left goes, too. */
static void remove_folder(void)
{
	char command[300];
	snprintf(command, sizeof command, "rm -rf '%s'", folder);
	if (system(command))
		fprintf(stderr, "%s stays\n", folder);
}

static bool may_trace(void)
{
	int status = 0;
	pid_t child = fork();
	if (!child)
		_exit(ptrace(PTRACE_TRACEME, 0, NULL, NULL) ? 1 : 0);
	return waitpid(child, &status, 0) == child && !status;
}

int main(int argc, char **argv)
{
	(void)argc;
	suite_alone(argv, kernels_better_core()); /* or the command would begin anew, as this test */
#ifdef __SANITIZE_ADDRESS__
	return suite_skip("the sanitizer looks for leaks by tracing");
#endif
	if (!may_trace())
		return suite_skip("processes may not be traced here");
	make_folder();
	int failed = suite_run("killed", 240);
	remove_folder();
	return failed;
}
