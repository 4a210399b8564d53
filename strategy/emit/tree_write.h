/* A tree of values as text, in the forms in which other programs have their configurations.
 *
 *     struct tree *v = tree_put(&file, &arena, "zero_optimization.stage", "2");
 *     tree_write(file.root, FORM_JSON, out);
 *
 * read_hjson.c, read_yaml.c and the programs themselves read the written text as the same tree.
 */
#ifndef SHARDLAB_TREE_WRITE_H
#define SHARDLAB_TREE_WRITE_H

#include <stdio.h>

#include "strategy/recipe/tree.h"

enum tree_form { FORM_JSON, FORM_YAML, FORM_TOML };

/* A value at a path of keys, whose sections are made where they are missing. `literal` is as JSON has it: 4, 0.5, true,
 * "cpu". The path and the literal must outlive the tree. */
void tree_put(struct tree_file *f, struct arena *a, const char *path, const char *literal);

/* Sections stand in the order of their first values; in TOML behind the values of the section around them. */
void tree_write(const struct tree *root, enum tree_form form, FILE *out);

#endif
