#include "cli/command/run_plot.h"

#include <inttypes.h>
#include <stdio.h>

#include "strategy/base/file.h"
#include "strategy/base/number.h"
#include "strategy/base/output.h"
#include "viz/export/export.h"
#include "viz/scene/loss_chart.h"

struct exported {
	struct loss_chart chart;
	enum export_format format;
};

static bool format_of(const char *path, enum export_format *out)
{
	return export_parse(path, out) && (*out == EXPORT_SVG || *out == EXPORT_PDF || *out == EXPORT_PNG);
}

enum status run_plot_check(const char *path)
{
	enum export_format format;
	struct fonts fonts = {0};
	if (!format_of(path, &format))
		return status_fail(STATUS_INPUT, "{plot} %.60s: the name must end in .svg, .pdf or .png", path);
	enum status s = fonts_open(&fonts);
	fonts_release(&fonts);
	return s ? s : output_check(path, "{plot}");
}

static void describe(struct loss_chart *chart, const struct report *r)
{
	char parameters[32], speed[80] = "";
	snprintf(chart->title, sizeof chart->title, "Loss of %.60s, %.56s on %" PRId64 " rank%s", r->model, r->strategy,
	         r->ranks, r->ranks == 1 ? "" : "s");
	if (r->speed.tflops_per_device > 0) {
		char flops[32];
		number_format_flops(flops, sizeof flops, 1e12 * r->speed.tflops_per_device);
		snprintf(speed, sizeof speed, " · %s a device", flops);
	}
	snprintf(chart->subtitle, sizeof chart->subtitle,
	         "%s parameters · %s · batch %" PRId64 " · %" PRId64 " steps · %.0f %s/s%s",
	         number_format_count(parameters, r->parameters), type_name(r->precision), r->batch, r->steps,
	         r->units_per_s, r->sequence > 1 ? "tokens" : "samples", speed);
}

static enum status write_plot(void *context, FILE *out)
{
	struct exported *e = context;
	struct picture size = {.width = 1280, .height = 720, .scale = 1};
	return export_drawing(loss_chart_draw, &e->chart, e->format, &size, out);
}

enum status run_plot_write(const char *path, const struct curves *c, const struct report *measured)
{
	struct fonts fonts = {0};
	struct exported e = {.chart = {.curves = c, .fonts = &fonts}};
	format_of(path, &e.format);
	enum status s = fonts_open(&fonts);
	describe(&e.chart, measured);
	if (!s)
		s = file_write(path, "{plot}", write_plot, &e);
	fonts_release(&fonts);
	return s;
}
