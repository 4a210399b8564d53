/* A step in one HTML file that draws itself: every scene of every step as drawing commands, of which most are those of
 * the step before, beside captions and figures as text. Nothing is fetched.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "strategy/base/language.h"
#include "strategy/base/memory.h"
#include "viz/draw/record.h"
#include "viz/export/export.h"
#include "viz/export/html_steps.h"
#include "viz/scene/scene_parts.h"

/* A picture for a screen, and one for a phone that is held upright. */
enum { SHAPES = 2 };

struct page {
	struct playback *p;
	const struct trace_view *runs[CONTENDERS + 1]; /* the run shown, and the runs it is compared with */
	int run_count;
	struct record record;
	enum scene tabs[SCENE_COUNT + 1]; /* SCENE_COUNT: the strategies side by side */
	struct record_series series[SHAPES][SCENE_COUNT + 1], figures, asked[SHAPES];
	int tab_count, start;
	struct page_steps steps; /* of the run that is written */
	size_t known, known_texts;
	size_t position;      /* where the playback stood: the page begins there */
	double width, height; /* of a picture for a screen, in units at normal size of text */
};

static void page_open(struct page *page, struct playback *p, const struct picture *size)
{
	double scale = fmin(size->width / 1280.0, size->height / 720.0);
	*page = (struct page){.p = p, .position = p->position};
	/* Heading, caption and buttons are the page's. */
	page->width = size->width / scale;
	page->height = fmax(80, size->height / scale - 120);
	if (p->shown->foreign) {
		page->tabs[page->tab_count++] = SCENE_TIMELINE;
		return;
	}
	if (p->compare && p->contender_count)
		page->tabs[page->tab_count++] = SCENE_COUNT;
	else
		page->start = (int)p->scene;
	for (int s = 0; s < SCENE_COUNT; s++)
		page->tabs[page->tab_count++] = (enum scene)s;
}

/* The compared strategies, without the one that is shown already. */
static void find_runs(struct page *page)
{
	struct playback *p = page->p;
	page->runs[page->run_count++] = p->shown;
	for (int i = 0; p->compare && i < p->contender_count; i++)
		if (strcmp(p->contender[i]->heading, p->shown->heading) != 0)
			page->runs[page->run_count++] = p->contender[i];
}

static void forget_pictures(struct page *page)
{
	for (int shape = 0; shape < SHAPES; shape++)
		for (int i = 0; i < page->tab_count; i++)
			record_series_release(&page->series[shape][i]);
	record_series_release(&page->figures);
	for (int shape = 0; shape < SHAPES; shape++)
		record_series_release(&page->asked[shape]);
}

/* ---- one step ---- */

/* On a phone the overview's parts are one below the other. */
static struct box box_of(const struct page *page, int shape, int tab)
{
	if (!shape)
		return (struct box){0, 0, page->width, page->height};
	return (struct box){0, 0, 540, page->tabs[tab] == SCENE_OVERVIEW ? 660 : 460};
}

/* On a surface that nothing is drawn on: only its size matters. */
static void record_scene(struct page *page, int shape, int tab)
{
	struct box all = box_of(page, shape, tab);
	struct playback *p = page->p;
	cairo_rectangle_t extents = {0, 0, all.width, all.height};
	cairo_surface_t *surface = cairo_recording_surface_create(CAIRO_CONTENT_COLOR, &extents);
	cairo_t *cr = cairo_create(surface);
	struct canvas c;
	p->compare = page->tabs[tab] == SCENE_COUNT;
	if (!p->compare)
		p->scene = page->tabs[tab];
	const struct view *v = playback_view(p);
	canvas_begin(&c, cr, all.width, all.height, p->text / canvas_scale(all.width, all.height), v->theme, p->fonts);
	c.record = &page->record;
	record_begin(&page->record, all.width, all.height);
	scene_draw_alone(&c, v);
	page->record.failed |= cairo_status(cr) != CAIRO_STATUS_SUCCESS;
	canvas_end(&c);
	cairo_destroy(cr);
	cairo_surface_destroy(surface);
}

