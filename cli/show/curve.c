#include "cli/show/curve.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "strategy/base/arena.h"

bool text_is_utf8(void)
{
	static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
	for (int i = 0; i < 3; i++) {
		const char *value = getenv(names[i]);
		if (value && *value)
			return strstr(value, "UTF-8") || strstr(value, "utf8");
	}
	return false;
}

/* ---- dots ---- */

enum { ROWS = 8, MOST_COLUMNS = 100, NUMBER = 9, DOTS_WIDE = 2, DOTS_HIGH = 4 };

/* The field of the picture. A character has dots_wide × dots_high dots: 2 × 4 in braille, 1 × 1 in ASCII. */
struct field {
	struct curve_range range;
	int columns, dots_wide, dots_high;
	unsigned char dots[ROWS][MOST_COLUMNS]; /* bits of a braille character; ASCII: 1 */
	bool mark[ROWS][MOST_COLUMNS];          /* a validation loss */
};

/* From 0 to `count` - 1. */
static int place(double at, double low, double high, int count)
{
	int i = high > low ? (int)((at - low) / (high - low) * (count - 1) + 0.5) : 0;
	return i < 0 ? 0 : i >= count ? count - 1 : i;
}

static int x_of(const struct field *f, int64_t step)
{
	return place((double)step, (double)f->range.first, (double)f->range.last, f->columns * f->dots_wide);
}

/* From the top. */
static int y_of(const struct field *f, double loss)
{
	int count = ROWS * f->dots_high;
	return count - 1 - place(loss, f->range.low, f->range.high, count);
}

/* U+2800 and a bit for each dot: those of the first three rows come first, left then right. */
static void set_dot(struct field *f, int x, int y)
{
	static const unsigned char bits[DOTS_HIGH][DOTS_WIDE] = {{1, 8}, {2, 16}, {4, 32}, {64, 128}};
	f->dots[y / f->dots_high][x / f->dots_wide] |= bits[y % f->dots_high][x % f->dots_wide];
}

/* A column of dots from one height to another, so that a steep curve has no holes. */
static void set_column(struct field *f, int x, int from, int to)
{
	for (int y = from < to ? from : to; y <= (from < to ? to : from); y++)
		set_dot(f, x, y);
}

/* The mean loss of the steps that share a column of dots; NaN where there are none. */
static double *column_means(const struct field *f, const struct curves *c)
{
	int columns = f->columns * f->dots_wide;
	double *sum = array_make((size_t)columns, sizeof *sum), *count = array_make((size_t)columns, sizeof *count);
	struct curve_point p;
	for (int64_t i = 0; curves_training(c, i, &p); i++) {
		sum[x_of(f, p.step)] += p.loss;
		count[x_of(f, p.step)]++;
	}
	for (int x = 0; x < columns; x++)
		sum[x] = count[x] > 0 ? sum[x] / count[x] : (double)NAN;
	free(count);
	return sum;
}

/* Between two columns that have losses, the curve runs straight. */
static void draw_training(struct field *f, const double *means)
{
	int last = -1, columns = f->columns * f->dots_wide;
	for (int x = 0, y = 0; x < columns; x++) {
		if (isnan(means[x]))
			continue;
		int from = y, to = y_of(f, means[x]);
		if (last < 0)
			set_dot(f, x, to);
		for (int k = last + 1; last >= 0 && k <= x; k++) {
			int next = from + (int)lround((double)(to - from) * (k - last) / (x - last));
			set_column(f, k, y + (next > y) - (next < y), next);
			y = next;
		}
		y = to;
		last = x;
	}
}

static void draw_validation(struct field *f, const struct curves *c)
{
	struct curve_point p;
	for (int64_t i = 0; curves_validation(c, i, &p); i++)
		f->mark[y_of(f, p.loss) / f->dots_high][x_of(f, p.step) / f->dots_wide] = true;
}

/* ---- text ---- */

static void put_cell(const struct field *f, int row, int column, FILE *out)
{
	unsigned bits = f->dots[row][column];
	if (f->mark[row][column])
		fputc('o', out);
	else if (!bits)
		fputc(' ', out);
	else if (f->dots_high == 1)
		fputc('*', out);
	else /* U+2800 in UTF-8 is e2 a0 80; each byte of the rest has six bits */
		fprintf(out, "\xe2%c%c", (int)(0xa0 + (bits >> 6)), (int)(0x80 + (bits & 63)));
}

static bool is_blank(const struct field *f, int row, int from)
{
	for (int x = from; x < f->columns; x++)
		if (f->dots[row][x] || f->mark[row][x])
			return false;
	return true;
}

static void put_row(const struct field *f, int row, FILE *out)
{
	const struct curve_range *r = &f->range;
	bool ascii = f->dots_high == 1, named = row == 0 || row == ROWS - 1;
	if (named)
		fprintf(out, "%*.4g", NUMBER - 1, row ? r->low : r->high);
	else
		fprintf(out, "%*s", NUMBER - 1, "");
	fputs(ascii ? " |" : named ? " ┤" : " │", out);
	for (int x = 0; !is_blank(f, row, x); x++)
		put_cell(f, row, x, out);
	fputc('\n', out);
}

static void put_axis(const struct field *f, FILE *out)
{
	bool ascii = f->dots_high == 1;
	char last[32];
	fprintf(out, "%*s%s", NUMBER, "", ascii ? "+" : "└");
	for (int x = 0; x < f->columns; x++)
		fputs(ascii ? "-" : "─", out);
	snprintf(last, sizeof last, "step %" PRId64, f->range.last);
	int first = fprintf(out, "\n%*s%" PRId64, NUMBER + 1, "", f->range.first) - NUMBER - 2;
	int gap = f->columns - first - (int)strlen(last);
	fprintf(out, "%*s%s\n", gap > 1 ? gap : 1, "", last);
}

void show_curve(const struct curves *c, int columns, bool braille, FILE *out)
{
	struct field f = {.dots_wide = braille ? DOTS_WIDE : 1, .dots_high = braille ? DOTS_HIGH : 1};
	if (!curves_range(c, &f.range) || f.range.first == f.range.last)
		return;
	f.columns = columns - NUMBER - 1 < MOST_COLUMNS ? columns - NUMBER - 1 : MOST_COLUMNS;
	double *means = column_means(&f, c);
	draw_training(&f, means);
	free(means);
	draw_validation(&f, c);
	fprintf(out, "loss of training%s\n", c->validated ? ", o validation" : "");
	for (int row = 0; row < ROWS; row++)
		put_row(&f, row, out);
	put_axis(&f, out);
}
