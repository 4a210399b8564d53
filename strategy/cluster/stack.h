/* A software stack: what PyTorch, DeepSpeed, Megatron or a program in C reaches of a cluster's ceilings. The rates of a
 * cluster are the best that anybody measured of one shape; a stack says how much of them arrives in a training step.
 *
 *     name: ours
 *     class: pytorch-compiled       # what is missing below is the class's, on this card
 *     card: ampere
 *     product: {share: 0.78, depth: 96}    # of the cluster's rate; at a depth of 96 (K) half of it is reached
 *     memory: {bandwidth: 0.85}
 *     network: {between: 0.7}
 *     step: {constant: 4e-3}               # seconds
 *     range: {low: 0.95, high: 1.06}       # of ten steps, nine took between so many times what was predicted
 *     fit: {rows: 12, width_least: 2048, width_most: 4096}
 *
 * How a stack acts on what the simulator computes (strategy/cluster/effective.h):
 *
 * - product: rate · share · K/(K + depth) · M/(M + rows) · 1/(1 + waves · lost), where `lost` is what the last wave of
 *   tiles of 128 × 128 leaves idle of the multiprocessors.
 * - kernel: the larger of its time on the device and `issue`, plus `gap`; and for what the plan fuses and this stack
 * does not, `unfused` times the bytes of its kernel once more.
 * - network: bandwidth inside a node and between nodes, of the cluster's.
 * - a step: `constant`, and `micro_batch` for each micro-batch; they pass before the first operation.
 * - memory: activations · factor, and all that is allocated · (1 + reserved): whether a plan fits. libraries: their
 *   workspace stands beside the cluster's overhead.
 * - as: the same of a plan that --as made, which has its software's own bytes and allocator. Both are 1 until they are
 *   measured.
 *
 * A stack is a cluster's own: "a100-80gb:stack=NAME|FILE" opens both, which is what --stack says. No program reaches
 * all of a card's ceilings, so that a cluster of which nothing was measured has a class also where none is named:
 * `fused`, or what stands as "a100-80gb:class=NAME". "ceiling" asks for the ceilings themselves.
 */
#ifndef SHARDLAB_STACK_H
#define SHARDLAB_STACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "strategy/base/status.h"

/* The figures of a stack. constant, section, key, kind (strategy/cluster/fields.h), bounds in the file's unit, what it
 * is. Shares are kept in millionths and seconds in nanoseconds. Those up to RANGE are given by the classes. */
