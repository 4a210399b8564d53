#include "viz/export/export.h"
#include "strategy/base/file.h"

#include <cairo-pdf.h>
#include <cairo-svg.h>
#include <errno.h>
#include <math.h>
#include <string.h>

#include "strategy/base/file.h"

static cairo_status_t write_bytes(void *out, const unsigned char *data, unsigned int length)
{
	return fwrite(data, 1, length, out) == length ? CAIRO_STATUS_SUCCESS : CAIRO_STATUS_WRITE_ERROR;
}

static enum status failed(cairo_status_t s)
{
	if (s == CAIRO_STATUS_SUCCESS)
		return STATUS_OK;
	if (s == CAIRO_STATUS_NO_MEMORY)
		return status_fail(STATUS_MEMORY, "no memory for pictures of this size");
	if (s == CAIRO_STATUS_WRITE_ERROR)
		return status_fail(STATUS_RUN, "the picture cannot be written: %s", strerror(errno));
	return status_fail(STATUS_RUN, "the picture cannot be drawn: %s", cairo_status_to_string(s));
}

static enum status check(cairo_t *cr)
{
	cairo_status_t s = cairo_status(cr);
	cairo_destroy(cr);
	return failed(s);
}

/* ---- drawings ---- */

/* On failure there is none. */
static enum status draw_pixels(void (*draw)(void *, cairo_t *, double, double), void *context,
                               const struct picture *size, cairo_surface_t **out)
{
	int width = (int)lround(size->width * size->scale), height = (int)lround(size->height * size->scale);
	cairo_surface_t *surface = cairo_image_surface_create(CAIRO_FORMAT_RGB24, width, height);
	cairo_t *cr = cairo_create(surface);
	draw(context, cr, width, height);
	enum status s = check(cr);
	cairo_surface_flush(surface);
	if (s)
		cairo_surface_destroy(surface);
	*out = s ? NULL : surface;
	return s;
}

static enum status draw_png(void (*draw)(void *, cairo_t *, double, double), void *context, const struct picture *size,
                            FILE *out)
{
	cairo_surface_t *surface;
	TRY(draw_pixels(draw, context, size, &surface));
	enum status s = failed(cairo_surface_write_to_png_stream(surface, write_bytes, out));
	cairo_surface_destroy(surface);
	return s;
}

static enum status finish(cairo_surface_t *surface, cairo_t *cr)
{
	enum status s = check(cr);
	cairo_surface_finish(surface);
	if (!s)
		s = failed(cairo_surface_status(surface));
	cairo_surface_destroy(surface);
	return s;
}

static enum status draw_svg(void (*draw)(void *, cairo_t *, double, double), void *context, const struct picture *size,
                            FILE *out)
{
	double width = size->width * size->scale, height = size->height * size->scale;
	cairo_surface_t *surface = cairo_svg_surface_create_for_stream(write_bytes, out, width, height);
	cairo_svg_surface_set_document_unit(surface, CAIRO_SVG_UNIT_PX);
	cairo_t *cr = cairo_create(surface);
	draw(context, cr, width, height);
	return finish(surface, cr);
}

/* Without a date, so that the same picture is the same file. A pixel is 3/4 of a point. */
static cairo_surface_t *begin_pdf(const struct picture *size, FILE *out, double *width, double *height)
{
	*width = size->width * size->scale * 0.75;
	*height = size->height * size->scale * 0.75;
	cairo_surface_t *surface = cairo_pdf_surface_create_for_stream(write_bytes, out, *width, *height);
	cairo_pdf_surface_restrict_to_version(surface, CAIRO_PDF_VERSION_1_4); /* what every reader reads */
	cairo_pdf_surface_set_metadata(surface, CAIRO_PDF_METADATA_CREATE_DATE, "2020-01-01T00:00:00Z");
	cairo_pdf_surface_set_metadata(surface, CAIRO_PDF_METADATA_TITLE, "shardlab");
	return surface;
}

enum status export_drawing(void (*draw)(void *context, cairo_t *cr, double width, double height), void *context,
                           enum export_format format, const struct picture *size, FILE *out)
{
	double width, height;
	if (format == EXPORT_PNG)
		return draw_png(draw, context, size, out);
	if (format == EXPORT_SVG)
		return draw_svg(draw, context, size, out);
	if (format != EXPORT_PDF)
		return status_fail(STATUS_INPUT, "{export}: a chart is written as .png, .svg or .pdf");
	cairo_surface_t *surface = begin_pdf(size, out, &width, &height);
	cairo_t *cr = cairo_create(surface);
	draw(context, cr, width, height);
	cairo_show_page(cr);
	return finish(surface, cr);
}

struct chart_file {
	void (*draw)(void *context, cairo_t *cr, double width, double height);
	void *context;
	enum export_format format;
};

static bool chart_format(const char *path, enum export_format *out)
{
	return export_parse(path, out) && (*out == EXPORT_SVG || *out == EXPORT_PDF || *out == EXPORT_PNG);
}

enum status export_chart_check(const char *path, const char *setting)
{
	enum export_format format;
	if (chart_format(path, &format))
		return STATUS_OK;
	return status_fail(STATUS_INPUT, "%s %.60s: the name must end in .svg, .pdf or .png", status_words(setting),
	                   path);
}

static enum status write_chart(void *context, FILE *out)
{
	static const struct picture size = {.width = 1280, .height = 720, .scale = 1};
	const struct chart_file *c = context;
	return export_drawing(c->draw, c->context, c->format, &size, out);
}

enum status export_chart(const char *path, const char *setting,
                         void (*draw)(void *context, cairo_t *cr, double width, double height), void *context)
{
	struct chart_file c = {.draw = draw, .context = context};
	return chart_format(path, &c.format) ? file_write(path, setting, write_chart, &c) : STATUS_INPUT;
}

/* ---- of a playback ---- */

static void draw_playback(void *context, cairo_t *cr, double width, double height)
{
	playback_draw(context, cr, width, height);
}

enum status export_surface(struct playback *p, const struct picture *size, cairo_surface_t **out)
{
	return draw_pixels(draw_playback, p, size, out);
}

static enum status export_pages(struct playback *p, const struct picture *size, FILE *out)
{
	double width, height;
	cairo_surface_t *surface = begin_pdf(size, out, &width, &height);
	cairo_t *cr = cairo_create(surface);
	for (size_t k = 0; k < export_steps(p); k++) {
		export_go(p, k);
		playback_draw(p, cr, width, height);
		cairo_show_page(cr);
	}
	return finish(surface, cr);
}

static const char *const endings[] = {
#define X(name, constant, what) "." name,
        EXPORT_LIST(X)
#undef X
};

bool export_parse(const char *path, enum export_format *out)
{
	size_t n = strlen(path);
	for (int i = 0; i < EXPORT_COUNT; i++) {
		size_t k = strlen(endings[i]);
		if (n > k && !strcmp(path + n - k, endings[i])) {
			*out = (enum export_format)i;
			return true;
		}
	}
	return false;
}

enum status export_write(struct playback *p, enum export_format format, const struct picture *size, bool all_pages,
                         FILE *out)
{
	if (format == EXPORT_GIF)
		return export_gif(p, size, out);
	if (format == EXPORT_HTML)
		return export_html(p, size, out);
	if (format == EXPORT_PDF && all_pages)
		return export_pages(p, size, out);
	return export_drawing(draw_playback, p, format, size, out);
}
