/* Operations of a compute lane under one name, and from which zoom on each has its own. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "strategy/base/arena.h"
#include "strategy/base/language.h"
#include "strategy/base/number.h"
#include "strategy/base/search.h"
#include "viz/timeline/lanes.h"

/* The width of a character in a name and the margin around the name, in units of the picture. */
enum { CHARACTER = 7, AROUND = 8 };

static bool has_micros(const struct timeline *s)
{
	return s->plan->settings.accumulate > 1;
}

static bool is_backward(enum pass pass)
{
	return pass == PASS_BACKWARD || pass == PASS_RECOMPUTE;
}

/* "qkv" of "block.3.qkv", "3" of "block.3" */
static const char *last_part(const char *name)
{
	const char *dot = strrchr(name, '.');
	return dot ? dot + 1 : name;
}

static const char *unit_name(const struct timeline *s, int unit)
{
	return unit >= 0 ? s->plan->model->units[unit].name : "";
}

/* ---- making them ---- */

static bool same_micro(int a, int b)
{
	return a == b || a < 0 || b < 0;
}

/* Operations of no pass, such as taking the samples, go with what is beside them. */
static bool joins_unit(const struct lane_fold *f, const struct op *op)
{
	if (!same_micro(f->micro, op->micro))
		return false;
	if (f->pass == PASS_NONE || op->pass == PASS_NONE)
		return true;
	return f->pass == op->pass && f->unit == op->unit;
}

static bool joins_pass(const struct lane_fold *pass, const struct lane_fold *unit)
{
	if (!same_micro(pass->micro, unit->micro))
		return false;
	return pass->pass == unit->pass || pass->pass == PASS_NONE || unit->pass == PASS_NONE ||
	       (is_backward(pass->pass) && is_backward(unit->pass));
}

static void add_op(struct lane *lane, size_t span, const struct op *op)
{
	const struct lane_span *s = &lane->spans[span];
	struct lane_fold *f = lane->unit_count ? &lane->units[lane->unit_count - 1] : NULL;
	if (!f || !joins_unit(f, op)) {
		lane->units =
		        array_reserve(lane->units, (size_t)lane->unit_count, &lane->unit_capacity, sizeof *lane->units);
		f = &lane->units[lane->unit_count++];
		*f = (struct lane_fold){
		        .begin = s->begin, .first = span, .pass = op->pass, .micro = op->micro, .unit = op->unit};
	}
	if (f->pass == PASS_NONE) {
		f->pass = op->pass;
		f->unit = op->unit;
	}
	f->micro = f->micro < 0 ? op->micro : f->micro;
	f->last = span + 1;
	f->end = s->end > f->end ? s->end : f->end;
	f->busy += s->end - s->begin;
}

static void add_unit(struct lane *lane, int number)
{
	const struct lane_fold *unit = &lane->units[number];
	struct lane_fold *f = lane->pass_count ? &lane->passes[lane->pass_count - 1] : NULL;
	if (!f || !joins_pass(f, unit)) {
		lane->passes = array_reserve(lane->passes, (size_t)lane->pass_count, &lane->pass_capacity,
		                             sizeof *lane->passes);
		f = &lane->passes[lane->pass_count++];
		*f = *unit;
		f->part = number;
		f->unit = -1;
		f->busy = 0;
	}
	f->pass = f->pass == PASS_NONE ? unit->pass : is_backward(f->pass) ? PASS_BACKWARD : f->pass;
	f->micro = f->micro < 0 ? unit->micro : f->micro;
	f->part_end = number + 1;
	f->last = unit->last;
	f->end = unit->end > f->end ? unit->end : f->end;
	f->busy += unit->busy;
}

/* ---- from which zoom on they open ---- */

static int by_size(const void *a, const void *b)
{
	const double *x = a, *y = b;
	return (*x > *y) - (*x < *y);
}

