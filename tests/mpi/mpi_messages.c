/* Sums of control values and messages between neighbours, through both communicators; run at 1, 2, 3, 4 and 8 ranks:
 *
 *     mpirun --oversubscribe --bind-to none -n 3 build/tests/mpi/mpi_messages
 */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "real/communicator/communicator.h"
#include "tests/support/ranks.h"

enum { LARGE = (3 << 20) + 7 };
static unsigned char memory[LARGE];

/* A rank adds this to value i of a sum: numbers of fp32, as control values are, whose sum a double holds exactly,
 * whatever the order; or ones whose sum is rounded. */
static double control_value(int i, int rank, bool exact)
{
	double x = 1.0 / (i + 1 + rank * 17);
	return exact ? (double)(float)x : x;
}

static void check_sum(struct communicator *c, bool exact)
{
	double values[150], first[150];
	struct schedule s = {SCHEDULE_TREE_SUM, ranks_count, 0, 150, 0};
	struct traffic traffic;
	int bad = 0;
	for (int i = 0; i < 150; i++)
		values[i] = control_value(i, rank_number, exact);
	ranks_check(!c->ops->sum(c, values, 150, &traffic), "%s", status_message());
	for (int i = 0; i < 150; i++) {
		double sum = 0;
		for (int r = 0; r < ranks_count; r++)
			sum += control_value(i, r, exact);
		bad += exact ? values[i] != sum : fabs(values[i] - sum) > 1e-15 * ranks_count * sum;
	}
	ranks_check(bad == 0, "%s: %d of 150 sums are wrong", c->ops->name, bad);
	memcpy(first, values, sizeof first);
	MPI_Bcast(first, 150, MPI_DOUBLE, 0, MPI_COMM_WORLD);
	ranks_check(memcmp(values, first, sizeof values) == 0, "%s: sum differs from rank 0's", c->ops->name);
	ranks_check(traffic.sent_bytes == schedule_sent(&s, rank_number) * (int64_t)sizeof *values &&
	                    traffic.received_bytes == schedule_received(&s, rank_number) * (int64_t)sizeof *values,
	            "%s: sum sent %lld bytes", c->ops->name, (long long)traffic.sent_bytes);
	ranks_check(!c->ops->sum(c, values, 0, &traffic) && traffic.sent_bytes == 0, "sum of nothing");
}

/* From rank to rank, two messages each, the second empty of bytes but one; both ends count them and know when they met.
 */
static void check_messages(struct communicator *c, int64_t bytes)
{
	unsigned char *at = memory;
	struct traffic traffic;
	int64_t bad = 0;
	for (int number = 0; number < 2; number++) {
		int64_t n = number ? 1 : bytes;
		struct point_to_point in = {false, rank_number - 1, at, n}, out = {true, rank_number + 1, at, n};
		for (int64_t i = 0; i < n; i++)
			at[i] = (unsigned char)(rank_number ? 0 : i * 31 + number);
		if (rank_number) {
			ranks_check(!c->ops->message(c, &in, &traffic), "%s", status_message());
			ranks_check(traffic.received_bytes == n && !traffic.sent_bytes && traffic.counted &&
			                    traffic.began_ns,
			            "received %lld bytes", (long long)traffic.received_bytes);
		}
		for (int64_t i = 0; i < n; i++)
			bad += at[i] != (unsigned char)(i * 31 + number);
		if (rank_number + 1 < ranks_count) {
			ranks_check(!c->ops->message(c, &out, &traffic), "%s", status_message());
			ranks_check(traffic.sent_bytes == n && !traffic.received_bytes && traffic.counted &&
			                    traffic.began_ns,
			            "sent %lld bytes", (long long)traffic.sent_bytes);
		}
	}
	ranks_check(bad == 0, "%s: %lld bytes of a message are wrong", c->ops->name, (long long)bad);
}

/* A rank that comes late to a message had something to compute. */
static void check_patience(void)
{
	struct communicator *c = NULL;
	MPI_Comm world = MPI_COMM_WORLD;
	struct traffic traffic;
	struct point_to_point m = {rank_number == 0, rank_number == 0, memory, 1000};
	if (ranks_count < 2)
		return;
	MPI_Barrier(world); /* opening has this patience, too */
	setenv("SHARDLAB_COMM_TIMEOUT_S", "1", 1);
	ranks_check(!communicator_open(&c, "ring", &world), "%s", status_message());
	unsetenv("SHARDLAB_COMM_TIMEOUT_S");
	if (rank_number == 1)
		sleep(2);
	ranks_check(rank_number > 1 || !c->ops->message(c, &m, &traffic), "%s", status_message());
	communicator_close(c);
}

/* One that does not come is not waited for much longer than in a collective. */
static void check_end_of_patience(void)
{
	static struct communicator *volatile kept; /* it is broken, and not freed with its peers */
	struct communicator *c = NULL;
	MPI_Comm world = MPI_COMM_WORLD;
	struct traffic traffic;
	struct point_to_point m = {.peer = 1, .at = memory, .bytes = 1000};
	if (ranks_count < 2)
		return;
	MPI_Barrier(world); /* opening has this patience, too */
	setenv("SHARDLAB_COMM_TIMEOUT_S", "0.1", 1);
	ranks_check(!communicator_open(&c, "ring", &world), "%s", status_message());
	unsetenv("SHARDLAB_COMM_TIMEOUT_S");
	kept = c;
	if (rank_number == 0)
		ranks_check(kept->ops->message(c, &m, &traffic) == STATUS_RUN &&
		                    strstr(status_message(), "waited 0.3 s for rank 1"),
		            "waiting for a message: %s", status_message());
}

static void check(const char *name)
{
	struct communicator *c = NULL;
	MPI_Comm world = MPI_COMM_WORLD;
	if (communicator_open(&c, name, &world)) {
		fprintf(stderr, "%s\n", status_message());
		MPI_Abort(world, 1);
	}
	check_sum(c, true);
	check_sum(c, false);
	check_messages(c, 5);
	check_messages(c, LARGE);
	communicator_close(c);
}

int main(int argc, char **argv)
{
	ranks_init(&argc, &argv);
	check("ring");
	check("mpi");
	check_patience();
	check_end_of_patience();
	return ranks_finish("mpi_messages");
}
