/* The shared training step while it is being compiled: its parts, and what the files of strategy/step do with them.
 * Strategies see hooks.h alone.
 *
 * Follow one gradient: `step_backward_kernel` asks where it goes (the hook gradient_needed sets its region in
 * s->tensor), lets the kernel write it, and says when its last use is in (gradient_ready): then DDP sends its bucket
 * off, and the update waits for it.
 *
 * Files, roughly from the bottom up:
 *
 *     place.c          names, places of groups, collectives
 *     pack.c, execution.c
 *     activations.c    buffers of values and of their gradients
 *     border.c         tensors across the border of two slices
 *     offload.h        state that stays in host memory or on disk
 *     tree.c           gradients summed in one binary tree, however many ranks there are
 *     secondary.c      a second copy of the parameters, sharded over a node
 *     bucket.c, reduce.c, gather.c, broadcast.c       parameters and gradients between ranks
 *     save_gathered.c  parameters gathered to be saved
 *     unfused.c        what a stack's own kernels leave in memory besides
 *     fp8.c            copies of what products in fp8 multiply
 *     state.c, batch_norm.c, restore.c, sliced.c, loss.c
 *     values.c         kernels
 *     checkpointing.c, host_values.c        activations that do not stay whole on the device
 *     update.c                              the update
 *     step.c           the step
 *     stage.c, stage_split.c                steps of a pipeline
 *     compile.c        a plan
 */
#ifndef SHARDLAB_STEP_H
#define SHARDLAB_STEP_H

#include "strategy/step/execution.h"
#include "strategy/step/hooks.h"

/* ---- parts ---- */

/* A value of the micro-batch at hand, and its gradient. */
struct value_state {
	struct held {
		struct region at;
		bool owned; /* the buffer is the step's own and is freed by it */
	} data, gradient;
	int readers; /* kernels that still have to read it */
};
static inline struct held not_held(void)
{
	return (struct held){.at = {.buffer = -1}};
}

/* A parameter: where kernels find it and put its gradient. Hooks set them when they move. */
struct tensor_state {
	struct region weight, gradient;
	int uses_left; /* contributions to the gradient that are still to come in this micro-batch */
	bool written;  /* the gradient's place holds something to add to */
	int piece;     /* the buffer of the gradient alone, until it is copied into its group's; -1 */
};

/* tree.c: depths of a rank's tree; and ranks up to which the digits of its exact sums fit. */
enum { TREE_DEPTH = 13, TREE_RANKS = 4096 };

/* A group of tensors. Numbers of buffers and operations are -1 where there is none. */
struct group_state {
	int64_t base; /* where it begins in a buffer of all groups that this role holds; -1: it does not hold it */
	bool tied;    /* two stages hold it */
	bool owner;   /* of the roles that hold it, this one counts its gradient in the norm and shows its weights */
	int tensors_left; /* tensors whose gradient is not ready yet */
	int gathered;     /* the buffer of its whole parameters, where they do not stay */
	int gather_op;    /* the operation that gathered them */
	int secondary;    /* its shard of a second copy (secondary.c) */
	int fetched;      /* staging of a parameter shard on its way to a gather */
	int gradients;    /* the buffer of its whole gradients, where they do not stay */
	int64_t at;       /* where they begin in that buffer */
	int shard;        /* gradient shard that stays on the device until the last micro-batch, or the update */
	bool pending;     /* its gradients are complete, and the next unit's gather goes first (`backward=post`) */
	int reduced;      /* the operation that completes its gradient */
	int updated;      /* the host's update of it in this step */
	int parameters16; /* staging of the 16-bit parameters that the host made */
	/* tree.c */
	int leaf;                /* the nth micro-batch, whose gradients its kernels write; -1 */
	int partial[TREE_DEPTH]; /* by depth: the sum that waits there */
};

