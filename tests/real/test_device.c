/* The CPU device notices in test runs: a kernel that writes outside its buffer, memory that is read before it is
 * written, and a kernel that uses less than the plan says. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "real/rank/bind.h"
#include "tests/support/plan_check.h"
#include "tests/support/suite.h"
#include "tests/support/trainer.h"

static const char text_file[] = "tests/golden/text.txt";

#define TINY "gpt:layers=1,width=16,heads=2,context=8 single micro_batch=3 clip=1"

/* One step after the prologue, under guard. */
static enum status run(const struct plan *p, double *loss)
{
	struct trainer t;
	enum status s = trainer_open(&t, p, text_file, true);
	if (!s)
		s = trainer_step(&t, loss);
	trainer_release(&t);
	return s;
}

/* Every buffer, made one element too small in turn: the kernel that fills it runs into the zone behind it. */
START_TEST(writing_past_a_buffer_is_noticed)
{
	double loss;
	struct plan *p = made_plan(TINY);
	ck_assert_msg(run(p, &loss) == STATUS_OK && isfinite(loss), "%s", status_message());
	struct role *r = &p->roles[0];
	int tried = 0;
	for (int i = 0; i < r->buffer_count; i++) {
		char want[128];
		if (strstr(r->buffers[i].name, ".eval"))
			continue; /* of a section that is not run here */
		snprintf(want, sizeof want, "outside buffer '%s'", r->buffers[i].name);
		r->buffers[i].elements--;
		enum status s = run(p, &loss);
		ck_assert_msg(s == STATUS_RUN && strstr(status_message(), want),
		              "'%s' one element too small: %s, \"%s\"", r->buffers[i].name, status_name(s),
		              status_message());
		r->buffers[i].elements++;
		tried++;
	}
	ck_assert_int_gt(tried, 30);
}

START_TEST(writing_before_a_buffer_is_noticed)
{
	struct trainer t;
	ck_assert_int_eq(trainer_open(&t, made_plan(TINY), text_file, true), STATUS_OK);
	ck_assert_int_eq(rank_memory_check(&t.device), STATUS_OK);
	char *at = rank_memory_buffer(&t.device, role_buffer(t.device.role, "gradients"));
	at[-RANK_MEMORY_GUARD] ^= 1;
	must_fail(rank_memory_check(&t.device), STATUS_RUN, "'gradients'");
	trainer_release(&t);
}

/* From alloc to the first write, and after free, memory is NaN. */
START_TEST(memory_is_poisoned)
{
	struct trainer t;
	ck_assert_int_eq(trainer_open(&t, made_plan(TINY), text_file, true), STATUS_OK);
	const struct role *r = t.device.role;
	int number = r->step.begin;
	while (r->ops[number].kind != OP_ALLOC ||
	       r->buffers[r->ops[number].operand[ALLOC_BUFFER].buffer].type != TYPE_FP32)
		number++;
	int buffer = op_buffer(&r->ops[number]), last = (int)r->buffers[buffer].elements - 1;
	float *x = rank_memory_buffer(&t.device, buffer);
	int freed = number;
	while (r->ops[freed].kind != OP_FREE || r->ops[freed].operand[FREE_BUFFER].buffer != buffer)
		freed++;
	for (int i = 0; i < 2; i++) {
		x[0] = x[last] = 1;
		ck_assert_int_eq(rank_execute(&t.device, i ? freed : number), STATUS_OK);
		ck_assert(isnan(x[0]) && isnan(x[last]));
	}
	trainer_release(&t);
}

static bool alive_at(const struct role *r, int buffer, int at)
{
	bool alive = r->buffers[buffer].state;
	for (int i = r->step.begin; i <= at; i++)
		if (op_buffer(&r->ops[i]) == buffer)
			alive = r->ops[i].kind == OP_ALLOC ? true : r->ops[i].kind == OP_FREE ? false : alive;
	return alive;
}

