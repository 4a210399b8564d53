/* A stack from steps of one's own, of plans put together by hand. */
#include "sim/own.h"
#include "strategy/cluster/effective.h"
#include "tests/sim/sim_fixture.h"
#include "tests/support/suite.h"

static const char base[] = "name: base\nclass: fused\ncard: ampere\nproduct: {share: 0.5}\n"
                           "memory: {bandwidth: 0.5, unfused: 0}\nlaunch: {issue: 0, gap: 0}\n"
                           "network: {inside: 0.5, between: 0.5}\noverlap: {multiprocessors: 0}\n"
                           "step: {constant: 0, micro_batch: 0}\n";

static struct stack open_stack(void)
{
	struct stack s;
	must(stack_read(&s, base, strlen(base), "base", ""));
	return s;
}

/* 10,000 ns of memory at the ceiling, then 2 · (1000 + 200,000/10) = 42,000 ns of a link. */
static void open_step(void)
{
	open_gpus("2", "0", "0", "");
	open_plan(2);
	add_kernel(10000);
	wait_for(add_collective(SCHEDULE_RING_ALL_REDUCE, 100000), 0);
}

/* At a fifth of both: 50,000 + 2 · (1000 + 100,000). */
START_TEST(one_step_moves_all_rates)
{
	struct stack s = open_stack();
	open_step();
	struct own_step step = {.plan = &fixture.plan, .ceilings = &cluster, .measured = 252000};
	must(own_fit_steps(&s, &step, 1));
	ck_assert_int_eq(step.before, 20000 + 2 * (1000 + 40000));
	ck_assert_int_le(llabs(step.after - 252000), 252);
	ck_assert_int_le(llabs(s.value[STACK_MEMORY_BANDWIDTH] - 200000), 400);
	ck_assert_int_eq(s.value[STACK_NETWORK_INSIDE], s.value[STACK_MEMORY_BANDWIDTH]);
	ck_assert_int_eq(s.value[STACK_FIT_ROWS], 1);
	ck_assert_int_eq(s.value[STACK_FIT_RANKS_MOST], 2);
}

/* 52,000 ns is what the ceilings give. */
START_TEST(no_rate_passes_its_ceiling)
{
	struct stack s = open_stack();
	open_step();
	struct own_step step = {.plan = &fixture.plan, .ceilings = &cluster, .measured = 52000};
	must(own_fit_steps(&s, &step, 1));
	ck_assert_int_eq(step.after, 52000);
	ck_assert_int_eq(s.value[STACK_NETWORK_INSIDE], MILLION);
	s = open_stack();
	step.measured = 45000;
	must_fail(own_fit_steps(&s, &step, 1), STATUS_INPUT, "with all rates at the ceilings");
}

START_TEST(contradictions)
{
	struct stack s = open_stack();
	open_step();
	struct own_step steps[] = {{.plan = &fixture.plan, .ceilings = &cluster, .measured = 100000},
	                           {.plan = &fixture.plan, .ceilings = &cluster, .measured = 120000}};
	must_fail(own_fit_steps(&s, steps, 2), STATUS_INPUT, "(1 of 2): beside the others");
	ck_assert_int_eq(s.value[STACK_FIT_ROWS], STACK_MISSING);
	steps[1].measured = 104000; /* as far apart as two runs of one step may be */
	must(own_fit_steps(&s, steps, 2));
}

/* A step that is given twice is met in the middle by the one constant that it frees: network goes along. */
START_TEST(the_same_step_again_frees_nothing)
{
	struct stack s = open_stack();
	open_step();
	struct own_step steps[] = {{.plan = &fixture.plan, .ceilings = &cluster, .measured = 248000},
	                           {.plan = &fixture.plan, .ceilings = &cluster, .measured = 256000}};
	must(own_fit_steps(&s, steps, 2));
	ck_assert_int_eq(s.value[STACK_NETWORK_INSIDE], s.value[STACK_MEMORY_BANDWIDTH]);
	ck_assert_int_le(llabs(steps[0].after - 252000), 300);
}

SUITE("stacks of own steps", 0)