/* The state that a rank keeps from step to step. */
enum state_kind {
	STATE_PARAMETERS,
	STATE_GRADIENTS,
	STATE_MASTER, /* fp32 weights */
	STATE_FIRST_MOMENT,
	STATE_SECOND_MOMENT,
	STATE_KINDS
};

/* The place of one kind of state. --offload decides the space and the strategy the placement (offload.h); whatever
 * reads or writes state asks here. */
struct home {
	int buffer; /* -1: this role keeps none */
	enum space space;
	enum queue queue; /* that works on it */
	enum placement place;
};

/* When a group's reduced gradients leave the device. */
enum departure {
	DEPART_NEVER,
	DEPART_AT_ONCE, /* with every micro-batch that is reduced */
	DEPART_LAST     /* once a step: replicas first add up the shards, which wait on the device */
};

struct state {
	struct home home[STATE_KINDS];
	int64_t held; /* elements of the groups that this role holds, padded */
	int buckets;  /* of gradients that stay whole, where their copies are reduced; -1 */
	int staging, counter, loss, norm, scaler, overflow; /* buffers; -1 */
	/* Who updates: the device or the host, which has its own count of updates and its own loss scale. */
	enum space update_space;
	enum queue update_queue;
	int update_counter, update_scaler;
	bool elsewhere;   /* some of it stays on the host or on disk */
	bool own_weights; /* the update has fp32 weights of its own, and the new parameters go to the device */
	bool by_arrival;  /* groups are updated as their gradients come, and not by number */
	enum departure departure;
	bool delayed;         /* a step's gradients are applied while the next one computes */
	bool casts;           /* parameters are fp32 shards, rounded for each gather; there are no master weights */
	bool frees_gradients; /* they are no state: a group's shard is in group_state.shard until its update */
};

/* batch_norm.c: the model's buffers. */
struct running_state {
	int state;     /* running statistics of this role's norms; -1 */
	int64_t begin; /* the first of the model's elements that the buffer holds */
	int now;       /* the buffer that this pass uses, or a copy of it */
	int sent;      /* the broadcast that brought them; -1 */
};

/* checkpointing.c: with contiguous_memory_optimization, one buffer for all checkpoints of a micro-batch. */
struct checkpoint_block {
	int64_t *place, elements; /* by value: its place in the buffer; -1. NULL: there is no such buffer */
	int count;
	struct {
		int buffer, left; /* how many are in use or to come; 0: the buffer is not there */
	} * micro;                /* by micro-batch */
};

/* gather.c: spans of this micro-batch. */
struct gather_progress {
	int count, next; /* the next to begin */
	int issued;      /* the next to gather for */
	int open;        /* spans that have begun and not ended: those of other units may be inside */
};

/* reduce.c: gradients on their way, oldest first. A group has at most one reduction and one shard that goes to the
 * host. */
struct reductions {
	struct reduction {
		int group;
		int buffer;  /* whole gradients; -1 */
		int staging; /* to be added to what is there; -1 */
		int shard;   /* on its way to the host; -1 */
		int op;
		bool slice;  /* all-reduced: this rank's slice of the buffer goes to its shard, */
		bool adds;   /* and is added to what is there */
		bool shared; /* the buffer goes with a later reduction */
		bool back;   /* the copy in state.buckets goes back to where the gradients stay */
	} * list;
	int count, room;
};

/* reduce.c: groups whose gradients wait in one buffer until it is full. */
struct open_bucket {
	int buffer; /* -1: none is open */
	int64_t used, room;
	int *groups, count;
	bool joined; /* the group at hand is reduced in one call with the one before it */
};

/* Host staging: by use, the last two operations that read it. The next to take staging waits for the older one. */
struct staging_uses {
	int added[2], fetched[2], written_back[2];
};

/* restore.c: of an item, the buffer of its snapshot (-1) and the next place in it. */
struct snapshot_place {
	int buffer;
	int64_t next;
};

