/* Reading a lesson: cmark finds the blocks, directives say what they are for. */
#include <cmark.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/lesson/directive.h"
#include "cli/lesson/lesson.h"
#include "strategy/base/file.h"
#include "strategy/base/number.h"

enum { MOST_BYTES = 1 << 20, MOST_CHOICES = 9 };

/* The blocks of a file, one after another. */
struct reader {
	struct lesson *l;
	cmark_node *at; /* the next block; NULL: the end */
	int piece_capacity;
	struct directive d; /* the directive at hand */
};

static const char *const check_names[] = {
#define X(constant, name, what) name,
        LESSON_CHECKS(X)
#undef X
};

enum status lesson_fail(const struct lesson *l, int line, const char *format, ...)
{
	char text[512];
	va_list args;
	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	return status_fail(STATUS_INPUT, "%.200s:%d: %s", l->path, line, text);
}

/* ---- lines ---- */

/* Splits lines like cmark: a line ends with \n, \r, or both. */
static void split_lines(struct lesson *l, const char *text, size_t size)
{
	int capacity = 0;
	for (size_t at = 0; at < size;) {
		size_t end = at;
		while (end < size && text[end] != '\n' && text[end] != '\r')
			end++;
		l->lines = arena_grow(&l->arena, l->lines, l->line_count, &capacity, sizeof *l->lines);
		l->lines[l->line_count++] = arena_print(&l->arena, "%.*s", (int)(end - at), text + at);
		at = end + 1 + (end + 1 < size && text[end] == '\r' && text[end + 1] == '\n');
	}
}

/* Lines [first, end), from 1, each with its newline. */
static const char *join(struct lesson *l, int first, int end)
{
	size_t size = 1, at = 0;
	for (int i = first; i < end; i++)
		size += strlen(l->lines[i - 1]) + 1;
	char *out = arena_alloc(&l->arena, size);
	for (int i = first; i < end; i++)
		at += (size_t)snprintf(out + at, size - at, "%s\n", l->lines[i - 1]);
	return out;
}

static int first_line(cmark_node *n)
{
	return cmark_node_get_start_line(n);
}

/* A fenced block or a comment that runs to the end of the file may end behind it. */
static int end_line(const struct lesson *l, cmark_node *n)
{
	int end = cmark_node_get_end_line(n) + 1;
	return end <= l->line_count + 1 ? end : l->line_count + 1;
}

/* ---- blocks ---- */

static const char *html_of(cmark_node *n)
{
	return n && cmark_node_get_type(n) == CMARK_NODE_HTML_BLOCK ? cmark_node_get_literal(n) : "";
}

static bool is_html(cmark_node *n, const char *begin)
{
	return !strncmp(html_of(n), begin, strlen(begin));
}

static bool is_type(cmark_node *n, cmark_node_type type)
{
	return n && cmark_node_get_type(n) == type;
}

static bool is_console(cmark_node *n)
{
	return is_type(n, CMARK_NODE_CODE_BLOCK) && !strcmp(cmark_node_get_fence_info(n), "console");
}

static struct piece *add_piece(struct reader *r, enum piece_kind kind, int line)
{
	struct lesson *l = r->l;
	l->pieces = arena_grow(&l->arena, l->pieces, l->piece_count, &r->piece_capacity, sizeof *l->pieces);
	struct piece *p = &l->pieces[l->piece_count++];
	*p = (struct piece){.kind = kind, .line = line, .first = line, .end = line};
	return p;
}

/* The piece takes the block at hand. */
static void take(struct reader *r, struct piece *p)
{
	if (!p->markdown)
		p->first = first_line(r->at);
	p->end = end_line(r->l, r->at);
	p->markdown = join(r->l, p->first, p->end);
	r->at = cmark_node_next(r->at);
}

/* ---- run ---- */

