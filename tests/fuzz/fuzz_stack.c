/* Fuzz target: a stack file. What is taken can be printed, and its print is read back to the same print. */
#include "strategy/cluster/stack.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char *print_of(const struct stack *s)
{
	char *text = NULL;
	size_t length = 0;
	FILE *out = open_memstream(&text, &length);
	if (!out)
		abort();
	stack_print(s, out);
	if (fclose(out))
		abort();
	return text;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct stack s, again;
	enum status status = stack_read(&s, (const char *)data, size, "input", "");
	if (status) {
		/* every error says where */
		if (status == STATUS_INPUT && strncmp(status_message(), "input:", 6))
			abort();
		return 0;
	}
	for (int i = 0; i < STACK_OF_CLASS; i++)
		if (s.value[i] < 0)
			abort();
	char *text = print_of(&s);
	if (stack_read(&again, text, strlen(text), "print", s.card))
		abort();
	char *text_again = print_of(&again);
	if (strcmp(text, text_again))
		abort();
	free(text);
	free(text_again);
	return 0;
}
