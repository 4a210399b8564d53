/* Instants, the positions at which the cursor stops, and the highlights among them. */
#include <stdlib.h>

#include "strategy/base/arena.h"
#include "strategy/base/memory.h"
#include "strategy/base/search.h"
#include "viz/timeline/timeline.h"

/* ---- instants ---- */

static bool same_instant(const struct timeline *s, const struct event *a, const struct event *b)
{
	if (a->time != b->time || a->kind != b->kind)
		return false;
	if (a->kind == EVENT_MESSAGE)
		return s->plan->ranks > TIMELINE_MESSAGE_RANKS &&
		       s->collectives[a->collective].family == s->collectives[b->collective].family &&
		       a->round == b->round;
	return a->op == b->op && s->ranks[a->index].role == s->ranks[b->index].role;
}

static void make_instants(struct timeline *s)
{
	s->instants = array_make(s->event_count, sizeof *s->instants);
	for (size_t i = 0; i < s->event_count; i++) {
		if (i && same_instant(s, &s->events[i - 1], &s->events[i]))
			s->instants[s->instant_count - 1].end = i + 1;
		else
			s->instants[s->instant_count++] = (struct instant){i, i + 1, s->events[i].time};
	}
}

/* ---- stops ---- */

/* Instants of one key are one step: messages of a collective (and of those of other groups beside it) that arrive
 * together, which is a round where no rank lags behind; or one operation on all ranks with what is allocated for it. */
struct key {
	enum event_kind kind;
	int role, op, collective;
	int64_t time;
};

static struct key key_of(const struct timeline *s, const struct instant *m)
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

/* ---- phases ---- */

/* When the first rank is done with the backward pass, the reduction of its gradients included. */
static int64_t end_of_backward(const struct timeline *s)
{
	const struct role *role = timeline_role_of(s, 0);
	int64_t end = -1;
	for (int k = 0; k < role->step.end - role->step.begin; k++)
		if (role->ops[role->step.begin + k].pass == PASS_BACKWARD && s->ranks[0].end[k] > end)
			end = s->ranks[0].end[k];
	return end;
}

/* Does the first rank go on with the step by this operation? The update begins when nothing is left of the backward
 * pass, though a bucket that is reduced early may be updated before. */
static bool enters_phase(const struct op *op, int64_t begin, int64_t backward)
{
	if (op->pass == PASS_UPDATE)
		return begin >= backward && (op->queue == QUEUE_COMPUTE || op->queue == QUEUE_HOST_COMPUTE);
	return op->queue == QUEUE_COMPUTE && op->pass != PASS_NONE;
}

/* The phase of a run of instants; false: the first rank enters none. */
static bool phase_of(const struct timeline *s, size_t begin, size_t end, int64_t backward, struct phase *out)
{
	for (size_t i = s->instants[begin].begin; i < s->instants[end - 1].end; i++) {
		const struct event *e = &s->events[i];
		if (e->kind != EVENT_BEGIN || e->rank != s->ranks[0].rank)
			continue;
		const struct op *op = &timeline_role_of(s, 0)->ops[e->op];
		if (!enters_phase(op, e->time, backward))
			continue;
		bool update = op->pass == PASS_UPDATE;
		*out = (struct phase){op->pass, update ? -1 : op->unit, update ? -1 : op->micro};
		return true;
	}
	return false;
}

static void add_stop(struct timeline *s, enum step_size step_size, size_t position)
{
	size_t n = s->stop_count[step_size];
	if (!n || s->stops[step_size][n - 1] != position)
		s->stops[step_size][s->stop_count[step_size]++] = position;
}

void timeline_make_stops(struct timeline *s)
{
	struct phase now = {PASS_NONE, -1, -1}, next;
	int64_t backward = s->rank_count ? end_of_backward(s) : 0;
	make_instants(s);
	s->phases = array_make(s->instant_count + 1, sizeof *s->phases);
	for (int i = 0; i < STEP_SIZE_COUNT; i++) {
		s->stops[i] = array_make(s->instant_count + 1, sizeof **s->stops);
		add_stop(s, (enum step_size)i, 0);
	}
	for (size_t p = 1; p <= s->instant_count; p++)
		add_stop(s, STEP_SIZE_MESSAGE, p);
	/* Backwards, since an allocation belongs to what follows it. */
	struct key *keys = array_make(s->instant_count, sizeof *keys);
	for (size_t m = s->instant_count; m-- > 0;) {
		keys[m] = key_of(s, &s->instants[m]);
		if (keys[m].kind == EVENT_MEMORY && m + 1 < s->instant_count)
			keys[m] = keys[m + 1];
	}
	for (size_t begin = 0, end; begin < s->instant_count; begin = end) {
		for (end = begin + 1; end < s->instant_count && same_key(&keys[begin], &keys[end]); end++)
			;
		if (phase_of(s, begin, end, backward, &next)) {
			if (now.pass != PASS_NONE &&
			    (now.pass != next.pass || now.unit != next.unit || now.micro != next.micro))
				add_stop(s, STEP_SIZE_PHASE, begin);
			now = next;
			s->phases[s->stop_count[STEP_SIZE_PHASE] - 1] = now;
		}
		add_stop(s, STEP_SIZE_ROUND, end);
	}
	add_stop(s, STEP_SIZE_PHASE, s->instant_count);
	free(keys);
}

