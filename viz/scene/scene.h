/* Scenes: pictures of a state. A scene gets a canvas, a box on it and a view, and nothing else; the window, PNG, SVG,
 * PDF, GIF and HTML all come from these functions.
 */
#ifndef SHARDLAB_VIZ_SCENE_H
#define SHARDLAB_VIZ_SCENE_H

#include "viz/draw/draw.h"
#include "viz/question/asking.h"
#include "viz/scenes.h"
#include "viz/timeline/lanes.h"
#include "viz/timeline/state.h"

const char *scene_name(enum scene s); /* in options */
bool scene_parse(const char *name, enum scene *out);

/* One strategy among those that are compared. */
struct contender {
	char label[64];
	const struct state *state;
};

enum { CONTENDERS = 16 };

struct search;

struct view {
	const struct theme *theme;
	const char *heading;        /* "ddp on 4 ranks · mlp, 1,863,692 parameters · …" */
	const struct state *state;  /* NULL: a trace of another program, of which there are only lanes */
	const struct state *before; /* while a tween runs: the state that it leaves; else NULL */
	double tween;               /* 0 … 1: how far messages are on their way; 1: settled */
	const struct lanes *lanes;  /* the timeline */
	const struct lanes
	        *other; /* a second timeline of the same plan, measured or simulated as the first is not; or NULL */
	int64_t cursor; /* ns, of lanes without a state */
	struct contender contender[CONTENDERS]; /* memory, side by side; as many as contender_count; 0: one strategy */
	/* Another trace at the corresponding place of its step, beside this one (viz/scene/pair.h), which has none
	 * itself; NULL: none. */
	const struct view *second;
	const char *label, *name; /* of the two, this one's: "zero2", "zero2 on 4 ranks" */
	int64_t peak, end;     /* bytes and ns that the scales of memory and time hold at least: both have the same */
	int64_t from, to;      /* ns: what the timeline shows; equal: all */
	int64_t selected_rank; /* of the operation that is selected; -1: none. Of another program's span: its lane */
	int64_t focus_rank;    /* the rank whose plan and buffers are shown */
	const struct search *search;        /* its hits are lit; NULL: nothing is searched */
	int64_t measured_from, measured_to; /* ns: a range whose sums are shown; equal: none */
	const char *note;                   /* beside the caption: the answer to a key */
	/* A question that is asked beside the picture (viz/question/asking.h); NULL: none. As long as it is open, what
	 * lies behind the cursor is veiled. */
	const struct asking *asking;
	const char *hint;    /* below the caption of the beginning: which keys to press; NULL: none */
	int contender_count; /* of `contender` */
	int first_lane;      /* the timeline is scrolled down to it; -1: to the focus rank's */
	int selected_op;     /* of another program's: the span of the lane; -1: none */
	int plan_scroll;     /* lines from where the cursor puts it */
	enum scene scene;
	bool second_first; /* it stands at the left: what was before */
	bool upright; /* little room: the overview is the collective above the memory, the collective has no ledger */
	bool values;  /* numbers in the chunks of a collective */
	bool over_steps; /* memory over the steps of the cursor instead of over time */
	bool presenter;  /* larger, and less of it */
};

/* The whole picture: heading, scene, caption, and the question that is asked about it. Clears it first. */
void scene_draw_asking(struct canvas *c, const struct view *v, struct box all);
/* The scene and the bar of phases alone: heading, caption and ledger are beside the picture. In a narrow
 * picture, for a phone, the parts of the overview are one below the other. */
void scene_draw_alone(struct canvas *c, const struct view *v);
/* The window's version: between two edges that the caller draws. */
void scene_draw_in(struct canvas *c, const struct view *v, struct box all);

/* ---- what lies under a point, for the mouse ---- */

struct hit {
	bool phases;     /* the bar of phases: `position` */
	bool moves;      /* a click takes the cursor to `position` */
	size_t position; /* of the cursor */
	int64_t rank;    /* -1: none */
	int op;          /* -1: none */
	int64_t time;    /* of the timeline; -1: elsewhere */
	int first_lane;  /* at its top */
	char text[384];
};

/* The ledger beside a collective in the picture that scene_draw_in() draws in `all`. Only tips about the ledger may lie
 * on it. A width of 0: there is none. */
struct box scene_ledger(const struct view *v, struct box all);

