/* A program of tests. A test belongs to it once it is written; main is a line at the end:
 *
 *     START_TEST(peaks_in_words) { … }
 *     START_LOOP_TEST(nothing_overlaps, 0, COUNT(variants)) { … variants[_i] … }
 *     SUITE("layout", 60)
 */
#ifndef SHARDLAB_TESTS_SUITE_H
#define SHARDLAB_TESTS_SUITE_H

#include <check.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Check notes each assertion that holds in a file: of one for every element that takes longer than the kernels. */
#undef ck_assert_msg
#define ck_assert_msg(expr, ...)                                                                                       \
	((expr) ? (void)0 : _ck_assert_failed(__FILE__, __LINE__, "Assertion '" #expr "' failed", __VA_ARGS__))

/* A test that must end by a signal, or must not (0); once for each _i from `from` to before `to`. */
#define START_SIGNAL_TEST(name, signal, from, to)                                                                      \
	static void name##_fn(int _i);                                                                                 \
	static const TTest name = {#name, name##_fn, __FILE__, __LINE__};                                              \
	static void __attribute__((constructor)) name##_add(void)                                                      \
	{                                                                                                              \
		suite_add(&name, signal, from, to);                                                                    \
	}                                                                                                              \
	static void name##_fn(int _i __attribute__((unused)))
#define START_LOOP_TEST(name, from, to) START_SIGNAL_TEST(name, 0, from, to)
#undef START_TEST
#define START_TEST(name) START_LOOP_TEST(name, 0, 1)

/* name: of the suite. seconds: that a test may take; 0: as many as Check's default. setup and teardown: before and
 * after each test; NULL: nothing. */
#define SUITE_WITH(name, seconds, setup, teardown)                                                                     \
	int main(void)                                                                                                 \
	{                                                                                                              \
		suite_fixture(setup, teardown);                                                                        \
		return suite_run(name, seconds);                                                                       \
	}
#define SUITE(name, seconds) SUITE_WITH(name, seconds, NULL, NULL)

void suite_add(const TTest *test, int signal, int from, int to);
/* Before and after each test. */
void suite_fixture(SFun setup, SFun teardown);
/* All that was added. How much it prints, CK_VERBOSITY says. */
SRunner *suite_runner(const char *name, double seconds);
/* The last line of main: the exit status. */
int suite_run(const char *name, double seconds);
/* The first line of main: the program anew, on one thread, without this machine's rates and with that core of OpenBLAS
 * (NULL: its own choice). A process that has threads cannot be forked and go on as one. */
void suite_alone(char **argv, const char *core);
/* In its place where something is missing: says why. */
int suite_skip(const char *why);

#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))

/* How many cases of one kind to try: AddressSanitizer, which is several times as slow, sees as much in a few. */
#ifdef __SANITIZE_ADDRESS__
#define SUITE_CASES(all, few) (few)
#else
#define SUITE_CASES(all, few) (all)
#endif

#ifdef __cplusplus
}
#endif
#endif
