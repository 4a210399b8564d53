/* Offload: a delayed update is one that is applied a step late, and nothing else; the verifier holds plans to the lag
 * and the places that they declare. (tests/strategy/test_mutation.c breaks plans with offload as all others.) */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/kernels.h"
#include "tests/support/plan_check.h"
#include "tests/support/plan_edit.h"
#include "tests/support/suite.h"
#include "tests/support/trainer.h"

#define GPT "gpt:layers=3,width=32,heads=2,context=16"

/* ---- the delayed update ---- */

enum { STEPS = 6 };

/* Weights of the whole model, moments, and the gradients of the step before, kept by the test. */
struct reference {
	float *weights, *first, *second, *late;
	int64_t count;
};

static float *make(int64_t n)
{
	float *p = calloc((size_t)n, sizeof *p);
	ck_assert_ptr_nonnull(p);
	return p;
}

/* W(i + 1) = Adam(W(i), g(i - 1)), the first step without one: ZeRO-Offload, section 5.2. The gradients come from a run
 * without offload, whose weights are set before every step. */
static void run_reference(const struct request *r, double losses[STEPS], struct reference *out)
{
	struct made m;
	struct trainer t;
	must_open_verified(&m, r);
	ck_assert_msg(!trainer_open(&t, &m.plan, "tests/golden/text.txt", false), "%s", status_message());
	int64_t n = m.plan.group_elements;
	*out = (struct reference){make(n), make(n), make(n), make(n), n};
	float *weights = rank_memory_buffer(&t.device, role_buffer(t.device.role, "parameters"));
	float *gradients = rank_memory_buffer(&t.device, role_buffer(t.device.role, "gradients"));
	memcpy(out->weights, weights, (size_t)n * sizeof *weights);
	for (int step = 1; step <= STEPS; step++) {
		memcpy(weights, out->weights, (size_t)n * sizeof *weights);
		ck_assert_int_eq(trainer_step(&t, &losses[step - 1]), STATUS_OK);
		struct adamw a = {(float)m.plan.settings.learning_rate, 0.9F, 0.999F, 1e-8F,
		                  (float)m.plan.settings.weight_decay};
		if (step > 1 && r->optimizer == OPTIMIZER_ADAMW)
			adamw_update(ELEMENT_FP32, &a, step - 1, n, out->weights, out->late, 1, out->first, out->second,
			             NULL);
		else if (step > 1)
			sgd_update(ELEMENT_FP32, (float)m.plan.settings.learning_rate, n, out->weights, out->late, 1,
			           NULL);
		memcpy(out->late, gradients, (size_t)n * sizeof *gradients);
	}
	trainer_release(&t);
	made_release(&m);
}

START_LOOP_TEST(delayed_is_one_step_late, 0, 2)
{
	struct request r = {.model = GPT,
	                    .strategy = "single",
	                    .micro_batch = 3,
	                    .accumulate = 1 + _i,
	                    .optimizer = _i ? OPTIMIZER_SGD : OPTIMIZER_ADAMW,
	                    .learning_rate = 0.01,
	                    .bucket = 1 << 14};
	double expected[STEPS], loss, prompt;
	struct reference reference;
	struct made m, plain;
	struct trainer t, u;
	run_reference(&r, expected, &reference);
	must_open_verified(&plain, &r);
	r.offload = "optimizer:delayed=yes";
	must_open_verified(&m, &r);
	ck_assert_msg(!trainer_open(&t, &m.plan, "tests/golden/text.txt", false), "%s", status_message());
	ck_assert(!trainer_open(&u, &plain.plan, "tests/golden/text.txt", false));
	for (int step = 1; step <= STEPS; step++) {
		ck_assert_int_eq(trainer_step(&t, &loss), STATUS_OK);
		ck_assert_int_eq(trainer_step(&u, &prompt), STATUS_OK);
		ck_assert_msg(loss == expected[step - 1], "step %d: loss %.9g, the reference has %.9g", step, loss,
		              expected[step - 1]);
		/* Its effect: the first two steps see the same weights, the prompt update's second does not. */
		ck_assert(step == 1 ? loss == prompt : loss != prompt);
	}
	const float *weights = rank_memory_buffer(&t.device, role_buffer(t.device.role, "parameters"));
	ck_assert_int_eq(memcmp(weights, reference.weights, (size_t)reference.count * sizeof *weights), 0);
	trainer_release(&t);
	trainer_release(&u);
	made_release(&m);
	made_release(&plain);
	free(reference.weights);
	free(reference.first);
	free(reference.second);
	free(reference.late);
}
END_TEST

/* ---- the order of the update ---- */

/* Groups of the operations of one kind on a queue, one after another: of copies, those of gradients. */
static int groups_of(const struct role *r, enum op_kind kind, enum queue queue, int groups[16])
{
	int n = 0;
	for (int i = r->step.begin; i < r->step.end; i++)
		if (r->ops[i].kind == kind && r->ops[i].queue == queue) {
			ck_assert_int_lt(n, 16);
			groups[n++] = r->ops[i].group;
		}
	return n;
}

/* The host takes groups as their gradients arrive, in all that it does with them: a unit of the model's end arrives
 * first, the root unit last. */
