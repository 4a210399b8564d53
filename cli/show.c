#include "cli/show.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "cli/figure.h"
#include "cli/show_spaces.h"
#include "cli/table.h"
#include "strategy/base/number.h"
#include "strategy/cluster/cluster.h"

const char *show_count(char *out, int64_t n)
{
	char digits[24];
	int length = snprintf(digits, sizeof digits, "%" PRId64, n), at = 0;
	for (int i = 0; i < length; i++) {
		if (i && (length - i) % 3 == 0 && digits[i - 1] != '-')
			out[at++] = ',';
		out[at++] = digits[i];
	}
	out[at] = 0;
	return out;
}

void show_heading(const struct report *r, unsigned settings, FILE *out)
{
	bool colour = terminal_colour(out);
	char n[32];
	fprintf(out, "%s%s%s on %" PRId64 " rank%s · %s, %s parameters", style_begin(STYLE_HEAD, colour), r->strategy,
	        style_end(STYLE_HEAD, colour), r->ranks, r->ranks == 1 ? "" : "s", r->model,
	        show_count(n, r->parameters));
	if (settings & SHOW_PRECISION)
		fprintf(out, " · %s%s%s", type_name(r->precision), r->tf32 ? ", products in tf32" : "",
		        r->stochastic_rounding ? ", rounded stochastically" : "");
	int64_t data_ranks = r->batch / (r->micro_batch * r->accumulate);
	bool same = data_ranks == 1 && r->ranks > 1; /* samples on all ranks */
	fprintf(out, " · batch %s", show_count(n, r->batch));
	if (data_ranks > 1)
		fprintf(out, " = %" PRId64 " %sranks × %s", data_ranks, data_ranks < r->ranks ? "data " : "",
		        show_count(n, r->micro_batch));
	else if (r->accumulate > 1)
		fprintf(out, " = %s", show_count(n, r->micro_batch));
	if (r->accumulate > 1)
		fprintf(out, " × %" PRId64 " micro-batches", r->accumulate);
	if (same)
		fprintf(out, ", the same on all ranks");
	if (r->sequence > 1)
		fprintf(out, " · sequence %" PRId64, r->sequence);
	if ((settings & SHOW_CHECKPOINTING) && strcmp(r->checkpointing.setting, "none") != 0)
		fprintf(out, " · checkpointing %s", r->checkpointing.setting);
	if ((settings & SHOW_OFFLOAD) && strcmp(r->offload, "none") != 0)
		fprintf(out, " · offload %s", r->offload);
	fprintf(out, " · cluster %s\n", r->cluster);
}

static const char *hint_of(const char *cluster)
{
	if (!strcmp(cluster, CLUSTER_LOCAL))
		return "; shardlab calibrate measures those of this machine";
	if (!strcmp(cluster, CLUSTER_LOCAL_CUDA))
		return "; shardlab calibrate --device cuda measures those of this machine";
	return "";
}

void show_rates(const struct report *r, FILE *out)
{
	if (r->rates_measured)
		return;
	fprintf(out, "* rests on assumed rates%s\n", hint_of(r->cluster));
}

/* ---- one report ---- */

static void show_memory(const struct report *r, FILE *out)
{
	show_space(r, SPACE_DEVICE, out);
	for (int i = 0; i < r->role_count; i++) {
		fprintf(out, "  peak at: %s", r->roles[i].memory[SPACE_DEVICE].peak_at);
		if (r->role_count > 1)
			fprintf(out, " (%s)", r->roles[i].role);
		fputc('\n', out);
	}
	fprintf(out, "  fits: %s\n", r->fits ? "yes" : "no");
}

static bool communicates(const struct report_role *role)
{
	for (int k = 0; k < TRAFFIC_COUNT; k++)
		if (role->by_kind[k].calls)
			return true;
	return false;
}

static void traffic_row(struct table *t, const char *name, const struct report_traffic *f, enum style style)
{
	table_add_row(t, style);
	table_cell(t, 0, "  %s", name);
	table_cell(t, 1, "%" PRId64, f->calls);
	table_bytes(t, 2, f->payload_bytes);
	table_bytes(t, 3, f->sent_bytes);
	table_bytes(t, 4, f->received_bytes);
}

static void show_traffic(const struct report_role *role, bool several, FILE *out)
{
	struct table t;
	static const char *const heads[] = {"calls", "payload", "sent", "received"};
	bool any = communicates(role);
	table_init(&t, out, 5);
	table_add_row(&t, STYLE_HEAD);
	if (several)
		table_cell(&t, 0, "communication of %s%s, a step", role->ranks > 1 ? "a " : "the ", role->role);
	else
		table_cell(&t, 0, any ? "communication of a rank, a step" : "communication: none");
	for (int c = 0; any && c < 4; c++)
		table_cell(&t, 1 + c, "%s", heads[c]);
	for (int k = 0; k < TRAFFIC_COUNT; k++)
		if (role->by_kind[k].calls && k != TRAFFIC_CONTROL)
			traffic_row(&t, traffic_name((enum traffic_kind)k), &role->by_kind[k], STYLE_PLAIN);
	if (any) {
		table_add_row(&t, STYLE_HEAD);
		table_cell(&t, 0, "  total");
		table_bytes(&t, 3, role->sent_bytes);
		table_bytes(&t, 4, role->received_bytes);
	}
	if (role->by_kind[TRAFFIC_CONTROL].calls)
		traffic_row(&t, "control (not in the total)", &role->by_kind[TRAFFIC_CONTROL], STYLE_FAINT);
	table_print(&t, 0);
	table_release(&t);
}