/* A buffer that is declared larger than what its kernel uses: the plan says more, and what is measured stays. */
START_TEST(measured_memory_is_not_copied_from_the_plan)
{
	struct trainer t;
	struct memory_use planned, measured, larger;
	double loss;
	struct plan *p = made_plan(TINY " accumulate=2");
	struct role *r = &p->roles[0];
	plan_memory(p, r, SPACE_DEVICE, &planned);
	int tried = 0;
	for (int i = -1; i < r->buffer_count; i++) {
		if (i >= 0 && (!alive_at(r, i, planned.peak_op) || r->buffers[i].type == TYPE_I64))
			continue;
		if (i >= 0)
			r->buffers[i].elements += 16;
		plan_memory(p, r, SPACE_DEVICE, &larger);
		ck_assert_int_eq(larger.peak_bytes, planned.peak_bytes + (i >= 0 ? 64 : 0));
		ck_assert_int_eq(trainer_open(&t, p, text_file, false), STATUS_OK);
		ck_assert_int_eq(trainer_step(&t, &loss), STATUS_OK);
		rank_memory_used(&t.device, SPACE_DEVICE, &measured);
		ck_assert_msg(measured.peak_bytes == planned.peak_bytes, "%s: %lld bytes instead of %lld",
		              i < 0 ? "as it is" : r->buffers[i].name, (long long)measured.peak_bytes,
		              (long long)planned.peak_bytes);
		for (int c = 0; c < CATEGORY_COUNT; c++) {
			ck_assert_int_eq(measured.at_peak[c], planned.at_peak[c]);
			ck_assert_int_eq(measured.steady[c], planned.steady[c]);
		}
		trainer_release(&t);
		if (i >= 0)
			r->buffers[i].elements -= 16;
		tried++;
	}
	ck_assert_int_gt(tried, 15);
}

static int find_op(const struct role *r, enum op_kind kind)
{
	int number = 0;
	while (number < r->op_count && r->ops[number].kind != kind)
		number++;
	ck_assert_int_lt(number, r->op_count);
	return number;
}

/* Operands of types that no kernel takes are refused before anything runs, whoever made the plan. */
START_LOOP_TEST(types_without_a_kernel_are_refused, 0, 8)
{
	static const struct {
		enum op_kind kind;
		int operand;
		enum type type;
	} spoilt[] = {{OP_LOAD, LOAD_INPUTS, TYPE_BF16},  {OP_LOAD, LOAD_INPUTS, TYPE_I32},
	              {OP_COPY, COPY_Y, TYPE_BF16},       {OP_SQUARES, SQUARES_NORM, TYPE_I32},
	              {OP_SUM, SUM_X, TYPE_BF16},         {OP_LINEAR_FORWARD, LINEAR_FORWARD_WEIGHT, TYPE_FP16},
	              {OP_ADAMW, ADAMW_FIRST, TYPE_BF16}, {OP_CLASSIFIER, CLASSIFIER_LOSS, TYPE_I64}};
	struct rank_memory d;
	struct plan *p = made_plan("mlp:sizes=784-16-10 zero2 ranks=2 clip=1 offload=optimizer");
	ck_assert_int_eq(rank_memory_open(&d, p, 0, NULL, false, NULL, NULL), STATUS_OK);
	rank_memory_release(&d);
	struct role *role = &p->roles[0];
	const struct op *op = &role->ops[find_op(role, spoilt[_i].kind)];
	role->buffers[op->operand[spoilt[_i].operand].buffer].type = spoilt[_i].type;
	must_fail(rank_memory_open(&d, p, 0, NULL, false, NULL, NULL), STATUS_INPUT, "there is no kernel for");
	ck_assert_ptr_null(d.arena[SPACE_DEVICE]);
}

/* A host that has no memory left is an answer, not a crash. */
START_TEST(an_arena_that_does_not_fit_is_refused)
{
	struct rank_memory d;
	const struct plan *p = made_plan("gpt3-175b single micro_batch=2048");
	must_fail(rank_memory_open(&d, p, 0, NULL, false, NULL, NULL), STATUS_RUN, "no memory for an arena");
	ck_assert_ptr_null(d.arena[SPACE_DEVICE]);
}

SUITE("device", 120)
