#include "viz/window/window.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "strategy/base/arena.h"
#include "strategy/base/language.h"
#include "viz/window/parts.h"

enum { TWEEN_MS = 420, STEP_MS = 1100, NOTE_FRAME_MS = 16 };

/* ---- opening ---- */

/* SDL takes its offscreen driver by itself when there is no display; nobody would see that window. */
static enum status check_display(bool begun)
{
	const char *driver = begun ? SDL_GetCurrentVideoDriver() : NULL;
	bool asked = getenv("SDL_VIDEODRIVER") != NULL, display = getenv("DISPLAY") || getenv("WAYLAND_DISPLAY");
	if (!begun && (asked || display))
		return STATUS_OK;
	if (driver && (asked || (strcmp(driver, "offscreen") != 0 && strcmp(driver, "dummy") != 0)))
		return STATUS_OK;
	return status_fail(STATUS_INPUT, "there is no display to open a window on; for pictures without one: "
	                                 "{view} {export} FILE.png (or .svg, .pdf, .gif, .html)");
}

/* No larger than the display, with its panels and a title bar, shows whole. */
static void fit_display(int *width, int *height)
{
	enum { TITLE_BAR = 32 };
	SDL_Rect room;
	if (SDL_GetDisplayUsableBounds(0, &room))
		return;
	*width = *width < room.w ? *width : room.w;
	*height = *height < room.h ? *height : room.h - TITLE_BAR;
}

static enum status open_video(struct window *w, const struct picture *size)
{
	int width = size->width, height = size->height;
	SDL_SetHint(SDL_HINT_NO_SIGNAL_HANDLERS, "0");
	SDL_SetHint(SDL_HINT_VIDEO_ALLOW_SCREENSAVER, "1");
	TRY(check_display(false));
	if (SDL_Init(SDL_INIT_VIDEO))
		return status_fail(STATUS_INPUT,
		                   "no window can be opened (%s); for pictures without one: {view} {export} "
		                   "FILE.png (or .svg, .pdf, .gif, .html)",
		                   SDL_GetError());
	TRY(check_display(true));
	if (!w->host.asked_size)
		fit_display(&width, &height);
	w->window = SDL_CreateWindow("shardlab", SDL_WINDOWPOS_UNDEFINED, SDL_WINDOWPOS_UNDEFINED, width, height,
	                             SDL_WINDOW_RESIZABLE | SDL_WINDOW_ALLOW_HIGHDPI);
	w->renderer = w->window ? SDL_CreateRenderer(w->window, -1, 0) : NULL;
	if (!w->renderer)
		return status_fail(STATUS_INPUT, "no window can be opened: %s", SDL_GetError());
	SDL_StartTextInput();
	return STATUS_OK;
}

enum status window_open(struct window **out, struct playback *p, const struct picture *size,
                        const struct window_host *host, bool motion)
{
	struct window *w = array_make(1, sizeof *w);
	*out = NULL;
	*w = (struct window){.playback = p,
	                     .host = *host,
	                     .motion = motion,
	                     .speed = 1,
	                     .focus = -1,
	                     .strategy = -1,
	                     .notable = -1,
	                     .before = -1,
	                     .second = -1,
	                     .dirty = true};
	p->hint =
	        host->strategies
	                ? tr("Space plays · → one step on · K to the next collective · 1 – 9 another strategy · V the "
	                     "next picture · ? all keys")
	                : tr("Space plays · → one step on · K to the next collective · V the next picture · ? all "
	                     "keys");
	for (int i = 0; i < host->strategies; i++)
		if (!strcmp(host->strategy(host->context, i), p->shown->label))
			w->strategy = i;
	w->mode = p->whatif ? &mode_whatif : NULL;
	w->slider = -1;
	enum status s = open_video(w, size);
	if (s) {
		window_close(w);
		return s;
	}
	if (p->presenter)
		window_set_full(w, true);
	*out = w;
	return STATUS_OK;
}

/* SDL wakes itself by a message to its window, over a second connection to the X server. If the server saw the end of
 * the window first, the message would be an X error, which ends the program. A few questions to the server give the
 * message time. */
static void settle(SDL_Window *window)
{
	int top, left, bottom, right;
	SDL_HideWindow(window);
	for (int i = 0; i < 3; i++) {
		SDL_GetWindowBordersSize(window, &top, &left, &bottom, &right);
		SDL_Delay(2);
	}
}

