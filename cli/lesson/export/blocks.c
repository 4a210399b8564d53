#include "cli/lesson/export/blocks.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/lesson/markdown.h"
#include "strategy/base/memory.h"

struct blocks_reader {
	struct blocks *b;
	struct arena *arena;
	/* the paragraph or heading at hand */
	FILE *running;
	char *text;
	size_t size;
	struct block block;
	int capacity, stress; /* sentences; how deep in bold, slanted or linked text, where no sentence ends */
	int depth, number;    /* of lists; of the next item, 0: no numbers */
};

static void begin_sentence(struct blocks_reader *r)
{
	r->running = memory_stream(&r->text, &r->size);
}

static void end_sentence(struct blocks_reader *r)
{
	struct block *b = &r->block;
	memory_stream_close(r->running);
	r->running = NULL;
	if (r->text && r->text[strspn(r->text, " ")]) {
		b->sentence = arena_grow(r->arena, b->sentence, b->sentence_count, &r->capacity, sizeof *b->sentence);
		b->sentence[b->sentence_count++] = arena_copy(r->arena, r->text);
	}
	free(r->text);
}

static void put_escaped(FILE *out, char c)
{
	if (strchr("<>&", c))
		fprintf(out, "&#%d;", c);
	else
		fputc(c, out);
}

const char *markup_escape(struct arena *a, const char *text)
{
	char *out = NULL;
	size_t size = 0;
	FILE *f = memory_stream(&out, &size);
	for (; *text; text++)
		put_escaped(f, *text);
	memory_stream_close(f);
	const char *copy = arena_copy(a, out);
	free(out);
	return copy;
}

/* Long code breaks at spaces, not at the dashes of its options. */
static const char *words_markup(struct arena *a, const char *text)
{
	const char *out = "";
	while (*text) {
		size_t space = strspn(text, " "), word = strcspn(text + space, " ");
		out = arena_print(a, "%s%*s<span allow_breaks=\"false\">%s</span>", out, (int)space, "",
		                  markup_escape(a, arena_print(a, "%.*s", (int)word, text + space)));
		text += space + word;
	}
	return out;
}

/* Bytes of the end of a sentence at `c`: a stop and the space behind it, or a full-width stop. 0: it goes on. */
static size_t sentence_end(const char *c)
{
	static const char *const wide[] = {"。", "！", "？"};
	for (size_t i = 0; i < sizeof wide / sizeof wide[0]; i++)
		if (!strncmp(c, wide[i], strlen(wide[i])))
			return strlen(wide[i]);
	bool stop = strchr(".?!", *c) && c[1] == ' ' && !islower((unsigned char)c[2]);
	return stop ? 2 : 0;
}

/* The end of a line stands for no space in Chinese. */
static bool is_wide(const char *end)
{
	return (unsigned char)end[-1] >= 0x80 && (unsigned char)end[-3] >= 0xe3;
}

static void put_text(struct blocks_reader *r, const char *text)
{
	for (size_t n; *text; text += n) {
		n = r->stress ? 0 : sentence_end(text);
		if (n) {
			for (size_t i = 0; i < n && text[i] != ' '; i++)
				put_escaped(r->running, text[i]);
			end_sentence(r);
			begin_sentence(r);
			continue;
		}
		n = 1;
		put_escaped(r->running, *text);
	}
}

/* A line's end is a space, and ends a sentence too if a stop precedes it. */
static void put_break(struct blocks_reader *r)
{
	fflush(r->running);
	size_t n = r->size;
	if (n >= 3 && is_wide(r->text + n))
		return;
	if (n && strchr(".?!", r->text[n - 1]) && !r->stress) {
		end_sentence(r);
		begin_sentence(r);
		return;
	}
	fputc(' ', r->running);
}

static void tag(struct blocks_reader *r, const char *name, bool enter)
{
	fprintf(r->running, enter ? "<%s>" : "</%s>", name);
	r->stress += enter ? 1 : -1;
}

static void inline_node(struct blocks_reader *r, cmark_node *n, bool enter)
{
	switch (cmark_node_get_type(n)) {
	case CMARK_NODE_TEXT:
		put_text(r, cmark_node_get_literal(n));
		break;
	case CMARK_NODE_CODE:
		fprintf(r->running, "<span font_family=\"DejaVu Sans Mono\" size=\"88%%\">%s</span>",
		        words_markup(r->arena, cmark_node_get_literal(n)));
		break;
	case CMARK_NODE_SOFTBREAK:
	case CMARK_NODE_LINEBREAK:
		put_break(r);
		break;
	case CMARK_NODE_STRONG:
		tag(r, "b", enter);
		break;
	case CMARK_NODE_EMPH:
		tag(r, "i", enter);
		break;
	case CMARK_NODE_LINK:
		r->stress += enter ? 1 : -1;
		break;
	default:
		break;
	}
}

