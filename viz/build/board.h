/* The board of the exercise: the drawer, the step so far as lanes and as memory, and what the verifier says. It is
 * drawn by the window and by exports alike.
 *
 *     struct board *b;
 *     status = board_open(&b, &host, "zero3", &fonts);
 *     exercise_place(&b->exercise, move);
 *     board_refresh(b);                           // simulates what is placed
 *     board_draw(&canvas, b, box);
 *     board_close(b);
 */
#ifndef SHARDLAB_VIZ_BOARD_H
#define SHARDLAB_VIZ_BOARD_H

#include "viz/build/exercise.h"
#include "viz/build/outcome.h"
#include "viz/export/playback.h"

/* The program's part: it knows the compiler's settings and the simulator. */
struct build_host {
	void *context;
	/* A plan of a strategy whose step has few moves; it holds until the next. STATUS_INPUT: there is none. */
	enum status (*plan)(void *context, const char *strategy, const struct plan **out);
	/* Simulates a step; trace and report are zeroed, and the caller's. */
	enum status (*simulate)(void *context, const struct plan *plan, struct trace *trace, struct limits *limits,
	                        struct report *report);
};

/* A simulated step. */
struct built_step {
	bool there;
	struct plan plan; /* the plan of what is placed; of the strategy's own: empty */
	struct trace trace;
	struct trace_view shown;
	struct playback playback;
	struct outcome outcome;
};

struct board {
	struct exercise exercise;
	struct build_host host;
	struct built_step mine, own;
	int chosen;                       /* the move of the drawer that the keys are at; -1 */
	struct box chips[EXERCISE_MOVES]; /* where they lie in the drawer: board_lay */
	double chip_text;
	char failure[256]; /* why nothing could be simulated; "" */
};

enum status board_open(struct board **out, const struct build_host *host, const char *strategy,
                       const struct fonts *fonts);
void board_close(struct board *b); /* accepts NULL */
/* After a move: simulates what is placed. */
void board_refresh(struct board *b);

/* Lays out the drawer; `box` is all of the board. Leaves room for buttons, whose place it returns. */
struct box board_lay(struct canvas *c, struct board *b, struct box box);
void board_draw(struct canvas *c, struct board *b, struct box box);
/* The next chip from the chosen one: by places in the order of the drawer, or to the row above or below. */
void board_choose(struct board *b, int by);
void board_choose_row(struct board *b, int by);

/* The placed move before which something dropped here goes; -1: the place is beside the step. */
int board_drop(struct board *b, struct box box, double x, double y);
/* Draws a drag: the move under the mouse, and a line where it would go. */
void board_draw_drag(struct canvas *c, struct board *b, struct box box, int move, double x, double y);

/* ---- for its own files ---- */

/* The lanes and the memory of the step. */
void board_step_boxes(const struct board *b, struct box box, struct box *lanes, struct box *memory);
/* The place of the operations in the box of board_draw_memory. */
struct box board_memory_plot(struct box box);

/* Bytes of a rank from operation to operation, over as many as the whole step has (board_memory.c). most: at the top of
 * the scale; line: the strategy's own peak, 0: none. */
void board_draw_memory(struct canvas *c, const struct plan *p, struct box box, const char *title, int ops, int64_t most,
                       int64_t line);

#endif
