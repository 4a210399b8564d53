#include "real/train/world.h"

#include <mpi.h>
#include <stdlib.h>

#include "real/communicator/communicator.h"
#include "strategy/base/arena.h"

struct world {
	struct communicator *communicator;
};

enum status world_open(struct world **out)
{
	*out = NULL;
	TRY(communicator_start_mpi());
	struct world *w = *out = array_make(1, sizeof *w);
	return communicator_open(&w->communicator, "ring", &(MPI_Comm){MPI_COMM_WORLD});
}

enum status world_hear(struct world *w, void *at, int64_t bytes)
{
	const struct exchange x = {.what = "hearing what to do", .others_write = true};
	return communicator_hear(w->communicator, &x, at, bytes, 0);
}

void world_close(struct world *w)
{
	if (!w)
		return;
	bool all_there = w->communicator && !communicator_failed(w->communicator);
	communicator_close(w->communicator);
	free(w);
	if (all_there) /* else mpirun ends the others, and the line that says why is still to come */
		communicator_end_mpi();
}
