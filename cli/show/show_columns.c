/* Reports side by side, as a table and as a CSV file. */
#include <inttypes.h>
#include <string.h>

#include "cli/show/figure.h"
#include "cli/show/show.h"
#include "cli/show/table.h"
#include "strategy/trace/ratio.h"

int64_t show_fastest_step(const struct column *columns, int count)
{
	int64_t best = INT64_MAX;
	for (int i = 0; i < count; i++)
		if (columns[i].report->fits && columns[i].report->time.step < best)
			best = columns[i].report->time.step;
	return best;
}

/* The columns of a table: each role of each report is one. */
struct spread {
	const struct report *report[TABLE_COLUMNS];
	int role[TABLE_COLUMNS];
	const char *heading[TABLE_COLUMNS];
	int count;
	bool roles; /* some report has several */
};

static struct spread spread_out(const struct column *columns, int count)
{
	struct spread s = {0};
	for (int i = 0; i < count; i++)
		for (int role = 0; role < columns[i].report->role_count && s.count < TABLE_COLUMNS - 1; role++) {
			if (!show_has_role(columns[i].report, role))
				continue;
			s.report[s.count] = columns[i].report;
			s.role[s.count] = role;
			s.heading[s.count++] = columns[i].heading;
			s.roles |= role > 0;
		}
	return s;
}

static void show_headings(struct table *t, const struct spread *s)
{
	table_row(t, STYLE_HEAD, "\t");
	for (int c = 0; c < s->count; c++)
		if (!s->role[c])
			table_cell(t, 1 + c, "%s", s->heading[c]);
	if (s->roles)
		table_row(t, STYLE_FAINT, "\t");
	for (int c = 0; s->roles && c < s->count; c++)
		if (s->report[c]->role_count > 1)
			table_cell(t, 1 + c, "%s", s->report[c]->roles[s->role[c]].role);
}

bool show_micros_differ(const struct column *columns, int count)
{
	const struct report *first = NULL;
	for (int i = 0; i < count; i++) {
		const struct report *r = columns[i].report;
		if (r->ranks == 1)
			continue;
		if (first && (r->micro_batch != first->micro_batch || r->accumulate != first->accumulate))
			return true;
		first = r;
	}
	return false;
}

static void show_micros(struct table *t, const struct spread *s)
{
	table_row(t, STYLE_PLAIN, "micro-batches");
	for (int c = 0; c < s->count; c++)
		if (!s->role[c])
			table_cell(t, 1 + c, "%" PRId64 " × %" PRId64, s->report[c]->micro_batch,
			           s->report[c]->accumulate);
}

static bool is_empty(const struct spread *s, enum figure_group g)
{
	for (const struct figure *f = report_figures(); f->name; f++)
		for (int c = 0; f->group == g && c < s->count; c++)
			if (figure_value(f, s->report[c], s->role[c]) > 0)
				return false;
	return true;
}

static void show_which(struct table *t, const struct spread *s)
{
	table_row(t, STYLE_PLAIN, "  of the");
	for (int c = 0; c < s->count; c++)
		if (!s->role[c])
			table_cell(t, 1 + c, "%s",
			           s->report[c]->tightest.capacity_bytes ? show_memory_name(&s->report[c]->tightest)
			                                                 : "–");
}

static void show_group(struct table *t, const struct spread *s, enum figure_group g, bool marked)
{
	struct scale scale = group_scale(g, s->report, s->count);
	if ((g == GROUP_BESIDE || g == GROUP_TIGHTEST) && is_empty(s, g))
		return;
	table_gap(t);
	table_row(t, STYLE_HEAD, "%s, %s%s", group_titles[g], scale.name, marked ? " *" : "");
	if (g == GROUP_TIGHTEST)
		show_which(t, s);
	for (const struct figure *f = report_figures(); f->name; f++) {
		if (f->group != g)
			continue;
		table_row(t, f->total ? STYLE_HEAD : STYLE_PLAIN, "  %s", f->name);
		for (int c = 0; c < s->count; c++)
			if (!f->whole_run || !s->role[c])
				table_scaled(t, 1 + c, figure_value(f, s->report[c], s->role[c]), scale);
	}
}

static void show_bound(struct table *t, const struct spread *s, const char *name, size_t offset)
{
	struct scale scale = group_scale(GROUP_TIME, s->report, s->count);
	table_row(t, STYLE_FAINT, "  %s", name);
	for (int c = 0; c < s->count; c++)
		if (!s->role[c] && *s->report[c]->basis)
			table_scaled(t, 1 + c, *(const int64_t *)((const char *)s->report[c] + offset), scale);
}

