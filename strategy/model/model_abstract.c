/* An abstract model: `parameters` numbers in `units` equal parts, model states only. Its kernels carry one number a
 * sample from unit to unit, so that it compiles to a plan like any other; it cannot be trained. */
#include "strategy/base/number.h"
#include "strategy/model/family.h"

static void build(struct model *m, int64_t parameters, int64_t units)
{
	struct arena *a = &m->arena;
	m->is_abstract = true;
	m->input_elements = m->classes = 1;
	m->input = model_add_value(m, "input", 1, VALUE_ACTIVATION);
	m->target = model_add_value(m, "target", 1, VALUE_INDEX);
	int x = m->input;
	for (int i = 0; i < (int)units; i++) {
		int64_t size = parameters / units + (i < parameters % units);
		int unit = model_add_unit(m, arena_print(a, "unit.%d", i));
		struct kernel *k = model_add_kernel(m, KERNEL_ABSTRACT, unit, arena_print(a, "unit.%d.kernel", i));
		k->in = 1;
		k->out = size;
		k->x = x;
		k->weight = model_add_tensor(m, unit, arena_print(a, "unit.%d", i), size, 0, INIT_ZERO, 0);
		k->y = x = model_add_value(m, i + 1 < units ? arena_print(a, "unit.%d.y", i) : "logits", 1,
		                           VALUE_ACTIVATION);
	}
	struct kernel *loss = model_add_kernel(m, KERNEL_CLASSIFIER, (int)units - 1, "classifier");
	loss->x = m->logits = x;
	loss->in = loss->out = 1;
}

/* params=7e9[:units=32]: all of it is pairs. */
static enum status open_abstract(struct model *m, const struct model_request *q, int name)
{
	(void)name;
	enum { MOST_UNITS = 100000 };
	static const struct key list[] = {{"params", "N", "", ""}, {"units", "N", "1", ""}};
	const struct keys keys = {"{model}", "params", list, 2, ":,", 1, MOST_PARAMETERS};
	struct key_value value[2];
	char count[NUMBER_COUNT];
	TRY(keys_read(&keys, q->specification, value));
	int64_t parameters = key_whole(&value[0], 0), units = key_whole(&value[1], 1);
	if (q->sequence > 1)
		return status_fail(STATUS_INPUT, "{sequence}: %s has model states only; leave it out",
		                   q->specification);
	if (units > parameters || units > MOST_UNITS)
		return status_fail(STATUS_INPUT, "{model} %s: more units than %s", q->specification,
		                   units > MOST_UNITS ? "100,000" : "parameters");
	number_short_count(count, parameters);
	m->name = arena_print(&m->arena, "params=%s", count);
	m->specification = arena_print(&m->arena, "params=%lld:units=%lld", (long long)parameters, (long long)units);
	build(m, parameters, units);
	return STATUS_OK;
}

static const struct model_name names[] = {
        {"params=7.5e9", NULL, "model states only: an abstract model of that many parameters"}};
const struct family family_abstract = {names, 1, open_abstract};