void window_close(struct window *w)
{
	if (!w)
		return;
	race_release(&w->racing.race);
	search_release(&w->search);
	window_build_release(w);
	if (w->surface)
		cairo_surface_destroy(w->surface);
	if (w->texture)
		SDL_DestroyTexture(w->texture);
	if (w->renderer)
		SDL_DestroyRenderer(w->renderer);
	if (w->window) {
		settle(w->window);
		SDL_DestroyWindow(w->window);
	}
	SDL_Quit();
	free(w);
}

/* ---- drawing ---- */

/* The texture is as large as the window's pixels; made anew when they change. */
static bool fit_texture(struct window *w)
{
	int width = 0, height = 0;
	if (SDL_GetRendererOutputSize(w->renderer, &width, &height) || width < 1 || height < 1)
		return false;
	if (w->texture && width == w->width && height == w->height)
		return true;
	if (w->texture)
		SDL_DestroyTexture(w->texture);
	if (w->surface)
		cairo_surface_destroy(w->surface);
	w->width = width;
	w->height = height;
	w->texture =
	        SDL_CreateTexture(w->renderer, SDL_PIXELFORMAT_ARGB8888, SDL_TEXTUREACCESS_STREAMING, width, height);
	w->surface = cairo_image_surface_create(CAIRO_FORMAT_RGB24, width, height);
	return w->texture && !cairo_surface_status(w->surface);
}

static void begin(struct window *w, struct canvas *c, cairo_t *cr)
{
	canvas_begin(c, cr, w->width, w->height,
	             canvas_text(w->width, w->height, w->playback->text, w->playback->presenter),
	             theme_of(w->playback->theme), w->playback->fonts);
}

/* How many lines a text takes, by drawing it where nothing is seen. */
static int lines_of(struct canvas *c, double width, int most, const char *text)
{
	cairo_save(c->cr);
	cairo_rectangle(c->cr, 0, 0, 0, 0);
	cairo_clip(c->cr);
	int lines = draw_paragraph(c, 0, 0, width, 13, most, c->theme->ink, text);
	cairo_restore(c->cr);
	return lines;
}

static bool crosses(const struct box *a, const struct box *b)
{
	return a->width > 0 && b->width > 0 && fmin(a->x + a->width, b->x + b->width) > fmax(a->x, b->x) &&
	       fmin(a->y + a->height, b->y + b->height) > fmax(a->y, b->y);
}

/* Tips stand below the mouse at its right or, without room there, at its left or above, and never on the ledger. */
static struct box tip_box(const struct window *w, const struct canvas *c, double width, double height,
                          const struct box *ledger)
{
	struct box b = {w->tip_x + 14, w->tip_y + 18, width, height};
	bool inside = ledger->width > 0 && w->tip_x >= ledger->x;
	double right = !inside && crosses(&b, ledger) ? ledger->x : c->width;
	if (b.x + b.width > right - 4)
		b.x = fmax(4, right - 4 - b.width);
	if (b.y + b.height > c->height - 4)
		b.y = w->tip_y - b.height - 8;
	return b;
}

static void draw_tip(struct window *w, struct canvas *c, const struct box *ledger)
{
	enum { WIDEST = 620, LINES = 6, SIZE = 13 };
	const struct theme *t = c->theme;
	double size = fmax(SIZE, c->least), line = 1.35 * size, most = fmin(WIDEST, c->width - 28);
	if (ledger->width > 0 && w->tip_x < ledger->x)
		most = fmin(most, fmax(200, ledger->x - 40));
	double length = text_length(c, SIZE, WEIGHT_PLAIN, w->tip), width = fmin(length, most);
	int lines = lines_of(c, width + 4, LINES, w->tip);
	struct box b = tip_box(w, c, width + 20, 12 + line * fmax(lines, 1), ledger);
	draw_card(c, b, t->panel, t->ink, 1.2);
	draw_paragraph(c, b.x + 10, b.y + size + 6, width + 4, SIZE, lines, t->ink, w->tip);
}

