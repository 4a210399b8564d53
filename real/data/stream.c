/* Samples of ids: files of tokens, or of text. No sample goes from one file into the next. */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "real/data/form.h"
#include "real/data/sampler.h"
#include "real/data/sources.h"
#include "strategy/base/keys.h"
#include "strategy/base/number.h"
#include "strategy/base/path.h"

/* A range of a file, and the samples of the parts before it. */
struct part {
	const struct token_file *file;
	int64_t begin, end, samples_before;
};

struct parts {
	struct part *list;
	int count;
	int64_t ids, samples;
};

struct stream {
	struct token_file *files;
	int count;
	struct parts training, validation;
};

static const struct dataset_form stream_form;

/* ---- parts ---- */

/* A sample has one id more than tokens, the last target. To train, samples begin anywhere; to validate, where the one
 * before ended. */
static int64_t samples_of(int64_t ids, int64_t tokens, bool validation)
{
	return ids <= tokens ? 0 : validation ? (ids - 1) / tokens : ids - tokens;
}

static void add_part(struct parts *p, const struct token_file *f, int64_t begin, int64_t end, int64_t tokens,
                     bool validation)
{
	p->list[p->count++] = (struct part){f, begin, end, p->samples};
	p->ids += end - begin;
	p->samples += samples_of(end - begin, tokens, validation);
}

/* Files [first, last), of which `skip` ids are left out and `count` follow. */
static void add_files(struct parts *p, const struct stream *s, int first, int last, int64_t skip, int64_t count,
                      int64_t tokens, bool validation)
{
	*p = (struct parts){.list = p->list};
	for (int i = first; i < last; i++) {
		const struct token_file *f = &s->files[i];
		int64_t begin = skip < f->count ? skip : f->count;
		int64_t end = count < f->count - begin ? begin + count : f->count;
		if (end > begin)
			add_part(p, f, begin, end, tokens, validation);
		skip -= begin;
		count -= end - begin;
	}
}

static int64_t count_ids(const struct stream *s, int first, int last)
{
	int64_t n = 0;
	for (int i = first; i < last; i++)
		n += s->files[i].count;
	return n;
}

/* At least two samples to train on: of one, every step would see the same. */
enum { LEAST_SAMPLES = 2 };

static enum status too_short(const struct token_file *f, int64_t tokens)
{
	bool text = f->type == TOKEN_BYTES;
	return status_fail(STATUS_INPUT,
	                   "%s: %" PRId64 " %s are too few: a sequence of %" PRId64
	                   " tokens needs two %s more than that; give a longer %s or a smaller {sequence}",
	                   f->path, f->count, text ? "bytes of text" : "ids", tokens, text ? "bytes" : "ids",
	                   text ? "text" : "file");
}

/* The last tenth is for validation, unless it is too short for a sample or leaves too little to train on. */
static void cut(struct stream *s, int training, int64_t tokens)
{
	int64_t all = count_ids(s, 0, training), kept = all / 10;
	add_files(&s->validation, s, 0, training, all - kept, kept, tokens, true);
	add_files(&s->training, s, 0, training, 0, all - kept, tokens, false);
	if (s->validation.samples && s->training.samples >= LEAST_SAMPLES)
		return;
	s->validation.count = 0;
	s->validation.ids = s->validation.samples = 0;
	add_files(&s->training, s, 0, training, 0, all, tokens, false);
}

static enum status divide(struct stream *s, int training, int64_t tokens)
{
	int own = s->count - training;
	s->training.list = array_make((size_t)s->count, sizeof *s->training.list);
	s->validation.list = array_make((size_t)s->count, sizeof *s->validation.list);
	if (own) {
		add_files(&s->training, s, 0, training, 0, INT64_MAX, tokens, false);
		add_files(&s->validation, s, training, s->count, 0, INT64_MAX, tokens, true);
	} else {
		cut(s, training, tokens);
	}
	if (s->training.samples < LEAST_SAMPLES)
		return too_short(&s->files[0], tokens);
	return own && !s->validation.samples ? too_short(&s->files[training], tokens) : STATUS_OK;
}

/* ---- words ---- */

static int count_short(const struct stream *s, int64_t tokens)
{
	int n = 0;
	for (int i = 0; i < s->count; i++)
		n += s->files[i].count <= tokens;
	return n;
}

/* Says what ids are, and why. Ids of bytes leave most of a larger vocabulary without a token. */
static void describe_ids(char *out, size_t size, const struct token_file *f)
{
	char n[32];
	if (f->type != TOKEN_BYTES)
		snprintf(out, size, "ids, %s %s", token_type_name(f->type), f->known_by);
	else if (f->vocabulary > DATASET_VOCABULARY)
		snprintf(out, size, "text, each byte an id of the vocabulary's %s",
		         number_format_count(n, f->vocabulary));
	else
		snprintf(out, size, "text, each byte an id");
}

