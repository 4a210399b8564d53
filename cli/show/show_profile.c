#include "cli/show/show_profile.h"

#include <inttypes.h>

#include "cli/show/table.h"

/* ---- figures side by side ---- */

struct sheet {
	struct table t;
	const struct profile_column *columns;
	int count;
	bool ratio;
};

typedef int64_t figure_of(const struct profile_step *s, int which);

static int64_t of_step(const struct profile_step *s, int which)
{
	const int64_t figures[] = {s->compute, s->exposed, s->copies, s->idle, s->step};
	return figures[which];
}

static int64_t of_phase(const struct profile_step *s, int which)
{
	return s->phases[which];
}

static int64_t time_of_kind(const struct profile_step *s, int which)
{
	return s->kinds[which].time;
}

static int64_t exposed_of_kind(const struct profile_step *s, int which)
{
	return s->kinds[which].exposed;
}

static int64_t calls_of_kind(const struct profile_step *s, int which)
{
	return s->kinds[which].calls;
}

/* -1: there are calls, and nobody knows how large they are. */
static int64_t bytes_of_kind(const struct profile_step *s, int which)
{
	const struct profile_part *part = &s->kinds[which];
	return part->bytes || !part->calls ? part->bytes : -1;
}

static bool is_empty(const struct sheet *s, figure_of *figure, int which)
{
	for (int c = 0; c < s->count; c++)
		if (figure(s->columns[c].step, which))
			return false;
	return true;
}

static int64_t most_of(const struct sheet *s, figure_of *figure, int first, int end)
{
	int64_t most = 0;
	for (int which = first; which < end; which++)
		for (int c = 0; c < s->count; c++) {
			int64_t value = figure(s->columns[c].step, which);
			most = value > most ? value : most;
		}
	return most;
}

static void put_ratio(struct sheet *s, int64_t a, int64_t b)
{
	if (s->ratio && s->count == 2 && a > 0 && b > 0)
		table_cell(&s->t, 3, "%.2f", (double)a / (double)b);
}

/* A row of what some column has; NULL: of plain numbers. */
static void put_row(struct sheet *s, const char *name, figure_of *figure, int which, const struct scale *scale,
                    enum style style)
{
	if (is_empty(s, figure, which))
		return;
	table_row(&s->t, style, "  %s", name);
	for (int c = 0; c < s->count; c++) {
		int64_t value = figure(s->columns[c].step, which);
		if (scale)
			table_scaled(&s->t, 1 + c, value, *scale);
		else
			table_cell(&s->t, 1 + c, "%" PRId64, value);
	}
	put_ratio(s, figure(s->columns[0].step, which), figure(s->columns[s->count - 1].step, which));
}

static void put_title(struct sheet *s, const char *title, const struct scale *scale)
{
	table_gap(&s->t);
	table_row(&s->t, STYLE_HEAD, scale ? "%s, %s" : "%s", title, scale ? scale->name : "");
}

/* The kinds of [first, end) that there are. */
static void put_kinds(struct sheet *s, const char *title, figure_of *figure, int first, int end,
                      const struct scale *scale)
{
	bool any = false;
	for (int k = first; k < end; k++)
		any |= !is_empty(s, figure, k);
	if (!any)
		return;
	put_title(s, title, scale);
	for (int k = first; k < end; k++)
		put_row(s, profile_kind_name((enum profile_kind)k), figure, k, scale, STYLE_PLAIN);
}

static void put_step(struct sheet *s, const struct scale *scale)
{
	static const char *const names[] = {"computing", "waiting for communication", "waiting for copies", "idle",
	                                    "step"};
	enum { ROWS = sizeof names / sizeof names[0] };
	put_title(s, "time of a step", scale);
	for (int i = 0; i < ROWS; i++)
		put_row(s, names[i], of_step, i, scale, i == ROWS - 1 ? STYLE_HEAD : STYLE_PLAIN);
}

static void put_phases(struct sheet *s, const struct scale *scale)
{
	put_title(s, "computing by phase", scale);
	for (int i = 0; i < PROFILE_PHASES; i++)
		put_row(s, profile_phase_name((enum profile_phase)i), of_phase, i, scale, STYLE_PLAIN);
}

