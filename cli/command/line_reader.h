/* Reads a pipe and gives its lines, whole and without the newline; what a process says last may have none.
 */
#ifndef SHARDLAB_LINE_READER_H
#define SHARDLAB_LINE_READER_H

#include <stddef.h>

struct line_reader {
	int fd; /* -1: at its end */
	char *text;
	size_t length, capacity;
	void (*on_line)(void *context, const char *line);
	void *context;
};

/* Reads what is there, once; closes the pipe at its end. */
void line_reader_read(struct line_reader *r);
void line_reader_release(struct line_reader *r);

#endif
