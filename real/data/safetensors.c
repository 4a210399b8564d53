#define _GNU_SOURCE /* memmem */
#include "real/data/safetensors.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "real/rank/disk.h"
#include "strategy/base/arena.h"
#include "strategy/base/memory.h"

/* The reference implementation has the same limit. */
enum { HEADER_LIMIT = 100 * 1000 * 1000, LENGTH_BYTES = 8 };

static const struct dtype {
	const char *name;
	int bytes;
	bool readable;
} dtypes[] = {
#define X(name, bytes, readable) {#name, bytes, readable},
        SAFETENSORS_DTYPE_LIST(X)
#undef X
};

enum { DTYPES = sizeof dtypes / sizeof dtypes[0] };

/* Text from a file goes into messages: a line must stay a line, and a terminal must not be written to. */
static bool is_control(char c)
{
	return (unsigned char)c < ' ' || c == 0x7f;
}

static void hide_controls(char *text)
{
	for (; *text; text++)
		if (is_control(*text))
			*text = '?';
}

static bool has_controls(const char *text)
{
	while (*text && !is_control(*text))
		text++;
	return *text != '\0';
}

static enum status bad_tensor(const char *path, const char *tensor, const char *what)
{
	return status_fail(STATUS_INPUT, "%s: tensor %s: %s", path, tensor, what);
}

static enum status read_bytes(int descriptor, const char *path, int64_t at, int64_t count, void *out)
{
	int error = file_move(descriptor, false, at, out, count);
	return error == FILE_ENDED ? status_fail(STATUS_INPUT, "%s: became shorter while it was read", path)
	       : error             ? status_fail(STATUS_INPUT, "%s: %s", path, strerror(error))
	                           : STATUS_OK;
}

/* ---- the header ---- */

static enum status parse_shape(struct safetensors_tensor *t, const char *path, const json_t *shape)
{
	if (!json_is_array(shape))
		return bad_tensor(path, t->name, "its shape is not a list");
	if (json_array_size(shape) > SAFETENSORS_RANK_LIMIT)
		return bad_tensor(path, t->name, "more than 8 dimensions are not supported");
	t->rank = (int)json_array_size(shape);
	t->elements = 1;
	for (int i = 0; i < t->rank; i++) {
		const json_t *size = json_array_get(shape, (size_t)i);
		if (!json_is_integer(size) || json_integer_value(size) < 0)
			return bad_tensor(path, t->name, "a dimension of its shape is not a whole number from 0 up");
		t->shape[i] = json_integer_value(size);
		if (__builtin_mul_overflow(t->elements, t->shape[i], &t->elements))
			return bad_tensor(path, t->name, "its shape has more elements than 64 bits can count");
	}
	return STATUS_OK;
}

static enum status parse_tensor(struct safetensors_tensor *t, const char *path, const char *name, const json_t *entry,
                                int64_t data_bytes)
{
	if (has_controls(name))
		return status_fail(STATUS_INPUT, "%s: the name of a tensor has control characters in it", path);
	t->name = memory_text(name);
	if (!json_is_object(entry))
		return bad_tensor(path, name, "its description is not an object");
	const char *dtype = json_string_value(json_object_get(entry, "dtype"));
	int d = 0;
	while (d < DTYPES && (!dtype || strcmp(dtype, dtypes[d].name) != 0))
		d++;
	if (d == DTYPES && (!dtype || has_controls(dtype)))
		return bad_tensor(path, name, "has no dtype that could be read");
	if (d == DTYPES)
		return status_fail(STATUS_INPUT, "%s: tensor %s: dtype %s is not supported", path, name, dtype);
	t->dtype = (enum safetensors_dtype)d;

	TRY(parse_shape(t, path, json_object_get(entry, "shape")));
	const json_t *offsets = json_object_get(entry, "data_offsets");
	const json_t *begin = json_array_get(offsets, 0), *end = json_array_get(offsets, 1);
	if (json_array_size(offsets) != 2 || !json_is_integer(begin) || !json_is_integer(end))
		return bad_tensor(path, name, "its data_offsets are not two whole numbers");
	t->begin = json_integer_value(begin);
	t->end = json_integer_value(end);
	if (t->begin < 0 || t->end < t->begin)
		return bad_tensor(path, name, "its data_offsets are not a range");
	if (t->end > data_bytes)
		return status_fail(STATUS_INPUT,
		                   "%s: tensor %s: ends at byte %lld of the data, but the file has only %lld: "
		                   "truncated, download it again",
		                   path, name, (long long)t->end, (long long)data_bytes);
	int64_t bytes = 0;
	if (__builtin_mul_overflow(t->elements, (int64_t)dtypes[d].bytes, &bytes) || bytes != t->end - t->begin)
		return status_fail(STATUS_INPUT,
		                   "%s: tensor %s: has %lld bytes, which does not agree with its shape and "
		                   "dtype %s",
		                   path, name, (long long)(t->end - t->begin), dtype);
	return STATUS_OK;
}

