/* For tests of what if: a view with the panel, opened as the command opens it, and hands that change its rows.
 *
 *     START_TEST(…) { open_gpt(); type("w"); set("ranks", "2"); … }
 *     SUITE_WITH("whatif", 60, NULL, close_view)
 */
#ifndef SHARDLAB_WHATIF_FIXTURE_H
#define SHARDLAB_WHATIF_FIXTURE_H

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command/view_open.h"
#include "tests/support/arguments.h"
#include "tests/support/suite.h"
#include "tests/viz/hands.h"

#define GPT "gpt:layers=2,width=64,heads=2,context=32,vocabulary=512"

static struct viewer *v;
static struct options options;

static struct fonts fonts;

static inline void open_view(const char *arguments)
{
	ck_assert_msg(!fonts_open(&fonts), "%s", status_message());
	v = calloc(1, sizeof *v);
	ck_assert_ptr_nonnull(v);
	arguments_parse(&options, COMMAND_VIEW, arguments);
	playback_init(&v->playback, &fonts);
	ck_assert_msg(!viewer_begin(v, &options), "%s", status_message());
	struct window_host host = viewer_host(v);
	host.asked_size = true;
	open_window(&v->playback, 1280, 720, &host);
}

static inline void open_gpt(void)
{
	open_view("--model " GPT " --cluster a100-40gb");
}

static inline void close_view(void)
{
	close_window();
	if (v)
		viewer_release(v);
	free(v);
	v = NULL;
	fonts_release(&fonts);
}

/* ---- hands ---- */

static inline int row_named(const char *name)
{
	const struct whatif *f = &v->whatif;
	for (int i = 0; i < f->row_count; i++)
		if (!strcmp(f->rows[i].name, name))
			return i;
	ck_abort_msg("there is no row %s", name);
}

static inline void choose(const char *name)
{
	int row = row_named(name);
	for (int i = 0; i < WHATIF_ROWS && v->whatif.row != row; i++)
		press(SDLK_DOWN);
	ck_assert_int_eq(v->whatif.row, row);
}

static inline void set(const char *name, const char *value)
{
	choose(name);
	press(SDLK_RETURN);
	type(value);
	press(SDLK_RETURN);
}

static inline struct box panel(void)
{
	struct canvas c = {.width = 1280, .height = 720};
	return mode_box(w, &c);
}

/* ---- traces ---- */

static inline char *trace_text(const struct trace *t)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	ck_assert(out && !trace_write(t, out) && !fclose(out));
	return text;
}

static inline char *trace_now(void)
{
	return trace_text(&viewer_shown(v)->trace);
}

/* Takes the second. */
static inline void ck_same(const char *a, char *b, bool same)
{
	ck_assert_msg(!strcmp(a, b) == same, "the trace of %s is %s", v->whatif.words,
	              same ? "another one" : "the same");
	free(b);
}

#endif