struct step {
	struct build *b;
	const struct plan *plan;
	const struct model *model;
	const struct settings *settings;
	const struct strategy *strategy;
	struct choices choices;
	struct hooks hooks; /* the strategy's, and what its placements ask for */
	int64_t ranks;

	/* The role that is being compiled. */
	struct arena *scratch; /* what is needed until it is */
	bool root;
	int stage, stages;                 /* where layers are spread over ranks (stage.h); else 0 of 1 */
	int kernel_begin, kernel_end;      /* the kernels of this role */
	int enters, leaves;                /* of a stage: the values that cross its ends; -1: none */
	unsigned shard_axes, replica_axes; /* groups are sharded along the first, and alike along the second */
	int64_t shards;                    /* ranks along shard_axes */

	/* How far compiling has come. */
	bool evaluating; /* compiling the evaluate section: forward only */
	int micro;       /* the micro-batch at hand */
	int nth_micro;   /* how many came before it */
	bool last_micro;
	bool recomputing; /* the kernel at hand is recomputed */

	struct gather_units units;
	struct execution execution;
	struct checkpointing checkpointing;
	struct checkpoints checkpoints;
	struct value_state *value; /* by value; of the micro-batch at hand */
	struct tensor_state *tensor;
	int fp8_history; /* the largest elements of earlier steps (fp8.c); -1 */
	int *kept;       /* by kernel: the buffer that is kept besides for its backward pass (unfused.c); -1 */
	struct group_state *group;
	struct state state;
	struct running_state running;
	struct gather_progress gather;
	struct reductions reductions;
	struct open_bucket bucket;
	struct staging_uses staging_uses;
	struct snapshot_place snapshot[ITEM_COUNT];
	struct checkpoint_block block;
	struct host_values *host_values;             /* NULL: activations stay on the device */
	struct checkpoint_slices *checkpoint_slices; /* NULL: checkpoints stay whole */
};

/* ---- place.c ---- */

int *step_numbers(struct step *s, int n); /* an array of n times -1, until the role is compiled */
bool step_mixed(const struct step *s);    /* the update has fp32 master weights beside the parameters */
bool step_adamw(const struct step *s);
bool step_holds_state(const struct step *s); /* this role keeps and updates parameters */
/* This role shows and saves the model's buffers: of two that hold the same, the first. */
bool step_speaks(const struct step *s);
/* How the owner of a part keeps what no other rank keeps: a slice becomes a shard. */
enum placement step_owned(enum placement p);
/* The part of a group in a buffer under a placement. */
struct region step_place(const struct step *s, int buffer, enum placement placement, int group);
/* The place of the part of a group's state that this rank updates; none if this role keeps none. */
struct region state_own(const struct step *s, enum state_kind kind, int group);
/* True if the whole state of this kind stays on the device, so that kernels use it there. */
bool state_stays(const struct step *s, enum state_kind kind);
/* The axes along which the operand is a shard of its group; 0 where its size says so already. */
uint8_t step_shard_axes(const struct step *s, enum placement place);
/* Axes as an operation stores them: 0 stands for all. */
uint8_t step_axes(const struct step *s, unsigned axes);
struct op *step_kernel_op(struct step *s, enum op_kind kind, int index, enum pass pass);
struct region step_weight(const struct step *s, int tensor); /* -1: none */
void step_zero(struct step *s, struct region region);
/* Zeros elements [begin, end) of a buffer, if there are any: padding is sent with the rest, so it must be defined. */
void step_zero_padding(struct step *s, int buffer, int64_t begin, int64_t end);
/* step_collective for data that another queue has made. */
struct op *step_collective_after(struct step *s, enum queue made_by, enum op_kind kind, enum traffic_kind t, int group);
/* A copy of a group's parameters, gradients or state. Returns its number. */
int step_copy(struct step *s, int group, enum pass pass, struct region from, struct region to);
/* Adds a group's gradients in staging to the sum of earlier micro-batches, and frees the staging. Returns the number.
 */
