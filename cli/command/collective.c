/* shardlab collective: one collective alone, round by round, as text. Up to VALUES_RANKS ranks it has numbers, as the
 * window has them; up to TIMELINE_MESSAGE_RANKS all messages; above, rounds that are alike are one line.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/command/command.h"
#include "cli/command/view_load.h"
#include "cli/show/text.h"
#include "strategy/base/language.h"
#include "strategy/base/number.h"
#include "strategy/strategies/alone.h"
#include "viz/scene/scene.h"
#include "viz/timeline/values.h"

enum { CHUNK_WIDTH = 10 };

/* ---- what ranks hold ---- */

/* On the right of its column, however wide its characters are. */
static void print_cell(const char *word)
{
	int room = CHUNK_WIDTH - text_width(word);
	printf("%*s%s", room > 0 ? room : 0, "", word);
}

static void print_chunks(const struct collective *c)
{
	char word[32];
	printf("  %-8s", "");
	for (int k = 0; k < c->chunk_count; k++) {
		snprintf(word, sizeof word, tr("chunk %d"), k);
		print_cell(c->chunk_count > 1 ? word : tr("buffer"));
	}
	putchar('\n');
}

static void print_held(const struct collective *c, const struct values *v)
{
	char word[VALUE_WORD];
	for (int64_t m = 0; m < v->members; m++) {
		printf("  rank %-3" PRId64, m);
		for (int k = 0; k < c->chunk_count; k++) {
			double now = v->now[m * v->chunks + k];
			printf("%*s", CHUNK_WIDTH, isnan(now) ? "-" : value_word(word, now));
		}
		putchar('\n');
	}
}

/* ---- messages ---- */

static void print_message(const struct collective *c, const struct event *e, const struct values *v)
{
	int last, first = collective_chunks(c, e, &last);
	char word[EXCHANGE_WORD], bytes[WORD], what[64];
	snprintf(what, sizeof what, "%s", tr("the buffer"));
	if (c->chunk_count > 1 && first == last)
		snprintf(what, sizeof what, tr("chunk %d"), first);
	else if (c->chunk_count > 1)
		snprintf(what, sizeof what, tr("chunks %d–%d"), first, last);
	printf(tr("  rank %" PRId64 " → rank %" PRId64 "  %s, %s, %s"), e->rank, e->to, what,
	       bytes_word(bytes, e->bytes), tr(e->add ? "added" : "copied"));
	if (v)
		printf(tr(first == last ? ": %s" : ": %s in the first of them"),
		       exchange_word(word, values_exchange(v, c, e)));
	putchar('\n');
}

/* The messages of a round, in the order of their senders. Returns when the last has arrived. */
static int64_t print_messages(const struct timeline *s, int number, int round, struct values *v)
{
	const struct collective *c = &s->collectives[number];
	int64_t end = 0;
	for (int64_t from = 0; from < c->schedule.ranks; from++)
		for (size_t i = c->first_event; i < c->end_event; i++) {
			const struct event *e = &s->events[i];
			if (e->kind != EVENT_MESSAGE || e->collective != number || e->round != round ||
			    e->member != from)
				continue;
			if (v)
				values_carry(v, c, e);
			print_message(c, e, v);
			end = e->time > end ? e->time : end;
		}
	return end;
}

static int64_t end_of_round(const struct timeline *s, int number, int round)
{
	const struct collective *c = &s->collectives[number];
	int64_t end = 0;
	for (size_t i = c->first_event; i < c->end_event; i++)
		if (s->events[i].kind == EVENT_MESSAGE && s->events[i].collective == number &&
		    s->events[i].round == round && s->events[i].time > end)
			end = s->events[i].time;
	return end;
}

static void print_rounds(const struct timeline *s, int number, bool numbers)
{
	const struct collective *c = &s->collectives[number];
	struct values values = {0}, *v = numbers && values_shown(s, c) ? &values : NULL;
	char time[WORD];
	if (v) {
		values_init(v, s, c);
		fputs(tr("\nin the beginning\n"), stdout);
		print_chunks(c);
		print_held(c, v);
	}
	for (int round = 0; round < c->rounds; round++) {
		printf(tr("\nround %d of %d, done at %s\n"), round + 1, c->rounds,
		       time_word(time, end_of_round(s, number, round)));
		print_messages(s, number, round, v);
		if (v) {
			print_chunks(c);
			print_held(c, v);
		}
	}
	values_release(v);
}

