#include "real/data/table.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "real/data/csv.h"
#include "strategy/base/character.h"
#include "strategy/base/number.h"

enum { FIRST, LAST, COLUMNS_MOST = 1 << 20, WORDS_MOST = 4096 };

static enum status bad_field(const struct csv *c, const char *what)
{
	char text[CSV_FIELD_BYTES];
	snprintf(text, sizeof text, "%.40s", c->text);
	character_make_plain(text);
	return status_fail(STATUS_INPUT, "%s:%" PRId64 ": column %d: '%s' %s", c->name, c->line, c->column + 1, text,
	                   what);
}

static enum status no_number(const struct csv *c)
{
	if (!c->length)
		return status_fail(STATUS_INPUT, "%s:%" PRId64 ": column %d is empty; fill it in, or leave the row out",
		                   c->name, c->line, c->column + 1);
	return bad_field(c, csv_has_decimal_comma(c) ? "has a decimal comma; write a point: 5.1 in place of 5,1"
	                                             : "is not a number");
}

/* ---- the first row ---- */

struct first_row {
	const char **text;
	int count, capacity;
	int words, word; /* how many fields are none of numbers, and the last of them */
	bool names_label;
	bool rise, count_up; /* its numbers are whole, each above the one before; and are 0, 1, 2, … */
	float number;        /* the last */
};

static void look_at(struct first_row *r, const struct csv *c)
{
	float number;
	bool whole = strspn(c->text, "0123456789") == (size_t)c->length;
	r->names_label |= !strcasecmp(c->text, "label");
	if (!csv_number(c, &number)) {
		r->word = r->count;
		r->words++;
		return;
	}
	r->count_up &= whole && number == (float)(r->count - r->words);
	r->rise &= whole && number > r->number;
	r->number = number;
}

static enum status read_first(struct first_row *r, struct arena *arena, const char *name, const unsigned char *bytes,
                              int64_t size)
{
	struct csv c;
	*r = (struct first_row){.rise = true, .count_up = true, .number = -1};
	csv_begin(&c, name, bytes, size);
	do {
		TRY(csv_next(&c));
		if (c.at_end)
			return status_fail(STATUS_INPUT, "%s: holds no rows", name);
		if (c.column == COLUMNS_MOST)
			return bad_field(&c, "is one column too many");
		r->text = arena_grow(arena, r->text, r->count, &r->capacity, sizeof *r->text);
		look_at(r, &c);
		r->text[r->count++] = arena_copy(arena, c.text);
	} while (!c.ends_row);
	return STATUS_OK;
}

/* Does the only word of the first row stand there alone? A class would come again. */
static enum status is_alone(const struct first_row *r, struct csv c, bool *alone)
{
	*alone = true;
	while (*alone) {
		enum status s = csv_next(&c);
		if (s || c.at_end)
			return s;
		*alone = !c.row || c.column != r->word || strcmp(c.text, r->text[r->word]) != 0;
	}
	return STATUS_OK;
}

/* Columns may be named by numbers: 0,1,2,3 or 2019,2020,species. A narrow row that counts up may well be data. */
static enum status find_header(const struct first_row *r, const struct csv *begin, bool *found)
{
	enum { FEWEST_COUNTED = 4 };
	*found = r->names_label || r->words == r->count || (!r->words && r->count_up && r->count >= FEWEST_COUNTED);
	return !*found && r->words == 1 && r->rise ? is_alone(r, *begin, found) : STATUS_OK;
}

/* ---- the label's column ---- */

static int find_name(const struct table *t, const char *name)
{
	for (int i = 0; t->header && i < t->columns; i++)
		if (!strcasecmp(t->header[i], name))
			return i;
	return -1;
}

/* Reads the user's choice of label; -1: there is none. */
static enum status read_label(const struct table *t, const char *name, int *out)
{
	int64_t n = 0;
	char what[320];
	*out = -1;
	if (!t->label_is)
		return STATUS_OK;
	*out = !strcmp(t->label_is, "first")  ? 0
	       : !strcmp(t->label_is, "last") ? t->columns - 1
	                                      : find_name(t, t->label_is);
	if (*out >= 0)
		return STATUS_OK;
	if (strspn(t->label_is, "0123456789") != strlen(t->label_is))
		return status_fail(STATUS_INPUT, "%s: no column is named '%.60s'", name, t->label_is);
	snprintf(what, sizeof what, "%s %.240s: label", status_words("{data}"), name);
	enum status s = number_whole(t->label_is, what, 1, t->columns, &n);
	*out = (int)n - 1;
	return s;
}

