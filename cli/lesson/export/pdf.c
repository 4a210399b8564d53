/* Sheets as a PDF file, with text that can be searched and fonts inside. */
#include <cairo-pdf.h>

#include "cli/lesson/export/paper.h"

static cairo_status_t write_bytes(void *out, const unsigned char *data, unsigned int length)
{
	return fwrite(data, 1, length, out) == length ? CAIRO_STATUS_SUCCESS : CAIRO_STATUS_WRITE_ERROR;
}

/* Without a date, so that the same lesson is the same file. */
static cairo_surface_t *begin_pdf(const struct paper *p, FILE *out)
{
	cairo_surface_t *surface =
	        cairo_pdf_surface_create_for_stream(write_bytes, out, p->form->width, p->form->height);
	cairo_pdf_surface_restrict_to_version(surface, CAIRO_PDF_VERSION_1_5);
	cairo_pdf_surface_set_metadata(surface, CAIRO_PDF_METADATA_CREATE_DATE, "2020-01-01T00:00:00Z");
	cairo_pdf_surface_set_metadata(surface, CAIRO_PDF_METADATA_TITLE, p->course->lessons[0].title);
	cairo_pdf_surface_set_metadata(surface, CAIRO_PDF_METADATA_CREATOR, "shardlab");
	return surface;
}

static void add_marks(const struct paper *p, cairo_surface_t *surface)
{
	char to[32];
	for (int i = 0; i < p->mark_count; i++) {
		snprintf(to, sizeof to, "page=%d", p->marks[i].sheet + 1);
		cairo_pdf_surface_add_outline(surface, CAIRO_PDF_OUTLINE_ROOT, p->marks[i].text, to, 0);
	}
}

static enum status draw_pdf(struct paper *p, FILE *out)
{
	TRY(paper_check(p));
	cairo_surface_t *surface = begin_pdf(p, out);
	paper_draw_all(p, surface);
	add_marks(p, surface);
	cairo_surface_finish(surface);
	if (cairo_surface_status(surface))
		paper_fail(p, status_fail(STATUS_RUN, "{export}: %s",
		                          cairo_status_to_string(cairo_surface_status(surface))));
	cairo_surface_destroy(surface);
	return paper_check(p);
}

enum status paper_write(const struct course *c, enum lesson_format format, FILE *out)
{
	struct paper p;
	enum status s = format == LESSON_SLIDES ? slides_make(&p, c) : handout_make(&p, c);
	if (!s)
		s = draw_pdf(&p, out);
	paper_release(&p);
	return s;
}
