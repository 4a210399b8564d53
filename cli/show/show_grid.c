/* Many combinations as one table. */
#include <inttypes.h>
#include <string.h>

#include "cli/show/show.h"
#include "cli/show/table.h"
#include "cli/show/text.h"

/* The settings by which two lines differ, as show_heading names them. */
static unsigned differ(const struct report *a, const struct report *b)
{
	return (a->precision != b->precision ? SHOW_PRECISION : 0U) |
	       (strcmp(a->checkpointing.setting, b->checkpointing.setting) != 0 ? SHOW_CHECKPOINTING : 0U) |
	       (strcmp(a->offload, b->offload) != 0 ? SHOW_OFFLOAD : 0U) |
	       (strcmp(a->asked.others, b->asked.others) != 0 ? SHOW_OTHERS : 0U);
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

static bool any_mfu(const struct column *columns, int count)
{
	for (int i = 0; i < count; i++)
		if (columns[i].report->speed.mfu > 0)
			return true;
	return false;
}

/* The range of the numbers above 0. */
struct range {
	int64_t least, most;
};

static void widen(struct range *r, int64_t value)
{
	if (value > r->most)
		r->most = value;
	if (value > 0 && (!r->least || value < r->least))
		r->least = value;
}

static struct scales find_scales(const struct column *columns, int count)
{
	struct range memory = {0}, host = {0}, sent = {0}, time = {0};
	for (int i = 0; i < count; i++) {
		const struct report *r = columns[i].report;
		const struct report_role *f = show_fullest(r);
		widen(&memory, f->memory[SPACE_DEVICE].peak_bytes);
		widen(&host, f->memory[SPACE_HOST].peak_bytes);
		widen(&sent, busiest(r));
		widen(&time, r->time.step);
	}
	return (struct scales){scale_of_bytes_between(memory.least, memory.most),
	                       scale_of_bytes_between(host.least, host.most),
	                       scale_of_bytes_between(sent.least, sent.most), scale_of_time(time.most), host.most > 0};
}

enum {
	STRATEGY,
	PRECISION,
	CHECKPOINTING,
	OFFLOAD,
	MICRO,
	MOST,
	PEAK,
	HOST,
	FITS,
	FILLS,
	SENDS,
	STEP,
	EXPOSED,
	BUBBLE,
	MFU,
	COLUMNS
};

/* Words over each other keep columns narrow: a line of the upper words, a line of the lower. */
static void grid_head(struct table *t, const struct scales *s, bool marked)
{
	table_row(t, STYLE_HEAD,
	          "strategy\tprecision\tcheckpointing\toffload\tmicro-\tmost of\tpeak\thost\tfits\tfills\tsends\tstep\t"
	          "exposed\tbubble\tMFU");
	table_row(t, STYLE_HEAD, "\t\t\t\tbatches\tthe peak\t%s\t%s\t\t\t%s\t%s%s", s->memory.name, s->host.name,
	          s->sent.name, s->time.name, marked ? " *" : "");
}

static double percent(double part, double whole)
{
	return whole > 0 ? 100 * part / whole : 0;
}

static void grid_row(struct table *t, const struct column *column, const struct scales *s)
{
	const struct report *r = column->report;
	const struct report_memory *m = &show_fullest(r)->memory[SPACE_DEVICE];
	enum category part = largest_part(m);
	double step = (double)r->time.step;
	table_row(t, STYLE_PLAIN,
	          "%s\t%s\t%s\t%s\t%" PRId64 " × %" PRId64 "\t%s, %.0f %%\t\t\t%s\t%.0f %%\t\t\t%.1f %%\t%.1f %%",
	          column->heading, type_name(r->precision), r->checkpointing.setting, r->offload, r->micro_batch,
	          r->accumulate, category_name(part), percent((double)m->at_peak[part], (double)m->peak_bytes),
	          report_fit_word(r), percent((double)r->tightest.needed_bytes, (double)r->tightest.capacity_bytes),
	          percent((double)r->time.exposed, step), percent((double)r->time.bubble, step));
	if (r->speed.mfu > 0)
		table_cell(t, MFU, "%.1f %%", 100 * r->speed.mfu);
	table_cell_style(t, FITS, show_fit_style(r));
	table_scaled(t, PEAK, m->peak_bytes, s->memory);
	table_scaled(t, HOST, show_fullest(r)->memory[SPACE_HOST].peak_bytes, s->host);
	table_scaled(t, SENDS, busiest(r), s->sent);
	table_scaled(t, STEP, r->time.step, s->time);
}

/* For a strategy's lines with the same stages, prints the closed form once and the range of their measured bubbles. */
static void grid_bubbles(const struct column *columns, int count, FILE *out)
{
	char text[BUBBLE_TEXT];
	for (int i = 0; i < count; i++) {
		const struct bubble *b = &columns[i].report->bubble;
		double least = 100, most = 0;
		bool first = b->stages > 0;
		for (int k = 0; k < count; k++) {
			const struct report *r = columns[k].report;
			if (strcmp(columns[k].heading, columns[i].heading) != 0 || r->bubble.stages != b->stages ||
			    r->bubble.micro_batches != b->micro_batches)
				continue;
			double here = percent((double)r->time.bubble, (double)r->time.step);
			least = here < least ? here : least;
			most = here > most ? here : most;
			first &= k >= i;
		}
		if (!first)
			continue;
		fprintf(out, "%s: %s; here %.1f", columns[i].heading, bubble_text(text, b), least);
		if (most - least >= 0.05)
			fprintf(out, " to %.1f", most);
		fputs(" %\n", out);
	}
}

void show_grid(const struct report *heading, const struct column *columns, int count, FILE *out)
{
	struct table t;
	char words[400];
	const struct report *assumed = NULL;
	unsigned varied = 0;
	struct scales s = find_scales(columns, count);
	for (int i = 0; i < count; i++) {
		varied |= differ(columns[0].report, columns[i].report);
		if (!columns[i].report->rates_measured)
			assumed = columns[i].report;
	}
	if (show_micros_differ(columns, count))
		varied |= SHOW_MICRO;
	show_heading(heading, SHOW_ALL & ~varied, out);
	fputc('\n', out);
	table_init(&t, out, COLUMNS, MOST + 1);
	t.hidden[PRECISION] = !(varied & SHOW_PRECISION);
	t.hidden[CHECKPOINTING] = !(varied & SHOW_CHECKPOINTING);
	t.hidden[OFFLOAD] = !(varied & SHOW_OFFLOAD);
	t.hidden[MICRO] = !(varied & SHOW_MICRO);
	t.hidden[HOST] = !s.any_host;
	t.hidden[MFU] = !any_mfu(columns, count);
	grid_head(&t, &s, assumed != NULL);
	for (int i = 0; i < count; i++) {
		/* a gap where the settings change */
		if (i && differ(columns[i].report, columns[i - 1].report))
			table_gap(&t);
		grid_row(&t, &columns[i], &s);
	}
	table_end(&t, 0);
	grid_bubbles(columns, count, out);
	fputc('\n', out);
	snprintf(words, sizeof words,
	         "Peak: of the fullest rank's device, without libraries. Fills: so much of a device, a node's memory "
	         "or a disk, whichever is fullest, with libraries. Sends: of the busiest rank. Exposed and bubble: "
	         "shares of the step.%s",
	         any_mfu(columns, count) ? " MFU: model FLOPs a second, as a share of the device's peak." : "");
	text_wrapped(out, words, 0, text_columns(out, 110));
	if (assumed)
		show_rates(assumed, out);
}