/* ---- walking ---- */

/* The last stop at or before a position. */
size_t timeline_stop_of(const struct timeline *s, enum step_size step_size, size_t position)
{
	size_t low = 0, high = s->stop_count[step_size];
	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;
		if (s->stops[step_size][middle] <= position)
			low = middle;
		else
			high = middle;
	}
	return low;
}

size_t timeline_stop_showing(const struct timeline *s, enum step_size step_size, size_t position)
{
	size_t k = timeline_stop_of(s, step_size, position);
	return k + (s->stops[step_size][k] < position && k + 1 < s->stop_count[step_size]);
}

size_t timeline_stop(const struct timeline *s, enum step_size step_size, size_t k)
{
	size_t last = s->stop_count[step_size] - 1;
	return s->stops[step_size][k < last ? k : last];
}

size_t timeline_next(const struct timeline *s, enum step_size step_size, size_t position)
{
	return timeline_stop(s, step_size, timeline_stop_of(s, step_size, position) + 1);
}

size_t timeline_previous(const struct timeline *s, enum step_size step_size, size_t position)
{
	size_t k = timeline_stop_of(s, step_size, position);
	if (s->stops[step_size][k] == position && k)
		k--;
	return s->stops[step_size][k];
}

const struct phase *timeline_phase(const struct timeline *s, size_t position)
{
	return &s->phases[timeline_stop_of(s, STEP_SIZE_PHASE, position ? position - 1 : 0)];
}

size_t timeline_position_at(const struct timeline *s, int64_t time)
{
	return FIRST_PAST(s->instants, time, 0, s->instant_count, time);
}

int64_t timeline_time(const struct timeline *s, size_t position)
{
	return position ? s->instants[position - 1].time : 0;
}

/* The last event by which a member begins it, while nothing of it has arrived: by family; SIZE_MAX: none. */
static size_t *begin_events(const struct timeline *s)
{
	size_t *begins = malloc(((size_t)s->collective_count + 1) * sizeof *begins);
	bool *sent = calloc((size_t)s->collective_count + 1, sizeof *sent);
	if (!begins || !sent)
		memory_exhausted();
	for (int i = 0; i < s->collective_count; i++)
		begins[i] = SIZE_MAX;
	for (size_t i = 0; i < s->event_count; i++) {
		const struct event *e = &s->events[i];
		int one = e->kind == EVENT_BEGIN ? timeline_collective_of(s, e->index, e->op) : e->collective;
		if (one < 0)
			continue;
		int family = s->collectives[one].family;
		sent[family] |= e->kind == EVENT_MESSAGE;
		if (e->kind == EVENT_BEGIN && !sent[family])
			begins[family] = i;
	}
	free(sent);
	return begins;
}

size_t timeline_collective_begin(const struct timeline *s, size_t position, bool forward)
{
	size_t *begins = begin_events(s), best = SIZE_MAX;
	for (int i = 0; i < s->collective_count; i++) {
		if (begins[i] == SIZE_MAX || s->collectives[i].control)
			continue;
		size_t there = timeline_position_of(s, begins[i]);
		bool nearer = best == SIZE_MAX || (forward ? there < best : there > best);
		if (nearer && (forward ? there > position : there < position))
			best = there;
	}
	free(begins);
	return best;
}

/* ---- highlights ---- */

static void add_highlight(struct timeline *s, size_t *capacity, enum highlight_kind kind, size_t position, int64_t rank)
{
	s->highlights = array_reserve(s->highlights, (size_t)s->highlight_count, capacity, sizeof *s->highlights);
	s->highlights[s->highlight_count++] = (struct highlight){kind, position, rank};
}

