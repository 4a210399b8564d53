/* A recipe: a configuration file of another program, read as that program reads it, judged as it judges, and said again
 * as settings.
 *
 *     struct recipe r;
 *     struct recipe_question q = {.reader = RECIPE_GUESSED, .model = "gpt2-124m", .ranks = 8};
 *     enum status s = recipe_open(&r, "ds.json", &q);     // STATUS_INPUT: no program can read this file
 *     … r.lines[i]: each key, what it does there and here …
 *     … r.refusals[i]: why its program would refuse it; none: it would not …
 *     … r.pairs[i]: settings[pair.setting] = pair.text; all of them only if recipe_plan() is STATUS_OK …
 *     recipe_release(&r);
 *
 * The question is all that a program knows besides the file: its arguments, the model, the number of ranks. An
 * argument that is not given is the program's own default where the file says "auto", and agrees with the file where
 * that says a value.
 *
 * A key is one of the reader's table (deepspeed.def). TAKEN becomes a setting. ONLY has one value that plans here have;
 * another is a refusal of recipe_plan(), by name. NOTED is a value that the figures do not have in them: `notes` says
 * so. Nothing else has an influence on memory, traffic or time.
 */
#ifndef SHARDLAB_RECIPE_H
#define SHARDLAB_RECIPE_H

#include "strategy/recipe/tree.h"
#include "strategy/settings/settings.h"

/* constant, name, whose judgement, the version whose rules these are */
#define RECIPE_READERS(X)                                                                                              \
	X(DEEPSPEED, "deepspeed", "DeepSpeed", "0.19.8")                                                               \
	X(TRANSFORMERS, "transformers", "Trainer", "transformers 5.23")                                                \
	X(ACCELERATE, "accelerate", "Accelerate", "1.15")                                                              \
	X(TORCHTITAN, "torchtitan", "torchtitan", "0.2.2, the last that reads TOML")                                   \
	X(TRAINER, "trainer", "Trainer", "arguments of transformers 5.23")

enum recipe_reader {
	RECIPE_GUESSED = -1,
#define X(constant, name, judge, version) RECIPE_##constant,
	RECIPE_READERS(X)
#undef X
	        RECIPE_READER_COUNT
};
#define RECIPE_READER_CHOICES "deepspeed|transformers|accelerate|torchtitan|trainer"

const char *recipe_reader_name(enum recipe_reader r); /* "transformers" */
const char *recipe_judge(enum recipe_reader r);       /* "Trainer" */
const char *recipe_version(enum recipe_reader r);     /* "transformers 5.23" */

/* Arguments of the program, in the words of ours: NULL or 0 where they are not given. */
struct recipe_question {
	enum recipe_reader reader;
	const char *model; /* a specification */
	int64_t ranks;
	const char *given[SETTING_COUNT]; /* of micro_batch, accumulate, precision, clip, … */
	const char *beside, *beside_text; /* a file that is not written yet, which this one may name; or NULL */
};

enum recipe_here { HERE_TAKEN, HERE_ONLY, HERE_NOTED, HERE_NOTHING };

struct recipe_key {
	const char *path, *type, *fallback;
	enum recipe_here here;
	const char *value; /* ONLY, NOTED: that which plans have */
	const char *there;
};

/* The i-th row of the table of a reader's keys; NULL past the last. */
const struct recipe_key *recipe_key_at(enum recipe_reader reader, int i);

enum recipe_state {
	STATE_TAKEN,   /* a setting here */
	STATE_AS_HERE, /* what every plan does */
	STATE_NOTED,   /* not in the figures */
	STATE_NOTHING, /* does nothing to memory, traffic or time */
	STATE_IGNORED, /* unknown, and its program does not mind */
	STATE_UNKNOWN, /* unknown, and its program refuses it */
	STATE_REFUSED, /* cannot be said here */
	STATE_WRONG,   /* not a value that this key takes */
};
const char *recipe_state_name(enum recipe_state s); /* "taken" */

struct recipe_line {
	const struct tree *value;
	const char *path;             /* as it stands in the file */
	const struct recipe_key *key; /* NULL: unknown */
	enum recipe_state state;
	bool refused_alone; /* `here` says no more than that it was refused: what is said next stands in its place */
	const char *here, *there;
};

/* A sentence about a place of the file; value NULL: about all of it. */
struct recipe_remark {
	const char *by; /* of a refusal: "DeepSpeed", "Trainer" */
	const char *text;
	int line, column;      /* 0: none */
	bool of_syntax;        /* how the file is written, not what it says */
	bool of_checkpointing; /* what is kept of a block: another choice of that can be said */
};

struct recipe_pair {
	enum setting setting;
	const char *text;
	const struct tree *from; /* NULL: it is the program's own default, which an argument replaces */
};

struct recipe_remarks {
	struct recipe_remark *list;
	int count, capacity;
};

struct recipe {
	struct arena arena;
	struct tree_file file;
	struct recipe_question question;
	enum recipe_reader reader;
	const struct recipe_table *table;
	const char *why; /* it is this reader's; NULL: it was asked for */
	struct recipe_line *lines;
	int line_count, line_capacity;
	struct recipe_remarks refusals; /* the judge's */
	struct recipe_remarks others;   /* refusals by programs that it is not meant for, of the whole file */
	struct recipe_remarks barriers; /* what cannot be said here */
	struct recipe_remarks notes;
	struct recipe_pair *pairs;
	int pair_count, pair_capacity;
	const struct tree *batch; /* where it says the samples of a step; NULL: nowhere */
	const char *ranks_from;   /* "the file: 64 = 4 × 2 × 8"; NULL: nothing says how many ranks there are */
};

/* Opens a file, or its text. STATUS_INPUT: it cannot be read, or the model is none. */
enum status recipe_open(struct recipe *r, const char *path, const struct recipe_question *q);
enum status recipe_read(struct recipe *r, const char *text, size_t size, const char *where,
                        const struct recipe_question *q);
void recipe_release(struct recipe *r); /* accepts NULL and a zeroed struct */

/* STATUS_INPUT with the first refusal or barrier; then pairs must not be used. Syntax that a reader of JSON would
 * refuse is no barrier: the values are clear. */
enum status recipe_plan(const struct recipe *r);
/* recipe_plan() for callers that search checkpointing themselves, so that the file's checkpointing is no barrier
 * either. *other: the first such barrier; NULL: there is none. */
enum status recipe_plan_searched(const struct recipe *r, const struct recipe_remark **other);

/* The class of stacks (strategy/cluster/stack.h) that the program is, with this file. */
const char *recipe_class(const struct recipe *r);

const char *recipe_pair_find(const struct recipe *r, enum setting i); /* NULL: the file does not say it */

#endif
