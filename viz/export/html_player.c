/* The player of a page apart from the step that it plays. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "strategy/base/language.h"
#include "strategy/base/memory.h"
#include "viz/draw/record.h"
#include "viz/export/export.h"

void page_put(const char *text, FILE *out)
{
	char sentence[256];
	for (const char *mark; (mark = strstr(text, "{{")) != NULL; text = mark) {
		size_t length = strcspn(mark + 2, "}");
		fwrite(text, 1, (size_t)(mark - text), out);
		snprintf(sentence, sizeof sentence, "%.*s", (int)length, mark + 2);
		fputs(tr(sentence), out);
		mark += length + 4;
	}
	fputs(text, out);
}

void page_put_end(FILE *out)
{
	static const char *const *const parts[] = {page_script, page_amounts, page_questions, page_end};
	for (size_t part = 0; part < sizeof parts / sizeof parts[0]; part++)
		for (const char *const *line = parts[part]; *line; line++)
			page_put(*line, out);
}

static void put_begin(FILE *out)
{
	page_put(page_head, out);
	page_put(page_style, out);
	page_put(page_body, out);
}

static void put_quoted(void (*put)(FILE *), FILE *out)
{
	char *text = NULL;
	size_t length = 0;
	FILE *f = memory_stream(&text, &length);
	put(f);
	memory_stream_close(f);
	record_put_text(text, length, out);
	free(text);
}

void export_player(FILE *out)
{
	fputc('[', out);
	put_quoted(put_begin, out);
	fputc(',', out);
	put_quoted(page_put_end, out);
	fputc(']', out);
}

const char *export_player_data(const char *page, size_t *length)
{
	static const char begin[] = "<script type=\"application/json\" id=\"data\">\n";
	const char *data = strstr(page, begin), *end = data ? strstr(data, page_script[0]) : NULL;
	if (!end)
		return NULL;
	data += strlen(begin);
	*length = (size_t)(end - data);
	return data;
}
