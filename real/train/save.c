/* Writes the weights: each rank those that it shows. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "real/tokenizer/json_file.h"
#include "real/train/internal.h"
#include "strategy/base/file.h"
#include "strategy/base/path.h"
#include "strategy/model/config_write.h"

/* The number of a tensor's first piece in the file that is written. */
static int saved_number(const struct model *m, int tensor)
{
	int number = 0;
	for (int t = 0; t < tensor; t++)
		number += file_tensor_count(m, t);
	return number;
}

enum status training_show_weights(void *context, int tensor, int64_t first, int64_t count, const float *values)
{
	struct training *t = context;
	int number = saved_number(&t->model, tensor);
	enum status s = STATUS_OK;
	for (int i = 0; i < file_tensor_count(&t->model, tensor) && !s; i++) {
		struct file_tensor f = file_tensor_at(&t->model, tensor, i);
		struct stretch_of_file r = file_tensor_stretch(&f, first, count);
		if (r.count)
			s = weights_writer_write(&t->save, number + i, r.first, r.count, values + r.at);
	}
	return s;
}

/* ---- saving: rank 0 makes the file or folder, all write to it, rank 0 gives it its name ---- */

static enum status declare_all(struct training *t)
{
	enum status s = STATUS_OK;
	for (int i = 0; i < t->model.tensor_count + t->model.buffer_count; i++)
		for (int n = 0; n < file_tensor_count(&t->model, i) && !s; n++) {
			struct file_tensor f = file_tensor_at(&t->model, i, n);
			s = weights_writer_declare(&t->save, f.name, f.dimensions, f.shape);
		}
	return s ? s : weights_writer_begin(&t->save);
}

static const struct exchange saving = {"saving", .others_write = true};

/* The message of the worst failure on all ranks; `release`: what must be gone before a rank that returns ends the
 * others.
 */
static enum status agree(struct training *t, enum status s, bool release)
{
	int worst = 0, *all = array_make((size_t)t->ranks + 1, sizeof *all);
	char line[1024];
	bool alone = t->mpi && communicator_failed(t->communicator); /* and nobody hears of s */
	enum status told = alone ? s : STATUS_OK;
	all[0] = s;
	if (t->mpi && !told)
		told = communicator_tell_all(t->communicator, &saving, &(int){s}, sizeof *all, all);
	for (int i = 1; i < t->ranks && !told; i++)
		worst = all[i] < all[worst] ? i : worst;
	enum status result = told ? told : (enum status)all[worst];
	free(all);
	if (result && release)
		weights_writer_release(&t->save);
	if (!result || told || !t->mpi)
		return result;
	snprintf(line, sizeof line, "%s", status_message());
	if ((told = communicator_hear(t->communicator, &saving, line, sizeof line, worst)))
		return told;
	t->agreed = true;
	return t->rank == worst ? s : status_fail(result, "rank %d: %s", worst, line);
}

enum status training_agree(struct training *t, enum status s)
{
	return agree(t, s, false);
}

/* A rank that returns a failure may end the others at once, so the unfinished file is removed first. */
enum status training_save_agree(struct training *t, enum status s)
{
	return agree(t, s, true);
}

/* transformers' limit for many years. */
static const int64_t SHARD_BYTES = INT64_C(5000000000);

static int64_t shard_bytes(const struct training *t)
{
	return t->options->shard_bytes ? t->options->shard_bytes : SHARD_BYTES;
}

/* Rank 0 makes it; the others learn its temporary name. */
static enum status begin(struct training *t, const char *temporary)
{
	const struct train_options *o = t->options;
	enum status s = t->rank ? weights_writer_join(&t->save, o->save, temporary, shard_bytes(t))
	                        : weights_writer_create(&t->save, o->save, shard_bytes(t));
	return s ? s : declare_all(t);
}

enum status training_save_begin(struct training *t)
{
	char name[4096] = "";
	enum status s = STATUS_OK;
	if (!t->options->save)
		return STATUS_OK;
	if (!t->rank && !(s = begin(t, NULL)))
		snprintf(name, sizeof name, "%s", t->save.temporary);
	TRY(t->mpi ? communicator_hear(t->communicator, &saving, name, sizeof name, 0) : STATUS_OK);
	if (t->rank && *name) /* else it is rank 0 that failed, and has the line to say */
		s = begin(t, name);
	/* Before the first step a place without room is wrong input. */
	if (s == STATUS_RUN && t->steps_done == t->steps_before)
		s = STATUS_INPUT;
	return training_save_agree(t, s);
}

/* ---- what a folder has besides weights ---- */

