/* Lessons as slides: a few sentences and what they are about on each, a question and its answer one after the other. */
#include <math.h>
#include <string.h>

#include "cli/lesson/export/paper.h"
#include "cli/lesson/export/words.h"
#include "cli/show/text.h"

/* A sheet is 16:9, and as high as text of 540 / 24 lines. */
enum { WIDTH = 960, HEIGHT = 540, MARGIN = 48, HEAD = 92, FOOT = 40 };
/* The room for code. */
enum { CODE_WIDTH = WIDTH - 2 * MARGIN - 16 };
enum { INK = 0x1b1f24, SOFT = 0x57606a, ACCENT = 0x0b57a4, GROUND = 0xf1f3f5, RIGHT = 0x1a6f37 };
/* No text on a slide is smaller than the least code, but a table that is too wide for it. A slide takes MOST_WEIGHT: a
 * sentence weighs SENTENCE, one of a list's item ITEM. */
enum {
	LARGEST_CODE = 20,
	PARTED_CODE = 18,
	LEAST_CODE = 14,
	LEAST_TABLE = 11,
	MOST_WEIGHT = 6,
	SENTENCE = 2,
	ITEM = 1
};

static const char sans[] = "DejaVu Sans", mono[] = "DejaVu Sans Mono";
static const struct paper_style body = {sans, 27, 1.22, INK, .bold = false};
static const struct paper_style small = {sans, 19, 1.2, SOFT, .bold = false};
static const struct paper_style title = {sans, 32, 1.1, ACCENT, .bold = true};
static const struct paper_style cover = {sans, 46, 1.1, ACCENT, .bold = true};
static const struct paper_style foot = {sans, 12, 1, SOFT, .bold = false};

struct slides {
	struct paper *p;
	int weight;  /* of the text on the slide at hand */
	bool closed; /* the next piece begins a slide */
	int questions;
};

static const char *word(const struct slides *s, enum lesson_word w)
{
	return lesson_word(s->p->course->language, w);
}

/* The title stays on one line: it shrinks as far as that needs, down to the size of the text. */
static void begin_sheet(struct paper *p)
{
	struct paper_style style = title;
	PangoLayout *layout = paper_layout(p, &style, paper_width(p), p->title);
	while (pango_layout_get_line_count(layout) > 1 && style.size > body.size) {
		g_object_unref(layout);
		style.size -= 2;
		layout = paper_layout(p, &style, paper_width(p), p->title);
	}
	double height = paper_layout_height(layout);
	paper_put(p, p->sheet_count - 1, layout, p->form->left, fmax(12, HEAD - 22 - height), style.ink);
}

static const struct paper_form form = {WIDTH, HEIGHT, MARGIN, MARGIN, HEAD, FOOT, begin_sheet};

static void begin_slide(struct slides *s)
{
	s->weight = 0;
	s->closed = false;
	paper_sheet(s->p);
}

static void open_slide(struct slides *s)
{
	if (s->closed)
		begin_slide(s);
}

static bool is_fresh(const struct slides *s)
{
	return s->p->y <= s->p->form->top + 1;
}

/* ---- text ---- */

static void put_markup(struct slides *s, const char *markup, const struct paper_style *style, double x)
{
	struct paper *p = s->p;
	PangoLayout *layout = paper_layout(p, style, paper_width(p) - x, markup);
	if (!is_fresh(s) && paper_layout_height(layout) > paper_room(p))
		begin_slide(s);
	paper_text(p, layout, x, style->ink);
	paper_space(p, style->size * 0.6);
}

/* Writes as many sentences of a paragraph as the slide still takes; the rest goes on the next slide. */
static void put_text(struct slides *s, const struct block *b, const struct paper_style *style)
{
	open_slide(s);
	for (int from = 0, to; from < b->sentence_count; from = to) {
		int room = (MOST_WEIGHT - s->weight) / SENTENCE, left = b->sentence_count - from;
		if (room + (left == 1) < (left < 2 ? left : 2) && !is_fresh(s)) {
			begin_slide(s);
			room = MOST_WEIGHT / SENTENCE;
		}
		to = from + (left <= room + 1 ? left : room);
		put_markup(s, block_markup(&s->p->arena, b, from, to), style, 0);
		s->weight += SENTENCE * (to - from);
	}
}

