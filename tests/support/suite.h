/* Runs a suite of Check, as the last line of main:
 *
 *     return suite_run(suite);
 */
#ifndef SHARDLAB_TESTS_SUITE_H
#define SHARDLAB_TESTS_SUITE_H

#include <check.h>

/* The exit status; releases the suite. How much it prints, CK_VERBOSITY says. */
int suite_run(Suite *suite);

/* How many cases of one kind to try: AddressSanitizer, which is several times as slow, sees as much in a few. */
#ifdef __SANITIZE_ADDRESS__
#define SUITE_CASES(all, few) (few)
#else
#define SUITE_CASES(all, few) (all)
#endif

#endif
