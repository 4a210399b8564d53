/* A plan's text: what is written reads back as the same plan and prints the same bytes; and whatever else is read is
 * refused with one line that says where and what, and never a crash. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/mix64.h"
#include "tests/support/plan_check.h"
#include "tests/support/suite.h"

static char *print_request(const char *words)
{
	return plan_to_text(made_plan("%s", words), NULL);
}

/* Expects a refusal with this message; nothing is left behind. */
static void must_not_be_read(const char *text, const char *message)
{
	struct made m;
	ck_assert_msg(plan_read(&m.plan, &m.model, text, strlen(text), "my.plan") == STATUS_INPUT, "read: %s", message);
	ck_assert_msg(strstr(status_message(), message) != NULL, "'%s' is not in: %s", message, status_message());
	ck_assert_ptr_null(m.plan.groups);
	ck_assert_ptr_null(m.model.kernels);
}

/* ---- there and back ---- */

static void assert_same_op(const struct op *a, const struct op *b, int number)
{
	ck_assert_msg(a->kind == b->kind && a->queue == b->queue && a->pass == b->pass && a->unit == b->unit &&
	                      a->kernel == b->kernel && a->micro == b->micro && a->group == b->group &&
	                      a->accumulate == b->accumulate && a->all_ranks == b->all_ranks &&
	                      a->algorithm == b->algorithm && a->traffic == b->traffic && a->root == b->root &&
	                      a->axes == b->axes && a->ends_only == b->ends_only && a->neighbour == b->neighbour &&
	                      a->payload == b->payload && a->after_count == b->after_count,
	              "operation %d, %s, came back as another", number, op_name(a->kind));
	ck_assert(a->scale >= b->scale && a->scale <= b->scale);
	for (int i = 0; i < op_operand_count(a->kind); i++) {
		const struct region *x = &a->operand[i], *y = &b->operand[i];
		ck_assert_int_eq(x->buffer, y->buffer);
		if (x->buffer >= 0)
			ck_assert(x->slice == y->slice && x->offset == y->offset && x->count == y->count);
	}
	for (int i = 0; i < a->after_count; i++)
		ck_assert_int_eq(a->after[i], b->after[i]);
}

static void assert_same_plan(const struct plan *a, const struct plan *b)
{
	ck_assert_str_eq(a->strategy, b->strategy);
	ck_assert_int_eq(a->ranks, b->ranks);
	ck_assert_int_eq(a->role_count, b->role_count);
	ck_assert_int_eq(a->group_count, b->group_count);
	ck_assert_int_eq(a->group_elements, b->group_elements);
	ck_assert_int_eq(a->settings.batch, b->settings.batch);
	ck_assert_int_eq(a->settings.seed, b->settings.seed);
	for (int t = 0; t < a->model->tensor_count; t++)
		ck_assert(a->tensor_group[t] == b->tensor_group[t] && a->tensor_offset[t] == b->tensor_offset[t]);
	for (int i = 0; i < a->role_count; i++) {
		const struct role *x = &a->roles[i], *y = &b->roles[i];
		ck_assert_int_eq(x->op_count, y->op_count);
		ck_assert_int_eq(x->buffer_count, y->buffer_count);
		ck_assert(!memcmp(&x->step, &y->step, sizeof x->step) &&
		          !memcmp(&x->evaluate, &y->evaluate, sizeof x->step));
		ck_assert(x->prologue.end == y->prologue.end && x->epilogue.begin == y->epilogue.begin);
		for (int k = 0; k < x->op_count; k++)
			assert_same_op(&x->ops[k], &y->ops[k], k);
	}
}

