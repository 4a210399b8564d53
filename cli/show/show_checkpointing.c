/* What --activation-checkpointing has to say besides the figures of memory and time. */
#include <inttypes.h>
#include <string.h>

#include "cli/show/show.h"
#include "cli/show/table.h"

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
