/* Inside the reading of recipes: the table of keys, and what judges and takers of settings use. */
#ifndef SHARDLAB_RECIPE_READER_H
#define SHARDLAB_RECIPE_READER_H

#include "strategy/recipe/recipe.h"

struct recipe_alias {
	const char *path, *to;
};
struct recipe_old {
	const char *path, *to, *type, *what;
};
struct recipe_gone {
	const char *path, *what;
};
struct recipe_renamed {
	enum recipe_reader reader;
	const char *path, *now, *how;
};
struct recipe_section {
	const char *path, *kind; /* "strict", "open", "free", "apart": a file of its own */
};

/* A model by another program's name. "" as the model: none here is like it, for what is otherwise there; "=8B": that of
 * this size (table_model). */
struct recipe_flavor {
	const char *name, *flavor, *model, *otherwise;
};

struct recipe_table {
	const struct recipe_key *keys;
	const struct recipe_alias *aliases;
	const struct recipe_old *old;
	const struct recipe_gone *gone;
	const struct recipe_section *sections;
	const struct recipe_flavor *flavors;
	int key_count, alias_count, old_count, gone_count, section_count, flavor_count;
	bool auto_is_default; /* in a strict section */
};
extern const struct recipe_table *const recipe_tables[RECIPE_READER_COUNT];

/* A row by its path, the other spellings included; NULL. */
const struct recipe_key *table_key(const struct recipe_table *t, const char *path);
const struct recipe_old *table_old(const struct recipe_table *t, const char *path);
const struct recipe_gone *table_gone(const struct recipe_table *t, const char *path);
/* The kind of the section with this path: that of the nearest section around it if it is none itself. */
const char *table_section(const struct recipe_table *t, const char *path);
/* The i-th key that has another name today (renamed.def); NULL past the last. */
const struct recipe_renamed *recipe_renamed_at(int i);
/* The size of this name, of this family or of one that has the same sizes; NULL: there is none. */
const struct recipe_flavor *table_flavor(const struct recipe_table *t, const char *name, const char *flavor);
/* Its model, or that of the size that it is like; "": none. */
const char *table_model(const struct recipe_table *t, const struct recipe_flavor *f);
/* The sizes of a family, "8B|70B"; "": none is listed. */
const char *table_flavors(const struct recipe_table *t, struct arena *a, const char *name);
const struct recipe_renamed *table_renamed(const struct recipe_table *t, const char *path); /* NULL: none */
/* " (did you mean stage?)", " (it is eval_strategy today)", or "". */
const char *table_near(const struct recipe_table *t, struct arena *a, const char *path);

/* Does the value have the type of a row? If not, *want is what it must be: "a whole number above 0". */
bool type_holds(const char *type, const struct tree *v, struct arena *a, const char **want);
/* " (did you mean FSDP?)", of the words "DDP|FSDP"; "": none is near. */
const char *tree_near(struct arena *a, const char *words, const struct tree *v);
bool type_is_checked(const char *type); /* by the program when it reads the file */
/* Is it a whole number that the program takes, and no int64_t? */
bool type_is_exceeded(const char *type, const struct tree *v);
/* A value of a numeric type, also one written as a text ("500000000"), or a flag. */
bool tree_whole(const struct tree *v, int64_t *out);
bool tree_real(const struct tree *v, double *out);
bool tree_flag(const struct tree *v, bool *out);

/* A key's value in the file, whichever spelling it has; NULL: it is not there, or null. */
const struct tree *recipe_find(const struct recipe *r, const char *path);
/* A key's value, which may be null; NULL: the key is not there. */
const struct tree *recipe_spelled(const struct recipe *r, const char *path);
/* True of null, and of an "auto" that DeepSpeed's models leave out, so that it means the default. */
bool recipe_is_default(const struct recipe *r, const char *path, const struct tree *v);

/* The text is printed into the arena. from NULL: about the whole file. */
void recipe_refuse(struct recipe *r, const char *by, const struct tree *from, const char *format, ...)
        __attribute__((format(printf, 4, 5)));
void recipe_bar(struct recipe *r, const struct tree *from, const char *format, ...)
        __attribute__((format(printf, 3, 4)));
void recipe_note(struct recipe *r, const struct tree *from, const char *format, ...)
        __attribute__((format(printf, 3, 4)));
/* The option of a setting: --micro-batch. */
const char *recipe_option(struct recipe *r, enum setting i);
/* The setting, and with it what the line of `from` says of here: the option and its value. */
void recipe_set(struct recipe *r, enum setting i, const struct tree *from, const char *format, ...)
        __attribute__((format(printf, 4, 5)));
void recipe_set_real(struct recipe *r, enum setting i, const struct tree *from, double value);
/* A switch (enum software_switch) of --as, where what was given, or shardlab, does otherwise. One that was given by its
 * key stands. */
void recipe_switch(struct recipe *r, const struct tree *from, int which, const char *word);
/* Products in `type` of a model whose parameters stay fp32, as do its gradients. what: the key that says so. */
void recipe_autocast(struct recipe *r, const struct tree *from, const char *what, enum type type);
bool recipe_is_said(const struct recipe *r, const struct tree *from);
/* More of what the line of `from` says of here. NULL: nothing happens. */
void recipe_say(struct recipe *r, const struct tree *from, const char *format, ...)
        __attribute__((format(printf, 3, 4)));

