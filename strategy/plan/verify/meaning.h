/* Carrying a plan out on what its buffers stand for: what the files that do it share. */
#ifndef SHARDLAB_VERIFY_MEANING_H
#define SHARDLAB_VERIFY_MEANING_H

#include "strategy/plan/verify/memory.h"

struct interpreter {
	const struct verify *v;
	struct memory memory;
	int reads; /* the version of the weights that forward and backward read */
	int step;  /* the step at hand, from 1; what the update makes */
	/* by kernel: its number among those that read its values (bit of meaning.consumers), and among the uses of its
	 * tensors (bit of run.uses) */
	struct kernel_uses {
		int x, residual, second, weight, bias;
	} * uses;
	uint64_t *consumers; /* by value: all of them */
	/* what is shown: evaluation figures by role; weights by role and group */
	int evaluated_own[ROLES], evaluated_all[ROLES];
	int64_t *shown_own[ROLES], *shown_whole[ROLES];
	int64_t shown_buffers; /* elements, from the first on */
	struct saving *saving; /* restore.c; NULL: the plan has no checkpoints */
};

static inline const struct kernel *kernel_of(const struct at *a)
{
	return &a->p->model->kernels[a->op->kernel];
}

/* Like refuse_at; also says what the operand holds. */
enum status refuse_found(const struct at *a, int rule, int operand, const char *format, ...)
        __attribute__((format(printf, 4, 5)));

/* ---- reading and writing ---- */

/* The one meaning of a region, or of an operand; if there are several, that of what was never written. */
const struct meaning *meaning_in(const struct at *a, const struct region *g);
const struct meaning *meaning_at(const struct at *a, int operand);
static inline bool is_value(const struct meaning *x)
{
	return x->kind == MEANING_VALUE || x->kind == MEANING_VALUE_GRADIENT;
}

/* The meaning of a weights-, moments- or gradient-like operand; refuses under `rule` what is not the same throughout,
 * or is not the whole group or the slice of it: `shard` then has the axes of the slice. Zeros are let pass as padding;
 * zeros alone are MEANING_ZERO, of group -1. */
enum status read_group(const struct at *a, int operand, int rule, struct meaning *out);
/* The padding of a collective, behind the first `used` elements, is sent too. Refuses under `rule` unless it is zeros.
 */
enum status read_padding(const struct at *a, int operand, int rule, int64_t used);
/* Refuses under `rule` unless the operand, or a region of it, stands for exactly this. */
enum status read_exactly(const struct at *a, int operand, int rule, struct meaning want);
enum status read_exactly_in(const struct at *a, int operand, const struct region *g, int rule, struct meaning want);
/* The operand as the loss scale, updated so often. */
struct meaning loss_scale(const struct at *a, int operand, int version);
/* Refuses unless the region is the loss scale as of this step; what is multiplied by it is `scaled` with this step. */
enum status read_scaler(const struct at *a, int operand);
enum status read_gradient_complete(const struct at *a, int operand, struct meaning *out);
/* Makes a region of a group stand for `part`, as read_group gives it. keep_padding: zeros stay zeros. */
enum status write_group(const struct at *a, int operand, const struct meaning *part, bool keep_padding);
void write_meaning(const struct at *a, int operand, struct meaning what); /* operand is no slice */
/* Writes a sum: the contribution `use` of `uses` at `at`, added to what the operand holds if the operation accumulates.
 * what, name: "the gradient of ", "wte". */
enum status write_sum(const struct at *a, int operand, struct meaning now, const char *what, const char *name, int at,
                      int use, int uses, unsigned axes);

/* ---- collectives, on all roles that take part ---- */

const struct at *at_root(const struct at *all);
/* The meaning of what a rank brings: for a collective in place, of the elements before its padding. */
struct region without_padding(const struct at *a);
/* The meaning of what every role brings, by `read`. Refuses unless it is the same on all of them but for its place. */
enum status read_all(const struct at *all, int rule, int operand,
                     enum status (*read)(const struct at *a, struct meaning *out), struct meaning *out);
/* Makes what the collective leaves (y; or x, before its padding) stand for `what` on every role. */
void write_all(const struct at *all, struct meaning what);

/* ---- the operations, file by file ---- */

enum status mean_kernel(const struct at *a);
/* norm.c: a batch norm's operands beside values and tensors */
enum status read_norm_part(const struct at *a, int operand, enum part part);
void write_norm_part(const struct at *a, int operand, enum part part, int scaled);
enum status mean_buffers(const struct at *a);
enum status mean_norm_collective(const struct at *all);
struct meaning inner_gradient(const struct at *a, int operand, int scaled);
int scaled_by(const struct at *a); /* the step whose loss scale a kernel's gradients carry; 0: none */
enum status mean_vector(const struct at *a);
/* restore.c: rule 9, after steps and evaluation */
enum status mean_save(const struct at *a);
enum status mean_restore(const struct at *a);
enum status verify_restored(struct interpreter *ip,
                            enum status (*carry_out)(struct interpreter *ip, enum section_kind k));
/* sliced.c: is a collective's x a value, or its gradient, of which ranks of a tensor group have parts, or rows?
 * Then they are added up, or gathered. */
bool sums_a_value(const struct at *a);
enum status sum_value(const struct at *all);
enum status gather_rows(const struct at *all);
enum status mean_collective(const struct at *all); /* its all->participants */

#endif