#define STACK_LIST(X)                                                                                                  \
	X(PRODUCT_SHARE, "product", "share", SHARE, 0.02, 1, "of the cluster's rate of products")                      \
	X(PRODUCT_DEPTH, "product", "depth", WHOLE, 0, 65536, "the K at which half of that is reached")                \
	X(PRODUCT_ROWS, "product", "rows", WHOLE, 0, 65536, "the rows at which half of that is reached")               \
	X(PRODUCT_WAVES, "product", "waves", SHARE, 0, 1, "of a partial wave of tiles, what is lost")                  \
	X(ATTENTION_FORWARD, "attention", "forward", SHARE, 0.01, 1, "of the cluster's rate of attention")             \
	X(ATTENTION_BACKWARD, "attention", "backward", SHARE, 0.01, 1, "the same in the backward pass")                \
	X(MEMORY_BANDWIDTH, "memory", "bandwidth", SHARE, 0.02, 1, "of the device's memory bandwidth")                 \
	X(MEMORY_UNFUSED, "memory", "unfused", SHARE, 0, 20, "bytes moved besides, for each of a kernel's")            \
	X(LAUNCH_ISSUE, "launch", "issue", SECONDS, 0, 0.1, "of the host, an operation of the plan")                   \
	X(LAUNCH_GAP, "launch", "gap", SECONDS, 0, 0.1, "on the device, between two operations")                       \
	X(NETWORK_INSIDE, "network", "inside", SHARE, 0.01, 1, "of the links inside a node")                           \
	X(NETWORK_BETWEEN, "network", "between", SHARE, 0.01, 1, "of the line rate between nodes")                     \
	X(OVERLAP_SHARE, "overlap", "multiprocessors", SHARE, 0, 0.9, "of the device, while a collective runs")        \
	X(HOST_MEMORY, "host", "memory", SHARE, 0.01, 1, "of host memory's bandwidth, in the host's update")           \
	X(HOST_LINK, "host", "link", SHARE, 0.01, 1, "of the link between device and host")                            \
	X(STEP_CONSTANT, "step", "constant", SECONDS, 0, 100, "a step")                                                \
	X(STEP_MICRO_BATCH, "step", "micro_batch", SECONDS, 0, 100, "a micro-batch")                                   \
	X(ACTIVATIONS_FACTOR, "activations", "factor", SHARE, 0.5, 4, "bytes for each of the plan's")                  \
	X(RESERVED_SHARE, "reserved", "share", SHARE, 0, 1, "held by the allocator beyond what is allocated")          \
	X(AS_ACTIVATIONS, "as", "activations", SHARE, 0.5, 4, "other software's plan: bytes for each of its own")      \
	X(AS_HELD, "as", "held", SHARE, 0.5, 4, "other software's: bytes for each that its allocator would hold")      \
	X(LIBRARIES_WORKSPACE, "libraries", "workspace", WHOLE, 0, 1e12, "bytes that matrix products work in")         \
	X(RANGE_LOW, "range", "low", SHARE, 0.1, 1, "measured over predicted: nine of ten runs are between")           \
	X(RANGE_HIGH, "range", "high", SHARE, 1, 10, "and this")                                                       \
	X(FIT_ROWS, "fit", "rows", WHOLE, 1, 1e9, "runs that it was fitted on")                                        \
	X(FIT_WIDTH_LEAST, "fit", "width_least", WHOLE, 1, 1e9, "the narrowest model among them")                      \
	X(FIT_WIDTH_MOST, "fit", "width_most", WHOLE, 1, 1e9, "the widest")                                            \
	X(FIT_RANKS_LEAST, "fit", "ranks_least", WHOLE, 1, 1e9, "the fewest ranks")                                    \
	X(FIT_RANKS_MOST, "fit", "ranks_most", WHOLE, 1, 1e9, "the most")                                              \
	X(FIT_TOKENS_LEAST, "fit", "tokens_least", WHOLE, 1, 1e12, "the fewest tokens of a rank's micro-batch")        \
	X(FIT_TOKENS_MOST, "fit", "tokens_most", WHOLE, 1, 1e12, "the most")

enum stack_value {
#define X(constant, ...) STACK_##constant,
	STACK_LIST(X)
#undef X
	        STACK_VALUES
};
enum { STACK_OF_CLASS = STACK_FIT_ROWS }; /* every class has the values before it */

/* A value's row of the list. */
struct stack_row {
	const char *section, *key, *what;
};
const struct stack_row *stack_row(int value);

/* The words that a stack may have: classes, from the slowest to the fastest, and generations of cards. */
#define STACK_CLASSES "pytorch-eager|pytorch-compiled|deepspeed|megatron|fused"
#define STACK_CARDS "volta|turing|ampere|ada|hopper|blackwell|cdna3"

#define STACK_MISSING INT64_C(-1)

#define STACK_CEILING "ceiling" /* in the place of a name: none */
#define STACK_DEFAULT "fused"   /* the class of shardlab's own plans and kernels */

struct stack {
	char name[64], about[256]; /* name "": there is none, and the ceilings are what is reached */
	char class[24], card[16];
	bool by_default;             /* nobody named it */
	int64_t value[STACK_VALUES]; /* STACK_MISSING: of `fit` only, once it was opened */
};

/* name_or_path: a stack of the catalogue, a class, or a file (with a '/', or ending in .yaml or .yml). card: of the
 * cluster; "": it does not say, and a file's own counts. STATUS_INPUT: unknown, or for another card. */
enum status stack_open(struct stack *s, const char *name_or_path, const char *card);
/* Reads a description from memory. Errors begin with "file:line:column: ". */
enum status stack_read(struct stack *s, const char *text, size_t size, const char *file, const char *card);
/* Prints every known value in the form that stack_read takes. */
void stack_print(const struct stack *s, FILE *out);
/* One line an entry of the catalogue, for `shardlab help`. */
void stack_list(void (*line)(void *context, const char *name, const char *what), void *context);

/* Fills in what is missing from the class on the card. */
void stack_complete(struct stack *s);
bool stack_is_class(const struct stack *s); /* the bare class, fitted on nothing of its own */

#endif
