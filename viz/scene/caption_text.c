/* The parts of captions: sentences that grow, and the ranks that act. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "strategy/base/language.h"
#include "viz/scene/caption_parts.h"

void say(struct text *t, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	int n = t->at < t->size ? vsnprintf(t->out + t->at, (size_t)(t->size - t->at), tr(format), args) : 0;
	va_end(args);
	t->at += n;
}

/* Ranks that are not shown do what the one of their role does that is. */
static void say_which(struct who *w, const struct timeline *s, int64_t rank)
{
	struct ranks r = ranks_meant(s, timeline_index_of(s, rank), timeline_index_of(s, rank) + 1);
	if (r.first == r.last)
		snprintf(w->words, sizeof w->words, tr("Rank %" PRId64), r.first);
	else
		snprintf(w->words, sizeof w->words, tr("Each of ranks %" PRId64 "–%" PRId64), r.first, r.last);
}

struct who who_of(const struct state *st, enum event_kind kind, int op, const struct role *role)
{
	struct who w = {.s = "s"};
	uint64_t set = 0;
	bool fits = true;
	int64_t any = -1;
	for (size_t i = st->latest; i < st->latest_end; i++) {
		const struct event *e = &st->timeline->events[i];
		if (e->kind != kind || e->op != op || plan_role_of(st->timeline->plan, e->rank) != role)
			continue;
		any = e->rank;
		w.count++;
		fits &= e->rank < 64;
		if (e->rank < 64)
			set |= UINT64_C(1) << e->rank;
	}
	w.all = w.count == st->timeline->plan->ranks && w.count > 1;
	if (w.all) {
		snprintf(w.words, sizeof w.words, "%s", tr("Every rank"));
	} else if (w.count == 1) {
		say_which(&w, st->timeline, any);
	} else if (fits) {
		char ranks[64];
		text_of_ranks(ranks, sizeof ranks, set, 65);
		snprintf(w.words, sizeof w.words, tr("Ranks %s"), ranks);
		w.s = "";
	} else {
		snprintf(w.words, sizeof w.words, tr("%" PRId64 " ranks"), w.count);
		w.s = "";
	}
	return w;
}
