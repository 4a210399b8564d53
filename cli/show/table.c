#include "cli/show/table.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/show/text.h"
#include "strategy/base/number.h"

bool terminal_colour(FILE *out)
{
	const char *none = getenv("NO_COLOR"), *term = getenv("TERM");
	return isatty(fileno(out)) && !(none && *none) && !(term && !strcmp(term, "dumb"));
}

const char *style_begin(enum style s, bool colour)
{
	static const char *const codes[] = {"", "\033[1m", "\033[2m", "\033[32m", "\033[31m"};
	return colour ? codes[s] : "";
}

const char *style_end(enum style s, bool colour)
{
	return colour && s != STYLE_PLAIN ? "\033[0m" : "";
}

void table_init(struct table *t, FILE *out, int columns, int text_columns)
{
	*t = (struct table){
	        .out = out,
	        .columns = columns < TABLE_COLUMNS ? columns : TABLE_COLUMNS,
	        .colour = terminal_colour(out),
	};
	for (int c = 0; c < text_columns; c++)
		t->left[c] = true;
}

static void add_row(struct table *t, enum style style)
{
	t->rows = array_reserve(t->rows, t->row_count, &t->row_capacity, sizeof *t->rows);
	struct table_row *r = &t->rows[t->row_count++];
	*r = (struct table_row){0};
	for (int c = 0; c < t->columns; c++) {
		r->cell[c] = "";
		r->style[c] = style;
	}
}

void table_gap(struct table *t)
{
	add_row(t, STYLE_PLAIN);
}

void table_row(struct table *t, enum style style, const char *format, ...)
{
	char text[1024];
	WITH_ARGS(format, vsnprintf(text, sizeof text, format, args));
	add_row(t, style);
	char *rest = arena_copy(&t->arena, text);
	for (int c = 0; rest && c < t->columns; c++)
		t->rows[t->row_count - 1].cell[c] = strsep(&rest, "\t");
}

void table_cell(struct table *t, int column, const char *format, ...)
{
	char text[512];
	if (column >= t->columns)
		return;
	WITH_ARGS(format, vsnprintf(text, sizeof text, format, args));
	t->rows[t->row_count - 1].cell[column] = arena_copy(&t->arena, text);
}

void table_cell_style(struct table *t, int column, enum style style)
{
	t->rows[t->row_count - 1].style[column] = style;
}

static void print_cell(const struct table *t, const struct table_row *r, int c, int width, bool last)
{
	int space = width - text_width(r->cell[c]);
	if (!t->left[c])
		fprintf(t->out, "%*s", space, "");
	fprintf(t->out, "%s%s%s", style_begin(r->style[c], t->colour), r->cell[c], style_end(r->style[c], t->colour));
	if (t->left[c] && !last)
		fprintf(t->out, "%*s", space, "");
}

/* A first cell that is alone in its row: it may run over the columns beside it. */
static bool is_title(const struct table *t, const struct table_row *r)
{
	for (int c = 1; c < t->columns; c++)
		if (*r->cell[c])
			return false;
	return t->columns > 1;
}

static void print_table(const struct table *t, int indent)
{
	int width[TABLE_COLUMNS] = {0};
	for (size_t i = 0; i < t->row_count; i++)
		for (int c = 0; c < t->columns; c++)
			if (!is_title(t, &t->rows[i]) && text_width(t->rows[i].cell[c]) > width[c])
				width[c] = text_width(t->rows[i].cell[c]);
	for (size_t i = 0; i < t->row_count; i++) {
		const struct table_row *r = &t->rows[i];
		int last = t->columns - 1;
		while (last >= 0 && !*r->cell[last])
			last--;
		if (last >= 0)
			fprintf(t->out, "%*s", indent, "");
		for (int c = 0; c <= last; c++) {
			if (t->hidden[c])
				continue;
			if (c)
				fputs("  ", t->out);
			print_cell(t, r, c, width[c], c == last);
		}
		fputc('\n', t->out);
	}
}

void table_end(struct table *t, int indent)
{
	print_table(t, indent);
	arena_release(&t->arena);
	free(t->rows);
	*t = (struct table){0};
}

/* ---- numbers ---- */

void table_bytes(struct table *t, int column, int64_t bytes)
{
	char text[32];
	if (bytes <= 0) {
		table_cell(t, column, bytes ? "–" : "0");
		return;
	}
	number_format_bytes(text, sizeof text, bytes);
	table_cell(t, column, "%s", text);
}

void table_time(struct table *t, int column, int64_t nanoseconds)
{
	char text[32];
	number_format_time(text, sizeof text, nanoseconds);
	table_cell(t, column, "%s", nanoseconds ? text : "0");
}

static const struct scale byte_units[] = {{"B", 1, 0},    {"kB", 1e3, 0},  {"MB", 1e6, 0},
                                          {"GB", 1e9, 0}, {"TB", 1e12, 0}, {"PB", 1e15, 0}};
enum { BYTE_UNITS = sizeof byte_units / sizeof *byte_units };

static struct scale with_decimals(struct scale s, double largest)
{
	s.decimals = s.size <= 1 ? 0 : largest >= 1000 * s.size ? 1 : largest >= 100 * s.size ? 2 : 3;
	return s;
}

static struct scale pick(const struct scale *units, int count, double largest)
{
	int u = 0;
	while (u + 1 < count && largest >= 2 * units[u + 1].size)
		u++;
	return with_decimals(units[u], largest);
}

static bool has_three_digits(double v, struct scale s)
{
	static const double from[] = {100, 10, 1, 0.1};
	return v >= from[s.decimals] * s.size;
}

struct scale scale_of_bytes_between(int64_t least, int64_t largest)
{
	struct scale s = scale_of_bytes(largest);
	int u = 0;
	while (byte_units[u].size < s.size)
		u++;
	return u && least > 0 && !has_three_digits((double)least, s) ? with_decimals(byte_units[u - 1], (double)largest)
	                                                             : s;
}

struct scale scale_of_bytes(int64_t largest)
{
	return pick(byte_units, BYTE_UNITS, (double)largest);
}

struct scale scale_of_time(int64_t largest_nanoseconds)
{
	static const struct scale units[] = {{"µs", 1e3, 0}, {"ms", 1e6, 0}, {"s", 1e9, 0}};
	return pick(units, 3, (double)largest_nanoseconds);
}

struct scale scale_of_flops(int64_t largest)
{
	static const struct scale units[] = {
	        {"FLOP/s", 1, 0}, {"MFLOP/s", 1e6, 0}, {"GFLOP/s", 1e9, 0}, {"TFLOP/s", 1e12, 0}, {"PFLOP/s", 1e15, 0}};
	return pick(units, 5, (double)largest);
}

struct scale scale_of_count(int64_t largest)
{
	static const struct scale units[] = {{"", 1, 0}, {"thousand", 1e3, 0}, {"million", 1e6, 0}};
	return pick(units, 3, (double)largest);
}

void table_scaled(struct table *t, int column, int64_t value, struct scale s)
{
	static const char *const least[] = {"<1", "<0.1", "<0.01", "<0.001"};
	static const double half[] = {0.5, 0.05, 0.005, 0.0005};
	double v = (double)value / s.size;
	if (value <= 0)
		table_cell(t, column, value ? "–" : "0");
	else if (v < half[s.decimals])
		table_cell(t, column, "%s", least[s.decimals]);
	else
		table_cell(t, column, "%.*f", s.decimals, v);
}
