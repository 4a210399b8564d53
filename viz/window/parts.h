/* Shared by the files of the window. */
#ifndef SHARDLAB_VIZ_WINDOW_PARTS_H
#define SHARDLAB_VIZ_WINDOW_PARTS_H

#include <SDL.h>

#include "viz/scene/search.h"
#include "viz/window/mode.h"
#include "viz/window/racing.h"
#include "viz/window/window.h"

/* constant, the keys as help names them (" or " between them: keys.c reads them from here), the button ("": it
 * has none), what it does. docs/window.md has the same table; tests/viz/test_keys.c compares them. */
#define ACTION_LIST(X)                                                                                                 \
	X(FIRST, "Home", "|<", "to the beginning")                                                                     \
	X(BACK, "← or Page up", "<", "one step back")                                                                  \
	X(PLAY, "Space", "play", "play or pause")                                                                      \
	X(NEXT, "→ or Page down", ">", "one step forward; finishes a movement under way")                              \
	X(LAST, "End", ">|", "to the end")                                                                             \
	X(BACK_PHASE, "Shift ←", "<<", "one phase back: a unit's pass")                                                \
	X(NEXT_PHASE, "Shift →", ">>", "one phase forward")                                                            \
	X(BACK_EVENT, ",", ",", "one message or allocation back")                                                      \
	X(NEXT_EVENT, ".", ".", "one message or allocation forward")                                                   \
	X(COLLECTIVE, "K", "collective", "to the beginning of the next collective")                                    \
	X(COLLECTIVE_BACK, "Shift K", "", "to the beginning of this collective, then of the one before")               \
	X(HIGHLIGHT, "N", "event", "to what matters most, then next: overflow, peak, exposed, bubble, overlap, ends")  \
	X(HIGHLIGHT_BACK, "Shift N", "", "to what matters more than this")                                             \
	X(GO, "G", "go to", "type a step and Enter")                                                                   \
	X(STEP_SIZE, "D", "step", "what a step is: a message, a round, a phase")                                       \
	X(SLOWER, "[", "-", "slower")                                                                                  \
	X(FASTER, "]", "+", "faster")                                                                                  \
	X(NORMAL, "Backspace", "1x", "at normal speed")                                                                \
	X(RANK, "R", "rank", "look at the next rank: its plan, its buffers")                                           \
	X(SELECT_NEXT, "↓", "", "select the next operation: what it is, what it waits for")                            \
	X(SELECT_BACK, "↑", "", "select the operation before")                                                         \
	X(BEGIN, "Enter", "", "to the beginning of the selected operation")                                            \
	X(SCROLL_DOWN, "Shift ↓", "", "scroll down: the plan, the lanes")                                              \
	X(SCROLL_UP, "Shift ↑", "", "scroll up")                                                                       \
	X(ZOOM_IN, "+", "in", "a shorter range of the timeline")                                                       \
	X(ZOOM_OUT, "-", "out", "a longer range of the timeline")                                                      \
	X(FIT, "Z", "fit", "the measured range, then the whole timeline")                                              \
	X(MEASURE, "M", "sum", "sums of the selected operation's time, or of what is in sight")                        \
	X(PAN_LEFT, "Ctrl ←", "", "an earlier range of the timeline")                                                  \
	X(PAN_RIGHT, "Ctrl →", "", "a later range of the timeline")                                                    \
	X(EXPOSED, "L", "long", "the longest exposed communication")                                                   \
	X(SEARCH, "/", "find", "search operations, buffers and spans by a part of their names")                        \
	X(OVER_TIME, "O", "over", "memory over time, or over the steps of the cursor")                                 \
	X(SCENE, "V", "", "the next scene (click a name for another)")                                                 \
	X(COMPARE, "C", "compare", "memory of all strategies; again: two of them in every scene; again: one")          \
	X(RACE, "A", "race", "a race of the algorithms of a collective; Esc leaves it")                                \
	X(BUILD, "E", "build", "an empty step: put it together yourself")                                              \
	X(PREDICT, "P", "predict", "a measured run beside its simulation")                                             \
	X(WHAT_IF, "W", "what if", "settings to change, and what becomes of the step")                                 \
	X(UNDO, "U or Ctrl Z", "", "what if: undoes a change")                                                         \
	X(REDO, "Shift U or Ctrl Y", "", "what if: makes it again")                                                    \
	X(VALUES, "X", "values", "numbers in the chunks of a collective, or none")                                     \
	X(ASK, "Q", "ask", "questions: what comes next? asked before it is shown")                                     \
	X(THEME, "T", "theme", "light, dark, projector, paper")                                                        \
	X(SAVE, "S", "save", "this picture as a PNG file in the current folder")                                       \
	X(COPY, "Ctrl C", "copy", "copy the command that restores this view")                                          \
	X(LARGER, "Ctrl +", "A+", "larger text")                                                                       \
	X(SMALLER, "Ctrl -", "A-", "smaller text")                                                                     \
	X(NORMAL_TEXT, "Ctrl 0", "A", "text of normal size")                                                           \
	X(FULL, "F or F11", "full", "full screen")                                                                     \
	X(PRESENT, "F5", "present", "presenter: large, without buttons")                                               \
	X(BLANK, "B", "", "in the presenter: a black screen, and back")                                                \
	X(HELP, "? or H or F1", "?", "this help")                                                                      \
	X(QUIT, "Ctrl Q", "", "leave (or close the window)")

