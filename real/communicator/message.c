/* One message between two ranks, the same under both communicators.
 *
 *     sender     come │ header, synchronous ──► matched │ piece ─ piece ─ piece │ done
 *     receiver         … come │ header ──────► matched │ piece ─ piece ─ piece │ done
 *                                                       ▲ began
 *
 * The header carries nothing. Its synchronous send ends when the receiver has come, so nothing of the message waits in
 * a library's buffer for a rank that is elsewhere: communication is rendezvous, as rule 1 of the verifier takes it to
 * be. Both ends also know when they met, so that the wait until then does not count as transfer.
 */
#include "real/communicator/internal.h"
#include "strategy/base/clock.h"

enum { PIECE = 1 << 20, FLYING = 8 };

static const char *name_of(const struct point_to_point *m)
{
	return m->sends ? "send" : "receive";
}

static enum status meet(struct communicator_base *b, const struct point_to_point *m)
{
	MPI_Request request;
	int code = m->sends ? MPI_Issend(NULL, 0, MPI_BYTE, m->peer, TAG_MEETING, b->comm, &request)
	                    : MPI_Irecv(NULL, 0, MPI_BYTE, m->peer, TAG_MEETING, b->comm, &request);
	if (code != MPI_SUCCESS)
		return communicator_mpi_failed(b, code, name_of(m), m->peer);
	return communicator_wait_to_meet(b, &request, name_of(m), m->peer);
}

/* Nothing under way may write into the caller's buffers once it has its error. */
static void abandon(const struct point_to_point *m, MPI_Request *requests, int count)
{
	for (int i = 0; i < count; i++) {
		if (requests[i] == MPI_REQUEST_NULL)
			continue;
		if (!m->sends)
			MPI_Cancel(&requests[i]);
		MPI_Request_free(&requests[i]);
	}
}

/* FLYING pieces at a time; the oldest is awaited first. */
static enum status move(struct communicator_base *b, const struct point_to_point *m, struct traffic *traffic)
{
	MPI_Request flying[FLYING];
	int64_t posted = 0, done = 0;
	enum status s = STATUS_OK;
	for (int i = 0; i < FLYING; i++)
		flying[i] = MPI_REQUEST_NULL;
	while (done * PIECE < m->bytes && !s) {
		while (posted * PIECE < m->bytes && posted - done < FLYING && !s) {
			int64_t left = m->bytes - posted * PIECE;
			int n = (int)(left < PIECE ? left : PIECE);
			char *at = (char *)m->at + posted * PIECE;
			MPI_Request *r = &flying[posted % FLYING];
			int code = m->sends ? MPI_Isend(at, n, MPI_BYTE, m->peer, TAG_MESSAGE, b->comm, r)
			                    : MPI_Irecv(at, n, MPI_BYTE, m->peer, TAG_MESSAGE, b->comm, r);
			if (code != MPI_SUCCESS)
				s = communicator_mpi_failed(b, code, name_of(m), m->peer);
			*(m->sends ? &traffic->sent_bytes : &traffic->received_bytes) += n;
			traffic->handed_bytes += n;
			posted++;
		}
		if (!s)
			s = communicator_wait(b, &flying[done++ % FLYING], name_of(m), m->peer);
	}
	if (s)
		abandon(m, flying, FLYING);
	return s;
}

enum status communicator_message(struct communicator *c, const struct point_to_point *m, struct traffic *traffic)
{
	struct communicator_base *b = base_of(c);
	*traffic = (struct traffic){.counted = true};
	if (b->broken)
		return communicator_is_broken(b);
	enum status s = meet(b, m);
	traffic->began_ns = clock_ns();
	return s ? s : move(b, m, traffic);
}
