/* Reads and writes .safetensors files: each rank reads the weights that it keeps and writes those that it shows. */
#include <inttypes.h>
#include <mpi.h>
#include <stdio.h>

#include "real/train/internal.h"

/* Hugging Face's GPT2LMHeadModel puts "transformer." before the names of the bare model. */
static const struct safetensors_tensor *find(const struct safetensors *f, const char *name)
{
	const struct safetensors_tensor *found = safetensors_find(f, name);
	char longer[160];
	if (found)
		return found;
	snprintf(longer, sizeof longer, "transformer.%s", name);
	return safetensors_find(f, longer);
}

/* A tensor as files have it: a whole tensor of the model, or one of its pieces. */
struct file_tensor {
	const char *name;
	int dimensions;
	int64_t shape[2];
	int64_t first, elements; /* where in the model's tensor */
};

static int file_tensors(const struct tensor *t)
{
	return t->piece_count && t->pieces[0].name ? t->piece_count : 1;
}

static struct file_tensor file_tensor(const struct tensor *t, int i)
{
	int64_t columns = t->columns ? t->columns : 1, first = 0;
	int dimensions = t->columns ? 2 : 1;
	if (file_tensors(t) == 1)
		return (struct file_tensor){t->name, dimensions, {t->rows, t->columns}, 0, t->elements};
	for (int before = 0; before < i; before++)
		first += t->pieces[before].size * columns;
	int64_t rows = t->pieces[i].size;
	return (struct file_tensor){t->pieces[i].name, dimensions, {rows, t->columns}, first, rows * columns};
}

/* A buffer of the model, numbered after its tensors. */
static struct file_tensor file_buffer(const struct model *m, int number)
{
	const struct model_buffer *b = &m->buffers[number - m->tensor_count];
	return (struct file_tensor){b->name, 1, {b->elements, 0}, 0, b->elements};
}

/* The number of files' tensors that make up a tensor or a buffer, and the i-th of them. */
static int file_count(const struct model *m, int number)
{
	return number < m->tensor_count ? file_tensors(&m->tensors[number]) : 1;
}

static struct file_tensor file_at(const struct model *m, int number, int i)
{
	return number < m->tensor_count ? file_tensor(&m->tensors[number], i) : file_buffer(m, number);
}

/* The elements [first, first + count) of a tensor that one of its files' tensors holds. */
struct stretch_of_file {
	int64_t first, count; /* in that tensor */
	int64_t at;           /* among the elements asked for */
};

static struct stretch_of_file stretch_in(const struct file_tensor *f, int64_t first, int64_t count)
{
	int64_t from = first > f->first ? first : f->first, end = f->first + f->elements;
	int64_t to = first + count < end ? first + count : end;
	return (struct stretch_of_file){from - f->first, to > from ? to - from : 0, from - first};
}

static enum status check_buffers(const struct training *t, const char *path)
{
	for (int i = 0; i < t->model.buffer_count; i++) {
		const struct model_buffer *want = &t->model.buffers[i];
		const struct safetensors_tensor *have = find(&t->init, want->name);
		if (!have || have->rank != 1 || have->elements != want->elements)
			return status_fail(STATUS_INPUT, "{init} %s: has no buffer '%s' of %" PRId64 " elements", path,
			                   want->name, want->elements);
	}
	return STATUS_OK;
}

static enum status check_tensor(const struct training *t, const char *path, const struct file_tensor *want)
{
	const struct safetensors_tensor *have = find(&t->init, want->name);
	if (!have)
		return status_fail(STATUS_INPUT, "{init} %s: has no tensor '%s' of %s", path, want->name,
		                   t->model.name);
	if (have->rank == want->dimensions && have->shape[0] == want->shape[0] &&
	    (want->dimensions == 1 || have->shape[1] == want->shape[1]))
		return STATUS_OK;
	return status_fail(STATUS_INPUT,
	                   "{init} %s: tensor '%s' has %" PRId64 " elements in another shape; %s needs %" PRId64
	                   " × %" PRId64,
	                   path, want->name, have->elements, t->model.name, want->shape[0],
	                   want->dimensions == 2 ? want->shape[1] : 1);
}

