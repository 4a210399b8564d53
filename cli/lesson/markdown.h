/* Markdown on a terminal: paragraphs as wide as it is, headings and stress in bold where there are colours. */
#ifndef SHARDLAB_LESSON_MARKDOWN_H
#define SHARDLAB_LESSON_MARKDOWN_H

#include <stdbool.h>
#include <stdio.h>

void markdown_print(const char *markdown, FILE *out, int columns, bool bold);

#endif