/* The operation whose issue brings a role above `bytes` first, counted from the step's beginning; -1: none does. */
static int first_above(const struct timeline_role *r, int64_t bytes)
{
	for (int k = 0; r->live[SPACE_DEVICE] && k <= r->role->step.end - r->role->step.begin; k++) {
		int64_t total = 0;
		for (int c = 0; c < HELD_COUNT; c++)
			total += r->live[SPACE_DEVICE][k * HELD_COUNT + c];
		if (total > bytes)
			return k;
	}
	return -1;
}

/* The first position at which a rank of the role has issued so many operations. */
static void highlight_memory(struct timeline *s, size_t *capacity, int role, int issued, enum highlight_kind kind)
{
	int op = s->plan->roles[role].step.begin + issued - 1;
	for (size_t m = 0; issued > 0 && m < s->instant_count; m++) {
		const struct event *e = &s->events[s->instants[m].begin];
		if (event_issues(e) && e->op >= op && s->ranks[e->index].role == role) {
			add_highlight(s, capacity, kind, m + 1, e->rank);
			return;
		}
	}
}

/* A role whose lasting buffers are too much already overflows at the beginning. */
static void highlight_overflow(struct timeline *s, size_t *capacity, int role)
{
	int issued = first_above(&s->roles[role], s->limits.device_bytes - s->limits.overhead_bytes);
	highlight_memory(s, capacity, role, issued, HIGHLIGHT_OVERFLOW);
	for (int i = 0; issued == 0 && i < s->rank_count; i++)
		if (s->ranks[i].role == role) {
			add_highlight(s, capacity, HIGHLIGHT_OVERFLOW, 0, s->ranks[i].rank);
			return;
		}
}

static void highlight_stalls(struct timeline *s, size_t *capacity)
{
	for (size_t m = 0; m < s->instant_count; m++)
		if (s->events[s->instants[m].begin].kind == EVENT_IDLE)
			add_highlight(s, capacity, HIGHLIGHT_STALL, m + 1, s->events[s->instants[m].begin].rank);
}

/* The first time that a rank computes while its communication queue works. */
static void highlight_overlap(struct timeline *s, size_t *capacity)
{
	int64_t *busy = calloc((size_t)s->rank_count + 1, sizeof *busy); /* until when, by what has begun */
	size_t begun = 0;
	if (!busy)
		memory_exhausted();
	for (size_t m = 0; m < s->instant_count; m++) {
		const struct event *e = &s->events[s->instants[m].begin];
		if (e->kind != EVENT_BEGIN || e->queue != QUEUE_COMPUTE)
			continue;
		for (; begun < s->event_count && s->events[begun].time <= e->time; begun++) {
			const struct event *other = &s->events[begun];
			if (other->kind != EVENT_BEGIN || other->queue != QUEUE_COMMUNICATION)
				continue;
			int64_t end =
			        s->ranks[other->index].end[other->op - timeline_role_of(s, other->index)->step.begin];
			if (end > busy[other->index])
				busy[other->index] = end;
		}
		if (busy[e->index] > e->time) {
			add_highlight(s, capacity, HIGHLIGHT_OVERLAP, m + 1, e->rank);
			break;
		}
	}
	free(busy);
}

static void highlight_collectives(struct timeline *s, size_t *capacity)
{
	size_t *last = array_make((size_t)s->collective_count, sizeof *last);
	for (size_t m = 0; m < s->instant_count; m++) {
		const struct event *e = &s->events[s->instants[m].begin];
		if (e->kind == EVENT_MESSAGE)
			last[e->collective] = m + 1;
	}
	for (int c = 0; c < s->collective_count; c++)
		if (last[c] && !s->collectives[c].control)
			add_highlight(s, capacity,
			              op_is_message(s->collectives[c].kind) ? HIGHLIGHT_MESSAGE : HIGHLIGHT_COLLECTIVE,
			              last[c], 0);
	free(last);
}

static int by_position(const void *a, const void *b)
{
	const struct highlight *x = a, *y = b;
	if (x->position != y->position)
		return x->position < y->position ? -1 : 1;
	return (x->kind > y->kind) - (x->kind < y->kind);
}

void timeline_find_highlights(struct timeline *s)
{
	size_t capacity = 0;
	for (int r = 0; r < s->plan->role_count; r++) {
		highlight_memory(s, &capacity, r, s->roles[r].peak_at[SPACE_DEVICE], HIGHLIGHT_PEAK);
		if (s->limits.device_bytes)
			highlight_overflow(s, &capacity, r);
	}
	highlight_stalls(s, &capacity);
	highlight_overlap(s, &capacity);
	highlight_collectives(s, &capacity);
	if (s->highlight_count)
		qsort(s->highlights, (size_t)s->highlight_count, sizeof *s->highlights, by_position);
}