/* Below the step, where a stack gives them. */
static void show_ranges(struct table *t, const struct spread *s)
{
	bool any = false;
	for (int c = 0; c < s->count; c++)
		any |= *s->report[c]->basis != 0;
	if (!any)
		return;
	show_bound(t, s, "range from", offsetof(struct report, range_low));
	show_bound(t, s, "range to", offsetof(struct report, range_high));
}

static void show_ratio(struct table *t, const struct spread *s, int64_t fastest, const char *name, size_t offset)
{
	table_row(t, STYLE_FAINT, "  %s", name);
	for (int c = 0; c < s->count; c++) {
		const struct ratio r = ratio_of(s->report[c]->time.step, fastest, true);
		if (!s->role[c])
			table_cell(t, 1 + c, "%.2f", *(const double *)((const char *)&r + offset));
	}
}

/* Steps as multiples of the fastest that fits, where they have ranges and so have their ratios. */
static void show_ratios(struct table *t, const struct spread *s, const struct column *columns, int count)
{
	int64_t fastest = show_fastest_step(columns, count);
	bool all = count > 1 && fastest < INT64_MAX;
	for (int c = 0; c < s->count; c++)
		all &= *s->report[c]->basis != 0;
	if (!all)
		return;
	table_gap(t);
	table_row(t, STYLE_HEAD, "ratio to the fastest that fits");
	show_ratio(t, s, fastest, "times as long", offsetof(struct ratio, value));
	show_ratio(t, s, fastest, "from", offsetof(struct ratio, low));
	show_ratio(t, s, fastest, "to", offsetof(struct ratio, high));
}

/* Model FLOPs a second of a device, as the whole number that scales are made for. */
static int64_t flops_of(const struct report *r)
{
	return (int64_t)(1e12 * r->speed.tflops_per_device);
}

static int64_t units_of(const struct report *r)
{
	return (int64_t)(r->speed.units_per_s + 0.5);
}

static int64_t most_of(const struct spread *s, int64_t of(const struct report *r))
{
	int64_t most = 0;
	for (int c = 0; c < s->count; c++)
		most = of(s->report[c]) > most ? of(s->report[c]) : most;
	return most;
}

static void show_scaled(struct table *t, const struct spread *s, const char *whose, int64_t of(const struct report *r),
                        struct scale scale)
{
	table_row(t, STYLE_PLAIN, "%s", whose);
	for (int c = 0; c < s->count; c++)
		if (!s->role[c])
			table_scaled(t, 1 + c, of(s->report[c]), scale);
}

static void show_speed(struct table *t, const struct spread *s)
{
	if (!most_of(s, flops_of))
		return;
	struct scale units = scale_of_count(most_of(s, units_of)), flops = scale_of_flops(most_of(s, flops_of));
	table_gap(t);
	table_row(t, STYLE_HEAD, "%s a second%s%s", show_units(s->report[0]), *units.name ? ", " : "", units.name);
	show_scaled(t, s, "  all ranks", units_of, units);
	table_gap(t);
	table_row(t, STYLE_HEAD, "model FLOPs, %s", flops.name);
	show_scaled(t, s, "  a device", flops_of, flops);
	table_row(t, STYLE_PLAIN, "  MFU");
	for (int c = 0; c < s->count; c++)
		if (!s->role[c] && s->report[c]->speed.mfu > 0)
			table_cell(t, 1 + c, "%.1f %%", 100 * s->report[c]->speed.mfu);
		else if (!s->role[c])
			table_cell(t, 1 + c, "–");
}

static void show_bubbles(const struct column *columns, int count, FILE *out)
{
	char whose[300];
	for (int i = 0; i < count; i++) {
		snprintf(whose, sizeof whose, "%.290s: ", columns[i].heading);
		show_bubble(columns[i].report, whose, out);
	}
}

void show_columns(const struct column *columns, int count, FILE *out)
{
	struct table t;
	struct spread s = spread_out(columns, count);
	const struct report *assumed = NULL;
	for (int c = 0; c < s.count; c++)
		if (!s.report[c]->rates_measured)
			assumed = s.report[c];
	table_init(&t, out, 1 + s.count, 1);
	show_headings(&t, &s);
	if (show_micros_differ(columns, count))
		show_micros(&t, &s);
	for (int g = 0; g < GROUP_COUNT; g++) {
		show_group(&t, &s, (enum figure_group)g, g == GROUP_TIME && assumed);
		if (g == GROUP_TIME) {
			show_ranges(&t, &s);
			show_ratios(&t, &s, columns, count);
			show_speed(&t, &s);
		}
	}
	table_row(&t, STYLE_HEAD, "  fits");
	for (int c = 0; c < s.count; c++)
		if (!s.role[c]) {
			table_cell(&t, 1 + c, "%s", report_fit_word(s.report[c]));
			table_cell_style(&t, 1 + c, show_fit_style(s.report[c]));
		}
	table_end(&t, 0);
	show_bubbles(columns, count, out);
	if (assumed) {
		fputc('\n', out);
		show_rates(assumed, out);
	}
}

