#include "real/checkpoint/pieces.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/loss_scale.h"
#include "real/checkpoint/manifest.h"
#include "real/rank/checksum.h"
#include "strategy/base/arena.h"

/* ---- names and places ---- */

static const char *tensor_name(const struct model *m, int tensor)
{
	return tensor < m->tensor_count ? m->tensors[tensor].name : m->buffers[tensor - m->tensor_count].name;
}

static int64_t whole_elements(const struct model *m, const struct piece *p)
{
	if (p->tensor < 0)
		return p->item == ITEM_STEP ? 2 : SCALER_ELEMENTS;
	return p->tensor < m->tensor_count ? m->tensors[p->tensor].elements
	                                   : m->buffers[p->tensor - m->tensor_count].elements;
}

void piece_name(const struct piece_run *r, const struct model *m, char out[PIECE_NAME])
{
	const struct piece *p = &r->piece;
	int n = snprintf(out, PIECE_NAME, "%s%s%s@%" PRId64 ":%" PRId64, item_name(p->item), p->tensor < 0 ? "" : "/",
	                 p->tensor < 0 ? "" : tensor_name(m, p->tensor), p->first, p->count);
	if (r->rows > 1 && n < PIECE_NAME)
		snprintf(out + n, PIECE_NAME - (size_t)n, "+%" PRId64 "*%" PRId64, r->stride, r->rows);
}

static int find_item(const char *name, size_t length)
{
	int i = 0;
	while (i < ITEM_COUNT &&
	       (strlen(item_name((enum item)i)) != length || strncmp(item_name((enum item)i), name, length) != 0))
		i++;
	return i;
}

static bool belongs(const struct model *m, enum item item, int tensor)
{
	if (item_is_of_group(item))
		return tensor >= 0 && tensor < m->tensor_count;
	return item == ITEM_RUNNING ? tensor >= m->tensor_count : tensor < 0;
}

static bool find_tensor(const struct model *m, const char *name, size_t length, int *out)
{
	for (int t = 0; t < m->tensor_count + m->buffer_count; t++)
		if (strlen(tensor_name(m, t)) == length && !strncmp(tensor_name(m, t), name, length)) {
			*out = t;
			return true;
		}
	return false;
}

/* Takes a number of at most 18 digits, and the sign behind it; 0: the end. */
static bool take_whole(const char **text, char sign, int64_t *out)
{
	size_t digits = strspn(*text, "0123456789");
	if (!digits || digits > 18 || (*text)[digits] != sign)
		return false;
	*out = strtoll(*text, NULL, 10);
	*text += digits + (sign != 0);
	return true;
}

static bool parse_range(const char *text, int64_t whole, struct piece_run *out)
{
	struct piece *p = &out->piece;
	bool several = strchr(text, '+') != NULL;
	out->rows = 1;
	if (!take_whole(&text, ':', &p->first) || !take_whole(&text, several ? '+' : 0, &p->count) ||
	    (several && (!take_whole(&text, '*', &out->stride) || !take_whole(&text, 0, &out->rows))))
		return false;
	if (!p->count || p->count > whole || p->first > whole - p->count || !out->rows)
		return false;
	int64_t room = whole - p->count - p->first;
	return out->rows == 1 || (out->stride >= p->count && out->rows - 1 <= room / out->stride);
}

bool piece_parse(const char *name, const struct model *m, struct piece_run *out)
{
	const char *at = strrchr(name, '@');
	size_t item_length = strcspn(name, "/@");
	if (!at)
		return false;
	int item = find_item(name, item_length);
	*out = (struct piece_run){.piece = {.item = (enum item)item, .tensor = -1}};
	if (item == ITEM_COUNT)
		return false;
	if (name[item_length] == '/' &&
	    !find_tensor(m, name + item_length + 1, (size_t)(at - name) - item_length - 1, &out->piece.tensor))
		return false;
	return belongs(m, out->piece.item, out->piece.tensor) &&
	       parse_range(at + 1, whole_elements(m, &out->piece), out);
}

