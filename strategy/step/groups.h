/* Groups of tensors: their state, their parameters and gradients between ranks, their update. */
#ifndef SHARDLAB_STEP_GROUPS_H
#define SHARDLAB_STEP_GROUPS_H

#include "strategy/step/parts.h"

/* ---- state.c ---- */

void step_state(struct step *s); /* prologue: allocates this role's state and initialises it */

/* ---- border.c: tensors across the border of two slices ---- */

bool border_is_kept(const struct plan *p, const struct strategy *g);
/* The elements that one of ranks [first, first + ranks) keeps beyond its slice, at most. */
int64_t border_elements(const struct plan *p, int64_t first, int64_t ranks);

/* ---- secondary.c: zero3:secondary=K ---- */

void secondary_keep(struct step *s, int group); /* before the gathered group is freed */
/* The shard to gather the group from, and the axes to gather it along; none: it is not there yet, or never. */
struct region secondary_shard(const struct step *s, int group, unsigned *along);
void secondary_free(struct step *s); /* the step's update is done */

/* ---- gather.c ---- */

/* Lists the parts that are gathered at once, with their groups. */
void gather_units_make(struct step *s);
bool gather_by_module(const struct plan *p, const struct strategy *g);
/* Sends the parameters of a group that their owner has updated to the other ranks that keep them. */
void gather_updated(struct step *s, int group, enum queue changed_by);

/* ---- restore.c: state that leaves, and comes back ---- */

void step_show_weights(struct step *s); /* epilogue */
void save_gathered(struct step *s);     /* the same, on rank 0 (save_gathered.c) */
void step_snapshots(struct step *s);    /* prologue: room for what is saved asynchronously */
void step_save(struct step *s);         /* section save */
void step_restore(struct step *s);

/* ---- update.c ---- */

void step_update_delayed(struct step *s); /* applies the gradients of the last step while this one computes */
void step_update(struct step *s);         /* the update: norm if clipping, then every group */

/* ---- tree.c: --reproducible ---- */

/* STATUS_INPUT if the sums cannot be one tree. */
enum status tree_check(const struct strategy *g, const struct model *m, const struct settings *t,
                       const struct choices *c);
void tree_choose(struct choices *c, const struct settings *t); /* the collectives that add up as the tree does */
int tree_micro(const struct step *s, int nth);                 /* the micro-batch that comes after `nth` others */
bool tree_in_a_row(const struct step *s);                      /* of this role's loads: struct op */
/* Whole gradients: kernels are about to write a group's; they have. Nothing is done unless `reproducible` is set. */
void tree_needed(struct step *s, int group);
void tree_ready(struct step *s, int group);
/* The shard of a micro-batch, whose buffer becomes the tree's. home: where the sum of all stays. */
void tree_add_shard(struct step *s, int group, int shard, struct region home);

/* ---- reduce.c ---- */

enum { GROUPS_IN_FLIGHT = 1 }; /* reduce-scatters that may be under way when a new group is opened */
/* The way of a group's gradients to where they are reduced: BUCKET_VIEWS, … */
int reduce_copying(const struct step *s, int group);
/* Elements of a buffer for the group, which may be as large as a bucket can be, whatever is in it. */
int64_t reduce_capacity(const struct step *s, int group);
/* Waits until no more than so many buffers of whole gradients are on their way. */
void reduce_wait(struct step *s, int in_flight);
void reduce_make_room(struct step *s, int group, int in_flight); /* and opens the group's */
/* owns: the buffer goes when this reduction is done. */
void reduce_send(struct step *s, int group, bool owns);
void reduce_pending(struct step *s); /* of groups that have waited for a gather, or for the backward pass to end */
void reduce_tied(struct step *s);    /* sums the gradients of tensors that two stages use */

bool reduce_uses(const struct step *s, int buffer); /* a reduction of it is under way */

/* ---- bucket.c: gradients that are copied into the buffer in which they are reduced ---- */

void bucket_open_piece(struct step *s, int tensor);     /* a kernel is about to write it */
void bucket_copy_piece(struct step *s, int tensor);     /* it is written */
void bucket_copy_group(struct step *s, int group);      /* all of the group's are */
bool bucket_is_shared(const struct step *s, int group); /* several groups are reduced in one call */
void bucket_put(struct step *s, int group);             /* the group is complete, and goes into the shared bucket */
void bucket_send(struct step *s);                       /* reduces what is in it */

bool bucket_is_passed(const struct step *s, int group); /* it is larger, and goes by itself */
/* The elements of a bucket whose size is fixed. */
int64_t bucket_elements(const struct plan *p);

/* The bytes at which a bucket is full, after the first. */
int64_t step_bucket_bytes(const struct plan *p);

/* ---- pack.c ---- */

/* The group of each tensor; groups without tensors are left out. */
struct packing {
	int groups;
	int *group;        /* by tensor */
	const char **name; /* by group; first of all the units' */
	int64_t *slices;   /* by group: it is padded to a multiple of them; the ranks unless another number is given */
};
struct packing packing_begin(struct plan *p, int groups);
void packing_end(struct plan *p, const struct packing *k);

#endif
