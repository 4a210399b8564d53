/* Layers over ranks (model, pipeline): how a model is divided, what its stages keep and send, and how long they wait.
 */
#include <string.h>

#include "strategy/step/stage.h"
#include "tests/strategy/contrasts_check.h"
#include "tests/support/refusal.h"
#include "tests/support/reports.h"
#include "tests/support/suite.h"

/* ---- what they keep and send ---- */

/* The most micro-batches whose input of a stage is alive at once. */
static int64_t in_flight(const struct plan *p, int stage, const char *value, int64_t elements)
{
	return plan_most_live(&p->roles[stage], value, NULL) / elements;
}

START_TEST(stages_keep_what_is_in_flight)
{
	enum { RANKS = 4, MICROS = 6 };
	static const struct {
		const char *strategy;
		int64_t first, second, last;
	} want[] = {{"pipeline", 4, 3, 1}, {"pipeline:schedule=gpipe", 6, 6, 6}, {"model", 1, 1, 1}};
	for (int i = 0; i < COUNT(want); i++) {
		const struct plan *p = right_plan(GPT " %s ranks=%d accumulate=%d", want[i].strategy, RANKS, MICROS);
		int64_t x = 4 * 8;
		ck_assert_int_eq(in_flight(p, 0, "embedding.y", x), want[i].first);
		ck_assert_int_eq(in_flight(p, 1, "block.1.ln_1.y", x), want[i].second);
		ck_assert_int_eq(in_flight(p, RANKS - 1, "ln_f.y", x), want[i].last);
	}
}

/* Every boundary carries one activation forward and one gradient back a micro-batch; the two ends of the pipeline add
 * up the gradient of the token table that both have. */
START_TEST(stages_send_activations_and_the_tied_gradient)
{
	enum { RANKS = 4, MICROS = 3, MICRO = 2, VALUE = MICRO * 4 * 8 * 4, TABLE = 9 * 8 * 4 };
	static const char *const strategies[] = {"model", "pipeline", "pipeline:schedule=gpipe"};
	for (int i = 0; i < COUNT(strategies); i++) {
		const struct plan *p = right_plan(GPT " %s ranks=%d micro_batch=%d accumulate=%d", strategies[i], RANKS,
		                                  MICRO, MICROS);
		for (int64_t rank = 0; rank < RANKS; rank++) {
			bool first = !rank, last = rank == RANKS - 1;
			struct moved activations = plan_moved(p, rank, TRAFFIC_ACTIVATIONS),
			             gradients = plan_moved(p, rank, TRAFFIC_ACTIVATION_GRADIENTS),
			             tied = plan_moved(p, rank, TRAFFIC_ALL_REDUCE);
			ck_assert_int_eq(activations.sent, last ? 0 : MICROS * VALUE);
			ck_assert_int_eq(activations.received, first ? 0 : MICROS * VALUE);
			ck_assert_int_eq(gradients.sent, first ? 0 : MICROS * VALUE);
			ck_assert_int_eq(gradients.received, last ? 0 : MICROS * VALUE);
			ck_assert_int_eq(tied.calls, first || last);
			ck_assert_int_eq(tied.sent, first || last ? TABLE : 0);
		}
	}
}

/* Every parameter is on one stage, but for the token table, which is on the first and the last. */
START_TEST(stages_divide_the_model)
{
	int64_t states = 0;
	const struct plan *p = right_plan(GPT " pipeline ranks=4");
	for (int64_t rank = 0; rank < 4; rank++)
		states += plan_model_states(p, rank);
	ck_assert_int_eq(states, 16 * (p->model->parameters + 9 * 8));
}

static int64_t cost_of(const struct model *m, int begin, int end)
{
	int64_t cost = 0;
	for (int i = begin; i < end; i++)
		cost += kernel_flops(m, &m->kernels[i], PASS_FORWARD, 1) +
		        kernel_flops(m, &m->kernels[i], PASS_BACKWARD, 1);
	return cost;
}

