/* What the files of the window share. */
#ifndef SHARDLAB_VIZ_WINDOW_PARTS_H
#define SHARDLAB_VIZ_WINDOW_PARTS_H

#include <SDL.h>

#include "viz/window.h"

/* constant, the key as help names it, the button ("": it has none of its own), what it does */
#define ACTION_LIST(X)                                                                                                 \
	X(FIRST, "Home", "|<", "to the beginning")                                                                     \
	X(BACK, "← or Page up", "<", "one step back")                                                                  \
	X(PLAY, "Space", "play", "play or pause")                                                                      \
	X(NEXT, "→ or Page down", ">", "one step on; finishes what moves")                                             \
	X(LAST, "End", ">|", "to the end")                                                                             \
	X(BACK_PHASE, "Shift ←", "<<", "one phase back: a unit's pass")                                                \
	X(NEXT_PHASE, "Shift →", ">>", "one phase on")                                                                 \
	X(BACK_EVENT, ",", ",", "one message or allocation back")                                                      \
	X(NEXT_EVENT, ".", ".", "one message or allocation on")                                                        \
	X(NOTABLE, "N", "next event", "run to the next peak, overflow, stall, overlap or end of a collective")         \
	X(GO, "G", "go to", "type a step and Enter")                                                                   \
	X(STRIDE, "D", "step", "what a step is: a message, a round, a phase")                                          \
	X(SLOWER, "[", "-", "slower")                                                                                  \
	X(FASTER, "]", "+", "faster")                                                                                  \
	X(NORMAL, "Backspace", "1x", "at normal speed")                                                                \
	X(SCENE, "V", "", "the next scene (or click its name)")                                                        \
	X(COMPARE, "C", "compare", "memory of the strategies side by side")                                            \
	X(PREDICT, "P", "predict", "a measured run beside its simulation")                                             \
	X(THEME, "T", "theme", "light, dark, projector, paper")                                                        \
	X(SAVE, "S", "save", "this picture as a PNG file in the current folder")                                       \
	X(COPY, "Ctrl C", "copy", "the command that restores this view, to the clipboard")                             \
	X(LARGER, "Ctrl +", "A+", "larger text")                                                                       \
	X(SMALLER, "Ctrl -", "A-", "smaller text")                                                                     \
	X(NORMAL_TEXT, "Ctrl 0", "", "text of normal size")                                                            \
	X(FIT, "Z", "fit", "the whole timeline (Ctrl wheel zooms, drag selects a range, wheel scrolls)")               \
	X(FULL, "F or F11", "full", "full screen")                                                                     \
	X(PRESENT, "F5", "present", "presenter: large, without controls; B blanks, Esc leaves")                        \
	X(HELP, "? or H", "?", "this help")                                                                            \
	X(QUIT, "Ctrl Q", "", "leave")

enum action {
#define X(constant, key, button, what) ACTION_##constant,
	ACTION_LIST(X)
#undef X
	        ACTION_COUNT
};

enum widget_kind { WIDGET_ACTION, WIDGET_SCENE, WIDGET_STRATEGY };

struct widget {
	enum widget_kind kind;
	int number; /* action, scene or strategy */
	struct box box;
	const char *label;
	bool on, enabled;
};

enum drag { DRAG_NONE, DRAG_SCRUB, DRAG_RANGE };

enum { WIDGETS = 64, TOP_BAR = 40, BOTTOM_BAR = 46 };

struct window {
	struct player *player;
	struct window_host host;
	SDL_Window *window;
	SDL_Renderer *renderer;
	SDL_Texture *texture;
	cairo_surface_t *surface;
	int width, height; /* pixels */
	bool motion, playing, dirty, help, blank, full, left, asking;
	double speed;
	Uint64 stepped, tweened; /* ms: when the last step, or the tween, began */
	Uint64 note_until;       /* ms; 0: no note */
	struct widget widgets[WIDGETS];
	int widget_count, focus; /* focus -1: none */
	int strategy;            /* -1: none of the list */
	char asked[16];          /* what is typed behind "go to" */
	char tip[256];
	double mouse_x, mouse_y; /* units */
	enum drag drag;
	double drag_from; /* unit x where a range begins */
	int64_t drag_time;
	char title[256];
	size_t tween_position;
};

/* window_widgets.c */
void widgets_lay(struct window *w, struct canvas *c);
void widgets_draw(struct window *w, struct canvas *c);
int widget_at(const struct window *w, double x, double y); /* -1: none */
void help_draw(struct canvas *c);
/* Where the scene lies between the bars. */
struct box window_scene_box(const struct window *w, const struct canvas *c);
const char *action_key(enum action a);
const char *action_what(enum action a);

/* window_actions.c */
void window_do(struct window *w, enum action a);
void window_activate(struct window *w, const struct widget *one);
void window_open_strategy(struct window *w, int number);
void window_move(struct window *w, size_t position, bool tween);
void window_note(struct window *w, const char *format, ...) __attribute__((format(printf, 2, 3)));
void window_finish_tween(struct window *w);

/* window_input.c */
void window_key(struct window *w, const SDL_KeyboardEvent *k);
void window_text(struct window *w, const char *text);
void window_mouse_button(struct window *w, struct canvas *c, const SDL_MouseButtonEvent *b);
void window_mouse_motion(struct window *w, struct canvas *c, double x, double y);
void window_wheel(struct window *w, struct canvas *c, double turns);

#endif
