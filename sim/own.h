/* A stack from what somebody measured of steps of their own: the constants that make predictions equal to them.
 *
 *     struct own_step steps[] = {{.plan = &a, .ceilings = &c, .measured = 1530000000}, …};
 *     enum status s = own_fit_steps(&stack, steps, 2);
 *
 * Each step that does not repeat another one frees one constant, in the order of OWN_LIST; more steps than constants
 * are met as well as they can be. A constant is a factor of shares, none of which passes its ceiling. Those that are
 * not free yet go along with products: one step alone moves all rates by one factor. A step in which attention takes
 * half of the time would else make products answer for attention, and steps of shorter sequences would be off. The
 * logarithms of predicted over measured are made zero by Gauss-Newton steps within the bounds; a constant that none of
 * the steps depends on, as the network of one rank, stays where it was.
 */
#ifndef SHARDLAB_SIM_OWN_H
#define SHARDLAB_SIM_OWN_H

#include "strategy/cluster/cluster.h"
#include "strategy/plan/plan.h"
#include "strategy/trace/profile.h"

/* constant, its first share of the stack, how many move together */
#define OWN_LIST(X)                                                                                                    \
	X(PRODUCTS, PRODUCT_SHARE, 1)                                                                                  \
	X(NETWORK, NETWORK_INSIDE, 2)                                                                                  \
	X(TRAFFIC, MEMORY_BANDWIDTH, 1)                                                                                \
	X(ATTENTION, ATTENTION_FORWARD, 2)

enum own_constant {
#define X(constant, ...) OWN_##constant,
	OWN_LIST(X)
#undef X
	        OWN_CONSTANTS
};

struct own_step {
	const struct plan *plan;
	const struct cluster *ceilings;  /* without a stack */
	int64_t measured, before, after; /* ns: given; predicted before and after */
};

/* The error that a step may still have when no constants are left to free: more is a contradiction. */
#define OWN_TOLERANCE 0.05

enum { OWN_STEPS = 32 }; /* at most, in one fit */
/* The range of a prediction after one step was given, in millionths of it: nine of ten other steps of the same program,
 * model and card fell within it (the runs of docs/prediction.md at the level `step`). */
#define OWN_RANGE_LOW 900000
#define OWN_RANGE_HIGH 1060000

/* STATUS_INPUT: the steps contradict the ceilings or each other. The stack then has a range, and says what it was
 * fitted on. */
enum status own_fit_steps(struct stack *s, struct own_step *steps, int count);

/* Fits the factor of activations with which plans peak at the measured bytes allocated, the share that the allocator
 * holds beside them, and the workspace of libraries. A plan made as other software's frees as.activations and as.held
 * in place of activations.factor and reserved.share. peak, reserved, device: allocated, held by the allocator, and in
 * use on all of the device; 0: not measured. STATUS_INPUT: outside of the bounds, or they contradict each other. */
struct own_peak {
	const struct plan *plan;
	const struct cluster *ceilings; /* without a stack */
	int64_t peak, reserved, device;
};
enum status own_fit_peaks(struct stack *s, const struct own_peak *peaks, int count);

/* Fits products, network, traffic and attention at once, from a step whose times were recorded by kind, and the step's
 * constant from the rest. name: of the file. STATUS_INPUT: products take less than the ceilings allow. */
enum status own_fit_trace(struct stack *s, struct own_step *step, const struct profile *recorded, const char *name);

/* Rows, ranks, widths and tokens that it stands on, and the range of a calibrated stack. */
void own_say_fitted(struct stack *s, const struct own_step *steps, int count);

#endif