static enum status record_figures(struct page *page)
{
	char *text = NULL;
	size_t size = 0;
	FILE *lines = memory_stream(&text, &size);
	page->p->compare = page->tabs[0] == SCENE_COUNT;
	export_figures(page->p, lines);
	memory_stream_close(lines);
	text_mend(text);
	record_begin(&page->record, 0, 0);
	for (const char *line = text, *end; (end = strchr(line, '\n')) != NULL; line = end + 1)
		record_line(&page->record, line, (size_t)(end - line));
	free(text);
	return STATUS_OK;
}

static void put_text(FILE *out, char *text)
{
	text_mend(text);
	record_put_text(text, strlen(text), out);
}

/* Its caption, its time and its phase: what stands beside every scene. */
static void put_words(const struct page *page, FILE *out)
{
	const struct state *st = &page->p->state;
	char caption[CAPTION_SIZE] = "", when[160] = "", time[WORD];
	if (!page->p->shown->foreign) {
		caption_make(st, caption, sizeof caption);
		snprintf(when, sizeof when, tr("%s at %s, %s"),
		         tr(st->timeline->trace->measured ? "measured" : "simulated"), time_word(time, st->time),
		         phase_word(st->timeline, st->position));
	} else {
		snprintf(caption, sizeof caption, "%s", tr("A trace of another program: its lanes and spans."));
	}
	put_text(out, caption);
	fputc(',', out);
	put_text(out, when);
}

static enum status put_step(struct page *page, size_t step, FILE *out)
{
	enum status s = STATUS_OK;
	export_go(page->p, page->steps.stop[step]);
	fputs(step ? ",\n[" : "[", out);
	put_words(page, out);
	for (int i = 0; i < SHAPES * page->tab_count; i++) {
		int shape = i / page->tab_count, tab = i % page->tab_count;
		record_scene(page, shape, tab);
		fputc(',', out);
		record_write(&page->record, &page->series[shape][tab], &page->known, out);
	}
	if (!page->p->shown->foreign && !(s = record_figures(page))) {
		fputc(',', out);
		record_write(&page->record, &page->figures, &page->known, out);
	}
	fputc(',', out);
	record_write_texts(&page->record, &page->known_texts, out);
	fputc(']', out);
	return !s && page->record.failed ? status_fail(STATUS_MEMORY, "no memory for the page") : s;
}

/* ---- the page ---- */

/* ---- questions ---- */

static int tab_of(const struct page *page, enum scene scene)
{
	for (int i = 0; i < page->tab_count; i++)
		if (page->tabs[i] == scene)
			return i;
	return 0;
}

static void put_member(const char *name, const char *text, FILE *out)
{
	char copy[QUESTION_TEXT];
	snprintf(copy, sizeof copy, "%s", text);
	fprintf(out, ",\"%s\":", name);
	put_text(out, copy);
}

static void put_answer(const struct question *q, FILE *out)
{
	static const char *const units[] = {
	        [ANSWER_NUMBER] = "number", [ANSWER_BYTES] = "bytes", [ANSWER_PERCENT] = "percent"};
	char answer[QUESTION_CHOICE];
	put_member("text", q->text, out);
	put_member("answer", question_answer(q, answer), out);
	put_member("reason", q->reason, out);
	put_member("look", tr(q->look), out);
	if (!q->choice_count) {
		fprintf(out, ",\"number\":%.17g,\"unit\":\"%s\"", q->number, units[q->unit]);
		return;
	}
	fprintf(out, ",\"right\":%d,\"choices\":[", q->right);
	for (int i = 0; i < q->choice_count; i++) {
		fputs(i ? "," : "", out);
		record_put_text(q->choice[i], strlen(q->choice[i]), out);
	}
	fputc(']', out);
}

