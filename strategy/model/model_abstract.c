/* An abstract model: `parameters` numbers in `units` equal parts, model states only. Its kernels carry one number a
 * sample from unit to unit, so that it compiles to a plan like any other; it cannot be trained. */
#include "strategy/model/model.h"

void model_build_abstract(struct model *m, int64_t parameters, int64_t units)
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