static void describe(struct dataset *d, const struct stream *s, int training, int64_t tokens)
{
	char name[128], ids[128], n[32], m[32], left_out[64] = "";
	bool last = training == s->count;
	int shorter = count_short(s, tokens);
	if (s->count == 1)
		snprintf(name, sizeof name, "%.100s", s->files[0].path);
	else
		snprintf(name, sizeof name, "%d files", s->count);
	describe_ids(ids, sizeof ids, &s->files[0]);
	if (shorter)
		snprintf(left_out, sizeof left_out, "; %d shorter than a sequence, left out", shorter);
	snprintf(d->words, sizeof d->words, "%s of %s: %s tokens to train on, %s to validate with%s%s", name, ids,
	         number_format_count(n, s->training.ids),
	         s->validation.ids ? number_format_count(m, s->validation.ids) : "none",
	         s->validation.ids && last ? ", the last tenth" : "", left_out);
}

/* ---- taking files ---- */

static enum status check_alike(const struct token_file *files, int count)
{
	for (int i = 1; i < count; i++)
		if (files[i].type != files[0].type)
			return status_fail(STATUS_INPUT, "%s is read as %s, and %s as %s; give files of one type",
			                   files[0].path, token_type_name(files[0].type), files[i].path,
			                   token_type_name(files[i].type));
	return STATUS_OK;
}

static void release_files(struct token_file *files, int count)
{
	for (int i = 0; i < count; i++)
		token_file_release(&files[i]);
	free(files);
}

static int64_t bytes_held(const struct stream *s)
{
	int64_t n = 2 * s->count * (int64_t)sizeof(struct part) + s->count * (int64_t)sizeof(struct token_file);
	for (int i = 0; i < s->count; i++)
		n += s->files[i].held_bytes;
	return n;
}

static void note_largest(struct dataset *d, const struct stream *s)
{
	for (int i = 0; i < s->count; i++) {
		const struct token_file *f = &s->files[i];
		if (f->type == TOKEN_BYTES || (d->largest_in && f->largest <= d->largest_id))
			continue;
		d->largest_id = f->largest;
		d->largest_in = f->path;
	}
}

enum status dataset_take_stream(struct dataset *d, struct token_file *files, int count, int training, int64_t tokens)
{
	if (tokens < 1 || count < 1)
		abort();
	struct stream *s = array_make(1, sizeof *s);
	*s = (struct stream){.files = files, .count = count};
	d->form = &stream_form;
	d->own = s;
	TRY(check_alike(files, count));
	TRY(divide(s, training, tokens));
	d->bytes_held = bytes_held(s);
	d->files = count;
	d->type = token_type_name(files[0].type);
	d->training_samples = s->training.samples;
	d->validation_samples = s->validation.samples;
	d->inputs_per_sample = tokens;
	d->targets_per_sample = tokens;
	note_largest(d, s);
	describe(d, s, training, tokens);
	return STATUS_OK;
}

/* ---- opening ---- */

static enum status read_type(const struct source *source, enum token_type *out)
{
	static const struct key list[] = {{"type", TOKEN_TYPE_WORDS, "", "the type of ids"}};
	const struct keys keys = {.setting = "{data}", .name = source->path, .list = list, .count = 1};
	struct key_value value;
	char word[16];
	if (!source->pairs)
		return STATUS_OK;
	TRY(keys_read(&keys, source->pairs, &value));
	snprintf(word, sizeof word, "%.*s", (int)value.length, value.text);
	*out = token_type_of(word);
	return STATUS_OK;
}

static enum status check_vocabulary(const struct token_file *f, int64_t vocabulary)
{
	if (f->type != TOKEN_BYTES || vocabulary >= DATASET_VOCABULARY)
		return STATUS_OK;
	return status_fail(STATUS_INPUT,
	                   "{model}: text is read as bytes and needs a vocabulary of %d; this one has %" PRId64,
	                   DATASET_VOCABULARY, vocabulary);
}

static enum status open_one(struct token_file *f, const struct source *source, const struct dataset_spec *spec)
{
	struct token_spec how = {.vocabulary = spec->classes, .type = token_type_of(spec->type)};
	enum status s = read_type(source, &how.type);
	if (!s)
		s = token_file_open(f, source->path, &how);
	if (!s && spec->ids_alone && f->is_text)
		return status_fail(
		        STATUS_INPUT,
		        "%s: is text, and the ids of these weights are those of their tokenizer: make ids of it "
		        "with tools/tokenize.py (docs/data.md), or say {data_type} bytes if bytes are meant",
		        source->path);
	return s ? s : check_vocabulary(f, spec->classes);
}

