#include "cli/show/progress.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void progress_begin(struct progress *p, int64_t total)
{
	*p = (struct progress){.terminal = isatty(STDERR_FILENO), .total = total, .began = now()};
}

void progress_show(struct progress *p, int64_t done, const char *label)
{
	enum { WIDTH = 30 };
	char bar[WIDTH + 1];
	double t = p->terminal ? now() : 0;
	if (!p->terminal || t - p->began < 2 || t - p->drawn < 0.1)
		return;
	p->drawn = t;
	p->shown = true;
	double share = p->total > 0 ? (double)done / (double)p->total : 0;
	for (int i = 0; i < WIDTH; i++)
		bar[i] = i < (int)(share * WIDTH) ? '#' : '.';
	bar[WIDTH] = 0;
	fprintf(stderr, "\r\033[K%s %3d %%  %s", bar, (int)(100 * share), label);
	if (share > 0.02)
		fprintf(stderr, "  %d s left", (int)((t - p->began) * (1 - share) / share + 0.5));
	fflush(stderr);
}

void progress_clear(struct progress *p)
{
	if (!p->shown)
		return;
	fputs("\r\033[K", stderr);
	fflush(stderr);
	p->shown = false;
}
