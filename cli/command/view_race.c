#include "cli/command/view_race.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/sim.h"
#include "strategy/base/arena.h"
#include "viz/timeline/timeline.h"

/* The operations that are raced, and who comes first in the picture. Every other algorithm of the operation follows. */
static const struct {
	enum operation operation;
	const char *racers[RACERS + 1];
} races[] = {
        {OPERATION_ALL_REDUCE, {"star-all-reduce", "ring-all-reduce", "tree-all-reduce"}},
        {OPERATION_BROADCAST, {"star-broadcast"}},
        {OPERATION_REDUCE, {"star-reduce"}},
};
enum { RACES = sizeof races / sizeof races[0] };

static int race_of(enum operation o)
{
	int i = 0;
	while (i + 1 < RACES && races[i].operation != o)
		i++;
	return i;
}

void race_first(enum operation o, struct alone *out)
{
	alone_at((int)schedule_first(o), out);
}

enum operation race_operation(const char *name)
{
	int i = 0;
	while (i + 1 < RACES && strcmp(operation_name(races[i].operation), name) != 0)
		i++;
	return races[i].operation;
}

static int named_count(const char *const *names)
{
	int n = 0;
	while (names[n])
		n++;
	return n;
}

static bool is_named(const char *const *names, const char *name)
{
	while (*names && strcmp(*names, name) != 0)
		names++;
	return *names != NULL;
}

/* The i-th racer: first those of the table, then the other algorithms of the operation, the user's own at the end; NULL
 * past the last. */
static const char *racer_name(enum operation o, int i, struct alone *one)
{
	const char *const *names = races[race_of(o)].racers;
	int left = i - named_count(names);
	if (i >= RACERS)
		return NULL;
	if (left < 0)
		return names[i];
	for (int a = 0; a < schedule_count(); a++)
		if (alone_at(a, one) && one->operation == o && !is_named(names, one->name) && !left--)
			return one->name;
	return NULL;
}

/* ---- one ---- */

/* The formula gives a part one time, which its rounds share equally. */
static void share_rounds(struct racer *out, int first, int64_t rounds, int64_t begin, int64_t end)
{
	for (int64_t k = 0; k < rounds; k++)
		out->ends[first + k] = begin + (int64_t)((double)(end - begin) * (double)(k + 1) / (double)rounds);
}

static void take_rounds(struct racer *out, const struct timeline *s)
{
	for (size_t i = 0; i < s->event_count; i++) {
		const struct event *e = &s->events[i];
		if (e->kind != EVENT_MESSAGE)
			continue;
		int64_t before = e->collective ? schedule_rounds(&out->part[0]) : 0;
		int64_t *end = &out->ends[before + e->round];
		*end = e->time > *end ? e->time : *end;
	}
	for (int k = 1; k < out->rounds; k++) /* a round that nobody needs is over with the one before */
		out->ends[k] = out->ends[k] > out->ends[k - 1] ? out->ends[k] : out->ends[k - 1];
	if (out->rounds)
		out->ends[out->rounds - 1] = out->ns;
}

static void take_bytes(struct racer *out, const struct plan *p)
{
	const struct role *r = &p->roles[0];
	for (int64_t rank = 0; rank < p->ranks; rank++) {
		int64_t sent = 0, received = 0;
		for (int k = r->step.begin; k < r->step.end; k++) {
			sent += op_sent_bytes(p, r, &r->ops[k], rank);
			received += op_received_bytes(p, r, &r->ops[k], rank);
		}
		if (sent + received > out->out + out->in) {
			out->out = sent;
			out->in = received;
		}
	}
}

static enum status take(struct racer *out, const struct plan *p, const struct trace *trace, bool by_message)
{
	static const struct limits none = {0};
	const struct role *r = &p->roles[0];
	struct timeline s;
	out->parts = r->step.end - r->step.begin;
	for (int i = 0; i < out->parts; i++) {
		out->part[i] = op_schedule(p, &r->ops[r->step.begin + i]);
		out->rounds += (int)schedule_rounds(&out->part[i]);
	}
	out->ends = array_make((size_t)out->rounds + 1, sizeof *out->ends);
	take_bytes(out, p);
	TRY(timeline_open(&s, trace, &none));
	if (by_message) {
		take_rounds(out, &s);
	} else {
		int first = 0;
		for (int i = 0; i < s.collective_count; i++) {
			int64_t rounds = schedule_rounds(&out->part[i]);
			share_rounds(out, first, rounds, s.collectives[i].begin, s.collectives[i].end);
			first += (int)rounds;
		}
	}
	timeline_release(&s);
	return STATUS_OK;
}

/* out: NULL, or where all of it goes; else the time alone. */
static enum status run_one(const char *name, int64_t ranks, int64_t bytes, const struct cluster *c, bool by_message,
                           int64_t *ns, struct racer *out)
{
	struct alone what;
	struct plan plan;
	struct model model;
	struct trace trace = {0};
	struct report report = {0};
	enum status s = alone_find("--race", name, &what);
	if (s || (s = alone_open(&plan, &model, &what, ranks, bytes)))
		return s;
	s = sim_run(&plan, c, by_message ? GRAIN_MESSAGE : GRAIN_OPERATION, out ? &trace : NULL, &report);
	*ns = report.time.step;
	if (!s && out) {
		size_t length = strlen(name) - strlen(operation_name(what.operation)) - 1;
		*out = (struct racer){.ns = *ns};
		snprintf(out->name, sizeof out->name, "%.*s", (int)length, name);
		s = take(out, &plan, &trace, by_message);
	}
	trace_release(&trace);
	report_release(&report);
	plan_release(&plan);
	model_release(&model);
	return s;
}