void show_profile_columns(const struct profile_column *columns, int count, bool ratio, FILE *out)
{
	enum { MOVES = PROFILE_ALL_REDUCE };
	struct sheet s = {.columns = columns, .count = count, .ratio = ratio && count == 2};
	struct scale time = scale_of_time(most_of(&s, of_step, 4, 5));
	struct scale bytes = scale_of_bytes(most_of(&s, bytes_of_kind, MOVES, PROFILE_KINDS));
	table_init(&s.t, out, 1 + count + s.ratio, 1);
	table_row(&s.t, STYLE_HEAD, "\t");
	for (int c = 0; c < count; c++)
		table_cell(&s.t, 1 + c, "%s", columns[c].heading);
	if (s.ratio)
		table_cell(&s.t, 3, "ratio");
	put_step(&s, &time);
	put_kinds(&s, "computing by kind", time_of_kind, 0, MOVES, &time);
	put_phases(&s, &time);
	put_kinds(&s, "communication and copies", time_of_kind, MOVES, PROFILE_KINDS, &time);
	put_kinds(&s, "of it exposed", exposed_of_kind, MOVES, PROFILE_KINDS, &time);
	put_kinds(&s, "calls", calls_of_kind, MOVES, PROFILE_KINDS, NULL);
	put_kinds(&s, "payload", bytes_of_kind, MOVES, PROFILE_KINDS, &bytes);
	table_end(&s.t, 0);
}

/* ---- step by step ---- */

static void put_line(struct table *t, const struct profile_rank *r, const struct profile_step *s, struct scale scale)
{
	const int64_t figures[] = {s->compute, s->exposed, s->copies, s->idle, s->step};
	table_row(t, STYLE_PLAIN, "%" PRId64 "\t%" PRId64, r->rank, s->number);
	for (int i = 0; i < 5; i++)
		table_scaled(t, 2 + i, figures[i], scale);
	if (s->host)
		table_scaled(t, 7, s->host, scale);
}

void show_profile_steps(const struct profile *p, FILE *out)
{
	struct table t;
	int64_t most = 0, copies = 0;
	for (int i = 0; i < p->rank_count; i++)
		for (int k = 0; k < p->ranks[i].step_count; k++) {
			most = p->ranks[i].steps[k].step > most ? p->ranks[i].steps[k].step : most;
			copies += p->ranks[i].steps[k].copies;
		}
	struct scale scale = scale_of_time(most);
	table_init(&t, out, 8, 0);
	t.hidden[4] = !copies;
	t.hidden[7] = p->source != PROFILE_KERNELS;
	table_row(&t, STYLE_HEAD, "rank\tstep\tcomputing\texposed\tcopies\tidle\t%s\ton the host", scale.name);
	for (int i = 0; i < p->rank_count; i++)
		for (int k = 0; k < p->ranks[i].step_count; k++)
			put_line(&t, &p->ranks[i], &p->ranks[i].steps[k], scale);
	table_end(&t, 0);
}

/* ---- what was read ---- */

static void put_count(FILE *out, int64_t n, const char *what)
{
	fprintf(out, "%" PRId64 " %s%s", n, what, n == 1 ? "" : "s");
}

void show_profile_notes(const struct profile *p, FILE *out)
{
	int steps = 0, most = 0;
	for (int i = 0; i < p->rank_count; i++) {
		steps += p->ranks[i].step_count;
		most = p->ranks[i].step_count > most ? p->ranks[i].step_count : most;
	}
	fputs("mean of ", out);
	put_count(out, most, "step");
	if (steps != most * p->rank_count)
		fputs(" or fewer", out);
	fprintf(out, " on %d of ", p->rank_count);
	put_count(out, p->world, "rank");
	fputc('\n', out);
	if (p->source == PROFILE_OPERATORS)
		fputs("no kernels of a device: operators of the host, each without those that it calls\n", out);
	if (p->source != PROFILE_PLAN && p->world > 1)
		fputs("a profiler counts waiting for other ranks as communication\n", out);
}
