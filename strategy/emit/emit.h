/* Settings as a configuration file of another program: the way back of recipe.h.
 *
 *     struct emission e;
 *     enum status s = emit_make(&e, EMIT_DEEPSPEED, NULL, &settings, 1);
 *     … e.text, e.size: the file; e.beside_text: a second one, of the name e.beside_where, or NULL …
 *     … e.notes[i]: what the program does otherwise …
 *     … e.beside[i]: settings that are none of the file's, such as the model and the sequence …
 *     emit_release(&e);
 *
 * A row of a target's table (emit_deepspeed.c …) is a key of the table that the file is read with. What was written is
 * read again as its program reads it (recipe.h), so that what is said of it is what the program will do: a setting that
 * it then has another value of is refused by its name where the plan would be another one in kind (the strategy, what
 * is kept where, the samples, the precision), and is a note where it is a size or a rate.
 */
#ifndef SHARDLAB_EMIT_H
#define SHARDLAB_EMIT_H

#include "strategy/emit/tree_write.h"
#include "strategy/recipe/recipe.h"

/* constant, name, its usual form, who reads it (a constant of RECIPE_READERS), which release the
 * rows were written for, the strategies that it has */
#define EMIT_TARGETS(X)                                                                                                \
	X(DEEPSPEED, "deepspeed", JSON, DEEPSPEED, "DeepSpeed 0.19.8", "single|ddp|zero1|zero2|zero3")                 \
	X(ACCELERATE, "accelerate", YAML, ACCELERATE, "Accelerate 1.15", "single|ddp|zero1|zero2|zero3|fsdp|hybrid")   \
	X(TRAINER, "trainer", JSON, TRAINER, "transformers 5.23", "single|ddp|zero1|zero2|zero3|fsdp")                 \
	X(TORCHTITAN, "torchtitan", TOML, TORCHTITAN, "torchtitan 0.2.2", "single|ddp|fsdp|hybrid|pipeline|tensor")

enum emit_target {
#define X(constant, name, form, reader, version, strategies) EMIT_##constant,
	EMIT_TARGETS(X)
#undef X
	        EMIT_TARGET_COUNT
};
#define EMIT_CHOICES "deepspeed|accelerate|trainer|torchtitan"

const char *emit_target_name(enum emit_target t);    /* "deepspeed" */
const char *emit_target_version(enum emit_target t); /* "DeepSpeed 0.19.8" */
enum recipe_reader emit_target_reader(enum emit_target t);
/* The target whose files this reader reads. */
enum emit_target emit_target_of(enum recipe_reader r);
/* The class of stacks (strategy/cluster/stack.h) that a file with this strategy is read as: recipe_class() of it. */
const char *emit_target_class(enum emit_target t, const char *strategy);
/* "deepspeed" or "deepspeed:ae.json", as --emit has it. False: no target has this name. */
bool emit_target_named(const char *text, enum emit_target *out);

struct emit_note {
	const char *text; /* the whole sentence */
	/* For a setting that has another value there: the option, its value here and there, the key of the file that
	 * makes it so (NULL: none does), and why. NULL: it is a note of another kind. */
	const char *option, *here, *there, *key, *why;
};

struct emission {
	struct arena arena;
	enum emit_target target;
	const struct settings *settings; /* resolved; while it is made */
	int64_t nodes;
	const char *where;
	struct tree_file file;
	char *text;
	size_t size;
	/* The second file, which the first one names: deepspeed_config_file of Accelerate's, whose own keys for
	 * DeepSpeed are few. NULL: there is none. */
	const char *beside_where;
	char *beside_text;
	size_t beside_size;
	bool said[SETTING_COUNT];
	enum setting beside[SETTING_COUNT];
	int beside_count;
	struct emit_note *notes;
	int note_count, note_capacity;
	const char
	        *software; /* as whose switches the file is read, where they are others than the settings'; else NULL */
	bool otherwise;    /* a size or a rate is another one there: that of a note */
};

/* where: the file's name, whose ending chooses a form where a program reads several; NULL: the target's usual one.
 * nodes: on which the ranks are. STATUS_INPUT: what cannot be said there, by name. The message does not name the
 * program; the caller adds it. */
enum status emit_make(struct emission *e, enum emit_target target, const char *where, const struct settings *s,
                      int64_t nodes);
/* The cheap part of that judgement, without a file: STATUS_INPUT names what no file of the target says, whatever else
 * is in it. */
enum status emit_can(enum emit_target target, const struct settings *s);
/* One more line that says what its user has to know. */
__attribute__((format(printf, 2, 3))) void emit_note(struct emission *e, const char *format, ...);
void emit_release(struct emission *e); /* accepts NULL and a zeroed struct */

#endif