enum status training_open_init(struct training *t)
{
	const char *path = t->options->init_file;
	if (!path)
		return STATUS_OK;
	enum status s = safetensors_open(&t->init, path);
	for (int i = 0; i < t->model.tensor_count; i++)
		for (int f = 0; f < file_count(&t->model, i) && !s; f++) {
			struct file_tensor want = file_at(&t->model, i, f);
			s = check_tensor(t, path, &want);
		}
	return s ? s : check_buffers(t, path);
}

enum status training_read_weights(void *context, int tensor, int64_t first, int64_t count, float *out)
{
	struct training *t = context;
	enum status s = STATUS_OK;
	for (int i = 0; i < file_count(&t->model, tensor) && !s; i++) {
		struct file_tensor f = file_at(&t->model, tensor, i);
		struct stretch_of_file r = stretch_in(&f, first, count);
		if (r.count)
			s = safetensors_read(&t->init, find(&t->init, f.name), r.first, r.count, out + r.at);
	}
	return s;
}

/* The number of a tensor's first piece in the file that is written. */
static int saved_number(const struct model *m, int tensor)
{
	int number = 0;
	for (int t = 0; t < tensor; t++)
		number += file_count(m, t);
	return number;
}

enum status training_show_weights(void *context, int tensor, int64_t first, int64_t count, const float *values)
{
	struct training *t = context;
	int number = saved_number(&t->model, tensor);
	enum status s = STATUS_OK;
	for (int i = 0; i < file_count(&t->model, tensor) && !s; i++) {
		struct file_tensor f = file_at(&t->model, tensor, i);
		struct stretch_of_file r = stretch_in(&f, first, count);
		if (r.count)
			s = safetensors_write(&t->save, number + i, r.first, r.count, values + r.at);
	}
	return s;
}

/* ---- saving: rank 0 makes the file, all write to it, rank 0 gives it its name ---- */

static enum status declare_all(struct training *t)
{
	enum status s = STATUS_OK;
	for (int i = 0; i < t->model.tensor_count + t->model.buffer_count; i++)
		for (int n = 0; n < file_count(&t->model, i) && !s; n++) {
			struct file_tensor f = file_at(&t->model, i, n);
			s = safetensors_declare(&t->save, f.name, f.dimensions, f.shape);
		}
	return s ? s : safetensors_begin(&t->save);
}

/* All ranks go on, or all give up with the message of the worst failure. A rank that returns a failure may end the
 * others at once, so the unfinished file is removed first. */
static enum status agree(struct training *t, enum status s)
{
	struct {
		int status, rank;
	} mine = {s, t->rank}, worst = mine;
	char line[1024];
	if (t->mpi)
		MPI_Allreduce(&mine, &worst, 1, MPI_2INT, MPI_MINLOC, MPI_COMM_WORLD);
	if (!worst.status)
		return STATUS_OK;
	safetensors_writer_release(&t->save);
	if (!t->mpi)
		return s;
	snprintf(line, sizeof line, "%s", status_message());
	MPI_Bcast(line, sizeof line, MPI_CHAR, worst.rank, MPI_COMM_WORLD);
	MPI_Barrier(MPI_COMM_WORLD);
	return t->rank == worst.rank ? s : status_fail((enum status)worst.status, "rank %d: %s", worst.rank, line);
}

enum status training_save_begin(struct training *t)
{
	char name[4096] = "";
	enum status s = STATUS_OK;
	if (!t->options->save_file)
		return STATUS_OK;
	if (!t->rank) {
		s = safetensors_create(&t->save, t->options->save_file);
		if (!s)
			s = declare_all(t);
		if (!s)
			snprintf(name, sizeof name, "%s", t->save.temporary);
	}
	if (t->mpi)
		MPI_Bcast(name, sizeof name, MPI_CHAR, 0, MPI_COMM_WORLD);
	if (t->rank && *name) { /* else it is rank 0 that failed, and has the line to say */
		s = safetensors_join(&t->save, name);
		if (!s)
			s = declare_all(t);
	}
	return agree(t, s);
}

enum status training_save_finish(struct training *t, enum status shown)
{
	int64_t mine = t->save.elements_written, all = mine;
	if (!t->options->save_file)
		return shown;
	enum status s = agree(t, shown);
	if (s)
		return s;
	if (t->mpi)
		MPI_Reduce(&mine, &all, 1, MPI_INT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
	return agree(t, t->rank ? STATUS_OK : safetensors_finish(&t->save, all));
}
