/* Lessons on paper: Markdown cut into sentences; on slides and handouts of every lesson nothing stands beyond its sheet
 * or is smaller than can be read, and every line of the lesson is there. */
#include <ctype.h>
#include <glob.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/lesson/export/paper.h"
#include "tests/support/suite.h"

/* ---- blocks ---- */

static struct arena arena; /* as long as the program */

static struct blocks read_blocks(const char *markdown)
{
	struct blocks b = {0};
	blocks_read(&b, &arena, markdown);
	return b;
}

START_TEST(sentences)
{
	struct blocks b =
	        read_blocks("## A part\n\nOne & two. *Three. Four* go on.\nFive? `x < y` and so on, e.g. this.\n");
	ck_assert_int_eq(b.count, 2);
	ck_assert_int_eq(b.list[0].kind, BLOCK_HEADING);
	ck_assert_int_eq(b.list[0].level, 2);
	ck_assert_int_eq(b.list[1].kind, BLOCK_TEXT);
	ck_assert_int_eq(b.list[1].sentence_count, 4);
	ck_assert_str_eq(b.list[1].sentence[0], "One &#38; two.");
	ck_assert_str_eq(b.list[1].sentence[1], "<i>Three. Four</i> go on.");
	ck_assert_str_eq(b.list[1].sentence[2], "Five?");
	ck_assert_ptr_nonnull(strstr(b.list[1].sentence[3], "&#60;"));
	ck_assert_str_eq(block_markup(&arena, &b.list[1], 0, 2), "One &#38; two. <i>Three. Four</i> go on.");
}

/* Chinese has no spaces between sentences, nor where a line of the file ends. */
START_TEST(chinese_sentences)
{
	struct blocks b = read_blocks("每个进程都有一份。它们\n相加？是的。\n");
	ck_assert_int_eq(b.list[0].sentence_count, 3);
	ck_assert_str_eq(b.list[0].sentence[1], "它们相加？");
	ck_assert_str_eq(block_markup(&arena, &b.list[0], 0, 3), "每个进程都有一份。它们相加？是的。");
}

START_TEST(other_blocks)
{
	struct blocks b = read_blocks(
	        "3. three\n4. four\n   - inner\n\n```\nx  y\n\nz\n```\n\n![words *here*](pictures/p.png)\n");
	ck_assert_int_eq(b.count, 5);
	ck_assert_int_eq(b.list[0].kind, BLOCK_ITEM);
	ck_assert_str_eq(b.list[0].lead, "3.");
	ck_assert_str_eq(b.list[1].lead, "4.");
	ck_assert_int_eq(b.list[2].level, 2);
	ck_assert_str_eq(b.list[2].lead, "•");
	ck_assert_int_eq(b.list[3].kind, BLOCK_CODE);
	ck_assert_str_eq(code_markup(&arena, &b.list[3]), "x  y\n\nz");
	ck_assert_int_eq(b.list[4].kind, BLOCK_PICTURE);
	ck_assert_str_eq(b.list[4].url, "pictures/p.png");
	ck_assert_str_eq(b.list[4].sentence[0], "words <i>here</i>");
}

/* ---- every lesson ---- */

static const struct {
	enum status (*make)(struct paper *p, const struct course *c);
	double least; /* size of text, but for feet and headers */
	double wide;  /* and for code of more than 95 columns */
	const char *name;
} forms[] = {{slides_make, 14, 11, "slides"}, {handout_make, 7.5, 6, "handout"}};

static double least_size(int form, const char *text)
{
	int columns = 0, lines = 0;
	paper_count(text, 130, &columns, &lines);
	return columns > 95 ? forms[form].wide : forms[form].least;
}

static void check_item(const struct paper *p, const struct paper_item *item, int form, const char *name)
{
	const char *text = item->layout ? pango_layout_get_text(item->layout) : "a box or picture";
	ck_assert_int_lt(item->sheet, p->sheet_count);
	ck_assert_msg(item->x >= 0 && item->y >= 0 && item->x + item->width <= p->form->width + 0.5 &&
	                      item->y + item->height <= p->form->height + 0.5,
	              "%s, sheet %d: beyond it: %s", name, item->sheet + 1, text);
	if (!item->layout)
		return;
	PangoRectangle ink, logical;
	pango_layout_get_extents(item->layout, &ink, &logical);
	ck_assert_msg(item->x + (double)(ink.x + ink.width) / PANGO_SCALE <= p->form->width - 20,
	              "%s, sheet %d: too wide: %s", name, item->sheet + 1, text);
	const PangoFontDescription *font = pango_layout_get_font_description(item->layout);
	bool edge = item->y < 60 || item->y > p->form->height - 50;
	ck_assert_msg(edge || pango_font_description_get_size(font) >= least_size(form, text) * PANGO_SCALE,
	              "%s, sheet %d: too small: %s", name, item->sheet + 1, text);
}

