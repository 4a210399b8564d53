/* The shared training step: one program a role, in four sections.
 *
 *     prologue:  state; strategy.prologue
 *     step:      for each micro-batch: load → forward through the kernels → loss → backward in reverse (turns.h)
 *                then the update
 *     evaluate:  load → forward → count
 *     epilogue:  show the weights; free state
 *
 * What a kernel reads and writes is in step_values.c, what a rank keeps in update.c.
 */
#include "strategy/step/step.h"

/* ---- the passes ---- */

static void begin_visit(struct step *s, const struct visit *v)
{
	void (*before)(struct step *, int) =
	        v->pass == PASS_BACKWARD ? s->strategy->before_backward : s->strategy->before_forward;
	if (before)
		before(s, v->unit);
}

static void end_visit(struct step *s, const struct visit *v)
{
	void (*after)(struct step *, int) =
	        v->pass == PASS_BACKWARD ? s->strategy->after_backward : s->strategy->after_forward;
	if (after)
		after(s, v->unit);
}

/* A segment begins, or is made again: with synchronize_checkpoint_boundary every queue waits for what all others have
 * been given so far, as DeepSpeed synchronises the device there. */
static void pass_boundary(struct step *s, int turn)
{
	const struct turn *t = &s->turns.list[turn], *before = turn ? t - 1 : NULL;
	int segment = s->checkpoints.segment[t->kernel];
	if (!s->checkpointing.synchronize || segment < 0 || t->pass == PASS_BACKWARD || s->evaluating ||
	    (before && before->pass == t->pass && s->checkpoints.segment[before->kernel] == segment))
		return;
	for (int of = 0; of < QUEUE_COUNT; of++)
		for (int on = 0; on < QUEUE_COUNT; on++)
			if (of != on)
				build_wait_all(s->b, (enum queue)of, (enum queue)on);
}

void step_run_turns(struct step *s, int begin, int end)
{
	const struct turns *t = &s->turns;
	for (int i = begin; i < end; i++) {
		const struct visit *v = &t->visits[t->list[i].visit];
		if (v->first == i)
			begin_visit(s, v);
		pass_boundary(s, i);
		offload_values_before(s, i);
		checkpoint_parts_before(s, i);
		if (t->list[i].pass == PASS_BACKWARD)
			step_backward_kernel(s, t->list[i].kernel);
		else
			step_forward_kernel(s, t->list[i].kernel, t->list[i].pass);
		offload_values_after(s, i);
		checkpoint_parts_after(s, i);
		if (v->last == i)
			end_visit(s, v);
	}
}

static void default_load(struct step *s)
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
	op->operand[LOAD_INPUTS] = inputs ? s->value[m->input] : region_none();
	op->operand[LOAD_TARGETS] = targets ? s->value[m->target] : region_none();
	op->operand[LOAD_STEP] = region_whole(s->b, s->counter);
}

int *step_numbers(struct step *s, int n)
{
	int *p = arena_alloc(&s->b->plan->arena, (size_t)n * sizeof *p);
	for (int i = 0; i < n; i++)
		p[i] = -1;
	return p;
}

void step_begin_micro(struct step *s)
{
	const struct model *m = s->model;
	step_count_needs(s);
	for (int t = 0; t < m->tensor_count; t++)
		s->uses_left[t] = m->tensors[t].uses;
	for (int g = 0; g < s->plan->group_count; g++)
		s->group_left[g] = s->plan->groups[g].tensor_count;
	if (s->strategy->begin_micro)
		s->strategy->begin_micro(s);
	buffers_before_forward(s);
	if (s->strategy->load)
		s->strategy->load(s);
	else
		default_load(s);
}

static void one_after_another(struct step *s)
{
	for (s->micro = 0; s->micro < s->settings->accumulate; s->micro++) {
		s->last_micro = s->micro + 1 == s->settings->accumulate;
		step_begin_micro(s);
		step_run_turns(s, 0, s->turns.forward);
		buffers_after_forward(s);
		step_run_turns(s, s->turns.forward, s->turns.count);
		if (s->end_backward)
			s->end_backward(s);
	}
}

static void compile_step(struct step *s)
{
	const struct strategy *g = s->strategy;
	for (int t = 0; t < s->model->tensor_count; t++)
		s->written[t] = false;
	host_update_early(s);
	if (g->micros)
		g->micros(s);
	else
		one_after_another(s);
	s->micro = -1;
	step_update(s);
}

static void compile_evaluate(struct step *s)
{
	s->evaluating = true;
	s->micro = 0;
	if (s->strategy->evaluate) {
		s->strategy->evaluate(s);
	} else {
		step_begin_micro(s);
		step_run_turns(s, 0, s->turns.forward);
		buffers_after_forward(s);
	}
	s->evaluating = false;
}

/* Gradients that are offloaded leave as their group fills, whatever the strategy does with those that stay; but for a
 * root's, which are collected first. */
static void choose_hooks(struct step *s)
{
	bool leave = s->settings->offload.optimizer && !s->strategy->roots;
	s->gradient_needed = leave ? reduce_needed : s->strategy->gradient_needed;
	s->gradient_ready = leave ? reduce_ready : s->strategy->gradient_ready;
	s->end_backward = leave ? reduce_finish : s->strategy->end_backward;
}

/* Operations of other sections are out of reach. */
static void begin_section(struct step *s, struct section *section)
{
	build_section(s->b, section);
	for (int g = 0; g < s->plan->group_count; g++)
		s->reduced[g] = s->updated[g] = -1;
	for (int i = 0; i < 2; i++)
		s->added[i] = s->read[i] = s->put[i] = -1;
}

void step_compile_role(struct step *s, struct role *role)
{
	choose_hooks(s);
	offload_values_prepare(s);
	checkpoint_parts_prepare(s);
	begin_section(s, &role->prologue);
	step_state(s);
	if (s->strategy->prologue)
		s->strategy->prologue(s);
	buffers_prologue(s);
	begin_section(s, &role->step);
	compile_step(s);
	begin_section(s, &role->evaluate);
	compile_evaluate(s);
	begin_section(s, &role->epilogue);
	step_show_weights(s);
	buffers_show(s);
	build_free_state(s->b);
	build_section(s->b, NULL);
}
