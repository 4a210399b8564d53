/* Fuzz target: a file of algorithms for a GPU's products. What is taken is printed as it was. */
#include "real/cuda/algorithms.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cuda_algorithm *list = NULL, *again = NULL;
	int count = 0, count_again = 0;
	char *text = NULL;
	size_t length = 0;
	enum status s = cuda_algorithms_read((const char *)data, size, "input", &list, &count);
	if (s) {
		/* every error says where */
		if (list || count || strncmp(status_message(), "input:", 6) != 0)
			abort();
		return 0;
	}
	FILE *out = open_memstream(&text, &length);
	if (!out)
		abort();
	cuda_algorithms_print(list, count, out);
	if (fclose(out) || cuda_algorithms_read(text, length, "print", &again, &count_again))
		abort();
	if (count != count_again || memcmp(list, again, (size_t)count * sizeof *list) != 0)
		abort();
	free(again);
	free(text);
	free(list);
	return 0;
}
