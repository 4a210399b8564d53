/* The panel of what if: each setting before and now, and the figures of both. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/command/view_rows.h"
#include "cli/command/view_whatif.h"
#include "cli/show/show.h"
#include "strategy/base/language.h"
#include "strategy/base/number.h"
#include "viz/scene/scene.h"

/* ---- figures ---- */

static int64_t sent_of(const struct report *r)
{
	int64_t most = 0;
	for (int i = 0; i < r->role_count; i++)
		if (r->roles[i].sent_bytes > most)
			most = r->roles[i].sent_bytes;
	return most;
}

enum measure { UNIT_TIME, UNIT_BYTES, UNIT_COUNT, UNIT_YES };

/* name, its value in the report r, unit, whether less (−1) or more (1) of it is better; 0: neither. */
#define FIGURE_LIST(X)                                                                                                 \
	X("step time", r->time.step, TIME, -1)                                                                         \
	X("samples a step", r->batch, COUNT, 0)                                                                        \
	X("time a sample", r->batch ? r->time.step / r->batch : 0, TIME, -1)                                           \
	X("peak memory", show_fullest(r)->memory[SPACE_DEVICE].peak_bytes, BYTES, -1)                                  \
	X("with libraries", r->tightest.needed_bytes, BYTES, -1)                                                       \
	X("capacity", r->tightest.capacity_bytes, BYTES, 1)                                                            \
	X("fits", r->fits, YES, 1)                                                                                     \
	X("a rank sends", sent_of(r), BYTES, -1)                                                                       \
	X("exposed", r->time.exposed, TIME, -1)                                                                        \
	X("bubble", r->time.bubble, TIME, -1)

static const struct {
	const char *name;
	enum measure unit;
	int better;
} figures[] = {
#define X(name, value, unit, better) {name, UNIT_##unit, better},
        FIGURE_LIST(X)
#undef X
};
enum { FIGURES = sizeof figures / sizeof figures[0] };
_Static_assert((int)FIGURES <= (int)WHATIF_FIGURES, "a panel has room for all");

static int64_t figure_of(const struct report *r, int i)
{
	const int64_t values[FIGURES] = {
#define X(name, value, unit, better) value,
	        FIGURE_LIST(X)
#undef X
	};
	return values[i];
}

static void print_value(char *out, enum measure unit, int64_t value)
{
	switch (unit) {
	case UNIT_TIME:
		time_word(out, value);
		break;
	case UNIT_BYTES:
		bytes_word(out, value);
		break;
	case UNIT_COUNT:
		number_format_count(out, value);
		break;
	case UNIT_YES:
		snprintf(out, WORD, "%s", tr(value ? "yes" : "no"));
		break;
	}
}

/* "−12 %", "× 3.5" */
static void print_change(char *out, size_t size, int64_t before, int64_t now)
{
	double part = before ? (double)now / (double)before : 0;
	char word[WORD];
	*out = 0;
	if (before <= 0 || (part > 0.9995 && part < 1.0005)) /* it would be 0.0 % */
		return;
	if (part >= 3)
		snprintf(out, size, "%s", factor_word(word, part));
	else
		snprintf(out, size, "%s%.*f %%", part < 1 ? "−" : "+", part > 0.9 && part < 1.1,
		         100 * (part < 1 ? 1 - part : part - 1));
}

static void print_exact(char *out, size_t size, enum measure unit, int64_t before, int64_t now)
{
	char a[32], b[32];
	*out = 0;
	if (unit == UNIT_TIME || unit == UNIT_BYTES)
		snprintf(out, size, "%s → %s %s", number_format_count(a, before), number_format_count(b, now),
		         unit == UNIT_TIME ? "ns" : "B");
}

static void fill_figure(struct whatif_figure *f, int i, const struct loaded *before, const struct loaded *now)
{
	int64_t is = figure_of(&now->report, i);
	*f = (struct whatif_figure){.name = figures[i].name};
	print_value(f->now, figures[i].unit, is);
	if (!before) {
		snprintf(f->before, sizeof f->before, "—");
		return;
	}
	int64_t was = figure_of(&before->report, i);
	print_value(f->before, figures[i].unit, was);
	print_exact(f->exact, sizeof f->exact, figures[i].unit, was, is);
	if (figures[i].unit != UNIT_YES)
		print_change(f->change, sizeof f->change, was, is);
	f->better = !strcmp(f->before, f->now) ? 0 : is > was ? figures[i].better : -figures[i].better;
}

/* ---- rows ---- */

static void fill_row(struct whatif_row *r, int i, const struct changes *c, const struct loaded *base,
                     const struct loaded *now)
{
	struct ladder l;
	ladder_make(&l, i, base);
	*r = (struct whatif_row){.label = rows[i].label,
	                         .name = row_name(i),
	                         .what = row_what(i),
	                         .places = l.count,
	                         .place = ladder_place(&l, i, base, now)};
	row_print(i, base, r->before);
	row_print(i, now, r->now);
	r->changed = *c->value[i] || strcmp(r->before, r->now) != 0;
}

void panel_fill(struct whatif *w, const struct changes *c, const struct loaded *base, const struct loaded *before,
                const struct loaded *now)
{
	w->row_count = row_count;
	w->figure_count = FIGURES;
	for (int i = 0; i < row_count; i++)
		fill_row(&w->rows[i], i, c, base, now);
	for (int i = 0; i < FIGURES; i++)
		fill_figure(&w->figures[i], i, before, now);
	changes_print(c, w->words, sizeof w->words);
}
