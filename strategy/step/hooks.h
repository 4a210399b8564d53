/* The part of the shared training step that a strategy's hooks may use. The step itself is opaque to them;
 * step.h is for the files of strategy/step alone.
 *
 * A strategy without hooks gets those that its placements ask for: gather_* for parameters that are shards, reduce_*
 * for gradients. Most strategies add a prologue at most.
 */
#ifndef SHARDLAB_HOOKS_H
#define SHARDLAB_HOOKS_H

#include "strategy/plan/build.h"
#include "strategy/step/definition.h"

/* ---- how far compiling has come when a hook is called ---- */

struct step_view {
	struct build *b;
	const struct plan *plan;
	const struct model *model;
	const struct settings *settings;
	const struct choices *choices;
	int64_t ranks;
	bool root;       /* the root's program is being compiled */
	bool evaluating; /* the evaluate section is being compiled: forward only */
	int micro;       /* the micro-batch at hand; -1: none */
	bool last_micro;
};
struct step_view step_view(const struct step *s);

/* The name of a micro-batch's buffer: "block.0.qkv.y", with ".m1" for the second micro-batch. format: %s alone. */
const char *step_name(struct step *s, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* ---- how tensors are packed in groups (pack.c) ---- */

void pack_units(struct plan *p);   /* a group a unit, in order of first use */
void pack_modules(struct plan *p); /* a group for each kernel's tensors; embeddings are two */
void pack_buckets(struct plan *p); /* in reverse order, as DDP's buckets */
void pack_all(struct plan *p);     /* one group */
void pack_slices(struct plan *p);  /* slices by unit, and what every rank has whole */

/* ---- operations ---- */

/* A collective on a whole group, by the algorithm that is chosen for it, or on none (-1), by the first that it has. It
 * begins when everything computed so far is done. */
struct op *step_collective(struct step *s, enum op_kind kind, enum traffic_kind t, int group);
/* For the prologue: of ranks that keep the same parameters, the first broadcasts its own. */
void broadcast_parameters(struct step *s);

/* ---- activations (activations.c, loss.c) ---- */

int64_t step_value_elements(const struct step *s, int value); /* of one rank's micro-batch */
enum type step_value_type(const struct step *s, int value);
struct region step_value(const struct step *s, int value);
int step_alloc_value(struct step *s, int value);
/* Puts the value into this part of a buffer, which is freed with it. */
void step_place_value(struct step *s, int value, struct region at);
/* Moves it to another part of the same buffer. */
void step_move_value(struct step *s, int value, struct region at);
struct region step_counter(const struct step *s); /* of steps */
/* Computes the loss, and turns the logits into their gradient in place. all_ranks: this rank has all samples.
 */
struct op *step_classifier(struct step *s, bool all_ranks);

/* ---- parameters (gather.c) ---- */

void gather_begin(struct step *s);            /* a micro-batch begins */
void gather_before(struct step *s, int unit); /* makes sure that the unit is there, and gathers ahead */
void gather_after_forward(struct step *s,
                          int unit); /* frees it, unless it is used again soon or is kept for the backward pass */
void gather_after(struct step *s, int unit); /* frees it, unless it is used again soon */

/* The whole parameters of a group, where this rank keeps them. */
struct region gather_home(const struct step *s, int group);
/* Allocates a buffer for the whole parameters of a group, which kernels read until it is closed. Returns it. */
int gather_open(struct step *s, int group, const char *name);
void gather_close(struct step *s, int group);

/* ---- a second copy of the parameters (secondary.c) ---- */

/* The mesh of zero3:secondary=K; STATUS_INPUT where there can be no such copy. */
enum status secondary_mesh(struct plan *p, const struct choices *c);

/* ---- gradients (reduce.c) ---- */

void reduce_needed(struct step *s, int tensor);
void reduce_ready(struct step *s, int tensor);
void reduce_finish(struct step *s); /* waits for all gradients that are on their way */
void reduce_end(struct step *s);    /* the backward pass has ended: what has waited for that goes, one after another */

/* Allocates a buffer for the whole gradients of a group, which kernels write until it is closed. Does nothing if it is
 * open already, or if kernels write gradients where they stay. */
void reduce_open(struct step *s, int group, const char *name);
void reduce_close(struct step *s, int group);
struct region reduce_written(const struct step *s, int group);    /* where kernels have written them */
void reduce_done(struct step *s, int group, const struct op *op); /* this operation completes them */
/* Sends the complete gradients that `queue` has made to where they stay, unless they were written there. */
void reduce_deliver(struct step *s, int group, enum queue queue);

#endif
