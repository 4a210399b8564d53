/* Markdown as blocks for paper: what a block says is Pango's markup, cut into sentences, so that a slide need not take
 * a paragraph whole. */
#ifndef SHARDLAB_LESSON_BLOCKS_H
#define SHARDLAB_LESSON_BLOCKS_H

#include "cli/lesson/lesson.h"

enum block_kind { BLOCK_HEADING, BLOCK_TEXT, BLOCK_ITEM, BLOCK_CODE, BLOCK_PICTURE };

struct block {
	enum block_kind kind;
	int level;             /* of a heading, from 1; of an item, from 1 */
	const char *lead;      /* of an item: "2." or "•" */
	const char **sentence; /* markup; of code its lines as they are, with their newlines */
	int sentence_count;
	const char *url; /* of a picture */
};

struct blocks {
	struct block *list;
	int count, capacity;
};

/* Adds the blocks of a Markdown text. */
void blocks_read(struct blocks *b, struct arena *a, const char *markdown);
/* The sentences [from, to) of a block with spaces between. */
const char *block_markup(struct arena *a, const struct block *b, int from, int to);
/* All lines of a block of code; the commands and outputs of a console block. Neither ends with a newline. */
const char *code_markup(struct arena *a, const struct block *b);
const char *console_markup(struct arena *a, const struct piece *p);
/* Escapes plain text for Pango. */
const char *markup_escape(struct arena *a, const char *text);

#endif
