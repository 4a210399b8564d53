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

/* A tensor or, numbered after them, a buffer of the model. */
static const char *name_of(const struct model *m, int number)
{
	return number < m->tensor_count ? m->tensors[number].name : m->buffers[number - m->tensor_count].name;
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

enum status training_open_init(struct training *t)
{
	const char *path = t->options->init_file;
	if (!path)
		return STATUS_OK;
	enum status s = safetensors_open(&t->init, path);
	for (int i = 0; i < t->model.tensor_count && !s; i++) {
		const struct tensor *want = &t->model.tensors[i];
		const struct safetensors_tensor *have = find(&t->init, want->name);
		if (!have)
			return status_fail(STATUS_INPUT, "{init} %s: has no tensor '%s' of %s", path, want->name,
			                   t->model.name);
		int dimensions = want->columns ? 2 : 1;
		if (have->rank != dimensions || have->shape[0] != want->rows ||
		    (dimensions == 2 && have->shape[1] != want->columns))
			return status_fail(STATUS_INPUT,
			                   "{init} %s: tensor '%s' has %" PRId64
			                   " elements in another shape; %s needs %" PRId64 " × %" PRId64,
			                   path, want->name, have->elements, t->model.name, want->rows,
			                   want->columns ? want->columns : 1);
	}
	return s ? s : check_buffers(t, path);
}

enum status training_read_weights(void *context, int tensor, int64_t first, int64_t count, float *out)
{
	struct training *t = context;
	return safetensors_read(&t->init, find(&t->init, name_of(&t->model, tensor)), first, count, out);
}

enum status training_show_weights(void *context, int tensor, int64_t first, int64_t count, const float *values)
{
	struct training *t = context;
	return safetensors_write(&t->save, tensor, first, count, values);
}

/* ---- saving: rank 0 makes the file, all write to it, rank 0 gives it its name ---- */

static enum status declare_all(struct training *t)
{
	enum status s = STATUS_OK;
	for (int i = 0; i < t->model.tensor_count && !s; i++) {
		const struct tensor *w = &t->model.tensors[i];
		s = safetensors_declare(&t->save, w->name, w->columns ? 2 : 1, (int64_t[]){w->rows, w->columns});
	}
	for (int i = 0; i < t->model.buffer_count && !s; i++)
		s = safetensors_declare(&t->save, t->model.buffers[i].name, 1,
		                        (int64_t[]){t->model.buffers[i].elements});
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