/* ---- many ranks ---- */

struct of_round {
	int64_t messages, least, most; /* bytes of a message */
	bool adds, copies;
};

static struct of_round look_at(const struct collective *c, int64_t round)
{
	struct of_round r = {.messages = 0};
	for (int64_t rank = 0; rank < c->schedule.ranks; rank++) {
		struct round one = schedule_round(&c->schedule, rank, round);
		int64_t bytes = one.receive_count * c->element_bytes;
		if (one.receive_from < 0)
			continue;
		r.least = !r.messages || bytes < r.least ? bytes : r.least;
		r.most = bytes > r.most ? bytes : r.most;
		r.messages++;
		r.adds |= one.add;
		r.copies |= !one.add;
	}
	return r;
}

static bool is_like(const struct of_round *a, const struct of_round *b)
{
	return a->messages == b->messages && a->least == b->least && a->most == b->most && a->adds == b->adds &&
	       a->copies == b->copies;
}

static const char *what_of(const struct of_round *r)
{
	return !r->copies ? "added" : !r->adds ? "copied" : "added or copied";
}

static void print_many(const struct collective *c)
{
	putchar('\n');
	for (int64_t round = 0, end; round < c->rounds; round = end) {
		struct of_round one = look_at(c, round), next;
		char least[WORD], most[WORD], size[2 * WORD + 8], name[64];
		for (end = round + 1; end < c->rounds && (next = look_at(c, end), is_like(&one, &next));)
			end++;
		snprintf(name, sizeof name, tr(end - round == 1 ? "round %" PRId64 : "rounds %" PRId64 "–%" PRId64),
		         round + 1, end);
		bool same = !strcmp(bytes_word(least, one.least), bytes_word(most, one.most));
		snprintf(size, sizeof size, tr(same ? "%s" : "%s to %s"), least, most);
		printf(tr("%s: %" PRId64 " message%s of %s%s, %s\n"), name, one.messages, one.messages == 1 ? "" : "s",
		       size, end - round > 1 ? tr(" in each") : "", tr(what_of(&one)));
	}
}

/* ---- the whole ---- */

static void print_form(const struct collective *c)
{
	const struct algorithm *a = schedule_row(c->schedule.algorithm);
	struct formula f;
	char bytes[32];
	ledger_formula(c, &f);
	printf(tr("%s %s: %s\n"), a->name, tr(operation_name(a->operation)), tr(a->description));
	printf(tr("%s: %s = %s = %s B sent in %d round%s\n"), f.who, f.symbols, f.numbers,
	       number_format_count(bytes, f.bytes), c->rounds, c->rounds == 1 ? "" : "s");
}

static void print_all(const struct loaded *l, bool numbers)
{
	const struct timeline *s = &l->shown.timeline;
	char time[WORD];
	puts(l->shown.heading);
	for (int i = 0; i < s->collective_count; i++) {
		const struct collective *c = &s->collectives[i];
		if (i)
			putchar('\n');
		print_form(c);
		if (c->schedule.ranks > TIMELINE_MESSAGE_RANKS)
			print_many(c);
		else
			print_rounds(s, i, numbers);
	}
	printf(tr("\ndone in %s\n"), time_word(time, s->step_ns));
}

static enum status no_name(void)
{
	char known[512] = "";
	struct alone one;
	for (int i = 0; alone_at(i, &one); i++) {
		size_t n = strlen(known);
		snprintf(known + n, sizeof known - n, "%s%s", n ? ", " : "", one.name);
	}
	return status_fail(STATUS_INPUT, "collective needs a name: shardlab collective ring-all-reduce; known: %s",
	                   known);
}

enum status command_collective(const struct options *o)
{
	struct loaded l = {0};
	struct job job;
	language_set(option_given(o, OPTION_LANGUAGE) ? option_text(o, OPTION_LANGUAGE) : language_of_user());
	if (!o->topic)
		return no_name();
	if (option_given(o, OPTION_VALUES) && option_given(o, OPTION_NO_VALUES))
		return status_fail(STATUS_INPUT, "--values and --no-values: leave one of them out");
	enum status s = job_alone(&job, o, "collective", o->topic);
	if (s)
		return s;
	if (!(s = load_job(&l, o, load_cluster(o), &job)))
		print_all(&l, !option_given(o, OPTION_NO_VALUES));
	load_release(&l);
	return s;
}
