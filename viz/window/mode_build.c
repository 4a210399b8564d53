/* Build it yourself, in the window: the board (viz/build/board.h) in place of the scene. Arrows choose in the drawer,
 * Enter places; chips are widgets, so that the mouse places them too, and each says what it is for. */
#include <stdio.h>
#include <string.h>

#include "strategy/base/language.h"
#include "viz/build/board.h"
#include "viz/window/parts.h"

/* The actions of buttons and letters: letter, label, action. */
#define BUTTON_LIST(X)                                                                                                 \
	X(HINT, 'h', "hint", "the next move of the strategy's own plan, and why (H)")                                  \
	X(BACK, 'k', "take back", "takes the last one back (Backspace)")                                               \
	X(DONE, 'd', "done", "the step is complete: let it be judged, and run beside the strategy's own (D)")          \
	X(WATCH, 'v', "step through", "your step beside the strategy's own, in every scene (V); E comes back")         \
	X(SOLVE, 'o', "solution", "places all that is left, as the strategy does (O)")                                 \
	X(RESTART, 'r', "restart", "an empty step again (R)")

enum button {
#define X(constant, letter, label, what) BUTTON_##constant,
	BUTTON_LIST(X)
#undef X
	        BUTTONS
};

static const struct {
	char letter;
	const char *label, *what;
} buttons[BUTTONS] = {
#define X(constant, letter, label, what) {letter, label, what},
        BUTTON_LIST(X)
#undef X
};

/* Numbers of widgets: moves, then buttons. */
enum { FIRST_BUTTON = EXERCISE_MOVES };

/* ---- opening ---- */

/* The exercise about what the window shows; another strategy begins anew. */
static enum status open_board(struct window *w)
{
	const struct playback *p = w->playback;
	if (w->board && !strcmp(w->board_of, p->shown->heading))
		return STATUS_OK;
	window_build_release(w);
	if (p->shown->foreign || !w->host.build.plan)
		return status_fail(STATUS_INPUT, "What a file holds is not built anew: open a strategy.");
	enum status s = board_open(&w->board, &w->host.build, p->shown->label, p->fonts);
	if (!s)
		snprintf(w->board_of, sizeof w->board_of, "%s", p->shown->heading);
	return s;
}

/* The shown step is about to change: the scenes return to the step before. */
static void stop_watching(struct window *w)
{
	struct playback *p = w->playback;
	if (!w->board)
		return;
	bool watching = p->shown == &w->board->mine.shown;
	if (p->second == &w->board->own.shown)
		playback_pair(p, watching ? w->unbuilt_second : NULL);
	if (!watching)
		return;
	playback_show(p, w->unbuilt);
	place_return(&w->unbuilt_place, w);
}

/* Steps through both in all scenes. */
static void watch(struct window *w)
{
	struct playback *p = w->playback;
	struct board *b = w->board;
	if (!b->exercise.done) {
		b->exercise.said = (struct verdict){.accepted = true, .move = -1};
		snprintf(b->exercise.said.text, sizeof b->exercise.said.text,
		         tr("A step that is done can be stepped through beside the strategy's own. D says that it is "
		            "done."));
		return;
	}
	window_leave(w);
	w->unbuilt = p->shown;
	w->unbuilt_second = p->second;
	place_remember(&w->unbuilt_place, w);
	playback_show(p, &b->mine.shown);
	playback_pair(p, &b->own.shown);
	p->compare = p->beside = false;
	p->tween = 1;
}

enum status window_begin_building(struct window *w, const char *moves)
{
	stop_watching(w);
	enum status s = open_board(w);
	if (s)
		return s;
	window_enter(w, &mode_build);
	struct exercise *e = &w->board->exercise;
	if (!moves || (s = exercise_play(e, moves)))
		return s;
	if (e->said.accepted && e->placed_count >= e->move_count)
		exercise_done(e);
	board_refresh(w->board);
	return STATUS_OK;
}

const char *window_build_command(struct window *w, int width, int height)
{
	char moves[4096];
	if (!w->board || !w->host.build_command ||
	    (w->mode != &mode_build && w->playback->shown != &w->board->mine.shown))
		return NULL;
	exercise_list(&w->board->exercise, moves, sizeof moves);
	return w->host.build_command(w->host.context, width, height, moves);
}

void window_build(struct window *w)
{
	w->playing = false;
	if (w->mode == &mode_build)
		window_leave(w);
	else if (window_begin_building(w, NULL))
		window_note(w, "%s", status_message());
}

void window_build_release(struct window *w)
{
	stop_watching(w);
	board_close(w->board);
	w->board = NULL;
}

/* ---- what a learner does ---- */

static void place(struct window *w, int move)
{
	struct board *b = w->board;
	b->chosen = move;
	if (!exercise_place(&b->exercise, move))
		return;
	board_refresh(b);
	if (exercise_times(&b->exercise, move) != 1)
		return;
	/* On to what is not placed yet: of this kind, or of the next. */
	for (int i = 0; i < b->exercise.move_count && exercise_times(&b->exercise, b->chosen); i++)
		board_choose(b, 1);
}

static void advise(struct board *b)
{
	int next = exercise_hint(&b->exercise);
	if (next >= 0)
		b->chosen = next;
}

