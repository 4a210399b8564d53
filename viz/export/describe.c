/* A step as text, for screen readers and tests: of every stop the caption and the figures that the pictures show. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "strategy/base/language.h"
#include "strategy/base/memory.h"
#include "strategy/base/number.h"
#include "viz/export/export.h"
#include "viz/scene/lane_cards.h"
#include "viz/scene/lane_foreign.h"
#include "viz/scene/pair.h"
#include "viz/scene/scene_parts.h"
#include "viz/timeline/values.h"

/* ---- memory ---- */

static const int64_t *live_of(const struct state *st, int index, int space)
{
	return timeline_live(st->timeline, index, (enum space)space, st->ranks[index].issued);
}

/* Do two shown ranks hold the same, and held the same at most? */
static bool same_memory(const struct state *st, int a, int b)
{
	for (int space = 0; space < SPACE_COUNT; space++) {
		const int64_t *x = live_of(st, a, space), *y = live_of(st, b, space);
		if (!x != !y || st->ranks[a].peak[space] != st->ranks[b].peak[space] ||
		    (x && memcmp(x, y, HELD_COUNT * sizeof *x) != 0))
			return false;
	}
	return true;
}

static void write_space(const struct state *st, int index, int space, FILE *out)
{
	const int64_t *live = live_of(st, index, space);
	const char *between = ": ";
	char word[WORD];
	if (!live)
		return;
	fprintf(out, "; %s %s", tr(space_name((enum space)space)), bytes_word(word, st->ranks[index].live[space]));
	for (int h = 0; h < HELD_COUNT; h++)
		if (live[h]) {
			fprintf(out, "%s%s %s", between, tr(held_name((enum held)h)), bytes_word(word, live[h]));
			between = ", ";
		}
	fprintf(out, tr("; at most so far %s"), bytes_word(word, st->ranks[index].peak[space]));
}

static void write_memory(const struct state *st, FILE *out)
{
	char ranks[64];
	for (int i = 0, end; i < st->timeline->rank_count; i = end) {
		for (end = i + 1; end < st->timeline->rank_count && same_memory(st, i, end);)
			end++;
		fprintf(out, "memory   %s", ranks_word(ranks, st->timeline, i, end));
		for (int space = 0; space < SPACE_COUNT; space++)
			write_space(st, i, space, out);
		fputc('\n', out);
	}
}

/* Strategies side by side: of each what its fullest rank holds at the same place of the step. */
static void write_contenders(struct playback *p, FILE *out)
{
	const struct view *v = playback_view(p);
	char live[WORD], peak[WORD];
	for (int i = 0; i < v->contender_count; i++) {
		const struct state *st = v->contender[i].state;
		int fullest = 0;
		for (int k = 1; k < st->timeline->rank_count; k++)
			if (st->ranks[k].live[SPACE_DEVICE] > st->ranks[fullest].live[SPACE_DEVICE])
				fullest = k;
		fprintf(out, tr("beside   %s: rank %" PRId64 " holds %s, at most in the step %s\n"),
		        v->contender[i].label, st->timeline->ranks[fullest].rank,
		        bytes_word(live, st->ranks[fullest].live[SPACE_DEVICE]),
		        bytes_word(peak, st->timeline->roles[st->timeline->ranks[fullest].role].peak[SPACE_DEVICE]));
	}
}

/* Two traces: the figures of both, and what the second has more. */
static void write_pair(struct playback *p, FILE *out)
{
	const struct view *v = playback_view(p);
	struct figures figures[2];
	char word[DIFFERENCE];
	if (!v->second)
		return;
	const struct view *views[2];
	pair_order(v, views);
	figures_make(views[0]->state, &figures[0]);
	figures_make(views[1]->state, &figures[1]);
	for (int row = 0; row < 3; row++) {
		fprintf(out, "pair     %s: ", row < 2 ? views[row]->name : tr("difference"));
		for (int f = 0; f < FIGURE_COUNT; f++) {
			if (row < 2)
				figure_word(word, (enum figure)f, figures[row].of[f]);
			else
				figure_difference(word, (enum figure)f, figures[0].of[f], figures[1].of[f]);
			fprintf(out, "%s%s %s", f ? ", " : "", tr(figure_name((enum figure)f)), word);
		}
		fputc('\n', out);
	}
	char caption[CAPTION_SIZE];
	caption_make(v->second->state, caption, sizeof caption);
	fprintf(out, "beside   %s: %s\n", v->second->label, caption);
}