static enum status read_check(struct reader *r, struct piece *p)
{
	const char *word = directive_word(&r->d, 0), *more = directive_word(&r->d, 1);
	p->fails = !strcmp(more, "fails");
	if (*more && !p->fails)
		return lesson_fail(r->l, p->line, "run: unknown word '%.40s'; `fails` says that the program refuses",
		                   more);
	for (size_t i = 0; i < sizeof check_names / sizeof check_names[0]; i++)
		if (!strcmp(word, check_names[i])) {
			p->check = (enum lesson_check)i;
			p->tolerance = p->check == LESSON_RATIO ? 10 : 0;
			return directive_real(&r->d, r->l, "tolerance", 0, 1000, &p->tolerance);
		}
	return lesson_fail(r->l, p->line, "run: '%.40s' is no way to check; write exact, ratio or pattern", word);
}

/* "$ command", which goes on in the next line after a backslash. Returns the line behind it. */
static int read_command(struct lesson *l, struct lesson_command *c, int i, int end)
{
	const char *line = l->lines[i - 1] + 2;
	c->line = i;
	c->text = line;
	for (i++; i < end && *c->text && c->text[strlen(c->text) - 1] == '\\'; i++)
		c->text = arena_print(&l->arena, "%.*s%s", (int)strlen(c->text) - 1, c->text,
		                      l->lines[i - 1] + strspn(l->lines[i - 1], "> "));
	return i;
}

static enum status read_console(struct lesson *l, struct piece *p)
{
	int capacity = 0, end = p->end - 1;
	for (int i = p->first + 1; i < end;) {
		if (strncmp(l->lines[i - 1], "$ ", 2) != 0)
			return lesson_fail(l, i, "a console block begins with '$ ' and a command");
		p->commands = arena_grow(&l->arena, p->commands, p->command_count, &capacity, sizeof *p->commands);
		struct lesson_command *c = &p->commands[p->command_count++];
		i = read_command(l, c, i, end);
		int from = i;
		while (i < end && strncmp(l->lines[i - 1], "$ ", 2) != 0)
			i++;
		c->output = join(l, from, i);
	}
	return p->command_count ? STATUS_OK : lesson_fail(l, p->line, "the console block is empty");
}

static enum status read_run(struct reader *r, struct piece *p)
{
	TRY(read_check(r, p));
	p->where = arena_copy(&r->l->arena, directive_value(&r->d, "where"));
	if (!is_console(r->at))
		return lesson_fail(r->l, p->line, "run: a block ```console must follow");
	take(r, p);
	return read_console(r->l, p);
}

/* ---- view ---- */

/* A translation shares the pictures of the lessons in the folder above it. */
static bool is_picture(const char *path)
{
	static const char shared[] = "../pictures/";
	const char *name = !strncmp(path, shared, sizeof shared - 1) ? path + sizeof shared - 1 : path;
	size_t length = strlen(name);
	return *name != '/' && !strstr(name, "..") && length > 4 && !strcmp(name + length - 4, ".png");
}

static enum status read_view(struct reader *r, struct piece *p)
{
	cmark_node *image = is_type(r->at, CMARK_NODE_PARAGRAPH) ? cmark_node_first_child(r->at) : NULL;
	if (!is_type(image, CMARK_NODE_IMAGE))
		return lesson_fail(r->l, p->line, "view: a picture must follow, as in ![words](pictures/NAME.png)");
	p->picture = arena_copy(&r->l->arena, cmark_node_get_url(image));
	if (!is_picture(p->picture))
		return lesson_fail(r->l, p->line, "view: '%.80s' is not a PNG file beside the lesson", p->picture);
	const char *program = directive_value(&r->d, "program");
	p->program = *program ? arena_copy(&r->l->arena, program) : LESSON_PROGRAM;
	p->options = directive_options(&r->d, &r->l->arena, "program");
	for (int i = 0; i < r->d.count; i++)
		if (strchr(r->d.word[i], '\'') || (r->d.value[i] && strchr(r->d.value[i], '\'')))
			return lesson_fail(r->l, p->line, "view: no quotation mark ' in an option");
	take(r, p);
	return STATUS_OK;
}

/* ---- ask ---- */