int step_add_gradients(struct step *s, int group, enum queue queue, int staging, struct region sum);
/* What the software does with state (SOFTWARE_MASTER, …). State that stays elsewhere is treated as shardlab does. */
int step_software(const struct step *s, int which);

/* ---- activations.c ---- */

/* Elements of the value's buffer: a sum over ranks is padded to equal slices. */
int64_t step_value_room(const struct step *s, int value);
void step_count_readers(struct step *s); /* a micro-batch begins */
void step_free_value(struct step *s, int value);
void step_value_used(struct step *s, int value); /* a kernel has read it: the last one frees it */
void step_values_used(struct step *s, const struct kernel *k, enum pass pass); /* all that the kernel reads */
struct region step_alloc_gradient(struct step *s, int value);
void step_free_gradient(struct step *s, int value);
void step_pass_gradient(struct step *s, int from, int to); /* the gradient of one becomes that of the other */
/* Allocates a value that a kernel makes; frees it again if nobody reads it. -1: nothing. */
void step_alloc_made(struct step *s, int value);
void step_drop_unread(struct step *s, int value);

/* ---- values.c ---- */

/* pass: forward or recompute. Allocates what the kernel makes, and frees what nobody needs any more. */
void step_forward_kernel(struct step *s, int index, enum pass pass);
void step_backward_kernel(struct step *s, int index);
/* Makes the operand `part` the place of a tensor's gradient. */
void step_tensor_gradient(struct step *s, struct op *op, enum part part, int tensor);

/* ---- unfused.c: what a stack's own kernels leave in memory besides ---- */

void unfused_forward(struct step *s, int index, enum pass pass);
void unfused_backward(struct step *s, int index);
/* Kernels that go over a value, or over the gradient of the kernel's input, beside the kernel. */
void unfused_sweeps(struct step *s, int index, enum pass pass, struct region over);
/* Tensors that stand beside the logits while the loss and its gradient are made. */
enum { LOSS_BUFFERS = 3 };
struct unfused_loss {
	int buffer[LOSS_BUFFERS], count;
};
struct unfused_loss unfused_loss_begin(struct step *s);
void unfused_loss_end(struct step *s, const struct unfused_loss *l);

/* ---- loss.c ---- */

void step_forward_loss(
        struct step *s); /* the last kernel: computes the loss, and the gradient of the logits in their place */

/* ---- sliced.c: sums over the tensor group, where the model is sliced (strategy/model/slice.h) ---- */

/* The values and gradients that a kernel reads and makes: these themselves, or with sequence parallelism the rows of
 * all ranks, gathered before it and scattered after it. */
struct sliced_operands {
	struct region x, y, dy, dx;
};
struct sliced_operands sliced_begin_forward(struct step *s, int index, enum pass pass);
struct sliced_operands sliced_begin_backward(struct step *s, int index, struct region dx);
void sliced_finish_forward(struct step *s, int index, enum pass pass, const struct sliced_operands *o);
void sliced_finish_backward(struct step *s, int index, const struct sliced_operands *o);
/* Sums a value over the group, or takes its maxima. The compute queue waits for it. */
void sliced_all_reduce(struct step *s, enum op_kind kind, enum pass pass, struct region value);
/* Gathers the parts that the ranks have into the whole; or, `back`, scatters the sum of everyone's whole by parts. */
void sliced_exchange(struct step *s, bool back, enum pass pass, struct region from, struct region to);

/* ---- fp8.c: copies of what products in fp8 multiply ---- */

void fp8_state(struct step *s); /* the history of delayed scaling */
enum { FP8_COPIES = 3 };
struct fp8_copies {
	int buffer[2 * FP8_COPIES], count; /* copies and scales */
};
/* Issues the casts of a kernel's pass. The copies live until fp8_end. */
struct fp8_copies fp8_begin(struct step *s, int index, enum pass pass, const struct sliced_operands *at);
void fp8_end(struct step *s, const struct fp8_copies *c);

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