/* ---- the collective ---- */

static void write_ledger(const struct state *st, FILE *out)
{
	struct ledger l;
	char sent[LEDGER_RANGE], bytes[WORD], step[WORD], whole[WORD];
	if (st->collective < 0)
		return;
	ledger_make(st, &l);
	fprintf(out, tr("ledger   %s: %s, so far %s; closed form %s = %s = %s B; the step, all ranks: %s of %s\n"),
	        l.what, l.who, ledger_range(&l, sent), l.formula.symbols, l.formula.numbers,
	        number_format_count(whole, l.formula.bytes), bytes_word(bytes, l.sent), bytes_word(step, l.total));
}

/* "values   chunk 3: rank 1 receives 3, has 5: 8; …": of every message of the last step the first of its chunks. */
static void write_values(const struct state *st, int collective, FILE *out)
{
	const struct timeline *s = st->timeline;
	const struct collective *c = &s->collectives[collective];
	char came[VALUE_WORD], had[VALUE_WORD], has[VALUE_WORD];
	char begin[64] = "values   ", power[POWER_WORD];
	bool any = false;
	struct values v;
	values_init(&v, s, c);
	if (values_recorded(s))
		snprintf(begin, sizeof begin, tr("values   of the run%s: "), power_word(power, v.power));
	for (size_t i = c->first_event; i < c->end_event && i < st->latest_end; i++) {
		const struct event *e = &s->events[i];
		int last;
		if (e->kind != EVENT_MESSAGE || e->collective != collective)
			continue;
		values_carry(&v, c, e);
		if (i < st->latest)
			continue;
		const struct exchange *x = values_exchange(&v, c, e);
		fprintf(out, tr("%schunk %d: rank %" PRId64 " receives %s"), any ? "; " : begin,
		        collective_chunks(c, e, &last), e->to, value_word(came, x->came));
		if (x->adds)
			fprintf(out, tr(", has %s: %s%s"), value_word(had, x->had),
			        x->maximum ? tr("the larger is ") : "", value_word(has, x->has));
		any = true;
	}
	fputs(any ? "\n" : "", out);
	values_release(&v);
}

static void write_all_values(const struct state *st, FILE *out)
{
	for (int i = 0; st->collective >= 0 && i < st->group_count; i++)
		if (values_shown(st->timeline, &st->timeline->collectives[st->groups[i].collective]))
			write_values(st, st->groups[i].collective, out);
}

/* ---- a stop ---- */

static void write_figures(struct playback *p, FILE *out)
{
	char highlight[160];
	caption_highlight(&p->state, highlight, sizeof highlight);
	if (*highlight)
		fprintf(out, "notable  %s\n", highlight);
	write_ledger(&p->state, out);
	if (p->values)
		write_all_values(&p->state, out);
	write_memory(&p->state, out);
	write_contenders(p, out);
	write_pair(p, out);
}

/* Lines that were put together of many parts get the spaces of their language at the end. */
static void write_spaced(char *lines, FILE *out)
{
	char line[2048];
	for (char *end; (end = strchr(lines, '\n')) != NULL; lines = end + 1) {
		*end = 0;
		if (strlen(lines) < sizeof line / 2) {
			snprintf(line, sizeof line, "%s", lines);
			language_space(line, sizeof line);
			fprintf(out, "%s\n", line);
		} else {
			fprintf(out, "%s\n", lines);
		}
	}
}

void export_figures(struct playback *p, FILE *out)
{
	char *text = NULL;
	size_t size = 0;
	FILE *lines = memory_stream(&text, &size);
	write_figures(p, lines);
	memory_stream_close(lines);
	write_spaced(text, out);
	free(text);
}

