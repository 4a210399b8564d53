/* A model: a list of units, each a list of kernels.
 *
 * A *tensor* is a parameter. A *value* is what a kernel makes for each sample: an activation, or a statistic that the
 * backward pass needs. A *kernel* reads values and tensors and makes values. A *unit* is what strategies gather and
 * free as one: a transformer block, a linear layer with its activation, the embedding with the tied head.
 *
 *     struct model m;
 *     enum status s = model_open(&m, "gpt:layers=2,width=64", 0);
 *     … m.kernels[0 … kernel_count) in forward order; backward is the reverse …
 *     model_release(&m);
 *
 * The kernels of one unit need not be neighbours: the root unit of a GPT has the embedding first and the final norm,
 * the tied head and the loss last (GPT-2: Radford et al. 2019; names and layouts as in Hugging Face's GPT-2).
 */
#ifndef SHARDLAB_MODEL_H
#define SHARDLAB_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "strategy/base/arena.h"
#include "strategy/base/status.h"

enum weight_init { INIT_ZERO, INIT_ONE, INIT_NORMAL, INIT_UNIFORM };

/* The side of a tensor that is divided when each rank of a tensor group has a slice of it (model/slice.h). */
enum partition { PARTITION_NONE, PARTITION_ROWS, PARTITION_COLUMNS };

enum { TENSOR_PIECES = 3 };

struct tensor {
	const char *name;      /* "h.0.attn.c_attn.weight" */
	int64_t rows, columns; /* columns 0: a vector */
	int64_t elements;
	/* Pieces that stand side by side along the kernel's outputs, such as q|k|v, counted in the whole tensor. A
	 * slice has its part of each. Pieces with names are separate tensors in files: rows, one piece after another.
	 */
	struct tensor_piece {
		const char *name; /* "model.layers.0.self_attn.q_proj.weight"; NULL: it has none */
		int64_t size;
	} pieces[TENSOR_PIECES];
	int piece_count; /* 0: it is of one piece */
	/* The side that a slice divides, and its size in the whole tensor. rows, columns and elements are the slice's.
	 */
	enum partition partition;
	int64_t whole;
	bool sequence_parallel; /* whole, and read by kernels that have a rank's own rows: its gradient is a sum over
	                           the ranks */
	int unit;
	int uses; /* kernels whose backward pass contributes to its gradient: 2 for a tied table */
	enum weight_init init;
	double init_scale; /* standard deviation, or bound of the uniform distribution */
};

enum value_type {
	VALUE_ACTIVATION, /* in the type of the parameters */
	VALUE_FP32,       /* statistics, and what is kept in fp32 whatever the precision */
	VALUE_INDEX,      /* token ids, labels: 32-bit integers */
	VALUE_MASK,       /* the elements that dropout kept: a byte each */
};

struct value {
	const char *name;
	int64_t elements; /* a sample; or a micro-batch, if per_batch */
	enum value_type type;
	int producer;           /* kernel; -1: comes from the data */
	bool sliced;            /* each rank of a tensor group has its own columns of it; else all have the same */
	bool sequence_parallel; /* each has its own rows (tokens): sequence parallelism */
	bool per_batch;         /* one for all samples of a micro-batch: batch normalization's statistics */
};

/* State of the model that is not a parameter, in fp32: torch.nn.Module calls it a buffer. Only the forward pass of
 * training updates it, and it is saved with the weights. The model's buffers stand one after another. */
struct model_buffer {
	const char *name; /* "0.norm.running_mean" */
	int64_t elements, offset;
	double initial; /* of every element */
};

enum nonlinearity { NONLINEAR_NONE, NONLINEAR_GELU_TANH, NONLINEAR_GELU, NONLINEAR_RELU };

/* constant, name, what ranks that share the model divide among them (slice.c), what a profile has it as (profile.h) */
#define KERNEL_LIST(X)                                                                                                 \
	X(EMBEDDING, "embedding", TABLE, REST)                                                                         \
	X(NORM, "norm", ROWS, REST)                                                                                    \
	X(RMS_NORM, "rms_norm", ROWS, REST)                                                                            \
	X(LINEAR, "linear", PAIR, PRODUCTS)                                                                            \
	X(SWIGLU, "swiglu", HEADS, REST)                                                                               \
	X(ROTARY, "rotary", HEADS, REST)                                                                               \
	X(ATTENTION, "attention", HEADS, ATTENTION)                                                                    \
	X(SCORES, "scores", HEADS, ATTENTION)                                                                          \
	X(SOFTMAX, "softmax", HEADS, ATTENTION)                                                                        \
	X(CONTEXT, "context", HEADS, ATTENTION)                                                                        \
	X(DROPOUT, "dropout", EITHER, REST)                                                                            \
	X(CLASSIFIER, "classifier", CLASSES, REST)                                                                     \
	X(BATCH_NORM, "batch_norm", SAMPLES, REST)                                                                     \
	X(ABSTRACT, "abstract", NOTHING, PRODUCTS)

enum kernel_kind {
#define X(constant, name, divides, profile) KERNEL_##constant,
	KERNEL_LIST(X)
#undef X
};
#define X(constant, name, divides, profile) +1
enum { KERNEL_KINDS = KERNEL_LIST(X) };
#undef X

