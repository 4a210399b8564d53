#include "tests/support/viewed.h"

#include <inttypes.h>
#include <string.h>

#include "sim/sim.h"

static void must(enum status s)
{
	if (s) {
		fprintf(stderr, "%s\n", status_message());
		abort();
	}
}

void viewed_open(struct viewed *v, const char *words, ...)
{
	struct cluster c;
	struct report report = {0};
	WORDS(words, text);
	*v = (struct viewed){0};
	must(made_open_words(&v->made, text));
	const char *strategy = v->made.plan.settings.strategy;
	must(cluster_open(&c, "laptop", v->made.plan.ranks));
	must(sim_run(&v->made.plan, &c, v->made.plan.ranks <= TIMELINE_MESSAGE_RANKS ? GRAIN_MESSAGE : GRAIN_OPERATION,
	             &v->trace, &report));
	v->step_ns = report.time.step;
	for (int i = 0; i < report.role_count; i++)
		if (report.roles[i].memory[SPACE_DEVICE].peak_bytes > v->peak_bytes)
			v->peak_bytes = report.roles[i].memory[SPACE_DEVICE].peak_bytes;
	for (int i = 0; i < report.role_count; i++)
		if (report.roles[i].sent_bytes > v->sent_bytes)
			v->sent_bytes = report.roles[i].sent_bytes;
	v->limits =
	        (struct limits){.device_bytes = c.node_memory / v->made.plan.ranks, .overhead_bytes = c.overhead.value};
	must(trace_view_open(&v->shown, &v->trace, &v->limits, NULL));
	snprintf(v->shown.label, sizeof v->shown.label, "%.60s", strategy);
	snprintf(v->shown.heading, sizeof v->shown.heading, "%.60s on %" PRId64 " ranks", strategy, v->made.plan.ranks);
	report_release(&report);
	cluster_release(&c);
}

void viewed_release(struct viewed *v)
{
	trace_view_release(&v->shown);
	trace_release(&v->trace);
	made_release(&v->made);
	*v = (struct viewed){0};
}

struct viewed *viewed_plan(const char *words)
{
	enum { KEPT = 64 };
	static struct viewed *kept[KEPT];
	static int count;
	struct viewed *v = calloc(1, sizeof *v);
	if (!v || count == KEPT)
		abort();
	viewed_open(v, "%s", words);
	return kept[count++] = v;
}

char *viewed_export(struct playback *p, enum export_format format, const struct picture *size, bool all, size_t *length)
{
	char *text = NULL;
	FILE *out = open_memstream(&text, length);
	if (!out)
		abort();
	must(export_write(p, format, size, all, out));
	if (fclose(out))
		abort();
	return text;
}

cairo_t *sheet_open(int width, int height)
{
	cairo_surface_t *surface = cairo_image_surface_create(CAIRO_FORMAT_RGB24, width, height);
	cairo_t *cr = cairo_create(surface);
	cairo_surface_destroy(surface);
	return cr;
}

uint32_t sheet_pixel(cairo_t *cr, int x, int y)
{
	cairo_surface_t *surface = cairo_get_target(cr);
	uint32_t pixel;
	cairo_surface_flush(surface);
	memcpy(&pixel, cairo_image_surface_get_data(surface) + y * cairo_image_surface_get_stride(surface) + 4 * x,
	       sizeof pixel);
	return pixel & 0xFFFFFF;
}