static void push(struct window *w, enum button which)
{
	struct board *b = w->board;
	struct exercise *e = &b->exercise;
	switch (which) {
	case BUTTON_HINT:
		advise(b);
		return;
	case BUTTON_BACK:
		exercise_undo(e);
		break;
	case BUTTON_DONE:
		exercise_done(e);
		return;
	case BUTTON_WATCH:
		watch(w);
		return;
	case BUTTON_SOLVE:
		exercise_solve(e);
		exercise_done(e);
		break;
	default:
		exercise_restart(e);
		break;
	}
	board_refresh(b);
}

static bool drags(struct window *w, int number)
{
	(void)w;
	return number < FIRST_BUTTON;
}

/* The dropped move goes before the one under the mouse. */
static void drop(struct window *w, struct canvas *c, int number)
{
	struct board *b = w->board;
	int at = board_drop(b, mode_box(w, c), w->mouse_x, w->mouse_y);
	if (at < 0)
		return;
	b->chosen = number;
	if (exercise_insert(&b->exercise, number, at))
		board_refresh(b);
}

static void press(struct window *w, int number)
{
	if (number >= FIRST_BUTTON)
		push(w, (enum button)(number - FIRST_BUTTON));
	else
		place(w, number);
	w->dirty = true;
}

/* ---- keys ---- */

static bool key(struct window *w, SDL_Keycode key, bool control, bool shift)
{
	struct board *b = w->board;
	(void)shift;
	if (control)
		return false;
	switch (key) {
	case SDLK_LEFT:
	case SDLK_RIGHT:
		board_choose(b, key == SDLK_RIGHT ? 1 : -1);
		break;
	case SDLK_UP:
	case SDLK_DOWN:
		board_choose_row(b, key == SDLK_DOWN ? 1 : -1);
		break;
	case SDLK_RETURN:
	case SDLK_KP_ENTER:
		place(w, b->chosen);
		break;
	case SDLK_BACKSPACE:
		push(w, BUTTON_BACK);
		break;
	case SDLK_HOME:
	case SDLK_END:
	case SDLK_PAGEUP:
	case SDLK_PAGEDOWN:
		break; /* of the scene, which is not in sight */
	default:
		return false;
	}
	window_forget_tip(w);
	w->focus = -1;
	w->dirty = true;
	return true;
}

/* Letters of the window that make sense here go on to it. */
static bool text(struct window *w, const char *text)
{
	char letter = text[0];
	for (int i = 0; i < BUTTONS; i++)
		if ((letter | ' ') == buttons[i].letter && i != BUTTON_BACK) {
			push(w, (enum button)i);
			w->dirty = true;
			return true;
		}
	return letter == ' ' || strchr(".,[]+-gGnNpPxXzZcC", letter);
}

/* ---- the panel ---- */

static void lay_buttons(struct window *w, struct box in)
{
	enum { ACROSS = 3 };
	double width = (in.width - 6 * (ACROSS - 1)) / ACROSS;
	for (int i = 0; i < BUTTONS; i++) {
		int row = i / ACROSS, column = i % ACROSS;
		struct box b = {in.x + column * (width + 6), in.y + row * 34.0, width, 30};
		widget_add(w, WIDGET_MODE, FIRST_BUTTON + i, b, buttons[i].label);
	}
}

static void lay(struct window *w, struct canvas *c, struct box box)
{
	struct board *b = w->board;
	struct box room = board_lay(c, b, box);
	for (int i = 0; i < b->exercise.move_count; i++)
		widget_add(w, WIDGET_MODE, i, b->chips[i], b->exercise.moves[i].said_object)->bare = true;
	lay_buttons(w, room);
}

static void draw(struct window *w, struct canvas *c, struct box box)
{
	struct board *b = w->board;
	int chosen = b->chosen;
	if (w->focus >= 0 && w->focus < w->widget_count && w->widgets[w->focus].kind == WIDGET_MODE &&
	    w->widgets[w->focus].number < FIRST_BUTTON)
		b->chosen = w->widgets[w->focus].number;
	else if (w->focus >= 0)
		b->chosen = -1;
	board_draw(c, b, box);
	b->chosen = chosen;
	if (window_drags(w))
		board_draw_drag(c, b, box, w->drag_number, w->mouse_x, w->mouse_y);
	if (*w->playback->note)
		draw_text(c, box.x + box.width / 2, box.y + 23, 13, WEIGHT_BOLD, c->theme->ink, ALIGN_CENTRE,
		          0.3 * box.width, "%s", w->playback->note);
}

static const char *tip(struct window *w, int number)
{
	static char words[256];
	if (number >= FIRST_BUTTON)
		return buttons[number - FIRST_BUTTON].what;
	const struct move *m = &w->board->exercise.moves[number];
	snprintf(words, sizeof words, "%s: %s", m->said, move_what(m->kind));
	return words;
}

/* Another strategy was chosen. */
static void follow(struct window *w)
{
	if (open_board(w)) {
		window_leave(w);
		window_note(w, "%s", status_message());
	}
}

static void picture(struct window *w, struct canvas *c)
{
	struct box all = {0, 0, c->width, c->height};
	board_lay(c, w->board, all);
	board_draw(c, w->board, all);
}

const struct mode mode_build = {
        .entered_by = ACTION_BUILD,
        .name = "build",
        .covers = true,
        .lay = lay,
        .draw = draw,
        .key = key,
        .text = text,
        .drags = drags,
        .drop = drop,
        .press = press,
        .tip = tip,
        .follow = follow,
        .picture = picture,
};
