#include "strategy/collective/schedule.h"

#include <assert.h>
#include <stdlib.h>

#include "strategy/collective/algorithms.h"

struct algorithm {
	const char *name, *description;
	int64_t (*rounds)(const struct schedule *s);
	void (*round)(const struct schedule *s, int64_t rank, int64_t round, struct round *r);
	int64_t (*sent)(const struct schedule *s, int64_t rank);
	int64_t (*received)(const struct schedule *s, int64_t rank);
};

#define OF_RING_ALL_REDUCE ring
#define OF_RING_REDUCE_SCATTER ring
#define OF_RING_ALL_GATHER ring
#define OF_HALVING_DOUBLING_ALL_REDUCE halving_doubling
#define OF_TREE_BROADCAST tree
#define OF_TREE_REDUCE tree
#define OF_STAR_BROADCAST star
#define OF_STAR_REDUCE star
#define OF_CHAIN_BROADCAST chain
#define OF_CHAIN_REDUCE chain
#define OF_STAR_SCATTER star
#define OF_STAR_GATHER star

#define ROW(name, description, family) ROW_(name, description, family)
#define ROW_(name, description, family)                                                                                \
	{name, description, family##_rounds, family##_round, family##_sent, family##_received},

static const struct algorithm algorithms[] = {
#define X(name, constant, what) ROW(name, what, OF_##constant)
        SCHEDULE_LIST(X)
#undef X
};

static_assert(sizeof algorithms / sizeof *algorithms == SCHEDULE_COUNT, "one row for each algorithm");

static const struct algorithm *algorithm_of(const struct schedule *s)
{
	if ((unsigned)s->algorithm >= SCHEDULE_COUNT || s->ranks < 1 || s->elements < 0 || s->elements % s->ranks ||
	    s->root < 0 || s->root >= s->ranks || s->pieces < 0)
		abort();
	return &algorithms[s->algorithm];
}

int64_t schedule_rounds(const struct schedule *s)
{
	const struct algorithm *a = algorithm_of(s);
	return s->ranks == 1 ? 0 : a->rounds(s);
}

struct round schedule_round(const struct schedule *s, int64_t rank, int64_t round)
{
	const struct algorithm *a = algorithm_of(s);
	struct round r = {.send_to = -1, .receive_from = -1};
	if (rank < 0 || rank >= s->ranks || round < 0 || s->ranks == 1 || round >= a->rounds(s))
		abort();
	a->round(s, rank, round, &r);
	/* The two ends of a message compute the same count, so both leave out an empty one. */
	if (r.send_count == 0) {
		r.send_to = -1;
		r.send_offset = 0;
	}
	if (r.receive_count == 0) {
		r.receive_from = -1;
		r.receive_offset = 0;
		r.add = false;
	}
	return r;
}

int64_t schedule_sent(const struct schedule *s, int64_t rank)
{
	const struct algorithm *a = algorithm_of(s);
	return s->ranks == 1 ? 0 : a->sent(s, rank);
}

int64_t schedule_received(const struct schedule *s, int64_t rank)
{
	const struct algorithm *a = algorithm_of(s);
	return s->ranks == 1 ? 0 : a->received(s, rank);
}

const char *schedule_name(enum schedule_algorithm a)
{
	return (unsigned)a < SCHEDULE_COUNT ? algorithms[a].name : "?";
}

const char *schedule_description(enum schedule_algorithm a)
{
	return (unsigned)a < SCHEDULE_COUNT ? algorithms[a].description : "?";
}