static const char *const requests[] = {
        "mlp:sizes=4-5-3 single accumulate=3",
        "mlp:sizes=4-5-3 dp ranks=3 accumulate=2",
        "mlp:sizes=4-5-3 dp:broadcast=tree:reduce=chain ranks=4",
        "mlp:sizes=4-5-3 ddp ranks=4 clip=0.1 collectives=library",
        "mlp:sizes=4-5-3 ddp:algorithm=halving-doubling ranks=3 bucket=64",
        "mlp:sizes=4-5-3 zero1 ranks=3 precision=fp16 optimizer=sgd",
        "gpt:layers=2,width=8,heads=2,context=6 zero2 ranks=8 accumulate=2 sequence=4 bucket=999",
        "gpt:layers=2,width=8,heads=2,context=6 zero3:live=100 ranks=3 precision=bf16 clip=1",
        "gpt:layers=2,width=8,heads=2,context=6 fsdp:reshard=no:sync=last ranks=2 accumulate=2",
        "gpt:layers=2,width=8,heads=2,context=6 zero3 ranks=2 batch=8 clip=1 reproducible=yes",
        "gpt2-124m ddp ranks=1",
        "gpt:layers=3,width=8,heads=2,context=6 zero3 ranks=2 accumulate=2 activation_checkpointing=every=2",
        "gpt:layers=2,width=8,heads=2,context=6 dp ranks=3 activation_checkpointing=selective",
        "mlp:sizes=4-5-3,norm=sync-batch zero3 ranks=3 micro_batch=2 accumulate=2 precision=fp16",
        "mlp:sizes=4-5-6-3,norm=batch dp ranks=3 micro_batch=2 activation_checkpointing=full",
        "params=1e6:units=7 zero3 ranks=1000 precision=bf16",
        "mlp:sizes=4-5-3 model ranks=2 accumulate=2",
        "gpt:layers=2,width=8,heads=2,context=6 pipeline ranks=3 accumulate=4 clip=1",
        "mlp:sizes=4-5-3 hybrid:shard=2 ranks=6 accumulate=2 clip=1",
        "mlp:sizes=4-5-3 zero3:secondary=2 ranks=6 accumulate=2 precision=bf16",
        "mlp:sizes=4-5-3 hybrid:shard=2 ranks=6 precision=bf16 stochastic_rounding=yes",
        "gpt:layers=1,width=8,heads=2,context=6,vocabulary=2047 dp ranks=3",
        "gpt:layers=1,width=8,heads=2,context=6,vocabulary=4093 tensor ranks=2",
        "gpt:layers=3,width=32,heads=2 zero3 ranks=2 accumulate=2 clip=1 offload=optimizer",
        "gpt:layers=3,width=32,heads=2 zero3 ranks=2 accumulate=2 clip=1 offload=optimizer:delayed=yes",
        "gpt:layers=3,width=32,heads=2 zero3 ranks=2 accumulate=2 clip=1 offload=optimizer:to=disk,parameters:to=disk",
        "gpt:layers=3,width=32,heads=2 zero3 ranks=2 accumulate=2 clip=1 offload=optimizer,parameters,activations",
        "gpt:layers=3,width=32,heads=2 zero3 ranks=2 accumulate=2 clip=1 offload=activations",
};
START_LOOP_TEST(text_comes_back, 0, COUNT(requests))
{
	const struct plan *p = made_plan("%s", requests[_i]);
	assert_same_plan(p, must_come_back(p));
}

/* ---- what a person may write ---- */

static const char small[] = "mlp:sizes=4-3-2 ddp ranks=2";

START_TEST(comments_labels_and_spaces_are_free)
{
	static const char *const changes[][2] = {
	        {"set ranks", "\n# two of them\n   \nset    ranks"},
	        {"0: alloc step\n", "900: alloc step\n"},
	        {"prologue\n", "  prologue   \n"},
	};
	char *text = print_request(small);
	const struct plan *plain = read_plan(text);
	for (int i = 0; i < COUNT(changes); i++)
		assert_same_plan(plain, read_plan(text_replaced(text, changes[i][0], changes[i][1])));
	text[strlen(text) - 1] = 0; /* no newline at the end */
	read_plan(text);
}

/* Labels are names: operations may stand in any order of numbers, and waits follow. */
START_TEST(waits_go_by_label)
{
	/* The all-reduce is 31; call it 77, and what waits for it follows. */
	char *text = print_request(small), *half = text_replaced(text, "\n31: all_reduce", "\n77: all_reduce");
	must_not_be_read(half, "has no operation 31 to wait for");
	const struct plan *p = read_plan(text_replaced(half, " after 31", " after 77"));
	ck_assert_str_eq(plan_to_text(p, NULL), text);
}

