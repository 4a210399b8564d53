/* State that stays elsewhere than on the device (--offload): where it is, and how it comes and goes. The rest of the
 * step asks struct home and struct state (step.h) and calls these functions, and is the same wherever the state is.
 * Activations are in host_values.c. */
#ifndef SHARDLAB_OFFLOAD_H
#define SHARDLAB_OFFLOAD_H

#include "strategy/step/step.h"

/* ---- offload.c ---- */

/* STATUS_INPUT if the settings do not go together. */
enum status offload_check(const struct strategy *g, const struct settings *t, const struct checkpointing *c);
/* Chooses where each kind of state stays, and who updates it. */
void home_choose(struct step *s);
/* The queue that works on memory of this space. */
enum queue space_queue(enum space space);
/* Staging in host memory for a part of state. */
int home_staging(struct step *s, const char *name, const struct region *home);
void staging_read_by(int uses[2], int op); /* of struct staging_uses: `op` is the last that reads it */
/* The first content of a group's part of state, by `initialize`, `zero` or `restore`, wherever it stands. axes: those
 * along which the part is a shard of its group (struct op); none for `zero`. Returns the operation. */
int home_begin_with(struct step *s, enum op_kind kind, const struct home *home, uint8_t axes, int group);
void home_zero(struct step *s, const struct home *home); /* the whole of it, in as few operations as can be */
/* Makes a part of state readable for the host: in place, or from disk in staging (-1: none). */
struct region home_read(struct step *s, struct region home, const char *name, int *staging);
/* Makes a group's shard readable for a collective: in place, or in a copy on the device (fetched; -1: none). */
struct region home_bring(struct step *s, const struct home *home, int group, int *fetched);
/* Reduced gradients of a group go to the host, and are added to what is there: `from` is written by the last operation
 * of `queue`. Returns the copy. */
int home_send_gradients(struct step *s, int group, struct region from, enum queue queue, bool adds);
/* The host's sum of a group's gradients so far comes to the device, into a new buffer. Returns the copy. */
int home_fetch_gradients(struct step *s, int group, int *buffer);
/* Copies a group's parameter shard to the device, into `buffer`. Returns the copy. */
int home_fetch(struct step *s, int group, const char *name, int buffer);
/* A group's parameter shard on the device, where a collective can read it: where it stays, or a copy until
 * home_release. */
struct region home_acquire(struct step *s, int group, const char *name);
void home_release(struct step *s, int group);
/* Acquires it in the prologue; writes it back when a collective has changed the shard. */
struct region home_acquire_first(struct step *s, int group);
void home_write_back(struct step *s, int group);

/* ---- offload_update.c: where the optimizer works on a group's state ---- */

enum { UPDATE_WEIGHTS, UPDATE_FIRST, UPDATE_SECOND, UPDATE_PARTS };
struct update_part {
	struct region home, at;
	int staging; /* -1: they are the same place */
	int read;    /* the copy from disk; -1 */
};
/* Makes the state of a group ready: reads it, if it is on disk. */
void update_fetch(struct step *s, int group, struct update_part *parts);
/* The region in which the update writes 16-bit parameters. */
struct region update_parameters16(struct step *s, int group);
/* Writes updated state back to where it stays, and sends the new parameters to whoever reads them. */
void update_return(struct step *s, int group, const struct update_part *parts);

/* update.c: elements of the largest piece of a rank's share that an update takes at once (`pieces=`), or all of it. */
int64_t update_largest_piece(const struct step *s);

#endif
