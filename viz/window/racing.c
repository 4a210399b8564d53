#include "viz/window/racing.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "strategy/base/number.h"
#include "viz/window/parts.h"

enum { LEAST_RANKS = 2 };
#define LEAST_BYTES INT64_C(4)
#define MOST_BYTES INT64_C(100000000000)

static struct race *race_of(struct window *w)
{
	return &w->racing.race;
}

/* ---- what races ---- */

void racing_ask(struct window *w)
{
	struct racing *g = &w->racing;
	struct race *r = &g->race;
	if (!g->stale)
		return;
	g->stale = false;
	w->host.race(w->host.context, r);
	g->now = 0;
}

void racing_change(struct window *w, int64_t bytes, int64_t ranks)
{
	struct race *r = race_of(w);
	w->racing.stale |= r->bytes != bytes || r->ranks != ranks;
	r->bytes = bytes;
	r->ranks = ranks;
	w->dirty = true;
}

int64_t racing_round_bytes(double bytes)
{
	double power = pow(10, fmax(0, floor(log10(bytes)) - 1));
	int64_t whole = (int64_t)(floor(bytes / power + 0.5) * power);
	whole = whole / 4 * 4;
	return whole < LEAST_BYTES ? LEAST_BYTES : whole > MOST_BYTES ? MOST_BYTES : whole;
}

void racing_change_bytes(struct window *w, bool more)
{
	int64_t bytes = race_of(w)->bytes;
	if (more ? bytes > MOST_BYTES / 2 : bytes < 2 * LEAST_BYTES)
		return;
	racing_change(w, more ? 2 * bytes : bytes / 2 / 4 * 4, race_of(w)->ranks);
}

void racing_change_ranks(struct window *w, int by)
{
	int64_t ranks = race_of(w)->ranks + by;
	if (ranks >= LEAST_RANKS && ranks <= RACE_MOST_RANKS)
		racing_change(w, race_of(w)->bytes, ranks);
}

void racing_change_operation(struct window *w)
{
	static const enum operation all[] = {OPERATION_ALL_REDUCE, OPERATION_BROADCAST, OPERATION_REDUCE};
	struct race *r = race_of(w);
	int i = 0;
	while (i < 2 && all[i] != r->operation)
		i++;
	r->operation = all[(i + 1) % 3];
	w->racing.stale = true;
	w->dirty = true;
}

void racing_change_chart(struct window *w)
{
	struct racing *g = &w->racing;
	double now = g->now;
	g->race.over = g->race.over == RACE_OVER_SIZES ? RACE_OVER_RANKS : RACE_OVER_SIZES;
	g->stale = true;
	racing_ask(w);
	g->now = now;
	w->dirty = true;
}

/* ---- typing ---- */

void racing_type(struct window *w, int field)
{
	w->racing.field = field;
	w->racing.typed[0] = 0;
	w->dirty = true;
}

static void take_typed(struct window *w)
{
	struct racing *g = &w->racing;
	struct race *r = &g->race;
	int64_t value = 0;
	int field = g->field;
	g->field = RACE_FIELD_NONE;
	g->note[0] = 0;
	if (!*g->typed)
		return;
	enum status s = field == RACE_FIELD_BYTES ? number_bytes(g->typed, "S", LEAST_BYTES, MOST_BYTES, &value)
	                                          : number_whole(g->typed, "n", LEAST_RANKS, RACE_MOST_RANKS, &value);
	if (!s && field == RACE_FIELD_BYTES && value % 4)
		s = status_fail(STATUS_INPUT, "S: %lld B are not whole elements of fp32: a multiple of 4",
		                (long long)value);
	if (s)
		snprintf(g->note, sizeof g->note, "%s", status_message());
	else
		racing_change(w, field == RACE_FIELD_BYTES ? value : r->bytes,
		              field == RACE_FIELD_RANKS ? value : r->ranks);
	w->dirty = true;
}

bool racing_key(struct window *w, SDL_Keycode key, bool control, bool shift)
{
	struct racing *g = &w->racing;
	size_t n = strlen(g->typed);
	(void)shift;
	if (!g->field || control)
		return false;
	w->dirty = true;
	if (key == SDLK_ESCAPE)
		g->field = RACE_FIELD_NONE;
	else if (key == SDLK_BACKSPACE && n)
		g->typed[n - 1] = 0;
	else if (key == SDLK_RETURN || key == SDLK_KP_ENTER)
		take_typed(w);
	return true;
}

bool racing_text(struct window *w, const char *text)
{
	struct racing *g = &w->racing;
	size_t n = strlen(g->typed);
	char c = (char)tolower((unsigned char)text[0]);
	if (!g->field && c >= '0' && c <= '9') {
		racing_type(w, RACE_FIELD_BYTES);
		n = 0;
	}
	if (g->field) {
		if ((isalnum((unsigned char)text[0]) || text[0] == '.') && n + 1 < sizeof g->typed) {
			g->typed[n] = text[0];
			g->typed[n + 1] = 0;
			w->dirty = true;
		}
		return true;
	}
	if (c == 'r')
		racing_type(w, RACE_FIELD_RANKS);
	else if (c == 'o')
		racing_change_operation(w);
	else if (c == 'x')
		racing_change_chart(w);
	return c == 'r' || c == 'o' || c == 'x';
}

/* ---- the beginning ---- */

/* The algorithms that a race has; for any other operation those of all-reduce are the nearest. */
static enum operation raced_as(const struct collective *one)
{
	enum operation o = op_operation(one->kind);
	return one->kind != OP_SEND && (o == OPERATION_BROADCAST || o == OPERATION_REDUCE) ? o : OPERATION_ALL_REDUCE;
}

void racing_begin_with_shown(struct window *w)
{
	const struct playback *p = w->playback;
	struct race *r = race_of(w);
	r->operation = OPERATION_ALL_REDUCE;
	r->bytes = 4000000;
	r->ranks = 8;
	if (p->shown->foreign)
		return;
	const struct timeline *s = &p->shown->timeline;
	if (s->plan->ranks >= LEAST_RANKS)
		r->ranks = s->plan->ranks < RACE_MOST_RANKS ? s->plan->ranks : RACE_MOST_RANKS;
	if (p->state.collective < 0 || s->collectives[p->state.collective].control)
		return;
	const struct collective *one = &s->collectives[p->state.collective];
	int64_t bytes = one->schedule.elements * one->element_bytes / 4 * 4;
	r->operation = raced_as(one);
	if (one->schedule.ranks >= LEAST_RANKS && one->schedule.ranks <= RACE_MOST_RANKS)
		r->ranks = one->schedule.ranks;
	r->bytes = bytes < LEAST_BYTES ? LEAST_BYTES : bytes > MOST_BYTES ? MOST_BYTES : bytes;
}
