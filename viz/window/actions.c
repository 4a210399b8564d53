#include <math.h>
#include <stdio.h>
#include <string.h>

#include "strategy/base/file.h"
#include "viz/window/parts.h"

static const double text_sizes[] = {0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.1, 1.25, 1.4, 1.6, 1.8, 2};
enum { TEXT_SIZES = sizeof text_sizes / sizeof text_sizes[0] };

/* Moves by a step of its own size, without changing what a step is. */
static void move_by(struct window *w, enum step_size step_size, bool forward)
{
	struct playback *p = w->playback;
	if (p->shown->foreign) {
		foreign_step(w, forward, step_size == STEP_SIZE_PHASE);
		return;
	}
	bool moving = p->tween < 1;
	w->playing = false;
	if (forward && moving) { /* the step has been taken: it ends now */
		window_finish_tween(w);
		return;
	}
	const struct timeline *s = &p->shown->timeline;
	window_move(w,
	            forward ? timeline_next(s, step_size, p->position) : timeline_previous(s, step_size, p->position),
	            forward);
}

/* by 0: back to normal. */
static void change_text(struct window *w, int by)
{
	int at = 0;
	for (int i = 0; i < TEXT_SIZES; i++)
		if (fabs(text_sizes[i] - w->playback->text) < fabs(text_sizes[at] - w->playback->text))
			at = i;
	at += by;
	at = at < 0 ? 0 : at >= TEXT_SIZES ? TEXT_SIZES - 1 : at;
	w->playback->text = by ? text_sizes[at] : 1;
}

/* Nothing changes unseen: behind the black screen a key or click shows the picture, and does no more. */
bool window_lift_blank(struct window *w)
{
	bool was = w->blank;
	w->dirty |= was;
	w->blank = false;
	return was;
}

/* Without a window manager, nobody but us makes the window as large as the display, and small again. */
void window_set_full(struct window *w, bool full)
{
	SDL_Rect *was = &w->windowed, all;
	if (full && !w->full && !SDL_GetDisplayBounds(SDL_GetWindowDisplayIndex(w->window), &all)) {
		SDL_GetWindowPosition(w->window, &was->x, &was->y);
		SDL_GetWindowSize(w->window, &was->w, &was->h);
		SDL_SetWindowPosition(w->window, all.x, all.y);
		SDL_SetWindowSize(w->window, all.w, all.h);
	}
	SDL_SetWindowFullscreen(w->window, full ? SDL_WINDOW_FULLSCREEN_DESKTOP : 0);
	if (!full && w->full && was->w) {
		SDL_SetWindowSize(w->window, was->w, was->h);
		SDL_SetWindowPosition(w->window, was->x, was->y);
	}
	w->full = full;
	w->dirty = true;
}

static void draw_mode(void *context, cairo_t *cr, double width, double height)
{
	struct window *w = context;
	const struct playback *p = w->playback;
	struct canvas c;
	canvas_begin(&c, cr, width, height, p->text, theme_of(p->theme), p->fonts);
	w->mode->picture(w, &c);
	canvas_end(&c);
}

static enum status write_picture(void *window, FILE *out)
{
	struct window *w = window;
	struct picture size = {.width = w->width, .height = w->height, .scale = 1};
	return w->mode && w->mode->picture ? export_drawing(draw_mode, w, EXPORT_PNG, &size, out)
	                                   : export_write(w->playback, EXPORT_PNG, &size, false, out);
}

static void save(struct window *w)
{
	struct playback *p = w->playback;
	char path[256], note[sizeof p->note];
	const char *hint = p->hint;
	window_finish_tween(w);
	snprintf(path, sizeof path, "shardlab-%.40s%s%.100s-%s-%zu.png", p->shown->label, *p->shown->changed ? "-" : "",
	         p->shown->changed, scene_name(p->scene),
	         p->shown->foreign ? 0 : timeline_stop_of(&p->shown->timeline, p->step_size, p->position));
	for (char *c = path; *c; c++)
		if (strchr("/: ,", *c))
			*c = '_';
	memcpy(note, p->note, sizeof note); /* a picture has neither notes nor keys to press */
	p->note[0] = 0;
	p->hint = NULL;
	bool failed = file_write(path, "Not saved", write_picture, w);
	p->hint = hint;
	if (failed)
		window_note(w, "%s", status_message());
	else
		window_note(w, "Saved as %s", path);
}

static void copy(struct window *w)
{
	int width = 0, height = 0;
	if (!w->full) /* else it is the screen's */
		SDL_GetWindowSize(w->window, &width, &height);
	const char *command = window_build_command(w, width, height);
	if (!command)
		command = w->host.command ? w->host.command(w->host.context, width, height) : "";
	if (!*command || SDL_SetClipboardText(command))
		window_note(w, "Could not copy: %s", SDL_GetError());
	else
		window_note(w, "Copied: %s", command);
}