/* ---- all ---- */

/* From 1 kB to 1 GB, with fewer sizes where each takes longer. */
static void choose_sizes(struct race_curve *v, const struct race *r)
{
	bool few = r->by_message && r->ranks > RACE_GRID;
	int64_t size = 1000;
	v->points = few ? 7 : RACE_POINTS;
	for (int k = 0; k < v->points; k++) {
		v->at[k] = !few && k % 2 ? size * 316 / 100 / 4 * 4 : size;
		size *= few || k % 2 ? 10 : 1;
	}
}

static void choose_ranks(struct race_curve *v)
{
	static const int64_t ranks[RACE_POINTS] = {2, 3, 4, 6, 8, 12, 16, 32, 64, 128, 256, 512, 1024};
	v->points = RACE_POINTS;
	memcpy(v->at, ranks, sizeof ranks);
}

static enum status run_point(struct race *r, const struct cluster *c, int point)
{
	struct race_curve *v = &r->curve;
	struct alone one;
	bool by_ranks = v->over == RACE_OVER_RANKS;
	int64_t ranks = by_ranks ? v->at[point] : r->ranks, bytes = by_ranks ? r->bytes : v->at[point];
	const char *name;
	for (int i = 0; (name = racer_name(r->operation, i, &one)); i++)
		TRY(run_one(name, ranks, bytes, c, ranks <= RACE_BY_MESSAGE, &v->ns[i][point], NULL));
	return STATUS_OK;
}

/* Each point has a cluster of its own, since the ranks decide how many nodes there are. The chart ends where the
 * cluster can have no more. */
static enum status run_over_ranks(struct race *r, const char *cluster)
{
	for (int k = 0; k < r->curve.points; k++) {
		struct cluster c;
		enum status s = cluster_open(&c, cluster, r->curve.at[k]);
		if (s && k > 1) {
			r->curve.points = k;
			return STATUS_OK;
		}
		if (s)
			return s;
		s = run_point(r, &c, k);
		cluster_release(&c);
		if (s)
			return s;
	}
	return STATUS_OK;
}

static enum status run_curve(struct race *r, const struct cluster *c, const char *cluster)
{
	struct race_curve *v = &r->curve;
	enum status s = STATUS_OK;
	*v = (struct race_curve){
	        .over = r->over, .operation = r->operation, .fixed = r->over == RACE_OVER_RANKS ? r->bytes : r->ranks};
	if (r->over == RACE_OVER_RANKS) {
		choose_ranks(v);
		return run_over_ranks(r, cluster);
	}
	choose_sizes(v, r);
	for (int k = 0; k < v->points && !s; k++)
		s = run_point(r, c, k);
	return s;
}

static void find_places(struct race *r)
{
	for (int i = 0; i < r->count; i++) {
		r->racer[i].place = 1;
		for (int k = 0; k < r->count; k++)
			r->racer[i].place += r->racer[k].ns < r->racer[i].ns;
		r->longest = r->racer[i].ns > r->longest ? r->racer[i].ns : r->longest;
	}
}

static enum status run(struct race *r, const struct cluster *c, const char *cluster)
{
	const char *name;
	struct alone one;
	int64_t ns;
	for (int i = 0; (name = racer_name(r->operation, i, &one)); i++) {
		enum status s = run_one(name, r->ranks, r->bytes, c, r->by_message, &ns, &r->racer[i]);
		r->count = i + 1; /* what it holds is released in any case */
		if (s)
			return s;
	}
	find_places(r);
	if (r->curve.points && r->curve.operation == r->operation && r->curve.over == r->over &&
	    r->curve.fixed == (r->over == RACE_OVER_RANKS ? r->bytes : r->ranks))
		return STATUS_OK;
	return run_curve(r, c, cluster);
}

void race_run(struct race *r, const char *cluster)
{
	struct race before = *r;
	struct cluster c;
	*r = (struct race){.operation = before.operation,
	                   .over = before.over,
	                   .ranks = before.ranks,
	                   .bytes = before.bytes,
	                   .curve = before.curve,
	                   .by_message = before.ranks <= RACE_BY_MESSAGE};
	race_release(&before);
	snprintf(r->cluster, sizeof r->cluster, "%.79s", cluster);
	enum status s = alone_check(r->ranks, r->bytes);
	if (!s && r->ranks > RACE_MOST_RANKS)
		s = status_fail(STATUS_INPUT, "{ranks} %lld: a race is of at most %d", (long long)r->ranks,
		                RACE_MOST_RANKS);
	if (!s && !(s = cluster_open(&c, cluster, r->ranks))) {
		s = run(r, &c, cluster);
		cluster_release(&c);
	}
	if (s)
		snprintf(r->refused, sizeof r->refused, "%.255s", status_message());
}