/* Answers for the scene that scene_draw_in() draws in `all`. text: what it is, in words; "" where nothing is. */
struct hit scene_hit(struct canvas *c, const struct view *v, struct box all, double x, double y);

/* ---- the table of scenes ---- */

/* `small`: a part of the overview. */
struct scene_row {
	const char *title;
	const char *what;     /* its button says */
	double width, height; /* with less room it is made smaller as a whole */
	void (*draw)(struct canvas *c, const struct view *v, struct box b, bool small);
	/* Says what lies at a point of it, if anything does. */
	void (*hit)(struct canvas *c, const struct view *v, struct box b, bool small, double x, double y,
	            struct hit *h);
	bool messages; /* it shows them on their way */
	bool timeline; /* it has one */
	/* The same for a box in which this one would have to be much smaller; NULL: there is none. */
	const struct scene_row *narrow;
	bool elastic; /* in the presenter, whose text has a least size, it does with less before it is made smaller */
};

const struct scene_row *scene_row(enum scene s);

/* ---- words ---- */

/* Says what happens now, and why: a sentence for the idea, one for the numbers. Made from the plan and the trace. */
enum { CAPTION_SIZE = 512 };
void caption_make(const struct state *st, char *out, int size);
/* Names the highlight at the cursor; "" if there is none. */
void caption_highlight(const struct state *st, char *out, int size);

enum { COLLECTIVE_WORDS = 224 };

/* The closed form of a collective for one rank, with this case's numbers: "2 (n − 1)/n · S = 2 · 3/4 · 4.239 MB". Also
 * gives what it comes to; `who` says of whom it speaks. */
struct formula {
	char symbols[64], numbers[96], who[32];
	int64_t bytes;
	bool of_one; /* it counts a single rank's bytes */
};
void ledger_formula(const struct collective *c, struct formula *out);

/* The bytes sent for the shown collective, and by all ranks in the step. Ranks may be at different rounds: participants
 * have then sent from `least` to `most`. */
struct ledger {
	char what[COLLECTIVE_WORDS], who[96]; /* "all-reduce of bucket.0"; "each rank", "ranks 0–3" */
	struct formula formula;
	int64_t least, most;
	int64_t sent, total;
};
void ledger_make(const struct state *st, struct ledger *out); /* the state shows a collective */
/* "1,059,840 B", "0 to 1,059,840 B" in a buffer of the caller, which it returns. */
enum { LEDGER_RANGE = 104 };
const char *ledger_range(const struct ledger *l, char *out);
/* Bytes that a rank, or all, send in the whole step, by the plan, without control. */
int64_t ledger_step_bytes(const struct timeline *s, int index);
int64_t ledger_step_total(const struct timeline *s);

/* "1.06 MB" in a buffer of the caller, which it returns. */
#define WORD 48
const char *bytes_word(char *out, int64_t bytes);
const char *time_word(char *out, int64_t ns);
const char *factor_word(char *out, double factor); /* "× 3.5", "× 1,162" */
const char *short_word(char *word);                /* "5.000 MB" becomes "5 MB": for the ticks of an axis */

/* The shown ranks [first, end) in a buffer of 64, which it returns: "every rank", "rank 2", "ranks 0–3", "ranks
 * 0–1023". A rank that is shown stands for those of its role that are not. */
struct ranks {
	int64_t first, last;
};
struct ranks ranks_meant(const struct timeline *s, int first, int end);
const char *ranks_word(char *out, const struct timeline *s, int first, int end);
/* The phase of the step that ends at a position, or begins with it: "forward", "backward", "update". */
const char *phase_word(const struct timeline *s, size_t position);
/* "all-reduce of bucket.0", "all-reduce (maximum) of the largest logits, ranks 0–1" */
void collective_words(const struct timeline *s, const struct collective *c, char *out, int size);
/* The collective that is shown, in words: "all-reduce of block.3, in 2 groups" where others carry it out beside it. */
void family_words(const struct state *st, char *out, int size);

/* A legend of the categories, in as many lines as it takes; returns its height, which legend_height() foretells. */
double legend_height(struct canvas *c, double width);
/* gathered: its name for what is whole for a while. Where whole gradients are drawn as gradients, the rest of it is
 * parameters. */
#define GATHERED_IS_PARAMETERS "whole parameters"
double legend_categories(struct canvas *c, double x, double y, double width, const char *gathered);
/* The same of those categories whose bits are set. */
double legend_some(struct canvas *c, double x, double y, double width, const char *gathered, unsigned some);

#endif
