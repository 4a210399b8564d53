/* Lessons as a page: the text as cmark renders it, questions that can be answered, and steps that play. */
#include <cmark.h>
#include <stdlib.h>
#include <string.h>

#include "cli/lesson/answer.h"
#include "cli/lesson/export/embed.h"
#include "cli/lesson/export/export.h"
#include "cli/lesson/export/page_text.h"
#include "cli/lesson/export/words.h"
#include "cli/lesson/shell.h"
#include "cli/show/progress.h"
#include "strategy/base/file.h"
#include "strategy/base/memory.h"
#include "viz/draw/record.h"
#include "viz/export/export.h"

enum { MOST_PAGE = 256 << 20 };

struct page {
	const struct course *course;
	const struct lesson *l; /* the lesson at hand */
	FILE *out;
	struct place place; /* where `view` writes steps */
	struct progress progress;
	int views, questions;
};

static const char *word(const struct page *g, enum lesson_word w)
{
	return lesson_word(g->course->language, w);
}

static void put_escaped(const struct page *g, const char *text)
{
	for (; *text; text++)
		if (strchr("<>&\"", *text))
			fprintf(g->out, "&#%d;", *text);
		else
			fputc(*text, g->out);
}

/* ---- Markdown ---- */

static enum status embed_image(struct page *g, int line, cmark_node *image)
{
	char path[1024], *url = NULL;
	size_t size = 0;
	TRY(lesson_picture_path(g->l, line, cmark_node_get_url(image), path, sizeof path));
	FILE *f = memory_stream(&url, &size);
	enum status s = embed_png(path, f);
	memory_stream_close(f);
	cmark_node_set_url(image, url);
	free(url);
	return s;
}

/* A link leads to a lesson of the same page or nowhere, since a page stands alone. */
static void mend_link(const struct page *g, cmark_node *link)
{
	const char *url = cmark_node_get_url(link);
	char to[32];
	if (strstr(url, "://"))
		return;
	for (int i = 0; i < g->course->count; i++)
		if (atoi(url) == g->course->lessons[i].number && strstr(url, ".md")) {
			snprintf(to, sizeof to, "#lesson-%d", g->course->lessons[i].number);
			cmark_node_set_url(link, to);
			return;
		}
	while (cmark_node_first_child(link))
		cmark_node_insert_before(link, cmark_node_first_child(link));
	cmark_node_free(link);
}

static enum status mend(struct page *g, int line, cmark_node *document)
{
	enum status s = STATUS_OK;
	cmark_event_type event;
	cmark_iter *walk = cmark_iter_new(document);
	while (!s && (event = cmark_iter_next(walk)) != CMARK_EVENT_DONE) {
		cmark_node *n = cmark_iter_get_node(walk);
		if (event == CMARK_EVENT_ENTER && cmark_node_get_type(n) == CMARK_NODE_IMAGE)
			s = embed_image(g, line, n);
		if (event == CMARK_EVENT_EXIT && cmark_node_get_type(n) == CMARK_NODE_LINK)
			mend_link(g, n);
	}
	cmark_iter_free(walk);
	return s;
}

static void put_facts(struct page *g)
{
	char facts[480];
	fputs("<p class=\"facts\">", g->out);
	put_escaped(g, lesson_facts(g->course->language, g->l, facts, sizeof facts));
	fputs("</p>\n", g->out);
}

/* The line below the title says how long the lesson takes. */
static void put_rendered(struct page *g, cmark_node *document)
{
	static const char end[] = "</h1>\n";
	char *html = cmark_render_html(document, CMARK_OPT_UNSAFE); /* with data: as addresses of pictures */
	char *title = strstr(html, end);
	if (title) {
		fprintf(g->out, "%.*s%s", (int)(title - html), html, end);
		put_facts(g);
	}
	fputs(title ? title + strlen(end) : html, g->out);
	free(html);
}

static enum status put_markdown(struct page *g, int line, const char *markdown)
{
	cmark_node *document = cmark_parse_document(markdown, strlen(markdown), CMARK_OPT_DEFAULT);
	enum status s = mend(g, line, document);
	if (!s)
		put_rendered(g, document);
	cmark_node_free(document);
	return s;
}

/* One paragraph, without its <p>. */
static void put_words(struct page *g, const char *markdown)
{
	char *html = cmark_markdown_to_html(markdown, strlen(markdown), CMARK_OPT_DEFAULT);
	const char *from = strncmp(html, "<p>", 3) ? html : html + 3, *end = strstr(from, "</p>");
	fprintf(g->out, "%.*s", end ? (int)(end - from) : (int)strlen(from), from);
	free(html);
}

/* ---- pieces ---- */

static enum status put_text(struct page *g, const struct piece *p)
{
	return put_markdown(g, p->line, p->markdown);
}

static enum status put_run(struct page *g, const struct piece *p)
{
	fputs("<figure><pre>", g->out);
	for (int i = 0; i < p->command_count; i++) {
		fputs("<b>$ ", g->out);
		put_escaped(g, p->commands[i].text);
		fputs("</b>\n", g->out);
		put_escaped(g, p->commands[i].output);
	}
	fprintf(g->out, "</pre><figcaption>%s</figcaption></figure>\n",
	        lesson_check_word(g->course->language, p->check));
	return STATUS_OK;
}

