/* Reads a GIF as a viewer does, picture by picture. What is not as the specification says fails the test.
 *
 *     struct gif g;
 *     gif_open(&g, bytes, length);
 *     for (int delay = 0; gif_next(&g, &delay);)
 *             … g.palette[g.indices[y * g.width + x]] …
 *     gif_release(&g);
 */
#ifndef SHARDLAB_TESTS_GIF_H
#define SHARDLAB_TESTS_GIF_H

#include <stdbool.h>
#include <stddef.h>

struct gif {
	const unsigned char *at, *end;
	int width, height;
	unsigned char palette[256][3];
	unsigned char *indices; /* the picture so far */
};

void gif_open(struct gif *g, const void *bytes, size_t length); /* which must outlive it */
bool gif_next(struct gif *g, int *delay);                       /* in hundredths of a second; false at the end */
void gif_release(struct gif *g);

#endif
