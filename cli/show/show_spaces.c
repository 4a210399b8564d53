#include "cli/show/show_spaces.h"

#include <inttypes.h>
#include <string.h>

#include "cli/show/show.h"
#include "cli/show/table.h"

const char *show_article(const struct report_role *role)
{
	if (strchr(role->role, '.'))
		return "";
	return role->ranks > 1 ? "a " : "the ";
}

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
		table_add_row(t, STYLE_HEAD);
		for (int i = 0; i < r->role_count; i++)
			table_cell(t, 2 + 2 * i, "%s%s", r->roles[i].ranks > 1 ? "each " : "", r->roles[i].role);
	}
	table_add_row(t, STYLE_HEAD);
	table_cell(t, 0, "%s", heading[space]);
	for (int i = 0; i < r->role_count; i++) {
		table_cell(t, 1 + 2 * i, "at the peak");
		table_cell(t, 2 + 2 * i, "between steps");
	}
}

static void space_total(struct table *t, const struct report *r, int space)
{
	table_add_row(t, STYLE_HEAD);
	table_cell(t, 0, "  total");
	for (int i = 0; i < r->role_count; i++) {
		const struct report_memory *m = &r->roles[i].memory[space];
		int64_t steady = 0;
		for (int c = 0; c < CATEGORY_COUNT; c++)
			steady += m->steady[c];
		table_bytes(t, 1 + 2 * i, m->peak_bytes);
		table_bytes(t, 2 + 2 * i, steady);
	}
	table_add_row(t, STYLE_PLAIN);
	table_cell(t, 0, "  as laid out");
	for (int i = 0; i < r->role_count; i++)
		table_bytes(t, 1 + 2 * i, r->roles[i].memory[space].arena_bytes);
}

void show_space(const struct report *r, int space, FILE *out)
{
	struct table t;
	table_init(&t, out, 1 + 2 * r->role_count);
	space_heading(&t, r, space);
	for (int c = 0; c < CATEGORY_COUNT; c++) {
		if (space != SPACE_DEVICE && !holds(r, space, c))
			continue;
		table_add_row(&t, STYLE_PLAIN);
		table_cell(&t, 0, "  %s", category_name((enum category)c));
		for (int i = 0; i < r->role_count; i++) {
			table_bytes(&t, 1 + 2 * i, r->roles[i].memory[space].at_peak[c]);
			table_bytes(&t, 2 + 2 * i, r->roles[i].memory[space].steady[c]);
		}
	}
	space_total(&t, r, space);
	if (space == SPACE_DEVICE) {
		table_add_row(&t, STYLE_PLAIN);
		table_cell(&t, 0, "  libraries%s", r->roles[0].memory[space].overhead_assumed ? " *" : "");
		for (int i = 0; i < r->role_count; i++)
			table_bytes(&t, 1 + 2 * i, r->roles[i].memory[space].overhead_bytes);
	}
	table_print(&t, 0);
	table_release(&t);
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

static void show_role_transfers(const struct report_role *role, bool several, FILE *out)
{
	struct table t;
	table_init(&t, out, 3);
	table_add_row(&t, STYLE_HEAD);
	if (several)
		table_cell(&t, 0, "copies of %s%s, a step", show_article(role), role->role);
	else
		table_cell(&t, 0, "copies of a rank, a step");
	table_cell(&t, 1, "calls");
	table_cell(&t, 2, "bytes");
	for (int k = 0; k < TRANSFER_COUNT; k++) {
		if (!role->transfer[k].calls)
			continue;
		table_add_row(&t, STYLE_PLAIN);
		table_cell(&t, 0, "  %s", transfer_name((enum transfer_kind)k));
		table_cell(&t, 1, "%" PRId64, role->transfer[k].calls);
		table_bytes(&t, 2, role->transfer[k].bytes);
	}
	table_print(&t, 0);
	table_release(&t);
}

void show_transfers(const struct report *r, FILE *out)
{
	for (int i = 0; i < r->role_count; i++) {
		int64_t calls = 0;
		for (int k = 0; k < TRANSFER_COUNT; k++)
			calls += r->roles[i].transfer[k].calls;
		if (!calls)
			continue;
		fputc('\n', out);
		show_role_transfers(&r->roles[i], r->role_count > 1, out);
	}
}
