/* The shared training step, and what hooks may use of it while it is being compiled.
 *
 * Follow one gradient: `step_backward` asks the strategy where it goes (gradient_needed sets s->gradient[tensor]), lets
 * the kernel write it, and says when its last use is in (gradient_ready): then DDP sends its bucket off, and the update
 * waits for it.
 */
#ifndef SHARDLAB_STEP_H
#define SHARDLAB_STEP_H

#include "strategy/step/turns.h"
#include "strategy/strategies/strategy.h"

enum { STEP_IN_FLIGHT = 64 };

struct step {
	struct build *b;
	const struct plan *plan;
	const struct model *model;
	const struct settings *settings;
	const struct strategy *strategy;
	int64_t ranks;
	bool root;       /* compiling the root's program */
	bool evaluating; /* compiling the evaluate section: forward only */
	int micro;       /* the micro-batch at hand */
	bool last_micro;
	struct checkpointing checkpointing;
	int stage, stages;                 /* where layers are spread over ranks (stage.h); else 0 of 1 */
	int kernel_begin, kernel_end;      /* the kernels of this role */
	unsigned shard_axes, replica_axes; /* groups are sharded along the first, and alike along the second */
	int64_t shards;                    /* ranks along shard_axes */
	struct checkpoints checkpoints;
	/* contiguous_memory_optimization: one buffer for all checkpoints of a micro-batch. By value, its place; -1. */
	int64_t *block_place, block_elements;
	int block_count;
	struct checkpoint_block {
		int buffer, left; /* how many are in use or to come; 0: the buffer is not there */
	} * block;                /* by micro-batch */
	struct turns turns;
	bool recomputing; /* the kernel at hand is carried out once more */

	/* State of this role; -1 where it has none. */
	int parameters, gradients, master, first, second, staging, counter, loss, norm, scaler, overflow;
	int running_state;     /* the model's buffers: running statistics, of a stage those of its own norms … */
	int64_t running_begin; /* … from this element of all on */
	int running;           /* … or the copy of them that this pass uses */
	int running_sent;      /* the broadcast that brought them; -1 */

	/* Who updates, and with what: the compute queue; with --offload optimizer the host, whose own count of the
	 * updates and loss scale these are. */
	enum queue update_queue;
	int update_counter, update_scaler;
	enum placement gradients_place; /* of the lasting gradients */

	/* Hooks of the strategy, or those of reduce.c: offloaded gradients leave as their group fills. */
	void (*gradient_needed)(struct step *s, int tensor);
	void (*gradient_ready)(struct step *s, int tensor);
	void (*end_backward)(struct step *s);

	/* Where kernels find a parameter and put its gradient; set by hooks when it moves. By tensor. */
	struct region *weight, *gradient;
	int *uses_left; /* by tensor: contributions still to come in this micro-batch */
	bool *written;  /* by tensor: what stands at its gradient's place must be added to */

	/* Where the values of this micro-batch stand, and their gradients. By value. */
	struct region *value, *value_gradient;
	bool *value_owned, *gradient_owned; /* the buffer is the step's own and is freed by it */
	int *needed;                        /* by value: kernels that still have to read it */

	/* By group. */
	int64_t *base;   /* where it begins in a buffer of all groups that this role holds; -1: it does not hold it */
	int64_t held;    /* elements of those, padded */
	bool *answers;   /* this role counts its gradient in the norm and shows its weights: of several that hold it one
	                  */
	int *reduced;    /* the operation that completes its gradient; -1 */
	int *group_left; /* tensors whose gradient is not ready yet */
	int *group_buffer; /* gathered gradients in use; -1 */
	int *gathered;     /* gathered parameters in use; -1 */
	int *gather_op;    /* the operation that gathered them */
	int *crossing;     /* gradient shard that waits for the last micro-batch on its way to the host; -1 */

	/* reduce.c: gradients on their way, oldest first. slice: what the reduction leaves, before it goes to the host;
	 * buffer: -1 where that is all. */
	struct {
		int group, buffer, staging, slice, op;
	} leaving[STEP_IN_FLIGHT];
	int leaving_count;

	/* offload.c and update_host.c */
	int *updated;                  /* by group: the host's update of it in this step; -1 */
	int *rounded;                  /* by group: staging of the 16-bit parameters that the host made; -1 */
	int *fetched;                  /* by group: staging of a parameter shard on its way to a gather; -1 */
	struct away *away;             /* offload_values.c; NULL: activations stay on the device */
	struct parts *parts;           /* checkpoint_parts.c; NULL: checkpoints stay whole */
	int added[2], read[2], put[2]; /* the last two that used host staging: who takes it next waits for them */

	/* gather.c: of the visits of units in this micro-batch (turns.visits), the next, and the next to fetch for. */
	int visit_count, visit_next, visit_issued;
};

