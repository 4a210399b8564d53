/* Many combinations as one table. */
#include <math.h>
#include <string.h>

#include "cli/show/show.h"
#include "cli/show/table.h"
#include "cli/show/text.h"

/* The settings by which lines differ. */
struct differ {
	bool precision, checkpointing, offload;
};

static struct differ what_differs(const struct column *columns, int count)
{
	struct differ d = {0};
	for (int i = 1; i < count; i++) {
		const struct report *a = columns[0].report, *b = columns[i].report;
		d.precision |= a->precision != b->precision;
		d.checkpointing |= strcmp(a->checkpointing.setting, b->checkpointing.setting) != 0;
		d.offload |= strcmp(a->offload, b->offload) != 0;
	}
	return d;
}

static int64_t busiest(const struct report *r)
{
	int64_t most = 0;
	for (int i = 0; i < r->role_count; i++) {
		if (r->roles[i].sent_bytes < 0)
			return -1;
		if (r->roles[i].sent_bytes > most)
			most = r->roles[i].sent_bytes;
	}
	return most;
}

static enum category largest_part(const struct report_memory *m)
{
	enum category most = (enum category)0;
	for (int c = 1; c < CATEGORY_COUNT; c++)
		if (m->at_peak[c] > m->at_peak[most])
			most = (enum category)c;
	return most;
}

/* One unit for a column, so that its numbers can be compared. */
struct scales {
	struct scale memory, host, sent, time;
	bool any_host;
};

static struct scales find_scales(const struct column *columns, int count)
{
	int64_t memory = 0, host = 0, sent = 0, time = 0;
	for (int i = 0; i < count; i++) {
		const struct report *r = columns[i].report;
		const struct report_role *f = show_fullest(r);
		if (f->memory[SPACE_DEVICE].peak_bytes > memory)
			memory = f->memory[SPACE_DEVICE].peak_bytes;
		if (f->memory[SPACE_HOST].peak_bytes > host)
			host = f->memory[SPACE_HOST].peak_bytes;
		if (busiest(r) > sent)
			sent = busiest(r);
		if (r->time.step > time)
			time = r->time.step;
	}
	return (struct scales){scale_of_bytes(memory), scale_of_bytes(host), scale_of_bytes(sent), scale_of_time(time),
	                       host > 0};
}

/* Words over each other keep columns narrow: a line of the upper words, a line of the lower. */
static void grid_head(struct table *t, const struct differ *d, const struct scales *s, bool marked)
{
	char time[16];
	snprintf(time, sizeof time, "%s%s", s->time.name, marked ? " *" : "");
	const struct {
		bool shown;
		const char *upper, *lower;
	} heads[] = {
	        {true, "strategy", ""},
	        {d->precision, "precision", ""},
	        {d->checkpointing, "checkpointing", ""},
	        {d->offload, "offload", ""},
	        {true, "most of", "the peak"},
	        {true, "peak", s->memory.name},
	        {s->any_host, "host", s->host.name},
	        {true, "fits", ""},
	        {true, "fills", ""},
	        {true, "sends", s->sent.name},
	        {true, "step", time},
	        {true, "exposed", ""},
	        {true, "bubble", ""},
	};
	for (int line = 0; line < 2; line++) {
		table_row(t, STYLE_HEAD, "\t");
		for (int h = 0, c = 0; h < (int)(sizeof heads / sizeof heads[0]); h++)
			if (heads[h].shown)
				table_cell(t, c++, "%s", line ? heads[h].lower : heads[h].upper);
	}
}

static void grid_row(struct table *t, const struct column *column, const struct differ *d, const struct scales *s)
{
	const struct report *r = column->report;
	const struct report_memory *m = &show_fullest(r)->memory[SPACE_DEVICE];
	enum category part = largest_part(m);
	double step = r->time.step > 0 ? (double)r->time.step : 1;
	int c = 1;
	table_row(t, STYLE_PLAIN, "%s", column->heading);
	if (d->precision)
		table_cell(t, c++, "%s", type_name(r->precision));
	if (d->checkpointing)
		table_cell(t, c++, "%s", r->checkpointing.setting);
	if (d->offload)
		table_cell(t, c++, "%s", r->offload);
	table_cell(t, c++, "%s, %.0f %%", category_name(part),
	           m->peak_bytes > 0 ? 100.0 * (double)m->at_peak[part] / (double)m->peak_bytes : 0.0);
	table_scaled(t, c++, m->peak_bytes, s->memory);
	if (s->any_host)
		table_scaled(t, c++, show_fullest(r)->memory[SPACE_HOST].peak_bytes, s->host);
	table_cell_style(t, c, r->fits ? STYLE_GOOD : STYLE_BAD);
	table_cell(t, c++, r->fits ? "yes" : "no");
	table_cell(t, c++, "%.0f %%",
	           100.0 * (double)r->tightest.needed_bytes / fmax(1, (double)r->tightest.capacity_bytes));
	table_scaled(t, c++, busiest(r), s->sent);
	table_scaled(t, c++, r->time.step, s->time);
	table_cell(t, c++, "%.1f %%", 100.0 * (double)r->time.exposed / step);
	table_cell(t, c, "%.1f %%", 100.0 * (double)r->time.bubble / step);
}

void show_grid(const struct report *heading, const struct column *columns, int count, FILE *out)
{
	struct table t;
	const struct report *assumed = NULL;
	struct differ d = what_differs(columns, count);
	struct scales s = find_scales(columns, count);
	for (int i = 0; i < count; i++)
		if (!columns[i].report->rates_measured)
			assumed = columns[i].report;
	show_heading(heading,
	             (d.precision ? 0U : SHOW_PRECISION) | (d.checkpointing ? 0U : SHOW_CHECKPOINTING) |
	                     (d.offload ? 0U : SHOW_OFFLOAD),
	             out);
	fputc('\n', out);
	int text = 2 + d.precision + d.checkpointing + d.offload;
	table_init(&t, out, text + 7 + s.any_host, text);
	grid_head(&t, &d, &s, assumed != NULL);
	for (int i = 0; i < count; i++) {
		/* a gap where the settings change */
		if (i && (columns[i].report->precision != columns[i - 1].report->precision ||
		          strcmp(columns[i].report->checkpointing.setting,
		                 columns[i - 1].report->checkpointing.setting) != 0 ||
		          strcmp(columns[i].report->offload, columns[i - 1].report->offload) != 0))
			table_gap(&t);
		grid_row(&t, &columns[i], &d, &s);
	}
	table_end(&t, 0);
	fputc('\n', out);
	text_wrapped(
	        out,
	        "Peak: of the fullest rank's device, without libraries. Fills: so much of a device, a node's memory or "
	        "a "
	        "disk, whichever is fullest, with libraries. Sends: of the busiest rank. Exposed and bubble: shares of "
	        "the step.",
	        0, text_columns(out, 110));
	if (assumed)
		show_rates(assumed, out);
}