static enum status read_choices(struct reader *r, struct piece *p)
{
	const char *choices[MOST_CHOICES];
	if (!is_type(r->at, CMARK_NODE_LIST))
		return lesson_fail(r->l, p->line, "ask: a numbered list of choices must follow the question");
	for (cmark_node *n = cmark_node_first_child(r->at); n; n = cmark_node_next(n)) {
		if (p->choice_count == MOST_CHOICES)
			return lesson_fail(r->l, first_line(n), "ask: more than %d choices", MOST_CHOICES);
		const char *text = join(r->l, first_line(n), end_line(r->l, n));
		text += strspn(text, " 0123456789"); /* "2. " */
		text += strspn(text, ".)-* ");
		choices[p->choice_count++] = arena_print(&r->l->arena, "%.*s", (int)strcspn(text, "\n"), text);
	}
	const char **copy = arena_alloc(&r->l->arena, sizeof choices);
	memcpy(copy, choices, (size_t)p->choice_count * sizeof *choices);
	p->choices = copy;
	take(r, p);
	return STATUS_OK;
}

/* <details> … </details>, of which the text between is kept. */
static enum status read_details(struct reader *r, struct piece *p)
{
	if (!is_html(r->at, "<details>"))
		return lesson_fail(r->l, p->line, "%s: <details> with the answer must follow",
		                   p->kind == PIECE_ASK ? "ask" : "exercise");
	int from = end_line(r->l, r->at);
	while (r->at && !strstr(html_of(r->at), "</details>"))
		take(r, p);
	if (!r->at)
		return lesson_fail(r->l, p->line, "<details> has no </details>, alone on its line between empty lines");
	int to = first_line(r->at);
	p->reason = from < to ? join(r->l, from, to) : "";
	take(r, p);
	return STATUS_OK;
}

static enum status read_right(struct reader *r, struct piece *p)
{
	int64_t right;
	if (!p->choice)
		return *p->answer
		               ? STATUS_OK
		               : lesson_fail(r->l, p->line, "ask: write the right number, as in: ask: number 1.5 GB");
	if (number_whole(directive_word(&r->d, 1), "ask", 1, p->choice_count, &right))
		return lesson_fail(r->l, p->line,
		                   "ask: write which choice is right, from 1 to %d, as in: ask: choice 2",
		                   p->choice_count);
	p->right = (int)right - 1;
	return STATUS_OK;
}

static enum status read_ask(struct reader *r, struct piece *p)
{
	const char *kind = directive_word(&r->d, 0);
	enum status s;
	p->choice = !strcmp(kind, "choice");
	if (!p->choice && strcmp(kind, "number") != 0)
		return lesson_fail(r->l, p->line, "ask: '%.40s' is no kind of question; write choice or number", kind);
	p->answer = directive_rest(&r->d, &r->l->arena, 1);
	p->tolerance = 2;
	if ((s = directive_real(&r->d, r->l, "tolerance", 0, 100, &p->tolerance)))
		return s;
	if (!is_type(r->at, CMARK_NODE_PARAGRAPH))
		return lesson_fail(r->l, p->line, "ask: the question must follow, as a paragraph");
	p->question = join(r->l, first_line(r->at), end_line(r->l, r->at));
	take(r, p);
	if (p->choice && (s = read_choices(r, p)))
		return s;
	s = read_right(r, p);
	return s ? s : read_details(r, p);
}

/* ---- exercise ---- */

static enum status read_exercise(struct reader *r, struct piece *p)
{
	p->name = arena_copy(&r->l->arena, directive_word(&r->d, 0));
	p->checks = arena_copy(&r->l->arena, directive_value(&r->d, "check"));
	if (!*p->name || !*p->checks)
		return lesson_fail(r->l, p->line,
		                   "exercise: write a name and the command that checks it, as in: "
		                   "exercise: first check=\"shardlab plan --plan mine.plan\"");
	int from = r->at ? first_line(r->at) : 0;
	while (r->at && !is_html(r->at, "<"))
		take(r, p);
	p->question = r->at && from < first_line(r->at) ? join(r->l, from, first_line(r->at)) : "";
	if (!*p->question)
		return lesson_fail(r->l, p->line, "exercise: its text must follow");
	return read_details(r, p);
}

/* ---- the whole ---- */

static enum status read_head(struct reader *r, int line)
{
	double minutes = 0;
	TRY(directive_real(&r->d, r->l, "minutes", 1, 600, &minutes));
	if (minutes < 1)
		return lesson_fail(r->l, line, "lesson: say how long it takes, as in: lesson: minutes=20");
	r->l->minutes = (int)minutes;
	r->l->after = arena_copy(&r->l->arena, directive_value(&r->d, "after"));
	r->l->needs = arena_copy(&r->l->arena, directive_value(&r->d, "needs"));
	return STATUS_OK;
}

