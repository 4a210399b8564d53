/* The what-if panel: settings that are changed while one looks, each with its value before and now, and the figures
 * that follow. The program fills it in (cli/command/view_whatif.c); here it is drawn beside the scene, in the window
 * and in pictures, and written as text.
 */
#ifndef SHARDLAB_VIZ_WHATIF_H
#define SHARDLAB_VIZ_WHATIF_H

#include <stdio.h>

#include "viz/draw/draw.h"

enum { WHATIF_ROWS = 16, WHATIF_FIGURES = 12, WHATIF_VALUE = 128, WHATIF_WORDS = 160, WHATIF_SIDE = 344 };

struct whatif_row {
	const char *label;
	const char *name, *what; /* as it is written: "micro-batch", and what it means */
	char before[WHATIF_VALUE], now[WHATIF_VALUE];
	bool changed;
	int place, places; /* of `now` among the values that ← and → go through; places 0: it has no value here */
};

struct whatif_figure {
	const char *name;
	char before[48], now[48], change[24]; /* "4.239 GB", "−12 %" */
	char exact[80];                       /* in whole bytes or nanoseconds: "1,024 B → 2,048 B"; "" */
	int better;                           /* 1; worse: -1 */
};

struct whatif {
	struct whatif_row rows[WHATIF_ROWS];
	struct whatif_figure figures[WHATIF_FIGURES];
	int row_count, figure_count;
	char words[WHATIF_WORDS]; /* the changes: "ranks=8,bucket=1MB"; "" */
	char refused[256];        /* why the last change was not made, and nothing became of it; "" */
	bool undo, redo;          /* there is something to */
	bool together;            /* before stands beside now */
	/* of the window */
	int row;                  /* the row that is chosen; -1: none */
	bool typing;              /* a value of that row is being typed */
	char typed[WHATIF_VALUE]; /* so far */
	int passed_row, passed;   /* how many places on the refused change of that row was; 0: none was refused */
};

/* The window's requests to the program. */
enum whatif_move {
	WHATIF_OPEN,  /* the panel: playback.whatif is set */
	WHATIF_CLOSE, /* changes stay */
	WHATIF_BY,    /* `number` places on, in a row */
	WHATIF_TO,    /* to a place of a row */
	WHATIF_TYPE,  /* a value, as text */
	WHATIF_UNDO,
	WHATIF_REDO,
	WHATIF_RESET,    /* to the settings that it began with; can be undone */
	WHATIF_TOGETHER, /* before beside now, or not */
};

struct whatif_change {
	enum whatif_move move;
	int row, number;
	const char *text;
	bool on;              /* the same movement of the mouse: one undo for all of it */
	void (*busy)(void *); /* called from time to time when it takes long; NULL: nobody wants to know */
	void *window;         /* its argument */
};

/* Draws the panel. buttons: leave room for those of the window (whatif_cell and whatif_foot). */
void whatif_draw(struct canvas *c, const struct whatif *w, struct box b, bool buttons);
/* The box of a row, and that of its value, which is a slider. */
struct box whatif_line(const struct whatif *w, struct box b, int row);
struct box whatif_cell(const struct whatif *w, struct box b, int row);
/* The room for buttons at the foot. */
struct box whatif_foot(const struct whatif *w, struct box b);
/* The place of a slider that lies under x. */
int whatif_place(const struct whatif *w, struct box b, int row, double x);
/* How wide it is in a picture of that width. */
double whatif_side(double width);

/* The changes and the figures as lines of text; nothing where nothing has changed. */
void whatif_describe(const struct whatif *w, FILE *out);

#endif
