/* Lessons as running text on A4, with room to write, and the answers at the end. */
#include <math.h>
#include <string.h>

#include "cli/lesson/export/paper.h"
#include "cli/lesson/export/words.h"

enum { WIDTH = 595, HEIGHT = 842, MARGIN = 62, HEAD = 74, FOOT = 66 };
enum { INK = 0x1b1f24, SOFT = 0x57606a, ACCENT = 0x0b57a4, GROUND = 0xf3f5f7, RULE = 0x9aa4ae };
enum { CHOICE_LINES = 0, NUMBER_LINES = 3, EXERCISE_LINES = 6, LINE_HEIGHT = 22 };

static const char sans[] = "DejaVu Sans", mono[] = "DejaVu Sans Mono";
static const struct paper_style body = {sans, 10, 1.3, INK, .bold = false};
static const struct paper_style label = {sans, 10, 1.2, ACCENT, .bold = true};
static const struct paper_style caption = {sans, 8.5, 1.2, SOFT, .bold = false};
static const struct paper_style code = {mono, 7.6, 1.15, INK, .breaks_words = true, .hangs = true};
static const struct paper_style headings[] = {{sans, 20, 1.15, ACCENT, .bold = true},
                                              {sans, 14, 1.15, INK, .bold = true},
                                              {sans, 11, 1.15, INK, .bold = true}};

static const struct paper_form form = {WIDTH, HEIGHT, MARGIN, MARGIN, HEAD, FOOT, NULL};

static const char *word(const struct paper *p, enum lesson_word w)
{
	return lesson_word(p->course->language, w);
}

static void put_markup(struct paper *p, const char *markup, const struct paper_style *style, double x)
{
	paper_text(p, paper_layout(p, style, paper_width(p) - x, markup), x, style->ink);
}

/* Keeps `height` on one page, so that a heading does not stand at the bottom without its text. */
static void keep(struct paper *p, double height)
{
	if (paper_room(p) < height)
		paper_sheet(p);
}

/* ---- blocks ---- */

static void put_heading(struct paper *p, const struct block *b)
{
	const char *markup = block_markup(&p->arena, b, 0, b->sentence_count);
	const struct paper_style *style = &headings[b->level > 3 ? 2 : b->level - 1];
	keep(p, 100);
	paper_space(p, style->size * 0.9);
	put_markup(p, markup, style, 0);
	p->y += style->size * 0.35;
	if (b->level > 1)
		return;
	char facts[480];
	lesson_facts(p->course->language, p->lesson, facts, sizeof facts);
	put_markup(p, markup_escape(&p->arena, facts), &caption, 0);
	p->y += 10;
}

static void put_item(struct paper *p, const struct block *b)
{
	double x = 18.0 * (b->level - 1), inset = x + 18;
	keep(p, 2 * body.size * body.spacing);
	paper_put(p, p->sheet_count - 1, paper_layout(p, &body, 30, b->lead), p->form->left + x, p->y, body.ink);
	put_markup(p, block_markup(&p->arena, b, 0, b->sentence_count), &body, inset);
	paper_space(p, 4);
}

/* below: the room that the last line leaves for what must stand on the same page. columns: what must not break, so that
 * a wide table is smaller. */
static void put_code_markup(struct paper *p, const char *markup, int columns, double below)
{
	struct paper_style style = code;
	double width = paper_width(p) - 16;
	if (columns)
		style.size = fmin(code.size, width / (PAPER_ADVANCE * columns));
	paper_code(p, paper_layout(p, &style, width, markup), INK, GROUND, below);
	paper_space(p, 8);
}

/* In the least size, of 6. */
enum { MOST_COLUMNS = 125 };

static void put_code(struct paper *p, const struct block *b)
{
	int columns = 0, lines = 0;
	for (int i = 0; i < b->sentence_count; i++)
		paper_count(b->sentence[i], MOST_COLUMNS, &columns, &lines);
	put_code_markup(p, code_markup(&p->arena, b), columns, 0);
}

