/* The communicator that carries out our schedules with MPI point-to-point messages.
 *
 * A rank's part of a schedule is two lanes: what it sends and what it receives, each in the order of the rounds, cut
 * into pieces that fit the cache. A lane runs ahead of the other as far as the data allow:
 *
 *     receives   round 0: a b c d   round 1: e f g h   …        each piece into staging and added, or straight in place
 *                         │                  │
 *     sends      …    round 1: a b c d   round 2: e f g h       a piece goes on as soon as it is summed
 *
 * The meaning of the rounds decides what a lane waits for. A send reads what the receives of earlier rounds left, and a
 * receive overwrites what the sends up to its own round have read. A piece is therefore posted once no earlier piece of
 * the other lane, posted or not, touches the same elements. That cannot deadlock: of all ranks' unfinished pieces,
 * those of the lowest round wait only for their partner's.
 *
 * Both ends cut a message alike, and messages between two ranks arrive in the order in which they were posted.
 */
#include <stdlib.h>
#include <string.h>

#include "kernels/kernels.h"
#include "real/communicator/internal.h"
#include "strategy/base/arena.h"

/* Sizes in bytes. A piece that is added goes through staging, which should stay in the cache until then. A copied piece
 * goes straight to its place, so larger ones only save calls. */
enum {
	SLOTS = 2, /* of staging */
	ADD_PIECE = SCHEDULE_STAGING_BYTES / SLOTS,
	COPY_PIECE = 1 << 20,
	FLYING = 8,    /* pieces of a lane under way */
	LOOKAHEAD = 4, /* rounds by which a lane may lead the other */
};

struct piece {
	MPI_Request request;
	int64_t round, offset, count;
	int peer;
	bool add;
	char *into; /* receives: staging, or in place */
};

struct lane {
	bool sends;
	int64_t round, within;        /* the next piece: of this round, after so many of its elements */
	int64_t total, offset, piece; /* of this round's message */
	int peer;
	bool add;
	struct piece flying[FLYING]; /* a queue: the oldest at `first` */
	int first, count;
	int64_t adds; /* posted so far: the next takes slot adds % SLOTS */
	int adding;   /* of those in the queue */
};

struct ring {
	struct communicator_base base;
	/* one collective */
	const struct collective *what;
	int64_t bytes; /* of an element */
	struct schedule schedule;
	int64_t rounds;
	const struct operation_row *operation;
	bool in_place; /* the result of a reduce-scatter is where it belongs */
	struct traffic *traffic;
	struct lane send, receive;
};

static void maximum(float *to, const float *a, const float *b, int64_t n)
{
	for (int64_t i = 0; i < n; i++)
		to[i] = a[i] > b[i] ? a[i] : b[i];
}

/* Combines what came in with what is there. */
static void combine(const struct collective *what, void *to, const void *there, const void *in, int64_t n)
{
	if (what->maximum)
		maximum(to, there, in, n);
	else
		elements_add((enum element)what->type, n, there, in, to);
}

static void copy(const struct ring *r, char *to, const char *from, int64_t n)
{
	if (to && from && to != from && n > 0)
		memcpy(to, from, (size_t)(n * r->bytes));
}

static int64_t slice(const struct ring *r)
{
	return r->schedule.elements / r->schedule.ranks;
}

static int64_t own(const struct ring *r)
{
	return slice(r) * r->base.public.rank;
}

/* The place to read the elements from `offset` on, then the place to write them: in the whole, or in the rank's
 * part. */
static char *source(const struct ring *r, int64_t offset)
{
	if (r->operation->before == EXTENT_SLICE && r->operation->after == EXTENT_AT_ROOT)
		return (char *)r->what->part + (offset - own(r)) * r->bytes;
	return (char *)r->what->whole + offset * r->bytes;
}

/* The last round of a reduce-scatter adds up the rank's own slice: that sum can go to its place at once. */
static bool is_result(const struct ring *r, const struct piece *p)
{
	return r->operation->adds && r->operation->after == EXTENT_SLICE && p->round == r->rounds - 1;
}

static char *target(const struct ring *r, const struct piece *p)
{
	bool to_part = r->operation->before == EXTENT_AT_ROOT && r->operation->after == EXTENT_SLICE;
	if (to_part || is_result(r, p))
		return (char *)r->what->part + (p->offset - own(r)) * r->bytes;
	return (char *)r->what->whole + p->offset * r->bytes;
}

/* The place in staging for so many elements. */
static char *stage(const struct ring *r, int64_t slot, int64_t count)
{
	int64_t end = slot * ADD_PIECE + count * r->bytes;
	if (end > r->traffic->staging_bytes)
		r->traffic->staging_bytes = end;
	return (char *)r->what->staging + slot * ADD_PIECE;
}