/* The number of ranks and the samples of each; 0: unknown. Refusals are recorded (judge_batch.c). */
struct recipe_batch {
	int64_t batch, micro, accumulate, ranks;
};
struct recipe_batch judge_batch(struct recipe *r);
/* judge_accelerate.c, take_accelerate.c: the same of Accelerate. */
void judge_accelerate(struct recipe *r);
enum status take_accelerate(struct recipe *r);
/* judge_torchtitan.c, take_torchtitan.c: and of torchtitan. Its axes; what is said wrongly is 1. */
struct torchtitan_mesh {
	int64_t copies, shard, context, tensor, stages, experts, experts_tensor;
	int64_t others;      /* all of a rank's axes but `shard`, multiplied */
	int64_t data, ranks; /* copies × shard, and all of them; 0: it depends on a number of ranks that is not known */
};
struct torchtitan_mesh torchtitan_mesh(const struct recipe *r);
#define TORCHTITAN_FLAVOR "debugmodel" /* by default */
#define TORCHTITAN_EXPERIMENTS                                                                                         \
	"simple_fsdp.llama3|simple_fsdp.deepseek_v3|vlm|compiler_toolkit.deepseek_v3|compiler_toolkit.llama3|"         \
	"transformers_modeling_backend|autoparallel.llama3|autoparallel.deepseek_v3|"                                  \
	"autoparallel.local_map_deepseek_v3"
void judge_torchtitan(struct recipe *r);
enum status take_torchtitan(struct recipe *r);
/* judge_trainer.c, take_trainer.c: and of Trainer's arguments. */
void judge_trainer(struct recipe *r);
enum status take_trainer(struct recipe *r);
const char *trainer_without(const struct recipe *r, const struct recipe_key *k); /* NULL: the key applies */
enum status trainer_follow(struct recipe *r);                                    /* the argument deepspeed */
/* Reads DeepSpeed's configuration that `at` names, or is, by this question: its lines, remarks and settings become this
 * one's (trainer_deepspeed.c). */
enum status recipe_follow(struct recipe *r, const struct tree *at, const struct recipe_question *q);
/* Judges a tree that is there, into a recipe that has its question. On failure it is released. */
enum status recipe_judge_tree(struct recipe *r, const struct tree_file *f);
/* whose.c: whose file it is, and whether its program reads what it is written in. */
void whose_choose(struct recipe *r);
void whose_judge_syntax(struct recipe *r);
/* Reads by the ending of the file's name. asked: the reader that the user named, or GUESSED. */
enum status whose_read(struct arena *a, const char *text, size_t size, const char *where, enum recipe_reader asked,
                       struct tree_file *out);
/* take_offload.c: where DeepSpeed keeps state. The devices are none, cpu or nvme; NULL: not said. */
struct offload_devices {
	int64_t stage;
	const struct tree *optimizer, *parameters;
	bool old_optimizer, old_parameters; /* the keys that were there before */
};
void take_offload(struct recipe *r, const struct offload_devices *d);
/* judge_deepspeed.c: refusals that are not of one value alone. */
void judge_deepspeed(struct recipe *r);
/* take_deepspeed_types.c: the precision, which it returns, and the type of gradients. */
enum type deepspeed_types(struct recipe *r);
/* take_deepspeed.c: says where stage 3's bucket, of so many bytes, is in the figures. v: its key; NULL. */
void deepspeed_note_bucket(struct recipe *r, const struct tree *v, int64_t bytes);
/* take_deepspeed.c: the settings. STATUS_INPUT: the model is none. */
enum status take_deepspeed(struct recipe *r);

/* fsdp.c: what Accelerate and Trainer say of FSDP alike. The keys of `fsdp` for how the state is saved, "" or
 * ":save=full"; shards: whether there are any. */
const char *fsdp_saving(struct recipe *r, const char *path, bool shards);
/* The kind of unit: "" for a block, or ":units=model"; anything else is barred. usual: the policy where the file names
 * none. */
struct fsdp_policy {
	const char *path, *usual, *classes, *least; /* least: the key of SIZE_BASED_WRAP's least parameters */
	int64_t least_usual;
	int64_t version;
	bool kept; /* out: version 1 has all of the model in its root, which it does not free after the forward pass */
};
const char *fsdp_units(struct recipe *r, struct fsdp_policy *p);
/* wrapped.c: judges the classes whose modules are units. False: it barred them. */
bool wrapped_by_class(struct recipe *r, const char *path);
/* The keys of `fsdp` and `hybrid` for what version 1 gathers ahead, "" or ":prefetch=…:backward=…". nothing: why the
 * file's keys do nothing, or NULL. limit: NULL where the program has no such key. */
struct fsdp_order {
	const char *forward, *backward, *limit;
};
const char *fsdp_order(struct recipe *r, const struct fsdp_order *o, const char *nothing);

/* class.c: what the lines of keys that compile say of here. */
void class_say(struct recipe *r);

/* Is it not a value that its key takes? That is said of it, and nothing comes of it. */
bool recipe_is_wrong(const struct recipe *r, const struct tree *from);
/* A whole number or a flag that the file has, or the program's default. */
int64_t recipe_whole(const struct recipe *r, const char *path, int64_t otherwise);
/* The seed, where the file says one. */
void recipe_take_seed(struct recipe *r, const char *path);
/* The weight decay, once the optimizer is known: it is adamw's. */
void recipe_take_decay(struct recipe *r, const struct tree *from, double value);
bool recipe_flag(const struct recipe *r, const char *path, bool otherwise);
int64_t recipe_stage(const struct recipe *r);
/* The argument that stands for this setting; NULL: it was not given. */
const char *recipe_given(const struct recipe *r, enum setting i);

#endif
