/* The header of a file of token ids. Between the parts of real/data. */
#ifndef SHARDLAB_DATA_TOKEN_HEADER_H
#define SHARDLAB_DATA_TOKEN_HEADER_H

#include "real/data/token_file.h"

struct token_header {
	enum token_type type; /* TOKEN_FOUND_OUT: there is no header */
	int64_t ids_at, count;
};

/* A header that promises more, or less, than there is behind it, and one of files that hold something else, is
 * STATUS_INPUT. */
enum status token_header_read(struct token_header *h, const char *path, const unsigned char *bytes, int64_t size);

#endif