/* keys that are no action of their own, and what the mouse does */
#define HELP_LIST(X)                                                                                                   \
	X("1 – 9", "another strategy (click a name for the others)")                                                   \
	X("Tab, Enter", "to the next button, which says what it does; press it")                                       \
	X("Esc", "leaves help, a list, a measured range, presenter, full screen, a selection")                         \
	X("click", "selects; twice: to the operation's beginning, or to the range just measured")                      \
	X("hover", "explains what lies under the mouse")                                                               \
	X("drag", "the bar of phases; over the timeline it measures a range")                                          \
	X("wheel", "scrolls; with Ctrl zooms, with Shift pans; right click fits")

enum action {
#define X(constant, key, button, what) ACTION_##constant,
	ACTION_LIST(X)
#undef X
	        ACTION_COUNT
};

enum widget_kind { WIDGET_ACTION, WIDGET_SCENE, WIDGET_STRATEGY, WIDGET_MODE };

struct widget {
	enum widget_kind kind;
	int number; /* action, scene, strategy, or as the mode that is on numbers its own */
	struct box box;
	const char *label;
	bool on, enabled;
	bool bare;     /* the mode draws it: only the ring of Tab is added */
	double before; /* units: room left of it, where a group of buttons begins */
};

enum drag { DRAG_NONE, DRAG_SCRUB, DRAG_RANGE, DRAG_WIDGET };

enum { WIDGETS = 192 };

/* The user's place in a step, to return to in another step of the same model (place.c). It outlives the step. */
struct same_op {
	enum op_kind kind;
	enum pass pass;
	int unit, kernel, micro, group;
	int nth; /* of those that are like it; 0: none */
};
/* A place in a step, in numbers alone: it outlives the step. */
struct origin {
	size_t position, instants, phases; /* of so many */
	size_t begin, end;                 /* of its phase */
};
struct place {
	const struct timeline *timeline; /* NULL: of another program's trace */
	size_t position;
	struct origin origin; /* where the user went last, in the step that was shown then */
	int64_t focus, from, to, step, selected;
	struct same_op op;
};
/* The place that another step's place became in the step that is shown. Until the user moves, returning leads exactly
 * to where the user began. */
struct landing {
	struct place place;
	const struct trace_view *shown;
	size_t position;
	int64_t focus, from, to, selected_rank;
	int selected_op;
};

struct board;

struct window {
	struct playback *playback;
	struct window_host host;
	SDL_Window *window;
	SDL_Renderer *renderer;
	SDL_Texture *texture;
	cairo_surface_t *surface;
	int width, height; /* pixels */
	SDL_Rect windowed; /* screen units: the window before it took the whole screen */
	bool motion, playing, dirty, help, blank, full, left;
	const struct mode *mode; /* NULL: none is on */
	double speed;
	Uint64 stepped, tweened; /* ms: when the last step, or the tween, began */
	Uint64 note_until;       /* ms; 0: no note */
	struct widget widgets[WIDGETS];
	int widget_count, focus;          /* focus -1: none */
	double top, bottom;               /* units: how high the two bars of buttons are */
	int strategy;                     /* -1: none of the list */
	int before;                       /* the strategy that was shown before it; -1 */
	int second;                       /* the strategy beside it */
	const struct trace_view *paired;  /* second holds while the playback's second is this one */
	char asked[16];                   /* the text typed behind "go to" */
	struct board *board;              /* of mode_build; NULL: none yet */
	char board_of[384];               /* the heading of what the board is about */
	const struct trace_view *unbuilt; /* shown before the user's own step was, which stands beside it */
	const struct trace_view *unbuilt_second;
	struct place unbuilt_place; /* the place in that step */
	struct landing landing;
	char tip[384];
	double tip_x, tip_y;                 /* units: below and right of there */
	double mouse_x, mouse_y;             /* units */
	int notable;                         /* of what N goes to, that it went to last; -1: none yet */
	const struct trace_view *notable_of; /* the trace of that one */
	struct search search;                /* of mode_search */
	const struct trace_view *searched;   /* in which it was */
	size_t found;                        /* the hit that it is at */
	bool visited;                        /* the cursor has been there */
	int chosen;                          /* row of mode_exposed */
	int64_t put_away_from, put_away_to;  /* ns: a measured range that a click has put away */
	enum drag drag;
	double drag_from; /* unit x where a range begins or a widget was grabbed */
	double drag_from_y;
	int drag_number; /* the number of the widget that was grabbed */
	int64_t drag_time;
	char title[640];
	struct racing racing;
	int slider;           /* the what-if row whose slider the mouse holds; -1 */
	bool searches;        /* the program has work that can wait */
	struct asking asking; /* the questions of a step, while they are asked */
};

