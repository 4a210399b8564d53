#include "strategy/model/slice.h"

#include <stdlib.h>
#include <string.h>

#include "strategy/base/number.h"

/* ---- cutting ---- */

struct slicer {
	struct model *m;
	const struct model *whole;
	struct arena *arena;
	int64_t ranks;
	bool sequence;
};

static void *copy_of(const struct slicer *c, const void *from, int count, size_t bytes)
{
	void *p = arena_alloc(c->arena, (size_t)(count ? count : 1) * bytes);
	if (count)
		memcpy(p, from, (size_t)count * bytes);
	return p;
}

/* A tensor is partitioned once, even if two kernels read it, as the embedding and the head read the tied table. */
static void partition_tensor(const struct slicer *c, int tensor, enum partition partition)
{
	if (tensor < 0 || c->m->tensors[tensor].partition != PARTITION_NONE)
		return;
	struct tensor *t = &c->m->tensors[tensor];
	int64_t *side = partition == PARTITION_ROWS ? &t->rows : &t->columns;
	t->partition = partition;
	t->whole = *side;
	*side = round_up(*side, c->ranks) / c->ranks; /* only tables, of one piece, have a rest */
	t->elements = t->columns ? t->rows * t->columns : t->rows;
}

static void slice_value(const struct slicer *c, int value)
{
	struct value *v = &c->m->values[value];
	if (v->sliced)
		return;
	v->sliced = true;
	v->elements /= c->ranks;
}

/* Divides a value by rows, for sequence parallelism. */
static void spread_value(const struct slicer *c, int value)
{
	struct value *v = &c->m->values[value];
	v->sequence_parallel = true;
	v->elements /= c->ranks;
}

/* Makes each rank compute the kernel for its own rows. */
static void spread_rows(const struct slicer *c, struct kernel *k)
{
	k->tokens /= c->ranks;
	spread_value(c, k->y);
	if (k->saved >= 0)
		spread_value(c, k->saved);
	if (k->weight >= 0)
		c->m->tensors[k->weight].sequence_parallel = true;
	if (k->bias >= 0)
		c->m->tensors[k->bias].sequence_parallel = true;
}

/* The first kernel that reads a value. */
static const struct kernel *reader_of(const struct model *m, int value)
{
	for (int i = 0; i < m->kernel_count; i++)
		if (m->kernels[i].x == value)
			return &m->kernels[i];
	return NULL;
}

static enum status must_divide(const struct slicer *c, const struct kernel *k, const char *what, int64_t size)
{
	if (size % c->ranks == 0)
		return STATUS_OK;
	return status_fail(
	        STATUS_INPUT,
	        "{strategy} tensor: the %lld %s of %s do not divide by %lld ranks; choose {ranks} that divides "
	        "them",
	        (long long)size, what, k->name, (long long)c->ranks);
}

/* ---- kernels ---- */

/* True if the kernel reads q, k and v, which are cut by whole heads. */
static bool is_attention(const struct kernel *k)
{
	return k->kind == KERNEL_ATTENTION || k->kind == KERNEL_SCORES || k->kind == KERNEL_ROTARY;
}

/* Gives each rank its own outputs. */
static enum status slice_outputs(const struct slicer *c, struct kernel *k, const struct kernel *reader)
{
	enum status s = STATUS_OK;
	if (is_attention(reader))
		s = must_divide(c, reader, "heads", reader->heads);
	if (!s && is_attention(reader))
		s = must_divide(c, reader, "heads of keys and values", reader->kv_heads);
	if (!s && reader->kind == KERNEL_SWIGLU)
		s = must_divide(c, k, "gates", reader->out);
	if (!s && reader->kind != KERNEL_CLASSIFIER)
		s = must_divide(c, k, "outputs", k->out);
	if (s)
		return s;
	k->out = round_up(k->out, c->ranks) / c->ranks;
	partition_tensor(c, k->weight, k->weight_in_out ? PARTITION_COLUMNS : PARTITION_ROWS);
	partition_tensor(c, k->bias, PARTITION_ROWS);
	slice_value(c, k->y);
	if (reader->kind == KERNEL_CLASSIFIER) {
		c->m->logits_stride = logits_stride(k->out);
		c->m->values[k->y].elements = k->tokens * c->m->logits_stride;
	}
	if (k->saved >= 0)
		slice_value(c, k->saved);
	return STATUS_OK;
}

static enum status slice_linear(const struct slicer *c, struct kernel *k)
{
	const struct kernel *reader = reader_of(c->m, k->y);
	if (c->m->values[k->x].sliced) { /* each rank has its own inputs */
		k->in /= c->ranks;
		partition_tensor(c, k->weight, k->weight_in_out ? PARTITION_ROWS : PARTITION_COLUMNS);
		if (c->sequence)
			spread_value(c, k->y);
		return STATUS_OK;
	}
	bool pairs = reader && (is_attention(reader) || reader->kind == KERNEL_LINEAR ||
	                        reader->kind == KERNEL_SWIGLU || (reader->kind == KERNEL_CLASSIFIER && c->m->is_text));
	return pairs ? slice_outputs(c, k, reader) : STATUS_OK;
}

