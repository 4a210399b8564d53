/* A family of models: the names it goes by, and how its file turns NAME[:key=value,…] into units, kernels, values and
 * tensors. Each is a file of this folder and a name in FAMILY_LIST.
 */
#ifndef SHARDLAB_FAMILY_H
#define SHARDLAB_FAMILY_H

#include "strategy/base/keys.h"
#include "strategy/model/model.h"

/* Sizes up to this keep every product of two, times 16 bytes, within 63 bits. */
#define LARGEST_SIZE ((int64_t)1 << 26)
#define MOST_PARAMETERS ((int64_t)1 << 53)
/* Several times those of any model that was trained. Laying memory out takes time with the square of the plan. */
#define MOST_LAYERS 2000

struct model_name {
	const char *name;         /* "gpt2-124m"; "params=7.5e9": every specification that begins with "params=" */
	const char *alias, *what; /* alias: Hugging Face's name of it, or NULL; what: a line of help */
};

/* A model as a user specifies it. */
struct model_request {
	const char *specification, *pairs; /* pairs: NULL for none */
	int64_t sequence;                  /* 0: not given */
};

struct family {
	const struct model_name *names;
	int count;
	/* The model starts zeroed, but for what model_open sets. `name` is the place among the names. */
	enum status (*open)(struct model *m, const struct model_request *q, int name);
};

/* Families are listed in the order of help. */
#define FAMILY_LIST(X) X(mlp) X(gpt) X(llama) X(abstract)

#define X(name) extern const struct family family_##name;
FAMILY_LIST(X)
#undef X

/* The model starts zeroed; indices are those of the arrays. */
int model_add_unit(struct model *m, const char *name);
int model_add_tensor(struct model *m, int unit, const char *name, int64_t rows, int64_t columns, enum weight_init init,
                     double scale);
int model_add_value(struct model *m, const char *name, int64_t elements, enum value_type type);
int model_add_buffer(struct model *m, const char *name, int64_t elements, double initial);
/* Divides a tensor into pieces, of each of which a slice has a part. names: those of the files' tensors, or NULL. */
void model_set_pieces(struct model *m, int tensor, int count, const struct tensor_piece *pieces);
struct kernel *model_add_kernel(struct model *m, enum kernel_kind kind, int unit, const char *name);

/* STATUS_INPUT: a language model of more layers or parameters than JSON's exact integers count, or a sequence that is
 * longer than its context. parameters: about. */
enum status model_check_text(const struct model_request *q, const char *name, int64_t layers, int64_t context,
                             double parameters);
/* The two ends of a language model: token ids as inputs and targets; the head, whose input is x and whose tensor is
 * `weight`, with the loss. */
void model_begin_text(struct model *m, int64_t context, int64_t tokens, int64_t vocabulary);
void model_add_text_head(struct model *m, int unit, int x, int64_t width, int weight);

/* The unit of a language model that is being built. */
struct text_unit {
	struct model *m;
	int unit;
	const char *prefix, *tensor_prefix; /* of the names of its kernels and values, and of its tensors */
};
/* Goes on to block i: "block.3.", and "h.3." where `blocks` is "h.". */
void text_unit_block(struct text_unit *u, int i, const char *blocks);
/* "h.3.ln_1.weight", of name "ln_1" and ending ".weight"; and such a tensor. */
const char *text_unit_tensor_name(const struct text_unit *u, const char *name, const char *ending);
int text_unit_tensor(const struct text_unit *u, const char *name, const char *ending, int64_t rows, int64_t columns,
                     enum weight_init init, double scale);
/* A value "block.3.ln_1.statistics", of name "ln_1" and ending ".statistics". */
int text_unit_value(const struct text_unit *u, const char *name, const char *ending, int64_t elements,
                    enum value_type type);
/* A kernel of x, with its output y: `out` activations a token. */
struct kernel *text_unit_kernel(const struct text_unit *u, enum kernel_kind kind, const char *name, int x, int64_t in,
                                int64_t out);
/* The table of tokens. */
struct kernel *text_unit_embedding(const struct text_unit *u, const char *tensor, int64_t vocabulary, int64_t width,
                                   double deviation);

#endif
