#include "strategy/plan/plan.h"

#include <string.h>

#include "strategy/model/slice.h"

const char *item_name(enum item i)
{
	static const char *const names[] = {
#define X(constant, name, of_group) name,
	        ITEM_LIST(X)
#undef X
	};
	return names[i];
}

bool item_is_of_group(enum item i)
{
	static const bool of_group[] = {
#define X(constant, name, of_group) of_group,
	        ITEM_LIST(X)
#undef X
	};
	return of_group[i];
}

/* The name of a thing, from the list that declares its constants. */
#define X(constant, name) name,
#define NAME_FUNCTION(thing, kind, LIST)                                                                               \
	const char *thing##_name(enum kind k)                                                                          \
	{                                                                                                              \
		static const char *const names[] = {LIST(X)};                                                          \
		return names[k];                                                                                       \
	}
NAME_FUNCTION(category, category, CATEGORY_LIST)
NAME_FUNCTION(space, space, SPACE_LIST)
NAME_FUNCTION(queue, queue, QUEUE_LIST)
NAME_FUNCTION(traffic, traffic_kind, TRAFFIC_LIST)
NAME_FUNCTION(transfer, transfer_kind, TRANSFER_LIST)

void op_describe(const struct plan *p, const struct op *op, char *out, int size)
{
	char micro[32] = "";
	if (op->micro >= 0 && p->settings.accumulate > 1)
		snprintf(micro, sizeof micro, ", micro-batch %d", op->micro);
	const char *verb = op_name(op->kind), *of = "";
	bool norm = !strncmp(verb, "batch_norm.", 11),
	     copies = op->kind == OP_COPY && (op->group >= 0 || op->unit >= 0);
	if (norm)
		verb += 11;
	else if (op->kernel >= 0 && op_class(op->kind) != OP_CLASS_C)
		verb = pass_name(op->pass);
	if (op->kernel >= 0)
		of = p->model->kernels[op->kernel].name;
	else if (op->group >= 0)
		of = p->groups[op->group].name;
	else if (copies)
		of = p->model->units[op->unit].name;
	/* "copy device-to-host block.3" */
	snprintf(out, (size_t)size, "%s%s%s%s%s%s", verb, copies ? " " : "", copies ? queue_name(op->queue) : "",
	         *of ? " " : "", of, micro);
}

const char *section_name(enum section_kind k)
{
	static const char *const names[] = {"prologue", "step", "evaluate", "save", "restore", "epilogue"};
	return names[k];
}

const struct section *section_of(const struct role *r, enum section_kind k)
{
	const struct section *const sections[] = {&r->prologue, &r->step,    &r->evaluate,
	                                          &r->save,     &r->restore, &r->epilogue};
	return sections[k];
}

struct region *plan_operands(struct plan *p, int count)
{
	enum { BLOCK = 256 };
	if (count > p->spare_count) {
		p->spare_count = BLOCK;
		p->spare = arena_alloc(&p->arena, BLOCK * sizeof *p->spare);
	}
	struct region *list = p->spare;
	p->spare += count;
	p->spare_count -= count;
	for (int i = 0; i < count; i++)
		list[i] = (struct region){.buffer = -1};
	return list;
}

const struct role *plan_role_of(const struct plan *p, int64_t rank)
{
	for (int i = 0; i < p->role_count; i++)
		if (rank >= p->roles[i].first_rank && rank < p->roles[i].first_rank + p->roles[i].ranks)
			return &p->roles[i];
	return NULL;
}

int64_t plan_operations(const struct plan *p)
{
	int64_t n = 0;
	for (int i = 0; i < p->role_count; i++)
		n += p->roles[i].op_count;
	return n;
}

bool role_has_space(const struct role *r, enum space space)
{
	for (int i = 0; i < r->buffer_count; i++)
		if (r->buffers[i].space == space)
			return true;
	return false;
}

enum status plan_take_model(struct plan *p, const struct model *model)
{
	unsigned tensor = plan_axis(p, "tensor");
	int64_t slices = plan_along(p, tensor);
	enum status s = software_parse(p->settings.software, &p->software);
	p->model = model;
	if (s || slices == 1)
		return s;
	p->model = &p->slice;
	return model_slice(&p->slice, model, slices, p->axes[__builtin_ctz(tensor)].sequence, &p->arena);
}

int64_t plan_slice_of(const struct plan *p, int64_t rank)
{
	return plan_place(p, plan_axis(p, "tensor"), rank);
}

bool group_is_sliced(const struct plan *p, int group)
{
	return p->model->tensors[p->groups[group].tensors[0]].partition != PARTITION_NONE;
}

unsigned group_sum_axes(const struct plan *p, int group)
{
	bool rows = group >= 0 && p->model->tensors[p->groups[group].tensors[0]].sequence_parallel;
	return plan_data_axes(p) | (rows ? plan_axis(p, "tensor") : 0);
}

unsigned group_slice_axes(const struct plan *p, int group)
{
	return group_is_sliced(p, group) ? plan_axis(p, "tensor") : 0;
}

enum type plan_value_type(const struct plan *p, int value)
{
	static const enum type types[] = {[VALUE_INDEX] = TYPE_I32, [VALUE_FP32] = TYPE_FP32, [VALUE_MASK] = TYPE_U8};
	enum value_type type = p->model->values[value].type;
	return type == VALUE_ACTIVATION ? p->settings.precision : types[type];
}

void plan_release(struct plan *p)
{
	if (!p)
		return;
	arena_release(&p->arena);
	*p = (struct plan){0};
}

int64_t buffer_bytes(const struct buffer *b)
{
	return b->elements * type_bytes(b->type);
}
