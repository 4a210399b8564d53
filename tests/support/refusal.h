/* Calls that have to work and calls that are refused, in tests with Check: by this status, in one line that says this.
 *
 *     must(cluster_open(&c, "laptop", 1));
 *     must_fail(cluster_open(&c, "local", 1), STATUS_INPUT, "'kind' is missing");
 */
#ifndef SHARDLAB_TESTS_REFUSAL_H
#define SHARDLAB_TESTS_REFUSAL_H

#include <check.h>
#include <string.h>

#include "strategy/base/status.h"

static inline void must(enum status s)
{
	ck_assert_msg(!s, "%s: %s", status_name(s), status_message());
}

static inline void must_fail(enum status got, enum status want, const char *says)
{
	ck_assert_msg(got == want, "%s, not %s: %s", status_name(got), status_name(want), status_message());
	ck_assert_msg(strstr(status_message(), says) && !strchr(status_message(), '\n'), "'%s' is not in: %s", says,
	              status_message());
}

#endif
