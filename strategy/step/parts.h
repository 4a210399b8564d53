/* The step while it is compiled, part by part. A file of strategy/step changes the part that it is about,
 * and reads others. */
#ifndef SHARDLAB_STEP_PARTS_H
#define SHARDLAB_STEP_PARTS_H

#include "strategy/step/execution.h"
#include "strategy/step/hooks.h"

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
		int buffer;    /* whole gradients; -1 */
		int staging;   /* to be added to what is there, or the host's sum so far, to which it is added; -1 */
		int shard;     /* on its way to the host; -1 */
		int op, fetch; /* fetch: the copy that brings the host's sum so far */
		struct region part; /* what is added to that, and goes back */
		bool slice;         /* all-reduced: this rank's slice of the buffer goes to its shard, */
		bool adds;          /* and is added to what is there */
		bool shared;        /* the buffer goes with a later reduction */
		bool back;          /* the copy in state.buckets goes back to where the gradients stay */
		bool sums;          /* the host's sum so far is on its way here */
	} * list;
	int count, capacity;
	/* Elements whose sums are on their way here, and of the gradients that were written since they left. */
	int64_t awaited, written;
};

/* reduce.c: groups whose gradients wait in one buffer until it is full. */
struct open_bucket {
	int buffer;             /* -1: none is open */
	int own;                /* the buffer that is there for good; -1: there is none */
	int64_t used, capacity; /* elements */
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

	/* The place that compiling has reached. */
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

#endif