/* Every rank has the heads' norms whole and uses them for its own heads. */
static void sum_over_heads(const struct slicer *c, int tensor)
{
	if (tensor >= 0)
		c->m->tensors[tensor].sequence_parallel = true;
}

/* Makes each rank compute the kernel for its own heads. */
static void slice_inner(const struct slicer *c, struct kernel *k)
{
	k->in /= c->ranks;
	k->out /= c->ranks;
	k->heads /= c->ranks;
	k->kv_heads /= c->ranks;
	sum_over_heads(c, k->weight);
	sum_over_heads(c, k->bias);
	slice_value(c, k->y);
	if (k->saved >= 0)
		slice_value(c, k->saved);
}

static void slice_classifier(const struct slicer *c, struct kernel *k)
{
	struct model *m = c->m;
	if (!m->values[k->x].sliced)
		return;
	k->out = round_up(k->out, c->ranks) / c->ranks;
	/* Two values with numbers for every row. maxima: the largest logit. sums: the sum of the exponentials, the
	 * target's logit, and, when evaluating, how many logits before it are as large. */
	m->maxima = m->value_count;
	m->sums = m->value_count + 1;
	m->values[m->value_count++] = (struct value){.name = "classifier.maxima",
	                                             .elements = k->tokens,
	                                             .type = VALUE_FP32,
	                                             .producer = m->kernel_count - 1};
	m->values[m->value_count++] = (struct value){.name = "classifier.sums",
	                                             .elements = 2 * k->tokens,
	                                             .type = VALUE_FP32,
	                                             .producer = m->kernel_count - 1};
}

/* The side of a kernel that ranks divide. */
enum divides {
	DIVIDES_NOTHING,
	DIVIDES_TABLE,   /* the rows of a table; what it looks up is a sum over the ranks */
	DIVIDES_PAIR,    /* outputs, and the inputs of the linear layer that follows */
	DIVIDES_HEADS,   /* or what the heads make */
	DIVIDES_ROWS,    /* with sequence parallelism; else all ranks do the same */
	DIVIDES_EITHER,  /* heads where its input is divided so, else rows */
	DIVIDES_CLASSES, /* of logits */
	DIVIDES_SAMPLES, /* which all ranks have alike, so that it is refused */
};

static const enum divides divides[] = {
#define X(constant, name, what, profile) DIVIDES_##what,
        KERNEL_LIST(X)
#undef X
};

/* A kernel that reads a rank's own rows makes its own rows too. */
static enum status slice_rows(const struct slicer *c, struct kernel *k)
{
	if (c->m->values[k->x].sequence_parallel)
		spread_rows(c, k);
	return STATUS_OK;
}

static enum status slice_kernel(const struct slicer *c, struct kernel *k)
{
	bool sliced = c->m->values[k->x].sliced;
	switch (divides[k->kind]) {
	case DIVIDES_TABLE:
		partition_tensor(c, k->weight, PARTITION_ROWS);
		if (c->sequence)
			spread_value(c, k->y);
		return STATUS_OK;
	case DIVIDES_PAIR:
		return slice_linear(c, k);
	case DIVIDES_HEADS:
		slice_inner(c, k);
		return STATUS_OK;
	case DIVIDES_EITHER:
		if (!sliced)
			return slice_rows(c, k);
		slice_inner(c, k);
		return STATUS_OK;
	case DIVIDES_CLASSES:
		slice_classifier(c, k);
		return STATUS_OK;
	case DIVIDES_ROWS:
		if (!sliced)
			return slice_rows(c, k);
		break;
	case DIVIDES_SAMPLES:
		return status_fail(
		        STATUS_INPUT,
		        "{strategy} tensor: %s normalizes over samples, and here all ranks have the same ones, and of "
		        "every other layer a slice of the features: its running statistics would be whole on no rank; "
		        "leave norm= out, or choose another strategy",
		        k->name);
	case DIVIDES_NOTHING:
		break;
	}
	return status_fail(
	        STATUS_INPUT,
	        "{strategy} tensor: it has no way to split %s of model %s; use gpt or mlp, or another strategy",
	        k->name, c->whole->name);
}