/* Text of a block that does not end above the foot would run into it. */
static void check_flow(const struct paper *p, const struct paper_item *item, const char *name)
{
	double foot = p->form->height - p->form->bottom;
	if (item->y < foot)
		ck_assert_msg(item->y + item->height <= foot + 1, "%s, sheet %d: into the foot", name, item->sheet + 1);
}

/* Without spaces: where lines end does not matter. */
static void append_plain(FILE *out, const char *text)
{
	for (; *text; text++)
		if (!isspace((unsigned char)*text))
			fputc(*text, out);
}

/* All that is written, each text once. */
static char *all_text(const struct paper *p)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	for (int i = 0; i < p->item_count; i++)
		if (p->items[i].layout && !p->items[i].first)
			append_plain(out, pango_layout_get_text(p->items[i].layout));
	fclose(out);
	return text;
}

/* A line of the file as it is read: without Markdown's marks. */
static void read_line(const char *line, bool code, char *out, size_t size)
{
	size_t n = 0;
	if (!code) {
		line += strspn(line, " #");
	}
	for (; *line && n + 1 < size; line++) {
		if (!code && !strncmp(line, "](", 2)) {
			line += strcspn(line, ")");
			continue;
		}
		if (!isspace((unsigned char)*line) && (code || !strchr("*`[]!", *line)))
			out[n++] = *line;
	}
	out[n] = 0;
}

static const char *skip_number(const char *line)
{
	const char *end = line + strspn(line, "0123456789");
	return end > line && !strncmp(end, ". ", 2) ? end + 2 : line + 2 * !strncmp(line, "- ", 2);
}

/* NULL: the line ends it. */
static const char *end_of_sentence(const char *from)
{
	while (*from && !((*from == '.' || *from == '?') && from[1] == ' '))
		from++;
	return *from ? from : NULL;
}

/* Sentences may stand on different slides: they are looked for one by one. */
static void check_line(const char *all, const char *line, bool code, const char *where)
{
	char plain[2048];
	for (const char *from = code ? line : skip_number(line + strspn(line, " ")); *from;) {
		const char *end = code ? NULL : end_of_sentence(from);
		char sentence[2048];
		snprintf(sentence, sizeof sentence, "%.*s", end ? (int)(end - from + 1) : (int)strlen(from), from);
		read_line(sentence, code, plain, sizeof plain);
		ck_assert_msg(strstr(all, plain) != NULL, "%s: '%s' is not there", where, sentence);
		from += strlen(sentence) + (end != NULL);
	}
}

static void check_lines(const struct lesson *l, const char *all, const char *name)
{
	bool code = false;
	char where[400 + 300];
	for (int i = 0; i < l->line_count; i++) {
		const char *line = l->lines[i];
		snprintf(where, sizeof where, "%s, %.300s:%d", name, l->path, i + 1);
		if (!strncmp(line, "```", 3)) {
			code = !code;
			continue;
		}
		bool mark = !code && (*line == '<' || !strncmp(line, "![", 2));
		size_t n = strlen(line);
		bool continued = code && n && (line[n - 1] == '\\' || !strncmp(line, "> ", 2));
		if (!mark && !continued)
			check_line(all, line, code, where);
	}
}

static glob_t files;

static void open_files(void)
{
	ck_assert_int_eq(glob("lessons/[0-9]*.md", 0, NULL, &files), 0);
}

START_LOOP_TEST(everything_is_there, 0, 2)
{
	for (size_t i = 0; i < files.gl_pathc; i++) {
		struct lesson l;
		struct paper p;
		char name[300];
		ck_assert_int_eq(lesson_open(&l, files.gl_pathv[i]), STATUS_OK);
		struct course c = {.lessons = &l, .count = 1, .language = "en"};
		snprintf(name, sizeof name, "%s of %s", forms[_i].name, files.gl_pathv[i]);
		enum status s = forms[_i].make(&p, &c);
		ck_assert_msg(!s, "%s: %s", name, status_message());
		ck_assert_int_gt(p.sheet_count, 1);
		for (int k = 0; k < p.item_count; k++) {
			check_item(&p, &p.items[k], _i, name);
			check_flow(&p, &p.items[k], name);
		}
		char *all = all_text(&p);
		check_lines(&l, all, name);
		free(all);
		paper_release(&p);
		lesson_release(&l);
	}
}

/* ---- single cases ---- */

#define HEAD "# 7. Title\n<!-- lesson: minutes=5 after=2,3 -->\n\nBegin.\n\n"

static void read_lesson(struct lesson *l, const char *text)
{
	ck_assert_int_eq(lesson_read(l, text, strlen(text), "lessons/x.md"), STATUS_OK);
}

static const struct paper_item *find(const struct paper *p, const char *text)
{
	for (int i = 0; i < p->item_count; i++)
		if (p->items[i].layout && strstr(pango_layout_get_text(p->items[i].layout), text))
			return &p->items[i];
	ck_abort_msg("'%s' is not there", text);
}

