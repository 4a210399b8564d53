/* A stable merge sort of things that are named by their index: for orders that need more than two elements can tell,
 * and for lists made of sorted stretches, which it takes as they are (natural merge sort: Knuth, volume 3, 5.2.4).
 *
 *     size_t *order = merge_order(n, before, &things);       // things[order[0]] is the first
 *     free(order);
 */
#ifndef SHARDLAB_MERGE_H
#define SHARDLAB_MERGE_H

#include <stdbool.h>
#include <stddef.h>

/* before: does thing a have to stand before thing b? The caller frees what is returned. */
size_t *merge_order(size_t n, bool (*before)(const void *things, size_t a, size_t b), const void *things);

#endif
