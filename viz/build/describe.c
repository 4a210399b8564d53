#include "viz/build/describe.h"

#include <inttypes.h>

#include "strategy/base/language.h"
#include "viz/scene/scene.h"

void build_describe_drawer(const struct exercise *e, FILE *out)
{
	fprintf(out, tr("The drawer: %d moves of %s.\n"), e->move_count, e->plan->strategy);
	int order[EXERCISE_MOVES], count = exercise_drawer(e, order);
	for (int k = 0; k < count; k++) {
		const struct move *m = &e->moves[order[k]];
		if (!k || m->kind != e->moves[order[k - 1]].kind)
			fprintf(out, "\n%s (%s)\n", move_heading(m->kind), move_what(m->kind));
		fprintf(out, "  %s\n", m->name);
	}
}

static void describe_row(const struct outcome *own, const struct outcome *mine, int row, FILE *out)
{
	char a[WORD], b[WORD];
	int64_t x = outcome_value(mine, row), y = outcome_value(own, row);
	const char *unit = outcome_is_bytes(row) ? "B" : "ns";
	const char *yours = outcome_is_bytes(row) ? bytes_word(a, x) : time_word(a, x);
	const char *theirs = outcome_is_bytes(row) ? bytes_word(b, y) : time_word(b, y);
	fprintf(out, tr("%s: yours %s (%" PRId64 " %s), the strategy's own %s (%" PRId64 " %s)\n"),
	        tr(outcome_name(row)), yours, x, unit, theirs, y, unit);
}

void build_describe(const struct exercise *e, const struct outcome *own, const struct outcome *mine, FILE *out)
{
	char words[512], rule[RULE_WORDS], said[sizeof e->said.text];
	snprintf(said, sizeof said, "%s", e->said.text);
	language_space(said, sizeof said);
	for (int i = 0; i < e->placed_count; i++)
		fprintf(out, "%3d  %s\n", i + 1, e->moves[e->placed[i]].name);
	if (!e->said.accepted) {
		if (e->said.move >= 0)
			fprintf(out, tr("Refused: %s\n"), e->moves[e->said.move].name);
		else
			fputs(tr("Refused: the step is not complete\n"), out);
		fprintf(out, "%s\n", said);
		if (e->said.rule)
			fprintf(out, "%s\n", exercise_rule(rule, e->said.rule));
		return;
	}
	fprintf(out, "%s\n", said);
	for (int row = 0; own && mine && row < OUTCOME_ROWS; row++)
		describe_row(own, mine, row, out);
	if (!own || !mine)
		return;
	outcome_words(own, mine, words, sizeof words);
	fprintf(out, "%s\n", words);
}