/* The step as `view` writes it, reduced to the part of its page that differs from step to step. */
static enum status put_step(struct page *g, const struct piece *p)
{
	char file[sizeof g->place.folder + 32], *text, command[2048];
	size_t size;
	int exit_status;
	snprintf(command, sizeof command, "shardlab view %s --export step.html", p->options);
	enum status s = place_run(&g->place, command, &text, &exit_status);
	if (!s && exit_status)
		s = lesson_fail(g->l, p->line, "%.300s: %.*s", command, (int)strcspn(text, "\n"), text);
	free(text);
	snprintf(file, sizeof file, "%s/step.html", g->place.folder);
	if (s || (s = file_read(file, "view", MOST_PAGE, &text, &size)))
		return s;
	char *end = realloc(text, size + 1);
	if (!end) {
		free(text);
		return status_fail(STATUS_MEMORY, "no memory for the page");
	}
	(text = end)[size] = 0;
	const char *data = export_player_data(text, &size);
	s = data ? embed_packed(data, size, g->out) : lesson_fail(g->l, p->line, "`%.300s` wrote no page", command);
	free(text);
	return s;
}

static void put_alternative(struct page *g, const struct piece *p)
{
	const char *from = strstr(p->markdown, "![");
	size_t length = from ? strcspn(from + 2, "]") : 0;
	for (size_t i = 0; i < length; i++)
		put_escaped(g, (char[]){from[2 + i], 0});
}

/* Can the view be stepped through? A view of a program built in the lesson, or of several steps against each other,
 * becomes a picture. */
static bool can_play(const struct piece *p)
{
	return !strcmp(p->program, LESSON_PROGRAM) && !strstr(p->options, "--race");
}

static void put_caption(struct page *g, const struct piece *p)
{
	fputs("<figcaption>", g->out);
	put_alternative(g, p);
	fputs("<br><code>", g->out);
	put_escaped(g, p->program);
	fputs(" view ", g->out);
	for (const char *c = p->options; *c; c++)
		if (*c != '\'')
			put_escaped(g, (char[]){*c, 0});
	fputs("</code></figcaption>\n", g->out);
}

static enum status put_player(struct page *g, const struct piece *p)
{
	fprintf(g->out, "<button>&#9654; %s</button>\n<script type=\"text/plain\">", word(g, WORD_STEP_THROUGH));
	progress_show(&g->progress, g->views++, p->picture);
	enum status s = put_step(g, p);
	fputs("</script>", g->out);
	return s;
}

static enum status put_view(struct page *g, const struct piece *p)
{
	char path[1024];
	TRY(lesson_picture_path(g->l, p->line, p->picture, path, sizeof path));
	fprintf(g->out, "<figure%s><img alt=\"", can_play(p) ? " class=\"view\"" : "");
	put_alternative(g, p);
	fputs("\" src=\"", g->out);
	TRY(embed_png(path, g->out));
	fputs("\">\n", g->out);
	put_caption(g, p);
	enum status s = can_play(p) ? put_player(g, p) : STATUS_OK;
	fputs("</figure>\n", g->out);
	return s;
}

static void put_choices(struct page *g, const struct piece *p)
{
	fputs("<ol class=\"choices\">\n", g->out);
	for (int i = 0; i < p->choice_count; i++) {
		fprintf(g->out, "<li><button>%d. ", i + 1);
		put_words(g, p->choices[i]);
		fputs("</button></li>\n", g->out);
	}
	fputs("</ol>\n", g->out);
}

static enum status put_reason(struct page *g, const struct piece *p, enum lesson_word title)
{
	fprintf(g->out, "<p class=\"verdict\" role=\"status\"></p>\n<details><summary>%s</summary>\n", word(g, title));
	enum status s = put_markdown(g, p->line, p->reason);
	fputs("</details>\n", g->out);
	return s;
}

/* Writes what the script needs to judge an answer. */
static enum status begin_question(struct page *g, const struct piece *p)
{
	double value;
	if (p->choice) {
		fprintf(g->out, "<section class=\"ask\" data-right=\"%d\">\n", p->right);
		return STATUS_OK;
	}
	const char *unit = lesson_amount(p, &value);
	if (!unit)
		return lesson_fail(g->l, p->line, "ask: '%.60s' is no number", p->answer);
	fprintf(g->out, "<section class=\"ask\" data-number=\"%.17g\" data-unit=\"%s\" data-tolerance=\"%g\">\n", value,
	        unit, p->tolerance);
	return STATUS_OK;
}

static enum status put_ask(struct page *g, const struct piece *p)
{
	TRY(begin_question(g, p));
	fputs("<p class=\"label\">", g->out);
	fprintf(g->out, word(g, WORD_QUESTION), ++g->questions); // NOLINT(clang-diagnostic-format-nonliteral)
	fputs("</p>\n", g->out);
	TRY(put_markdown(g, p->line, p->question));
	if (p->choice)
		put_choices(g, p);
	else
		fprintf(g->out,
		        "<div class=\"number\"><input type=\"text\" autocomplete=\"off\" aria-label=\"%s\" "
		        "placeholder=\"%s\"><button>%s</button></div>\n",
		        word(g, WORD_YOUR_ANSWER), word(g, WORD_YOUR_ANSWER), word(g, WORD_SUBMIT));
	enum status s = put_reason(g, p, WORD_ANSWER);
	fputs("</section>\n", g->out);
	return s;
}