static void time_row(struct table *t, const char *name, int64_t ns, int64_t step, enum style style)
{
	table_add_row(t, style);
	table_cell(t, 0, "  %s", name);
	table_time(t, 1, ns);
	if (step)
		table_cell(t, 2, "%.1f %%", 100.0 * (double)ns / (double)step);
}

static void show_time(const struct report *r, FILE *out)
{
	struct table t;
	const struct times *n = &r->time;
	table_init(&t, out, 3);
	table_add_row(&t, STYLE_HEAD);
	table_cell(&t, 0, "time of a step%s", r->rates_measured ? "" : " *");
	time_row(&t, "computing", n->compute, n->step, STYLE_PLAIN);
	time_row(&t, "waiting for communication", n->exposed, n->step, STYLE_PLAIN);
	time_row(&t, "waiting for anything else", n->bubble, n->step, STYLE_PLAIN);
	time_row(&t, "step", n->step, 0, STYLE_HEAD);
	time_row(&t, "communicating, hidden or not", n->communication, n->step, STYLE_FAINT);
	table_print(&t, 0);
	table_release(&t);
}

/* Of many roles (the stages of a long pipeline) the first, the one that needs most, and the last. */
enum { MOST_ROLES = 4 };

static bool is_shown(const struct report *r, int role)
{
	int fullest = 0;
	if (r->role_count <= MOST_ROLES || !role || role == r->role_count - 1)
		return true;
	for (int i = 1; i < r->role_count; i++)
		if (r->roles[i].memory[SPACE_DEVICE].peak_bytes > r->roles[fullest].memory[SPACE_DEVICE].peak_bytes)
			fullest = i;
	return role == fullest;
}

static void show_whole(const struct report *r, FILE *out)
{
	show_heading(r, SHOW_ALL, out);
	fputc('\n', out);
	show_memory(r, out);
	show_spaces(r, out);
	for (int i = 0; i < r->role_count; i++) {
		fputc('\n', out);
		show_traffic(&r->roles[i], r->role_count > 1, out);
	}
	show_transfers(r, out);
	fputc('\n', out);
	show_time(r, out);
	show_checkpointing(&(struct column){.report = r}, 1, out);
	if (!r->rates_measured || r->roles[0].memory[SPACE_DEVICE].overhead_assumed) {
		fputc('\n', out);
		show_rates(r, out);
	}
}

void show_report(const struct report *r, FILE *out)
{
	struct report some = *r;
	some.role_count = 0;
	for (int i = 0; i < r->role_count; i++)
		if (is_shown(r, i))
			some.roles[some.role_count++] = r->roles[i];
	show_whole(&some, out);
	if (some.role_count < r->role_count)
		fprintf(out, "\n%d of %d roles are shown: the first, the fullest and the last; --json has all\n",
		        some.role_count, r->role_count);
}

/* ---- side by side ---- */

/* All in one row: each role of each report is a column. */
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
			if (!is_shown(columns[i].report, role))
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
	table_add_row(t, STYLE_HEAD);
	for (int c = 0; c < s->count; c++)
		if (!s->role[c])
			table_cell(t, 1 + c, "%s", s->heading[c]);
	if (!s->roles)
		return;
	table_add_row(t, STYLE_FAINT);
	for (int c = 0; c < s->count; c++)
		if (s->report[c]->role_count > 1)
			table_cell(t, 1 + c, "%s", s->report[c]->roles[s->role[c]].role);
}

/* Is anything kept beside the device? */
static bool any_away(const struct spread *s)
{
	for (int i = 0; figure_at(i); i++)
		for (int c = 0; figure_at(i)->group == GROUP_AWAY && c < s->count; c++)
			if (figure_value(i, s->report[c], s->role[c]))
				return true;
	return false;
}