static int by_place(const void *left, const void *right)
{
	const struct piece *a = left, *b = right;
	if (a->item != b->item)
		return a->item < b->item ? -1 : 1;
	if (a->tensor != b->tensor)
		return a->tensor < b->tensor ? -1 : 1;
	return (a->first > b->first) - (a->first < b->first);
}

static bool of_one(const struct piece *a, const struct piece *b)
{
	return a->item == b->item && a->tensor == b->tensor;
}

/* The last piece of the tensor that begins at `first` or before; NULL: there is none. */
static const struct piece *find(const struct piece *pieces, int count, const struct piece *sought)
{
	int low = 0, high = count;
	while (low < high) {
		int middle = low + (high - low) / 2;
		if (by_place(&pieces[middle], sought) <= 0)
			low = middle + 1;
		else
			high = middle;
	}
	const struct piece *p = low ? &pieces[low - 1] : NULL;
	return p && of_one(p, sought) && sought->first < p->first + p->count ? p : NULL;
}

uint64_t piece_checksum(const struct model *m, const struct piece *p, const float *values)
{
	int64_t place = p->first;
	for (int t = 0; t < p->tensor; t++)
		place += whole_elements(m, &(struct piece){.item = p->item, .tensor = t});
	return weights_checksum(place + ((int64_t)p->item << 56), p->count, values);
}

/* ---- writing ---- */

void piece_writer_init(struct piece_writer *w, const struct model *m)
{
	*w = (struct piece_writer){.model = m};
	pthread_mutex_init(&w->lock, NULL);
}

static void fail(struct piece_writer *w, enum status s)
{
	if (w->failed || !s)
		return;
	w->failed = s;
	snprintf(w->line, sizeof w->line, "%s", status_message());
}

static void learn(struct piece_writer *w, const struct piece *p)
{
	struct piece *last = w->count ? &w->pieces[w->count - 1] : NULL;
	if (last && of_one(last, p) && last->first + last->count == p->first) {
		last->count += p->count;
		return;
	}
	w->pieces = array_reserve(w->pieces, (size_t)w->count, &w->capacity, sizeof *w->pieces);
	w->pieces[w->count++] = *p;
}

/* NaN is not below anything. */
static bool are_below(float limit, int64_t n, const float *values)
{
	bool below = true;
	for (int64_t i = 0; i < n; i++)
		below &= fabsf(values[i]) < limit;
	return below;
}

/* In fp16 a step whose gradients overflow is skipped, later too if its update waits. */
static bool is_ruined(const struct piece_writer *w, const struct piece *p, const float *values)
{
	static const float rounds_to_infinity = 65520;
	if (w->fp16 && p->item == ITEM_GRADIENTS)
		return false;
	return !are_below(w->fp16 && p->item == ITEM_PARAMETERS ? rounds_to_infinity : INFINITY, p->count, values);
}

static void write_piece(struct piece_writer *w, const struct piece *p, const float *values)
{
	const struct piece *in = find(w->pieces, w->count, p);
	w->checksum += piece_checksum(w->model, p, values);
	if (!w->ruined && is_ruined(w, p, values))
		w->ruined = item_name(p->item);
	if (w->doing == PIECES_WRITE && !w->failed)
		fail(w, safetensors_write(&w->file, in->number, in->at + p->first - in->first, p->count, values));
}

static enum status save(void *context, enum item item, int tensor, int64_t first, int64_t count, const float *values)
{
	struct piece_writer *w = context;
	struct piece p = {.item = item, .tensor = tensor, .first = first, .count = count};
	pthread_mutex_lock(&w->lock);
	if (w->doing == PIECES_LEARN)
		learn(w, &p);
	else
		write_piece(w, &p, values);
	pthread_mutex_unlock(&w->lock);
	return STATUS_OK;
}

struct state_store piece_writer_store(struct piece_writer *w)
{
	return (struct state_store){.context = w, .save = save};
}