/* The least width of a nanosecond at which a name has room in a part. */
static double scale_for(const char *name, int64_t ns)
{
	return (double)(CHARACTER * strlen(name) + AROUND) / (double)(ns > 0 ? ns : 1);
}

/* The scale at which half of the parts, or more than half, have room. */
static double median(double *scales, size_t count, bool more)
{
	if (!count)
		return 0;
	qsort(scales, count, sizeof *scales, by_size);
	return scales[more ? count / 2 : (count - 1) / 2];
}

/* of_kernels: only operations that carry out a kernel. Returns how many there are. */
static size_t scales_of_unit(const struct timeline *s, const struct lane *lane, const struct role *role,
                             const struct lane_fold *f, bool of_kernels, double *scales)
{
	size_t n = 0;
	for (size_t i = f->first; i < f->last; i++) {
		const struct op *op = &role->ops[lane->spans[i].op];
		const char *name = op->kernel >= 0 ? s->plan->model->kernels[op->kernel].name : op_name(op->kind);
		if (op->kernel >= 0 || !of_kernels)
			scales[n++] = scale_for(last_part(name), lane->spans[i].end - lane->spans[i].begin);
	}
	return n;
}

/* Taking the samples is short, and would keep a unit of one kernel closed. */
static double unit_opens(const struct timeline *s, const struct lane *lane, const struct role *role,
                         const struct lane_fold *f, double *scales)
{
	size_t n = scales_of_unit(s, lane, role, f, true, scales);
	if (!n)
		n = scales_of_unit(s, lane, role, f, false, scales);
	return median(scales, n, true);
}

/* Beside numbered micro-batches, units need names of their own: "block.5", and not "5". The name of a pass says more
 * than the name of its only unit. */
static double pass_opens(const struct timeline *s, const struct lane *lane, const struct lane_fold *f, double *scales)
{
	size_t n = 0;
	if (f->part_end == f->part + 1 && has_micros(s))
		return lane->units[f->part].opens;
	if (!has_micros(s) && 2 * f->busy < f->end - f->begin) /* waiting keeps its units apart anyway */
		return 0;
	for (int i = f->part; i < f->part_end; i++) {
		const struct lane_fold *unit = &lane->units[i];
		const char *name = unit_name(s, unit->unit);
		scales[n++] = scale_for(has_micros(s) ? name : last_part(name), unit->end - unit->begin);
	}
	return median(scales, n, false);
}

void lane_find_folds(const struct timeline *s, struct lane *lane)
{
	const struct role *role = plan_role_of(s->plan, lane->rank);
	double *scales = array_make(lane->span_count, sizeof *scales);
	for (size_t i = 0; i < lane->span_count; i++)
		add_op(lane, i, &role->ops[lane->spans[i].op]);
	for (int i = 0; i < lane->unit_count; i++)
		add_unit(lane, i);
	for (int i = 0; i < lane->unit_count; i++)
		lane->units[i].opens = unit_opens(s, lane, role, &lane->units[i], scales);
	for (int i = 0; i < lane->pass_count; i++)
		lane->passes[i].opens = pass_opens(s, lane, &lane->passes[i], scales);
	free(scales);
}

/* ---- what is drawn ---- */

static struct lane_piece piece_of(const struct lane_fold *f)
{
	return (struct lane_piece){f, f->first, f->begin, f->end};
}

struct lane_place lane_piece_first(const struct lane *lane, int64_t from)
{
	int first = (int)FIRST_PAST(lane->passes, end, 0, lane->pass_count, from);
	return (struct lane_place){.pass = first, .unit = first < lane->pass_count ? lane->passes[first].part : 0};
}