static void add(struct blocks_reader *r, const struct block *block)
{
	struct blocks *b = r->b;
	b->list = arena_grow(r->arena, b->list, b->count, &b->capacity, sizeof *b->list);
	b->list[b->count++] = *block;
}

static void begin_text(struct blocks_reader *r, cmark_node *n)
{
	cmark_node *item = cmark_node_parent(n);
	bool heading = cmark_node_get_type(n) == CMARK_NODE_HEADING;
	r->block = (struct block){.kind = heading ? BLOCK_HEADING : BLOCK_TEXT};
	r->capacity = r->stress = 0;
	if (heading)
		r->block.level = cmark_node_get_heading_level(n);
	if (cmark_node_get_type(item) == CMARK_NODE_ITEM) {
		r->block.kind = BLOCK_ITEM;
		r->block.level = r->depth;
		r->block.lead = cmark_node_previous(n) ? ""
		                : r->number            ? arena_print(r->arena, "%d.", r->number++)
		                                       : "•";
	}
	begin_sentence(r);
}

/* A paragraph that is a picture says what it shows. */
static void end_text(struct blocks_reader *r, cmark_node *n)
{
	cmark_node *first = cmark_node_first_child(n);
	end_sentence(r);
	if (first && cmark_node_get_type(first) == CMARK_NODE_IMAGE) {
		r->block.kind = BLOCK_PICTURE;
		r->block.url = arena_copy(r->arena, cmark_node_get_url(first));
	}
	if (r->block.sentence_count || r->block.url)
		add(r, &r->block);
}

static void add_code(struct blocks_reader *r, const char *code)
{
	struct block b = {.kind = BLOCK_CODE};
	int capacity = 0;
	while (*code) {
		size_t n = strcspn(code, "\n");
		b.sentence = arena_grow(r->arena, b.sentence, b.sentence_count, &capacity, sizeof *b.sentence);
		b.sentence[b.sentence_count++] = arena_print(r->arena, "%.*s\n", (int)n, code);
		code += n + (code[n] == '\n');
	}
	add(r, &b);
}

static void block_node(struct blocks_reader *r, cmark_node *n, bool enter)
{
	switch (cmark_node_get_type(n)) {
	case CMARK_NODE_PARAGRAPH:
	case CMARK_NODE_HEADING:
		if (enter)
			begin_text(r, n);
		else
			end_text(r, n);
		break;
	case CMARK_NODE_LIST:
		r->depth += enter ? 1 : -1;
		r->number =
		        enter && cmark_node_get_list_type(n) == CMARK_ORDERED_LIST ? cmark_node_get_list_start(n) : 0;
		break;
	case CMARK_NODE_CODE_BLOCK:
		add_code(r, cmark_node_get_literal(n));
		break;
	default: /* HTML does not show */
		break;
	}
}

static void read_node(void *context, cmark_node *n, bool enter)
{
	struct blocks_reader *r = context;
	if (r->running && cmark_node_get_type(n) > CMARK_NODE_LAST_BLOCK)
		inline_node(r, n, enter);
	else
		block_node(r, n, enter);
}

void blocks_read(struct blocks *b, struct arena *a, const char *markdown)
{
	markdown_walk(markdown, read_node, &(struct blocks_reader){.b = b, .arena = a});
}

const char *block_markup(struct arena *a, const struct block *b, int from, int to)
{
	const char *out = "";
	for (int i = from; i < to; i++) {
		size_t n = strlen(out);
		bool space = n && (unsigned char)out[n - 1] < 0x80; /* none behind a full-width stop */
		out = arena_print(a, "%s%s%s", out, space ? " " : "", b->sentence[i]);
	}
	return out;
}

/* ---- code ---- */

static const char *without_newline(struct arena *a, const char *text)
{
	size_t n = strlen(text);
	return arena_print(a, "%.*s", (int)(n && text[n - 1] == '\n' ? n - 1 : n), text);
}

const char *code_markup(struct arena *a, const struct block *b)
{
	const char *all = "";
	for (int i = 0; i < b->sentence_count; i++)
		all = arena_print(a, "%s%s", all, b->sentence[i]);
	return markup_escape(a, without_newline(a, all));
}

const char *console_markup(struct arena *a, const struct piece *p)
{
	const char *all = "";
	for (int i = 0; i < p->command_count; i++) {
		const struct lesson_command *c = &p->commands[i];
		const char *output = without_newline(a, c->output);
		all = arena_print(a, "%s%s<b>$ %s</b>%s%s", all, i ? "\n" : "", words_markup(a, c->text),
		                  *output ? "\n" : "", markup_escape(a, output));
	}
	return all;
}
