/* The caption of a whole phase: its sum, and not its last operation. */
#include <inttypes.h>

#include "strategy/base/language.h"
#include "viz/scene/caption_parts.h"

/* The purpose of each pass, without numbers. */
static const char *const ideas[PASS_COUNT] = {
        [PASS_FORWARD] = "What the backward pass needs stays in memory.",
        [PASS_RECOMPUTE] = "What was not kept is there again for the backward pass.",
        [PASS_BACKWARD] = "Gradients come from the last layer to the first, and free what the forward pass kept.",
        [PASS_UPDATE] = "The next step begins with the new parameters.",
};

struct sum {
	int64_t time, sent, most;
};

/* The most that a rank has issued memory for so far is no figure of a phase: it is looked up allocation by allocation.
 */
static int64_t most_after(const struct timeline *s, const struct event *e)
{
	const int64_t *live =
	        timeline_live(s, e->index, SPACE_DEVICE, e->op - timeline_role_of(s, e->index)->step.begin + 1);
	int64_t total = 0;
	for (int h = 0; live && h < HELD_COUNT; h++)
		total += live[h];
	return total;
}

static struct sum sum_up(const struct state *st)
{
	const struct timeline *s = st->timeline;
	size_t from = timeline_previous(s, st->step_size, st->position);
	struct state before = {0};
	state_make(&before, s, st->step_size, from);
	/* It ends when the next begins, though that is no event of it. */
	int64_t end = st->position < s->instant_count ? s->instants[st->position].time : s->step_ns;
	struct sum out = {.time = end - s->instants[from].time, .sent = st->sent - before.sent};
	for (size_t i = st->latest; i < st->latest_end; i++) {
		const struct event *e = &s->events[i];
		int64_t here = event_issues(e) ? most_after(s, e) : 0;
		out.most = here > out.most ? here : out.most;
	}
	state_release(&before);
	return out;
}

static void say_name(struct text *t, const struct timeline *s, const struct phase *p)
{
	static const char *const names[PASS_COUNT] = {"", "The forward pass", "The repeated forward pass",
	                                              "The backward pass", "The update"};
	if (p->unit >= 0)
		say(t, "%s of %s", tr(names[p->pass]), s->plan->model->units[p->unit].name);
	else
		say(t, "%s", tr(names[p->pass]));
	if (p->micro >= 0 && s->plan->settings.accumulate > 1)
		say(t, ", micro-batch %d,", p->micro);
}

void say_phase(struct text *t, const struct state *st)
{
	const struct timeline *s = st->timeline;
	const struct phase *p = timeline_phase(s, st->position);
	struct sum sum = sum_up(st);
	char time[WORD], sent[WORD], most[WORD];
	say_name(t, s, p);
	say(t, " takes %s", time_word(time, sum.time));
	if (sum.sent)
		say(t, ", in which all ranks together send %s", bytes_word(sent, sum.sent));
	if (sum.most)
		say(t, "; a rank holds at most %s", bytes_word(most, sum.most));
	say(t, ". %s", ideas[p->pass] ? tr(ideas[p->pass]) : "");
}
