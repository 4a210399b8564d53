/* --hosts of a run: how many ranks, and how many each host has. */
#include "cli/command/hosts.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/command/launch.h"
#include "real/communicator/hosts.h"
#include "real/communicator/kind.h"
#include "real/train/train.h"

enum status hosts_set_ranks(struct options *o)
{
	struct hosts h;
	if (!option_given(o, OPTION_HOSTS) || option_given(o, OPTION_RANKS))
		return STATUS_OK;
	TRY(hosts_read(&h, option_text(o, OPTION_HOSTS)));
	int64_t ranks = hosts_slots(&h);
	bool fewer = o->command == COMMAND_TRAIN && option_given(o, OPTION_RESTARTS) &&
	             option_whole(o, OPTION_RESTARTS) && !option_given(o, OPTION_PLAN_FILE);
	o->value[OPTION_RANKS] = (struct option_value){.given = true,
	                                               .text = arena_print(&o->arena, "%" PRId64, ranks),
	                                               .whole = ranks,
	                                               .least = fewer ? 1 : ranks};
	hosts_release(&h);
	return STATUS_OK;
}

/* Rank 1 sees whether ranks were dealt out to the hosts in turn, as by mpirun --map-by node. */
static void say_dealt(int rank, int64_t each)
{
	const char *local = getenv("OMPI_COMM_WORLD_LOCAL_RANK");
	if (rank == 1 && each > 1 && local && atoll(local) != 1)
		fprintf(stderr, "the ranks were dealt out to the hosts in turn, and are predicted as if each host had "
		                "those that follow each other; mpirun --map-by slot places them so\n");
}

void hosts_say_joined(int rank, int ranks)
{
	int64_t each = hosts_ranks_here();
	say_dealt(rank, each);
	if (each && !rank && !launch_is_child())
		hosts_say((ranks + each - 1) / each, each, stderr);
}

/* Open MPI reduces the whole to one rank and then scatters it; for that it has one algorithm alone. */
void hosts_say_library(const struct options *o, int64_t each)
{
	const struct communicator_kind *kind = communicator_kind(option_text(o, OPTION_COMM));
	if (!each || !kind->library || kind->device || hosts_is_quiet())
		return;
	fprintf(stderr,
	        "--comm mpi: between hosts Open MPI's own reduce-scatters may reach no more than half of the link; "
	        "--comm ring reaches all of it\n");
}

bool hosts_is_quiet(void)
{
	int rank, ranks;
	return launch_is_child() || (train_under_mpi(&rank, &ranks) && rank);
}

enum status hosts_ranks_each(const struct options *o, int64_t ranks, int64_t *each)
{
	struct hosts h;
	int rank, world;
	bool joined = train_under_mpi(&rank, &world);
	*each = joined ? hosts_ranks_here() : hosts_ranks_of_allocation(ranks);
	if (!option_of(OPTION_HOSTS, o->command) || !option_given(o, OPTION_HOSTS))
		return STATUS_OK;
	if (joined)
		return status_fail(STATUS_INPUT, "{hosts}: mpirun has started the ranks already; leave {hosts} out");
	int64_t hosts;
	TRY(hosts_read(&h, option_text(o, OPTION_HOSTS)));
	enum status s = hosts_place(&h, ranks, &hosts, each);
	hosts_release(&h);
	if (hosts == 1)
		*each = 0;
	return s;
}
