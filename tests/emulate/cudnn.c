/* A stand-in for cuDNN, as a library of its own that SHARDLAB_CUDNN names: it carries out graphs one operation after
 * another, in double, with each tensor rounded to its type. So a graph is what it should compute, and its tensors are
 * where they should be, without a card; whether cuDNN has a kernel for the graph, cuDNN alone knows (test_cuda_cudnn).
 *
 * It advises four engines, which compute the same: the second notes that its sums have no order, the third is one of
 * stream-K. cudnn_stand_in_ran says which was the last.
 *
 * It has what attention needs: 4 dimensions, bf16 and fp32 in memory. Heads of B that A's heads share are read by each
 * of them; a sum over heads or columns goes where the result has fewer. What is between operations has memory here. */
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { DIMENSIONS = 4, MOST_ATTRIBUTES = 16, MOST_TENSORS = 64, BAD_PARAMETER = 2000, NOT_SUPPORTED = 3000 };
enum { FLOAT = 0, BFLOAT16 = 9 };
enum {
	ENGINE = 2,
	CONFIGURATION = 3,
	ADVICE = 4,
	PLAN = 5,
	KNOB = 7,
	POINTWISE = 13,
	PRODUCT = 19,
	REDUCTION = 22,
	RESHAPE = 31
};
enum { ENGINES = 4, NOT_DETERMINISTIC = 4, STREAM_K = 38, TILE_M = 40 };
enum { NUMBER = 1301 /* of an engine; a configuration has it too */ };

/* Indexed by the enum of attributes' types. */
static const size_t sizes[32] = {[0] = 8, [1] = 4,  [2] = 1,  [3] = 8,  [4] = 4,  [6] = 8, [8] = 4,
                                 [9] = 4, [11] = 4, [14] = 4, [15] = 8, [18] = 4, [24] = 1};

struct attribute {
	int name;
	int64_t count;
	void *values;
};

struct descriptor {
	int kind, attributes;
	bool finished;
	struct attribute attribute[MOST_ATTRIBUTES];
};

struct tensor {
	const struct descriptor *from;
	int64_t size[DIMENSIONS], stride[DIMENSIONS];
	int type;
	char *memory;   /* given */
	double *values; /* computed, between operations */
};

static struct tensor tensors[MOST_TENSORS];
static int handle_of_all;
int64_t cudnn_stand_in_ran = -1;

int cudnnCreate(void **handle);
int cudnnDestroy(void *handle);
int cudnnSetStream(void *handle, void *stream);
size_t cudnnGetVersion(void);
const char *cudnnGetErrorString(int status);
int cudnnBackendCreateDescriptor(int kind, struct descriptor **out);
int cudnnBackendDestroyDescriptor(struct descriptor *d);
int cudnnBackendFinalize(struct descriptor *d);
int cudnnBackendSetAttribute(struct descriptor *d, int name, int type, int64_t count, const void *values);
int cudnnBackendGetAttribute(struct descriptor *d, int name, int type, int64_t most, int64_t *count, void *values);
int cudnnBackendExecute(void *handle, struct descriptor *plan, struct descriptor *pack);

int cudnnCreate(void **handle)
{
	*handle = &handle_of_all;
	return 0;
}

int cudnnDestroy(void *handle)
{
	return handle == &handle_of_all ? 0 : BAD_PARAMETER;
}

int cudnnSetStream(void *handle, void *stream)
{
	(void)stream;
	return cudnnDestroy(handle);
}

size_t cudnnGetVersion(void)
{
	return 92000;
}

const char *cudnnGetErrorString(int status)
{
	return status == NOT_SUPPORTED ? "not supported" : "a bad parameter";
}

/* ---- descriptors ---- */

int cudnnBackendCreateDescriptor(int kind, struct descriptor **out)
{
	*out = calloc(1, sizeof **out);
	if (!*out)
		abort();
	(*out)->kind = kind;
	return 0;
}

int cudnnBackendDestroyDescriptor(struct descriptor *d)
{
	for (int i = 0; i < d->attributes; i++)
		free(d->attribute[i].values);
	free(d);
	return 0;
}

static const struct attribute *find(const struct descriptor *d, int name)
{
	for (int i = 0; d && i < d->attributes; i++)
		if (d->attribute[i].name == name)
			return &d->attribute[i];
	return NULL;
}