/* widgets.c */
/* A button; where there is no room for more, the next takes its place. */
struct widget *widget_add(struct window *w, enum widget_kind kind, int number, struct box box, const char *label);
void widgets_lay(struct window *w, struct canvas *c);
void widgets_draw(struct window *w, struct canvas *c);
int widget_at(const struct window *w, double x, double y); /* -1: none */
void help_draw(struct canvas *c);
/* The box of the scene, between the bars and beside the panel of a mode. */
struct box window_scene_box(const struct window *w, const struct canvas *c);
const char *action_key(enum action a);
const char *action_what(enum action a);
/* True if it is about the window and its look, whatever is shown in it. */
bool action_is_of_window(enum action a);

/* actions.c */
void window_do(struct window *w, enum action a);
void window_activate(struct window *w, const struct widget *one);
void window_move(struct window *w, size_t position, bool tween);
void window_note(struct window *w, const char *format, ...) __attribute__((format(printf, 2, 3)));
void window_finish_tween(struct window *w);
void window_set_full(struct window *w, bool full);
/* True: the screen was black, and is no longer. */
bool window_lift_blank(struct window *w);

/* strategies.c: the strategy of a number is shown, or where two are, stands beside it. */
void window_open_strategy(struct window *w, int number);
void window_compare(struct window *w); /* all; two; one */

/* place.c */
void place_remember(struct place *out, const struct window *w);
void place_return(const struct place *place, struct window *w); /* the playback shows the other */

/* mode_whatif.c: opens the panel, or closes it; undoes a change (by -1), or makes it again. */
void whatif_enter(struct window *w);
void whatif_undo(struct window *w, int by);

/* window.c: the picture as it is now, in the middle of something that takes long. */
void window_draw_now(struct window *w);
/* mode_build.c: enters or leaves it; frees what it keeps. */
void window_build(struct window *w);
void window_build_release(struct window *w);
/* The command that restores what is built or stepped through; NULL: neither is on. */
const char *window_build_command(struct window *w, int width, int height);

/* keys.c: the action of a key, or of what it writes. False: none. */
bool window_action_of_key(SDL_Keycode key, bool control, bool shift, enum action *out);
bool window_action_of_text(char c, enum action *out);

/* view.c: what one looks at */
void window_select(struct window *w, int64_t rank, int op);
void window_select_by(struct window *w, int by);
void window_next_rank(struct window *w);
void window_to_selected(struct window *w);
void window_scroll(struct window *w, int lines);
/* zoom: about a time, which stays where it is; -1: about the selection or the cursor. pan: by a part of the range. */
void window_zoom(struct window *w, int64_t at, double factor);
void window_pan(struct window *w, double part);
/* A stretch of time is in sight from now on. */
void window_show(struct window *w, int64_t begin, int64_t end);
/* The measured range becomes what is in sight; if it is, or there is none, everything does. */
void window_fit(struct window *w);
/* Measures the selected operation's time, or what is in sight; or no longer. */
void window_measure(struct window *w);
void window_put_away(struct window *w);
/* Goes to the beginning of the next collective, or of the one before. */
void window_next_collective(struct window *w, int by);
/* The next thing in the order of importance, or the one before. */
void window_next_notable(struct window *w, int by);
/* Goes to an operation, or in another program's trace to a span of a lane: selects it, brings it into sight, and with
 * `cursor` moves the cursor there. */
void window_go_to(struct window *w, int64_t rank, int op, bool cursor);
/* True if there is a timeline on the screen. */
bool window_has_timeline(const struct window *w);

/* foreign.c: the same in another program's trace. step: to where a span begins, or a span that is part of no other in
 * the lane that one looks at. */
void foreign_step(struct window *w, bool forward, bool own_lane);
void foreign_to_edge(struct window *w, bool end);
void foreign_select_by(struct window *w, int by);
void foreign_next_lane(struct window *w);
void foreign_to_selected(struct window *w);
void foreign_next_exposed(struct window *w, int by);
void foreign_go_to(struct window *w, int64_t lane, int64_t span, bool cursor);

/* input.c */
void window_key(struct window *w, const SDL_KeyboardEvent *k);
void window_text(struct window *w, const char *text);
void window_mouse_button(struct window *w, struct canvas *c, const SDL_MouseButtonEvent *b);
void window_forget_tip(struct window *w);
/* True while the mouse drags a widget of the mode. */
bool window_drags(const struct window *w);
void window_mouse_motion(struct window *w, struct canvas *c, double x, double y);
void window_wheel(struct window *w, struct canvas *c, double turns);

#endif
