/* Carrying a plan out on what its buffers stand for: what the files meaning.c, kernel.c, update.c
 * and collective.c share. */
#ifndef SHARDLAB_VERIFY_MEANING_H
#define SHARDLAB_VERIFY_MEANING_H

#include "strategy/plan/verify/memory.h"

struct interpreter {
	const struct verify *v;
	struct memory memory;
	int reads; /* the version of the weights that forward and backward read */
	int step;  /* the step at hand, from 1; what the update makes */
	/* by kernel: its number among those that read x, residual or second (bit of meaning.consumers), among the uses
	 * of its tensors (bit of run.uses) */
	int *x_consumer, *residual_consumer, *second_consumer, *weight_use, *bias_use;
	uint64_t *consumers; /* by value: all of them */
	/* what is shown: evaluation figures by role; weights by role and group */
	int evaluated_own[ROLES], evaluated_wide[ROLES];
	int64_t *shown_own[ROLES], *shown_whole[ROLES];
	int64_t shown_buffers; /* elements, from the first on */
};

/* The operation at hand: messages name it. */
struct at {
	struct interpreter *ip;
	int role, number;
	const struct role *r;
	const struct op *op;
	int participants; /* of a collective: roles that take part */
};

/* What a region of a group stands for: all of it, or this rank's slice. */
struct group_part {
	enum meaning_kind kind; /* ZERO: zeros, and then no group */
	int group;
	unsigned own;             /* this rank's slice along these axes; 0: all of it */
	int version, sum, scaled; /* as of the meaning */
};

/* The meaning of a weights-, moments- or gradient-like operand; refuses under `rule` what is not the same throughout,
 * or is not the whole group or the slice of it. Zeros are let pass as padding. */
enum status read_group(const struct at *a, int operand, int rule, struct group_part *out);
/* What fills a collective up to whole slices, behind the first `used` elements, is sent too: refuses under `rule`
 * unless it is zeros. */
enum status read_padding(const struct at *a, int operand, int rule, int64_t used);
/* Refuses under `rule` unless the region stands for exactly this. */
enum status read_exactly(const struct at *a, int operand, int rule, struct meaning want);
/* The operand as the loss scale, updated so often. */
struct meaning loss_scale(const struct at *a, int operand, int version);
/* Refuses unless the region is the loss scale as of this step; what is multiplied by it is `scaled` with this step. */
enum status read_scaler(const struct at *a, int operand);
enum status read_gradient_complete(const struct at *a, int operand, struct group_part *out);
/* Makes a region of a group stand for `part`. keep_padding: zeros stay zeros. */
enum status write_group(const struct at *a, int operand, const struct group_part *part, bool keep_padding);
void write_meaning(const struct at *a, int operand, struct meaning what); /* operand is no slice */
enum status refuse_at(const struct at *a, int rule, int operand, const char *format, ...)
        __attribute__((format(printf, 4, 5)));

enum status mean_kernel(const struct at *a);
/* norm.c: what a batch norm's operations do beside reading and writing values and tensors */
enum status mean_norm(const struct at *a, int scaled);
enum status mean_buffers(const struct at *a);
enum status mean_norm_collective(const struct at *all);
struct meaning inner_gradient(const struct at *a, int operand, int scaled);
enum status mean_vector(const struct at *a);
/* sliced.c: is a collective's x a value, or its gradient, of which ranks of a tensor group have parts, or rows?
 * Then they are added up, or gathered. */
bool sums_a_value(const struct at *a);
enum status sum_value(const struct at *all);
enum status gather_rows(const struct at *all);
enum status mean_collective(const struct at *all); /* its all->participants */

#endif
