#include "cli/lesson/markdown.h"

#include <stdlib.h>
#include <string.h>

#include "cli/show/text.h"
#include "strategy/base/language.h"
#include "strategy/base/memory.h"

struct printer {
	FILE *out;
	int columns;
	bool bold;
	/* the paragraph or heading at hand, as running text */
	char *text;
	size_t size;
	FILE *running;
	int indent;    /* of lists and quotations */
	char lead[16]; /* before the first line: "1. " */
	int number;    /* of the next item; 0: no numbers */
};

static void begin_text(struct printer *p)
{
	if (p->running)
		return;
	p->running = memory_stream(&p->text, &p->size);
}

static void end_text(struct printer *p)
{
	if (!p->running)
		return;
	memory_stream_close(p->running);
	p->running = NULL;
	int lead = text_width(p->lead);
	fprintf(p->out, "%*s%s", p->indent - lead, "", p->lead);
	text_wrapped(p->out, p->text, p->indent, p->columns);
	p->lead[0] = 0;
	free(p->text);
}

static void stress(struct printer *p, bool enter)
{
	if (p->bold && p->running)
		fputs(enter ? "\033[1m" : "\033[0m", p->running);
}

/* Its lines as they are, a little to the right. */
static void print_code(struct printer *p, const char *code)
{
	for (const char *line = code; *line;) {
		size_t length = strcspn(line, "\n");
		fprintf(p->out, "%*s%.*s\n", p->indent + 4, "", (int)length, line);
		line += length + (line[length] == '\n');
	}
	fputc('\n', p->out);
}

static void inline_node(struct printer *p, cmark_node *n, bool enter)
{
	switch (cmark_node_get_type(n)) {
	case CMARK_NODE_TEXT:
	case CMARK_NODE_CODE:
		fputs(cmark_node_get_literal(n), p->running);
		break;
	case CMARK_NODE_SOFTBREAK:
	case CMARK_NODE_LINEBREAK:
		fputc(' ', p->running);
		break;
	case CMARK_NODE_STRONG:
	case CMARK_NODE_EMPH:
		stress(p, enter);
		break;
	case CMARK_NODE_IMAGE:
		fputs(enter ? tr("[picture: ") : "]", p->running);
		break;
	case CMARK_NODE_LINK:
		if (!enter)
			fprintf(p->running, " (%s)", cmark_node_get_url(n));
		break;
	default:
		break;
	}
}

static void item(struct printer *p, bool enter)
{
	enum { STEP = 4 };
	p->indent += enter ? STEP : -STEP;
	if (!enter)
		return;
	if (p->number)
		snprintf(p->lead, sizeof p->lead, "%d. ", p->number++ % 1000);
	else
		snprintf(p->lead, sizeof p->lead, "- ");
}

static void block_node(struct printer *p, cmark_node *n, bool enter)
{
	cmark_node_type type = cmark_node_get_type(n);
	switch (type) {
	case CMARK_NODE_PARAGRAPH:
	case CMARK_NODE_HEADING:
		if (enter)
			begin_text(p);
		if (type == CMARK_NODE_HEADING)
			stress(p, enter);
		if (!enter) {
			end_text(p);
			if (!p->indent)
				fputc('\n', p->out);
		}
		break;
	case CMARK_NODE_LIST:
		p->number =
		        enter && cmark_node_get_list_type(n) == CMARK_ORDERED_LIST ? cmark_node_get_list_start(n) : 0;
		if (!enter && !p->indent)
			fputc('\n', p->out);
		break;
	case CMARK_NODE_ITEM:
		item(p, enter);
		break;
	case CMARK_NODE_CODE_BLOCK:
		print_code(p, cmark_node_get_literal(n));
		break;
	default: /* HTML does not show */
		break;
	}
}

void markdown_walk(const char *markdown, void (*visit)(void *context, cmark_node *n, bool enter), void *context)
{
	cmark_node *document = cmark_parse_document(markdown, strlen(markdown), CMARK_OPT_DEFAULT);
	cmark_iter *walk = cmark_iter_new(document);
	cmark_event_type event;
	while ((event = cmark_iter_next(walk)) != CMARK_EVENT_DONE)
		visit(context, cmark_iter_get_node(walk), event == CMARK_EVENT_ENTER);
	cmark_iter_free(walk);
	cmark_node_free(document);
}

static void print_node(void *context, cmark_node *n, bool enter)
{
	struct printer *p = context;
	if (p->running && cmark_node_get_type(n) > CMARK_NODE_LAST_BLOCK)
		inline_node(p, n, enter);
	else
		block_node(p, n, enter);
}

void markdown_print(const char *markdown, FILE *out, int columns, bool bold)
{
	markdown_walk(markdown, print_node, &(struct printer){.out = out, .columns = columns, .bold = bold});
}