static const struct {
	const char *name;
	enum piece_kind kind;
	enum status (*read)(struct reader *r, struct piece *p);
	const char *keys; /* the keys it takes; NULL: any, as options of `view` */
} kinds[] = {
        {"run", PIECE_RUN, read_run, " tolerance where "},
        {"view", PIECE_VIEW, read_view, NULL},
        {"ask", PIECE_ASK, read_ask, " tolerance "},
        {"exercise", PIECE_EXERCISE, read_exercise, " check "},
};

static enum status read_directive(struct reader *r)
{
	int line = first_line(r->at);
	enum status s = directive_read(&r->d, r->l, html_of(r->at), line);
	r->at = cmark_node_next(r->at);
	if (s || !*r->d.name)
		return s;
	if (!strcmp(r->d.name, "lesson")) {
		s = directive_check_keys(&r->d, r->l, " minutes after needs ");
		return s ? s : read_head(r, line);
	}
	for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
		if (!strcmp(r->d.name, kinds[i].name)) {
			s = kinds[i].keys ? directive_check_keys(&r->d, r->l, kinds[i].keys) : STATUS_OK;
			return s ? s : kinds[i].read(r, add_piece(r, kinds[i].kind, line));
		}
	return lesson_fail(r->l, line, "unknown directive '%.40s'; there are lesson, run, view, ask and exercise",
	                   r->d.name);
}

/* Text that follows text is one piece. */
static enum status read_text(struct reader *r)
{
	struct lesson *l = r->l;
	struct piece *last = l->piece_count ? &l->pieces[l->piece_count - 1] : NULL;
	if (is_console(r->at))
		return lesson_fail(
		        l, first_line(r->at),
		        "nothing says how this console block is checked: write <!-- run: exact -->, ratio or "
		        "pattern before it");
	if (is_type(r->at, CMARK_NODE_HEADING) && cmark_node_get_heading_level(r->at) == 1 && !l->title) {
		const char *line = l->lines[first_line(r->at) - 1];
		l->title = line + strspn(line, "# ");
		l->number = atoi(l->title);
	}
	bool heading = is_type(r->at, CMARK_NODE_HEADING);
	if (!last || last->kind != PIECE_TEXT || heading || r->at == NULL)
		last = add_piece(r, PIECE_TEXT, first_line(r->at));
	take(r, last);
	return STATUS_OK;
}

static enum status read_blocks(struct reader *r)
{
	while (r->at)
		TRY(is_html(r->at, "<!--") ? read_directive(r) : read_text(r));
	if (!r->l->title)
		return lesson_fail(r->l, 1, "a lesson begins with its title, as in: # 3. Ring all-reduce");
	if (!r->l->minutes)
		return lesson_fail(r->l, 1, "after the title comes <!-- lesson: minutes=20 -->");
	return STATUS_OK;
}

enum status lesson_read(struct lesson *l, const char *text, size_t size, const char *path)
{
	*l = (struct lesson){.after = "", .needs = ""};
	l->path = arena_copy(&l->arena, path);
	if (!size || memchr(text, 0, size)) {
		enum status none =
		        lesson_fail(l, 1, size ? "this is no text: it has a zero byte" : "the file is empty");
		lesson_release(l);
		return none;
	}
	split_lines(l, text, size);
	cmark_node *document = cmark_parse_document(text, size, CMARK_OPT_DEFAULT);
	struct reader r = {.l = l, .at = cmark_node_first_child(document)};
	enum status s = read_blocks(&r);
	cmark_node_free(document);
	if (s)
		lesson_release(l);
	return s;
}

enum status lesson_open(struct lesson *l, const char *path)
{
	char *text;
	size_t size;
	*l = (struct lesson){0};
	TRY(file_read(path, "lesson", MOST_BYTES, &text, &size));
	enum status s = lesson_read(l, text, size, path);
	free(text);
	return s;
}

void lesson_release(struct lesson *l)
{
	if (!l)
		return;
	arena_release(&l->arena);
	*l = (struct lesson){0};
}