enum status model_slice(struct model *out, const struct model *whole, int64_t ranks, bool sequence, struct arena *arena)
{
	struct slicer c = {out, whole, arena, ranks, sequence};
	enum { CLASSIFIER_VALUES = 2 };
	if (sequence && !whole->is_text)
		return status_fail(
		        STATUS_INPUT,
		        "{strategy} tensor: sequence=yes divides the tokens of a text, and %s has none; leave it out",
		        whole->name);
	if (sequence && whole->tokens % ranks)
		return status_fail(
		        STATUS_INPUT,
		        "{strategy} tensor: sequence=yes, and %lld tokens do not divide by %lld ranks; choose "
		        "{sequence} or {ranks}",
		        (long long)whole->tokens, (long long)ranks);
	*out = *whole;
	out->arena = (struct arena){0};
	out->slices = ranks;
	out->kernels = copy_of(&c, whole->kernels, whole->kernel_count, sizeof *whole->kernels);
	out->tensors = copy_of(&c, whole->tensors, whole->tensor_count, sizeof *whole->tensors);
	out->units = copy_of(&c, whole->units, whole->unit_count, sizeof *whole->units);
	out->values = arena_alloc(arena, (size_t)(whole->value_count + CLASSIFIER_VALUES) * sizeof *whole->values);
	memcpy(out->values, whole->values, (size_t)whole->value_count * sizeof *whole->values);
	for (int i = 0; i < out->kernel_count; i++)
		TRY(slice_kernel(&c, &out->kernels[i]));
	for (int u = 0; u < out->unit_count; u++)
		out->units[u].elements = 0;
	for (int t = 0; t < out->tensor_count; t++)
		out->units[out->tensors[t].unit].elements += out->tensors[t].elements;
	return STATUS_OK;
}

/* ---- what is a part of a sum ---- */

bool kernel_sums(const struct model *m, const struct kernel *k)
{
	if (m->slices == 1)
		return false;
	if (k->kind == KERNEL_EMBEDDING)
		return m->tensors[k->weight].partition != PARTITION_NONE;
	return k->kind == KERNEL_LINEAR && m->values[k->x].sliced && !m->values[k->y].sliced;
}

bool kernel_gathers(const struct model *m, const struct kernel *k)
{
	return m->slices > 1 && k->kind == KERNEL_LINEAR && m->values[k->x].sequence_parallel;
}

bool kernel_scatters(const struct model *m, const struct kernel *k)
{
	return kernel_sums(m, k) && m->values[k->y].sequence_parallel;
}

int kernel_sum(const struct kernel *k)
{
	return k->kind == KERNEL_LINEAR && k->nonlinear ? k->saved : k->y;
}

bool kernel_finishes(const struct kernel *k)
{
	return k->kind == KERNEL_LINEAR || k->bias >= 0;
}

bool kernel_sums_backward(const struct model *m, const struct kernel *k)
{
	return m->slices > 1 && k->kind == KERNEL_LINEAR && !m->values[k->x].sliced && m->values[k->y].sliced;
}

/* ---- places ---- */

int64_t tensor_whole_elements(const struct tensor *t)
{
	switch (t->partition) {
	case PARTITION_ROWS:
		return t->whole * (t->columns ? t->columns : 1);
	case PARTITION_COLUMNS:
		return t->rows * t->whole;
	default:
		return t->elements;
	}
}

/* The place of index `i` of the cut side in the whole side. *left: how many indices from there on are neighbours in
 * both. */
static int64_t place_on_side(const struct tensor *t, int64_t slices, int64_t rank, int64_t i, int64_t *left)
{
	int64_t begin = 0;
	for (int p = 0; p < t->piece_count || p == 0; p++) {
		int64_t whole = t->piece_count ? t->pieces[p].size : t->whole, own = round_up(whole, slices) / slices;
		if (i < own) {
			int64_t place = rank * own + i;
			*left = own - i;
			if (place >= whole)
				return -1;
			if (*left > whole - place)
				*left = whole - place;
			return begin + place;
		}
		i -= own;
		begin += whole;
	}
	abort(); /* it is beyond the slice */
}

struct run_of_tensor tensor_run(const struct tensor *t, int64_t slices, int64_t rank, int64_t at)
{
	int64_t left, columns = t->columns ? t->columns : 1;
	if (t->partition == PARTITION_NONE || slices == 1)
		return (struct run_of_tensor){at, t->elements - at};
	if (t->partition == PARTITION_COLUMNS) {
		int64_t place = place_on_side(t, slices, rank, at % columns, &left);
		return (struct run_of_tensor){place < 0 ? -1 : at / columns * t->whole + place, left};
	}
	int64_t row = at / columns, column = at % columns;
	int64_t place = place_on_side(t, slices, rank, row, &left);
	return (struct run_of_tensor){place < 0 ? -1 : place * columns + column, left * columns - column};
}

struct class_range model_classes_of(const struct model *m, int64_t stride, int64_t rank)
{
	int64_t first = rank * stride, left = m->classes - first;
	return (struct class_range){first, left < 0 ? 0 : left < stride ? left : stride};
}
