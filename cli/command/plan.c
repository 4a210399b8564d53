/* shardlab plan: the program that every rank carries out, as text, JSON or a graph. */
#include <stdio.h>
#include <string.h>

#include "cli/command/command.h"
#include "cli/command/job.h"
#include "cli/command/plan_json.h"

static enum status check_role(const struct plan *p, const char *role)
{
	char names[64] = "";
	for (int i = 0; i < p->role_count; i++) {
		if (!role || !strcmp(role, p->roles[i].name))
			return STATUS_OK;
		size_t n = strlen(names);
		snprintf(names + n, sizeof names - n, "%s%s", n ? ", " : "", p->roles[i].name);
	}
	return status_fail(STATUS_INPUT, "--role: this plan has no role '%.40s'; it has: %s", role, names);
}

enum status command_plan(const struct options *o)
{
	struct job j;
	struct cluster c;
	const char *format = option_text(o, OPTION_FORMAT), *role = option_text(o, OPTION_ROLE);
	if (option_given(o, OPTION_JSON)) {
		if (option_given(o, OPTION_FORMAT) && strcmp(format, "json") != 0)
			return status_fail(STATUS_INPUT, "--json and --format %s are two formats; leave one out",
			                   format);
		format = "json";
	}
	enum status s = job_from_options(&j, o);
	if (s)
		return s;
	/* A plan does not depend on the cluster; a cluster that is too small for it is a mistake all the same. */
	if (!(s = cluster_open(&c, option_text(o, OPTION_CLUSTER), j.plan.ranks)))
		cluster_release(&c);
	if (!s)
		s = check_role(&j.plan, role);
	if (!s && !strcmp(format, "text"))
		plan_write(&j.plan, role, stdout);
	else if (!s && !strcmp(format, "dot"))
		plan_write_dot(&j.plan, role, stdout);
	else if (!s)
		print_json(plan_to_json(&j.plan, role), false);
	job_release(&j);
	return s;
}
