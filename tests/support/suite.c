#include "tests/support/suite.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { MOST_TESTS = 100 };

static struct {
	const TTest *test;
	int signal, from, to;
} tests[MOST_TESTS];
static int count;
static SFun before, after;

void suite_add(const TTest *test, int signal, int from, int to)
{
	if (count == MOST_TESTS)
		abort();
	tests[count].test = test;
	tests[count].signal = signal;
	tests[count].from = from;
	tests[count++].to = to;
}

void suite_fixture(SFun setup, SFun teardown)
{
	before = setup;
	after = teardown;
}

SRunner *suite_runner(const char *name, double seconds)
{
	Suite *suite = suite_create(name);
	TCase *all = tcase_create(name);
	if (seconds > 0)
		tcase_set_timeout(all, seconds);
	tcase_add_checked_fixture(all, before, after);
	for (int i = 0; i < count; i++)
		tcase_add_loop_test_raise_signal(all, tests[i].test, tests[i].signal, tests[i].from, tests[i].to);
	suite_add_tcase(suite, all);
	return srunner_create(suite);
}

int suite_run(const char *name, double seconds)
{
	SRunner *runner = suite_runner(name, seconds);
	srunner_run_all(runner, CK_ENV);
	bool good = srunner_ntests_run(runner) && !srunner_ntests_failed(runner);
	srunner_free(runner);
	return good ? EXIT_SUCCESS : EXIT_FAILURE;
}

void suite_alone(char **argv, const char *core)
{
	if (getenv("OPENBLAS_NUM_THREADS"))
		return;
	setenv("OPENBLAS_NUM_THREADS", "1", 1);
	setenv("SHARDLAB_CONFIG", "/nonexistent/rates.yaml", 1);
	if (core)
		setenv("OPENBLAS_CORETYPE", core, 1);
	execv("/proc/self/exe", argv);
}

int suite_skip(const char *why)
{
	printf("skipped: %s\n", why);
	return 77;
}
