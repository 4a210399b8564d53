/* The player of a page apart from the step that it plays. */
#include <stdlib.h>
#include <string.h>

#include "viz/draw/record.h"
#include "viz/export/export.h"

void page_put_end(FILE *out)
{
	static const char *const *const parts[] = {page_script, page_amounts, page_questions, page_end};
	for (size_t part = 0; part < sizeof parts / sizeof parts[0]; part++)
		for (const char *const *line = parts[part]; *line; line++)
			fputs(*line, out);
}

static void put_begin(FILE *out)
{
	fputs(page_head, out);
	fputs(page_style, out);
	fputs(page_body, out);
}

static void put_quoted(void (*put)(FILE *), FILE *out)
{
	char *text = NULL;
	size_t length = 0;
	FILE *f = open_memstream(&text, &length);
	if (!f)
		abort();
	put(f);
	if (fclose(f))
		abort();
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
	const char *data = strstr(page, page_body), *end = data ? strstr(data, page_script[0]) : NULL;
	if (!end)
		return NULL;
	data += strlen(page_body);
	*length = (size_t)(end - data);
	return data;
}