/* ---- step.c ---- */

void step_compile_role(struct step *s, struct role *role);
void step_begin_micro(struct step *s);                   /* counts what is needed, loads samples */
void step_run_turns(struct step *s, int begin, int end); /* of s->turns */
int *step_numbers(struct step *s, int n);                /* n times -1, in the plan's arena */

/* ---- step_values.c ---- */

void step_place_checkpoints(struct step *s); /* once for a role */
void step_count_needs(struct step *s);       /* a micro-batch begins: how often each value will be read */
/* pass: forward, or recompute. Allocates what it makes, frees what nobody needs any more. */
void step_forward_kernel(struct step *s, int index, enum pass pass);
void step_backward_kernel(struct step *s, int index);

/* The name of a micro-batch's buffer: "block.0.qkv.y", with ".m1" for the second micro-batch. */
const char *step_name(struct step *s, const char *format, ...) __attribute__((format(printf, 2, 3)));
int64_t step_value_elements(const struct step *s, int value); /* of one rank's micro-batch */
enum type step_value_type(const struct step *s, int value);
int step_alloc_value(struct step *s, int value);              /* allocates it and sets s->value */
void step_free_value(struct step *s, int value);              /* … and back */
void step_value_used(struct step *s, int value);              /* who needed it has read it: freed after the last */
struct region step_weight(const struct step *s, int tensor);  /* -1: none */
struct region step_alloc_gradient(struct step *s, int value); /* allocates it and sets s->value_gradient */
void step_free_gradient(struct step *s, int value);
struct op *step_classifier(struct step *s, bool wide);    /* computes the loss of s->value[logits] in place */
void step_classifier_loss(struct step *s, struct op *op); /* where it puts the loss, and its scale */
void step_tensor_gradient(struct step *s, struct op *op, enum part part, int tensor);
struct op *step_kernel_op(struct step *s, enum op_kind kind, int index, enum pass pass);

/* ---- sliced.c: sums over the tensor group, where the model is sliced (strategy/model/slice.h) ---- */

/* What a kernel reads and makes of values and gradients: these themselves, or with sequence parallelism all ranks' rows
 * of them, gathered before it and scattered after it. */
struct sliced_operands {
	struct region x, y, dy, dx;
};
struct sliced_operands sliced_begin_forward(struct step *s, int index, enum pass pass);
struct sliced_operands sliced_begin_backward(struct step *s, int index, struct region dx);
void sliced_finish_forward(struct step *s, int index, enum pass pass, const struct sliced_operands *o);
void sliced_finish_backward(struct step *s, int index, const struct sliced_operands *o);
bool sliced_classifier(struct step *s);                 /* the loss of sliced logits; false: they are whole */
int64_t sliced_padded(const struct step *s, int value); /* elements of the value's buffer */
void sliced_zero_padding(struct step *s, struct region value);

/* ---- update.c ---- */

bool step_mixed(const struct step *s);       /* 16-bit parameters with fp32 master weights */
bool step_holds_state(const struct step *s); /* does this role keep and update parameters? */
bool step_adamw(const struct step *s);
/* Where the owner of a part keeps what it alone keeps: a slice of it is a shard. */
enum placement step_owned(enum placement p);
void step_look(struct step *s);          /* at the gradients: overflow, in fp16; their norm, if clipping */
void step_update_scaler(struct step *s); /* in fp16, after the update */
/* Of adamw and sgd: the step counter, and what says by what gradients are multiplied and whether they are applied. */
void step_update_control(const struct step *s, struct op *op);
/* Whether and from where an update rounds stochastically; its operands are there. */
void step_rounding(const struct step *s, struct op *op);
/* The parameters of a group have changed on their owner: whoever else keeps them gets them. */
void step_spread(struct step *s, int group, enum queue changed_by);

/* The part of a group in a buffer under a placement. */
struct region step_place(const struct step *s, int buffer, enum placement placement, int group);
void step_state(struct step *s);                  /* prologue: allocates this role's state and initialises it */
void step_update(struct step *s);                 /* the update: norm if clipping, then every group */
int step_update_group(struct step *s, int group); /* one group; returns the operation */
void step_show_weights(struct step *s);           /* epilogue */

/* ---- offload.c: state and gradients that stay in host memory or on disk ---- */

/* Do they go together? */
enum status offload_check(const struct strategy *g, const struct settings *t, const struct checkpointing *c);
enum space offload_space(const struct step *s, bool of_parameters); /* of parameters, or of the optimizer's state */
/* The first content of a part of state, by `initialize` or `zero`, wherever it stands. */
/* axes: of `initialize`, those along which the part is a shard of its group (struct op). */
void offload_begin_with(struct step *s, enum op_kind kind, int buffer, enum placement place, unsigned axes, int group);
/* A part of state where the host can read it: in place, or read from disk into staging (-1: none). */
struct region offload_read(struct step *s, struct region home, const char *name, int *staging);
/* Reduced gradients of a group go to the host, and are added to what is there: `from` is written by the last operation
 * of `queue`. Returns the copy. */