/* ---- gather.c ---- */

/* Sends the parameters of a group that their owner has updated to the other ranks that keep them. */
void gather_updated(struct step *s, int group, enum queue changed_by);

/* ---- reduce.c ---- */

enum { GROUPS_IN_FLIGHT = 1 }; /* reduce-scatters that may be under way when a new group is opened */
/* How the gradients of a group get where they are reduced: BUCKET_VIEWS, … */
int reduce_copying(const struct step *s, int group);
/* Elements of a buffer for the group, which may be as large as a bucket can be, whatever is in it. */
int64_t reduce_room(const struct step *s, int group);
/* Waits until no more than so many buffers of whole gradients are on their way. */
void reduce_wait(struct step *s, int in_flight);
void reduce_make_room(struct step *s, int group, int in_flight); /* and opens the group's */
/* owns: the buffer goes when this reduction is done. */
void reduce_send(struct step *s, int group, bool owns);
void reduce_pending(struct step *s); /* of groups that have waited for a gather */

/* ---- bucket.c: gradients that are copied into the buffer in which they are reduced ---- */

void bucket_open_piece(struct step *s, int tensor);     /* a kernel is about to write it */
void bucket_copy_piece(struct step *s, int tensor);     /* it is written */
void bucket_copy_group(struct step *s, int group);      /* all of the group's are */
bool bucket_is_shared(const struct step *s, int group); /* several groups are reduced in one call */
void bucket_put(struct step *s, int group);             /* the group is complete, and goes into the shared bucket */
void bucket_send(struct step *s);                       /* reduces what is in it */

/* The bytes at which a bucket is full, after the first. */
int64_t step_bucket_bytes(const struct plan *p);

void reduce_tied(struct step *s); /* sums the gradients of tensors that two stages use */

/* ---- checkpointing.c: what activation checkpointing asks for besides recomputing ---- */

/* Gives a value that is about to be made a place among its like. False: it has a buffer of its own. */
bool checkpoint_place(struct step *s, int value);
void checkpoint_leave(struct step *s, int value); /* if it has such a place */

/* ---- activations that do not stay whole on the device: what happens around each launch ---- */

struct keeper {
	void (*prepare)(struct step *s); /* once for a role */
	void (*before)(struct step *s, int launch);
	void (*after)(struct step *s, int launch);
};
extern const struct keeper keeper_host_values;   /* they stay in host memory until backward needs them */
extern const struct keeper keeper_checkpointing; /* and each rank of a tensor group keeps a slice of a checkpoint */

enum status host_values_check(const struct settings *t, const struct checkpointing *c);
/* slice: a rank's slice of the model. */
enum status checkpoint_slices_check(const struct strategy *g, const struct model *slice, const struct checkpointing *c,
                                    const struct settings *settings);

/* ---- batch_norm.c: batch normalization, and the model's buffers ---- */

/* The operations that make a norm's statistics, at the place of k->saved, before it normalizes. */
void batch_norm_statistics_of(struct step *s, int index);
/* The operations that make the sums which the gradient of its input needs; dy becomes the gradient of what GELU was
 * applied to. The caller frees the sums' buffer. */
struct region batch_norm_sums_of(struct step *s, int index);

void buffers_state(struct step *s);          /* with the rest of the state */
void buffers_prologue(struct step *s);       /* made the same on all ranks */
void buffers_before_forward(struct step *s); /* the same again where they have drifted apart; evaluation gets a copy */
void buffers_after_forward(struct step *s);
void buffers_show(struct step *s);               /* epilogue */
struct region buffers_own(const struct step *s); /* the running statistics that this role keeps; none */

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

/* ---- step.c ---- */

void step_compile_role(struct step *s, struct role *role);
void step_begin_micro(struct step *s);             /* counts what is needed, loads samples */
void step_run(struct step *s, int begin, int end); /* launches of s->execution */

#endif