int cudnnBackendSetAttribute(struct descriptor *d, int name, int type, int64_t count, const void *values)
{
	if (d->finished || find(d, name) || d->attributes == MOST_ATTRIBUTES || type > 31 || !sizes[type] || count < 1)
		return BAD_PARAMETER;
	size_t bytes = (size_t)count * sizes[type];
	struct attribute *a = &d->attribute[d->attributes++];
	*a = (struct attribute){name, count, malloc(bytes)};
	if (!a->values)
		abort();
	memcpy(a->values, values, bytes);
	return 0;
}

static struct descriptor *other(const struct descriptor *d, int name)
{
	const struct attribute *a = find(d, name);
	return a ? *(struct descriptor **)a->values : NULL;
}

static int64_t number(const struct descriptor *d, int name)
{
	const struct attribute *a = find(d, name);
	return a ? *(const int64_t *)a->values : -1;
}

static int word(const struct descriptor *d, int name)
{
	const struct attribute *a = find(d, name);
	return a ? *(const int *)a->values : -1;
}

static bool flag(const struct descriptor *d, int name)
{
	const struct attribute *a = find(d, name);
	return a && *(const bool *)a->values;
}

/* The parts of an operation must be finished before it. */
int cudnnBackendFinalize(struct descriptor *d)
{
	static const int parts[] = {201,  401,  750,  751,  752,  753,  758,  1520,
	                            1521, 1522, 1523, 1610, 1611, 1612, 2200, 2201};
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
		if (other(d, parts[i]) && !other(d, parts[i])->finished)
			return BAD_PARAMETER;
	d->finished = true;
	return 0;
}

static int64_t workspace_of(const struct descriptor *graph)
{
	const struct attribute *ops = find(graph, 801);
	int64_t bytes = 256;
	for (int64_t i = 0; i < ops->count; i++) {
		const struct descriptor *op = ((struct descriptor **)ops->values)[i], *y = other(op, 2201);
		const int64_t *size = y ? find(y, 902)->values : NULL;
		if (size && size[2] == size[3])
			bytes = 256 + 2 * size[0] * size[1] * size[2] * size[3];
	}
	return bytes;
}

/* Puts one attribute more into a descriptor that is asked for, and finishes it with its last. */
static int give(struct descriptor *d, int kind, int name, int type, const void *value, bool last)
{
	int status = d->kind == kind ? cudnnBackendSetAttribute(d, name, type, 1, value) : BAD_PARAMETER;
	return status || !last ? status : cudnnBackendFinalize(d);
}

/* Configurations of the graph, as it is, by engines 0, 1, … */
static int advise(const struct descriptor *d, int64_t most, int64_t *count, struct descriptor **to)
{
	struct descriptor *graph = other(d, 201);
	int status = 0;
	*count = most < ENGINES ? most : ENGINES;
	for (int64_t i = 0; i < *count && !status; i++) {
		status = give(to[i], CONFIGURATION, 201, 15, &graph, false);
		if (!status)
			status = give(to[i], CONFIGURATION, NUMBER, 3, &i, true);
	}
	return status;
}

static int give_knobs(const struct descriptor *d, int64_t most, int64_t *count, struct descriptor **to)
{
	const int types[] = {TILE_M, STREAM_K};
	const int64_t values[] = {3, number(d, NUMBER) == 2};
	int status = most < 2 ? BAD_PARAMETER : 0;
	*count = 2;
	for (int i = 0; i < 2 && !status; i++) {
		status = give(to[i], KNOB, 600, 9, &types[i], false);
		if (!status)
			status = give(to[i], KNOB, 601, 3, &values[i], true);
	}
	return status;
}

static int give_engine(const struct descriptor *d, struct descriptor *to)
{
	const int64_t which = number(d, NUMBER);
	return give(to, ENGINE, NUMBER, 3, &which, true);
}

static int give_notes(const struct descriptor *d, int64_t *count, int *to)
{
	*count = number(d, NUMBER) == 1;
	to[0] = *count ? NOT_DETERMINISTIC : to[0];
	return 0;
}