/* The piece continues the last run, which so far has one piece or a stride. */
static bool continues(const struct piece_run *r, const struct piece *p)
{
	int64_t stride = r->rows > 1 ? r->stride : p->first - r->piece.first;
	return of_one(&r->piece, p) && r->piece.count == p->count && p->first == r->piece.first + r->rows * stride;
}

static void find_runs(struct piece_writer *w)
{
	for (int i = 0; i < w->count; i++) {
		struct piece *p = &w->pieces[i];
		struct piece_run *r = w->run_count ? &w->runs[w->run_count - 1] : NULL;
		if (!r || !continues(r, p)) {
			w->runs = array_reserve(w->runs, (size_t)w->run_count, &w->run_capacity, sizeof *w->runs);
			r = &w->runs[w->run_count++];
			*r = (struct piece_run){.piece = *p};
		} else if (r->rows == 1) {
			r->stride = p->first - r->piece.first;
		}
		p->number = w->run_count - 1;
		p->at = r->rows++ * p->count;
	}
}

/* Parts that were visited one by one are one piece. */
void piece_writer_learnt(struct piece_writer *w)
{
	int kept = 0;
	if (w->count)
		qsort(w->pieces, (size_t)w->count, sizeof *w->pieces, by_place);
	for (int i = 0; i < w->count; i++) {
		struct piece *last = kept ? &w->pieces[kept - 1] : NULL, p = w->pieces[i];
		if (last && of_one(last, &p) && last->first + last->count == p.first) {
			last->count += p.count;
			continue;
		}
		w->pieces[kept++] = p;
	}
	w->count = kept;
	find_runs(w);
}

enum status piece_writer_begin(struct piece_writer *w, const char *path)
{
	char name[PIECE_NAME];
	w->failed = STATUS_OK;
	w->ruined = NULL;
	w->checksum = 0;
	w->doing = PIECES_WRITE;
	fail(w, safetensors_create_at(&w->file, path));
	if (!w->failed && w->run_count > SAFETENSORS_TENSORS_MOST)
		fail(w, status_fail(STATUS_RUN, "%s: this rank's slices are %d pieces, and a file has at most %d", path,
		                    w->run_count, SAFETENSORS_TENSORS_MOST));
	for (int i = 0; i < w->run_count && !w->failed; i++) {
		const struct piece_run *r = &w->runs[i];
		piece_name(r, w->model, name);
		fail(w, safetensors_declare(&w->file, name, 2, (int64_t[]){r->rows, r->piece.count}));
	}
	if (!w->failed)
		fail(w, safetensors_begin(&w->file));
	return w->failed;
}

enum status piece_writer_finish(struct piece_writer *w)
{
	if (!w->failed)
		fail(w, safetensors_finish(&w->file, w->file.elements_written));
	if (!w->failed)
		fail(w, checkpoint_file_checksum(w->file.path, &w->bytes, &w->file_checksum));
	w->state_bytes = w->file.elements_written * (int64_t)sizeof(float);
	safetensors_writer_release(&w->file);
	return w->failed ? status_fail(w->failed, "%s", w->line) : STATUS_OK;
}

enum status piece_writer_try(struct piece_writer *w, const char *path)
{
	enum status s = piece_writer_begin(w, path);
	safetensors_writer_release(&w->file);
	return s ? status_fail(STATUS_INPUT, "{checkpoint}: %s; give a folder that all ranks share, with room", w->line)
	         : STATUS_OK;
}

void piece_writer_sum(struct piece_writer *w)
{
	w->checksum = 0;
	w->doing = PIECES_SUM;
}

void piece_writer_release(struct piece_writer *w)
{
	if (!w || !w->model)
		return;
	safetensors_writer_release(&w->file);
	pthread_mutex_destroy(&w->lock);
	free(w->pieces);
	free(w->runs);
	*w = (struct piece_writer){0};
}

/* ---- reading ---- */

