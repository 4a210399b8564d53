/* Runs a suite of Check, as the last line of main:
 *
 *     return suite_run(suite);
 */
#ifndef SHARDLAB_TESTS_SUITE_H
#define SHARDLAB_TESTS_SUITE_H

#include <check.h>

/* Check notes each assertion that holds in a file: of one for every element that takes longer than the kernels. */
#undef ck_assert_msg
#define ck_assert_msg(expr, ...)                                                                                       \
	((expr) ? (void)0 : _ck_assert_failed(__FILE__, __LINE__, "Assertion '" #expr "' failed", __VA_ARGS__))

/* The exit status; releases the suite. How much it prints, CK_VERBOSITY says. */
int suite_run(Suite *suite);

/* How many cases of one kind to try: AddressSanitizer, which is several times as slow, sees as much in a few. */
#ifdef __SANITIZE_ADDRESS__
#define SUITE_CASES(all, few) (few)
#else
#define SUITE_CASES(all, few) (all)
#endif

#endif