int cudnnBackendGetAttribute(struct descriptor *d, int name, int type, int64_t most, int64_t *count, void *values)
{
	if (!d->finished || most < 1 || type > 31 || !sizes[type])
		return BAD_PARAMETER;
	*count = 1;
	switch (name) {
	case 202:
		return advise(d, most, count, values);
	case 300:
		return give_engine(d, *(struct descriptor **)values);
	case 302:
		return give_knobs(d, most, count, values);
	case 402:
		*(int64_t *)values = workspace_of(other(other(d, 401), 201));
		return 0;
	case 600:
		*(int *)values = word(d, 600);
		return 0;
	case 601:
		*(int64_t *)values = number(d, 601);
		return 0;
	case 1303:
		return give_notes(d, count, values);
	default:
		return BAD_PARAMETER;
	}
}

/* ---- elements ---- */

static int64_t place(const struct tensor *t, const int64_t at[DIMENSIONS])
{
	int64_t place = 0;
	for (int i = 0; i < DIMENSIONS; i++)
		place += at[i] * t->stride[i];
	return place;
}

static double load(const struct tensor *t, int64_t place)
{
	uint16_t half;
	float x;
	if (t->values)
		return t->values[place];
	if (t->type == FLOAT) {
		memcpy(&x, t->memory + 4 * place, sizeof x);
		return (double)x;
	}
	memcpy(&half, t->memory + 2 * place, sizeof half);
	uint32_t bits = (uint32_t)half << 16;
	memcpy(&x, &bits, sizeof x);
	return (double)x;
}

static void store(const struct tensor *t, int64_t place, double value)
{
	float x = (float)value;
	uint32_t bits;
	memcpy(&bits, &x, sizeof bits);
	if (t->type == BFLOAT16)
		bits += 0x7fff + (bits >> 16 & 1);
	uint16_t half = (uint16_t)(bits >> 16);
	if (t->values && t->type == BFLOAT16) {
		bits &= 0xffff0000;
		memcpy(&x, &bits, sizeof x);
	}
	if (t->values)
		t->values[place] = t->type == BFLOAT16 || t->type == FLOAT ? (double)x : value;
	else if (t->type == FLOAT)
		memcpy(t->memory + 4 * place, &x, sizeof x);
	else
		memcpy(t->memory + 2 * place, &half, sizeof half);
}

static struct tensor *tensor(const struct descriptor *op, int name)
{
	const struct descriptor *d = other(op, name);
	struct tensor *t = d ? &tensors[number(d, 906)] : NULL;
	if (!t || t->from)
		return t;
	int64_t last = 1;
	t->from = d;
	t->type = word(d, 901);
	memcpy(t->size, find(d, 902)->values, sizeof t->size);
	memcpy(t->stride, find(d, 903)->values, sizeof t->stride);
	for (int i = 0; i < DIMENSIONS; i++)
		last += (t->size[i] - 1) * t->stride[i];
	if (flag(d, 907) && !(t->values = calloc((size_t)last, sizeof *t->values)))
		abort();
	return t;
}

/* The next element; false after the last. */
static bool next(const struct tensor *t, int64_t at[DIMENSIONS])
{
	for (int i = DIMENSIONS - 1; i >= 0; i--) {
		if (++at[i] < t->size[i])
			return true;
		at[i] = 0;
	}
	return false;
}

/* ---- operations ---- */

static double computed(int mode, double x, double b)
{
	switch (mode) {
	case 0:
		return x + b;
	case 1:
		return x * b;
	case 6:
		return x / b;
	case 9:
		return x - b;
	case 13:
		return exp(x);
	case 15:
		return log(x);
	case 302:
		return x >= b;
	default:
		return NAN;
	}
}

/* An element of x that serves several of y has index 0 along that dimension. */
static double operand(const struct tensor *t, const int64_t at[DIMENSIONS])
{
	int64_t within[DIMENSIONS];
	for (int i = 0; t && i < DIMENSIONS; i++)
		within[i] = t->size[i] == 1 ? 0 : at[i];
	return t ? load(t, place(t, within)) : 0;
}

