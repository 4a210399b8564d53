/* Inside the writing of recipes: the rows of each target, and what they use. */
#ifndef SHARDLAB_EMIT_ROWS_H
#define SHARDLAB_EMIT_ROWS_H

#include "strategy/emit/emit.h"
#include "strategy/step/choices.h"

/* A key, the setting that it says, and its value as JSON has it. value NULL: the setting as a number; a function that
 * returns NULL: the key is left out. */
struct emit_row {
	const char *path;
	enum setting setting;
	const char *(*value)(struct emission *e);
};

extern const struct emit_row emit_deepspeed_rows[], emit_accelerate_rows[], emit_trainer_rows[], emit_torchtitan_rows[];
/* The rows of a target; an empty path ends them. */
const struct emit_row *emit_rows(enum emit_target t);

/* STATUS_INPUT names a setting that none of a target's rows can express (emit_check.c). */
enum status emit_check(struct emission *e);

/* ---- notes (emit_notes.c) ---- */

/* A setting that has another value there: by the key of the file that it comes from, or NULL. */
void emit_note_differs(struct emission *e, enum setting i, const struct tree *from, const char *here,
                       const char *there);

/* ---- values (emit_values.c) ---- */

/* JSON literals. */
const char *emit_whole(struct emission *e, int64_t n);
const char *emit_real(struct emission *e, double x);
const char *emit_word(struct emission *e, const char *text);
const char *emit_flag(bool yes);

/* The strategy: its name, up to the first colon; its keys; ZeRO's stage, or 0. */
bool emit_is(const struct emission *e, const char *strategy);
bool emit_is_zero(const struct emission *e);
bool emit_is_sharded(const struct emission *e);  /* fsdp, hybrid */
int64_t emit_group_of(const struct emission *e); /* of hybrid; 0: another strategy */
int64_t emit_stage_of(const struct emission *e);
struct choices emit_choices(const struct emission *e);
bool emit_checkpoints(const struct emission *e, const char *what);
/* N where every N-th block is made again, full:one_in=N, and that is all; NULL. */
const char *emit_one_in(const struct emission *e);

/* Values of rows. NULL: the key is left out. */
const char *emit_if_sharded(struct emission *e, const char *literal);
const char *emit_batch(struct emission *e);
const char *emit_sequence(struct emission *e); /* tokens: the model's unless given */
const char *emit_clip(struct emission *e);
const char *emit_rate(struct emission *e);
const char *emit_weight_decay(struct emission *e); /* AdamW's */
const char *emit_seed(struct emission *e);
const char *emit_if_bf16(struct emission *e);
const char *emit_if_fp16(struct emission *e);
const char *emit_optimizer_type(struct emission *e);
bool emit_is_foreach(const struct emission *e); /* AdamW in PyTorch's foreach, by --as */
const char *emit_stage(struct emission *e);
const char *emit_optimizer_place(struct emission *e); /* cpu, nvme */
const char *emit_parameters_place(struct emission *e);
const char *emit_optimizer_folder(struct emission *e);
const char *emit_parameters_folder(struct emission *e);
/* FSDP: version 1 only where its order of gathers says the plan. */
bool emit_is_first_version(const struct emission *e);
const char *emit_version(struct emission *e);
const char *emit_backward(struct emission *e); /* of version 1 */
const char *emit_forward(struct emission *e);
const char *emit_reshard(struct emission *e);
const char *emit_if_saved(const struct emission *e, int64_t how, const char *literal); /* save= (choices.h) */
const char *emit_full_state(struct emission *e);
const char *emit_blocks(struct emission *e); /* a block is a unit, or the model */
const char *emit_offload_all(struct emission *e);
const char *emit_checkpoint_blocks(struct emission *e); /* every block, or none: what is in between, scripts say */
const char *emit_last_step(struct emission *e);

#endif