/* A question stands on one slide and its answer on the next; in a handout the answer is on the last page. */
START_TEST(answers_come_later)
{
	struct lesson l;
	struct paper p;
	read_lesson(&l, HEAD
	            "<!-- ask: choice 2 -->\nWhich one?\n\n1. alpha\n2. beta\n\n<details><summary>Answer</summary>\n\n"
	            "Since so.\n\n</details>\n\nAfterwards.\n");
	struct course c = {.lessons = &l, .count = 1, .language = "en"};
	ck_assert_int_eq(slides_make(&p, &c), STATUS_OK);
	ck_assert_int_eq(find(&p, "Which one?")->sheet, 1);
	ck_assert_int_eq(find(&p, "alpha")->sheet, 1);
	ck_assert_int_eq(find(&p, "Since so.")->sheet, 2);
	ck_assert_int_eq(find(&p, "✓")->sheet, 2);
	ck_assert_int_eq(find(&p, "Afterwards.")->sheet, 3);
	ck_assert_int_eq(p.sheet_count, 4);
	paper_release(&p);
	ck_assert_int_eq(handout_make(&p, &c), STATUS_OK);
	ck_assert_int_eq(p.sheet_count, 2);
	ck_assert_int_eq(find(&p, "Which one?")->sheet, 0);
	ck_assert_int_eq(find(&p, "Since so.")->sheet, 1);
	ck_assert_int_eq(find(&p, "page 2 of 2")->sheet, 1);
	paper_release(&p);
	lesson_release(&l);
}

/* Twelve parts of five lines each: none is torn apart. */
START_TEST(code_ends_between_parts)
{
	struct lesson l;
	struct paper p;
	char text[4096] = HEAD "<!-- run: exact -->\n```console\n$ shardlab help\n";
	for (int part = 0; part < 12; part++)
		for (int line = 0; line < 6; line++)
			snprintf(text + strlen(text), sizeof text - strlen(text), line < 5 ? "part %d line %d\n" : "\n",
			         part, line);
	snprintf(text + strlen(text), sizeof text - strlen(text), "end\n```\n");
	read_lesson(&l, text);
	struct course c = {.lessons = &l, .count = 1, .language = "en"};
	ck_assert_int_eq(slides_make(&p, &c), STATUS_OK);
	int parts = 0;
	for (int i = 0; i < p.item_count; i++) {
		const struct paper_item *item = &p.items[i];
		if (!item->layout || !strstr(pango_layout_get_text(item->layout), "part 0 line 0"))
			continue;
		PangoLayoutLine *last = pango_layout_get_line_readonly(item->layout, item->end - 1);
		const char *line = pango_layout_get_text(item->layout) + last->start_index;
		ck_assert_msg(!strncmp(line, "end", 3) || strstr(line, "line 4") == line + strcspn(line, "l"),
		              "a slide ends with '%.14s'", line);
		parts++;
	}
	ck_assert_int_gt(parts, 2);
	paper_release(&p);
	lesson_release(&l);
}

START_TEST(what_is_missing_is_said)
{
	struct lesson l;
	struct paper p;
	read_lesson(&l, HEAD "<!-- view: strategy=zero3 -->\n![words](pictures/none.png)\n");
	struct course c = {.lessons = &l, .count = 1, .language = "en"};
	for (int form = 0; form < 2; form++) {
		ck_assert_int_eq(forms[form].make(&p, &c), STATUS_INPUT);
		ck_assert_ptr_nonnull(
		        strstr(status_message(), "lessons/x.md:6: the picture pictures/none.png is missing"));
		paper_release(&p);
	}
	lesson_release(&l);
	read_lesson(&l, HEAD "No font has \xf3\xb0\x80\x80.\n");
	ck_assert_int_eq(slides_make(&p, &c), STATUS_INPUT);
	ck_assert_ptr_nonnull(strstr(status_message(), "no installed font has all characters"));
	paper_release(&p);
	lesson_release(&l);
}

START_TEST(formats_by_name)
{
	static const struct {
		const char *path;
		enum status status;
		enum lesson_format format;
	} names[] = {{"lesson.html", STATUS_OK, LESSON_PAGE},          {"a.b/slides.pdf", STATUS_OK, LESSON_SLIDES},
	             {"slides-3.pdf", STATUS_OK, LESSON_SLIDES},       {"handout.pdf", STATUS_OK, LESSON_HANDOUT},
	             {"slides.html", STATUS_OK, LESSON_PAGE},          {"lesson.pdf", STATUS_INPUT, LESSON_PAGE},
	             {"slides/lesson.pdf", STATUS_INPUT, LESSON_PAGE}, {"slides", STATUS_INPUT, LESSON_PAGE},
	             {"slides.docx", STATUS_INPUT, LESSON_PAGE},       {".html", STATUS_INPUT, LESSON_PAGE}};
	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
		enum lesson_format f = LESSON_PAGE;
		ck_assert_msg(lesson_format_of(names[i].path, &f) == names[i].status && f == names[i].format, "%s",
		              names[i].path);
	}
}

SUITE_WITH("lessons on paper", 120, open_files, NULL)
