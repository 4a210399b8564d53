/* Epilogues that gather the weights on rank 0 (save=full, save=16bit): verified, nothing in them is idle, what they
 * move and take is what the report says, and the text comes back. So do plans in which the whole model is one unit. */
#include <string.h>

#include "strategy/trace/report.h"
#include "tests/support/plan_check.h"
#include "tests/support/plan_edit.h"
#include "tests/support/suite.h"

#define MLP "mlp:sizes=4-4-4-4"
#define GPT "gpt:layers=2,width=4,heads=2,context=4,vocabulary=5"
static const char *const requests[] = {
        MLP " zero3:save=16bit ranks=3",
        MLP " zero3:save=16bit ranks=4 precision=bf16 checkpoints=yes",
        MLP " zero3:save=full ranks=2 precision=fp16",
        MLP " fsdp:save=full ranks=3 precision=bf16 accumulate=2",
        GPT " fsdp:save=16bit ranks=2 precision=bf16 stochastic_rounding=yes",
        MLP " zero3:save=16bit ranks=2 offload=optimizer:to=disk,parameters:to=disk precision=bf16",
        MLP " fsdp:save=full ranks=3 precision=bf16 offload=optimizer,parameters",
        MLP " fsdp:save=full ranks=2 offload=optimizer",
        MLP ",norm=sync-batch zero3:save=full ranks=2 micro_batch=2",
        MLP ",norm=batch fsdp:save=full ranks=3 micro_batch=2",
        GPT " fsdp:units=model:save=full ranks=2",
};

START_LOOP_TEST(weights_are_gathered_and_saved_once, 0, COUNT(requests))
{
	const struct plan *p = right_plan("%s", requests[_i]);
	ck_assert_int_eq(p->role_count, 2);
	ck_assert_str_eq(p->roles[0].name, "saver");
	must_come_back(p);
}

/* A wait that another one implies may go; no operation may. */
START_LOOP_TEST(each_operation_is_needed, 0, COUNT(requests))
{
	const struct plan *p = right_plan("%s", requests[_i]);
	for (int r = 0; r < p->role_count; r++)
		for (int i = p->roles[r].epilogue.begin; i < p->roles[r].epilogue.end; i++) {
			struct plan mutant;
			if (p->roles[r].ops[i].kind == OP_SHOW_BUFFERS)
				continue;
			plan_copy(&mutant, p);
			plan_drop_op(&mutant, r, i);
			ck_assert_msg(plan_verify(&mutant, NULL) == STATUS_REFUSED, "%s: role %d without operation %d",
			              requests[_i], r, i);
			plan_release(&mutant);
		}
}

static const struct broken broken[] = {
        {"rule 4 (race)", MLP " zero3:save=16bit ranks=2", "unwait epilogue/weights#1", "saved", NULL},
        {"rule 6 (version)", MLP " zero3:save=16bit ranks=2", "set epilogue/weights#1 group 0", "layer.0", NULL},
        {"rule 2 (matching)", MLP " zero1 ranks=2 precision=bf16 bucket=64",
         "put epilogue/weights.weights adamw.parameters", "kept in bf16", NULL},
        {"rule 1 (deadlock)", MLP " fsdp:save=full ranks=2", "drop epilogue/1:all_gather#1", "not every role", NULL},
};

START_LOOP_TEST(broken_plans_are_refused, 0, COUNT(broken))
{
	must_be_refused(&broken[_i]);
}

/* On 4 ranks nothing of this MLP is padded: 3 layers of 4·4 weights and 4 biases. */
enum { ELEMENTS = 60, LARGEST = 20 };

static void must_gather(const char *request, int64_t bytes)
{
	struct report r;
	const struct plan *p = right_plan("%s", request);
	report_from_plan(&r, p);
	ck_assert(report_gathers(&r));
	for (int i = 0; i < 2; i++) {
		const struct report_gathering *g = &r.roles[i].gathering;
		int64_t steady = 0;
		for (int c = 0; c < CATEGORY_COUNT; c++)
			steady += r.roles[i].memory[SPACE_DEVICE].steady[c];
		ck_assert_int_eq(g->sent_bytes, ELEMENTS * bytes * 3 / 4);
		ck_assert_int_eq(g->received_bytes, ELEMENTS * bytes * 3 / 4);
		ck_assert_int_eq(g->peak_bytes[SPACE_DEVICE], steady + LARGEST * bytes);
		ck_assert_int_eq(g->peak_bytes[SPACE_HOST], i ? 0 : ELEMENTS * bytes);
	}
	report_release(&r);
}

START_TEST(the_report_says_what_it_takes)
{
	must_gather(MLP " zero3:save=16bit ranks=4 precision=bf16", 2);
	must_gather(MLP " fsdp:save=16bit ranks=4 precision=bf16", 2);
	must_gather(MLP " zero3:save=full ranks=4 precision=bf16", 4);
	must_gather(MLP " fsdp:save=full ranks=4", 4);
	must_gather(MLP " zero3:save=16bit ranks=4", 4);
}

START_TEST(others_gather_nothing)
{
	static const char *const plain[] = {MLP " zero3 ranks=4", MLP " fsdp:save=full ranks=1",
	                                    MLP " zero3:save=shards ranks=2"};
	for (int i = 0; i < COUNT(plain); i++) {
		struct report r;
		report_from_plan(&r, right_plan("%s", plain[i]));
		ck_assert(!report_gathers(&r));
		ck_assert_int_eq(r.role_count, 1);
		report_release(&r);
	}
}

SUITE("gathering", 60)
