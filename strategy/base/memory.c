#include "strategy/base/memory.h"

#include <jansson.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "strategy/base/output.h"

/* Without stdio, whose buffers may want memory too. Text that stdout holds back is not printed: it would be incomplete.
 */
void memory_exhausted(void)
{
	static const char line[] = "fatal: out of memory\n";
	static atomic_flag said = ATOMIC_FLAG_INIT;
	while (atomic_flag_test_and_set(&said))
		pause(); /* another thread is ending the program */
	outputs_abandon();
	ssize_t written = write(STDERR_FILENO, line, sizeof line - 1);
	(void)written;
	_exit(status_exit_code(STATUS_MEMORY));
}

void *memory_take(size_t bytes)
{
	void *p = malloc(bytes ? bytes : 1);
	if (!p)
		memory_exhausted();
	return p;
}

char *memory_text(const char *text)
{
	size_t bytes = strlen(text) + 1;
	return memcpy(memory_take(bytes), text, bytes);
}

FILE *memory_stream(char **text, size_t *size)
{
	*text = NULL;
	FILE *f = open_memstream(text, size);
	if (!f)
		memory_exhausted();
	return f;
}

void memory_stream_close(FILE *f)
{
	int failed = ferror(f);
	if (fclose(f) || failed)
		memory_exhausted();
}

void memory_guard_json(void)
{
	json_set_alloc_funcs(memory_take, free);
}