static void write_stop(struct playback *p, FILE *out)
{
	const struct state *st = &p->state;
	const struct timeline *s = st->timeline;
	char caption[CAPTION_SIZE], time[WORD];
	caption_make(st, caption, sizeof caption);
	fprintf(out, tr("\n%s %zu of %zu, %s at %s, %s\n"),
	        tr(tr(st->step_size == STEP_SIZE_ROUND ? "step" : step_size_name(st->step_size))),
	        timeline_stop_of(s, st->step_size, st->position), s->stop_count[st->step_size] - 1,
	        s->trace->measured ? tr("measured") : tr("simulated"), time_word(time, st->time),
	        phase_word(s, st->position));
	fprintf(out, "caption  %s\n", caption);
	export_figures(p, out);
}

/* ---- the whole step, or a range of it ---- */

/* Equal ranks once. */
static void write_ranks(const struct lanes *all, const char *name, int64_t from, int64_t to, FILE *out)
{
	const struct lanes *l = all->folded ? all->folded : all;
	char words[512];
	for (int i = 0; i < l->lane_count; i++) {
		if (!measure_has(l, i))
			continue;
		struct measured m = measure_range(l, i, from, to);
		measured_words(l, i, &m, words, sizeof words);
		fprintf(out, "%s%s\n", name, words);
	}
}

static void write_range(const struct playback *p, FILE *out)
{
	const struct lanes *l = &p->shown->lanes;
	bool measured = p->measured_from < p->measured_to, shown = p->from < p->to;
	int64_t from = measured ? p->measured_from : p->from, to = measured ? p->measured_to : p->to;
	char length[WORD], first[WORD], last[WORD];
	if (!measured && !shown)
		return;
	to = to < l->end ? to : l->end;
	fprintf(out, tr("range    %s, from %s to %s\n"), time_word(length, to - from), time_word(first, from),
	        time_word(last, to));
	write_ranks(l, "in it    ", from, to, out);
}

static void write_longest(const struct trace_view *shown, FILE *out)
{
	char words[640];
	for (size_t i = 0; i < shown->exposed_count && i < EXPOSED_LISTED; i++) {
		exposed_words(&shown->lanes, &shown->exposed[i], words, sizeof words);
		fprintf(out, "exposed  %zu: %s\n", i + 1, words);
	}
	if (!shown->exposed_count)
		fputs(tr("exposed  nothing\n"), out);
}

static void write_notables(const struct trace_view *shown, FILE *out)
{
	char words[320];
	for (size_t i = 0; i < shown->notable_count; i++) {
		notable_words(&shown->timeline, &shown->notables[i], words, sizeof words);
		fprintf(out, tr("matters  %zu of %zu, step %zu: %s\n"), i + 1, shown->notable_count,
		        timeline_stop_showing(&shown->timeline, STEP_SIZE_ROUND, shown->notables[i].position), words);
	}
}

void export_describe(struct playback *p, bool all, FILE *out)
{
	const struct trace_view *shown = p->shown;
	fprintf(out, "%s\n", playback_view(p)->heading);
	if (p->whatif)
		whatif_describe(p->whatif, out);
	if (shown->foreign) {
		foreign_describe(&shown->lanes, out);
		write_range(p, out);
		write_longest(shown, out);
		return;
	}
	if (shown->timeline.limits.overflows) {
		char what[400], change[400], both[808];
		banner_words(&shown->timeline, what, change, sizeof what);
		snprintf(both, sizeof both, "%s %s", what, change);
		language_space(both, sizeof both);
		fprintf(out, "%s\n", both);
	}
	write_ranks(&shown->lanes, "spent    ", 0, shown->timeline.step_ns, out);
	write_range(p, out);
	write_longest(shown, out);
	write_notables(shown, out);
	for (size_t step = 0; all && step < export_steps(p); step++) {
		export_go(p, step);
		write_stop(p, out);
	}
	if (!all)
		write_stop(p, out);
}