/* ---- what is refused ---- */

static const struct {
	const char *what, *by, *message; /* message: begins "my.plan:LINE:COLUMN: " where it is a number */
} wrong[] = {
        {"shardlab plan 1", "shardlab plan 3", "my.plan:1:15: version 3"},
        {"shardlab plan 1", "shardlab 1", "my.plan:1:10: this is no plan"},
        {"set strategy ddp\n", "", "'set strategy …' is missing"},
        {"set ranks 2", "set ranks 2\nset ranks 2", "my.plan:5:5: 'ranks' is set a second time"},
        {"set ranks 2", "set ranks 0", "my.plan:4:11: ranks: '0' is below 1"},
        {"set ranks 2", "set ranks -2", "my.plan:4:11: ranks: '-2' is below 1"},
        {"set ranks 2", "set ranks 99999999999999999999", "my.plan:4:11:"},
        {"set ranks 2", "set ranks", "my.plan:4:10: the line ends here"},
        {"set ranks 2", "set ranks 2 3", "my.plan:4:13: '3' has no place here"},
        {"set ranks 2", "set ranks 1000000", "ranks are more than the model has elements"},
        {"set micro_batch 1\nset accumulate 1", "set micro_batch 1000000000000000\nset accumulate 4096",
         "are too large for 64-bit sizes"},
        {"set micro_batch 1", "set micro_batch 70000000000000000", "micro_batch: '70000000000000000' is above"},
        {"set accumulate 1", "set accumulate 4097", "accumulate is 4097, above 4096"},
        {"set model mlp:", "set model mlq:", "unknown model 'mlq'"},
        {"set model mlp:sizes=4-3-2", "set model mlp:sizes=4-3-0", "'0' is below 1"},
        {"set precision fp32", "set precision fp9", "precision: 'fp9' is not one of: fp32, bf16, fp16, fp8"},
        {"set optimizer adamw", "set optimizer lamb", "optimizer: 'lamb' is not one of: adamw, sgd"},
        {"set collectives schedule", "set collectives nccl", "collectives: 'nccl' is not one of: schedule, library"},
        {"set clip 0", "set clip nan", "clip: 'nan' is not a number"},
        {"set clip 0", "set clip 1e999", "clip: '1e999' is not a number"},
        {"set clip 0", "set clop 0", "unknown setting 'clop'"},
        {"tensors 1.bias", "tensors 1.bios", "unknown tensor '1.bios'"},
        {"tensors 1.bias", "tensors 1.weight", "tensor '1.weight' is in group bucket.0 already"},
        {"tensors 1.bias ", "tensors ", "base, elements and padded of its tensors"},
        {"padded 24", "padded 25", "base, elements and padded of its tensors are 0, 23 and 23 to 24"},
        {"group bucket.0 base 0", "group bucket.0 base 1", "base, elements and padded"},
        {"group bucket.0 base", "group bucket.0 bass", "'base' belongs here"},
        {"role rank ranks 0 2", "role rank ranks 0 1", "cover 1 of 2 ranks"},
        {"role rank ranks 0 2", "role rank ranks 1 1", "must begin at 0"},
        {"role rank ranks 0 2", "role rank ranks 0 3", "roles cover ranks 0 to 1"},
        {"buffer loss buffers", "buffer loss buffets", "unknown category 'buffets'"},
        {"buffer loss buffers device", "buffer loss buffers tape", "unknown space 'tape'; known: device, host, disk"},
        {"buffer loss buffers device fp32", "buffer loss buffers device fp31", "unknown type 'fp31'"},
        {"buffer loss buffers device fp32 1", "buffer loss buffers device fp32 0", "'0' is not elements"},
        {"buffer loss ", "buffer step ", "there is a buffer 'step' already"},
        {"0: alloc step", "0: allot step", "unknown operation 'allot'"},
        {"0: alloc step", "0: alloc stop", "unknown buffer 'stop'"},
        {"0: alloc step", "0: alloc step after 1", "'after' has no place here"},
        {"1: zero", "0: zero", "there is an operation 0 already"},
        {"1: zero", "1x: zero", "is no number for an operation"},
        {"1: zero", "99999999999: zero", "is no number for an operation"},
        {"1: zero on compute", "1: zero on computer", "unknown queue 'computer'"},
        {"1: zero on compute -> x=step[0:1]", "1: zero on compute -> y=step[0:1]", "is no operand of zero"},
        {"1: zero on compute -> x=step[0:1]", "1: zero on compute x=step[0:1]", "is written and stands before '->'"},
        {"1: zero on compute -> x=step[0:1]", "1: zero on compute", "operand x is missing"},
        {"-> x=step[0:1]", "-> x=step[0:2]", "is not a part of buffer 'step'"},
        {"-> x=step[0:1]", "-> x=step[1:1]", "is not a part of buffer 'step'"},
        {"-> x=step[0:1]", "-> x=step[0:0]", "is not a part of buffer 'step'"},
        {"-> x=step[0:1]", "-> x=step[0:-1]", "is not a part of buffer 'step'"},
        {"-> x=step[0:1]", "-> x=step[0:1/q]", "no axis of the plan"},
        {"-> x=step[0:1]", "-> x=step[0:1/r]", "do not divide into 2 slices"},
        {"-> x=step[0:1]", "-> x=step[9223372036854775807:1]", "is not a part of buffer 'step'"},
        {"-> x=step[0:1]", "-> x=step", "a region is buffer[offset:count]"},
        {"-> x=step[0:1]", "-> x=]", "a region is buffer[offset:count]"},
        {"-> x=step[0:1]", "-> x=", "a region is buffer[offset:count]"},
        {"-> x=step[0:1]", "-> x+=step[0:1]", "cannot be added to"},
        {"-> x=step[0:1]", "-> x=step[0:1] x=step[0:1]", "operand x is there already"},
        {"linear.forward layer.0.linear", "linear.forward layer.9.linear", "unknown kernel 'layer.9.linear'"},
        {"classifier on compute micro 0", "classifier on compute micro 1", "'1' is not a micro-batch"},
        {"scale 0.5", "scale x", "'x' is not a scale"},
        {"scale 0.5 ", "", "'scale' belongs here"},
        {"in backward group bucket.0", "in reverse group bucket.0",
         "unknown pass 'reverse'; known: forward, recompute, backward, update"},
        {"linear.forward layer.0.linear on compute", "linear.forward layer.0.linear on compute in forward",
         "may be 'in recompute'"},
        {"linear.backward layer.0.linear on compute", "linear.backward layer.0.linear on compute in recompute",
         "may be 'in recompute'"},
        {"set ranks 2", "set activation_checkpointing half\nset ranks 2", "'half' is not one of"},
        {"set ranks 2", "set activation_checkpointing full:color=red\nset ranks 2", "unknown key 'color'"},
        {"in backward group bucket.0", "in backward group bucket.7", "unknown group 'bucket.7'"},
        {"by ring root 0", "by star root 0", "all_reduce has no algorithm 'star'"},
        {"by ring root 0", "by ring root 2", "'2' is not a root"},
        {"as all_reduce payload", "as all_reducing payload", "unknown kind of traffic 'all_reducing'"},
        {"payload 23", "payload x", "'x' is not a payload"},
        {" after 27", " after 1027", "has no operation 1027 to wait for"},
        {" after 27", " after", "numbers of operations belong behind 'after'"},
        {"\nevaluate\n", "\n", "each once"},
        {"\nepilogue\n", "\nrole other ranks 0 1\n", "ends here without a section 'epilogue'"},
        {"\nprologue\n", "\n", "operations stand in a section"},
        {"\nstep\n", "\nstep\nstep\n", "each once"},
        {"\nstep\n", "\nset seed 1\nstep\n", "settings come before groups"},
        {"\nstep\n", "\nbuffer a buffers device fp32 1\nstep\n", "buffers stand between"},
        {"\nstep\n", "\nhop\nstep\n", "'hop' begins no line of a plan"},
        {"set seed", "set\tseed", "byte 0x09 has no place in a plan"},
        {"set model mlp:", "set model ml\xc3\xbc:", "byte 0xc3 has no place in a plan"},
};

