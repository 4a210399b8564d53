/* Files and data inside a page, as base64. */
#ifndef SHARDLAB_LESSON_EMBED_H
#define SHARDLAB_LESSON_EMBED_H

#include <stdio.h>

#include "strategy/base/status.h"

/* Packed by zlib, for DecompressionStream('deflate'). */
enum status embed_packed(const char *text, size_t length, FILE *out);
/* "data:image/png;base64,…" */
enum status embed_png(const char *path, FILE *out);

#endif
