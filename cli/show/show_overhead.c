/* The memory of GPUs beside the arena. */
#include "cli/show/show.h"
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