static int by_place(const void *left, const void *right)
{
	const struct safetensors_tensor *a = left, *b = right;
	if (a->begin != b->begin)
		return a->begin < b->begin ? -1 : 1;
	if (a->end != b->end) /* an empty tensor stands before the one that begins where it ends */
		return a->end < b->end ? -1 : 1;
	return strcmp(a->name, b->name);
}

static enum status check_layout(const struct safetensors *f, int64_t data_bytes)
{
	int64_t end = 0;
	for (int i = 0; i < f->count; i++) {
		const struct safetensors_tensor *t = &f->tensors[i];
		if (t->begin < end)
			return status_fail(STATUS_INPUT, "%s: tensors %s and %s overlap", f->path,
			                   f->tensors[i - 1].name, t->name);
		if (t->begin > end)
			return status_fail(STATUS_INPUT, "%s: tensor %s: a hole of %lld bytes before it", f->path,
			                   t->name, (long long)(t->begin - end));
		end = t->end;
	}
	if (end != data_bytes)
		return status_fail(STATUS_INPUT, "%s: %lld bytes behind the last tensor", f->path,
		                   (long long)(data_bytes - end));
	return STATUS_OK;
}

static enum status parse_header(struct safetensors *f, const json_t *header, int64_t data_bytes)
{
	if (!json_is_object(header))
		return status_fail(STATUS_INPUT, "%s: the header is not a JSON object", f->path);
	f->tensors = array_make(json_object_size(header), sizeof *f->tensors);
	/* jansson's iterators take a pointer that is not const, but do not write. */
	json_t *object = (json_t *)(uintptr_t)header;
	for (void *at = json_object_iter(object); at; at = json_object_iter_next(object, at)) {
		const char *name = json_object_iter_key(at);
		if (strcmp(name, "__metadata__") == 0)
			continue;
		enum status s =
		        parse_tensor(&f->tensors[f->count++], f->path, name, json_object_iter_value(at), data_bytes);
		if (s)
			return s;
	}
	qsort(f->tensors, (size_t)f->count, sizeof *f->tensors, by_place);
	return check_layout(f, data_bytes);
}

/* Counted before anything is built of it: a million takes ten seconds and a gigabyte. The largest models have some
 * hundred thousand in all of their files. */
static enum status check_count(const char *path, const unsigned char *text, size_t length)
{
	static const char key[] = "\"dtype\"";
	const unsigned char *end = text + length, *at = text;
	for (int count = 0; (at = memmem(at, (size_t)(end - at), key, sizeof key - 1)) != NULL; at++)
		if (++count > SAFETENSORS_TENSORS_MOST)
			return status_fail(STATUS_INPUT, "%s: more than %d tensors", path, SAFETENSORS_TENSORS_MOST);
	return STATUS_OK;
}

static enum status read_size(struct safetensors *f, int64_t *bytes)
{
	struct stat info;
	if (fstat(f->descriptor, &info) != 0)
		return status_fail(STATUS_INPUT, "%s: %s", f->path, strerror(errno));
	if (!S_ISREG(info.st_mode))
		return status_fail(STATUS_INPUT, "%s: not a regular file", f->path);
	f->device = info.st_dev;
	f->inode = info.st_ino;
	*bytes = info.st_size;
	if (*bytes < LENGTH_BYTES)
		return status_fail(STATUS_INPUT, "%s: %lld bytes are too few for a safetensors file", f->path,
		                   (long long)*bytes);
	return STATUS_OK;
}

/* The length of the header, in a file of so many bytes. */
static enum status read_length(const struct safetensors *f, int64_t bytes, uint64_t *length)
{
	unsigned char text[LENGTH_BYTES];
	TRY(read_bytes(f->descriptor, f->path, 0, LENGTH_BYTES, text));
	*length = 0;
	for (int i = LENGTH_BYTES - 1; i >= 0; i--)
		*length = *length << 8 | text[i];
	if (*length > HEADER_LIMIT)
		return status_fail(STATUS_INPUT, "%s: not a safetensors file (a header of %llu bytes)", f->path,
		                   (unsigned long long)*length);
	if ((int64_t)*length > bytes - LENGTH_BYTES)
		return status_fail(STATUS_INPUT, "%s: truncated inside its header; download it again", f->path);
	return STATUS_OK;
}

static enum status parse_text(struct safetensors *f, const unsigned char *text, uint64_t length, int64_t data_bytes)
{
	json_error_t error;
	json_t *header = json_loadb((const char *)text, length, JSON_REJECT_DUPLICATES, &error);
	if (!header) {
		hide_controls(error.text);
		return status_fail(STATUS_INPUT, "%s: the header is not JSON: byte %d: %s", f->path, error.position,
		                   error.text);
	}
	enum status s = parse_header(f, header, data_bytes);
	json_decref(header);
	return s;
}