static void put_picture(struct paper *p, const struct block *b, int line)
{
	keep(p, 300);
	paper_space(p, 8);
	paper_picture(p, line, b->url, 240, 300);
	p->y += 4;
	put_markup(p, block_markup(&p->arena, b, 0, b->sentence_count), &caption, 0);
	paper_space(p, 10);
}

static void put_block(struct paper *p, const struct block *b, int line)
{
	switch (b->kind) {
	case BLOCK_HEADING:
		put_heading(p, b);
		break;
	case BLOCK_TEXT:
		put_markup(p, block_markup(&p->arena, b, 0, b->sentence_count), &body, 0);
		paper_space(p, 8);
		break;
	case BLOCK_ITEM:
		put_item(p, b);
		break;
	case BLOCK_CODE:
		put_code(p, b);
		break;
	case BLOCK_PICTURE:
		put_picture(p, b, line);
		break;
	}
}

static void put_markdown(struct paper *p, const char *markdown, int line)
{
	struct blocks b = {0};
	blocks_read(&b, &p->arena, markdown);
	for (int i = 0; i < b.count; i++)
		put_block(p, &b.list[i], line);
}

/* ---- pieces ---- */

static void put_run(struct paper *p, const struct piece *piece)
{
	int columns = 0, lines = 0;
	for (int i = 0; i < piece->command_count; i++)
		paper_count(piece->commands[i].output, MOST_COLUMNS, &columns, &lines);
	put_code_markup(p, console_markup(&p->arena, piece), columns, 16);
	p->y -= 4;
	put_markup(p, lesson_check_word(p->course->language, piece->check), &caption, 0);
	paper_space(p, 8);
}

/* Lines to write on. */
static void put_room(struct paper *p, int lines)
{
	for (int i = 0; i < lines; i++) {
		keep(p, LINE_HEIGHT);
		p->y += LINE_HEIGHT;
		paper_rule(p, p->form->left, p->y, paper_width(p), RULE);
	}
	paper_space(p, lines ? 12 : 0);
}

static void put_choice(struct paper *p, const char *markdown)
{
	struct blocks b = {0};
	blocks_read(&b, &p->arena, markdown);
	if (!b.count)
		return;
	keep(p, 2 * body.size * body.spacing);
	paper_box(p, p->form->left + 1, p->y + 3, 9, 9, SOFT, true);
	put_markup(p, block_markup(&p->arena, &b.list[0], 0, b.list[0].sentence_count), &body, 20);
	paper_space(p, 5);
}

static const char *question_title(struct paper *p, int number)
{
	/* The format is one of ours, with a %d. */
	return arena_print(&p->arena, word(p, WORD_QUESTION), number); // NOLINT(clang-diagnostic-format-nonliteral)
}

static void put_ask(struct paper *p, const struct piece *piece, int number)
{
	keep(p, 110);
	paper_space(p, 6);
	put_markup(p, question_title(p, number), &label, 0);
	p->y += 3;
	put_markdown(p, piece->question, piece->line);
	for (int i = 0; i < piece->choice_count; i++)
		put_choice(p, piece->choices[i]);
	put_room(p, piece->choice ? CHOICE_LINES : NUMBER_LINES);
	paper_space(p, 8);
}

static void put_exercise(struct paper *p, const struct piece *piece)
{
	struct arena *a = &p->arena;
	keep(p, 130);
	paper_space(p, 6);
	put_markup(p, word(p, WORD_EXERCISE), &label, 0);
	p->y += 3;
	put_markdown(p, piece->question, piece->line);
	put_markup(p, word(p, WORD_WHEN_DONE), &body, 0);
	paper_space(p, 4);
	char check[128];
	lesson_check_command(p->course->language, p->lesson, piece, check, sizeof check);
	put_code_markup(p, arena_print(a, "<b>$ %s</b>", markup_escape(a, check)), 0, 0);
	put_room(p, EXERCISE_LINES);
}

