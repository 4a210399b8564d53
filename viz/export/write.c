#include <string.h>

#include "viz/export/export.h"

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

static void draw_playback(void *context, cairo_t *cr, double width, double height)
{
	playback_draw(context, cr, width, height);
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
