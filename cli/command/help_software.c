#include "cli/command/help_software.h"

#include <stdio.h>

#include "cli/show/table.h"
#include "cli/show/text.h"
#include "strategy/settings/software.h"

static void list_ways(void)
{
	struct table t;
	table_init(&t, stdout, SOFTWARE_NAMES + 1, SOFTWARE_NAMES + 1);
	table_row(&t, STYLE_HEAD, "switch");
	for (int n = 0; n < SOFTWARE_NAMES; n++)
		table_cell(&t, n + 1, "%s", software_name((enum software_name)n));
	for (int i = 0; i < SOFTWARE_SWITCHES; i++) {
		table_row(&t, STYLE_PLAIN, "%s", software_rows[i].key);
		for (int n = 0; n < SOFTWARE_NAMES; n++)
			table_cell(&t, n + 1, "%s", software_rows[i].way[n]);
	}
	table_end(&t, 2);
}

static void list_switches(void)
{
	for (int i = 0; i < SOFTWARE_SWITCHES; i++) {
		char text[240];
		snprintf(text, sizeof text, "%s=%s  %s", software_rows[i].key, software_rows[i].words,
		         software_rows[i].help);
		text_wrapped(stdout, text, 6, text_columns(stdout, 80));
	}
}

void help_software(void)
{
	puts("--as NAME[:key=value:…]");
	text_wrapped(
	        stdout,
	        "What a software stack does in a step: the plan's bytes and operations. How fast it does them, --stack "
	        "says. A name sets every switch to what the stack does as shipped, and a key after it changes one: "
	        "--as deepspeed:reduce=scatter. Plans of other software are simulated only.",
	        0, text_columns(stdout, 80));
	puts("");
	list_ways();
	puts("");
	list_switches();
}
