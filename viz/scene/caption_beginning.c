/* The caption of the beginning: what every role holds before the step. */
#include <inttypes.h>
#include <string.h>

#include "strategy/base/language.h"
#include "strategy/strategies/alone.h"
#include "strategy/strategies/strategy.h"
#include "viz/scene/caption_parts.h"
#include "viz/timeline/op_words.h"

/* More roles than these are not listed: the first, the fullest and the last stand for them. */
enum { LISTED = 3 };
/* Bytes that two lines have room for. */
enum { ROOM = 235 };

/* "zero2: gradients are sharded too: …", without what it says of options. */
static void say_strategy(struct text *t, const struct plan *p)
{
	const struct strategy *g = strategy_find(p->strategy);
	struct alone alone;
	if (!g && plan_is_alone(p) && !alone_find("", p->strategy, &alone)) {
		say(t, "%s alone. %s. ", p->strategy, tr(idea_of_alone(alone.operation)));
		return;
	}
	if (!g)
		return;
	const char *what = tr(g->what), *from = strstr(what, " ({"), *to = from ? strchr(from, ')') : NULL;
	say(t, "%s: ", p->strategy);
	if (to)
		say(t, "%.*s%s. ", (int)(from - what), what, to + 1);
	else
		say(t, "%s. ", what);
}

static const char *const elsewhere[] = {
        [SPACE_DEVICE] = "",
        [SPACE_HOST] = " in host memory",
        [SPACE_DISK] = " on disk",
};

static void say_categories(struct text *t, const int64_t *live)
{
	char bytes[WORD];
	const char *between = ": ";
	for (int c = 0; live && c < HELD_COUNT; c++)
		if (live[c]) {
			say(t, "%s%s %s", between, tr(held_name((enum held)c)), bytes_word(bytes, live[c]));
			between = ", ";
		}
}

/* Begins a sentence, or goes on in one. */
static void say_holder(struct text *t, const struct role *r, bool alone, bool begins)
{
	int64_t last = r->first_rank + r->ranks - 1;
	if (alone && r->ranks > 64)
		say(t, "each of ranks %" PRId64 "–%" PRId64 " holds ", r->first_rank, last);
	else if (alone)
		say(t, r->ranks > 1 ? "every rank holds " : "the rank holds ");
	else if (r->ranks == 1)
		say(t, begins ? "Rank %" PRId64 " (%s) holds " : "rank %" PRId64 " (%s) holds ", last, role_word(r));
	else
		say(t,
		    begins ? "Each of ranks %" PRId64 "–%" PRId64 " (%s) holds "
		           : "each of ranks %" PRId64 "–%" PRId64 " (%s) holds ",
		    r->first_rank, last, role_word(r));
}

static void say_role(struct text *t, const struct state *st, int number, bool begins, bool categories)
{
	const struct plan *p = st->timeline->plan;
	const struct role *r = &p->roles[number];
	int index = timeline_index_of(st->timeline, r->first_rank);
	char bytes[WORD];
	say_holder(t, r, p->role_count == 1, begins);
	say(t, "%s", bytes_word(bytes, st->ranks[index].live[SPACE_DEVICE]));
	if (categories)
		say_categories(t, timeline_live(st->timeline, index, SPACE_DEVICE, 0));
	for (int space = SPACE_DEVICE + 1; space < SPACE_COUNT; space++)
		if (st->ranks[index].live[space]) {
			say(t, categories ? "; and %s%s" : " and %s%s", bytes_word(bytes, st->ranks[index].live[space]),
			    tr(elsewhere[space]));
			if (categories)
				say_categories(t, timeline_live(st->timeline, index, (enum space)space, 0));
		}
	say(t, ".");
}

void say_beginning(struct text *t, const struct state *st)
{
	const struct plan *p = st->timeline->plan;
	int shown[PLAN_ROLES], count = 0, fullest = 0;
	for (int i = 0; i < p->role_count; i++) {
		int index = timeline_index_of(st->timeline, p->roles[i].first_rank);
		if (index < 0)
			continue;
		int most = count ? timeline_index_of(st->timeline, p->roles[shown[fullest]].first_rank) : index;
		shown[count] = i;
		if (st->ranks[index].live[SPACE_DEVICE] > st->ranks[most].live[SPACE_DEVICE])
			fullest = count;
		count++;
	}
	bool all = count <= LISTED;
	/* If there is no room for the categories, the totals alone are given. */
	for (int categories = 1; categories >= 0; categories--) {
		const char *between = "";
		t->at = 0;
		say_strategy(t, p);
		say(t, all ? "Before the step, " : "Before the step (the first, the fullest and the last role): ");
		for (int i = 0; i < count; i++)
			if (all || !i || i == fullest || i == count - 1) {
				say(t, "%s", between);
				say_role(t, st, shown[i], *between != 0, categories);
				between = " ";
			}
		if (t->at < ROOM)
			return;
	}
}