/* These turn text into the model's tokens and back, and say what ends it. */
static const char *const tokenizer_files[] = {
        "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json",     "vocab.json",
        "merges.txt",     "tokenizer.model",       "chat_template.jinja",     "generation_config.json"};

enum { KEPT_MOST = 256 << 20 };

/* The folder that the weights come from; if it has no tokenizer and that of the token ids has, then the latter. */
static bool tokens_say_more(const struct training *t)
{
	return !path_folder_has(t->options->init, "tokenizer.json") &&
	       path_folder_has(t->options->data, "tokenizer.json");
}

/* The path of a file of that folder; NULL: there is none. The caller frees it. */
static char *kept_path(const struct training *t, const char *name)
{
	const char *folder = tokens_say_more(t) ? t->options->data : t->options->init;
	return path_folder_has(folder, name) ? path_in_folder(folder, name) : NULL;
}

/* *text: NULL if there is none. The caller frees it. */
static enum status read_kept(const struct training *t, const char *name, char **text, size_t *size)
{
	char *path = kept_path(t, name);
	*text = NULL;
	if (!path)
		return STATUS_OK;
	enum status s = file_read(path, tokens_say_more(t) ? "{data}" : "{init}", KEPT_MOST, text, size);
	free(path);
	return s;
}

static enum status keep_file(struct training *t, const char *name)
{
	char *text;
	size_t size = 0;
	enum status s = read_kept(t, name, &text, &size);
	if (!s && text)
		s = weights_writer_add(&t->save, name, text, (int64_t)size);
	free(text);
	return s;
}

static enum status config_of(const struct training *t, struct arena *a, const char **text)
{
	char *origin;
	size_t size = 0;
	/* Beside token ids there is no model, but the numbers of the special tokens. */
	enum status s = read_kept(t, tokens_say_more(t) ? "generation_config.json" : "config.json", &origin, &size);
	if (!s)
		s = model_config_write(a, &t->model, origin, size, text);
	free(origin);
	return s;
}

static enum status add_files(struct training *t)
{
	struct arena a = {0};
	const char *config;
	enum status s = config_of(t, &a, &config);
	if (!s)
		s = weights_writer_add(&t->save, "config.json", config, (int64_t)strlen(config));
	for (size_t i = 0; i < sizeof tokenizer_files / sizeof *tokenizer_files && !s; i++)
		s = keep_file(t, tokenizer_files[i]);
	arena_release(&a);
	return s;
}

/* Its numbers go into config.json, and `generate` reads it: a broken one is found before training. */
static enum status check_kept_tokens(const struct training *t)
{
	char *path = kept_path(t, "generation_config.json");
	json_t *tokens = NULL;
	if (!path)
		return STATUS_OK;
	enum status s = json_file_read_object(path, &tokens);
	json_decref(tokens);
	free(path);
	return s;
}

enum status training_save_check(struct training *t)
{
	struct arena a = {0};
	const char *config;
	const char *save = t->options->save;
	enum status s = STATUS_OK;
	if (t->options->shard_bytes && (!save || !weights_writer_takes_folder(save)))
		return status_fail(STATUS_INPUT, "{save_shard}: only a folder has shards; give {save} FOLDER too");
	if (!save)
		return STATUS_OK;
	if (weights_writer_takes_folder(save) && !(s = check_kept_tokens(t)))
		s = config_of(t, &a, &config);
	arena_release(&a);
	return s ? s : weights_writer_create(&t->save, t->options->save, shard_bytes(t));
}

/* ---- the end ---- */

/* Rank 0 learns how much all ranks have written to each shard. */
static enum status finish(struct training *t)
{
	size_t shards = (size_t)t->save.shard_count, ranks = t->mpi ? (size_t)t->ranks : 1;
	int64_t *mine = array_make(shards, sizeof *mine), *all = array_make(shards * ranks, sizeof *all);
	weights_writer_counts(&t->save, t->mpi ? mine : all);
	enum status s = STATUS_OK;
	if (t->mpi)
		s = communicator_tell_all(t->communicator, &saving, mine, (int64_t)(shards * sizeof *mine), all);
	for (size_t i = shards; i < shards * ranks; i++)
		all[i % shards] += all[i];
	if (!s && !t->rank && t->save.folder)
		s = add_files(t);
	if (!t->rank && !s)
		s = weights_writer_finish(&t->save, all);
	free(mine);
	free(all);
	return s;
}

enum status training_save_finish(struct training *t, enum status shown)
{
	if (!t->options->save)
		return shown;
	enum status s = training_save_agree(t, shown ? shown : weights_writer_leave(&t->save));
	return s ? s : training_save_agree(t, finish(t));
}
