/* A file in memory, mapped. Between the parts of real/data. */
#ifndef SHARDLAB_DATA_TOKEN_MAP_H
#define SHARDLAB_DATA_TOKEN_MAP_H

#include "real/data/token_file.h"

/* Maps a regular file. An empty one has no bytes, and no mapping. */
enum status token_map_open(struct token_map *m, const char *path);
void token_map_release(struct token_map *m); /* accepts a zeroed one */

/* STATUS_INPUT if the file became shorter: its last pages are gone, and reading them would be SIGBUS. */
enum status token_map_check(const struct token_map *m, const char *path);

/* Gives the pages around a range back to the system, which keeps them in its cache. Reading there again is no mistake.
 */
void token_map_rest(const struct token_map *m, const void *begin, int64_t bytes);

/* Long ranges are soon read, and what lies behind them next: from a disk, page by page would take many times as long.
 */
void token_map_ahead(const struct token_map *m, const void *begin, int64_t bytes);

#endif
