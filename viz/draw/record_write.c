/* Pictures as differences. Most commands of a picture are those of the one before, in the same order. */
#include <stdlib.h>
#include <string.h>

#include "viz/draw/record.h"

void record_series_release(struct record_series *s)
{
	if (!s)
		return;
	free(s->before);
	free(s->place);
	*s = (struct record_series){0};
}

/* How many commands of the picture from k on are those of the one before from i on. */
static size_t run(const struct record *r, const struct record_series *s, size_t k, size_t i)
{
	size_t n = 0;
	while (k + n < r->now_count && i + n < s->before_count && r->now[k + n] == s->before[i + n])
		n++;
	return n;
}

static void write_command(const struct record *r, int number, size_t *known, FILE *out)
{
	if ((size_t)number < *known) {
		fprintf(out, "%d", number);
		return;
	}
	fwrite(r->commands.bytes + r->commands.list[number].at, 1, r->commands.list[number].length, out);
	*known = (size_t)number + 1;
}

/* This picture is the one before for the next. */
static void keep(struct record *r, struct record_series *s)
{
	int *before = realloc(s->before, (r->now_count + 1) * sizeof *before);
	int *place = realloc(s->place, (r->commands.count + 1) * sizeof *place);
	s->before = before ? before : s->before;
	s->place = place ? place : s->place;
	if (!before || !place) {
		r->failed = true;
		return;
	}
	memset(place, -1, r->commands.count * sizeof *place);
	s->place_count = r->commands.count;
	s->before_count = r->now_count;
	for (size_t i = r->now_count; i-- > 0;) {
		before[i] = r->now[i];
		place[r->now[i]] = (int)i;
	}
}

void record_write(struct record *r, struct record_series *s, size_t *known, FILE *out)
{
	const char *between = "[";
	for (size_t k = 0, i = 0; k < r->now_count; between = ",") {
		size_t number = (size_t)r->now[k], n = run(r, s, k, i);
		bool elsewhere = !n && number < s->place_count && s->place[number] >= 0;
		size_t there = elsewhere ? (size_t)s->place[number] : i;
		size_t same = elsewhere ? run(r, s, k, there) : n;
		fputs(between, out);
		if (n) {
			fprintf(out, "-%zu", n);
		} else if (same > 1) {
			fprintf(out, "[%zu,%zu]", there, same);
		} else {
			write_command(r, r->now[k], known, out);
			there = i;
			same = 1;
		}
		k += same;
		i = there + same;
	}
	fputs(r->now_count ? "]" : "[]", out);
	keep(r, s);
}

void record_write_texts(const struct record *r, size_t *known, FILE *out)
{
	const struct strings *s = &r->texts;
	fputc('[', out);
	for (size_t first = *known; *known < s->count; ++*known) {
		fputs(*known > first ? "," : "", out);
		fwrite(s->bytes + s->list[*known].at, 1, s->list[*known].length, out);
	}
	fputc(']', out);
}

void record_put_text(const char *text, size_t length, FILE *out)
{
	fputc('"', out);
	for (const char *stop = text + length; text < stop; text++)
		if (strchr("\"\\<", *text) || (unsigned char)*text < ' ')
			fprintf(out, "\\u%04x", (unsigned char)*text);
		else
			fputc(*text, out);
	fputc('"', out);
}
