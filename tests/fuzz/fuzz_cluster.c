/* Fuzz target: a cluster file. What is taken can be printed, and its print is read back to the same print. */
#include "strategy/cluster/cluster.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char *print_of(const struct cluster *c)
{
	char *text = NULL;
	size_t length = 0;
	FILE *out = open_memstream(&text, &length);
	if (!out)
		abort();
	cluster_print(c, out);
	if (fclose(out))
		abort();
	return text;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cluster c, again;
	enum status s = cluster_read(&c, (const char *)data, size, "input");
	if (s) {
		/* every error says where */
		if (s == STATUS_INPUT && strncmp(status_message(), "input:", 6))
			abort();
		return 0;
	}
	char *text = print_of(&c);
	if (cluster_read(&again, text, strlen(text), "print"))
		abort();
	char *text_again = print_of(&again);
	if (strcmp(text, text_again))
		abort();
	for (int kind = 0; kind < OP_KIND_COUNT; kind++)
		for (int type = 0; type < CLUSTER_TYPES; type++)
			if (cluster_compute_rate(&c, (enum op_kind)kind, (enum type)type, 12345678).value < 0)
				abort();
	free(text);
	free(text_again);
	cluster_release(&c);
	cluster_release(&again);
	return 0;
}
