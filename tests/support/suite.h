/* Runs a suite of Check, as the last line of main:
 *
 *     return suite_run(suite);
 */
#ifndef SHARDLAB_TESTS_SUITE_H
#define SHARDLAB_TESTS_SUITE_H

#include <check.h>

/* The exit status; releases the suite. How much it prints, CK_VERBOSITY says. */
int suite_run(Suite *suite);

#endif
