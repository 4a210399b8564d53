#include "real/data/model_weights.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "real/data/weights_config.h"
#include "strategy/base/path.h"

#define HEAD "lm_head.weight"

/* ---- tensors of files ---- */

int file_tensor_count(const struct model *m, int number)
{
	if (number >= m->tensor_count)
		return 1;
	const struct tensor *t = &m->tensors[number];
	return t->piece_count && t->pieces[0].name ? t->piece_count : 1;
}

static struct file_tensor whole_tensor(const struct tensor *t)
{
	return (struct file_tensor){t->name, t->columns ? 2 : 1, {t->rows, t->columns}, 0, t->elements};
}

static struct file_tensor piece_of(const struct tensor *t, int i)
{
	int64_t columns = t->columns ? t->columns : 1, first = 0;
	for (int before = 0; before < i; before++)
		first += t->pieces[before].size * columns;
	int64_t rows = t->pieces[i].size;
	return (struct file_tensor){t->pieces[i].name, t->columns ? 2 : 1, {rows, t->columns}, first, rows * columns};
}

struct file_tensor file_tensor_at(const struct model *m, int number, int i)
{
	if (number < m->tensor_count)
		return file_tensor_count(m, number) == 1 ? whole_tensor(&m->tensors[number])
		                                         : piece_of(&m->tensors[number], i);
	const struct model_buffer *b = &m->buffers[number - m->tensor_count];
	return (struct file_tensor){b->name, 1, {b->elements, 0}, 0, b->elements};
}

struct stretch_of_file file_tensor_stretch(const struct file_tensor *f, int64_t first, int64_t count)
{
	int64_t from = first > f->first ? first : f->first, end = f->first + f->elements;
	int64_t to = first + count < end ? first + count : end;
	return (struct stretch_of_file){from - f->first, to > from ? to - from : 0, from - first};
}

/* ---- do the files have what the model needs, and nothing else? ---- */

static enum status not_there(const struct model_weights *w, const struct file_tensor *want, bool is_buffer)
{
	const char *path = w->files.path, *setting = status_words(w->setting);
	if (is_buffer)
		return status_fail(STATUS_INPUT, "%s %s: has no buffer '%s' of %" PRId64 " elements", setting, path,
		                   want->name, want->elements);
	return status_fail(STATUS_INPUT,
	                   "%s %s: has no tensor '%s' of %s; give {model} the sizes and keys of these weights", setting,
	                   path, want->name, w->model->name);
}

static bool has_shape(const struct safetensors_tensor *t, const struct file_tensor *want)
{
	return t->rank == want->dimensions && t->shape[0] == want->shape[0] &&
	       (want->dimensions == 1 || t->shape[1] == want->shape[1]);
}

static const char *shape_words(char out[64], int rank, const int64_t *shape)
{
	size_t n = 0;
	out[0] = '\0';
	for (int i = 0; i < rank && n < 64; i++)
		n += (size_t)snprintf(out + n, 64 - n, "%s%" PRId64, i ? " × " : "", shape[i]);
	return out;
}

static enum status wrong_shape(const struct model_weights *w, const struct safetensors_tensor *have,
                               const struct file_tensor *want)
{
	char theirs[64], ours[64];
	return status_fail(
	        STATUS_INPUT,
	        "%s %s: tensor '%s' is %s, and %s needs %s; give {model} the sizes and keys of these weights",
	        status_words(w->setting), w->files.path, want->name, shape_words(theirs, have->rank, have->shape),
	        w->model->name, shape_words(ours, want->dimensions, want->shape));
}

/* Checks what a tensor or a buffer is made of, and notes which tensors of the files that is. */
static enum status check_number(const struct model_weights *w, int number, bool *used)
{
	bool is_buffer = number >= w->model->tensor_count;
	for (int i = 0; i < file_tensor_count(w->model, number); i++) {
		struct file_tensor want = file_tensor_at(w->model, number, i);
		const struct weights_tensor *have = weights_file_find(&w->files, want.name);
		if (!have || (is_buffer && !has_shape(have->in, &want)))
			return not_there(w, &want, is_buffer);
		if (!has_shape(have->in, &want))
			return wrong_shape(w, have->in, &want);
		enum status s = weights_file_read(have, 0, 0, NULL); /* whether its type can be read */
		if (s)
			return s;
		used[have - w->files.tensors] = true;
	}
	return STATUS_OK;
}