static void draw_all(struct window *w, struct canvas *c)
{
	const struct view *v = playback_view(w->playback);
	widgets_lay(w, c);
	struct box scene = window_scene_box(w, c);
	if (w->blank) {
		draw_fill(c, (struct box){0, 0, c->width, c->height}, 0x000000);
		return;
	}
	if (!w->mode || !w->mode->covers)
		scene_draw_in(c, v, scene);
	if (w->mode && w->mode->draw)
		w->mode->draw(w, c, mode_box(w, c));
	widgets_draw(w, c);
	if (w->drag == DRAG_RANGE)
		draw_frame(c,
		           (struct box){fmin(w->drag_from, w->mouse_x), scene.y + 40, fabs(w->mouse_x - w->drag_from),
		                        scene.height - 150},
		           c->theme->accent, 2);
	if (*w->tip && w->drag == DRAG_NONE) {
		struct box ledger = w->mode && w->mode->covers ? (struct box){0, 0, 0, 0} : scene_ledger(v, scene);
		draw_tip(w, c, &ledger);
	}
	if (w->help)
		help_draw(c);
}

const char *window_title(struct window *w)
{
	const struct playback *p = w->playback;
	if (p->shown->foreign) {
		snprintf(w->title, sizeof w->title, "shardlab · %s", p->shown->label);
		return w->title;
	}
	const struct timeline *s = &p->shown->timeline;
	char speed[48] = "", second[96] = "", place[96];
	if (p->second)
		snprintf(second, sizeof second, tr(" beside %s"),
		         strcmp(p->second->label, p->shown->label) ? p->second->label : tr("before"));
	if (w->speed < 0.999 || w->speed > 1.001)
		snprintf(speed, sizeof speed, tr(" · speed %g"), w->speed);
	snprintf(place, sizeof place, tr("%s %zu of %zu"),
	         tr(p->step_size == STEP_SIZE_ROUND ? "step" : step_size_name(p->step_size)),
	         timeline_stop_of(s, p->step_size, p->position), s->stop_count[p->step_size] - 1);
	snprintf(w->title, sizeof w->title, "shardlab · %s%s%s%s · %s · %s%s%s%s%s%s%s%s", p->shown->label,
	         *p->shown->changed ? ", " : "", p->shown->changed, second,
	         tr(p->compare ? "compare" : scene_name(p->scene)), place, speed, w->playing ? tr(" · playing") : "",
	         w->help ? tr(" · help") : "", p->presenter ? tr(" · presenter") : "", w->blank ? tr(" · blank") : "",
	         w->mode && w->mode->name ? " · " : "", w->mode && w->mode->name ? tr(w->mode->name) : "");
	return w->title;
}

static void redraw(struct window *w)
{
	struct canvas c;
	w->dirty = false;
	if (!fit_texture(w))
		return;
	cairo_t *cr = cairo_create(w->surface);
	begin(w, &c, cr);
	draw_all(w, &c);
	canvas_end(&c);
	cairo_destroy(cr);
	cairo_surface_flush(w->surface);
	SDL_UpdateTexture(w->texture, NULL, cairo_image_surface_get_data(w->surface),
	                  cairo_image_surface_get_stride(w->surface));
	SDL_RenderCopy(w->renderer, w->texture, NULL, NULL);
	SDL_RenderPresent(w->renderer);
	char before[sizeof w->title];
	memcpy(before, w->title, sizeof before);
	if (strcmp(before, window_title(w)) != 0)
		SDL_SetWindowTitle(w->window, w->title);
}

void window_draw_now(struct window *w)
{
	SDL_PumpEvents();
	redraw(w);
}

/* Work that can wait, a little of it: while nothing else is to be done. */
static bool work_on(struct window *w)
{
	SDL_PumpEvents();
	if (!w->host.later || SDL_HasEvents(SDL_FIRSTEVENT, SDL_LASTEVENT))
		return false;
	bool was = w->searches;
	w->searches = w->host.later(w->host.context);
	w->dirty |= was && !w->searches;
	return w->searches || w->dirty;
}

/* ---- time ---- */