/* Expects a refusal that names the place in the file. */
static void assert_refused(const char *words, const char *what, const char *by, const char *message)
{
	int line = 0, column = 0;
	must_not_be_read(text_replaced(print_request(words), what, by), message);
	ck_assert_msg(sscanf(status_message(), "my.plan:%d:%d: ", &line, &column) == 2 && line >= 1 && column >= 1,
	              "%s", status_message());
}

START_LOOP_TEST(wrong_texts_are_refused, 0, COUNT(wrong))
{
	assert_refused(small, wrong[_i].what, wrong[_i].by, wrong[_i].message);
}

START_TEST(one_role_is_no_plan)
{
	static const char *const roles[][2] = {{"worker", "my.plan:"}, {"root", "print it without role"}};
	for (int i = 0; i < COUNT(roles); i++)
		must_not_be_read(plan_to_text(made_plan("%s", requests[1]), roles[i][0]), roles[i][1]);
}

/* ---- any bytes ---- */

static void read_bytes(const char *bytes, size_t size)
{
	struct made m;
	char *exact = malloc(size ? size : 1); /* so that a sanitizer sees a read past the end */
	ck_assert_ptr_nonnull(exact);
	memcpy(exact, bytes, size);
	if (plan_read(&m.plan, &m.model, exact, size, "my.plan") == STATUS_OK) {
		if (plan_verify(&m.plan, NULL))
			ck_assert_msg(!strncmp(status_message(), "rule ", 5), "%s", status_message());
		made_release(&m);
	} else {
		ck_assert_msg(!strncmp(status_message(), "my.plan:", 8), "%s", status_message());
	}
	free(exact);
}

