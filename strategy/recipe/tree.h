/* A configuration file as a tree of values, each with its place: what every reader makes, whatever the file is written
 * in.
 *
 *     struct tree_file f;
 *     enum status s = tree_read_hjson(&arena, text, size, "ds.json", &f);
 *     const struct tree *stage = tree_find(f.root, "zero_optimization.stage");
 *     … stage->number, stage->line, stage->column …
 *
 * A reader takes what its tool's own parser takes. Of a key that is there twice both stay in the tree, and tree_find
 * gives the last.
 */
#ifndef SHARDLAB_TREE_H
#define SHARDLAB_TREE_H

#include <stdbool.h>
#include <stddef.h>

#include "strategy/base/arena.h"
#include "strategy/base/status.h"

/* The limits of a file, which bound the time that anything takes. */
enum { TREE_BYTES = 1 << 20, TREE_VALUES = 4096, TREE_DEPTH = 32 };

enum tree_kind { TREE_NULL, TREE_FLAG, TREE_NUMBER, TREE_TEXT, TREE_LIST, TREE_OBJECT };

struct tree {
	enum tree_kind kind;
	const char *key;  /* in the object that it stands in; NULL in a list, and of the root */
	const char *text; /* of a text, its content; of a number or a flag, as written */
	double number;    /* of a number; of a flag 0 or 1 */
	bool whole;       /* a number written without point and exponent */
	int line, column; /* of the value; from 1 */
	int key_line, key_column;
	int made; /* while it is read: a reader's own mark */
	struct tree *parent, *first, *last, *next;
};

/* A file's syntax follows from the end of its name, or else from its first line (whose.c). */
enum tree_syntax { SYNTAX_HJSON, SYNTAX_JSON, SYNTAX_YAML, SYNTAX_TOML };

struct tree_file {
	const char *where; /* for messages */
	enum tree_syntax syntax;
	struct tree *root; /* an object */
	int values;
	/* The first thing that JSON does not have. */
	const char *not_json; /* NULL: it is JSON */
	int not_json_line, not_json_column;
};

/* Hjson as DeepSpeed reads it (the Python package hjson 3.1.0): JSON, comments, commas left out or too many, keys and
 * texts without quotes. What is none is STATUS_INPUT with a line that begins with WHERE:LINE:COLUMN. */
enum status tree_read_hjson(struct arena *a, const char *text, size_t size, const char *where, struct tree_file *out);

/* YAML as Accelerate reads it (PyYAML's safe_load). Columns are of characters. */
enum status tree_read_yaml(struct arena *a, const char *text, size_t size, const char *where, struct tree_file *out);

/* TOML as Python's tomllib reads it, which torchtitan uses. A date is a text. */
enum status tree_read_toml(struct arena *a, const char *text, size_t size, const char *where, struct tree_file *out);

/* For readers: a value below `parent`, or the root. NULL: there are more than TREE_VALUES. */
struct tree *tree_add(struct tree_file *f, struct arena *a, struct tree *parent, const char *key);

/* The last value of a path of keys below `from`; NULL: there is none. */
const struct tree *tree_find(const struct tree *from, const char *path);
/* The last of that name in this object alone. */
const struct tree *tree_child(const struct tree *object, const char *key, size_t length);
/* True if a later one has the same key in the same object. */
bool tree_repeated(const struct tree *t);
/* "zero_optimization.stage", "list[2].name"; "" of the root. Lives in the arena. */
const char *tree_path(struct arena *a, const struct tree *t);
/* The value as a message shows it, no longer than a few words. Lives in the arena. */
const char *tree_shown(struct arena *a, const struct tree *t);
bool tree_is_auto(const struct tree *v);
/* True if the value is the one that the text stands for. */
bool tree_same(const struct tree *v, const char *text);

#endif