/* Tensors that are no parameters: what modules keep beside them, and a head that is the token table once more. */
static bool is_passed_over(const char *name)
{
	static const char *const endings[] = {".attn.bias", ".attn.masked_bias", ".rotary_emb.inv_freq",
	                                      ".num_batches_tracked", NULL};
	return path_ends_in_any(name, endings) || !strcmp(name, HEAD);
}

static enum status check_others(const struct model_weights *w, const bool *used)
{
	for (int i = 0; i < w->files.count; i++) {
		const char *name = w->files.tensors[i].in->name;
		if (!used[i] && !is_passed_over(name))
			return status_fail(STATUS_INPUT,
			                   "%s %s: has a tensor '%s', which %s has not; give {model} the sizes and "
			                   "keys of these weights",
			                   status_words(w->setting), w->files.path, name, w->model->specification);
	}
	return STATUS_OK;
}

/* The table that a tied head reads; NULL: the head has a tensor of its own, or there is no table. */
static const char *tied_table(const struct model *m)
{
	for (int i = 0; i < m->tensor_count; i++)
		if (!strcmp(m->tensors[i].name, HEAD))
			return NULL;
	for (int i = 0; i < m->kernel_count; i++)
		if (m->kernels[i].kind == KERNEL_EMBEDDING)
			return m->tensors[m->kernels[i].weight].name;
	return NULL;
}

enum { SAMPLE = 256 };

/* Whether the first and the last elements are the same: heads that were trained apart differ everywhere. */
static enum status compare_ends(const struct weights_tensor *a, const struct weights_tensor *b, bool *same)
{
	float of_a[SAMPLE], of_b[SAMPLE];
	int64_t elements = a->in->elements, count = elements < SAMPLE ? elements : SAMPLE;
	enum status s = STATUS_OK;
	*same = elements == b->in->elements;
	for (int end = 0; end < 2 && *same && !s; end++) {
		int64_t first = end ? elements - count : 0;
		s = weights_file_read(a, first, count, of_a);
		if (!s)
			s = weights_file_read(b, first, count, of_b);
		*same = !s && !memcmp(of_a, of_b, (size_t)count * sizeof *of_a);
	}
	return s;
}

static enum status check_tied(const struct model_weights *w)
{
	const char *table = tied_table(w->model);
	const struct weights_tensor *head = weights_file_find(&w->files, HEAD);
	bool same;
	if (!table || !head)
		return STATUS_OK;
	enum status s = compare_ends(head, weights_file_find(&w->files, table), &same);
	if (s || same)
		return s;
	return status_fail(STATUS_INPUT,
	                   "%s %s: tensor '" HEAD "' is not the table '%s', to which the head of %s is tied; a model "
	                   "with a head of its own has tied=no",
	                   status_words(w->setting), w->files.path, table, w->model->name);
}

static enum status check_all(const struct model_weights *w)
{
	bool *used = array_make((size_t)w->files.count, sizeof *used);
	enum status s = STATUS_OK;
	for (int i = 0; i < w->model->tensor_count + w->model->buffer_count && !s; i++)
		s = check_number(w, i, used);
	if (!s)
		s = check_others(w, used);
	free(used);
	return s ? s : check_tied(w);
}

enum status model_weights_open(struct model_weights *w, const char *path)
{
	enum status s = weights_config_check(path, w->model, w->setting);
	if (!s)
		s = weights_file_open(&w->files, path);
	if (!s)
		s = check_all(w);
	if (s)
		model_weights_release(w);
	return s;
}

void model_weights_release(struct model_weights *w)
{
	if (w)
		weights_file_release(&w->files);
}

enum status model_weights_read(const struct model_weights *w, int number, int64_t first, int64_t count, float *out)
{
	enum status s = STATUS_OK;
	for (int i = 0; i < file_tensor_count(w->model, number) && !s; i++) {
		struct file_tensor f = file_tensor_at(w->model, number, i);
		struct stretch_of_file r = file_tensor_stretch(&f, first, count);
		if (r.count)
			s = weights_file_read(weights_file_find(&w->files, f.name), r.first, r.count, out + r.at);
	}
	return s;
}