START_TEST(cut_texts_do_no_harm)
{
	char *text = print_request(requests[1]);
	size_t size = strlen(text);
	for (size_t n = 0; n <= size; n += 1 + n / 97)
		read_bytes(text, n);
}

/* A few bytes changed, a line taken out, a word put elsewhere. */
START_LOOP_TEST(corrupted_texts_do_no_harm, 0, 2)
{
	static const char bytes[] = "0123456789 []:/=+->.\nrxz\xff";
	char *text = print_request(requests[_i]);
	size_t size = strlen(text);
	char *spoiled = malloc(size + 1);
	ck_assert_ptr_nonnull(spoiled);
	for (uint64_t round = 0; round < 2000; round++) {
		memcpy(spoiled, text, size);
		for (uint64_t i = 0; i <= round % 3; i++) {
			uint64_t random = mix64(round * 5 + i + (uint64_t)_i * 99991);
			spoiled[random % size] = bytes[(random >> 40) % (sizeof bytes - 1)];
		}
		read_bytes(spoiled, size);
	}
	free(spoiled);
}

/* Sizes that each fit in 63 bits and together do not. */
START_TEST(huge_sizes_do_no_harm)
{
	enum { HUGE = 200 };
	char *text = print_request(small);
	char declared[HUGE * 80] = "", used[HUGE * 80] = "";
	for (int i = 0; i < HUGE; i++) {
		char *d = declared + strlen(declared), *u = used + strlen(used);
		snprintf(d, 80, "buffer huge.%d buffers device i64 72057594037927935\n", i);
		snprintf(u, 80, "%d: alloc huge.%d\n%d: free huge.%d\n", 1000 + 2 * i, i, 1001 + 2 * i, i);
	}
	strncat(declared, "prologue\n", sizeof declared - strlen(declared) - 1);
	strncat(used, "0: ", sizeof used - strlen(used) - 1);
	const struct plan *p = read_plan(text_replaced(text_replaced(text, "prologue\n", declared), "0: ", used));
	must_fail(plan_verify(p, NULL), STATUS_REFUSED, "2^62 bytes in all");
}

/* Every plan that compiles reads back, up to the largest sizes; one size more is refused by both, with the same line.
 */
