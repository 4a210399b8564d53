/* A Hugging Face config.json as a model's specification.
 *
 *     const char *specification;
 *     enum status s = model_config_read(&arena, "Qwen2.5-7B", &specification);     // a folder, or the file in it
 *     … "qwen2.5-7b", or "llama:layers=28,width=3584,…,name=mine" …
 *
 * The path may have keys behind it that replace the file's: "Qwen2.5-7B:layers=2". The files of gpt2, llama, mistral,
 * qwen2, qwen3, mpt and opt are read where their blocks are those of the families gpt and llama; config_gpt.c and
 * config_llama.c have a table each with the keys, their defaults (transformers' own) and the values that would make
 * another block. Other models are refused by name, with what differs (config_others.c). A key that transformers does
 * not read for the model's type is ignored, and so are dropout, initialisation, and dtype: the precision is a setting.
 *
 * A file of both an image's and a text's model has the latter in `text_config`, which is read alone.
 */
#ifndef SHARDLAB_CONFIG_H
#define SHARDLAB_CONFIG_H

#include <stdbool.h>

#include "strategy/base/arena.h"
#include "strategy/base/status.h"

/* True if this is the path of a model's file, and not a specification. A name with a slash or ending in .json is a
 * path; any other is one if no model is called so and it is there. */
bool model_config_is_path(const char *text);

/* The specification lives in the arena. Files that cannot be read, say nothing sensible, or describe another model are
 * STATUS_INPUT with a line that begins with FILE:LINE:COLUMN where the syntax is wrong, and with FILE: KEY elsewhere.
 */
enum status model_config_read(struct arena *a, const char *path, const char **specification);

/* Reads the text of a file. where: its name in messages. overrides: "key=value,…", or NULL. name: the model's name in
 * titles, or NULL. Files that say the same give the same specification. */
enum status model_config_text(struct arena *a, const char *text, size_t size, const char *where, const char *overrides,
                              const char *name, const char **specification);

#endif
