#include "strategy/trace/profile_walk.h"

#include <stdlib.h>
#include <string.h>

enum { NO_WORK = -1 };

/* ---- names ---- */

/* The first row that fits counts. A call inside has its caller's phase. */
static const struct {
	const char *pattern;
	enum profile_phase phase;
} phase_rows[] = {
        {"autograd::engine::evaluate_function*", PROFILE_BACKWARD}, /* torch/csrc/autograd/engine.cpp */
        {"Optimizer.step#*", PROFILE_UPDATE},                       /* torch/optim/optimizer.py */
        {"Optimizer.zero_grad#*", PROFILE_UPDATE},
};

/* Operators, as torch/csrc names them: aten::addmm, aten::_scaled_dot_product_flash_attention_for_cpu. */
static const struct {
	const char *pattern;
	enum profile_kind kind;
} operator_rows[] = {
        {"*attention*", PROFILE_ATTENTION},
        {"aten::*mm", PROFILE_PRODUCTS}, /* mm, addmm, bmm, baddbmm, _scaled_mm */
        {"aten::*matmul*", PROFILE_PRODUCTS},
        {"*linear*", PROFILE_PRODUCTS}, /* aten::linear, mkldnn::_linear_pointwise */
        {"aten::*convolution*", PROFILE_PRODUCTS},
        {"aten::*mv", PROFILE_PRODUCTS},
        {"aten::*dot", PROFILE_PRODUCTS},
        {"*", PROFILE_REST},
};

static enum profile_phase phase_of(const char *name, enum profile_phase of_caller)
{
	for (size_t i = 0; i < sizeof phase_rows / sizeof phase_rows[0]; i++)
		if (name_fits(phase_rows[i].pattern, name))
			return phase_rows[i].phase;
	return of_caller;
}

/* Kineto's category, and that of PyTorch before 1.12. */
static int kind_of(const struct foreign_span *s)
{
	size_t i = 0;
	if (strcmp(s->category, "cpu_op") != 0 && strcmp(s->category, "Operator") != 0)
		return NO_WORK;
	while (!name_fits(operator_rows[i].pattern, s->name))
		i++;
	return (int)operator_rows[i].kind;
}

/* ---- calls in calls ---- */

struct frame {
	int64_t end, at; /* at: up to where its own time has been added */
	int kind;
	enum profile_phase phase;
	bool counted;
};

struct walk {
	struct profile_work *w;
	struct frame *frames;
	size_t depth, capacity;
};

/* The time of the call that is open, since the last that it made. */
static void add_own(struct walk *k, int64_t until)
{
	struct frame *top = k->depth ? &k->frames[k->depth - 1] : NULL;
	if (!top)
		return;
	bool first = top->kind != NO_WORK && !top->counted;
	if (k->w && top->kind != NO_WORK && (first || until > top->at))
		*ARRAY_ADD(k->w->items, k->w->item_count, k->w->item_capacity) =
		        (struct profile_item){.begin = top->at,
		                              .end = until > top->at ? until : top->at,
		                              .kind = (enum profile_kind)top->kind,
		                              .phase = top->phase,
		                              .step = -1,
		                              .calls = first};
	top->counted = true;
	top->at = until > top->at ? until : top->at;
}

static void close_until(struct walk *k, int64_t time)
{
	while (k->depth && k->frames[k->depth - 1].end <= time) {
		int64_t end = k->frames[k->depth - 1].end;
		add_own(k, end);
		if (--k->depth && k->frames[k->depth - 1].at < end)
			k->frames[k->depth - 1].at = end;
	}
}

/* An operator that one of its kind calls is a part of that call: aten::linear calls aten::addmm. */
static void open_call(struct walk *k, const struct foreign_span *s)
{
	const struct frame *caller = k->depth ? &k->frames[k->depth - 1] : NULL;
	struct frame one = {.at = s->begin, .end = s->end, .kind = kind_of(s)};
	one.phase = phase_of(s->name, caller ? caller->phase : PROFILE_FORWARD);
	one.counted = caller && caller->kind == one.kind;
	if (caller && one.end > caller->end)
		one.end = caller->end;
	add_own(k, s->begin);
	*ARRAY_ADD(k->frames, k->depth, k->capacity) = one;
}

static void add_collective(struct walk *k, const struct foreign_span *s)
{
	if (k->w)
		*ARRAY_ADD(k->w->items, k->w->item_count, k->w->item_capacity) =
		        (struct profile_item){.begin = s->begin,
		                              .end = s->end,
		                              .bytes = s->bytes,
		                              .kind = profile_kind_of_collective(s->name),
		                              .step = -1,
		                              .calls = true};
}

size_t profile_first_span(const struct trace_file *f, int process)
{
	size_t low = 0, high = f->span_count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (f->lanes[f->spans[middle].lane].number < process)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

void profile_walk(const struct trace_file *f, int process, enum profile_phase *phases, struct profile_work *w)
{
	struct walk k = {.w = w};
	size_t end = profile_first_span(f, process + 1);
	int lane = -1;
	for (size_t i = profile_first_span(f, process); i < end; i++) {
		const struct foreign_span *s = &f->spans[i];
		if (!strcmp(s->category, "python_function"))
			continue;
		close_until(&k, s->lane == lane ? s->begin : INT64_MAX);
		lane = s->lane;
		if (host_communicates(s->category, s->name)) {
			add_collective(&k, s);
			continue;
		}
		open_call(&k, s);
		phases[i] = k.frames[k.depth - 1].phase;
	}
	close_until(&k, INT64_MAX);
	free(k.frames);
}