static enum status add_run(struct piece_reader *r, int file, int number)
{
	const struct safetensors_tensor *t = &r->files[file].tensors[number];
	struct piece_run run;
	if (!piece_parse(t->name, r->model, &run) || t->dtype != SAFETENSORS_F32 ||
	    t->elements / run.rows != run.piece.count || t->elements % run.rows)
		return status_fail(STATUS_INPUT, "%s: tensor %.200s is no part of the state of this model",
		                   r->files[file].path, t->name);
	struct piece p = run.piece;
	p.file = file;
	p.number = number;
	for (int64_t i = 0; i < run.rows; i++, p.first += run.stride, p.at += p.count) {
		r->pieces = array_reserve(r->pieces, (size_t)r->count, &r->capacity, sizeof *r->pieces);
		r->pieces[r->count++] = p;
	}
	return STATUS_OK;
}

static enum status check_overlap(const struct piece_reader *r)
{
	char name[PIECE_NAME];
	for (int i = 1; i < r->count; i++) {
		const struct piece *a = &r->pieces[i - 1], *b = &r->pieces[i];
		if (!of_one(a, b) || a->first + a->count <= b->first)
			continue;
		piece_name(&(struct piece_run){.piece = *b, .rows = 1}, r->model, name);
		return status_fail(STATUS_INPUT, "%s: tensor %s is there already in %s", r->files[b->file].path, name,
		                   r->files[a->file].path);
	}
	return STATUS_OK;
}

static enum status open_file(struct piece_reader *r, const char *folder, int number)
{
	char name[40], path[4096];
	snprintf(name, sizeof name, "rank-%05d.safetensors", number);
	if (snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path)
		return status_fail(STATUS_INPUT, "{resume} %.200s: the path is too long", folder);
	enum status s = safetensors_open(&r->files[number], path);
	for (int i = 0; !s && i < r->files[number].count; i++)
		s = add_run(r, number, i);
	return s;
}

enum status piece_reader_open(struct piece_reader *r, const struct model *m, const char *folder, int files)
{
	*r = (struct piece_reader){.model = m, .file_count = files};
	r->files = array_make((size_t)files, sizeof *r->files);
	enum status s = STATUS_OK;
	for (int i = 0; i < files && !s; i++)
		s = open_file(r, folder, i);
	if (!s && r->count)
		qsort(r->pieces, (size_t)r->count, sizeof *r->pieces, by_place);
	if (!s)
		s = check_overlap(r);
	if (s)
		piece_reader_release(r);
	return s;
}

enum status piece_read(const struct piece_reader *r, enum item item, int tensor, int64_t first, int64_t count,
                       float *out)
{
	struct piece sought = {.item = item, .tensor = tensor, .first = first, .count = count};
	enum status s = STATUS_OK;
	char name[PIECE_NAME];
	while (sought.count && !s) {
		const struct piece *p = find(r->pieces, r->count, &sought);
		if (!p) {
			piece_name(&(struct piece_run){.piece = sought, .rows = 1}, r->model, name);
			return status_fail(STATUS_INPUT, "{resume}: the checkpoint has no %s", name);
		}
		const struct safetensors *f = &r->files[p->file];
		int64_t at = sought.first - p->first, n = p->count - at < sought.count ? p->count - at : sought.count;
		s = safetensors_read(f, &f->tensors[p->number], p->at + at, n, out + (sought.first - first));
		sought.first += n;
		sought.count -= n;
	}
	return s;
}

static enum status load(void *context, enum item item, int tensor, int64_t first, int64_t count, float *out)
{
	return piece_read(context, item, tensor, first, count, out);
}

struct state_store piece_reader_store(struct piece_reader *r)
{
	return (struct state_store){.context = r, .load = load};
}

void piece_reader_release(struct piece_reader *r)
{
	if (!r)
		return;
	for (int i = 0; r->files && i < r->file_count; i++)
		safetensors_release(&r->files[i]);
	free(r->files);
	free(r->pieces);
	*r = (struct piece_reader){0};
}