static enum status read_header(struct safetensors *f)
{
	int64_t bytes = 0;
	uint64_t length = 0;
	enum status s;
	if ((s = read_size(f, &bytes)) || (s = read_length(f, bytes, &length)))
		return s;
	f->data_at = LENGTH_BYTES + (int64_t)length;
	unsigned char *text = malloc(length + 1);
	if (!text)
		return status_fail(STATUS_MEMORY, "%s: no memory for its header of %llu bytes", f->path,
		                   (unsigned long long)length);
	if (!(s = read_bytes(f->descriptor, f->path, LENGTH_BYTES, (int64_t)length, text)) &&
	    !(s = check_count(f->path, text, length)))
		s = parse_text(f, text, length, bytes - f->data_at);
	free(text);
	return s;
}

enum status safetensors_open(struct safetensors *f, const char *path)
{
	*f = (struct safetensors){.path = memory_text(path)};
	f->descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	f->is_open = f->descriptor >= 0;
	enum status s = f->is_open ? read_header(f)
	                           : status_fail(STATUS_INPUT, "%s: cannot be opened: %s", path, strerror(errno));
	if (s)
		safetensors_release(f);
	return s;
}

void safetensors_rest(struct safetensors *f)
{
	if (f->is_open)
		close(f->descriptor);
	f->is_open = false;
}

void safetensors_release(struct safetensors *f)
{
	if (!f)
		return;
	if (f->is_open)
		close(f->descriptor);
	for (int i = 0; i < f->count; i++)
		free(f->tensors[i].name);
	free(f->tensors);
	free(f->path);
	*f = (struct safetensors){0};
}

const struct safetensors_tensor *safetensors_find(const struct safetensors *f, const char *name)
{
	for (int i = 0; i < f->count; i++)
		if (strcmp(f->tensors[i].name, name) == 0)
			return &f->tensors[i];
	return NULL;
}

/* ---- elements ---- */

static float from_bits(uint32_t bits)
{
	float value;
	memcpy(&value, &bits, sizeof value);
	return value;
}

/* IEEE binary16: 1 sign, 5 exponent (bias 15), 10 fraction. */
static float from_half(uint16_t half)
{
	uint32_t sign = (uint32_t)(half & 0x8000) << 16;
	uint32_t exponent = half >> 10 & 0x1f, fraction = half & 0x3ff;
	if (exponent == 0x1f) /* infinity, NaN */
		return from_bits(sign | 0x7f800000 | fraction << 13);
	if (exponent != 0)
		return from_bits(sign | (exponent + 127 - 15) << 23 | fraction << 13);
	float small = (float)fraction * 0x1p-24F; /* subnormal or zero: exact in fp32 */
	return sign ? -small : small;
}

/* A descriptor of the file, which close_reader gives back. */
static enum status open_reader(const struct safetensors *f, int *out)
{
	struct stat info;
	*out = f->is_open ? f->descriptor : open(f->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (f->is_open)
		return STATUS_OK;
	if (*out < 0)
		return status_fail(STATUS_INPUT, "%s: cannot be opened: %s", f->path, strerror(errno));
	if (!fstat(*out, &info) && info.st_dev == f->device && info.st_ino == f->inode)
		return STATUS_OK;
	close(*out);
	return status_fail(STATUS_INPUT, "%s: was replaced while it was read; try again", f->path);
}

static void close_reader(const struct safetensors *f, int descriptor)
{
	if (!f->is_open)
		close(descriptor);
}

static enum status read_floats(int descriptor, const struct safetensors *f, const struct safetensors_tensor *t,
                               int64_t first, int64_t count, float *out)
{
	enum { PIECE = 4096 };
	const struct dtype *d = &dtypes[t->dtype];
	int64_t at = f->data_at + t->begin + first * d->bytes;
	if (t->dtype == SAFETENSORS_F32)
		return read_bytes(descriptor, f->path, at, count * d->bytes, out);

	uint16_t piece[PIECE] = {0};
	for (int64_t done = 0; done < count; done += PIECE) {
		int64_t n = count - done < PIECE ? count - done : PIECE;
		TRY(read_bytes(descriptor, f->path, at + done * d->bytes, n * d->bytes, piece));
		for (int64_t i = 0; i < n; i++)
			out[done + i] =
			        t->dtype == SAFETENSORS_F16 ? from_half(piece[i]) : from_bits((uint32_t)piece[i] << 16);
	}
	return STATUS_OK;
}

enum status safetensors_read(const struct safetensors *f, const struct safetensors_tensor *t, int64_t first,
                             int64_t count, float *out)
{
	_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the file's byte order is read as the machine's");
	if (first < 0 || count < 0 || count > t->elements - first)
		abort();
	const struct dtype *d = &dtypes[t->dtype];
	if (!d->readable)
		return status_fail(STATUS_INPUT, "%s: tensor %s: is %s; weights are read from F32, F16 and BF16",
		                   f->path, t->name, d->name);
	int descriptor;
	TRY(open_reader(f, &descriptor));
	enum status s = read_floats(descriptor, f, t, first, count, out);
	close_reader(f, descriptor);
	return s;
}
