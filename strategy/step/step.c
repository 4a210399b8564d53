/* The shared training step: one program a role, in sections.
 *
 *     prologue:  state; the hook prologue
 *     step:      for each micro-batch: load → forward through the kernels → loss → backward in reverse (execution.h)
 *                then the update
 *     evaluate:  load → forward → count
 *     save, restore: of a plan with checkpoints (restore.c)
 *     epilogue:  show the weights; free state
 *
 * The operands of a kernel are in values.c, the state that a rank keeps in state.c.
 */
#include "strategy/step/step.h"
#include "strategy/step/activations.h"
#include "strategy/step/groups.h"

/* ---- the passes ---- */

static void begin_span(struct step *s, const struct unit_span *v)
{
	void (*before)(struct step *, int) =
	        v->pass == PASS_BACKWARD ? s->hooks.before_backward : s->hooks.before_forward;
	if (before)
		before(s, v->unit);
}

static void end_span(struct step *s, const struct unit_span *v)
{
	void (*after)(struct step *, int) = v->pass == PASS_BACKWARD ? s->hooks.after_backward : s->hooks.after_forward;
	if (after)
		after(s, v->unit);
}

static const struct keeper *const keepers[] = {&keeper_checkpointing, &keeper_host_values};
enum { KEEPERS = sizeof keepers / sizeof keepers[0] };

static void launch(struct step *s, int i)
{
	const struct launch *l = &s->execution.launches[i];
	for (int k = 0; k < KEEPERS; k++)
		keepers[k]->before(s, i);
	if (l->pass == PASS_BACKWARD)
		step_backward_kernel(s, l->kernel);
	else
		step_forward_kernel(s, l->kernel, l->pass);
	for (int k = 0; k < KEEPERS; k++)
		keepers[k]->after(s, i);
}

void step_run(struct step *s, int begin, int end)
{
	for (int i = begin; i < end; i++) {
		const struct unit_span *v = &s->execution.spans[s->execution.launches[i].span];
		if (v->first == i)
			begin_span(s, v);
		launch(s, i);
		if (v->last == i)
			end_span(s, v);
	}
}

static void load_own(struct step *s)
{
	const struct model *m = s->model;
	bool inputs = !s->kernel_begin, targets = s->kernel_end == m->kernel_count;
	if (!inputs && !targets)
		return;
	if (inputs)
		step_alloc_value(s, m->input);
	if (targets)
		step_alloc_value(s, m->target);
	struct op *op = build_op(s->b, OP_LOAD, QUEUE_COMPUTE);
	op->micro = s->micro;
	op->in_a_row = tree_in_a_row(s);
	op->operand[LOAD_INPUTS] = inputs ? s->value[m->input].data.at : region_none();
	op->operand[LOAD_TARGETS] = targets ? s->value[m->target].data.at : region_none();
	op->operand[LOAD_STEP] = step_counter(s);
}

void step_begin_micro(struct step *s)
{
	step_count_readers(s);
	if (s->hooks.begin_micro)
		s->hooks.begin_micro(s);
	buffers_before_forward(s);
	s->hooks.load(s);
}

static void run_forward(struct step *s)
{
	step_begin_micro(s);
	step_run(s, 0, s->execution.forward);
	buffers_after_forward(s);
}

static void count_gradients(struct step *s)
{
	for (int t = 0; t < s->model->tensor_count; t++)
		s->tensor[t].uses_left = s->model->tensors[t].uses;
	for (int g = 0; g < s->plan->group_count; g++)
		s->group[g].tensors_left = s->plan->groups[g].tensor_count;
}

static void one_after_another(struct step *s)
{
	for (s->nth_micro = 0; s->nth_micro < s->settings->accumulate; s->nth_micro++) {
		s->micro = s->settings->reproducible ? tree_micro(s, s->nth_micro) : s->nth_micro;
		s->last_micro = s->nth_micro + 1 == s->settings->accumulate;
		run_forward(s);
		count_gradients(s);
		step_run(s, s->execution.forward, s->execution.count);
		s->hooks.end_backward(s);
	}
}

/* ---- hooks ---- */

#define DEFAULT(hook, function) s->hooks.hook = s->hooks.hook ? s->hooks.hook : (function)

static void choose_hooks(struct step *s)
{
	s->hooks = s->strategy->hooks;
	DEFAULT(micros, one_after_another);
	DEFAULT(evaluate, run_forward);
	DEFAULT(load, load_own);
	DEFAULT(gradient_needed, reduce_needed);
	DEFAULT(gradient_ready, reduce_ready);
	DEFAULT(end_backward, reduce_end);
	if (s->strategy->parameters != PLACE_SHARD)
		return;
	DEFAULT(begin_micro, gather_begin);
	DEFAULT(before_forward, gather_before);
	DEFAULT(after_forward, gather_after_forward);
	DEFAULT(before_backward, gather_before);
	DEFAULT(after_backward, gather_after);
}

/* ---- sections ---- */

static void compile_prologue(struct step *s)
{
	step_state(s);
	if (s->hooks.prologue)
		s->hooks.prologue(s);
	buffers_prologue(s);
	step_snapshots(s);
}

static void compile_step(struct step *s)
{
	for (int t = 0; t < s->model->tensor_count; t++)
		s->tensor[t].written = false;
	step_update_delayed(s);
	s->hooks.micros(s);
	s->micro = -1;
	step_update(s);
	secondary_free(s);
}

static void compile_evaluate(struct step *s)
{
	s->evaluating = true;
	s->micro = 0;
	s->hooks.evaluate(s);
	s->evaluating = false;
}

static void compile_save(struct step *s)
{
	if (s->settings->checkpoints)
		step_save(s);
}

static void compile_restore(struct step *s)
{
	if (s->settings->checkpoints)
		step_restore(s);
}

static void compile_epilogue(struct step *s)
{
	if (s->choices.save && s->shards > 1)
		save_gathered(s);
	else
		step_show_weights(s);
	buffers_show(s);
	build_free_state(s->b);
}

/* A section cannot wait for operations of another, so their numbers are forgotten. */
static void compile_section(struct step *s, struct section *section, void (*compile)(struct step *s))
{
	struct staging_uses none = {{-1, -1}, {-1, -1}, {-1, -1}};
	build_section(s->b, section);
	for (int g = 0; g < s->plan->group_count; g++)
		s->group[g].reduced = s->group[g].updated = -1;
	s->staging_uses = none;
	compile(s);
}

void step_compile_role(struct step *s, struct role *role)
{
	choose_hooks(s);
	for (int k = 0; k < KEEPERS; k++)
		keepers[k]->prepare(s);
	compile_section(s, &role->prologue, compile_prologue);
	compile_section(s, &role->step, compile_step);
	compile_section(s, &role->evaluate, compile_evaluate);
	compile_section(s, &role->save, compile_save);
	compile_section(s, &role->restore, compile_restore);
	compile_section(s, &role->epilogue, compile_epilogue);
	build_section(s->b, NULL);
}
