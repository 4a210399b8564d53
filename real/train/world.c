#include "real/train/world.h"

#include <mpi.h>
#include <stdlib.h>

#include "real/communicator/communicator.h"
#include "real/communicator/hosts.h"

struct world {
	struct communicator *communicator;
};

static enum status start(void)
{
	int given = 0;
	enum status s = communicator_deadline("MPI_Init");
	if (s)
		return s;
	hosts_prepare();
	MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &given);
	communicator_deadline_end();
	return STATUS_OK;
}

enum status world_open(struct world **out)
{
	struct world *w = *out = calloc(1, sizeof *w);
	enum status s = w ? start() : status_fail(STATUS_MEMORY, "out of memory");
	return s ? s : communicator_open(&w->communicator, "ring", &(MPI_Comm){MPI_COMM_WORLD});
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
	communicator_close(w->communicator);
	free(w);
	communicator_deadline("MPI_Finalize");
	MPI_Finalize();
	communicator_deadline_end();
}