/* Loads the lane's next round that has a message, if its present one is posted whole. */
static bool lane_ready(const struct ring *r, struct lane *lane)
{
	while (lane->within == lane->total) {
		if (lane->round + 1 >= r->rounds) {
			lane->round = r->rounds;
			return false;
		}
		struct round round = schedule_round(&r->schedule, r->base.public.rank, ++lane->round);
		lane->within = 0;
		lane->total = lane->sends ? round.send_count : round.receive_count;
		lane->offset = lane->sends ? round.send_offset : round.receive_offset;
		lane->peer = (int)(lane->sends ? round.send_to : round.receive_from);
		lane->add = round.add && !lane->sends;
		/* both ends must cut alike, and the receiver is the one that may have to add */
		if (lane->sends && lane->total)
			round = schedule_round(&r->schedule, lane->peer, lane->round);
		lane->piece = (round.add ? ADD_PIECE : COPY_PIECE) / r->bytes;
	}
	return true;
}

static void lane_init(struct lane *lane, bool sends)
{
	lane->sends = sends;
	lane->round = -1;
	lane->within = lane->total = 0;
	lane->first = lane->count = 0;
	lane->adds = lane->adding = 0;
}

static struct piece lane_next(const struct lane *lane)
{
	int64_t left = lane->total - lane->within;
	return (struct piece){.round = lane->round,
	                      .offset = lane->offset + lane->within,
	                      .count = left < lane->piece ? left : lane->piece,
	                      .peer = lane->peer,
	                      .add = lane->add};
}

static void lane_push(struct lane *lane, const struct piece *p)
{
	lane->flying[(lane->first + lane->count) % FLYING] = *p;
	lane->count++;
	lane->within += p->count;
	if (p->add) {
		lane->adds++;
		lane->adding++;
	}
}

static void lane_pop(struct lane *lane)
{
	if (lane->flying[lane->first].add)
		lane->adding--;
	lane->first = (lane->first + 1) % FLYING;
	lane->count--;
}

static bool meets(const struct piece *p, int64_t offset, int64_t count)
{
	return count > 0 && p->offset < offset + count && offset < p->offset + p->count;
}

/* True if the lane has work left, in rounds below `limit`, on the elements of the piece. */
static bool lane_holds_up(const struct ring *r, const struct lane *lane, int64_t limit, const struct piece *p)
{
	for (int i = 0; i < lane->count; i++) {
		const struct piece *f = &lane->flying[(lane->first + i) % FLYING];
		if (f->round < limit && meets(p, f->offset, f->count))
			return true;
	}
	if (lane->round >= limit)
		return false;
	if (limit - lane->round > LOOKAHEAD)
		return true;
	if (meets(p, lane->offset + lane->within, lane->total - lane->within))
		return true;
	for (int64_t round = lane->round + 1; round < limit; round++) {
		struct round t = schedule_round(&r->schedule, r->base.public.rank, round);
		if (meets(p, lane->sends ? t.send_offset : t.receive_offset,
		          lane->sends ? t.send_count : t.receive_count))
			return true;
	}
	return false;
}

/* Two receives of the same elements may be under way together only if both are to be added: adding is done in order. */
static bool copies_meet(const struct lane *lane, const struct piece *p)
{
	for (int i = 0; i < lane->count; i++) {
		const struct piece *f = &lane->flying[(lane->first + i) % FLYING];
		if (!(f->add && p->add) && meets(p, f->offset, f->count))
			return true;
	}
	return false;
}

static enum status failed(struct ring *r, int code, int peer)
{
	return communicator_mpi_failed(&r->base, code, r->operation->name, peer);
}

static enum status post_sends(struct ring *r, bool *moved)
{
	struct lane *lane = &r->send;
	while (lane->count < FLYING && lane_ready(r, lane)) {
		struct piece p = lane_next(lane);
		if (lane_holds_up(r, &r->receive, p.round, &p))
			break;
		int code = MPI_Isend(source(r, p.offset), (int)(p.count * r->bytes), MPI_BYTE, p.peer, TAG_COLLECTIVE,
		                     r->base.comm, &p.request);
		if (code != MPI_SUCCESS)
			return failed(r, code, p.peer);
		r->traffic->sent_bytes += p.count * r->bytes;
		lane_push(lane, &p);
		*moved = true;
	}
	return STATUS_OK;
}

