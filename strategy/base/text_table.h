/* A table by pairs of texts (a process and a thread of a trace, or one text and nothing), by open addressing. */
#ifndef SHARDLAB_TEXT_TABLE_H
#define SHARDLAB_TEXT_TABLE_H

#include "strategy/base/json_stream.h"

struct text_entry {
	struct stream_text a, b;
	bool used;
	int64_t number;
	const char *copy;
};

struct text_table {
	struct text_entry *entries; /* `capacity` of them, used or not */
	size_t count, capacity;
};

/* The entry of the pair; NULL if there is none. It moves when others are added. */
struct text_entry *text_table_find(const struct text_table *t, struct stream_text a, struct stream_text b);
/* Finds the entry, or makes it with number -1. */
struct text_entry *text_table_add(struct text_table *t, struct stream_text a, struct stream_text b);
void text_table_release(struct text_table *t);

#endif