bool lane_piece_next(const struct lane *lane, double scale, struct lane_place *at, struct lane_piece *out)
{
	if (at->span < at->span_end) {
		const struct lane_span *s = &lane->spans[at->span];
		*out = (struct lane_piece){NULL, at->span++, s->begin, s->end};
		return true;
	}
	if (at->pass == lane->pass_count)
		return false;
	const struct lane_fold *pass = &lane->passes[at->pass];
	if (at->unit == pass->part_end || scale < pass->opens) {
		bool whole = at->unit < pass->part_end;
		at->unit = pass->part_end;
		at->pass++;
		if (whole)
			*out = piece_of(pass);
		return whole || lane_piece_next(lane, scale, at, out);
	}
	const struct lane_fold *unit = &lane->units[at->unit++];
	if (scale < unit->opens) {
		*out = piece_of(unit);
		return true;
	}
	at->span = unit->first;
	at->span_end = unit->last;
	return lane_piece_next(lane, scale, at, out);
}

bool lane_piece_at(const struct lane *lane, double scale, int64_t time, struct lane_piece *out)
{
	struct lane_place at = lane_piece_first(lane, time);
	while (lane_piece_next(lane, scale, &at, out))
		if (out->begin <= time && time < out->end)
			return true;
		else if (out->begin > time)
			return false;
	return false;
}

/* ---- in words ---- */

/* "F2", "B0"; of one micro-batch "forward" */
static void pass_word(char *out, const struct timeline *s, const struct lane_fold *f)
{
	bool numbered = has_micros(s) && f->micro >= 0;
	out[0] = 0;
	if (numbered && f->pass == PASS_FORWARD)
		snprintf(out, FOLD_WORD, "F%d", f->micro);
	else if (numbered && f->pass == PASS_BACKWARD)
		snprintf(out, FOLD_WORD, "B%d", f->micro);
	else if (numbered && f->pass == PASS_RECOMPUTE)
		snprintf(out, FOLD_WORD, tr("recompute %d"), f->micro);
	else if (f->pass != PASS_NONE)
		snprintf(out, FOLD_WORD, "%s", tr(pass_name(f->pass)));
}

const char *fold_word(char *out, const struct timeline *s, const struct lane_fold *f, int shorter)
{
	char pass[FOLD_WORD];
	const char *unit = unit_name(s, f->unit);
	pass_word(pass, s, f);
	out[0] = 0;
	if (!*unit && shorter == 0)
		snprintf(out, FOLD_WORD, "%s", pass);
	else if (!*unit && shorter == 1 && has_micros(s) && f->micro >= 0) /* the colour says the pass */
		snprintf(out, FOLD_WORD, "%d", f->micro);
	else if (*unit && shorter == 0)
		snprintf(out, FOLD_WORD, "%.60s %.30s", unit, pass);
	else if (*unit && shorter == 1)
		snprintf(out, FOLD_WORD, "%.60s", unit);
	else if (*unit && shorter == 2 && !has_micros(s))
		snprintf(out, FOLD_WORD, "%.60s", last_part(unit));
	return out;
}

void fold_explain(const struct timeline *s, const struct lane_fold *f, char *out, size_t size)
{
	static const char *const passes[PASS_COUNT] = {"work", "forward", "forward once more", "backward", "update"};
	char micro[48] = "", time[48], busy[48], begin[48], computes[96] = "";
	size_t ops = f->last - f->first;
	const char *unit = unit_name(s, f->unit);
	if (has_micros(s) && f->micro >= 0)
		snprintf(micro, sizeof micro, "%smicro-batch %d", *unit ? ", " : tr(" of "), f->micro);
	number_format_time(time, sizeof time, f->end - f->begin);
	number_format_time(busy, sizeof busy, f->busy);
	number_format_time(begin, sizeof begin, f->begin);
	if (f->busy < f->end - f->begin)
		snprintf(computes, sizeof computes, tr(" (computes for %s of it)"), busy);
	snprintf(out, size, tr("%s%s%.60s%s: %zu operation%s, %s%s, from %s"), tr(passes[f->pass]),
	         *unit ? tr(" of ") : "", unit, micro, ops, ops == 1 ? "" : "s", time, computes, begin);
}