static enum status post_receives(struct ring *r, bool *moved)
{
	struct lane *lane = &r->receive;
	while (lane->count < FLYING && lane_ready(r, lane)) {
		struct piece p = lane_next(lane);
		if ((p.add && lane->adding == SLOTS) || copies_meet(lane, &p) ||
		    lane_holds_up(r, &r->send, p.round + 1, &p))
			break;
		p.into = p.add ? stage(r, lane->adds % SLOTS, p.count) : target(r, &p);
		int code = MPI_Irecv(p.into, (int)(p.count * r->bytes), MPI_BYTE, p.peer, TAG_COLLECTIVE, r->base.comm,
		                     &p.request);
		if (code != MPI_SUCCESS)
			return failed(r, code, p.peer);
		lane_push(lane, &p);
		*moved = true;
	}
	return STATUS_OK;
}

/* Takes the oldest piece out of the lane if it is done. */
static enum status finish_one(struct ring *r, struct lane *lane, bool *moved)
{
	struct piece *p = &lane->flying[lane->first];
	int done = 0;
	if (lane->count == 0)
		return STATUS_OK;
	int code = MPI_Test(&p->request, &done, MPI_STATUS_IGNORE);
	if (code != MPI_SUCCESS)
		return failed(r, code, p->peer);
	if (!done)
		return STATUS_OK;
	if (p->add)
		combine(r->what, target(r, p), (char *)r->what->whole + p->offset * r->bytes, p->into, p->count);
	r->in_place |= !lane->sends && is_result(r, p);
	if (!lane->sends)
		r->traffic->received_bytes += p->count * r->bytes;
	lane_pop(lane);
	*moved = true;
	return STATUS_OK;
}

/* Nothing under way may write into the caller's buffers once it has its error. */
static void abandon(struct lane *lane)
{
	for (; lane->count > 0; lane_pop(lane)) {
		struct piece *p = &lane->flying[lane->first];
		if (p->request == MPI_REQUEST_NULL)
			continue;
		if (!lane->sends)
			MPI_Cancel(&p->request);
		MPI_Request_free(&p->request);
	}
}

static enum status timed_out(struct ring *r)
{
	const struct lane *lane = r->receive.count ? &r->receive : &r->send;
	return communicator_timed_out(&r->base, r->base.timeout_ns, r->operation->name,
	                              lane->count ? lane->flying[lane->first].peer : -1);
}

static enum status carry_out(struct ring *r)
{
	struct patience patience = {.limit_ns = r->base.timeout_ns};
	enum status s;
	lane_init(&r->send, true);
	lane_init(&r->receive, false);
	for (;;) {
		bool moved = false;
		/* sends first: they let a neighbour begin, while a receive may copy a whole piece inside its call */
		if ((s = post_sends(r, &moved)) || (s = post_receives(r, &moved)) ||
		    (s = finish_one(r, &r->receive, &moved)) || (s = finish_one(r, &r->send, &moved)))
			break;
		if (r->send.count + r->receive.count == 0 && !lane_ready(r, &r->send) && !lane_ready(r, &r->receive))
			return STATUS_OK;
		if (moved) {
			patience = (struct patience){.limit_ns = r->base.timeout_ns};
		} else if (!patience_pause(&r->base, &patience)) {
			s = timed_out(r);
			break;
		}
	}
	abandon(&r->send);
	abandon(&r->receive);
	return s;
}

static enum status ring_run(struct communicator *c, const struct collective *what, struct traffic *traffic)
{
	struct ring *r = (struct ring *)c;
	bool root = what->root == c->rank;
	*traffic = (struct traffic){.counted = true};
	if (r->base.broken)
		return communicator_is_broken(&r->base);
	r->what = what;
	r->bytes = type_bytes(what->type);
	traffic->handed_bytes = what->elements * r->bytes;
	r->traffic = traffic;
	const struct operation_row *o = r->operation = operation_row(schedule_row(what->algorithm)->operation);
	r->schedule = (struct schedule){what->algorithm, c->ranks, what->root, what->elements, 0};
	r->rounds = schedule_rounds(&r->schedule);
	r->in_place = false;

	char *place = what->whole ? (char *)what->whole + own(r) * r->bytes : NULL;
	if (o->before == EXTENT_SLICE && (root || o->after == EXTENT_WHOLE))
		copy(r, place, what->part, slice(r));
	TRY(carry_out(r));
	if (o->after == EXTENT_SLICE && (o->adds ? !r->in_place : root))
		copy(r, what->part, place, slice(r));
	return STATUS_OK;
}

static const struct communicator_ops ring_ops = {
        .name = "ring",
        .run = ring_run,
        .sum = communicator_sum,
        .message = communicator_message,
        .spin = communicator_spin,
        .release = communicator_release,
};

struct communicator_base *communicator_ring_new(void)
{
	struct ring *r = array_make(1, sizeof *r);
	r->base.public.ops = &ring_ops;
	return &r->base;
}
