/* The player: pieces (plans with what happened in them) and where one looks at them. The window turns its knobs, the
 * exports set them once; the picture follows from them alone.
 *
 *     struct player p;
 *     player_init(&p, &fonts);
 *     player_set_piece(&p, &piece);
 *     player_go(&p, score_stop(&piece.score, p.stride, 7));
 *     player_draw(&p, cr, width, height);
 *     player_release(&p);
 */
#ifndef SHARDLAB_VIZ_PLAYER_H
#define SHARDLAB_VIZ_PLAYER_H

#include "viz/scene/scene.h"

/* One plan and a trace of it, or a trace of another program, which has only lanes. */
struct piece {
	char label[64];    /* "zero2" */
	char heading[256]; /* "zero2 on 4 ranks · …" */
	bool foreign;
	struct score score;
	struct lanes lanes;
	bool has_other; /* another trace of the same plan: its simulation, where the first was measured */
	struct score other;
	struct lanes other_lanes;
};

/* trace: of a plan, which the cursor walks. other: NULL, or a simulation of the same plan beside what was measured. */
enum status piece_open(struct piece *p, const struct trace *trace, const struct limits *limits,
                       const struct trace *other);
void piece_open_foreign(struct piece *p, const struct trace_file *f);
void piece_release(struct piece *p); /* accepts NULL and a zeroed struct */

struct player {
	const struct fonts *fonts;
	const struct piece *piece;
	const struct piece *contender[CONTENDERS]; /* side by side with it */
	int contender_count;
	bool compare; /* show them */
	bool beside;  /* show what was measured below what was simulated, in the timeline */
	enum scene scene;
	enum theme_name theme;
	enum stride stride;
	size_t position;
	double text; /* factor on the size of text */
	bool presenter;
	int64_t focus_rank;
	int64_t from, to; /* ns: range of the timeline; equal: all */
	int first_lane, plan_scroll;
	int64_t selected_rank;
	int selected_op;
	int64_t cursor; /* ns: in another program's trace */
	double tween;   /* 1: settled */
	char note[256]; /* shown in place of the caption; "" */
	/* what follows from all that */
	struct state state, before, contenders[CONTENDERS];
	struct view view;
};

void player_init(struct player *p, const struct fonts *fonts);
void player_release(struct player *p);
/* Begins at its beginning. The piece outlives its use. */
void player_set_piece(struct player *p, const struct piece *piece);
void player_go(struct player *p, size_t position);
/* For a tween: also makes the state that the last stride began with. */
void player_make_before(struct player *p);
/* The position of another piece of the same model that corresponds to ours: as far in the same phase. */
size_t player_corresponding(const struct score *ours, size_t position, const struct score *other);

/* Brings the view up to date and draws it; `in`, in units, is where: NULL for all. */
const struct view *player_view(struct player *p);
void player_draw(struct player *p, cairo_t *cr, double width, double height);

#endif
