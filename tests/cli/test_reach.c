/* The hosts that answer: this machine does, by another name, whether anything listens at that port or not. */
#include <string.h>

#include "cli/command/reach.h"
#include "tests/support/suite.h"

static struct host one[] = {{.name = "127.0.0.1", .slots = 1}};
static const struct hosts hosts = {.list = one, .count = 1};

START_TEST(a_host_that_answers_is_not_gone)
{
	char gone[64];
	reach_watch(&hosts);
	ck_assert(!reach_settle());
	ck_assert_ptr_null(reach_missing(&hosts, 0));
	ck_assert(!reach_is_gone("127.0.0.1"));
	reach_list_gone(gone, sizeof gone);
	ck_assert_str_eq(gone, "");
}

/* Nothing is known of one whose name nobody resolves: mpirun will say. */
START_TEST(a_host_that_was_not_asked_is_not_missed)
{
	static struct host none[] = {{.name = "no-such-host.invalid", .slots = 1}};
	const struct hosts unknown = {.list = none, .count = 1};
	reach_watch(&unknown);
	ck_assert(!reach_settle());
	ck_assert_ptr_null(reach_missing(&unknown, 0));
	ck_assert(!reach_is_gone("no-such-host.invalid"));
}

/* An address that is kept for documents: no network has it. Whether there is a route to it is this machine's matter. */
START_TEST(a_host_that_never_answered_is_missed_once_it_is_expected)
{
	static struct host silent[] = {{.name = "198.51.100.7", .slots = 1}};
	const struct hosts alone = {.list = silent, .count = 1};
	reach_watch(&hosts);
	reach_settle();
	reach_watch(&alone);
	reach_expect(&alone);
	ck_assert_str_eq(reach_missing(&alone, 0), "198.51.100.7");
	reach_expect(&hosts);
	ck_assert_ptr_null(reach_missing(&hosts, 0));
	ck_assert_int_gt(reach_missed_ns("198.51.100.7"), 0);
	reach_rest();
	ck_assert_int_eq(reach_missed_ns("198.51.100.7"), 0);
}

SUITE("reach", 0)