/* The stage that computes longest could not do with less: all other ways to divide are tried. */
static int64_t shortest(const struct model *m, int begin, int stages)
{
	int64_t best = INT64_MAX;
	if (stages == 1)
		return cost_of(m, begin, m->kernel_count);
	for (int end = begin + 1; end < m->kernel_count; end++) {
		if (m->kernels[end].unit == m->kernels[end - 1].unit)
			continue;
		int64_t here = cost_of(m, begin, end), rest = shortest(m, end, stages - 1);
		int64_t longest = here > rest ? here : rest;
		best = longest < best ? longest : best;
	}
	return best;
}

START_TEST(stages_are_balanced)
{
	static const char *const models[] = {GPT, "gpt:layers=6", "mlp:sizes=784-512-256-128-64-32-10", "gpt2-124m"};
	for (int i = 0; i < COUNT(models); i++)
		for (int stages = 1; stages <= 4; stages++) {
			struct model m;
			int end[4], begin = 0;
			int64_t longest = 0;
			ck_assert(!model_open(&m, models[i], 0));
			stage_split(&m, stages, end);
			for (int k = 0; k < stages; k++) {
				int64_t cost = cost_of(&m, begin, end[k]);
				ck_assert_int_gt(end[k], begin);
				longest = cost > longest ? cost : longest;
				begin = end[k];
			}
			ck_assert_int_eq(begin, m.kernel_count);
			ck_assert_int_eq(longest, shortest(&m, 0, stages));
			model_release(&m);
		}
}

/* The first stage computes longest however the other layers are divided: then they are divided evenly. */
START_TEST(ties_are_divided_evenly)
{
	struct model m;
	int end[3];
	ck_assert(!model_open(&m, "mlp:sizes=1024-32-32-32-32-32", 0));
	stage_split(&m, 3, end);
	ck_assert_int_eq(end[0], 1);
	ck_assert_int_eq(end[1], 3);
	ck_assert_int_eq(end[2], m.kernel_count);
	model_release(&m);
}

/* A root unit is two segments, the embedding and the head: a GPT of one block can be three stages, and no more. */
START_LOOP_TEST(at_most_one_stage_per_segment, 0, 3)
{
	static const char *const strategies[] = {"model", "pipeline", "pipeline:schedule=gpipe"};
	const struct plan *p = right_plan("gpt:layers=1 %s ranks=3 accumulate=4", strategies[_i]);
	ck_assert_int_eq(p->role_count, 3);
	for (int i = 0; i < 3; i++) {
		int own = 0, unit = i == 1 ? 1 : 0;
		const struct role *role = &p->roles[i];
		for (int k = role->step.begin; k < role->step.end; k++) {
			if (role->ops[k].pass != PASS_FORWARD || op_class(role->ops[k].kind) != OP_CLASS_K)
				continue;
			ck_assert_int_eq(role->ops[k].unit, unit);
			own++;
		}
		ck_assert_int_gt(own, 0);
	}
	must_not_open("has 3 segments to divide", "gpt:layers=1 %s ranks=4 accumulate=4", strategies[_i]);
}

/* The micro-batches of the first stage's backward passes, one after another. */
START_LOOP_TEST(backward_passes_run_in_order, 0, 3)
{
	static const struct {
		const char *strategy;
		int order[4];
	} want[] = {{"pipeline", {0, 1, 2, 3}}, {"pipeline:schedule=gpipe", {3, 2, 1, 0}}, {"model", {0, 1, 2, 3}}};
	int seen = 0, last = -1;
	const struct plan *p = right_plan(GPT " %s ranks=3 accumulate=4", want[_i].strategy);
	const struct role *role = &p->roles[0];
	for (int k = role->step.begin; k < role->step.end; k++) {
		const struct op *op = &role->ops[k];
		if (op->pass != PASS_BACKWARD || op_class(op->kind) != OP_CLASS_K || op->micro == last)
			continue;
		ck_assert_int_lt(seen, 4);
		ck_assert_int_eq(op->micro, want[_i].order[seen++]);
		last = op->micro;
	}
	ck_assert_int_eq(seen, 4);
}

/* A thousand layers on as many stages as there can be: a second or so. Where every stage finds out about all layers
 * anew, a minute. */