static void predict(struct window *w)
{
	struct playback *p = w->playback;
	if (!p->shown->has_other) {
		window_note(w, "Only a measured run has a prediction beside it: open one with {trace} FILE.");
		return;
	}
	p->beside = !p->beside;
	p->compare = false;
	playback_pair(p, NULL);
	p->scene = p->beside ? SCENE_TIMELINE : p->scene;
	w->dirty = true;
}

static void change_range(struct window *w, int a)
{
	if (!window_has_timeline(w))
		window_note(w, "The timeline is not shown: press V, or click its name.");
	else if (a == ACTION_ZOOM_IN || a == ACTION_ZOOM_OUT)
		window_zoom(w, -1, a == ACTION_ZOOM_IN ? 0.5 : 2);
	else
		window_pan(w, a == ACTION_PAN_RIGHT ? 0.25 : -0.25);
}

/* NULL: a trace of another program, which has spans and no steps. */
static const struct timeline *timeline_shown(const struct window *w)
{
	return w->playback->shown->foreign ? NULL : &w->playback->shown->timeline;
}

static void to_edge(struct window *w, int by)
{
	const struct timeline *s = timeline_shown(w);
	w->playing = false;
	if (s)
		window_move(w, by < 0 ? 0 : s->instant_count, false);
	else
		foreign_to_edge(w, by > 0);
}

static void move_a_step(struct window *w, int by)
{
	move_by(w, w->playback->step_size, by > 0);
}

static void move_a_phase(struct window *w, int by)
{
	move_by(w, STEP_SIZE_PHASE, by > 0);
}

static void move_an_event(struct window *w, int by)
{
	move_by(w, STEP_SIZE_MESSAGE, by > 0);
}

static void play(struct window *w)
{
	const struct timeline *s = timeline_shown(w);
	if (s && !w->playing && w->playback->position == s->instant_count)
		window_move(w, 0, false);
	w->playing = s && !w->playing;
	w->stepped = SDL_GetTicks64() - 100000; /* the first step at once */
}

static void look_at_exposed(struct window *w)
{
	window_enter(w, &mode_exposed);
}

static void search(struct window *w)
{
	window_enter(w, &mode_search);
}

static void show_over_steps(struct window *w)
{
	w->playback->over_steps = !w->playback->over_steps;
}

static void ask_where(struct window *w)
{
	w->asked[0] = 0;
	if (timeline_shown(w))
		window_enter(w, &mode_go);
}

static void change_step_size(struct window *w)
{
	struct playback *p = w->playback;
	const struct timeline *s = timeline_shown(w);
	p->step_size = (enum step_size)((p->step_size + 1) % STEP_SIZE_COUNT);
	window_move(w, s ? timeline_stop(s, p->step_size, timeline_stop_of(s, p->step_size, p->position)) : 0, false);
}

static void change_speed(struct window *w, int by)
{
	w->speed = fmin(32, fmax(1.0 / 8, w->speed * (by > 0 ? 2 : 0.5)));
	window_note(w, "Speed: %g times", w->speed);
}

static void normal_speed(struct window *w)
{
	w->speed = 1;
	window_note(w, "Normal speed");
}

static void next_scene(struct window *w)
{
	w->playback->scene = (enum scene)((w->playback->scene + 1) % SCENE_COUNT);
	w->playback->compare = false;
}

static void race(struct window *w)
{
	window_race(w, NULL);
}

static void show_values(struct window *w)
{
	w->playback->values = !w->playback->values;
}

static void next_theme(struct window *w)
{
	w->playback->theme = (enum theme_name)((w->playback->theme + 1) % THEME_COUNT);
}

static void blank(struct window *w)
{
	w->blank = w->playback->presenter && !w->blank;
}

static void fill_screen(struct window *w)
{
	window_set_full(w, !w->full);
}

static void present(struct window *w)
{
	w->playback->presenter = !w->playback->presenter;
	window_set_full(w, w->playback->presenter);
}

static void show_help(struct window *w)
{
	w->help = !w->help;
}

static void quit(struct window *w)
{
	w->left = true;
}

