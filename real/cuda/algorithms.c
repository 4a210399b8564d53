#include "real/cuda/algorithms.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "strategy/base/file.h"
#include "strategy/base/memory.h"
#include "strategy/base/path.h"
#include "strategy/cluster/cluster.h"

enum { PRODUCT_WORDS = 15, WORDS = PRODUCT_WORDS + 8, DIGITS = 16, MOST_BYTES = 1 << 20 };

static const char first_line[] = "shardlab algorithms 1";

/* ---- the text ---- */

/* 16 digits of hexadecimal. Returns where they end; NULL: they are not. */
static const char *read_word(const char *at, const char *end, uint64_t *word)
{
	static const char digits[] = "0123456789abcdef";
	*word = 0;
	if (end - at < DIGITS)
		return NULL;
	for (int i = 0; i < DIGITS; i++) {
		const char *digit = at[i] ? strchr(digits, at[i]) : NULL;
		if (!digit)
			return NULL;
		*word = *word << 4 | (uint64_t)(digit - digits);
	}
	return at + DIGITS;
}

static bool read_line(const char *at, const char *end, struct cuda_algorithm *a)
{
	for (int i = 0; i < WORDS; i++) {
		uint64_t *word = i < PRODUCT_WORDS ? &a->product[i] : &a->algorithm[i - PRODUCT_WORDS];
		if (i && (at == end || *at++ != ' '))
			return false;
		if (!(at = read_word(at, end, word)))
			return false;
	}
	return at == end;
}

static enum status refuse(const char *path, int line, const char *what)
{
	return status_fail(STATUS_INPUT, "%.500s:%d: %s; remove the file, and {autotune} makes it again", path, line,
	                   what);
}

enum status cuda_algorithms_read(const char *text, size_t size, const char *path, struct cuda_algorithm **out,
                                 int *count)
{
	const char *at = text, *end = text + size;
	struct cuda_algorithm *list = array_make(CUDA_ALGORITHMS_MOST, sizeof *list);
	int line = 0, n = 0;
	enum status s = size ? STATUS_OK : refuse(path, 1, "nothing is in it");
	for (; at < end && !s; line++) {
		const char *stop = memchr(at, '\n', (size_t)(end - at));
		stop = stop ? stop : end;
		if (!line &&
		    ((size_t)(stop - at) != strlen(first_line) || memcmp(at, first_line, strlen(first_line)) != 0))
			s = refuse(path, 1, "it does not begin with 'shardlab algorithms 1'");
		else if (line && n == CUDA_ALGORITHMS_MOST)
			s = refuse(path, line + 1, "more choices than there are places for");
		else if (line && !read_line(at, stop, &list[n++]))
			s = refuse(path, line + 1, "not 23 words of 16 hexadecimal digits, with a space between them");
		at = stop + (stop < end);
	}
	if (s) {
		free(list);
		list = NULL;
		n = 0;
	}
	*out = list;
	*count = n;
	return s;
}

void cuda_algorithms_print(const struct cuda_algorithm *a, int count, FILE *out)
{
	fprintf(out, "%s\n", first_line);
	for (int i = 0; i < count; i++)
		for (int w = 0; w < WORDS; w++)
			fprintf(out, "%016llx%c",
			        (unsigned long long)(w < PRODUCT_WORDS ? a[i].product[w]
			                                               : a[i].algorithm[w - PRODUCT_WORDS]),
			        w + 1 < WORDS ? ' ' : '\n');
}

/* ---- the file ---- */

/* The caller frees it; NULL, with a message: there is no place for it. */
static char *path_of(const struct cuda_device *c)
{
	char calibration[4096], name[sizeof c->properties.name + 64];
	int built = 0, here = 0;
	if (cluster_local_path(DEVICE_GPU, calibration, sizeof calibration))
		return NULL;
	c->api->cublaslt(&built, &here);
	snprintf(name, sizeof name, "algorithms-%s-%d.txt", c->properties.name, here);
	for (char *at = name; *at; at++)
		if (!isalnum((unsigned char)*at) && *at != '.')
			*at = '-';
	return path_beside(calibration, name);
}

enum status cuda_algorithms_use(struct cuda_device *c, bool time)
{
	struct cuda_algorithm *list = NULL;
	char *path = path_of(c), *text = NULL;
	size_t size = 0;
	int count = 0;
	enum status s = !path && time ? STATUS_INPUT : STATUS_OK;
	if (path && path_is_there(path) && !(s = file_read(path, "{autotune}", MOST_BYTES, &text, &size)))
		s = cuda_algorithms_read(text, size, path, &list, &count);
	if (!s)
		c->api->use_algorithms(c->context, list, count, time);
	free(list);
	free(text);
	free(path);
	return s;
}

struct kept {
	struct cuda_algorithm list[CUDA_ALGORITHMS_MOST];
	int count;
};

static enum status print_kept(void *context, FILE *out)
{
	const struct kept *k = context;
	cuda_algorithms_print(k->list, k->count, out);
	return STATUS_OK;
}

enum status cuda_algorithms_keep(const struct cuda_device *c)
{
	struct kept k;
	char *path = path_of(c);
	if (!path)
		return STATUS_INPUT;
	k.count = c->api->algorithms(c->context, k.list, CUDA_ALGORITHMS_MOST);
	if (k.count > CUDA_ALGORITHMS_MOST)
		k.count = CUDA_ALGORITHMS_MOST;
	enum status s = file_make_folders(path);
	if (!s)
		s = file_write(path, "{autotune}", print_kept, &k);
	free(path);
	return s;
}
