/* GELU's backward pass in the product that makes its input: of two linear layers in a row, y = gelu(x·W₁) and z = y·W₂,
 * the plan has the gradient of y made by the second's linear.backward and turned into that of GELU's argument by the
 * first's. If nothing comes between the two, a device may do this in the epilogue of the product that makes the
 * gradient, and the first finds it done: GELU in its tanh form, for which libraries have epilogues. The plan, its
 * buffers and its order stay the same; a gradient that would be rounded to 16 bits twice is rounded once.
 *
 *     linear.backward block.0.out  … -> dx=d            with the epilogue: d is the gradient of fc's pre
 *     linear.backward block.0.fc   dy=d … pre=p …       reads d as it is
 */
#ifndef SHARDLAB_FUSION_H
#define SHARDLAB_FUSION_H

#include "strategy/plan/plan.h"

struct fusion {
	int next;  /* linear.backward: the operation whose GELU its dx goes through; -1: of none */
	bool done; /* linear.backward: its dy is through GELU already */
};

/* out: one for each operation of the role. */
void fusion_find(const struct model *m, const struct role *r, struct fusion *out);

#endif