/* Moves what moves. Returns for how many milliseconds nothing will change; -1: until something happens. */
static int advance(struct window *w)
{
	Uint64 now = SDL_GetTicks64();
	struct playback *p = w->playback;
	int wait = -1;
	if (w->note_until && now >= w->note_until) {
		w->note_until = 0;
		p->note[0] = 0;
		w->dirty = true;
	} else if (w->note_until) {
		wait = (int)(w->note_until - now);
	}
	if (p->tween < 1) {
		double t = (double)(now - w->tweened) * fmax(1, w->speed) / TWEEN_MS;
		p->tween = t >= 1 ? 1 : t * t * (3 - 2 * t);
		w->dirty = true;
		wait = NOTE_FRAME_MS;
	}
	int moves = w->mode && w->mode->tick ? w->mode->tick(w, now) : -1;
	if (moves >= 0)
		wait = wait < 0 || moves < wait ? moves : wait;
	if (w->playing) {
		Uint64 every = (Uint64)fmax(40, STEP_MS / w->speed);
		if (now - w->stepped >= every) {
			size_t next = timeline_next(&p->shown->timeline, p->step_size, p->position);
			w->stepped = now;
			if (next == p->position)
				w->playing = false;
			else
				window_move(w, next, true);
			w->dirty = true;
			return 0;
		}
		int left = (int)(every - (now - w->stepped));
		wait = wait < 0 || left < wait ? left : wait;
	}
	return wait;
}

/* ---- events ---- */

static void with_canvas(struct window *w, const SDL_Event *e)
{
	struct canvas c;
	int screen_width = 0, screen_height = 0;
	if (!w->surface)
		return;
	/* A surface of nothing: measuring text does not disturb the picture. */
	cairo_surface_t *measure = cairo_recording_surface_create(CAIRO_CONTENT_COLOR, NULL);
	cairo_t *cr = cairo_create(measure);
	begin(w, &c, cr);
	SDL_GetWindowSize(w->window, &screen_width, &screen_height);
	double unit = c.pixel * (screen_width ? (double)w->width / screen_width : 1);
	switch (e->type) {
	case SDL_MOUSEMOTION:
		window_mouse_motion(w, &c, e->motion.x * unit, e->motion.y * unit);
		break;
	case SDL_MOUSEBUTTONDOWN:
	case SDL_MOUSEBUTTONUP:
		w->mouse_x = e->button.x * unit;
		w->mouse_y = e->button.y * unit;
		window_mouse_button(w, &c, &e->button);
		break;
	default:
		window_wheel(w, &c, (double)e->wheel.preciseY);
		break;
	}
	canvas_end(&c);
	cairo_destroy(cr);
	cairo_surface_destroy(measure);
}

void window_handle(struct window *w, const SDL_Event *e)
{
	switch (e->type) {
	case SDL_QUIT:
		w->left = true;
		break;
	case SDL_WINDOWEVENT:
		w->dirty |= e->window.event == SDL_WINDOWEVENT_EXPOSED ||
		            e->window.event == SDL_WINDOWEVENT_SIZE_CHANGED ||
		            e->window.event == SDL_WINDOWEVENT_RESTORED;
		if (e->window.event == SDL_WINDOWEVENT_SIZE_CHANGED || e->window.event == SDL_WINDOWEVENT_LEAVE)
			window_forget_tip(w);
		break;
	case SDL_RENDER_TARGETS_RESET:
	case SDL_RENDER_DEVICE_RESET:
		w->dirty = true;
		break;
	case SDL_KEYDOWN:
		window_key(w, &e->key);
		break;
	case SDL_TEXTINPUT:
		window_text(w, e->text.text);
		break;
	case SDL_MOUSEMOTION:
	case SDL_MOUSEBUTTONDOWN:
	case SDL_MOUSEBUTTONUP:
	case SDL_MOUSEWHEEL:
		with_canvas(w, e);
		break;
	default:
		break;
	}
}

bool window_turn(struct window *w)
{
	SDL_Event e;
	while (SDL_PollEvent(&e))
		window_handle(w, &e);
	advance(w);
	if (w->dirty)
		redraw(w);
	work_on(w);
	return !w->left;
}

enum status window_run(struct window *w)
{
	SDL_Event e;
	while (!w->left) {
		int wait = advance(w);
		if (w->dirty)
			redraw(w);
		if (work_on(w))
			wait = 0;
		if (wait < 0 ? SDL_WaitEvent(&e) : SDL_WaitEventTimeout(&e, wait)) {
			do {
				window_handle(w, &e);
			} while (SDL_PollEvent(&e));
		} else if (wait < 0) {
			return status_fail(STATUS_RUN, "the window is lost: %s", SDL_GetError());
		}
	}
	return STATUS_OK;
}
