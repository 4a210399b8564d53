#include "cli/show/show_overhead.h"

#include "cli/show/table.h"

static const struct report_role *fullest(const struct report *r)
{
	const struct report_role *most = NULL;
	for (int i = 0; i < r->role_count; i++)
		if (r->roles[i].overhead.measured &&
		    (!most || r->roles[i].overhead.in_use_bytes > most->overhead.in_use_bytes))
			most = &r->roles[i];
	return most;
}

static void add_row(struct table *t, const char *name, enum style style)
{
	table_add_row(t, style);
	table_cell(t, 0, "  %s", name);
}

void show_overhead(const struct column *columns, int count, FILE *out)
{
	const struct report_role *role[TABLE_COLUMNS];
	const char *heading[TABLE_COLUMNS];
	int n = 0;
	for (int i = 0; i < count && n < TABLE_COLUMNS - 1; i++) {
		role[n] = fullest(columns[i].report);
		heading[n] = columns[i].heading;
		n += role[n] != NULL;
	}
	if (!n)
		return;
	struct table t;
	table_init(&t, out, 1 + n);
	table_add_row(&t, STYLE_HEAD);
	table_cell(&t, 0, "GPU memory beside the arena");
	for (int c = 0; c < n; c++)
		table_cell(&t, 1 + c, "%s", heading[c]);
	for (int i = 0; i < OVERHEAD_PARTS; i++) {
		add_row(&t, overhead_what((enum overhead_part)i), STYLE_PLAIN);
		for (int c = 0; c < n; c++)
			table_bytes(&t, 1 + c, role[c]->overhead.part[i]);
	}
	add_row(&t, "total", STYLE_HEAD);
	for (int c = 0; c < n; c++)
		table_bytes(&t, 1 + c, role[c]->memory[SPACE_DEVICE].overhead_bytes);
	add_row(&t, "in use at the most, with the arena", STYLE_PLAIN);
	for (int c = 0; c < n; c++)
		table_bytes(&t, 1 + c, role[c]->overhead.in_use_bytes);
	fputc('\n', out);
	table_print(&t, 0);
	table_release(&t);
}
