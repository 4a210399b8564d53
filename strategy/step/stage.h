/* Layers over ranks: rank i is stage i and has some of the model's units, one after another. Activations go forward
 * from stage to stage, their gradients back.
 *
 *     stage 0   embedding, blocks 0 1 2   ── activations ──►  ◄── gradients ──   stage 1   blocks 3 4 5, norm, head
 *
 * All stages serve the same samples, so there is one data rank: batch = micro-batch × accumulate, and the micro-batches
 * of a step are what fills the pipeline. In which order a stage takes them makes the strategy:
 *
 *     one at a time   F0 B0 F1 B1 …                    `model`: one stage works, the others wait
 *     GPipe           F0 F1 F2 … B2 B1 B0              Huang et al. 2019, arXiv 1811.06965
 *     1F1B            p-1-i forwards to warm up, then one forward, one backward, then the backwards that are left
 *                     (PipeDream-flush: Narayanan et al. 2021, arXiv 2104.04473, section 2.2)
 *
 * The last two are idle for (p-1)(f+b) of (m+p-1)(f+b) a step, with p equal stages, m micro-batches, f and b the time
 * of a forward and a backward: the bubble is (p-1)/(m+p-1) of it. GPipe keeps the activations of all m micro-batches,
 * 1F1B on stage i those of p-i at most.
 *
 * Messages are rendezvous, and a rank has one communication queue. All messages of a step are put into one order, by
 * the time at which they would be ready if nothing but computing took time (by FLOPs), and every rank issues its part
 * of them in that order. So the first message that is not done has both its ends first in their queues, and what its
 * sender computes needs earlier messages alone: nobody can wait for ever.
 *
 * A tensor that two stages use (GPT's token table: the embedding on the first, the tied head on the last) is kept and
 * updated by both. Both begin with what the first made (a broadcast in the prologue); each adds up the gradient of its
 * own use, one all-reduce between the two adds those, and both make the same update of it.
 */
#ifndef SHARDLAB_STAGE_H
#define SHARDLAB_STAGE_H

#include "strategy/step/hooks.h"

enum stage_order { STAGE_ONE_AT_A_TIME, STAGE_GPIPE, STAGE_1F1B };

/* Stage i gets kernels [end[i-1], end[i]), which are whole segments. The split makes the longest stage as short as
 * possible. */
void stage_split(const struct model *m, int stages, int *end);
int stage_segments(
        const struct model *m); /* segments, which are runs of kernels of one unit: the most stages that there can be */

/* Hooks of strategies. */
enum status stage_mesh(struct plan *p, const struct choices *c); /* a role a stage; too many stages: STATUS_INPUT */
void stage_pack(struct plan *p);                                 /* a group a stage, and one that two stages use */
void stage_micros(struct step *s, enum stage_order order);       /* all micro-batches of a step */
void stage_evaluate(struct step *s);

/* The rows that strategies by stages have in common: each stage keeps its own layers. */
#define STAGES(order)                                                                                                  \
	.mesh = stage_mesh, .pack = stage_pack, .parameters = PLACE_WHOLE, .gradients = PLACE_WHOLE,                   \
	.optimizer = PLACE_WHOLE, .same_samples = true, .stages = true,                                                \
	.hooks = {.prologue = broadcast_parameters, .micros = (order), .evaluate = stage_evaluate}

/* The use that the stage of kernels [begin, end) makes of a group's tensors. */
struct stage_use {
	bool holds;
	bool owner; /* it is the first stage that holds them: it counts their gradient in the norm, and shows the
	               weights */
	bool tied;  /* another stage holds them too */
};
struct stage_use stage_use(const struct plan *p, int group, int begin, int end);

#endif
