/* Fuzz target: the index of a folder of weights. What is read has every tensor once, in the order of names, and no file
 * of it lies outside the folder. */
#include "real/data/weights_index.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_file(const char *path)
{
	size_t length = strlen(path);
	if (*path == '/' || !strncmp(path, "../", 3) || strstr(path, "/../") || length < sizeof ".safetensors" ||
	    strcmp(path + length - strlen(".safetensors"), ".safetensors") != 0)
		abort();
	for (; *path; path++)
		if ((unsigned char)*path < ' ' || *path == 0x7f)
			abort();
}

static void check(const struct weights_index *x)
{
	if (x->count < 1 || x->file_count < 1 || x->file_count > WEIGHTS_SHARDS_MOST || x->total_bytes < -1)
		abort();
	for (int i = 0; i < x->count; i++)
		if (x->tensors[i].file < 0 || x->tensors[i].file >= x->file_count ||
		    (i && strcmp(x->tensors[i - 1].tensor, x->tensors[i].tensor) >= 0))
			abort();
	for (int i = 0; i < x->file_count; i++)
		check_file(x->files[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct weights_index x;
	if (weights_index_parse(&x, "input", (const char *)data, size) == STATUS_OK)
		check(&x);
	else if (!status_message()[0] || strchr(status_message(), '\n'))
		abort();
	weights_index_release(&x);
	return 0;
}