/* Says what the columns are, from the first row of the first file. */
static enum status begin(struct table *t, const char *name, const struct first_row *first, bool has_header)
{
	t->columns = first->count;
	t->header = has_header ? first->text : NULL;
	if (t->columns < 2)
		return status_fail(STATUS_INPUT, "%s: one column; a row has numbers and a label, with commas between",
		                   name);
	if (t->columns - 1 != t->inputs)
		return status_fail(STATUS_INPUT,
		                   "%s: %d numbers in a row beside the label, but the model takes %" PRId64
		                   "; choose data or a model that go together, as mlp:sizes=%d-…-%" PRId64,
		                   name, t->columns - 1, t->inputs, t->columns - 1, t->classes);
	enum status s = read_label(t, name, &t->label);
	if (!s && t->label < 0)
		t->label = find_name(t, "label");
	return s;
}

/* The places where words may stand, FIRST or LAST; -1: nowhere. */
static int words_of(const struct table *t, int column)
{
	if (t->label >= 0)
		return column == t->label ? FIRST : -1;
	return column == 0 ? FIRST : column == t->columns - 1 ? LAST : -1;
}

/* ---- rows ---- */

static enum status add_word(struct table *t, const struct csv *c, int at, float *out)
{
	struct table_words *w = &t->words[at];
	int i = 0;
	while (i < w->count && strcmp(w->list[i], c->text) != 0)
		i++;
	*out = (float)i;
	if (i < w->count)
		return STATUS_OK;
	/* A column that is no label may have as many words as it likes, up to a limit. */
	if (w->count == WORDS_MOST || (t->label >= 0 && w->count >= t->classes))
		return bad_field(c, "is a class too many for the model");
	w->list = arena_grow(&t->arena, w->list, w->count, &w->capacity, sizeof *w->list);
	w->list[w->count++] = arena_copy(&t->arena, c->text);
	return STATUS_OK;
}

static enum status read_field(struct table *t, const struct csv *c, float *out)
{
	int at = words_of(t, c->column);
	bool number = csv_number(c, out);
	if (!number && (at < 0 || !c->length))
		return no_number(c);
	if (at < 0)
		return STATUS_OK;
	t->numbers[at] |= number;
	if (t->numbers[at] && (!number || t->words[at].count))
		return bad_field(c, "stands in a column of both numbers and words");
	return number ? STATUS_OK : add_word(t, c, at, out);
}

static enum status check_width(const struct table *t, const struct csv *c)
{
	bool is_last = c->column == t->columns - 1;
	if (c->ends_row == is_last)
		return STATUS_OK;
	return status_fail(STATUS_INPUT, "%s:%" PRId64 ": %s than the %d columns of the first row", c->name, c->line,
	                   is_last ? "more" : "fewer", t->columns);
}

/* Room for a row. */
static enum status reserve(struct table *t)
{
	size_t used = (size_t)t->rows * (size_t)t->columns, needed = used + (size_t)t->columns;
	if (needed <= t->capacity)
		return STATUS_OK;
	size_t capacity = 2 * needed;
	float *values = realloc(t->values, capacity * sizeof *values);
	if (!values)
		return status_fail(STATUS_MEMORY, "out of memory for a table of %" PRId64 " rows", t->rows);
	t->values = values;
	t->capacity = capacity;
	return STATUS_OK;
}

static enum status read_row(struct table *t, struct csv *c)
{
	enum status s = reserve(t);
	float *row = t->values + t->rows * t->columns;
	for (;;) {
		if (!s)
			s = check_width(t, c);
		if (!s)
			s = read_field(t, c, &row[c->column]);
		if (s || c->ends_row)
			break;
		s = csv_next(c);
	}
	t->rows += !s;
	return s;
}

static enum status read_rows(struct table *t, const char *name, const unsigned char *bytes, int64_t size,
                             bool has_header)
{
	struct csv c;
	csv_begin(&c, name, bytes, size);
	for (;;) {
		TRY(csv_next(&c));
		if (c.at_end)
			return STATUS_OK;
		if (has_header && !c.row)
			continue;
		TRY(read_row(t, &c));
	}
}

