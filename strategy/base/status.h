/* Errors, said once.
 *
 * A function that can fail returns an `enum status`: 0, or negative. Whoever decides that something is an error
 * calls status_fail() with the one line that the user will read: what is wrong, where, and what to do. Those that
 * pass it on only pass the status on, with TRY where nothing is to be released first:
 *
 *     TRY(cluster_read(&cluster, path));
 *     return cluster_check(&cluster);
 *
 * The line is kept for the calling thread until the next failure; the command prints it and exits with
 * status_exit_code(). abort() is for bugs, never for input.
 *
 * A message names a setting, or a command, in braces: "{micro_batch}: too large; see {help} models". How a user writes
 * that name is the front end's business: the library prints `micro_batch`, the command prints `--micro-batch`.
 */
#ifndef SHARDLAB_STATUS_H
#define SHARDLAB_STATUS_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* name, value, exit status of the command, meaning */
#define STATUS_LIST(X)                                                                                                 \
	X(OK, 0, 0, "done")                                                                                            \
	X(INPUT, -1, 2, "the input is wrong: a file, an option, a size, missing hardware")                             \
	X(REFUSED, -2, 2, "the verifier refused the plan")                                                             \
	X(CHECK, -3, 1, "done, and what was checked does not hold")                                                    \
	X(RUN, -4, 1, "a run failed: a rank died, a file could not be written")                                        \
	X(MEMORY, -5, 1, "out of memory")                                                                              \
	X(INTERRUPTED, -6, 1, "stopped by the user")                                                                   \
	X(STOPPED, -7, 75, "stopped by a signal, and what was asked for is saved: to be gone on with")                 \
	X(LOST, -8, 1, "a rank died, is silent, or cannot be reached: the run can start again")                        \
	X(UNSAVED, -9, 1, "a run made its steps, and its last checkpoint could not be written")

enum status {
#define X(name, value, code, meaning) STATUS_##name = (value),
	STATUS_LIST(X)
#undef X
};

/* Records the message and returns `status`, so that a failing function can `return status_fail(…)`. Names in braces are
 * replaced in the format alone, so that a user's text stays as it is, but for control characters and what is not UTF-8,
 * which become ?. */
enum status status_fail(enum status status, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Puts `context: ` before the recorded message: for the one caller that knows where (a file name, a strategy). */
enum status status_prefix(enum status status, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Format other texts in the same way: a whole one, or a piece that is an argument of a format. Four such pieces of a
 * thread, of 256 bytes, live at a time. */
void status_format(char *out, size_t size, const char *format, va_list args) __attribute__((format(printf, 3, 0)));
const char *status_words(const char *text);
/* For a function whose parameters end in `last` and an ellipsis: makes a call with those as the list `args`. */
#define WITH_ARGS(last, call)                                                                                          \
	do {                                                                                                           \
		va_list args;                                                                                          \
		va_start(args, last);                                                                                  \
		(void)(call);                                                                                          \
		va_end(args);                                                                                          \
	} while (0)
/* For the front end: how to write a name that stands in braces. NULL: as it is. */
void status_spell(void (*spell)(const char *name, char *out, size_t size));

const char *status_message(void);            /* of the calling thread's last failure; "" before the first */
const char *status_name(enum status status); /* "INPUT" */
int status_exit_code(enum status status);
/* Somebody wanted the run to end. */
static inline bool status_is_stop(enum status status)
{
	return status == STATUS_STOPPED || status == STATUS_INTERRUPTED;
}
/* The run has a report, which is right. */
static inline bool status_has_report(enum status status)
{
	return !status || status_is_stop(status) || status == STATUS_UNSAVED;
}

#ifdef __cplusplus
}
#endif

/* Makes the call; if it fails, the function that stands here returns its status. */
#define TRY(call)                                                                                                      \
	do {                                                                                                           \
		enum status tried = (call);                                                                            \
		if (tried)                                                                                             \
			return tried;                                                                                  \
	} while (0)
#endif