static enum status open_sources(struct dataset *d, const struct sources *s, const struct dataset_spec *spec)
{
	struct token_file *files = array_make((size_t)s->count, sizeof *files);
	enum status status = STATUS_OK;
	for (int i = 0; i < s->count && !status; i++)
		status = open_one(&files[i], &s->list[i], spec);
	if (!status)
		return dataset_take_stream(d, files, s->count, s->training, spec->tokens);
	release_files(files, s->count);
	return status;
}

enum status dataset_open_stream(struct dataset *d, const struct dataset_spec *spec)
{
	static const char *const endings[] = {".bin", ".npy", NULL};
	static const char *const splits[] = {"train", "val", NULL};
	static const struct source_folder folder = {endings, splits, "train.bin or NAME_train_*.bin"};
	struct sources s;
	if (!spec->path && !path_is_there(DATASET_TEXT_DEFAULT))
		return status_fail(STATUS_INPUT,
		                   "%s: no such file; run `apt-get install --no-install-recommends %s`, or give any "
		                   "text with {data}",
		                   DATASET_TEXT_DEFAULT, DATASET_TEXT_PACKAGE);
	enum status status = sources_find(&s, spec->path ? spec->path : DATASET_TEXT_DEFAULT, &folder);
	if (!status)
		status = open_sources(d, &s, spec);
	sources_release(&s);
	return status;
}

static void release_stream(struct dataset *d)
{
	struct stream *s = d->own;
	release_files(s->files, s->count);
	free(s->training.list);
	free(s->validation.list);
	free(s);
}

/* ---- samples ---- */

/* The last part whose samples begin at `which` or before. */
static const struct part *part_of(const struct parts *p, int64_t which)
{
	int low = 0, high = p->count - 1;
	while (low < high) {
		int middle = (low + high + 1) / 2;
		if (p->list[middle].samples_before <= which)
			low = middle;
		else
			high = middle - 1;
	}
	return &p->list[low];
}

static enum status fill_stream(const struct dataset *d, bool validation, int64_t which, void *input, int32_t *target)
{
	const struct stream *s = d->own;
	const struct part *p = part_of(validation ? &s->validation : &s->training, which);
	int64_t within = which - p->samples_before;
	return token_file_sample(p->file, p->begin + (validation ? within * d->inputs_per_sample : within),
	                         d->inputs_per_sample, input, target);
}

/* Wrong ids are found by the step that uses them: then they count as they are not. */
static void read_ids(const struct token_file *f, int64_t first, int64_t count, int32_t *out)
{
	memset(out, 0, (size_t)count * sizeof *out);
	(void)token_file_sample(f, first, count - 1, out, NULL);
	(void)token_file_sample(f, first + count - 2, 1, NULL, out + count - 1);
}

static int64_t ids_of_stream(const struct dataset *d, int64_t which, int64_t end, int64_t most, int32_t *out,
                             int64_t *next)
{
	const struct stream *s = d->own;
	const struct part *p = part_of(&s->training, which), *last = &s->training.list[s->training.count - 1];
	int64_t part_end = p < last ? p[1].samples_before : d->training_samples;
	int64_t stop = end < part_end ? end : part_end, room = most - d->inputs_per_sample;
	int64_t first = p->begin + which - p->samples_before;
	*next = stop - which > room ? which + room : stop;
	int64_t count = *next - which + (*next == part_end ? d->inputs_per_sample : 0);
	if (count > 1)
		read_ids(p->file, first, count, out);
	else
		(void)token_file_sample(p->file, first, 1, out, NULL);
	return count;
}

static int64_t row_of_stream(const struct dataset *d, int64_t which, int64_t end, int64_t most, int32_t *out)
{
	const struct stream *s = d->own;
	const struct part *p = part_of(&s->validation, which), *last = &s->validation.list[s->validation.count - 1];
	int64_t part_end = p < last ? p[1].samples_before : d->validation_samples, tokens = d->inputs_per_sample;
	int64_t stop = end < part_end ? end : part_end, room = (most - 1) / tokens;
	int64_t count = stop - which < room ? stop - which : room;
	int64_t first = p->begin + (which - p->samples_before) * tokens, behind = first + count * tokens;
	if (count < 2 || token_file_sample(p->file, first, count * tokens, out, NULL) ||
	    token_file_sample(p->file, behind - 1, 1, NULL, out + count * tokens))
		return 0;
	return count;
}

static const struct dataset_form stream_form = {sampler_start, fill_stream, ids_of_stream, release_stream,
                                                row_of_stream};
