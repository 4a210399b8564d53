/* shardlab doctor: a line a check. */
#include <string.h>

#include "cli/command/command.h"
#include "cli/doctor/doctor.h"
#include "cli/show/table.h"

static const struct {
	const char *name;
	enum style style;
} states[] = {[DOCTOR_OK] = {"ok", STYLE_GOOD},
              [DOCTOR_NOTE] = {"note", STYLE_FAINT},
              [DOCTOR_MISSING] = {"missing", STYLE_BAD}};

enum status command_doctor(const struct options *o)
{
	bool gpus = !strcmp(option_text(o, OPTION_DEVICE), "cuda");
	char missing[400] = "";
	struct table t;
	table_init(&t, stdout, 3, 3);
	for (int i = 0; i < DOCTOR_CHECKS; i++) {
		const struct doctor_check *c = &doctor_checks[i];
		struct finding f = {.text = ""};
		if (c->of_gpus && !gpus)
			continue;
		c->look(&f);
		table_row(&t, STYLE_PLAIN, "%s\t%s\t%s", states[f.state].name, c->name, f.text);
		table_cell_style(&t, 0, states[f.state].style);
		if (f.state == DOCTOR_MISSING && strlen(missing) + strlen(c->name) + 3 < sizeof missing)
			snprintf(missing + strlen(missing), sizeof missing - strlen(missing), "%s%s",
			         *missing ? ", " : "", c->name);
	}
	table_end(&t, 0);
	return *missing ? status_fail(STATUS_CHECK, "missing: %s", missing) : STATUS_OK;
}