/* A question with its picture, in which what comes next is veiled. */
static void put_question(struct page *page, const struct asking *a, FILE *out)
{
	struct playback *p = page->p;
	const struct question *q = asking_now(a);
	int tab = tab_of(page, q->scene);
	fprintf(out, "{\"step\":%zu,\"shown\":%zu,\"tab\":%d",
	        page_step_before(&page->steps, timeline_stop_of(&p->shown->timeline, p->step_size, q->position)),
	        page_step_behind(&page->steps, timeline_stop_showing(&p->shown->timeline, p->step_size, q->shown)),
	        tab);
	put_answer(q, out);
	playback_ask(p, a);
	fputs(",\"pictures\":[", out);
	for (int shape = 0; shape < SHAPES; shape++) {
		record_scene(page, shape, tab);
		fputs(shape ? "," : "", out);
		record_write(&page->record, &page->asked[shape], &page->known, out);
	}
	fputs("],\"texts\":", out);
	record_write_texts(&page->record, &page->known_texts, out);
	fputc('}', out);
	playback_ask(p, NULL);
}

static void put_questions(struct page *page, FILE *out)
{
	struct asking a;
	fputs("\n],\"questions\":[", out);
	if (page->p->shown->foreign || !asking_begin(&a, &page->p->shown->timeline, 0))
		return;
	for (a.now = 0; a.now < a.set.count; a.now++) {
		fputs(a.now ? ",\n" : "\n", out);
		put_question(page, &a, out);
	}
}

/* The step that the page begins with, in the first run. */
static void put_beginning(const struct page *page, int run, FILE *out)
{
	const struct playback *p = page->p;
	size_t at = run || p->shown->foreign ? 0 : timeline_stop_of(&p->shown->timeline, p->step_size, page->position);
	fprintf(out, "\"at\":%zu,\n", page_step_before(&page->steps, at));
}

/* The place of each step in the first run, for switching between runs. */
static void put_places(const struct page *page, FILE *out)
{
	const struct playback *p = page->p;
	const struct timeline *s = &p->shown->timeline;
	fputs("\"places\":[0", out);
	for (size_t k = 1; page->run_count > 1 && k < page->steps.count; k++)
		fprintf(out, ",%zu",
		        timeline_same_place(s, timeline_stop(s, p->step_size, page->steps.stop[k]),
		                            &page->runs[0]->timeline));
	fputs("],\n", out);
	fputs("\"numbers\":[", out); /* of its steps in the window, where the page has not all */
	for (size_t k = 0; !page->steps.all && k < page->steps.count; k++)
		fprintf(out, k ? ",%zu" : "%zu", page->steps.stop[k]);
	fputs("],\n", out);
}

/* The steps that begin a phase, for Shift with the arrows. */
static void put_phases(const struct page *page, FILE *out)
{
	const struct playback *p = page->p;
	const struct timeline *s = &p->shown->timeline;
	fputs("\"phases\":[0", out);
	for (size_t k = 1; !p->shown->foreign && k < s->stop_count[STEP_SIZE_PHASE]; k++)
		fprintf(out, ",%zu",
		        page_step_before(&page->steps,
		                         timeline_stop_of(s, p->step_size, s->stops[STEP_SIZE_PHASE][k])));
	fputs("],\n", out);
}

static void put_tabs(const struct page *page, FILE *out)
{
	fputs("\"tabs\":[", out);
	for (int i = 0; i < page->tab_count; i++) {
		bool compare = page->tabs[i] == SCENE_COUNT;
		struct box screen = box_of(page, 0, i), phone = box_of(page, 1, i);
		fprintf(out, "%s[\"%s\",\"%s\"", i ? "," : "", compare ? "compare" : scene_name(page->tabs[i]),
		        tr(compare ? "Compare" : scene_row(page->tabs[i])->title));
		fprintf(out, ",[%.0f,%.0f],[%.0f,%.0f]]", screen.width, screen.height, phone.width, phone.height);
	}
	fputs("],\n", out);
}

/* A plan that does not fit says so above every scene. */
static void put_banner(struct playback *p, FILE *out)
{
	const struct view *v = playback_view(p);
	char what[400], change[400];
	fputs("\"banner\":[", out);
	if (banner_shows(v)) {
		banner_words(v->state->timeline, what, change, sizeof what);
		put_text(out, what);
		fputc(',', out);
		put_text(out, change);
	}
	fputs("],\n", out);
}

