/* A rank's memory, wherever it is, and the ledger of what was used of it.
 *
 * Each space is one arena, allocated once. On the CPU, "device" and "host" are two blocks of this machine's memory,
 * with real copies between them, and "disk" is a file; a GPU's rank has its device arena in the GPU's memory and its
 * host arena in pinned memory (struct remote_memory). Buffers stand where the plan's layout puts them. Nothing is
 * allocated while a step runs. Measuring happens here: `touched` records which elements of each buffer kernels and
 * collectives really used, by the kernels' own shapes and the communicators' counts, not by the plan's regions. Two
 * uses have no size of their own and count with their whole region: vector operations, and the staging that is lent to
 * a collective (struct traffic tells how much of it was written).
 *
 *     struct rank_memory memory;
 *     status = rank_memory_open(&memory, &plan, rank, &input, false, NULL, NULL);
 *     float *x = rank_memory_region(&memory, &op->operand[COPY_X], &n);
 *     rank_memory_touch(&memory, op, 0, n);
 *     rank_memory_used(&memory, SPACE_DEVICE, &use);
 *     rank_memory_release(&memory);
 *
 * With `guard` (test runs): memory is filled with NaNs at alloc and at free, buffers have zones around them that must
 * stay as they were, and rank_memory_check says which buffer was run over. Operations must then be executed in issue
 * order.
 */
#ifndef SHARDLAB_RANK_MEMORY_H
#define SHARDLAB_RANK_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

#include "strategy/plan/plan.h"

/* The source of samples. inputs are float or int32 as the model takes them; the device rounds floats where the plan has
 * 16-bit inputs. */
struct input_source {
	void *context;
	/* training samples [first, first + count) of the run */
	void (*training)(void *context, int64_t first, int64_t count, void *inputs, int32_t *targets);
	/* validation samples [first, first + count); those past `validation_samples` are left alone */
	void (*validation)(void *context, int64_t first, int64_t count, void *inputs, int32_t *targets);
	int64_t validation_samples;
};

/* The source of initialize and the destination of weights, element by element of the model. The model's buffers are
 * numbered after its tensors: buffer b is number tensor_count + b. */
struct weight_source {
	void *context;
	/* elements [first, first + count) of a tensor; NULL: the model's own initial weights */
	enum status (*read)(void *context, int tensor, int64_t first, int64_t count, float *out);
	/* called by `weights` for what this rank shows; NULL: nobody looks */
	enum status (*show)(void *context, int tensor, int64_t first, int64_t count, const float *values);
};

/* The destination of save and the source of restore: elements [first, first + count) of a tensor, or of a buffer of the
 * model, as in struct weight_source. Items of no tensor have -1: the loss scale, and the number of the step, which is
 * two numbers that fp32 has exactly, the multiple of 2^20 and the rest. Several queues may call at once. */
struct state_store {
	void *context;
	enum status (*save)(void *context, enum item item, int tensor, int64_t first, int64_t count,
	                    const float *values);
	enum status (*load)(void *context, enum item item, int tensor, int64_t first, int64_t count, float *out);
};

/* Copies between spaces, counted where they happen. */
struct transfer_count {
	int64_t calls, bytes;
};

/* Memory that this process does not own: a GPU's, and pinned memory beside it. Only the arenas come from here; layout
 * and ledger are the same as on a CPU. Device pointers are passed on and never followed. */
struct remote_memory {
	void *context;
	/* Gives an arena of this many bytes; its giver frees it. */
	enum status (*take)(void *context, enum space space, int64_t bytes, void **at);
	/* Copies between device memory and this process's, done on return. */
	enum status (*copy)(void *context, void *to, const void *from, int64_t bytes);
	void *tile; /* for values on their way, in this process's memory */
	int64_t tile_bytes;
};

struct touched {
	int64_t begin, end; /* elements; begin >= end: never */
};

struct rank_memory {
	const struct plan *plan;
	const struct role *role;
	int64_t rank;
	bool guard;
	struct layout layout;
	unsigned char *arena[SPACE_COUNT]; /* NULL: nothing stands there; of the disk always */
	struct {
		void *at; /* the allocation that holds an arena, aligned to large pages */
		size_t bytes;
	} mapped[SPACE_COUNT];
	const struct remote_memory *remote;             /* NULL: all memory is this process's own */
	struct disk *disk;                              /* NULL: nothing stands there */
	struct transfer_count transfer[TRANSFER_COUNT]; /* since the section began; each queue writes its own */
	struct input_source input;
	float *sample; /* 16-bit inputs pass through: one sample; NULL: there are none */
	struct weight_source weights;
	struct state_store state;
	struct touched *touched[QUEUE_COUNT]; /* [queue][buffer]: queues run in threads of their own */
	/* the evaluate section */
	bool evaluating;
	int64_t evaluate_pass; /* the next part of the validation data */
	int64_t evaluate_rows; /* rows of it that `evaluate` counts */
	double evaluate_loss;  /* sums, over all passes so far */
	int64_t evaluate_correct, evaluate_total;
	uint64_t checksum; /* of what `weights` showed */
};

#define RANK_MEMORY_GUARD 256 /* bytes on each side of a buffer */

/* folder: for what the plan has on disk (real/rank/disk.h); NULL: none given. remote: whose the arenas are, which
 * outlives this; NULL: this process's. */
enum status rank_memory_open(struct rank_memory *memory, const struct plan *p, int64_t rank,
                             const struct input_source *input, bool guard, const char *folder,
                             const struct remote_memory *remote);
/* STATUS_INPUT, with a message, if no kernel takes the types of an operation's operands; part of opening. After that
 * the first operand that is there stands for all that types.c lists as alike. */
enum status rank_types_check(const struct rank_memory *memory);
void rank_memory_release(struct rank_memory *memory); /* accepts NULL and a zeroed struct */

/* The region's memory on this rank, and its number of elements. NULL for an absent operand and for one on disk. */
void *rank_memory_region(const struct rank_memory *memory, const struct region *r, int64_t *count);
void *rank_memory_buffer(const struct rank_memory *memory, int buffer);

/* Records that the first `count` elements of an operand are really used. Called for the operands of kernels, and by
 * executors for those of the communicator. */
void rank_memory_touch(struct rank_memory *memory, const struct op *op, int operand, int64_t count);

/* A copy to or from the disk. */
enum status rank_memory_disk(struct rank_memory *memory, const struct op *op);
/* A copy between spaces was made. */
void rank_memory_count(struct rank_memory *memory, enum transfer_kind kind, int64_t bytes);

/* Fills up to `most` bytes of a buffer, wherever it stands. */
enum status rank_memory_fill(struct rank_memory *memory, int buffer, int byte, int64_t most);

/* An alloc or a free. */
enum status rank_memory_mark(struct rank_memory *memory, const struct op *op);

/* With guard, STATUS_RUN if a zone around a live buffer was overwritten. */
enum status rank_memory_check(const struct rank_memory *memory);

/* Like plan_memory, but measured: the plan's allocs and frees give the order, the touched elements the sizes. */
void rank_memory_used(const struct rank_memory *memory, enum space space, struct memory_use *out);
/* The same of another section than the step, once that was carried out. */
void rank_memory_used_in(const struct rank_memory *memory, const struct section *s, enum space space,
                         struct memory_use *out);

#endif
