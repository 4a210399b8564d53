/* What --activation-checkpointing has to say besides the figures of memory and time. */
#include <inttypes.h>
#include <string.h>

#include "cli/show/show.h"
#include "cli/show/table.h"

static void row(struct table *t, const char *name)
{
	table_add_row(t, STYLE_PLAIN);
	table_cell(t, 0, "  %s", name);
}

void show_checkpointing(const struct column *columns, int count, FILE *out)
{
	const struct report_checkpointing *c = &columns[0].report->checkpointing;
	struct table t;
	if (!strcmp(c->setting, "none"))
		return;
	fputc('\n', out);
	table_init(&t, out, 1 + count);
	table_add_row(&t, STYLE_HEAD);
	table_cell(&t, 0, "activation checkpointing");
	for (int i = 0; i < count && count > 1; i++)
		table_cell(&t, 1 + i, "%s", columns[i].heading);
	if (c->checkpoints) {
		row(&t, "checkpoints");
		table_cell(&t, 1, "%" PRId64, c->checkpoints);
	}
	if (c->tried) {
		row(&t, "plans compared for the least peak");
		table_cell(&t, 1, "%" PRId64, c->tried);
	}
	if (c->arena_bytes_without) {
		row(&t, "as laid out, checkpoints in one block");
		table_bytes(&t, 1, columns[0].report->roles[0].memory[SPACE_DEVICE].arena_bytes);
		row(&t, "as laid out, checkpoints apart");
		table_bytes(&t, 1, c->arena_bytes_without);
	}
	for (int pass = 0; pass < 3 && c->profile; pass++) {
		static const char *const names[] = {"forward", "recompute", "backward"};
		row(&t, names[pass]);
		for (int i = 0; i < count; i++) {
			const struct times *n = &columns[i].report->time;
			table_time(&t, 1 + i, pass == 0 ? n->forward : pass == 1 ? n->recompute : n->backward);
		}
	}
	table_print(&t, 0);
	table_release(&t);
}
