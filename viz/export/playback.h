/* Playback of a trace: which trace is shown, at which position, and how. The window changes these settings, the exports
 * set them once; the picture follows from them alone.
 *
 *     struct playback p;
 *     playback_init(&p, &fonts);
 *     playback_show(&p, &view);
 *     playback_go(&p, timeline_stop(&view.timeline, p.step_size, 7));
 *     playback_draw(&p, cr, width, height);
 *     playback_release(&p);
 */
#ifndef SHARDLAB_VIZ_PLAYBACK_H
#define SHARDLAB_VIZ_PLAYBACK_H

#include "viz/scene/scene.h"
#include "viz/scene/whatif.h"
#include "viz/timeline/notable.h"

/* One plan and a trace of it, or a trace of another program, which has only lanes. */
struct trace_view {
	char label[64];             /* "zero2" */
	char heading[384];          /* "zero2 on 4 ranks · …" */
	char changed[WHATIF_WORDS]; /* what if: "ranks=8,bucket=1MB"; "" */
	bool foreign;
	struct timeline timeline;
	struct lanes lanes;
	bool has_other; /* another trace of the same plan: its simulation, where the first was measured */
	struct timeline other;
	struct lanes other_lanes;
	struct notable *notables; /* the places that N goes to, in this order; another program's trace has none */
	size_t notable_count;
	struct exposed exposed[EXPOSED_LISTED]; /* the longest, of exposed_count */
	size_t exposed_count;
};

/* trace: of a plan, which the cursor walks. other: NULL, or a simulation of the same plan beside what was measured. */
enum status trace_view_open(struct trace_view *p, const struct trace *trace, const struct limits *limits,
                            const struct trace *other);
void trace_view_open_foreign(struct trace_view *p, const struct trace_file *f);
void trace_view_release(struct trace_view *p); /* accepts NULL and a zeroed struct */

struct playback {
	const struct fonts *fonts;
	const struct trace_view *shown;
	const struct trace_view *contender[CONTENDERS]; /* side by side with it */
	int contender_count;
	bool compare;                    /* show them */
	const struct trace_view *second; /* beside it in every scene; NULL: none (playback_pair) */
	bool beside;                     /* show what was measured below what was simulated, in the timeline */
	enum scene scene;
	enum theme_name theme;
	enum step_size step_size;
	size_t position;
	double text;     /* factor on the size of text */
	bool values;     /* numbers in the chunks of a collective */
	bool over_steps; /* memory over the steps of the cursor instead of over time */
	bool presenter;
	int64_t focus_rank;
	int64_t from, to;                   /* ns: range of the timeline; equal: all */
	const struct search *search;        /* its hits are lit; NULL: nothing is searched */
	int64_t measured_from, measured_to; /* ns: a range whose sums are shown; equal: none */
	int first_lane, plan_scroll;
	int64_t selected_rank;
	int selected_op;
	int64_t cursor;              /* ns: in another program's trace */
	double tween;                /* 1: settled */
	char note[256];              /* shown in place of the caption; "" */
	const struct asking *asking; /* a question, beside the picture; NULL: none */
	const char *hint;            /* at the beginning: which keys to press; NULL where there are none */
	struct whatif *whatif;       /* shown beside the scene; NULL: it is not */
	/* derived from all of the above */
	struct state state, before, contenders[CONTENDERS];
	struct state second_state, second_before;
	char pair_heading[768], pair_names[2][384];
	struct view view, second_view;
};

void playback_init(struct playback *p, const struct fonts *fonts);
void playback_release(struct playback *p);
/* Goes to its beginning. It must outlive its use. */
void playback_show(struct playback *p, const struct trace_view *shown);
void playback_go(struct playback *p, size_t position);
/* Shows a second trace beside the shown one in every scene, with figures between them; it stands at the corresponding
 * place of its step. NULL: none. It must outlive its use. A trace of another program has no second. */
void playback_pair(struct playback *p, const struct trace_view *second);
/* Stands beside the picture from now on; as it is now, the cursor goes to where the question is asked, or where its
 * answer is seen. NULL: none. It must outlive its use. */
void playback_ask(struct playback *p, const struct asking *a);
/* Makes the state that the last step began with, for a tween. */
void playback_make_before(struct playback *p);

/* Brings the view up to date and draws it; `in`, in units, is where: NULL for all. */
const struct view *playback_view(struct playback *p);
void playback_draw(struct playback *p, cairo_t *cr, double width, double height);

#endif
