/* For tests of pictures: playback of two traces, and pictures of it as a file would hold them. */
#ifndef SHARDLAB_PICTURE_FIXTURE_H
#define SHARDLAB_PICTURE_FIXTURE_H

#include <check.h>
#include <string.h>

#include "tests/support/viewed.h"
#include "viz/export/export.h"

static struct fonts fonts;
static struct viewed ddp, zero3;
static struct playback playback;

static inline void open_playback(const struct trace_view *shown)
{
	ck_assert_msg(!fonts_open(&fonts), "%s", status_message());
	playback_init(&playback, &fonts);
	playback_show(&playback, shown);
}

static inline void close_playback(void)
{
	playback_release(&playback);
	fonts_release(&fonts);
}

static inline void open_all(void)
{
	viewed_open(&ddp, "mlp:sizes=12-16-8-4 ddp ranks=4");
	viewed_open(&zero3, "mlp:sizes=12-16-8-4 zero3 ranks=3");
	open_playback(&ddp.shown);
}

static inline void close_all(void)
{
	close_playback();
	viewed_release(&ddp);
	viewed_release(&zero3);
}

static const struct picture small = {.width = 480, .height = 270, .scale = 1, .delay = 50};

/* To be freed. */
static inline char *exported(enum export_format format, const struct picture *size, bool all, size_t *length)
{
	return viewed_export(&playback, format, size, all, length);
}

static inline cairo_surface_t *surface_of(struct playback *p, const struct picture *size)
{
	cairo_surface_t *surface;
	ck_assert_msg(!export_surface(p, size, &surface), "%s", status_message());
	return surface;
}

static inline void ck_same(const char *a, size_t na, const char *b, size_t nb, const char *what)
{
	ck_assert_msg(na == nb && !memcmp(a, b, na), "%s differs", what);
}

static inline void go(size_t step)
{
	playback_go(&playback, timeline_stop(&playback.shown->timeline, playback.step_size, step));
}

/* Stepping there, forward and back, and jumping there give one picture. */
static inline void check_ways(size_t step)
{
	const struct timeline *s = &playback.shown->timeline;
	size_t na, nb, nc, p = 0;
	go(step);
	char *jumped = exported(EXPORT_PNG, &small, false, &na);
	playback_go(&playback, 0);
	for (size_t k = 0; k < step; k++)
		playback_go(&playback, p = timeline_next(s, playback.step_size, p));
	char *stepped = exported(EXPORT_PNG, &small, false, &nb);
	ck_same(jumped, na, stepped, nb, scene_name(playback.scene));
	for (int k = 0; k < 5; k++)
		playback_go(&playback, p = timeline_next(s, playback.step_size, p));
	for (int k = 0; k < 5; k++)
		playback_go(&playback, p = timeline_previous(s, playback.step_size, p));
	char *back = exported(EXPORT_PNG, &small, false, &nc);
	ck_same(jumped, na, back, nc, scene_name(playback.scene));
	free(jumped);
	free(stepped);
	free(back);
}

#endif
