/* Moments, the positions at which the cursor stops, and the notable events among them. */
#include <stdlib.h>

#include "viz/timeline/score.h"

/* ---- moments ---- */

static bool same_moment(const struct score *s, const struct event *a, const struct event *b)
{
	if (a->time != b->time || a->kind != b->kind)
		return false;
	if (a->kind == EVENT_MESSAGE)
		return s->plan->ranks > SCORE_MESSAGE_RANKS &&
		       s->collectives[a->collective].family == s->collectives[b->collective].family &&
		       a->round == b->round;
	return a->op == b->op && s->ranks[a->index].role == s->ranks[b->index].role;
}

static void make_moments(struct score *s)
{
	s->moments = calloc(s->event_count + 1, sizeof *s->moments);
	if (!s->moments)
		abort();
	for (size_t i = 0; i < s->event_count; i++) {
		if (i && same_moment(s, &s->events[i - 1], &s->events[i]))
			s->moments[s->moment_count - 1].end = i + 1;
		else
			s->moments[s->moment_count++] = (struct moment){i, i + 1, s->events[i].time};
	}
}

/* ---- stops ---- */

/* Moments of one key are one step: messages of a collective (and of those of other groups beside it) that arrive
 * together, which is a round where no rank lags behind; or one operation on all ranks with what is allocated for it. */
struct key {
	enum event_kind kind;
	int role, op, collective;
	int64_t time;
};

static struct key key_of(const struct score *s, const struct moment *m)
{
	const struct event *e = &s->events[m->begin];
	struct key k = {e->kind, s->ranks[e->index].role, e->op,
	                e->collective < 0 ? -1 : s->collectives[e->collective].family, 0};
	if (e->kind == EVENT_MESSAGE) {
		k.role = k.op = 0;
		k.time = e->time;
	}
	return k;
}

static bool same_key(const struct key *a, const struct key *b)
{
	return a->kind == b->kind && a->role == b->role && a->op == b->op && a->collective == b->collective &&
	       a->time == b->time;
}

/* A unit's pass over a micro-batch. */
struct phase {
	enum pass pass;
	int unit, micro;
};

/* Of a run of moments, by what the first rank computes in it; false: it computes nothing of a phase. */
static bool phase_of(const struct score *s, size_t begin, size_t end, struct phase *out)
{
	for (size_t i = s->moments[begin].begin; i < s->moments[end - 1].end; i++) {
		const struct event *e = &s->events[i];
		if (e->kind != EVENT_BEGIN || e->rank != s->ranks[0].rank || e->queue != QUEUE_COMPUTE)
			continue;
		const struct op *op = &score_role_of(s, 0)->ops[e->op];
		if (op->pass == PASS_NONE)
			continue;
		*out = (struct phase){op->pass, op->pass == PASS_UPDATE ? -1 : op->unit,
		                      op->pass == PASS_UPDATE ? -1 : op->micro};
		return true;
	}
	return false;
}

static void add_stop(struct score *s, enum stride stride, size_t position)
{
	size_t n = s->stop_count[stride];
	if (!n || s->stops[stride][n - 1] != position)
		s->stops[stride][s->stop_count[stride]++] = position;
}

void score_make_stops(struct score *s)
{
	struct phase now = {PASS_NONE, -1, -1}, next;
	make_moments(s);
	for (int i = 0; i < STRIDE_COUNT; i++) {
		s->stops[i] = calloc(s->moment_count + 1, sizeof **s->stops);
		if (!s->stops[i])
			abort();
		add_stop(s, (enum stride)i, 0);
	}
	for (size_t p = 1; p <= s->moment_count; p++)
		add_stop(s, STRIDE_MESSAGE, p);
	/* Backwards, since an allocation belongs to what follows it. */
	struct key *keys = calloc(s->moment_count + 1, sizeof *keys);
	if (!keys)
		abort();
	for (size_t m = s->moment_count; m-- > 0;) {
		keys[m] = key_of(s, &s->moments[m]);
		if (keys[m].kind == EVENT_MEMORY && m + 1 < s->moment_count)
			keys[m] = keys[m + 1];
	}
	for (size_t begin = 0, end; begin < s->moment_count; begin = end) {
		for (end = begin + 1; end < s->moment_count && same_key(&keys[begin], &keys[end]); end++)
			;
		if (phase_of(s, begin, end, &next)) {
			if (now.pass != PASS_NONE &&
			    (now.pass != next.pass || now.unit != next.unit || now.micro != next.micro))
				add_stop(s, STRIDE_PHASE, begin);
			now = next;
		}
		add_stop(s, STRIDE_ROUND, end);
	}
	add_stop(s, STRIDE_PHASE, s->moment_count);
	free(keys);
}

/* ---- walking ---- */

/* The last stop at or before a position. */
size_t score_stop_of(const struct score *s, enum stride stride, size_t position)
{
	size_t low = 0, high = s->stop_count[stride];
	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;
		if (s->stops[stride][middle] <= position)
			low = middle;
		else
			high = middle;
	}
	return low;
}

size_t score_stop(const struct score *s, enum stride stride, size_t k)
{
	size_t last = s->stop_count[stride] - 1;
	return s->stops[stride][k < last ? k : last];
}