static void put_item(struct slides *s, const struct block *b, const struct paper_style *style)
{
	struct paper *p = s->p;
	open_slide(s);
	double x = style->size * 1.6 * (b->level - 1), inset = x + style->size * 1.5;
	PangoLayout *layout =
	        paper_layout(p, style, paper_width(p) - inset, block_markup(&p->arena, b, 0, b->sentence_count));
	if (!is_fresh(s) && (s->weight >= 2 * MOST_WEIGHT || paper_layout_height(layout) > paper_room(p)))
		begin_slide(s);
	paper_put(p, p->sheet_count - 1, paper_layout(p, style, style->size * 2, b->lead), p->form->left + x, p->y,
	          style->ink);
	paper_text(p, layout, inset, style->ink);
	paper_space(p, style->size * 0.4);
	s->weight += ITEM;
}

/* ---- code ---- */

/* Code is set so large that no line breaks and all lines stand on one slide. If that needs less than the least size, it
 * is as large as other text. */
static double code_size(const struct paper *p, int columns, int lines)
{
	double wide = CODE_WIDTH / (PAPER_ADVANCE * (columns ? columns : 1));
	double high = (paper_height(p) - 16) / (1.24 * (lines ? lines : 1));
	if (wide < LEAST_CODE)
		return fmax(wide, LEAST_TABLE);
	return fmin(LARGEST_CODE, fmax(LEAST_CODE, high < LEAST_CODE ? fmin(wide, PARTED_CODE) : fmin(wide, high)));
}

static void put_code_markup(struct slides *s, const char *markup, int columns, int lines)
{
	struct paper *p = s->p;
	open_slide(s);
	struct paper_style style = {mono, code_size(p, columns, lines), 1.05, INK, .breaks_words = true, .hangs = true};
	PangoLayout *layout = paper_layout(p, &style, CODE_WIDTH, markup);
	double height = paper_layout_height(layout) + 16;
	if (!is_fresh(s) && height > paper_room(p) && (height <= paper_height(p) || paper_room(p) < 180))
		begin_slide(s);
	paper_code(p, layout, INK, GROUND, 0);
	paper_space(p, 14);
	s->weight = MOST_WEIGHT;
}

/* In the least size. */
enum { MOST_COLUMNS = 127 };

static void put_code(struct slides *s, const struct block *b)
{
	int columns = 0, lines = 0;
	for (int i = 0; i < b->sentence_count; i++)
		paper_count(b->sentence[i], MOST_COLUMNS, &columns, &lines);
	put_code_markup(s, code_markup(&s->p->arena, b), columns, lines);
}

/* Only printed output must keep its lines; commands may break. */
static void put_run(struct slides *s, const struct piece *piece)
{
	int columns = 0, lines = 0;
	for (int i = 0; i < piece->command_count; i++) {
		const struct lesson_command *c = &piece->commands[i];
		paper_count(c->output, MOST_COLUMNS, &columns, &lines);
		lines += 1 + text_width(c->text) / 80;
	}
	put_code_markup(s, console_markup(&s->p->arena, piece), columns, lines);
}

/* ---- blocks ---- */

static void put_heading(struct slides *s, const struct block *b)
{
	struct paper *p = s->p;
	const char *markup = block_markup(&p->arena, b, 0, b->sentence_count);
	p->title = b->level == 1 ? "" : markup;
	begin_slide(s);
	if (b->level > 1)
		return;
	p->y = HEAD + 20;
	paper_text(p, paper_layout(p, &cover, paper_width(p), markup), 0, cover.ink);
	p->y += 14;
	char facts[480];
	lesson_facts(p->course->language, p->lesson, facts, sizeof facts);
	paper_text(p, paper_layout(p, &small, paper_width(p), markup_escape(&p->arena, facts)), 0, small.ink);
	p->y += 30;
	p->title = markup;
}

static void put_picture(struct slides *s, const struct block *b, int line)
{
	struct paper *p = s->p;
	if (!is_fresh(s) || s->closed)
		begin_slide(s);
	paper_picture(p, line, b->url, paper_height(p) * 0.6, paper_height(p) - 34);
	p->y += 4;
	put_markup(s, block_markup(&p->arena, b, 0, b->sentence_count), &small, 0);
	s->weight = MOST_WEIGHT;
}

static void put_block(struct slides *s, const struct block *b, int line, const struct paper_style *style)
{
	switch (b->kind) {
	case BLOCK_HEADING:
		put_heading(s, b);
		break;
	case BLOCK_TEXT:
		put_text(s, b, style);
		break;
	case BLOCK_ITEM:
		put_item(s, b, style);
		break;
	case BLOCK_CODE:
		put_code(s, b);
		break;
	case BLOCK_PICTURE:
		put_picture(s, b, line);
		break;
	}
}