/* An action has one of the functions: several share one, and `by` says on or back, or how far. */
static const struct {
	void (*alone)(struct window *w);
	void (*shared)(struct window *w, int by);
	int by;
} deeds[ACTION_COUNT] = {
        [ACTION_FIRST] = {.shared = to_edge, -1},
        [ACTION_LAST] = {.shared = to_edge, 1},
        [ACTION_NEXT] = {.shared = move_a_step, 1},
        [ACTION_BACK] = {.shared = move_a_step, -1},
        [ACTION_NEXT_PHASE] = {.shared = move_a_phase, 1},
        [ACTION_BACK_PHASE] = {.shared = move_a_phase, -1},
        [ACTION_NEXT_EVENT] = {.shared = move_an_event, 1},
        [ACTION_BACK_EVENT] = {.shared = move_an_event, -1},
        [ACTION_PLAY] = {play},
        [ACTION_COLLECTIVE] = {.shared = window_next_collective, 1},
        [ACTION_COLLECTIVE_BACK] = {.shared = window_next_collective, -1},
        [ACTION_HIGHLIGHT] = {.shared = window_next_notable, 1},
        [ACTION_HIGHLIGHT_BACK] = {.shared = window_next_notable, -1},
        [ACTION_EXPOSED] = {look_at_exposed},
        [ACTION_SEARCH] = {search},
        [ACTION_MEASURE] = {window_measure},
        [ACTION_OVER_TIME] = {show_over_steps},
        [ACTION_GO] = {ask_where},
        [ACTION_STEP_SIZE] = {change_step_size},
        [ACTION_SLOWER] = {.shared = change_speed, -1},
        [ACTION_FASTER] = {.shared = change_speed, 1},
        [ACTION_NORMAL] = {normal_speed},
        [ACTION_SCENE] = {next_scene},
        [ACTION_COMPARE] = {window_compare},
        [ACTION_RACE] = {race},
        [ACTION_BUILD] = {window_build},
        [ACTION_PREDICT] = {predict},
        [ACTION_WHAT_IF] = {whatif_enter},
        [ACTION_UNDO] = {.shared = whatif_undo, -1},
        [ACTION_REDO] = {.shared = whatif_undo, 1},
        [ACTION_VALUES] = {show_values},
        [ACTION_ASK] = {window_ask},
        [ACTION_THEME] = {next_theme},
        [ACTION_SAVE] = {save},
        [ACTION_COPY] = {copy},
        [ACTION_LARGER] = {.shared = change_text, 1},
        [ACTION_SMALLER] = {.shared = change_text, -1},
        [ACTION_NORMAL_TEXT] = {.shared = change_text, 0},
        [ACTION_FIT] = {window_fit},
        [ACTION_ZOOM_IN] = {.shared = change_range, ACTION_ZOOM_IN},
        [ACTION_ZOOM_OUT] = {.shared = change_range, ACTION_ZOOM_OUT},
        [ACTION_PAN_LEFT] = {.shared = change_range, ACTION_PAN_LEFT},
        [ACTION_PAN_RIGHT] = {.shared = change_range, ACTION_PAN_RIGHT},
        [ACTION_RANK] = {window_next_rank},
        [ACTION_SELECT_NEXT] = {.shared = window_select_by, 1},
        [ACTION_SELECT_BACK] = {.shared = window_select_by, -1},
        [ACTION_BEGIN] = {window_to_selected},
        [ACTION_SCROLL_DOWN] = {.shared = window_scroll, 4},
        [ACTION_SCROLL_UP] = {.shared = window_scroll, -4},
        [ACTION_BLANK] = {blank},
        [ACTION_FULL] = {fill_screen},
        [ACTION_PRESENT] = {present},
        [ACTION_HELP] = {show_help},
        [ACTION_QUIT] = {quit},
};

void window_do(struct window *w, enum action a)
{
	w->dirty = true;
	if (a != ACTION_BLANK && window_lift_blank(w))
		return;
	if (w->mode && w->mode->action && w->mode->action(w, (int)a))
		return;
	w->note_until = 0;
	w->playback->note[0] = 0;
	if (deeds[a].alone)
		deeds[a].alone(w);
	else
		deeds[a].shared(w, deeds[a].by);
}

void window_activate(struct window *w, const struct widget *one)
{
	if (!one->enabled)
		return;
	w->dirty = true;
	if (w->mode && w->mode->covers &&
	    (one->kind == WIDGET_SCENE || (one->kind == WIDGET_STRATEGY && !w->mode->follow)))
		window_leave(w);
	if (one->kind == WIDGET_MODE) {
		if (w->mode && w->mode->press)
			w->mode->press(w, one->number);
	} else if (one->kind == WIDGET_ACTION) {
		window_do(w, (enum action)one->number);
	} else if (one->kind == WIDGET_STRATEGY) {
		window_open_strategy(w, one->number);
	} else {
		if (w->mode && w->mode->covers)
			window_leave(w);
		w->playback->scene = (enum scene)one->number;
		w->playback->compare = false;
	}
}
