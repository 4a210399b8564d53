/* The tables of a report: memory of each space, communication, copies between spaces, and GPU memory. */
#include <inttypes.h>
#include <string.h>

#include "cli/show/show.h"
#include "cli/show/table.h"
#include "strategy/base/number.h"

static bool is_used(const struct report *r, int space)
{
	for (int i = 0; i < r->role_count; i++)
		if (r->roles[i].memory[space].arena_bytes)
			return true;
	return false;
}

static bool holds(const struct report *r, int space, int category)
{
	for (int i = 0; i < r->role_count; i++)
		if (r->roles[i].memory[space].at_peak[category] || r->roles[i].memory[space].steady[category])
			return true;
	return false;
}

static void space_heading(struct table *t, const struct report *r, int space)
{
	static const char *const heading[SPACE_COUNT] = {[SPACE_DEVICE] = "memory of a rank",
	                                                 [SPACE_HOST] = "host memory of a rank",
	                                                 [SPACE_DISK] = "disk of a rank"};
	if (r->role_count > 1) {
		table_row(t, STYLE_HEAD, "\t");
		for (int i = 0; i < r->role_count; i++)
			table_cell(t, 2 + 2 * i, "%s%s", r->roles[i].ranks > 1 ? "each " : "", r->roles[i].role);
	}
	table_row(t, STYLE_HEAD, "%s", heading[space]);
	for (int i = 0; i < r->role_count; i++) {
		table_cell(t, 1 + 2 * i, "at the peak");
		table_cell(t, 2 + 2 * i, "between steps");
	}
}

/* A stack's allocator holds more than a plan lays out. */
static void held_row(struct table *t, const struct report *r, int space)
{
	bool more = false;
	for (int i = 0; i < r->role_count; i++) {
		const struct report_memory *m = &r->roles[i].memory[space];
		more |= !m->cached && m->reserved_bytes > m->arena_bytes;
	}
	if (!more)
		return;
	table_row(t, STYLE_PLAIN, "  held by its allocator");
	for (int i = 0; i < r->role_count; i++)
		table_bytes(t, 1 + 2 * i, r->roles[i].memory[space].reserved_bytes);
}

static void space_total(struct table *t, const struct report *r, int space)
{
	table_row(t, STYLE_HEAD, "  total");
	for (int i = 0; i < r->role_count; i++) {
		const struct report_memory *m = &r->roles[i].memory[space];
		int64_t steady = 0;
		for (int c = 0; c < CATEGORY_COUNT; c++)
			steady += m->steady[c];
		table_bytes(t, 1 + 2 * i, m->peak_bytes);
		table_bytes(t, 2 + 2 * i, steady);
	}
	/* Software with a caching allocator lays nothing out. */
	bool cached = r->roles[0].memory[space].cached;
	table_row(t, STYLE_PLAIN, cached ? "  reserved by the allocator" : "  as laid out");
	for (int i = 0; i < r->role_count; i++)
		table_bytes(t, 1 + 2 * i,
		            cached ? r->roles[i].memory[space].reserved_bytes : r->roles[i].memory[space].arena_bytes);
	held_row(t, r, space);
}

/* Context, communicators and workspace together; and the workspace, where a stack says what it is. */
static void libraries(struct table *t, const struct report *r)
{
	table_row(t, STYLE_PLAIN, "  libraries%s", r->roles[0].memory[SPACE_DEVICE].overhead_assumed ? " *" : "");
	for (int i = 0; i < r->role_count; i++)
		table_bytes(t, 1 + 2 * i, r->roles[i].memory[SPACE_DEVICE].overhead_bytes);
	if (!r->roles[0].memory[SPACE_DEVICE].workspace_bytes)
		return;
	table_row(t, STYLE_PLAIN, "    their workspace");
	for (int i = 0; i < r->role_count; i++)
		table_bytes(t, 1 + 2 * i, r->roles[i].memory[SPACE_DEVICE].workspace_bytes);
}

void show_space(const struct report *r, int space, FILE *out)
{
	struct table t;
	table_init(&t, out, 1 + 2 * r->role_count, 1);
	space_heading(&t, r, space);
	for (int c = 0; c < CATEGORY_COUNT; c++) {
		if (space != SPACE_DEVICE && !holds(r, space, c))
			continue;
		table_row(&t, STYLE_PLAIN, "  %s", category_name((enum category)c));
		for (int i = 0; i < r->role_count; i++) {
			table_bytes(&t, 1 + 2 * i, r->roles[i].memory[space].at_peak[c]);
			table_bytes(&t, 2 + 2 * i, r->roles[i].memory[space].steady[c]);
		}
	}
	space_total(&t, r, space);
	if (space == SPACE_DEVICE)
		libraries(&t, r);
	table_end(&t, 0);
}

void show_spaces(const struct report *r, FILE *out)
{
	for (int space = SPACE_HOST; space < SPACE_COUNT; space++) {
		if (!is_used(r, space))
			continue;
		fputc('\n', out);
		show_space(r, space, out);
	}
}

/* ---- communication and copies ---- */

/* "communication of the root, a step" */
static void role_heading(struct table *t, const char *what, const struct report_role *role, bool several,
                         const char *columns)
{
	const char *article = strchr(role->role, '.') ? "" : role->ranks > 1 ? "a " : "the "; /* stage.0 is a name */
	table_row(t, STYLE_HEAD, "%s of %s%s, a step\t%s", what, several ? article : "a ",
	          several ? role->role : "rank", columns);
}