static void put_settings(const struct page *page, const struct picture *size, bool ask, FILE *out)
{
	struct playback *p = page->p;
	const struct theme *t = theme_of(p->theme);
	fprintf(out, "{\"delay\":%d,\"start\":%d,\"figures\":%s,\"ask\":%s,\n", 10 * size->delay, page->start,
	        p->shown->foreign ? "false" : "true", ask ? "true" : "false");
	fprintf(out, "\"word\":\"%s\",\"theme\":[\"#%06X\",\"#%06X\",\"#%06X\",\"#%06X\",\"#%06X\",\"#%06X\"],\n",
	        tr(p->step_size == STEP_SIZE_ROUND ? "step" : step_size_name(p->step_size)), t->ground, t->panel,
	        t->ink, t->soft, t->accent, t->warning);
	put_tabs(page, out);
	fputs("\"runs\":[\n", out);
}

static void put_colours(const struct record *r, FILE *out)
{
	fputs("\n],\"colours\":[", out);
	for (size_t i = 0; i < r->colour_count; i++)
		fprintf(out, (r->colours[i] & 255) == 255 ? "%s\"#%06x\"" : "%s\"#%08x\"", i ? "," : "",
		        (r->colours[i] & 255) == 255 ? r->colours[i] >> 8 : r->colours[i]);
	fputs("]}\n", out);
}

static void put_escaped(FILE *out, const char *text)
{
	for (; *text; text++)
		if (strchr("<>&\"", *text) || (unsigned char)*text < ' ')
			fprintf(out, "&#%d;", (unsigned char)*text);
		else
			fputc(*text, out);
}

static enum status put_run(struct page *page, int run, FILE *out)
{
	struct playback *p = page->p;
	enum status s = STATUS_OK;
	char heading[sizeof p->shown->heading], label[sizeof p->shown->label];
	if (run)
		playback_show(p, page->runs[run]);
	if ((s = page_steps_init(&page->steps, p)))
		return s;
	memcpy(heading, p->shown->heading, sizeof heading);
	memcpy(label, p->shown->label, sizeof label);
	fputs(run ? ",\n{\"label\":" : "{\"label\":", out);
	put_text(out, label);
	fputs(",\"heading\":", out);
	put_text(out, heading);
	fputs(",\n", out);
	put_beginning(page, run, out);
	put_places(page, out);
	put_phases(page, out);
	put_banner(p, out);
	fputs("\"steps\":[\n", out);
	for (size_t k = 0; !s && k < page->steps.count; k++)
		s = put_step(page, k, out);
	put_questions(page, out);
	fputs("]}", out);
	forget_pictures(page);
	page_steps_release(&page->steps);
	return s;
}

enum status export_html(struct playback *p, const struct picture *size, FILE *out)
{
	struct page page;
	const struct asking *asking = p->asking; /* then the page begins with them */
	char heading[sizeof p->shown->heading];
	enum status s = STATUS_OK;
	enum scene scene = p->scene;
	bool compare = p->compare;
	memcpy(heading, p->shown->heading, sizeof heading);
	text_mend(heading);
	page_open(&page, p, size);
	find_runs(&page);
	page_put(page_head, out);
	put_escaped(out, heading);
	page_put(page_style, out);
	put_escaped(out, heading);
	page_put(page_body, out);
	p->asking = NULL;
	put_settings(&page, size, asking != NULL, out);
	for (int run = 0; !s && run < page.run_count; run++)
		s = put_run(&page, run, out);
	put_colours(&page.record, out);
	page_put_end(out);
	record_release(&page.record);
	p->scene = scene;
	p->compare = compare;
	p->asking = asking;
	if (page.run_count > 1)
		playback_show(p, page.runs[0]);
	if (!s && ferror(out))
		s = status_fail(STATUS_RUN, "the page cannot be written");
	return s;
}
