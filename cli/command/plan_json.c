#include "cli/command/plan_json.h"

#include <string.h>

static json_t *region_to_json(const struct role *r, const struct op *op, int operand)
{
	const struct region *g = &op->operand[operand];
	json_t *o = json_object();
	char access[2] = {op_access(op, operand), 0};
	json_object_set_new(o, "operand", json_string(op_operand_name(op->kind, operand)));
	json_object_set_new(o, "access", json_string(*access == 'r' ? "read" : *access == 'w' ? "write" : "update"));
	json_object_set_new(o, "buffer", json_string(r->buffers[g->buffer].name));
	json_object_set_new(o, "offset", json_integer(g->offset));
	json_object_set_new(o, "count", json_integer(g->count));
	json_object_set_new(o, "slice", json_boolean(g->slice != 0));
	return o;
}

static json_t *op_to_json(const struct plan *p, const struct role *r, int number)
{
	const struct op *op = &r->ops[number];
	json_t *o = json_object(), *operands = json_array(), *after = json_array();
	json_object_set_new(o, "number", json_integer(number));
	json_object_set_new(o, "operation", json_string(op_name(op->kind)));
	json_object_set_new(o, "queue", json_string(queue_name(op->queue)));
	if (op->pass != PASS_NONE)
		json_object_set_new(o, "pass", json_string(pass_name(op->pass)));
	if (op->unit >= 0)
		json_object_set_new(o, "unit", json_string(p->model->units[op->unit].name));
	if (op->kernel >= 0)
		json_object_set_new(o, "kernel", json_string(p->model->kernels[op->kernel].name));
	if (op->micro >= 0)
		json_object_set_new(o, "micro_batch", json_integer(op->micro));
	if (op->stochastic)
		json_object_set_new(o, "stochastic", json_true());
	if (op->group >= 0)
		json_object_set_new(o, "group", json_string(p->groups[op->group].name));
	if (op_class(op->kind) == OP_CLASS_C) {
		json_object_set_new(o, "kind", json_string(traffic_name(op->traffic)));
		json_object_set_new(o, "payload_bytes", json_integer(op_payload_bytes(r, op)));
		json_object_set_new(o, "sent_bytes", json_integer(op_sent_bytes(p, r, op, r->first_rank)));
	}
	for (int i = 0; i < op_operand_count(op->kind); i++)
		if (op->operand[i].buffer >= 0)
			json_array_append_new(operands, region_to_json(r, op, i));
	for (int i = 0; i < op->after_count; i++)
		json_array_append_new(after, json_integer(op->after[i]));
	json_object_set_new(o, "operands", operands);
	json_object_set_new(o, "after", after);
	return o;
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
	json_t *o = json_object(), *buffers = json_array();
	for (int i = 0; i < r->buffer_count; i++) {
		const struct buffer *b = &r->buffers[i];
		json_t *one = json_object();
		json_object_set_new(one, "name", json_string(b->name));
		json_object_set_new(one, "category", json_string(category_name(b->category)));
		json_object_set_new(one, "space", json_string(space_name(b->space)));
		json_object_set_new(one, "type", json_string(type_name(b->type)));
		json_object_set_new(one, "elements", json_integer(b->elements));
		json_object_set_new(one, "bytes", json_integer(buffer_bytes(b)));
		json_object_set_new(one, "state", json_boolean(b->state));
		json_array_append_new(buffers, one);
	}
	json_object_set_new(o, "role", json_string(r->name));
	json_object_set_new(o, "first_rank", json_integer(r->first_rank));
	json_object_set_new(o, "ranks", json_integer(r->ranks));
	json_object_set_new(o, "buffers", buffers);
	json_object_set_new(o, "prologue", section_to_json(p, r, &r->prologue));
	json_object_set_new(o, "step", section_to_json(p, r, &r->step));
	json_object_set_new(o, "evaluate", section_to_json(p, r, &r->evaluate));
	json_object_set_new(o, "epilogue", section_to_json(p, r, &r->epilogue));
	return o;
}

static json_t *group_to_json(const struct plan *p, const struct group *g)
{
	json_t *o = json_object(), *tensors = json_array();
	json_object_set_new(o, "name", json_string(g->name));
	json_object_set_new(o, "elements", json_integer(g->elements));
	json_object_set_new(o, "padded", json_integer(g->padded));
	for (int i = 0; i < g->tensor_count; i++)
		json_array_append_new(tensors, json_string(p->model->tensors[g->tensors[i]].name));
	json_object_set_new(o, "tensors", tensors);
	return o;
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

/* Those that the plan's text leaves out at their defaults are left out here too. */
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

json_t *plan_to_json(const struct plan *p, const char *role)
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