static void put_lesson(struct paper *p, const struct lesson *l)
{
	int questions = 0;
	p->lesson = l;
	paper_sheet(p);
	paper_mark(p, l->title);
	for (int i = 0; i < l->piece_count; i++) {
		const struct piece *piece = &l->pieces[i];
		if (piece->kind == PIECE_RUN)
			put_run(p, piece);
		else if (piece->kind == PIECE_ASK)
			put_ask(p, piece, ++questions);
		else if (piece->kind == PIECE_EXERCISE)
			put_exercise(p, piece);
		else
			put_markdown(p, piece->markdown, piece->line);
	}
}

/* ---- answers ---- */

static void put_right(struct paper *p, const struct piece *piece)
{
	struct arena *a = &p->arena;
	struct blocks b = {0};
	if (!piece->choice) {
		put_markup(p, arena_print(a, "<b>%s</b>", markup_escape(a, piece->answer)), &body, 0);
		return;
	}
	blocks_read(&b, a, piece->choices[piece->right]);
	if (b.count)
		put_markup(p, arena_print(a, "<b>%s</b>", block_markup(a, &b.list[0], 0, b.list[0].sentence_count)),
		           &body, 0);
}

static void put_answer(struct paper *p, const struct piece *piece, const char *title)
{
	keep(p, 60);
	put_markup(p, title, &label, 0);
	p->y += 2;
	if (piece->kind == PIECE_ASK) {
		put_right(p, piece);
		p->y += 2;
	}
	put_markdown(p, piece->reason, piece->line);
	paper_space(p, 8);
}

static void put_answers_of(struct paper *p, const struct lesson *l)
{
	int questions = 0;
	p->lesson = l;
	if (p->course->count > 1) {
		keep(p, 90);
		paper_space(p, 10);
		put_markup(p, markup_escape(&p->arena, l->title), &headings[1], 0);
		p->y += 6;
	}
	for (int i = 0; i < l->piece_count; i++)
		if (l->pieces[i].kind == PIECE_ASK)
			put_answer(p, &l->pieces[i], question_title(p, ++questions));
		else if (l->pieces[i].kind == PIECE_EXERCISE)
			put_answer(p, &l->pieces[i], word(p, WORD_SOLUTION));
}

static bool has_answers(const struct course *c)
{
	for (int i = 0; i < c->count; i++)
		for (int k = 0; k < c->lessons[i].piece_count; k++)
			if (c->lessons[i].pieces[k].kind >= PIECE_ASK)
				return true;
	return false;
}

static void put_answers(struct paper *p)
{
	if (!has_answers(p->course))
		return;
	p->lesson = &p->course->lessons[0];
	paper_sheet(p);
	paper_mark(p, word(p, WORD_ANSWERS));
	put_markup(p, word(p, WORD_ANSWERS), &headings[0], 0);
	p->y += 10;
	for (int i = 0; i < p->course->count; i++)
		put_answers_of(p, &p->course->lessons[i]);
}

/* ---- the whole ---- */

static void put_edges(struct paper *p)
{
	char number[80];
	for (int i = 0; i < p->sheet_count; i++) {
		snprintf(number, sizeof number, word(p, WORD_PAGE), i + 1,
		         p->sheet_count); // NOLINT(clang-diagnostic-format-nonliteral)
		PangoLayout *right = paper_layout(p, &caption, 80, "shardlab"),
		            *below = paper_layout(p, &caption, paper_width(p), number);
		pango_layout_set_alignment(right, PANGO_ALIGN_RIGHT);
		pango_layout_set_alignment(below, PANGO_ALIGN_CENTER);
		paper_put(p, i, paper_layout(p, &caption, 380, markup_escape(&p->arena, p->titles[i])), MARGIN, 42,
		          SOFT);
		paper_put(p, i, right, WIDTH - MARGIN - 80, 42, SOFT);
		paper_put(p, i, below, MARGIN, HEIGHT - 46, SOFT);
	}
}

enum status handout_make(struct paper *p, const struct course *c)
{
	TRY(paper_init(p, &form, c));
	for (int i = 0; i < c->count; i++)
		put_lesson(p, &c->lessons[i]);
	put_answers(p);
	put_edges(p);
	return paper_check(p);
}
