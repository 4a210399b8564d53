/* Markdown on a terminal: paragraphs as wide as it is, headings and stress in bold where there are colours. */
#ifndef SHARDLAB_LESSON_MARKDOWN_H
#define SHARDLAB_LESSON_MARKDOWN_H

#include <cmark.h>
#include <stdbool.h>
#include <stdio.h>

/* Every node, in order: when it begins, and if it has others in it, when it ends. */
void markdown_walk(const char *markdown, void (*visit)(void *context, cmark_node *n, bool enter), void *context);

void markdown_print(const char *markdown, FILE *out, int columns, bool bold);

#endif
