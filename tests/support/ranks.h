/* Checks on the ranks of an MPI job: counted on each, added up at the end, since a rank that stops at its first failure
 * hangs the rest.
 *
 *     ranks_init(&argc, &argv);
 *     ranks_check(x == 4, "x is %d", x);
 *     return ranks_finish("mpi_train");
 */
#ifndef SHARDLAB_TESTS_RANKS_H
#define SHARDLAB_TESTS_RANKS_H

#include <stdbool.h>

extern int rank_number, ranks_count;

void ranks_init(int *argc, char ***argv);
void ranks_check(bool holds, const char *format, ...) __attribute__((format(printf, 2, 3)));
long ranks_failures(void);          /* of this rank so far */
int ranks_finish(const char *name); /* the exit status, the same on all ranks; ends MPI */
/* For a test that lacks something it needs: prints "skipped: …", ends MPI and returns the exit status. */
int ranks_skip(const char *why);

#endif
