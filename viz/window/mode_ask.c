/* Questions in the window: what comes next is asked beside the picture, which hides it; behind the answer it is shown.
 */
#include <stdio.h>
#include <string.h>

#include "strategy/base/language.h"
#include "viz/scene/scene_parts.h"
#include "viz/window/parts.h"

/* The picture as the question wants it, before the answer and behind it. */
static void show(struct window *w)
{
	struct playback *p = w->playback;
	const struct question *q = asking_now(&w->asking);
	size_t from = p->position;
	playback_ask(p, &w->asking);
	w->playing = false;
	/* Messages move there where it is one step on. */
	if (q && w->asking.stage == ANSWERED && timeline_next(w->asking.timeline, p->step_size, from) == q->shown)
		window_move(w, q->shown, true);
	w->focus = -1;
	w->dirty = true;
}

static void begin(struct window *w)
{
	asking_begin(&w->asking, &w->playback->shown->timeline, w->playback->position);
	show(w);
}

void window_ask(struct window *w)
{
	struct playback *p = w->playback;
	if (w->mode == &mode_ask) {
		window_leave(w);
		return;
	}
	if (p->shown->foreign) {
		window_note(w, "Questions are about a plan: a trace of another program has none.");
		return;
	}
	if (!asking_begin(&w->asking, &p->shown->timeline, p->position)) {
		window_note(w, "There is nothing to ask about this step.");
		return;
	}
	window_enter(w, &mode_ask);
	show(w);
}

static void leave(struct window *w)
{
	char words[TALLY_WORDS];
	const struct tally *t = &w->asking.tally;
	w->playback->asking = NULL;
	if (t->right + t->wrong + t->skipped)
		window_note(w, "Questions: %s.", tally_words(t, words));
}

/* ---- answering ---- */

static void answer(struct window *w, const char *text)
{
	if (asking_answer(&w->asking, text) != ANSWER_UNCLEAR)
		show(w);
	w->dirty = true;
}

static void choose(struct window *w, int choice)
{
	const char text[] = {(char)('1' + choice), 0};
	answer(w, text);
}

/* On: past a question, or to the next. */
static void go_on(struct window *w)
{
	if (w->asking.stage == ASKED)
		asking_skip(&w->asking);
	else
		asking_next(&w->asking);
	show(w);
}

/* Another strategy has questions of its own. */
static void follow_strategy(struct window *w)
{
	if (w->playback->shown->foreign)
		window_leave(w);
	else if (w->asking.timeline != &w->playback->shown->timeline)
		begin(w);
}

static bool asks_number(const struct window *w)
{
	return asking_is_open(&w->asking) && !asking_now(&w->asking)->choice_count;
}

/* ---- keys ---- */

static bool key(struct window *w, SDL_Keycode key, bool control, bool shift)
{
	(void)shift;
	follow_strategy(w);
	if (w->mode != &mode_ask || control)
		return false;
	if (key == SDLK_RETURN || key == SDLK_KP_ENTER) {
		if (asks_number(w))
			answer(w, w->asking.typed);
		else if (w->asking.stage == ANSWERED)
			go_on(w);
		else if (w->asking.stage == ASKING_OVER)
			begin(w);
		return true;
	}
	if (key == SDLK_SPACE && asks_number(w) && *w->asking.typed) /* between the number and its unit */
		return true;
	if (key == SDLK_BACKSPACE && asks_number(w)) {
		asking_erase(&w->asking);
		w->dirty = true;
		return true;
	}
	return false;
}

/* A number begins with a digit or a sign; behind that comes its unit, whose letters are nothing else then. */
static bool type(struct window *w, char c)
{
	bool begun = w->asking.typed[0] != 0;
	if (!begun && !strchr("0123456789.-+", c))
		return false;
	asking_type(&w->asking, c);
	w->dirty = true;
	return true;
}

static bool text(struct window *w, const char *text)
{
	char c = text[0];
	const struct question *q = asking_now(&w->asking);
	follow_strategy(w);
	if (w->mode != &mode_ask)
		return false;
	if (!asking_is_open(&w->asking)) /* a digit too many */
		return w->asking.stage == ANSWERED && c >= '1' && c <= '9';
	if (asks_number(w) && type(w, c))
		return true;
	if (c == 's' || c == 'S') {
		go_on(w);
		return true;
	}
	if (c < '1' || c > '9')
		return false;
	if (c - '1' < q->choice_count)
		choose(w, c - '1');
	return true; /* no other strategy by mistake */
}

static bool ask_for_answer(struct window *w)
{
	snprintf(w->asking.why, sizeof w->asking.why, tr("Answer first, or skip it with →."));
	return true;
}

/* While a question is open, nothing shows what comes next; afterwards the user may look around. */
static bool action(struct window *w, int a)
{
	bool open = asking_is_open(&w->asking);
	follow_strategy(w);
	if (w->mode != &mode_ask)
		return false;
	switch (a) {
	case ACTION_PLAY:
		if (open)
			return ask_for_answer(w);
		/* fallthrough */
	case ACTION_NEXT:
		if (w->asking.stage != ASKING_OVER)
			go_on(w);
		return true;
	case ACTION_SCENE:
	case ACTION_VALUES:
	case ACTION_ASK:
		return false;
	default:
		return open && !action_is_of_window((enum action)a) && ask_for_answer(w);
	}
}

/* ---- the picture and the mouse ---- */

static void lay(struct window *w, struct canvas *c, struct box box)
{
	const struct question *q;
	follow_strategy(w);
	if (w->mode != &mode_ask || !asking_is_open(&w->asking) || !(q = asking_now(&w->asking)))
		return;
	for (int i = 0; i < q->choice_count; i++)
		widget_add(w, WIDGET_MODE, i, question_choice_box(c, &w->asking, box, i), "")->bare = true;
}

static void draw(struct window *w, struct canvas *c, struct box box)
{
	draw_question(c, &w->asking, box);
}

static void press(struct window *w, int number)
{
	if (asking_is_open(&w->asking))
		choose(w, number);
}

static const char *tip(struct window *w, int number)
{
	(void)w;
	(void)number;
	return tr("this is the answer");
}

/* The picture has no tips before the answer. A click on the card after it goes on. */
static bool mouse(struct window *w, struct canvas *c, struct box box, Uint32 event)
{
	bool on_card = box_has(box, w->mouse_x, w->mouse_y);
	(void)c;
	if (on_card && event == SDL_MOUSEBUTTONDOWN && w->asking.stage == ANSWERED)
		go_on(w);
	return on_card || asking_is_open(&w->asking);
}

const struct mode mode_ask = {
        .entered_by = ACTION_ASK,
        .name = "questions",
        .side = 440,
        .lay = lay,
        .draw = draw,
        .key = key,
        .text = text,
        .action = action,
        .mouse = mouse,
        .press = press,
        .tip = tip,
        .leave = leave,
};