static void traffic_row(struct table *t, const char *name, const struct report_traffic *f, enum style style)
{
	table_row(t, style, "  %s\t%" PRId64, name, f->calls);
	table_bytes(t, 2, f->payload_bytes);
	table_bytes(t, 3, f->sent_bytes);
	table_bytes(t, 4, f->received_bytes);
}

static void role_traffic(const struct report_role *role, bool several, FILE *out)
{
	struct table t;
	int64_t calls = 0;
	for (int k = 0; k < TRAFFIC_COUNT; k++)
		calls += role->by_kind[k].calls;
	table_init(&t, out, 5, 1);
	if (calls || several)
		role_heading(&t, "communication", role, several, calls ? "calls\tpayload\tsent\treceived" : "");
	else
		table_row(&t, STYLE_HEAD, "communication: none");
	for (int k = 0; k < TRAFFIC_COUNT; k++)
		if (role->by_kind[k].calls && k != TRAFFIC_CONTROL)
			traffic_row(&t, traffic_name((enum traffic_kind)k), &role->by_kind[k], STYLE_PLAIN);
	if (calls) {
		table_row(&t, STYLE_HEAD, "  total");
		table_bytes(&t, 3, role->sent_bytes);
		table_bytes(&t, 4, role->received_bytes);
	}
	if (role->by_kind[TRAFFIC_CONTROL].calls)
		traffic_row(&t, "control (not in the total)", &role->by_kind[TRAFFIC_CONTROL], STYLE_FAINT);
	table_end(&t, 0);
}

static void role_copies(const struct report_role *role, bool several, FILE *out)
{
	struct table t;
	table_init(&t, out, 3, 1);
	for (int k = 0; k < TRANSFER_COUNT; k++) {
		if (!role->transfer[k].calls)
			continue;
		if (!t.row_count) {
			fputc('\n', out);
			role_heading(&t, "copies", role, several, "calls\tbytes");
		}
		table_row(&t, STYLE_PLAIN, "  %s\t%" PRId64, transfer_name((enum transfer_kind)k),
		          role->transfer[k].calls);
		table_bytes(&t, 2, role->transfer[k].bytes);
	}
	table_end(&t, 0);
}

void show_traffic(const struct report *r, FILE *out)
{
	for (int i = 0; i < r->role_count; i++) {
		fputc('\n', out);
		role_traffic(&r->roles[i], r->role_count > 1, out);
	}
	for (int i = 0; i < r->role_count; i++)
		role_copies(&r->roles[i], r->role_count > 1, out);
}

/* ---- GPUs: memory beside the arena ---- */

static const struct report_role *most_on_gpu(const struct report *r)
{
	const struct report_role *most = NULL;
	for (int i = 0; i < r->role_count; i++)
		if (r->roles[i].overhead.measured &&
		    (!most || r->roles[i].overhead.in_use_bytes > most->overhead.in_use_bytes))
			most = &r->roles[i];
	return most;
}

void show_overhead(const struct column *columns, int count, FILE *out)
{
	const struct report_role *role[TABLE_COLUMNS];
	const char *heading[TABLE_COLUMNS];
	int n = 0;
	for (int i = 0; i < count && n < TABLE_COLUMNS - 1; i++) {
		role[n] = most_on_gpu(columns[i].report);
		heading[n] = columns[i].heading;
		n += role[n] != NULL;
	}
	if (!n)
		return;
	struct table t;
	table_init(&t, out, 1 + n, 1);
	table_row(&t, STYLE_HEAD, "GPU memory beside the arena");
	for (int c = 0; c < n; c++)
		table_cell(&t, 1 + c, "%s", heading[c]);
	for (int i = 0; i < OVERHEAD_PARTS; i++) {
		table_row(&t, STYLE_PLAIN, "  %s", overhead_what((enum overhead_part)i));
		for (int c = 0; c < n; c++)
			table_bytes(&t, 1 + c, role[c]->overhead.part[i]);
	}
	table_row(&t, STYLE_HEAD, "  total");
	for (int c = 0; c < n; c++)
		table_bytes(&t, 1 + c, role[c]->memory[SPACE_DEVICE].overhead_bytes);
	table_row(&t, STYLE_PLAIN, "  in use at the most, with the arena");
	for (int c = 0; c < n; c++)
		table_bytes(&t, 1 + c, role[c]->overhead.in_use_bytes);
	fputc('\n', out);
	table_end(&t, 0);
}

/* "saved by rank 0, which gathers all weights: …" */
void show_gathering(const struct report *r, FILE *out)
{
	const struct report_gathering *saver = &r->roles[0].gathering, *other = &r->roles[r->role_count - 1].gathering;
	char received[32], device[32], host[32], time[32];
	if (!report_gathers(r))
		return;
	number_format_bytes(received, sizeof received, other->received_bytes);
	number_format_bytes(device, sizeof device, saver->peak_bytes[SPACE_DEVICE]);
	number_format_bytes(host, sizeof host, saver->peak_bytes[SPACE_HOST]);
	number_format_time(time, sizeof time, r->gathering_ns);
	fprintf(out, "saving gathers the weights on rank 0: %s received a rank", received);
	if (r->gathering_ns)
		fprintf(out, ", in %s%s", time, r->rates_measured ? "" : " *");
	fprintf(out, "; rank 0 has up to %s on its device and %s in host memory then\n", device, host);
}
