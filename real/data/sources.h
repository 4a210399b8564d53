/* The files that `--data` names.
 *
 *     PATH[:key=value…][,PATH…]      each a file, a pattern with * ? [ ] (expanded here), or a folder
 *
 * Files of a pattern and of a folder come in the order of their bytes, the same on every machine. A name of which
 * "val", "valid", "validation" or "test" is a word (letters and digits around it end it) is that of a file to validate
 * with: val.bin, fineweb_val_000000.bin. If no other file is there, all are to train on.
 *
 * In a folder those are taken that end as asked and have the word "train" or "val" in their name (a table also "test"):
 * nanoGPT's train.bin and val.bin, llm.c's NAME_train_*.bin and NAME_val_*.bin. Files of two NAMEs are refused.
 *
 * A path that is there is taken as it stands, whatever characters it has; else a comma ends it and keys follow a colon.
 */
#ifndef SHARDLAB_DATA_SOURCES_H
#define SHARDLAB_DATA_SOURCES_H

#include "strategy/base/arena.h"
#include "strategy/base/status.h"

#include <stdbool.h>

struct source {
	const char *path;
	const char *pairs; /* "type=uint32"; NULL: none */
	bool for_validation;
};

struct sources {
	struct arena arena;
	struct source *list; /* those to train on, then those to validate with */
	int count, training;
	int capacity;
};

/* The files of a folder that count. Lists end with NULL. */
struct source_folder {
	const char *const *endings;
	const char *const *splits; /* words of which a name has one: "train", "val" */
	const char *looked_for;    /* "train.bin or NAME_train_*.bin" */
};

/* Checks only of patterns and folders that their files exist; opening reports other files. On failure s is released.
 * folder: NULL lists folders themselves, in place of what is in them. */
enum status sources_find(struct sources *s, const char *text, const struct source_folder *folder);
void sources_release(struct sources *s); /* accepts NULL and a zeroed one */

/* Whether a file of this name counts in such a folder. */
bool source_folder_takes(const struct source_folder *folder, const char *name);

#endif
