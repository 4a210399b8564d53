/* Fuzz target: a file of token ids, and samples from it. The first bytes of the input are the name's ending and the
 * type that is told, the length of a sample, and the vocabulary. */
#include "real/data/form.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { SAMPLES = 3, TOKENS_LIMIT = 256, HEAD = 6 };
static const int64_t MOST_VOCABULARY = (int64_t)INT32_MAX + 1;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct dataset *d, int64_t vocabulary, const int32_t *inputs, const int32_t *targets)
{
	int64_t tokens = d->inputs_per_sample;
	for (int64_t t = 0; t < tokens; t++)
		if (inputs[t] < 0 || inputs[t] >= vocabulary || targets[t] < 0 || targets[t] >= vocabulary)
			abort();
	for (int64_t t = 1; t < tokens && !dataset_check(d); t++)
		if (inputs[t] != targets[t - 1])
			abort();
}

static void fill(const struct dataset *d, int64_t vocabulary)
{
	int32_t inputs[TOKENS_LIMIT], targets[TOKENS_LIMIT];
	for (int64_t i = 0; i < SAMPLES; i++) {
		dataset_fill(d, 1, i, 1, inputs, targets);
		check(d, vocabulary, inputs, targets);
	}
	for (int64_t i = 0; i < d->validation_samples; i++) {
		dataset_fill_validation(d, i, 1, inputs, targets);
		check(d, vocabulary, inputs, targets);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const enum token_type types[] = {TOKEN_FOUND_OUT, TOKEN_UINT16, TOKEN_UINT32, TOKEN_FOUND_OUT};
	uint32_t vocabulary;
	if (size < HEAD)
		return 0;
	memcpy(&vocabulary, data + 2, sizeof vocabulary);
	struct token_spec spec = {.vocabulary = 256 + (int64_t)(vocabulary >> 1), .type = types[data[0] & 3]};
	if (spec.vocabulary > MOST_VOCABULARY)
		spec.vocabulary = MOST_VOCABULARY;
	struct token_file *file = calloc(1, sizeof *file);
	struct dataset d = {.kind = DATASET_TEXT};
	/* The copy has its own size, so that a sanitizer sees a byte too many. */
	unsigned char *bytes = malloc(size > HEAD ? size - HEAD : 1);
	if (!file || !bytes)
		abort();
	memcpy(bytes, data + HEAD, size - HEAD);
	if (token_file_parse(file, data[0] & 4 ? "input.bin" : "input", bytes, (int64_t)(size - HEAD), &spec)) {
		free(file);
	} else if (!dataset_take_stream(&d, file, 1, 1, 1 + (int64_t)data[1])) {
		fill(&d, spec.vocabulary);
		if (dataset_check(&d)) /* all of so small a file has been checked */
			abort();
	}
	dataset_release(&d);
	free(bytes);
	return 0;
}