/* RFC 4180: a field with a comma or a quote is quoted. */
static void csv_text(FILE *out, const char *text)
{
	if (!strpbrk(text, ",\"\n")) {
		fputs(text, out);
		return;
	}
	fputc('"', out);
	for (; *text; text++)
		fprintf(out, *text == '"' ? "\"%c" : "%c", *text);
	fputc('"', out);
}

/* 0 is unknown. */
static void csv_known(FILE *out, double v)
{
	if (v > 0)
		fprintf(out, ",%.15g", v);
	else
		fputc(',', out);
}

static void csv_model(FILE *out, const struct report *r)
{
	char text[400];
	snprintf(text, sizeof text, "%s%s%s", r->model, *r->asked.model_keys ? ":" : "", r->asked.model_keys);
	csv_text(out, text);
}

/* Settings without a column of their own. */
static void csv_asked(FILE *out, const struct report *r)
{
	fprintf(out, ",%" PRId64 ",", r->asked.seed);
	csv_text(out, r->asked.others);
	fprintf(out, ",%s", r->asked.version);
}

void show_csv(const struct column *columns, int count, FILE *out)
{
	fputs("strategy,role,ranks,model,precision,activation_checkpointing,offload,batch,micro_batch,accumulate,"
	      "sequence,cluster,rates,fits",
	      out);
	for (const struct figure *f = report_figures(); f->name; f++)
		fprintf(out, ",%s", f->key);
	fputs(",bubble_closed_form,grain,model_flops,tokens_per_s,tflops_per_device,mfu,seed,settings,version\n", out);
	for (int c = 0; c < count; c++) {
		const struct report *r = columns[c].report;
		for (int role = 0; role < r->role_count; role++) {
			csv_text(out, columns[c].heading);
			fprintf(out, ",%s,%" PRId64 ",", r->roles[role].role, r->roles[role].ranks);
			csv_model(out, r);
			fprintf(out, ",%s,", type_name(r->precision));
			csv_text(out, r->checkpointing.setting);
			fputc(',', out);
			csv_text(out, r->offload);
			fprintf(out, ",%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64 ",", r->batch, r->micro_batch,
			        r->accumulate, r->sequence);
			csv_text(out, r->cluster);
			fprintf(out, ",%s,%s", r->rates_measured ? "measured" : "assumed", r->fits ? "yes" : "no");
			for (const struct figure *f = report_figures(); f->name; f++) {
				int64_t v = figure_value(f, r, role);
				if (v < 0)
					fputc(',', out);
				else
					fprintf(out, ",%" PRId64, v);
			}
			if (r->bubble.stages)
				fprintf(out, ",%.6f,%s", bubble_share(&r->bubble), r->grain);
			else
				fprintf(out, ",,%s", r->grain);
			csv_known(out, r->speed.model_flops);
			csv_known(out, r->speed.units_per_s);
			csv_known(out, r->speed.tflops_per_device);
			csv_known(out, r->speed.mfu);
			csv_asked(out, r);
			fputc('\n', out);
		}
	}
}

void show_checkpointing(const struct column *columns, int count, FILE *out)
{
	const struct report_checkpointing *c = &columns[0].report->checkpointing;
	struct table t;
	if (!strcmp(c->setting, "none"))
		return;
	fputc('\n', out);
	table_init(&t, out, 1 + count, 1);
	table_row(&t, STYLE_HEAD, "activation checkpointing");
	for (int i = 0; i < count && count > 1; i++)
		table_cell(&t, 1 + i, "%s", columns[i].heading);
	if (c->checkpoints)
		table_row(&t, STYLE_PLAIN, "  checkpoints\t%" PRId64, c->checkpoints);
	if (c->tried)
		table_row(&t, STYLE_PLAIN, "  plans compared for the least peak\t%" PRId64, c->tried);
	if (c->arena_bytes_without) {
		table_row(&t, STYLE_PLAIN, "  as laid out, checkpoints in one block");
		table_bytes(&t, 1, columns[0].report->roles[0].memory[SPACE_DEVICE].arena_bytes);
		table_row(&t, STYLE_PLAIN, "  as laid out, checkpoints apart");
		table_bytes(&t, 1, c->arena_bytes_without);
	}
	for (int pass = 0; pass < 3 && c->profile; pass++) {
		static const char *const names[] = {"forward", "recompute", "backward"};
		table_row(&t, STYLE_PLAIN, "  %s", names[pass]);
		for (int i = 0; i < count; i++) {
			const struct times *n = &columns[i].report->time;
			table_time(&t, 1 + i, pass == 0 ? n->forward : pass == 1 ? n->recompute : n->backward);
		}
	}
	table_end(&t, 0);
}
