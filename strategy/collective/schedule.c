#include "strategy/collective/schedule.h"

#include <stdlib.h>
#include <string.h>

#include "strategy/collective/algorithms.h"

static const struct algorithm *const rows[SCHEDULE_COUNT] = {
#define X(constant, row) [SCHEDULE_##constant] = &(row),
        SCHEDULE_LIST(X)
#undef X
};

static const struct operation_row operations[OPERATION_COUNT + 1] = {
#define X(constant, name, before, after, adds) {name, EXTENT_##before, EXTENT_##after, adds},
        OPERATION_LIST(X)
#undef X
                [OPERATION_COUNT] = {"message", EXTENT_AT_ROOT, EXTENT_WHOLE, false}};

const struct operation_row *operation_row(enum operation o)
{
	return &operations[o];
}

const char *operation_name(enum operation o)
{
	return operations[o].name;
}

static bool begins_or_ends(enum operation o, enum extent e)
{
	return operations[o].before == e || operations[o].after == e;
}

bool operation_has_root(enum operation o)
{
	return begins_or_ends(o, EXTENT_AT_ROOT);
}

bool operation_has_slices(enum operation o)
{
	return begins_or_ends(o, EXTENT_SLICE);
}

bool operation_sums_everywhere(enum operation o)
{
	return operations[o].adds && operations[o].after == EXTENT_WHOLE;
}

static int own_count(void)
{
	int n = 0;
	while (n < OWN_ALGORITHMS && own_algorithms[n])
		n++;
	return n;
}

int schedule_count(void)
{
	return SCHEDULE_COUNT + own_count();
}

bool schedule_is_own(enum schedule_algorithm a)
{
	return (unsigned)a >= SCHEDULE_COUNT;
}

const struct algorithm *schedule_row(enum schedule_algorithm a)
{
	if (!schedule_is_own(a))
		return rows[a];
	if ((int)a >= schedule_count())
		abort();
	return own_algorithms[a - SCHEDULE_COUNT];
}

bool schedule_find(enum operation o, const char *name, enum schedule_algorithm *out)
{
	for (int a = 0; a < schedule_count(); a++) {
		const struct algorithm *row = schedule_row((enum schedule_algorithm)a);
		if (row->operation == o && !strcmp(row->name, name)) {
			*out = (enum schedule_algorithm)a;
			return true;
		}
	}
	return false;
}

enum schedule_algorithm schedule_first(enum operation o)
{
	int a = 0;
	while (a < SCHEDULE_COUNT && rows[a]->operation != o)
		a++;
	if (a == SCHEDULE_COUNT)
		abort();
	return (enum schedule_algorithm)a;
}

static const struct algorithm *algorithm_of(const struct schedule *s)
{
	const struct algorithm *a = schedule_row(s->algorithm);
	if (s->ranks < 1 || s->elements < 0 || (a->slices && s->elements % s->ranks) || s->root < 0 ||
	    s->root >= s->ranks || s->pieces < 0)
		abort();
	return a;
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

bool schedule_holds(const struct schedule *s, enum extent e, int64_t rank, int64_t element)
{
	int64_t slice = s->elements / s->ranks;
	if (e == EXTENT_SLICE)
		return slice && element / slice == rank;
	return e == EXTENT_WHOLE || rank == s->root;
}

struct amount schedule_amount(const struct schedule *s)
{
	const struct algorithm *a = algorithm_of(s);
	return s->ranks == 1 ? (struct amount){0, 0} : a->amount(s);
}