static void put_markdown(struct slides *s, const char *markdown, int line, const struct paper_style *style)
{
	struct blocks b = {0};
	blocks_read(&b, &s->p->arena, markdown);
	for (int i = 0; i < b.count; i++)
		put_block(s, &b.list[i], line, style);
}

/* ---- questions ---- */

/* right: the choice that is marked; -1: none. */
static void put_choices(struct slides *s, const struct piece *piece, int right)
{
	for (int i = 0; i < piece->choice_count; i++) {
		struct blocks b = {0};
		struct paper_style style = body;
		blocks_read(&b, &s->p->arena, piece->choices[i]);
		if (!b.count)
			continue;
		b.list[0].kind = BLOCK_ITEM;
		b.list[0].level = 1;
		b.list[0].lead = i == right ? "✓" : arena_print(&s->p->arena, "%d.", i + 1);
		style.ink = i == right ? RIGHT : right >= 0 ? SOFT : INK;
		style.bold = i == right;
		put_item(s, &b.list[0], &style);
	}
}

static void put_ask(struct slides *s, const struct piece *piece)
{
	struct paper *p = s->p;
	struct arena *a = &p->arena;
	const char *before = p->title;
	/* The format is one of ours, with a %d. */
	p->title = arena_print(a, word(s, WORD_QUESTION), ++s->questions); // NOLINT(clang-diagnostic-format-nonliteral)
	begin_slide(s);
	put_markdown(s, piece->question, piece->line, &body);
	paper_space(p, 12);
	put_choices(s, piece, -1);
	p->title = arena_print(a, "%s: %s", p->title, word(s, WORD_ANSWER));
	begin_slide(s);
	put_markdown(s, piece->question, piece->line, &small);
	s->weight = 0;
	put_choices(s, piece, piece->right);
	if (!piece->choice)
		put_markup(s, arena_print(a, "<b>%s</b>", markup_escape(a, piece->answer)), &body, 0);
	paper_space(p, 10);
	s->weight = 0;
	put_markdown(s, piece->reason, piece->line, &body);
	p->title = before;
	s->closed = true;
}

static void put_exercise(struct slides *s, const struct piece *piece)
{
	struct paper *p = s->p;
	struct arena *a = &p->arena;
	const char *before = p->title;
	p->title = word(s, WORD_EXERCISE);
	begin_slide(s);
	put_markdown(s, piece->question, piece->line, &body);
	put_markup(s, word(s, WORD_WHEN_DONE), &small, 0);
	char command[128];
	const char *check = arena_print(
	        a, "$ %s", lesson_check_command(p->course->language, p->lesson, piece, command, sizeof command));
	put_code_markup(s, arena_print(a, "<b>%s</b>", markup_escape(a, check)), text_width(check), 1);
	p->title = word(s, WORD_SOLUTION);
	begin_slide(s);
	put_markdown(s, piece->reason, piece->line, &body);
	p->title = before;
	s->closed = true;
}

/* ---- the whole ---- */

static void put_piece(struct slides *s, const struct piece *piece)
{
	if (piece->kind == PIECE_RUN)
		put_run(s, piece);
	else if (piece->kind == PIECE_ASK)
		put_ask(s, piece);
	else if (piece->kind == PIECE_EXERCISE)
		put_exercise(s, piece);
	else
		put_markdown(s, piece->markdown, piece->line, &body);
}

static void put_feet(struct paper *p)
{
	char number[32];
	double y = HEIGHT - FOOT + 12;
	for (int i = 0; i < p->sheet_count; i++) {
		snprintf(number, sizeof number, "%d / %d", i + 1, p->sheet_count);
		PangoLayout *right = paper_layout(p, &foot, 120, number);
		pango_layout_set_alignment(right, PANGO_ALIGN_RIGHT);
		paper_put(p, i, right, WIDTH - MARGIN - 120, y, foot.ink);
		paper_put(p, i, paper_layout(p, &foot, 600, markup_escape(&p->arena, p->titles[i])), MARGIN, y,
		          foot.ink);
	}
}

enum status slides_make(struct paper *p, const struct course *c)
{
	enum status status = paper_init(p, &form, c);
	struct slides s = {.p = p};
	for (int i = 0; !status && i < c->count; i++) {
		p->lesson = &c->lessons[i];
		s.questions = 0;
		for (int k = 0; k < p->lesson->piece_count; k++) {
			put_piece(&s, &p->lesson->pieces[k]);
			if (k == 0)
				paper_mark(p, p->lesson->title);
		}
	}
	if (!status)
		put_feet(p);
	return status ? status : paper_check(p);
}