static enum status put_exercise(struct page *g, const struct piece *p)
{
	fprintf(g->out, "<section class=\"exercise\"><p class=\"label\">%s</p>\n", word(g, WORD_EXERCISE));
	TRY(put_markdown(g, p->line, p->question));
	char check[128];
	fprintf(g->out, "<p>%s</p>\n<pre><b>$ ", word(g, WORD_WHEN_DONE));
	put_escaped(g, lesson_check_command(g->course->language, g->l, p, check, sizeof check));
	fputs("</b></pre>\n", g->out);
	enum status s = put_reason(g, p, WORD_SOLUTION);
	fputs("</section>\n", g->out);
	return s;
}

static enum status (*const puts_piece[])(struct page *g, const struct piece *p) = {
        [PIECE_TEXT] = put_text, [PIECE_RUN] = put_run,           [PIECE_VIEW] = put_view,
        [PIECE_ASK] = put_ask,   [PIECE_EXERCISE] = put_exercise,
};

/* ---- lessons ---- */

static enum status put_lesson(struct page *g, const struct lesson *l)
{
	enum status s = STATUS_OK;
	g->l = l;
	g->questions = 0;
	fprintf(g->out, "<article id=\"lesson-%d\">\n", l->number);
	for (int i = 0; !s && i < l->piece_count; i++)
		s = puts_piece[l->pieces[i].kind](g, &l->pieces[i]);
	fputs("<p class=\"tally\" role=\"status\"></p>\n</article>\n", g->out);
	return s;
}

static void put_list(struct page *g)
{
	const struct course *c = g->course;
	fprintf(g->out, "<nav><h1>%s</h1>\n<ol>\n", word(g, WORD_COURSE));
	for (int i = 0; i < c->count; i++) {
		fprintf(g->out, "<li><a href=\"#lesson-%d\">", c->lessons[i].number);
		put_escaped(g, c->lessons[i].title);
		fputs("</a></li>\n", g->out);
	}
	fputs("</ol></nav>\n", g->out);
}

static void put_head(struct page *g)
{
	const struct course *c = g->course;
	fprintf(g->out,
	        "<!DOCTYPE html>\n<html lang=\"%s\">\n<head>\n<meta charset=\"utf-8\">\n"
	        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
	        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; img-src data:; "
	        "style-src 'unsafe-inline'; script-src 'unsafe-inline'\">\n<link rel=\"icon\" "
	        "href=\"data:,\">\n<title>",
	        c->language);
	put_escaped(g, c->count == 1 ? c->lessons[0].title : word(g, WORD_COURSE));
	fprintf(g->out, "</title>\n<style>\n%s</style>\n</head>\n<body>\n<main>\n", lesson_page_style);
}

static void put_word(struct page *g, const char *name, enum lesson_word w)
{
	fprintf(g->out, "\"%s\":", name);
	record_put_text(word(g, w), strlen(word(g, w)), g->out);
}

static void put_scripts(struct page *g)
{
	fputs("</main>\n<script type=\"application/json\" id=\"words\">{", g->out);
	put_word(g, "right", WORD_RIGHT);
	fputc(',', g->out);
	put_word(g, "wrong", WORD_WRONG);
	fputc(',', g->out);
	put_word(g, "tally", WORD_TALLY);
	fputc(',', g->out);
	put_word(g, "old", WORD_TOO_OLD);
	fputs("}</script>\n", g->out);
	if (g->views) {
		fputs("<script type=\"application/json\" id=\"player\">", g->out);
		export_player(g->out);
		fputs("</script>\n", g->out);
	}
	fputs("<script>\n'use strict';\n", g->out);
	for (const char *const *line = page_amounts; *line; line++)
		page_put(*line, g->out);
	fprintf(g->out, "%s</script>\n</body>\n</html>\n", lesson_page_script);
}

static int count_views(const struct course *c)
{
	int views = 0;
	for (int i = 0; i < c->count; i++)
		for (int k = 0; k < c->lessons[i].piece_count; k++)
			views += c->lessons[i].pieces[k].kind == PIECE_VIEW && can_play(&c->lessons[i].pieces[k]);
	return views;
}

enum status lesson_write_page(const struct course *c, FILE *out)
{
	struct page g = {.course = c, .out = out};
	enum status s = place_open(&g.place, ".");
	progress_begin(&g.progress, count_views(c));
	if (!s)
		put_head(&g);
	if (!s && c->count > 1)
		put_list(&g);
	for (int i = 0; !s && i < c->count; i++)
		s = put_lesson(&g, &c->lessons[i]);
	if (!s)
		put_scripts(&g);
	progress_clear(&g.progress);
	place_close(&g.place);
	return s;
}
