/* The hosts that the ranks of a run are on, as whoever started this process says: Open MPI, or Slurm.
 *
 * Between hosts Open MPI moves a large message in one piece, after an answer that queues behind the peer's own bulk
 * data in the same connection. So two ranks that send to each other, as the ring does, take turns: half of what the
 * link could do. Messages of up to the eager limit need no answer. It is set above the pieces of the ring before MPI
 * starts, by every rank alike; OMPI_MCA_btl_tcp_eager_limit, from the environment or mpirun's --mca, goes before.
 *
 * Its own non-blocking all-reduce sends the whole up a tree and down again, unless it is told which algorithm to take:
 * a reduce-scatter and an all-gather (Rabenseifner's). It is told so on one host, too, so that sums have the same bits.
 * OMPI_MCA_coll_libnbc_iallreduce_algorithm goes before.
 */
#ifndef SHARDLAB_HOSTS_H
#define SHARDLAB_HOSTS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* How many ranks this host has of those that were started together; 0: all of them, or nobody says. */
int64_t hosts_ranks_here(void);
/* How many each host will have of the ranks that mpirun starts here, inside a batch job's allocation; 0: all. */
int64_t hosts_ranks_of_allocation(int64_t ranks);

/* Before MPI_Init: sets the algorithm of its sums, and what messages between hosts need, if there are several. */
void hosts_prepare(void);
/* A line about it. ranks: of each host. */
void hosts_say(int64_t hosts, int64_t ranks, FILE *out);

#endif
