/* Sections save and restore, for every strategy and offload: rule 9 lets them through, and refuses what would lose
 * state, save it twice or bring it back to the wrong place. The text comes back. */
#include <string.h>

#include "tests/support/plan_check.h"
#include "tests/support/plan_edit.h"
#include "tests/support/suite.h"

#define MLP "mlp:sizes=4-4-4-4"
#define GPT "gpt:layers=2,width=4,heads=2,context=4,vocabulary=5"
static const char *const requests[] = {
        MLP " single",
        MLP " single precision=bf16 stochastic_rounding=yes",
        MLP " dp ranks=3",
        MLP " ddp ranks=3 bucket=64",
        MLP " ddp ranks=2 bucket=64 optimizer=sgd",
        MLP " zero1 ranks=4 bucket=64 clip=1",
        MLP " zero2 ranks=3 accumulate=2 bucket=64",
        MLP " zero3 ranks=4",
        MLP " fsdp ranks=3 precision=fp16",
        MLP " zero2 ranks=2 batch=8 clip=1 reproducible=yes",
        GPT " hybrid:shard=2 ranks=4",
        MLP " hybrid:shard=1 ranks=3 precision=bf16",
        MLP " model ranks=3",
        GPT " pipeline ranks=2 accumulate=2 precision=fp16",
        GPT " tensor ranks=2",
        GPT " tensor:sequence=yes ranks=2",
        MLP " single offload=optimizer",
        MLP " ddp ranks=2 bucket=64 offload=optimizer:to=disk",
        MLP " zero1 ranks=2 bucket=64 offload=optimizer:delayed=yes",
        MLP " hybrid:shard=1 ranks=2 offload=optimizer:delayed=yes",
        GPT " pipeline ranks=2 accumulate=2 offload=optimizer:delayed=yes",
        MLP " zero2 ranks=2 precision=fp16 offload=optimizer",
        MLP " zero3 ranks=2 offload=optimizer:to=disk,parameters:to=disk",
        MLP " fsdp ranks=3 precision=bf16 offload=optimizer,parameters",
        MLP " zero1 ranks=2 precision=fp16 stochastic_rounding=yes",
        MLP " zero3 ranks=2 precision=bf16 stochastic_rounding=yes offload=optimizer,parameters",
        MLP " dp ranks=3 offload=optimizer,activations",
        MLP ",norm=batch single micro_batch=3",
        MLP ",norm=batch ddp ranks=3 micro_batch=2 accumulate=2 bucket=64",
        MLP ",norm=sync-batch zero3 ranks=2 micro_batch=2",
        MLP ",norm=batch model ranks=2 micro_batch=3",
        MLP ",norm=batch dp ranks=2 micro_batch=2",
};

/* Each request twice: written while the ranks wait, and from a snapshot. */
static const struct plan *plan_of(int i)
{
	return right_plan("%s checkpoints=yes%s", requests[i / 2], i % 2 ? " checkpoint_async=yes" : "");
}

START_LOOP_TEST(state_is_saved_once_and_restored, 0, 2 * COUNT(requests))
{
	const struct plan *p = plan_of(_i);
	for (int i = 0; i < p->role_count; i++)
		ck_assert_int_lt(p->roles[i].restore.begin, p->roles[i].restore.end);
	must_come_back(p);
}

/* Without any one of its operations the plan is refused. */
START_LOOP_TEST(each_operation_is_needed, 0, 2 * COUNT(requests))
{
	const struct plan *p = plan_of(_i);
	for (int r = 0; r < p->role_count; r++)
		for (int i = p->roles[r].save.begin; i < p->roles[r].restore.end; i++) {
			struct plan mutant;
			plan_copy(&mutant, p);
			plan_drop_op(&mutant, r, i);
			ck_assert_msg(plan_verify(&mutant, NULL) == STATUS_REFUSED, "%s: role %d without operation %d",
			              requests[_i / 2], r, i);
			plan_release(&mutant);
		}
}

/* Saved twice is refused; restored twice is not wrong. */
START_LOOP_TEST(nothing_is_saved_twice, 0, 2 * COUNT(requests))
{
	const struct plan *p = plan_of(_i);
	for (int r = 0; r < p->role_count; r++)
		for (int i = p->roles[r].save.begin; i < p->roles[r].save.end; i++) {
			struct plan mutant;
			if (p->roles[r].ops[i].kind != OP_SAVE)
				continue;
			plan_copy(&mutant, p);
			plan_double_op(&mutant, r, i);
			must_fail(plan_verify(&mutant, NULL), STATUS_REFUSED, "rule 9 (checkpoint)");
			plan_release(&mutant);
		}
}

#define CHECKPOINTS " checkpoints=yes"
#define ASYNC CHECKPOINTS " checkpoint_async=yes"
static const struct broken broken[] = {
        {"rule 9 (checkpoint)", MLP " ddp ranks=3 bucket=64" CHECKPOINTS, "drop save/save#2", "parameters", NULL},
        /* No operation is to blame: the state that is missing is named. */
        {"rule 9 (checkpoint)", MLP " ddp ranks=3 bucket=64" CHECKPOINTS, "drop save/save#4",
         "(checkpoint): role rank (rank 0 to rank 2), buffer 'first_moment': ", NULL},
        {"rule 9 (checkpoint)", MLP " zero1 ranks=4 bucket=64" CHECKPOINTS, "drop restore/restore#1",
         "(checkpoint): role rank (rank 0 to rank 3), buffer 'parameters': ", NULL},
        {"rule 9 (checkpoint)", MLP " zero3 ranks=4" CHECKPOINTS, "set save/save#3 item 3", "first_moment", NULL},
        {"rule 9 (checkpoint)", MLP " ddp ranks=3 bucket=64" CHECKPOINTS,
         "put save/save#1.x save/save#2.x, set save/save#1 group 2", "parameters of bucket.1", NULL},
        {"rule 9 (checkpoint)", MLP " single bucket=64" CHECKPOINTS, "put restore/restore.x restore/restore#1.x", "'",
         NULL},
        {"rule 9 (checkpoint)", MLP " ddp ranks=2 bucket=64" CHECKPOINTS, "set save/save#1.x slice 0", "2 times", NULL},
        {"rule 9 (checkpoint)", MLP " ddp ranks=2 bucket=64" ASYNC, "set save/save#1.snapshot offset 0",
         "another operation", NULL},
        {"rule 9 (checkpoint)", MLP " ddp ranks=2 bucket=64 offload=optimizer" ASYNC,
         "put save/save#1.snapshot save/save#1.x", "state in host memory", NULL},
        {"rule 9 (checkpoint)", MLP " single" ASYNC, "put save/save#1.snapshot none", "has no snapshot", NULL},
};

START_LOOP_TEST(broken_plans_are_refused, 0, COUNT(broken))
{
	must_be_refused(&broken[_i]);
}

START_TEST(text_without_checkpoints_is_of_version_1)
{
	const char *plain = plan_to_text(right_plan(MLP " ddp ranks=2"), NULL);
	ck_assert(!strncmp(plain, "shardlab plan 1\n", 16) && !strstr(plain, "\nsave\n"));
	const char *text = plan_to_text(right_plan(MLP " ddp ranks=2" CHECKPOINTS), NULL);
	ck_assert(!strncmp(text, "shardlab plan 2\n", 16));
	ck_assert(strstr(text, " item first_moment x=first_moment["));
	ck_assert(strstr(text, " item first_moment -> x=first_moment["));
}

SUITE("restore", 60)