size_t score_next(const struct score *s, enum stride stride, size_t position)
{
	return score_stop(s, stride, score_stop_of(s, stride, position) + 1);
}

size_t score_previous(const struct score *s, enum stride stride, size_t position)
{
	size_t k = score_stop_of(s, stride, position);
	if (s->stops[stride][k] == position && k)
		k--;
	return s->stops[stride][k];
}

const struct notable *score_notable(const struct score *s, size_t position)
{
	for (int i = 0; i < s->notable_count; i++)
		if (s->notables[i].position > position)
			return &s->notables[i];
	return NULL;
}

size_t score_position_at(const struct score *s, int64_t time)
{
	size_t low = 0, high = s->moment_count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (s->moments[middle].time <= time)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

int64_t score_time(const struct score *s, size_t position)
{
	return position ? s->moments[position - 1].time : 0;
}

/* ---- notable events ---- */

static void add_notable(struct score *s, size_t *capacity, enum notable_kind kind, size_t position, int64_t rank)
{
	s->notables = array_reserve(s->notables, (size_t)s->notable_count, capacity, sizeof *s->notables);
	s->notables[s->notable_count++] = (struct notable){kind, position, rank};
}

/* The operation whose issue brings a role above `bytes` first, counted from the step's beginning; -1: none does. */
static int first_above(const struct score_role *r, int64_t bytes)
{
	for (int k = 0; r->live[SPACE_DEVICE] && k <= r->role->step.end - r->role->step.begin; k++) {
		int64_t total = 0;
		for (int c = 0; c < CATEGORY_COUNT; c++)
			total += r->live[SPACE_DEVICE][k * CATEGORY_COUNT + c];
		if (total > bytes)
			return k;
	}
	return -1;
}

/* The first position at which a rank of the role has issued so many operations. */
static void notable_memory(struct score *s, size_t *capacity, int role, int issued, enum notable_kind kind)
{
	int op = s->plan->roles[role].step.begin + issued - 1;
	for (size_t m = 0; issued > 0 && m < s->moment_count; m++) {
		const struct event *e = &s->events[s->moments[m].begin];
		if (event_issues(e) && e->op >= op && s->ranks[e->index].role == role) {
			add_notable(s, capacity, kind, m + 1, e->rank);
			return;
		}
	}
}

static void notable_stalls(struct score *s, size_t *capacity)
{
	for (size_t m = 0; m < s->moment_count; m++)
		if (s->events[s->moments[m].begin].kind == EVENT_IDLE)
			add_notable(s, capacity, NOTABLE_STALL, m + 1, s->events[s->moments[m].begin].rank);
}

/* Where computing begins on a rank whose communication queue works. */
static void notable_overlap(struct score *s, size_t *capacity)
{
	int64_t *busy = calloc((size_t)s->rank_count + 1, sizeof *busy); /* until when, by what has begun */
	size_t begun = 0;
	if (!busy)
		abort();
	for (size_t m = 0; m < s->moment_count; m++) {
		const struct event *e = &s->events[s->moments[m].begin];
		if (e->kind != EVENT_BEGIN || e->queue != QUEUE_COMPUTE)
			continue;
		for (; begun < s->event_count && s->events[begun].time <= e->time; begun++) {
			const struct event *other = &s->events[begun];
			if (other->kind != EVENT_BEGIN || other->queue != QUEUE_COMMUNICATION)
				continue;
			int64_t end =
			        s->ranks[other->index].end[other->op - score_role_of(s, other->index)->step.begin];
			if (end > busy[other->index])
				busy[other->index] = end;
		}
		if (busy[e->index] > e->time) {
			add_notable(s, capacity, NOTABLE_OVERLAP, m + 1, e->rank);
			break;
		}
	}
	free(busy);
}

static void notable_collectives(struct score *s, size_t *capacity)
{
	size_t *last = calloc((size_t)s->collective_count + 1, sizeof *last);
	if (!last)
		abort();
	for (size_t m = 0; m < s->moment_count; m++) {
		const struct event *e = &s->events[s->moments[m].begin];
		if (e->kind == EVENT_MESSAGE)
			last[e->collective] = m + 1;
	}
	for (int c = 0; c < s->collective_count; c++)
		if (last[c] && !s->collectives[c].control)
			add_notable(s, capacity, NOTABLE_COLLECTIVE, last[c], 0);
	free(last);
}

static int by_position(const void *a, const void *b)
{
	const struct notable *x = a, *y = b;
	if (x->position != y->position)
		return x->position < y->position ? -1 : 1;
	return (x->kind > y->kind) - (x->kind < y->kind);
}

void score_find_notables(struct score *s)
{
	size_t capacity = 0;
	for (int r = 0; r < s->plan->role_count; r++) {
		notable_memory(s, &capacity, r, s->roles[r].peak_at[SPACE_DEVICE], NOTABLE_PEAK);
		if (s->limits.device_bytes)
			notable_memory(s, &capacity, r,
			               first_above(&s->roles[r], s->limits.device_bytes - s->limits.overhead_bytes),
			               NOTABLE_OVERFLOW);
	}
	notable_stalls(s, &capacity);
	notable_overlap(s, &capacity);
	notable_collectives(s, &capacity);
	if (s->notable_count)
		qsort(s->notables, (size_t)s->notable_count, sizeof *s->notables, by_position);
}
