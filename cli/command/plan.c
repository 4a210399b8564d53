/* shardlab plan: the program that every rank carries out, as text, JSON or a graph. */
#include <stdio.h>
#include <string.h>

#include "cli/command/command.h"
#include "cli/command/job.h"

/* ---- JSON ---- */

static json_t *region_to_json(const struct role *r, const struct op *op, int operand)
{
	const struct region *g = &op->operand[operand];
	char access = op_access(op, operand);
	return json_pack("{s:s, s:s, s:s, s:I, s:I, s:b}", "operand", op_operand_name(op->kind, operand), "access",
	                 access == 'r'   ? "read"
	                 : access == 'w' ? "write"
	                                 : "update",
	                 "buffer", r->buffers[g->buffer].name, "offset", (json_int_t)g->offset, "count",
	                 (json_int_t)g->count, "slice", g->slice != 0);
}

static json_t *op_to_json(const struct plan *p, const struct role *r, int number)
{
	const struct op *op = &r->ops[number];
	const struct model *m = p->model;
	bool sends = op_class(op->kind) == OP_CLASS_C;
	json_t *operands = json_array(), *after = json_array();
	for (int i = 0; i < op_operand_count(op->kind); i++)
		if (op->operand[i].buffer >= 0)
			json_array_append_new(operands, region_to_json(r, op, i));
	for (int i = 0; i < op->after_count; i++)
		json_array_append_new(after, json_integer(op->after[i]));
	/* A key whose value is NULL is left out. */
	return json_pack(
	        "{s:i, s:s, s:s, s:s*, s:s*, s:s*, s:o*, s:o*, s:s*, s:s*, s:s*, s:o*, s:o*, s:o, s:o}", "number",
	        number, "operation", op_name(op->kind), "queue", queue_name(op->queue), "pass",
	        op->pass != PASS_NONE ? pass_name(op->pass) : NULL, "unit",
	        op->unit >= 0 ? m->units[op->unit].name : NULL, "kernel",
	        op->kernel >= 0 ? m->kernels[op->kernel].name : NULL, "micro_batch",
	        op->micro >= 0 ? json_integer(op->micro) : NULL, "stochastic", op->stochastic ? json_true() : NULL,
	        "group", op->group >= 0 ? p->groups[op->group].name : NULL, "item",
	        op_has_item(op->kind) ? item_name(op->item) : NULL, "kind", sends ? traffic_name(op->traffic) : NULL,
	        "payload_bytes", sends ? json_integer(op_payload_bytes(r, op)) : NULL, "sent_bytes",
	        sends ? json_integer(op_sent_bytes(p, r, op, r->first_rank)) : NULL, "operands", operands, "after",
	        after);
}

static json_t *section_to_json(const struct plan *p, const struct role *r, const struct section *s)
{
	json_t *list = json_array();
	for (int i = s->begin; i < s->end; i++)
		json_array_append_new(list, op_to_json(p, r, i));
	return list;
}

static json_t *role_to_json(const struct plan *p, const struct role *r)
{
	json_t *buffers = json_array();
	for (int i = 0; i < r->buffer_count; i++) {
		const struct buffer *b = &r->buffers[i];
		json_array_append_new(buffers,
		                      json_pack("{s:s, s:s, s:s, s:s, s:I, s:I, s:b}", "name", b->name, "category",
		                                category_name(b->category), "space", space_name(b->space), "type",
		                                type_name(b->type), "elements", (json_int_t)b->elements, "bytes",
		                                (json_int_t)buffer_bytes(b), "state", b->state));
	}
	json_t *o = json_pack("{s:s, s:I, s:I, s:o}", "role", r->name, "first_rank", (json_int_t)r->first_rank, "ranks",
	                      (json_int_t)r->ranks, "buffers", buffers);
	for (int k = 0; k < SECTION_KINDS; k++) {
		enum section_kind kind = (enum section_kind)k;
		if (!section_is_of_checkpoints(kind) || p->settings.checkpoints)
			json_object_set_new(o, section_name(kind), section_to_json(p, r, section_of(r, kind)));
	}
	return o;
}

static json_t *group_to_json(const struct plan *p, const struct group *g)
{
	json_t *tensors = json_array();
	for (int i = 0; i < g->tensor_count; i++)
		json_array_append_new(tensors, json_string(p->model->tensors[g->tensors[i]].name));
	return json_pack("{s:s, s:I, s:I, s:o}", "name", g->name, "elements", (json_int_t)g->elements, "padded",
	                 (json_int_t)g->padded, "tensors", tensors);
}

static json_t *setting_to_json(enum setting i, const struct settings *s)
{
	const void *at = (const char *)s + setting_rows[i].offset;
	char text[SETTING_TEXT];
	if (setting_rows[i].type == TAKES_WHOLE)
		return json_integer(*(const int64_t *)at);
	if (setting_rows[i].type == TAKES_FLAG)
		return json_boolean(*(const bool *)at);
	setting_print(i, s, text, sizeof text);
	return json_string(text);
}

/* A setting that the plan's text leaves out at its default is left out here too. */
static void set_settings(json_t *o, const struct plan *p)
{
	static const enum setting shown[] = {SETTING_MODEL,
	                                     SETTING_STRATEGY,
	                                     SETTING_RANKS,
	                                     SETTING_PRECISION,
	                                     SETTING_STOCHASTIC_ROUNDING,
	                                     SETTING_LOSS_SCALER,
	                                     SETTING_BATCH,
	                                     SETTING_MICRO_BATCH,
	                                     SETTING_ACCUMULATE};
	for (size_t k = 0; k < sizeof shown / sizeof shown[0]; k++)
		if (setting_rows[shown[k]].line >= 0 || setting_differs(shown[k], &p->settings))
			json_object_set_new(o, setting_rows[shown[k]].name,
			                    shown[k] == SETTING_MODEL ? json_string(p->model->specification)
			                                              : setting_to_json(shown[k], &p->settings));
}

static json_t *plan_to_json(const struct plan *p, const char *role)
{
	json_t *o = json_object(), *groups = json_array(), *roles = json_array();
	set_settings(o, p);
	for (int i = 0; i < p->group_count; i++)
		json_array_append_new(groups, group_to_json(p, &p->groups[i]));
	json_object_set_new(o, "groups", groups);
	for (int i = 0; i < p->role_count; i++)
		if (!role || !strcmp(role, p->roles[i].name))
			json_array_append_new(roles, role_to_json(p, &p->roles[i]));
	json_object_set_new(o, "roles", roles);
	return o;
}

/* ---- the command ---- */

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