START_TEST(many_stages_of_many_layers)
{
	const struct plan *p =
	        made_plan("gpt:layers=1000,width=64,heads=2,context=16,vocabulary=64 pipeline ranks=%d", PLAN_ROLES);
	ck_assert_int_eq(p->role_count, PLAN_ROLES);
	ck_assert_int_eq(p->group_count, PLAN_ROLES + 1);
}

/* ---- how long they wait ---- */

/* No time for anything but computing; kernels of the model's units all take the same. */
static const char ideal[] = "name: ideal\n"
                            "kind: gpu\n"
                            "node: {devices: 8, cores: 8, memory: 1TB, memory_bandwidth: 1e15, core_compute: 1e12}\n"
                            "device: {memory: 1TB, overhead: 0, memory_bandwidth: 1e15, launch: 0, "
                            "collective_launch: 0, collective_share: 0}\n"
                            "compute:\n  default: {fp32: 1e12}\n"
                            "link: {latency: 0, bandwidth: 1e15}\n"
                            "host_link: {latency: 0, bandwidth: 1e15}\n";

/* Begin of the first model kernel and end of the last, and what all of them take, of one rank. */
struct busy {
	int64_t begin, end, sum;
};

static struct busy busy_of(const struct trace *t, const struct plan *p, int64_t rank)
{
	struct busy b = {INT64_MAX, 0, 0};
	const struct role *r = plan_role_of(p, rank);
	for (int64_t i = 0; i < (int64_t)t->span_count; i++) {
		const struct span *s = &t->spans[i];
		if (s->rank != rank || op_class(r->ops[s->op].kind) != OP_CLASS_K)
			continue;
		b.begin = s->begin < b.begin ? s->begin : b.begin;
		b.end = s->end > b.end ? s->end : b.end;
		b.sum += s->end - s->begin;
	}
	return b;
}

/* Stages that take the same time, f+b a micro-batch, are each idle for (p-1)(f+b): (p-1)/(m+p-1) of the time from the
 * first forward to the last backward. The first stage alone has less to do, since its first layer needs no gradient of
 * its input: its last backward ends the step that much earlier. One stage at a time: all of them one after another. */
START_TEST(bubble_matches_the_formula)
{
	enum { P = 4 };
	static const struct {
		const char *strategy;
		int64_t micros;
	} cases[] = {{"pipeline", 4},
	             {"pipeline", 8},
	             {"pipeline", 3},
	             {"pipeline:schedule=gpipe", 4},
	             {"pipeline:schedule=gpipe", 8},
	             {"model", 5}};
	for (int i = 0; i < COUNT(cases); i++) {
		struct cluster c;
		struct trace t = {0};
		int64_t n = cases[i].micros, begin = INT64_MAX, end = 0, longest = 0, all = 0, first = 0;
		const struct plan *p = right_plan("mlp:sizes=1024-1024-1024-1024-1024-1024-1024-1024-1024 %s ranks=%d "
		                                  "micro_batch=64 accumulate=%d",
		                                  cases[i].strategy, P, (int)n);
		must(cluster_read(&c, ideal, strlen(ideal), "ideal"));
		const struct report *report = report_simulated(p, &c, GRAIN_OPERATION, &t);
		for (int64_t rank = 0; rank < P; rank++) {
			struct busy b = busy_of(&t, p, rank);
			begin = b.begin < begin ? b.begin : begin;
			end = b.end > end ? b.end : end;
			longest = b.sum > longest ? b.sum : longest;
			first = rank ? first : b.sum;
			all += b.sum;
		}
		double total = (double)(end - begin), one = (double)longest / (double)n;
		double want = ((double)n + P - 1) * one - (double)(longest - first) / (double)n;
		if (!strcmp(cases[i].strategy, "model"))
			want = (double)all;
		/* The loss makes the last stage 0.2 % longer than those in the middle. */
		ck_assert_msg(total > 0.995 * want && total < 1.001 * want, "%s, %d micro-batches: %.0f ns, not %.0f",
		              cases[i].strategy, (int)n, total, want);
		ck_assert_int_gt(report->time.bubble, 0);
		ck_assert_msg(report->time.exposed * 1000 < report->time.step, "exposed %lld of %lld",
		              (long long)report->time.exposed, (long long)report->time.step);
		trace_release(&t);
		cluster_release(&c);
	}
}

SUITE("stages", 20)