static void pointwise(const struct descriptor *op)
{
	const struct tensor *x = tensor(op, 751), *b = tensor(op, 752), *t = tensor(op, 758), *y = tensor(op, 753);
	const struct descriptor *what = other(op, 750);
	int64_t at[DIMENSIONS] = {0};
	const int mode = word(what, 0);
	do {
		double value = mode == 501   ? (double)at[number(what, 9)]
		               : mode == 601 ? operand(operand(t, at) != 0 ? x : b, at)
		                             : computed(mode, operand(x, at), operand(b, at));
		store(y, place(y, at), value);
	} while (next(y, at));
}

static void product(const struct descriptor *op)
{
	const struct tensor *a = tensor(op, 1520), *b = tensor(op, 1521), *c = tensor(op, 1522);
	int64_t at[DIMENSIONS] = {0};
	do {
		double sum = 0;
		for (int64_t k = 0; k < a->size[3]; k++) {
			const int64_t of_a[] = {at[0], at[1], at[2], k},
			              of_b[] = {at[0], at[1] * b->size[1] / a->size[1], k, at[3]};
			sum += load(a, place(a, of_a)) * load(b, place(b, of_b));
		}
		store(c, place(c, at), sum);
	} while (next(c, at));
}

static void reduce(const struct descriptor *op)
{
	const struct tensor *x = tensor(op, 1610), *y = tensor(op, 1611);
	const bool largest = word(other(op, 1612), 1600) == 3;
	int64_t at[DIMENSIONS] = {0}, all = y->size[0] * y->size[1] * y->size[2] * y->size[3], into[DIMENSIONS] = {0},
	        i;
	double *sums = calloc((size_t)all, sizeof *sums);
	if (!sums)
		abort();
	for (i = 0; i < all && largest; i++)
		sums[i] = -INFINITY;
	do {
		for (int d = 0; d < DIMENSIONS; d++)
			into[d] = at[d] * y->size[d] / x->size[d];
		i = ((into[0] * y->size[1] + into[1]) * y->size[2] + into[2]) * y->size[3] + into[3];
		double value = load(x, place(x, at));
		sums[i] = largest ? fmax(sums[i], value) : sums[i] + value;
	} while (next(x, at));
	memset(into, 0, sizeof into);
	for (i = 0; i < all; i++, (void)next(y, into))
		store(y, place(y, into), sums[i]);
	free(sums);
}

/* The same memory with other dimensions. */
static void reshape(const struct descriptor *op)
{
	const struct tensor *x = tensor(op, 2200), *y = tensor(op, 2201);
	int64_t at[DIMENSIONS] = {0};
	do
		store(y, place(y, at), load(x, place(y, at)));
	while (next(y, at));
}

static int carry_out(const struct descriptor *op)
{
	switch (op->kind) {
	case POINTWISE:
		pointwise(op);
		return 0;
	case PRODUCT:
		product(op);
		return 0;
	case REDUCTION:
		reduce(op);
		return 0;
	case RESHAPE:
		reshape(op);
		return 0;
	default:
		return NOT_SUPPORTED;
	}
}

/* All that is in memory has an address, of whole pieces of 16 bytes; the workspace is written as cuDNN may. */
int cudnnBackendExecute(void *handle, struct descriptor *plan, struct descriptor *pack)
{
	const struct attribute *numbers = find(pack, 1000), *where = find(pack, 1001);
	const struct descriptor *graph = other(other(plan, 401), 201);
	const struct attribute *ops = find(graph, 801);
	int status = handle == &handle_of_all && numbers && where && ops ? 0 : BAD_PARAMETER;
	if (status)
		return status;
	cudnn_stand_in_ran = number(other(plan, 401), NUMBER);
	memset(*(void **)find(pack, 1003)->values, 0xff, (size_t)workspace_of(graph));
	memset(tensors, 0, sizeof tensors);
	for (int64_t i = 0; i < numbers->count; i++)
		tensors[((const int64_t *)numbers->values)[i]].memory = ((char **)where->values)[i];
	for (int64_t i = 0; i < ops->count && !status; i++)
		status = carry_out(((struct descriptor **)ops->values)[i]);
	for (int i = 0; i < MOST_TENSORS; i++) {
		bool by_value = tensors[i].from && flag(tensors[i].from, 908);
		if (tensors[i].from && !tensors[i].values && !by_value && (uintptr_t)tensors[i].memory % 16)
			status = BAD_PARAMETER;
		free(tensors[i].values);
	}
	return status;
}
