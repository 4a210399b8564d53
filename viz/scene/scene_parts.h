/* Parts of scenes that have files of their own. */
#ifndef SHARDLAB_VIZ_SCENE_PARTS_H
#define SHARDLAB_VIZ_SCENE_PARTS_H

#include "viz/scene/scene.h"

#define X(constant, name, row) extern const struct scene_row row;
SCENE_LIST(X)
#undef X
/* The overview where there is little room: the collective above the memory. */
extern const struct scene_row scene_upright;
/* The collective without the ledger. */
extern const struct scene_row scene_ring_alone;

/* The ledger: messages, and running totals beside their closed forms. */
void draw_ledger(struct canvas *c, const struct view *v, struct box b);
/* Draws the sums alone, over the whole width, and returns their height. */
double ledger_sums_height(const struct canvas *c);
void draw_ledger_sums(struct canvas *c, const struct view *v, struct box b);

/* Buffers alive on a rank, largest first. */
void draw_alive(struct canvas *c, const struct view *v, struct box b);

/* Bytes of a rank over the positions of the step, with the cursor. */
void draw_over_time(struct canvas *c, const struct view *v, int index, struct box b);
/* The tip under the mouse, and the place where a click takes the cursor. */
void over_time_hit(struct canvas *c, const struct view *v, int index, struct box b, double x, double y, struct hit *h);

/* The operation that ended last of those that another waits for, its queue among them: why it begins only then. NULL:
 * there is none in this step. */
const struct op *caption_cause(const struct timeline *s, int index, const struct op *op);
/* The operation of a shown rank that the caption is about; -1: it is about none of this rank's. */
int caption_op(const struct state *st, int index);
/* The operation that the cursor is at in a rank's plan: the caption's, else the last that the rank has issued. */
int plan_current_op(const struct state *st, int index);

/* Per cent of the step; and from the least to the most of a time of struct times, by its offset, over the ranks. */
double share_of_step(const struct timeline *s, int64_t ns);
struct range {
	double least, most;
};
struct range range_over_ranks(const struct timeline *s, size_t offset);
bool range_is_wide(struct range r); /* so that a tenth of a per cent shows it */
/* A pipeline's "bubble (p−1)/(m+p−1) = 3/7 = 42.9 % with equal stages; here 38.1 % of rank 3's step". False: there is
 * none. */
enum brevity { BREVITY_NONE, BREVITY_SOME, BREVITY_MORE, BREVITY_MOST };
bool bubble_words(const struct timeline *s, enum brevity brevity, char *out, size_t size);
/* "waits for rank 0", after `verb`; "another rank" where it is not shown. */
const char *wait_words(char *out, size_t size, const char *verb, int64_t rank);

/* In words: "12: the update of bucket.0 on rank 3: 2.2 ms, from 4 ms", and what a rank holds. */
void op_explain(const struct timeline *s, int64_t rank, int op, char *out, size_t size);
void rank_explain(const struct state *st, int64_t rank, char *out, size_t size);
/* The mouse is on a rank; -1: on none. */
void rank_hit(const struct state *st, int64_t rank, struct hit *h);

static inline bool box_has(struct box b, double x, double y)
{
	return x >= b.x && x < b.x + b.width && y >= b.y && y < b.y + b.height;
}

/* The scene that a view shows, unless strategies are compared. */
const struct scene_row *scene_of(const struct view *v);
void draw_compare(struct canvas *c, const struct view *v, struct box b);
/* The number of columns and rows in which `n` cards stand in this width. */
void compare_grid(int n, double width, int *columns, int *rows);

/* A scene is drawn in `inner`, whose units are `scale` of those around it: where text is so large that the scene would
 * not fit, it is made smaller as a whole. fit_point() turns a point of the picture into one of the scene. */
struct fit {
	struct box outer, inner;
	double scale;
	const struct scene_row *row; /* the scene, or its narrow form */
};
struct fit scene_fit(const struct view *v, struct box b);
void fit_point(const struct fit *f, double *x, double *y);

/* The scene in a box, smaller as a whole where there is too little room, instead of over each other. */
void draw_fitted(struct canvas *c, const struct view *v, struct box b);
/* The step as a bar of its phases, by position, with ticks at highlights and the cursor. */
void draw_phases(struct canvas *c, const struct view *v, struct box b);

/* The banner of a plan that does not fit (banner.c): whether there is one, its height in this width, 0 without; its two
 * sentences. */
bool banner_shows(const struct view *v);
double banner_height(const struct view *v, double width, double least);
void banner_words(const struct timeline *s, char *what, char *change, size_t size);
void draw_banner(struct canvas *c, const struct view *v, struct box b);

/* The caption's card (frame_caption.c). */
double caption_height(const struct view *v, struct box all);
void draw_caption(struct canvas *c, const struct view *v, struct box b);
/* The least size of any text: 2 % of the height in the presenter, where a caption has 3 %; else 0. */
double frame_least(const struct view *v, struct box all);
/* ---- questions (question_card.c) ---- */

/* True while a question is open, so that nothing may be seen of what comes next. */
static inline bool is_veiled(const struct view *v)
{
	return asking_is_open(v->asking);
}
/* In place of what may not be seen. */
void draw_veil(struct canvas *c, struct box b);
/* The question with its choices, or the answer with its reason, or the count at the end. */
void draw_question(struct canvas *c, const struct asking *a, struct box b);
/* The box of a choice on the card. */
struct box question_choice_box(struct canvas *c, const struct asking *a, struct box b, int choice);
/* How wide the question is beside a picture of this width. */
double question_width(double width);

/* Boxes of the whole picture. */
struct box frame_scene(const struct view *v, struct box all);
struct box frame_phases(const struct view *v, struct box all);
/* The parts of the overview. */
struct overview {
	struct box ring, memory, timeline;
};
struct overview overview_boxes(struct box b);

#endif
