/* Fuzz target: a text, packed or not, and samples from it. The first byte of the input is the length of a sample. */
#include "real/data/file.h"
#include "real/data/form.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { LIMIT = 1 << 20, SAMPLES = 3, TOKENS_LIMIT = 256 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int64_t tokens, const int32_t *inputs, const int32_t *targets)
{
	for (int64_t t = 0; t < tokens; t++)
		if (inputs[t] < 0 || inputs[t] > 255 || (t && inputs[t] != targets[t - 1]))
			abort();
	if (targets[tokens - 1] < 0 || targets[tokens - 1] > 255)
		abort();
}

static void fill(const struct dataset *d)
{
	int32_t inputs[TOKENS_LIMIT], targets[TOKENS_LIMIT];
	for (int64_t i = 0; i < SAMPLES; i++) {
		dataset_fill(d, 1, i, 1, inputs, targets);
		check(d->inputs_per_sample, inputs, targets);
	}
	for (int64_t i = 0; i < d->validation_samples; i++) {
		dataset_fill_validation(d, i, 1, inputs, targets);
		check(d->inputs_per_sample, inputs, targets);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size == 0)
		return 0;
	struct data_file f = {.bytes = malloc(size), .size = (int64_t)size - 1};
	if (!f.bytes)
		return 0;
	memcpy(f.bytes, data + 1, size - 1);
	struct dataset d = {.kind = DATASET_TEXT};
	struct token_spec spec = {.vocabulary = 256, .type = TOKEN_BYTES};
	struct token_file *text = calloc(1, sizeof *text);
	if (data_file_unpack(&f, "input", LIMIT) == STATUS_OK &&
	    token_file_parse(text, "input", f.bytes, f.size, &spec) == STATUS_OK) {
		if (dataset_take_stream(&d, text, 1, 1, 1 + (int64_t)data[0]) == STATUS_OK)
			fill(&d);
	} else {
		free(text);
	}
	dataset_release(&d);
	data_file_release(&f);
	return 0;
}