int offload_gradients(struct step *s, int group, struct region from, enum queue queue, bool adds);
/* A group's parameter shard comes to the device: into `buffer`, or (-1) into one of its own, fetched[group], which
 * offload_fetched frees. Returns the copy. */
int offload_fetch(struct step *s, int group, const char *name, int buffer);
void offload_fetched(struct step *s, int group);
/* In the prologue, for collectives, which move device memory: the parameter shard on the device, where it stays or on
 * a visit; and back where it stays. */
struct region offload_lift(struct step *s, int group);
void offload_lower(struct step *s, int group);

/* ---- checkpoint_parts.c: checkpoints of which each rank of a tensor group keeps a slice ---- */

/* slice: the model as each rank has it. */
enum status checkpoint_parts_check(const struct strategy *g, const struct model *slice, const struct checkpointing *c,
                                   const struct settings *settings);
void checkpoint_parts_prepare(struct step *s);
void checkpoint_parts_before(struct step *s, int turn);
void checkpoint_parts_after(struct step *s, int turn);

/* ---- offload_values.c: activations that stay in host memory until backward needs them ---- */

bool offload_values(const struct step *s); /* do they? */
void offload_values_prepare(struct step *s);
void offload_values_before(struct step *s, int turn); /* fetches what the turn's run, and the next, will read */
void offload_values_after(struct step *s, int turn);  /* sends what the run that ends here leaves to backward */

/* ---- update_host.c: the optimizer on the host ---- */

void host_update_early(struct step *s); /* delayed: what the last step left is applied while this one computes */
void host_update(struct step *s);
/* ---- batch_norm.c: batch normalization, and the model's buffers ---- */

/* The operations that make a norm's statistics, at s->value[saved], before it normalizes. */
void batch_norm_statistics_of(struct step *s, int index);
/* The operations that make the sums which the gradient of its input needs; dy becomes the gradient of what GELU was
 * applied to. The caller frees the sums' buffer. */
struct region batch_norm_sums_of(struct step *s, int index);

void buffers_state(struct step *s);          /* with the rest of the state */
void buffers_prologue(struct step *s);       /* made the same on all ranks */
void buffers_before_forward(struct step *s); /* … where they have drifted apart; evaluation gets a copy */
void buffers_after_forward(struct step *s);
void buffers_show(struct step *s); /* epilogue */

/* ---- pack.c: how tensors are packed in groups ---- */

void pack_begin(struct plan *p, int most_groups);
struct group *pack_add_group(struct plan *p, const char *name);
void pack_add_tensor(struct plan *p, struct group *g, int tensor);
void pack_close_group(struct plan *p, struct group *g, int64_t slices); /* pads it to a multiple of them */

void pack_units(struct plan *p);   /* a group a unit, in order of first use */
void pack_buckets(struct plan *p); /* in reverse order, as DDP's buckets */
void pack_all(struct plan *p);     /* one group */
void pack_slices(struct plan *p);  /* slices by unit, and what every rank has whole */

/* ---- collectives on groups ---- */

/* As an operation has them: 0 for all. */
static inline unsigned step_axes(const struct step *s, unsigned axes)
{
	return axes == plan_all_axes(s->plan) ? 0 : axes;
}
struct op *step_collective(struct step *s, enum op_kind kind, enum schedule_algorithm a, enum traffic_kind t,
                           int group);
/* Takes the algorithm that the strategy's setting of this name asks for, if it has one. */
void step_choose_algorithm(const struct step *s, struct op *op, const char *key);

/* ---- gather.c: parameters that come before use (ZeRO-3 and FSDP) ---- */

void gather_begin(struct step *s);            /* a micro-batch begins */
void gather_before(struct step *s, int unit); /* makes sure it is there, fetches ahead */
void gather_after(struct step *s, int unit);  /* frees it, unless it is used again soon */
void gather_keep(struct step *s, int unit);   /* frees it after its last use in the micro-batch */

/* ---- reduce.c: gradients that leave as their group fills (ZeRO-2, ZeRO-3, FSDP) ---- */

void reduce_needed(struct step *s, int tensor);
void reduce_ready(struct step *s, int tensor);
void reduce_finish(struct step *s); /* all that are on their way have arrived */
/* Whole gradients that two stages have reduced between them go to the host. */
void reduce_leave(struct step *s, int group);

#define X(name) extern const struct strategy strategy_##name;
STRATEGY_LIST(X)
CONTRAST_LIST(X)
#undef X

#endif