static const struct {
	const char *words, *setting, *at_limit, *more, *message;
} limits[] = {
        {"params=9007199254740992 ddp ranks=4", "accumulate", "8", "9", "accumulate 9 "},
        {"mlp:sizes=1048576-1 ddp ranks=1024 micro_batch=1048576", "accumulate", "64", "65", "accumulate 65 "},
        {"gpt:layers=1,width=65536,heads=64,context=2,vocabulary=2 single accumulate=4096", "micro_batch", "1800",
         "3600", "FLOPs on a rank"},
};

START_LOOP_TEST(what_compiles_is_read, 0, COUNT(limits))
{
	char request[200], set[64], to[64], line[600];
	const char *words = limits[_i].words, *setting = limits[_i].setting;
	snprintf(request, sizeof request, "%s %s=%s", words, setting, limits[_i].at_limit);
	read_plan(print_request(request));
	must_not_open(limits[_i].message, "%s %s=%s", words, setting, limits[_i].more);
	snprintf(line, sizeof line, "%s", status_message());
	snprintf(set, sizeof set, "set %s %s\n", setting, limits[_i].at_limit);
	snprintf(to, sizeof to, "set %s %s\n", setting, limits[_i].more);
	assert_refused(request, set, to, line);
}

/* At the longest context the FLOPs of one sample are more than 64 bits hold. */
START_TEST(flops_are_counted)
{
	must_not_open("FLOPs on a rank", "gpt3-175b:context=16777216 single");
}

/* Axes, and who meets along them; the loss scale, which is fp16's. */
#define STAGES "mlp:sizes=4-4-4-3 pipeline ranks=3"
#define SHARDS "mlp:sizes=4-4-4-3 hybrid:shard=3 ranks=6"
#define FP16 "mlp:sizes=4-3-2 ddp ranks=2 precision=fp16"
static const struct {
	const char *words, *what, *by, *wanted;
} wrong_others[] = {
        {STAGES, "axis stage 3", "axis stage 4", "the product of the axes above is not 3 ranks"},
        {STAGES, "axis stage 3", "axis stage", "how many ranks it has"},
        {STAGES, "axis stage 3", "axis r 3", "'r' is no name for an axis"},
        {STAGES, "axis stage 3", "axis stage 3 date", "'date'"},
        {STAGES, "axis stage 3", "axis stage 1\naxis stage 3", "'stage' is an axis already"},
        {STAGES, "to stage+1", "to stage+2", "a neighbour is an axis, and +1 or -1 behind it"},
        {STAGES, "to stage+1", "to shard+1", "'shard' is no axis of the plan"},
        {STAGES, "from stage-1", "to stage-1", "'from'"},
        {SHARDS, "over shard", "over shard,shard", "'shard' is named twice"},
        {SHARDS, "over shard", "over", "'group' is no axis"},
        {SHARDS, "/replica]", "/replace]", "'replace' is no axis of the plan"},
        {FP16, "set loss_scaler deepspeed\n", "", "set loss_scaler"},
        {FP16, "set loss_scale 65536\n", "", "set loss_scale"},
        {FP16, "set loss_scale 65536\n", "set loss_scale 0\n", "loss_scale: '0' is below 1e-06"},
        {FP16, "set loss_scale 65536\n", "set loss_scale -1\n", "loss_scale: '-1' is below 1e-06"},
        {FP16, "set loss_scaler deepspeed\n", "set loss_scaler none\n", "'none' is not one of: deepspeed, pytorch"},
        {FP16, "set loss_scale_window 1000\n", "set loss_scale_window 99999999\n", "'99999999' is above 16777216"},
        {"mlp:sizes=4-3-2 ddp ranks=2 precision=bf16", "set seed 1\n", "set seed 1\nset loss_scale 2\n",
         "a plan in fp16, and no other"},
};

START_LOOP_TEST(other_wrong_texts_are_refused, 0, COUNT(wrong_others))
{
	assert_refused(wrong_others[_i].words, wrong_others[_i].what, wrong_others[_i].by, wrong_others[_i].wanted);
}

SUITE("plan text", 600)
