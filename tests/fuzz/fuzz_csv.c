/* Fuzz target: a table, and samples from it. The first byte of the input is the numbers in a row and the classes, the
 * second which column is the label and how numbers are scaled. */
#include "real/data/rows.h"

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { HEAD = 2, INPUTS_MOST = 15, CLASSES_MOST = 16 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void fill(const struct dataset *d, int64_t classes)
{
	float input[INPUTS_MOST];
	int32_t target;
	for (int64_t i = 0; i < d->training_samples + d->validation_samples; i++) {
		if (i < d->training_samples)
			dataset_fill(d, 1, i, 1, input, &target);
		else
			dataset_fill_validation(d, i - d->training_samples, 1, input, &target);
		if (target < 0 || target >= classes)
			abort();
		for (int64_t k = 0; k < d->inputs_per_sample; k++)
			if (isnan(input[k]))
				abort();
	}
	if (dataset_check(d))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const labels[] = {NULL, "first", "last", "2", "kind", NULL, NULL, NULL};
	static const char *const hows[] = {"", "columns", "whole", "none"};
	if (size < HEAD)
		return 0;
	struct dataset d = {.kind = DATASET_IMAGES};
	struct table t = {.inputs = 1 + data[0] % INPUTS_MOST,
	                  .classes = 1 + data[0] / INPUTS_MOST % CLASSES_MOST,
	                  .label_is = labels[data[1] & 7],
	                  .label = -1};
	int64_t classes = t.classes;
	unsigned char *bytes =
	        malloc(size > HEAD ? size - HEAD : 1); /* of its own size, so that a sanitizer sees a byte too many */
	if (!bytes)
		abort();
	memcpy(bytes, data + HEAD, size - HEAD);
	if (table_add(&t, "input", bytes, (int64_t)(size - HEAD)))
		table_release(&t);
	else if (!dataset_take_rows(&d, &t, 0, hows[data[1] >> 3 & 3]))
		fill(&d, classes);
	dataset_release(&d);
	free(bytes);
	return 0;
}