/* Indices of values and tensors; -1 where there is none. */
struct kernel {
	enum kernel_kind kind;
	const char *name; /* "block.0.qkv" */
	int unit;
	int x;        /* its input: an activation, or the token ids */
	int second;   /* context: queries, keys and values, of which it reads the values */
	int residual; /* linear, dropout: added to the output; its gradient is the output's own */
	int y;        /* its output; a classifier has none, and turns x into its gradient in place */
	int saved; /* made beside y for the backward pass: statistics of a norm, log-sum-exp of attention, the input of
	              GELU or ReLU, the mask of dropout */
	int weight, bias; /* tensors; embedding: token and position table; rotary: norms of queries and keys, or none */
	int running;      /* batch norm: the buffer with its running mean; that with the variance follows */
	int64_t in, out;  /* linear; norm and embedding: width twice; classifier: classes twice */
	int64_t heads, kv_heads, head_size; /* heads of queries; of keys, each shared by heads/kv_heads of those */
	int64_t window;         /* attention: a token attends to so many, itself the last; 0: to all up to itself */
	bool alibi;             /* attention: scores fall off with the distance (kernels/alibi.h) */
	const float *frequency; /* rotary: the angle of a token's position in each pair of elements, head_size/2 */
	float amplitude;        /* rotary: what queries and keys are multiplied by besides */
	float epsilon;          /* rms_norm; rotary with norms */
	int64_t tokens;         /* rows of one sample */
	bool weight_in_out;
	enum nonlinearity nonlinear; /* linear, batch norm: what is applied to the output */
	int64_t first_position;      /* embedding: the row of the position table that token 0 gets */
	double dropout;              /* dropout: the probability that an element becomes zero */
	bool synchronised;           /* batch norm: over the samples of all ranks, not of each rank alone */
	bool needs_dx;               /* its input is not the data */
	bool inner;                  /* part of attention: between queries, keys and values, and their weighted sum */
};

struct unit {
	const char *name; /* "block.0" */
	int tensors;
	int64_t elements;
	bool block; /* one of many alike: a checkpoint may stand between two of them */
};

struct model {
	struct arena arena;
	const char *name;          /* "gpt" */
	const char *specification; /* normalized: "gpt:layers=6,width=256,heads=8,context=128,vocabulary=256" */
	struct unit *units;
	int unit_count;
	struct kernel *kernels;
	int kernel_count;
	struct tensor *tensors;
	int tensor_count;
	struct value *values;
	int value_count;
	struct model_buffer *buffers;
	int buffer_count;
	int64_t buffer_elements; /* of all of them */
	int64_t parameters;
	double training_flops;     /* model FLOPs of a sample, forward and backward (strategy/model/flops.h) */
	int64_t context;           /* the longest sequence; 1 for the MLP */
	int64_t tokens;            /* the sequence in use */
	int64_t input_elements;    /* of one sample */
	int64_t classes;           /* vocabulary, or classes */
	int input, target, logits; /* values */
	int64_t logits_stride;     /* elements from a row of logits to the next: classes, or a few more */
	bool is_text, is_abstract;
	const char *only_simulated; /* why it cannot be run for real; NULL: it can */
	/* The ranks that share the model, where this is a rank's slice of it (model/slice.h); 1: it is whole. In a
	 * slice, the sizes of kernels, values and tensors are the rank's; names, parameters, FLOPs, context and classes
	 * are those of the whole model. */
	int64_t slices;
	int maxima, sums; /* values of a classifier over sliced logits; -1 */
};

/* specification: NAME[:key=value,…]. sequence 0: the model's context. An unknown name or key, or a size that is not
 * positive or overflows, is STATUS_INPUT with a line that names it. The key name=WORD, which every family has, is what
 * titles call the model. A path of a file is no specification, but becomes one: model/config.h. */
enum status model_open(struct model *m, const char *specification, int64_t sequence);
bool model_is_named(const char *specification); /* is there a model of that name? */
void model_release(struct model *m);            /* accepts NULL and a zeroed struct */

/* One line a model, for `shardlab help`. */
void model_list(void (*line)(void *context, const char *name, const char *what), void *context);

int model_blocks(const struct model *m); /* its units that are blocks */
/* The modules of a unit that have weights, as Hugging Face's models have them: Llama's queries, keys and values are
 * three, GPT-2's are one. */
int model_modules(const struct model *m, int unit);
int64_t model_width(const struct model *m);                    /* of its widest attention; 0: it has none */
int64_t model_largest_tensor(const struct model *m, int unit); /* its elements */

/* Elements from a row of so many logits to the next. GPT-2's 50,257 would leave every second row of 16-bit elements at
 * an odd multiple of 2 bytes, where matrix products cannot load 16 bytes at a time: rows begin at multiples of 64
 * elements, which are whole 128-byte lines, wherever the pad is at most 1 in 100. It may hold anything. */
int64_t logits_stride(int64_t classes);
/* Elements from one row of this kernel's output to the next: `out` but for logits. */
int64_t kernel_stride(const struct model *m, const struct kernel *k);
/* Elements of a value for a micro-batch of so many samples. */
int64_t value_elements(const struct value *v, int64_t samples);

const char *kernel_kind_name(enum kernel_kind kind);

#endif
