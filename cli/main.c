/* The command `shardlab`: finds the subcommand, reads its options, prints the one line when something is wrong. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "cli/command/command.h"
#include "cli/command/hosts.h"
#include "cli/command/launch.h"
#include "cli/command/run.h"
#include "kernels/kernels.h"
#include "real/train/train.h"
#include "strategy/base/memory.h"
#include "strategy/base/path.h"
#include "strategy/base/version.h"

static enum status (*const run[])(const struct options *o) = {
#define X(constant, name, what, more) command_##name,
        COMMAND_LIST(X)
#undef X
};

/* All ranks that a user's mpirun started have read the same; one says what is wrong. */
static enum status parse_once(struct options *o, enum command c, int argc, char **argv)
{
	int rank, ranks;
	enum status s = options_parse(o, c, argc, argv);
	return s && train_under_mpi(&rank, &ranks) ? run_say_once(s, rank) : s;
}

static enum status run_command(int argc, char **argv)
{
	enum command c;
	struct options o;
	TRY(command_find(argv[0], &c));
	enum status s = parse_once(&o, c, argc - 1, argv + 1);
	if (!s && o.help)
		options_help(c, stdout);
	else if (!s)
		s = run[c](&o);
	s = options_explain(&o, s);
	options_release(&o);
	return s;
}

/* OpenBLAS looks at its variable once, when it is loaded. Where it does not know the processor, a command that
 * multiplies begins again with the core that fits. If that is not possible it goes on, slower; `doctor` says so. */
#define CORE "OPENBLAS_CORETYPE"
#define BEGAN_AGAIN "SHARDLAB_BEGAN_AGAIN" /* the process that did; its children begin on their own */

/* The core is this processor's: ranks choose theirs, which may be on another host. */
static void forget_core(void)
{
	unsetenv(CORE);
	unsetenv(BEGAN_AGAIN);
}

static bool has_begun_again(void)
{
	const char *who = getenv(BEGAN_AGAIN);
	return who && atol(who) == (long)getpid();
}

/* Where ld.so was called as a command (`ld.so shardlab …`), this process's file is ld.so, and nothing has a base. */
static bool can_begin_again(char program[PATH_OF_PROGRAM])
{
	return getauxval(AT_BASE) && path_of_program(program);
}

static void begin_again(const char *core, char **argv)
{
	char program[PATH_OF_PROGRAM], self[24];
	if (!can_begin_again(program))
		return;
	snprintf(self, sizeof self, "%ld", (long)getpid());
	if (!setenv(CORE, core, 1) && !setenv(BEGAN_AGAIN, self, 1))
		execv(program, argv);
	forget_core();
}

static bool multiplies(const char *name)
{
	enum command c;
	return !command_find(name, &c) && (1U << c & IN_KERNELS);
}

static void take_fitting_core(char **argv)
{
	if (has_begun_again()) {
		forget_core();
		return;
	}
	const char *core = getenv(CORE) || !multiplies(argv[1]) ? NULL : kernels_better_core();
	if (core)
		begin_again(core, argv);
}

int main(int argc, char **argv)
{
	enum status s;
	if (argc > 1)
		take_fitting_core(argv);
	status_spell(option_spell);
	options_on_hosts(hosts_take);
	memory_guard_json();
	signal(SIGXFSZ, SIG_IGN); /* a file that grows beyond the limit is a write that fails, and is told */
	launch_join();
	if (argc < 2) {
		s = status_fail(STATUS_INPUT, "no command; see: shardlab help");
	} else if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h")) {
		commands_help(stdout);
		s = STATUS_OK;
	} else if (!strcmp(argv[1], "--version")) {
		puts("shardlab " SHARDLAB_VERSION);
		s = STATUS_OK;
	} else {
		s = run_command(argc - 1, argv + 1);
	}
	/* A full disk must not look like success. */
	if (fflush(stdout) || ferror(stdout)) {
		if (!s)
			s = status_fail(STATUS_RUN, "cannot write to standard output");
	}
	if (s)
		fprintf(stderr, "%s%s\n", s == STATUS_CHECK || status_is_stop(s) ? "" : "fatal: ", status_message());
	launch_leave();
	return status_exit_code(s);
}
