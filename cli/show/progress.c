#include "cli/show/progress.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/show/text.h"
#include "strategy/base/clock.h"

void progress_begin(struct progress *p, int64_t total)
{
	*p = (struct progress){.terminal = isatty(STDERR_FILENO), .total = total, .began = clock_seconds()};
}

enum { WIDEST = 30, NARROWEST = 8, LEFT = 32, LABEL = 256 };

static void time_left(char out[LEFT], double seconds)
{
	int s = (int)(seconds + 0.5);
	if (s < 120)
		snprintf(out, LEFT, "  %d s left", s);
	else if (s < 7200)
		snprintf(out, LEFT, "  %d min left", s / 60);
	else
		snprintf(out, LEFT, "  %d h %02d min left", s / 3600, s / 60 % 60);
}

static char *last_gap(char *label)
{
	char *last = NULL;
	for (char *at = label; (at = strstr(at, " · ")); at++)
		last = at;
	return last;
}

/* Leaves out the last items until the rest is at most so wide; the first item stays. */
static void shorten(char *label, int columns)
{
	char *gap;
	while (text_width(label) > columns && (gap = last_gap(label)))
		*gap = 0;
}

/* The bar has few widths, so that it does not change with every digit of the label. */
static int bar_width(int room)
{
	return room >= WIDEST ? WIDEST : room >= WIDEST / 2 ? WIDEST / 2 : NARROWEST;
}

static void draw(double share, const char *label, const char *left, int columns)
{
	char bar[WIDEST + 1], items[LABEL];
	int room = columns - 1 - (int)strlen(" 100 %  ") - text_width(left);
	int width = bar_width(room - text_width(label));
	snprintf(items, sizeof items, "%s", label);
	shorten(items, room - width);
	if (text_width(items) > room - width)
		left = "";
	for (int i = 0; i < width; i++)
		bar[i] = i < (int)(share * width) ? '#' : '.';
	bar[width] = 0;
	fprintf(stderr, "\r\033[K%s %3d %%  %s%s", bar, (int)(100 * share), items, left);
	fflush(stderr);
}

void progress_show(struct progress *p, int64_t done, const char *label)
{
	char left[LEFT] = "";
	double t = p->terminal ? clock_seconds() : 0;
	if (!p->terminal || t - p->began < 2 || t - p->drawn < 0.1)
		return;
	p->drawn = t;
	p->shown = true;
	double share = p->total > 0 ? (double)done / (double)p->total : 0;
	if (share > 0.02)
		time_left(left, (t - p->began) * (1 - share) / share);
	draw(share, label, left, text_columns(stderr, 80));
}

void progress_clear(struct progress *p)
{
	if (!p->shown)
		return;
	fputs("\r\033[K", stderr);
	fflush(stderr);
	p->shown = false;
}
