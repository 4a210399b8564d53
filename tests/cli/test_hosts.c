/* --hosts FILE: what is read, where a refusal points, and which ranks come on which host. */
#include <stdlib.h>
#include <string.h>

#include "cli/command/hosts.h"
#include "real/communicator/hosts.h"
#include "tests/support/suite.h"

static enum status parse(struct hosts *h, const char *text)
{
	return hosts_parse(h, text, strlen(text), "hosts");
}

START_TEST(lines_are_hosts_with_slots)
{
	struct hosts h;
	ck_assert_int_eq(parse(&h, "# a lab\nnode1 slots=2\n\n  10.0.0.7\tslots=2 # the other\nnode-3"), STATUS_OK);
	ck_assert_uint_eq(h.count, 3);
	ck_assert_int_eq(hosts_slots(&h), 5);
	ck_assert_str_eq(hosts_list(&h), "node1:2,10.0.0.7:2,node-3:1");
	ck_assert_str_eq(hosts_name(&h, 1), "node1");
	ck_assert_str_eq(hosts_name(&h, 2), "10.0.0.7");
	ck_assert_str_eq(hosts_name(&h, 4), "node-3");
	ck_assert_str_eq(hosts_name(&h, 5), "");
	hosts_release(&h);
}

static const struct {
	const char *text, *where;
} refused[] = {
        {"", "hosts: there is no host in it"},
        {"# none\n", "hosts: there is no host in it"},
        {"node1\n-x slots=1", "hosts:2:1: a host is a name"},
        {"node1,node2", "hosts:1:1: a host is a name"},
        {"node1 4", "hosts:1:7: after a host's name"},
        {"node1 slots=", "hosts:1:7: after a host's name"},
        {"node1 slots=0", "hosts:1:13: slots is a whole number"},
        {"node1 slots=4x", "hosts:1:13: slots is a whole number"},
        {"node1 slots=4097", "hosts:1:13: slots is a whole number"},
        {"node1 slots=2 max-slots=4", "hosts:1:15: a line has a host and its slots"},
        {"node1\nnode2\n node1", "hosts:3:2: this host was named before"},
};

START_LOOP_TEST(a_refusal_says_where, 0, sizeof refused / sizeof refused[0])
{
	struct hosts h;
	ck_assert_int_eq(parse(&h, refused[_i].text), STATUS_INPUT);
	ck_assert_msg(!strncmp(status_message(), refused[_i].where, strlen(refused[_i].where)), "'%s', wanted '%s'",
	              status_message(), refused[_i].where);
}

static const struct {
	const char *text;
	int64_t ranks, hosts, each; /* hosts 0: refused */
} places[] = {
        {"a slots=2\nb slots=2\nc slots=2", 6, 3, 2},
        {"a slots=2\nb slots=2\nc slots=2", 5, 3, 2},
        {"a slots=2\nb slots=2\nc slots=2", 2, 1, 2},
        {"a slots=4\nb slots=2", 3, 1, 3},
        {"a slots=4\nb slots=2", 6, 2, 4},
        {"a slots=4\nb slots=2", 7, 0, 0},
        {"a slots=2\nb slots=4", 6, 0, 0},
        {"a slots=2\nb\nc slots=2", 5, 0, 0},
};

START_LOOP_TEST(ranks_fill_hosts_in_order, 0, sizeof places / sizeof places[0])
{
	struct hosts h;
	int64_t hosts, each;
	ck_assert_int_eq(parse(&h, places[_i].text), STATUS_OK);
	enum status s = hosts_place(&h, places[_i].ranks, &hosts, &each);
	ck_assert_int_eq(s, places[_i].hosts ? STATUS_OK : STATUS_INPUT);
	if (!s) {
		ck_assert_int_eq(hosts, places[_i].hosts);
		ck_assert_int_eq(each, places[_i].each);
	}
	hosts_release(&h);
}

/* Variables that launchers set in the environment of a rank: Open MPI, Slurm. */
static const struct {
	const char *all, *here, *all_value, *here_value;
	int64_t ranks;
} told[] = {
        {"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE", "8", "2", 2},
        {"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE", "8", "8", 0},
        {"SLURM_STEP_NUM_TASKS", "SLURM_STEP_TASKS_PER_NODE", "8", "4(x2)", 4},
        {"SLURM_STEP_NUM_TASKS", "SLURM_STEP_TASKS_PER_NODE", "8", "8", 0},
};

START_LOOP_TEST(a_rank_knows_whether_there_are_others_elsewhere, 0, sizeof told / sizeof told[0])
{
	unsetenv("OMPI_MCA_btl_tcp_eager_limit");
	setenv(told[_i].all, told[_i].all_value, 1);
	setenv(told[_i].here, told[_i].here_value, 1);
	ck_assert_int_eq(hosts_ranks_here(), told[_i].ranks);
	hosts_prepare();
	ck_assert_int_eq(getenv("OMPI_MCA_btl_tcp_eager_limit") != NULL, told[_i].ranks != 0);
	setenv("OMPI_MCA_btl_tcp_eager_limit", "70000", 1);
	hosts_prepare();
	ck_assert_str_eq(getenv("OMPI_MCA_btl_tcp_eager_limit"), "70000");
}

/* On one host, too, so that a library's sums have the bits that they have on several. */
START_TEST(the_algorithm_of_sums_is_set_unless_the_user_has)
{
	unsetenv("OMPI_MCA_coll_libnbc_iallreduce_algorithm");
	hosts_prepare();
	ck_assert_str_eq(getenv("OMPI_MCA_coll_libnbc_iallreduce_algorithm"), "3");
	setenv("OMPI_MCA_coll_libnbc_iallreduce_algorithm", "1", 1);
	hosts_prepare();
	ck_assert_str_eq(getenv("OMPI_MCA_coll_libnbc_iallreduce_algorithm"), "1");
}

SUITE("hosts", 0)