START_LOOP_TEST(groups_are_updated_as_they_arrive, 0, 4)
{
	static const char *const strategies[] = {"zero3", "fsdp", "hybrid", "single"};
	static const enum op_kind kinds[] = {OP_OVERFLOW, OP_SQUARES, OP_ADAMW};
	int arrived[16] = {0}, done[16] = {0};
	struct made m;
	struct request r = {.model = GPT,
	                    .strategy = strategies[_i],
	                    .ranks = _i < 3 ? 2 : 1,
	                    .precision = TYPE_FP16,
	                    .clip = 1,
	                    .offload = "optimizer"};
	must_open_verified(&m, &r);
	int count = groups_of(&m.plan.roles[0], OP_COPY, QUEUE_DEVICE_TO_HOST, arrived);
	ck_assert_int_eq(count, m.plan.group_count);
	ck_assert_int_eq(arrived[count - 1], 0);
	ck_assert_int_eq(arrived[0], count - 1);
	for (int k = 0; k < 3; k++) {
		ck_assert_int_eq(groups_of(&m.plan.roles[0], kinds[k], QUEUE_HOST_COMPUTE, done), count);
		ck_assert_mem_eq(done, arrived, (size_t)count * sizeof *done);
	}
	made_release(&m);
}
END_TEST

/* ---- what the verifier holds plans to ---- */

static int find(const struct plan *p, enum op_kind kind, enum queue queue)
{
	const struct role *r = &p->roles[0];
	for (int i = r->step.begin; i < r->step.end; i++)
		if (r->ops[i].kind == kind && r->ops[i].queue == queue)
			return i;
	ck_abort_msg("no such operation");
	return -1;
}

static void declare_delayed(struct plan *p)
{
	p->settings.offload.delayed = true;
}

static void declare_prompt(struct plan *p)
{
	p->settings.offload.delayed = false;
}

static void kernel_on_host(struct plan *p)
{
	struct role *r = &p->roles[0];
	r->buffers[r->ops[find(p, OP_LINEAR_FORWARD, QUEUE_COMPUTE)].operand[LINEAR_FORWARD_X].buffer].space =
	        SPACE_HOST;
}

static void update_on_device(struct plan *p)
{
	p->roles[0].ops[find(p, OP_ADAMW, QUEUE_HOST_COMPUTE)].queue = QUEUE_COMPUTE;
}

static void copy_on_other_queue(struct plan *p)
{
	p->roles[0].ops[find(p, OP_COPY, QUEUE_DEVICE_TO_HOST)].queue = QUEUE_HOST_TO_DEVICE;
}

static void forget_copy(struct plan *p)
{
	plan_drop_op(p, 0, find(p, OP_COPY, QUEUE_HOST_TO_DEVICE));
}

static void forget_wait(struct plan *p)
{
	plan_set_waits(p, 0, find(p, OP_ADAMW, QUEUE_HOST_COMPUTE), NULL, 0);
}

static void forget_write(struct plan *p)
{
	int op = p->roles[0].step.end - 1;
	while (op_transfer(&p->roles[0], &p->roles[0].ops[op]) != TRANSFER_DISK_WRITE)
		op--;
	plan_drop_op(p, 0, op); /* the last: nobody waits for it */
}

static const struct {
	const char *offload;
	void (*spoil)(struct plan *p);
	const char *rule;
} spoilt[] = {{"optimizer", declare_delayed, "rule 5 (gradient)"},
              {"optimizer:delayed=yes", declare_prompt, "rule 5 (gradient)"},
              {"optimizer", kernel_on_host, "rule 2 (matching)"},
              {"optimizer", update_on_device, "rule 2 (matching)"},
              {"optimizer", copy_on_other_queue, "rule 2 (matching)"},
              {"optimizer", forget_copy, "rule 6 (version)"},
              {"optimizer", forget_wait, "rule 4 (race)"},
              {"optimizer:to=disk", forget_write, "rule 6 (version)"}};

START_LOOP_TEST(spoilt_plans_are_refused, 0, (int)(sizeof spoilt / sizeof spoilt[0]))
{
	struct made m;
	struct plan broken;
	struct request r = {.model = GPT, .strategy = "zero2", .ranks = 2, .offload = spoilt[_i].offload};
	must_open_verified(&m, &r);
	plan_copy(&broken, &m.plan);
	spoilt[_i].spoil(&broken);
	ck_assert_int_eq(plan_verify(&broken, NULL), STATUS_REFUSED);
	ck_assert_msg(!strncmp(status_message(), spoilt[_i].rule, strlen(spoilt[_i].rule)), "wanted %s: %s",
	              spoilt[_i].rule, status_message());
	plan_release(&broken);
	made_release(&m);
}
END_TEST

/* A plan's text is the plan. */
START_LOOP_TEST(text_comes_back, 0, 5)
{
	static const char *const offloads[] = {"optimizer", "optimizer:delayed=yes",
	                                       "optimizer:to=disk,parameters:to=disk",
	                                       "optimizer,parameters,activations", "activations"};
	struct made m;
	struct request r = {
	        .model = GPT, .strategy = "zero3", .ranks = 2, .accumulate = 2, .clip = 1, .offload = offloads[_i]};
	must_open_verified(&m, &r);
	free(must_come_back(&m.plan));
	made_release(&m);
}
END_TEST

SUITE("offload update", 120)