enum status table_add(struct table *t, const char *name, const unsigned char *bytes, int64_t size)
{
	struct first_row first;
	struct csv c;
	bool has_header = false;
	enum status s = read_first(&first, &t->arena, name, bytes, size);
	csv_begin(&c, name, bytes, size);
	if (!s)
		s = find_header(&first, &c, &has_header);
	if (!s && !t->file_count)
		s = begin(t, name, &first, has_header);
	if (s)
		return s;
	t->files = arena_grow(&t->arena, t->files, t->file_count, &t->file_capacity, sizeof *t->files);
	t->files[t->file_count++] = (struct table_file){arena_copy(&t->arena, name), t->rows};
	return read_rows(t, name, bytes, size, has_header);
}

/* ---- labels ---- */

static bool is_label(const struct table *t, float v)
{
	return v >= 0 && v < (float)t->classes && v == (float)(int64_t)v;
}

static bool could_be_label(const struct table *t, int column)
{
	bool several = false;
	for (int64_t i = 0; i < t->rows; i++) {
		if (!is_label(t, table_row(t, i)[column]))
			return false;
		several |= table_row(t, i)[column] != table_row(t, 0)[column];
	}
	return several;
}

static enum status find_label(struct table *t)
{
	int last = t->columns - 1;
	bool words = t->words[FIRST].count || t->words[LAST].count;
	bool first_fits = words ? t->words[FIRST].count : could_be_label(t, 0);
	bool last_fits = words ? t->words[LAST].count : could_be_label(t, last);
	if (first_fits == last_fits)
		return status_fail(STATUS_INPUT,
		                   "%s: %s of the first and the last column could be labels (0 to %" PRId64
		                   ", or words); say which column is, as %s:label=first",
		                   t->files[0].name, first_fits ? "both" : "none", t->classes - 1, t->files[0].name);
	t->label = first_fits ? 0 : last;
	if (last_fits)
		t->words[FIRST] = t->words[LAST];
	return STATUS_OK;
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Words were numbered as they came. Their order must not depend on that of the rows. */
static void number_words(struct table *t)
{
	struct table_words *w = &t->words[FIRST];
	const char **sorted = arena_alloc(&t->arena, (size_t)w->count * sizeof *sorted);
	memcpy(sorted, w->list, (size_t)w->count * sizeof *sorted);
	qsort(sorted, (size_t)w->count, sizeof *sorted, by_text);
	for (int64_t i = 0; i < t->rows; i++) {
		float *v = &t->values[i * t->columns + t->label];
		const char **found = bsearch(&w->list[(int)*v], sorted, (size_t)w->count, sizeof *sorted, by_text);
		*v = (float)(found - sorted);
	}
	w->list = sorted;
}

static const struct table_file *file_of(const struct table *t, int64_t row)
{
	int i = t->file_count - 1;
	while (i > 0 && t->files[i].first_row > row)
		i--;
	return &t->files[i];
}

static enum status check_labels(const struct table *t)
{
	for (int64_t i = 0; i < t->rows; i++) {
		float v = table_row(t, i)[t->label];
		if (is_label(t, v))
			continue;
		const struct table_file *f = file_of(t, i);
		return status_fail(STATUS_INPUT,
		                   "%s: label %g in row %" PRId64 ", but the model has classes 0 to %" PRId64
		                   "; the label is column %d, {data} PATH:label=… names another",
		                   f->name, (double)v, i - f->first_row + 1, t->classes - 1, t->label + 1);
	}
	return STATUS_OK;
}

enum status table_finish(struct table *t)
{
	enum status s = STATUS_OK;
	if (!t->rows)
		return status_fail(STATUS_INPUT, "%s: holds no rows", t->files[0].name);
	if (t->label < 0)
		s = find_label(t);
	if (!s && t->words[FIRST].count > t->classes)
		s = status_fail(STATUS_INPUT,
		                "%s: %d different labels in column %d, but the model has %" PRId64 " classes",
		                t->files[0].name, t->words[FIRST].count, t->label + 1, t->classes);
	if (!s && t->words[FIRST].count)
		number_words(t);
	return s ? s : check_labels(t);
}

void table_release(struct table *t)
{
	free(t->values);
	arena_release(&t->arena);
	*t = (struct table){.label = -1};
}
