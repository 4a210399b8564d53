#include "cli/command/run_plot.h"

#include <inttypes.h>
#include <stdio.h>

#include "strategy/base/number.h"
#include "strategy/base/output.h"
#include "viz/export/export.h"
#include "viz/scene/loss_chart.h"

enum status run_plot_check(const char *path)
{
	struct fonts fonts = {0};
	enum status s = export_chart_check(path, "{plot}");
	if (!s)
		s = fonts_open(&fonts);
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

enum status run_plot_write(const char *path, const struct curves *c, const struct report *measured)
{
	struct fonts fonts = {0};
	struct loss_chart chart = {.curves = c, .fonts = &fonts};
	enum status s = fonts_open(&fonts);
	describe(&chart, measured);
	if (!s)
		s = export_chart(path, "{plot}", loss_chart_draw, &chart);
	fonts_release(&fonts);
	return s;
}