static void show_group(struct table *t, const struct spread *s, enum figure_group g, bool marked)
{
	struct scale scale = group_scale(g, s->report, s->count);
	if (g == GROUP_AWAY && !any_away(s))
		return;
	table_gap(t);
	table_add_row(t, STYLE_HEAD);
	table_cell(t, 0, "%s, %s%s", group_title(g), scale.name, marked ? " *" : "");
	for (int i = 0; figure_at(i); i++) {
		const struct figure *f = figure_at(i);
		if (f->group != g)
			continue;
		table_add_row(t, f->total ? STYLE_HEAD : STYLE_PLAIN);
		table_cell(t, 0, "  %s", f->name);
		for (int c = 0; c < s->count; c++)
			if (!f->whole_run || !s->role[c])
				table_scaled(t, 1 + c, figure_value(i, s->report[c], s->role[c]), scale);
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
	table_init(&t, out, 1 + s.count);
	show_headings(&t, &s);
	for (int g = 0; g < GROUP_COUNT; g++)
		show_group(&t, &s, (enum figure_group)g, g == GROUP_TIME && assumed);
	table_gap(&t);
	table_add_row(&t, STYLE_HEAD);
	table_cell(&t, 0, "fits");
	for (int c = 0; c < s.count; c++)
		if (!s.role[c]) {
			table_cell(&t, 1 + c, s.report[c]->fits ? "yes" : "no");
			table_cell_style(&t, 1 + c, s.report[c]->fits ? STYLE_GOOD : STYLE_BAD);
		}
	table_print(&t, 0);
	table_release(&t);
	if (assumed) {
		fputc('\n', out);
		show_rates(assumed, out);
	}
}

/* RFC 4180: a field with a comma or a quote stands in quotes. */
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

void show_csv(const struct column *columns, int count, FILE *out)
{
	fputs("strategy,role,ranks,model,precision,activation_checkpointing,offload,batch,micro_batch,accumulate,"
	      "sequence,cluster,rates,fits",
	      out);
	for (int i = 0; figure_at(i); i++)
		fprintf(out, ",%s", figure_at(i)->key);
	fputc('\n', out);
	for (int c = 0; c < count; c++) {
		const struct report *r = columns[c].report;
		for (int role = 0; role < r->role_count; role++) {
			csv_text(out, columns[c].heading);
			fprintf(out, ",%s,%" PRId64 ",", r->roles[role].role, r->roles[role].ranks);
			csv_text(out, r->model);
			fprintf(out, ",%s,", type_name(r->precision));
			csv_text(out, r->checkpointing.setting);
			fputc(',', out);
			csv_text(out, r->offload);
			fprintf(out, ",%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64 ",", r->batch, r->micro_batch,
			        r->accumulate, r->sequence);
			csv_text(out, r->cluster);
			fprintf(out, ",%s,%s", r->rates_measured ? "measured" : "assumed", r->fits ? "yes" : "no");
			for (int i = 0; figure_at(i); i++) {
				int64_t v = figure_value(i, r, role);
				if (v < 0)
					fputc(',', out);
				else
					fprintf(out, ",%" PRId64, v);
			}
			fputc('\n', out);
		}
	}
}

/* ---- a run ---- */

void show_run(const struct report *r, FILE *out)
{
	struct table t;
	table_init(&t, out, 2);
	if (r->loss_count) {
		table_add_row(&t, STYLE_PLAIN);
		table_cell(&t, 0, "loss, first and last step");
		table_cell(&t, 1, "%.6f → %.6f", r->losses[0], r->losses[r->loss_count - 1]);
	}
	if (isfinite(r->validation_loss)) {
		table_add_row(&t, STYLE_PLAIN);
		table_cell(&t, 0, "validation loss");
		table_cell(&t, 1, "%.6f", r->validation_loss);
	}
	if (isfinite(r->validation_accuracy)) {
		table_add_row(&t, STYLE_PLAIN);
		table_cell(&t, 0, "validation accuracy");
		table_cell(&t, 1, "%.2f %%", 100 * r->validation_accuracy);
	}
	if (r->loss_scale > 0) {
		table_add_row(&t, STYLE_PLAIN);
		table_cell(&t, 0, "steps skipped, loss scale at the end");
		table_cell(&t, 1, "%" PRId64 ", %.10g", r->skipped_steps, r->loss_scale);
	}
	table_add_row(&t, STYLE_PLAIN);
	table_cell(&t, 0, "%s a second", r->sequence > 1 ? "tokens" : "samples");
	table_cell(&t, 1, "%.0f", r->units_per_s);
	if (r->gelu_passes > 0) {
		table_add_row(&t, STYLE_PLAIN);
		table_cell(&t, 0, "GELU's gradient in a pass of its own");
		table_cell(&t, 1, "%" PRId64 " times: cuBLASLt cannot fuse it in this type or shape", r->gelu_passes);
	}
	if (r->resident_bytes) {
		table_add_row(&t, STYLE_PLAIN);
		table_cell(&t, 0, "resident memory of the largest rank");
		table_bytes(&t, 1, r->resident_bytes);
	}
	table_add_row(&t, STYLE_PLAIN);
	table_cell(&t, 0, "checksum of the weights");
	table_cell(&t, 1, "%s", r->weights_checksum);
	table_print(&t, 0);
	table_release(&t);
	if (strstr(r->offload, "delayed=yes"))
		fputs("delayed update: step i computes with the weights that the gradients of steps 1 to i − 2 made; "
		      "those of "
		      "the last step are not in the weights\n",
		      out);
}
