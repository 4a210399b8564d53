/* The figures of two traces, and what the second has more or less than the first. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "strategy/base/language.h"
#include "viz/scene/memory_parts.h"
#include "viz/scene/pair.h"

enum figure_unit { UNIT_BYTES, UNIT_TIME };

static const struct {
	const char *name, *brief;
	enum figure_unit unit;
} rows[] = {
#define X(constant, name, brief, unit) {name, brief, UNIT_##unit},
        FIGURE_LIST(X)
#undef X
};

const char *figure_name(enum figure f)
{
	return rows[f].name;
}

const char *figure_brief(enum figure f)
{
	return rows[f].brief;
}

static int64_t larger(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

void figures_make(const struct state *st, struct figures *out)
{
	const struct timeline *s = st->timeline;
	int64_t *of = out->of;
	*out = (struct figures){{0}};
	for (int i = 0; i < s->rank_count; i++) {
		const struct state_rank *r = &st->ranks[i];
		of[FIGURE_NOW] = larger(of[FIGURE_NOW], r->live[SPACE_DEVICE]);
		of[FIGURE_PEAK] = larger(of[FIGURE_PEAK], r->peak[SPACE_DEVICE]);
		of[FIGURE_SENT] = larger(of[FIGURE_SENT], r->sent);
		of[FIGURE_TO_SEND] = larger(of[FIGURE_TO_SEND], ledger_step_bytes(s, i));
	}
	of[FIGURE_HIGHEST] = memory_highest(s, SPACE_DEVICE);
	of[FIGURE_TIME] = st->time;
	of[FIGURE_STEP] = s->step_ns;
}

const char *figure_word(char *out, enum figure f, int64_t value)
{
	return rows[f].unit == UNIT_BYTES ? bytes_word(out, value) : time_word(out, value);
}

const char *figure_difference(char *out, enum figure f, int64_t first, int64_t second)
{
	int64_t by = second - first;
	const char *sign = by < 0 ? "−" : "+";
	char word[WORD], share[WORD + 8] = "";
	if (!by) {
		snprintf(out, DIFFERENCE, tr("the same"));
		return out;
	}
	double part = first ? 100 * fabs((double)by / (double)first) : 0;
	if (first && second < 3 * first)
		snprintf(share, sizeof share, part < 9.95 || (by < 0 && part > 98.95) ? " (%s%.1f %%)" : " (%s%.0f %%)",
		         sign, part);
	else if (first)
		snprintf(share, sizeof share, " (%s)", factor_word(word, (double)second / (double)first));
	snprintf(out, DIFFERENCE, "%s%s%s", sign, figure_word(word, f, llabs(by)), share);
	return out;
}
