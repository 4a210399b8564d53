/* --as: what other software does, as plans. */
#include <math.h>
#include <string.h>

#include "strategy/plan/estimator.h"
#include "strategy/settings/software.h"
#include "strategy/trace/report.h"
#include "tests/support/plan_check.h"
#include "tests/support/reports.h"
#include "tests/support/suite.h"

#define GPT "gpt:layers=2,width=16,heads=2,context=8,vocabulary=33 "
#define LLAMA "llama:layers=2,width=16,heads=2,kv_heads=2,hidden=24,context=8,vocabulary=33 "

static struct software parsed(const char *text)
{
	struct software s;
	ck_assert_int_eq(software_parse(text, &s), STATUS_OK);
	return s;
}

START_TEST(a_name_sets_every_switch_and_a_key_changes_one)
{
	struct software own = parsed("shardlab"), theirs = parsed("deepspeed"),
	                mixed = parsed("deepspeed:reduce=scatter");
	ck_assert(software_is_own(&own));
	ck_assert(!software_is_own(&theirs));
	ck_assert_int_eq(theirs.does[SOFTWARE_REDUCE], REDUCE_ALL);
	ck_assert_int_eq(mixed.does[SOFTWARE_REDUCE], REDUCE_SCATTERS);
	ck_assert_int_eq(mixed.does[SOFTWARE_MASTER], theirs.does[SOFTWARE_MASTER]);
}

START_TEST(other_names_keys_and_words_are_refused)
{
	must_not_open("'torch' is not one of", GPT "ddp as=torch");
	must_not_open("unknown key", GPT "ddp as=pytorch:speed=high");
	must_not_open("reduce", GPT "ddp as=pytorch:reduce=none");
	must_not_open("compile and kernels", GPT "ddp as=pytorch:kernels=eager:compile=yes");
}

START_TEST(compiling_fuses_kernels_and_each_software_has_a_class)
{
	struct software eager = parsed("pytorch"), compiled = parsed("pytorch:compile=yes"),
	                deepspeed = parsed("deepspeed:compile=yes"), own = parsed("shardlab:compile=no");
	ck_assert_int_eq(eager.does[SOFTWARE_KERNELS], KERNELS_EAGER);
	ck_assert_int_eq(compiled.does[SOFTWARE_KERNELS], KERNELS_FUSED);
	ck_assert_int_eq(own.does[SOFTWARE_KERNELS], KERNELS_EAGER);
	ck_assert_str_eq(software_class(&eager), "pytorch-eager");
	ck_assert_str_eq(software_class(&compiled), "pytorch-compiled");
	ck_assert_str_eq(software_class(&deepspeed), "deepspeed");
	ck_assert_ptr_null(software_class(&own));
}

/* The first word of a switch is what shardlab does, and every word that a stack has is one of the switch. */
START_TEST(the_table_of_switches_is_sound)
{
	for (int i = 0; i < SOFTWARE_SWITCHES; i++) {
		const struct software_row *r = &software_rows[i];
		char name[64];
		ck_assert_msg(!strncmp(r->words, r->way[0], strlen(r->way[0])), "%s", r->key);
		for (int n = 0; n < SOFTWARE_NAMES; n++) {
			snprintf(name, sizeof name, "%s:%s=%s", software_name((enum software_name)n), r->key,
			         r->way[n]);
			struct software said = parsed(name), meant = parsed(software_name((enum software_name)n));
			ck_assert_msg(!memcmp(&said, &meant, sizeof said), "%s", name);
		}
	}
}

/* The verifier lets through what every stack makes of every strategy. */
START_TEST(plans_of_all_software_are_right)
{
	static const char *const strategies[] = {"single ranks=1",
	                                         "ddp ranks=4",
	                                         "ddp ranks=3", /* buckets are padded */
	                                         "zero1 ranks=4",
	                                         "zero2 ranks=4",
	                                         "zero3 ranks=4",
	                                         "zero3:save=16bit ranks=4",
	                                         "zero3:prefetch=1000 ranks=4",
	                                         "zero3:prefetch=1000:reuse=500 ranks=4",
	                                         "zero3:prefetch=500:live=3000:reuse=2000 ranks=4",
	                                         "zero3:prefetch=500:reuse=500:secondary=2 ranks=4",
	                                         "fsdp ranks=4",
	                                         "fsdp:backward=post ranks=4",
	                                         "hybrid ranks=4",
	                                         "dp ranks=2",
	                                         "pipeline ranks=2 accumulate=2",
	                                         "tensor ranks=2"};
	static const char *const more[] = {"",
	                                   "accumulate=2",
	                                   "precision=bf16 clip=1",
	                                   "precision=fp16 accumulate=2",
	                                   "offload=optimizer",
	                                   "activation_checkpointing=full",
	                                   "checkpoints=yes"};
	for (int n = 1; n < SOFTWARE_NAMES; n++)
		for (int g = 0; g < COUNT(strategies); g++)
			for (int m = 0; m < COUNT(more); m++) {
				if (strstr(strategies[g], "accumulate") && strstr(more[m], "accumulate"))
					continue;
				must_come_back(right_plan("%s%s %s as=%s", m % 2 ? LLAMA : GPT, strategies[g], more[m],
				                          software_name((enum software_name)n)));
				plans_forget();
			}
}

/* However much goes on at a time, and whoever waits for copies, plans are right. */
START_TEST(offloaded_plans_are_right_whatever_waits)
{
	static const char *const disk[] = {"both", "reads", "writes", "none"};
	static const char *const pinned[] = {"all", "optimizer", "parameters", "none"};
	static const char *const offload[] = {"zero3 ranks=4 offload=optimizer:to=disk,parameters",
	                                      "zero3 ranks=4 offload=optimizer:to=disk:buffers=4",
	                                      "zero3 ranks=2 offload=optimizer,parameters:to=disk:staging=1000",
	                                      "zero2 ranks=4 accumulate=2 offload=optimizer",
	                                      "fsdp ranks=4 offload=optimizer:to=disk optimizer=sgd"};
	for (int d = 0; d < COUNT(disk); d++)
		for (int i = 0; i < COUNT(offload); i++) {
			must_come_back(right_plan(GPT "%s precision=bf16 as=deepspeed:disk=%s:pinned=%s", offload[i],
			                          disk[d], pinned[(d + i) % COUNT(pinned)]));
			plans_forget();
		}
}

/* A bucket that has a whole piece of the model is copied by one rank, and one of all the model by all of them; which
 * takes what the rank with the most of it copies. */
START_TEST(a_bucket_is_copied_by_whoever_has_its_piece)
{
	static const char *const buckets[] = {"2000000", "1000"};
	for (int i = 0; i < COUNT(buckets); i++) {
		const struct plan *p =
		        right_plan(GPT "zero2 ranks=4 offload=optimizer bucket=%s as=shardlab:copies=one", buckets[i]);
		const struct role *r = &p->roles[0];
		int64_t most = 0, all = 0, own = 0, piece = (p->model->parameters + 3) / 4 * 4;
		for (int k = r->step.begin; k < r->step.end; k++) {
			int64_t n = op_bytes_in_turn(p, r, &r->ops[k]);
			all += n;
			most = n > most ? n : most;
			own += n ? op_transfer_bytes(p, r, &r->ops[k]) : 0;
		}
		ck_assert_int_le(most, piece);
		ck_assert_int_ge(own, piece - 4 * 4);
		ck_assert_int_ge(all, i ? 3 * piece : piece); /* the last of a bucket may be another rank's */
		ck_assert_int_le(all, i ? 4 * piece : piece);
	}
}

/* DeepSpeed's async_accumulate_grad_in_cpu_via_gpu (stage_1_and_2.py) and partition_grads (stage3.py): no sum is made
 * on the host. Each later micro-batch's brings the sum so far, as many bytes as it sends. */
START_TEST(sums_of_micro_batches_come_to_the_device_and_go_back)
{
	static const char *const strategies[] = {"zero2", "zero3", "fsdp"};
	const int64_t micro = 3;
	for (int i = 0; i < COUNT(strategies); i++) {
		int64_t in[2], out[2], sums[2] = {0};
		for (int device = 0; device < 2; device++) {
			const struct plan *p = right_plan(
			        GPT "%s ranks=4 precision=bf16 accumulate=3 offload=optimizer as=shardlab:sums=%s",
			        strategies[i], device ? "device" : "host");
			const struct report_role *role = &report_planned(p)->roles[0];
			const struct role *r = &p->roles[0];
			must_come_back(p);
			in[device] = role->transfer[TRANSFER_HOST_TO_DEVICE].bytes;
			out[device] = role->transfer[TRANSFER_DEVICE_TO_HOST].bytes;
			for (int k = r->step.begin; k < r->step.end; k++)
				sums[device] += r->ops[k].kind == OP_ADD && r->ops[k].queue == QUEUE_HOST_COMPUTE;
			if (!device)
				ck_assert_int_eq(in[0] * micro, out[0]); /* parameters once, gradients each time */
		}
		ck_assert_int_eq(out[1], out[0]);
		ck_assert_int_eq(in[1], micro * in[0]);
		ck_assert_int_gt(sums[0], 0);
		ck_assert_int_eq(sums[1], 0);
	}
	/* Stage 1 adds up on the device, and sends once. */
	const struct plan *p =
	        right_plan(GPT "zero1 ranks=4 precision=bf16 accumulate=3 offload=optimizer as=shardlab:sums=device");
	const struct report_role *role = &report_planned(p)->roles[0];
	ck_assert_int_eq(role->transfer[TRANSFER_HOST_TO_DEVICE].bytes, role->transfer[TRANSFER_DEVICE_TO_HOST].bytes);
}

/* GatheredParameters with a modifier_rank: what is gathered to be saved is broadcast, module by module. */
START_TEST(deepspeed_broadcasts_what_it_has_gathered)
{
	static const char *const software[] = {"shardlab", "deepspeed", "deepspeed:saved=gathered"};
	for (int i = 0; i < COUNT(software); i++) {
		const struct plan *p = right_plan(GPT "zero3:save=16bit ranks=4 precision=bf16 as=%s", software[i]);
		int seen = 0;
		for (int r = 0; r < p->role_count; r++)
			for (int k = p->roles[r].epilogue.begin; k < p->roles[r].epilogue.end; k++)
				seen += p->roles[r].ops[k].kind == OP_BROADCAST;
		ck_assert_int_eq(seen, i == 1 ? 2 * p->group_count : 0);
	}
}

/* In stage 3 gradients come and go in 16 bits, and a rank's share of them is fp32. */
START_TEST(gradients_are_kept_wider_than_they_travel)
{
	static const char *const strategies[] = {"zero3", "zero3:prefetch=1000", "fsdp", "hybrid", "zero2"};
	static const char *const more[] = {"", "accumulate=2", "accumulate=2 clip=1"};
	for (int i = 0; i < COUNT(strategies) * COUNT(more); i++) {
		const struct plan *kept = right_plan(GPT "%s ranks=4 precision=bf16 %s as=deepspeed:gradients=kept",
		                                     strategies[i % COUNT(strategies)], more[i / COUNT(strategies)]);
		const struct plan *as_sent = right_plan(GPT "%s ranks=4 precision=bf16 %s as=deepspeed",
		                                        strategies[i % COUNT(strategies)], more[i / COUNT(strategies)]);
		must_come_back(kept);
		ck_assert_int_eq(plan_moved(kept, 0, TRAFFIC_REDUCE_SCATTER).sent,
		                 plan_moved(as_sent, 0, TRAFFIC_REDUCE_SCATTER).sent);
		const struct role *r = &kept->roles[0];
		for (int b = 0; b < r->buffer_count; b++)
			if (r->buffers[b].category == CATEGORY_GRADIENTS)
				ck_assert_int_eq(r->buffers[b].type, TYPE_FP32);
			else if (r->buffers[b].category == CATEGORY_GATHERED)
				ck_assert_int_eq(r->buffers[b].type, TYPE_BF16);
		plans_forget();
	}
}

/* A piece ends with the tensor that fills it; without an end to it, it is a rank's share. */
START_TEST(fp32_gradients_are_those_of_a_piece)
{
	static const char *const pieces[] = {"1", "500", "1000000000"};
	int64_t bytes[COUNT(pieces)] = {0}, largest = 0;
	for (int i = 0; i < COUNT(pieces); i++) {
		const struct plan *p = right_plan(GPT "zero3:pieces=%s ranks=4 precision=bf16 as=deepspeed", pieces[i]);
		for (int b = 0; b < p->roles[0].buffer_count; b++)
			if (!strcmp(p->roles[0].buffers[b].name, "gradients.fp32"))
				bytes[i] = p->roles[0].buffers[b].elements;
		for (int t = 0; !i && t < p->model->tensor_count; t++)
			largest = p->model->tensors[t].elements > largest ? p->model->tensors[t].elements : largest;
	}
	ck_assert_int_eq(bytes[0], (largest + 3) / 4);
	ck_assert(bytes[0] < bytes[1] && bytes[1] < bytes[2]);
}

/* The most bytes of gathered buffers that are allocated at once, and how many gradients are reduced before the last
 * kernel of the backward pass. */
static int64_t most_gathered(const struct role *r, int *early)
{
	int64_t now = 0, most = 0;
	int reduced = 0;
	*early = 0;
	for (int i = r->step.begin; i < r->step.end; i++) {
		const struct op *op = &r->ops[i];
		if (op->kind == OP_ALLOC || op->kind == OP_FREE) {
			const struct buffer *b = &r->buffers[op->operand->buffer];
			int64_t bytes = b->category == CATEGORY_GATHERED ? buffer_bytes(b) : 0;
			now += op->kind == OP_ALLOC ? bytes : -bytes;
			most = now > most ? now : most;
		}
		reduced += op->kind == OP_ALL_REDUCE || op->kind == OP_REDUCE_SCATTER;
		if (op->kind == OP_LINEAR_BACKWARD)
			*early = reduced;
	}
	return most;
}

/* Stage 1 reduces as the backward pass goes on only if it overlaps (stage_1_and_2.py, process_gradients): otherwise all
 * gradients are there when it ends, and a bucket beside them. */
START_TEST(deepspeeds_stage_1_without_overlap_keeps_all_gradients_to_the_end)
{
	static const char *const late[] = {"as=deepspeed", "as=deepspeed clip=1", "as=deepspeed accumulate=3",
	                                   "as=deepspeed:reduce=scatter"};
	int early;
	for (int i = 0; i < COUNT(late); i++) {
		const struct plan *p = right_plan(GPT "zero1:overlap=no ranks=2 bucket=10000 %s", late[i]);
		int64_t elements = 0;
		must_come_back(p);
		for (int t = 0; t < p->model->tensor_count; t++)
			elements += p->model->tensors[t].elements;
		int64_t bytes = most_gathered(plan_role_of(p, 0), &early);
		ck_assert_msg(bytes == 4 * (elements + 2512) && !early, /* with its last tensor the bucket has 2,512 */
		              "%s: %lld bytes, %d early", late[i], (long long)bytes, early);
		plans_forget();
	}
	static const char *const as_it_goes[] = {"zero1", "zero2:overlap=no", "zero2"};
	for (int i = 0; i < COUNT(as_it_goes); i++) {
		const struct plan *p = right_plan(GPT "%s ranks=2 bucket=10000 as=deepspeed", as_it_goes[i]);
		most_gathered(plan_role_of(p, 0), &early);
		ck_assert_msg(early > 0, "%s: nothing is reduced in the backward pass", as_it_goes[i]);
		plans_forget();
	}
	right_plan(GPT "zero1:overlap=no ranks=2 offload=optimizer as=deepspeed");
	right_plan(GPT "zero1:overlap=no ranks=2 as=shardlab:stage1=slice");
	right_plan(GPT "zero1:overlap=no ranks=2 as=pytorch:stage1=slice");
}

/* stage3.py, _setup_for_real_optimizer: reduce_bucket_size elements of the type in which gradients travel. */
START_TEST(deepspeeds_stage_3_has_its_bucket_for_good)
{
	static const struct {
		const char *more;
		int64_t bytes;
	} buckets[] = {{"precision=bf16 bucket=200000 as=deepspeed", 200000},
	               {"precision=bf16 as=deepspeed", 1000000000},
	               {"precision=bf16 as=deepspeed:gradients=fp32", 2000000000},
	               {"precision=bf16 bucket=200000 as=deepspeed:bucket=copies", 0},
	               {"precision=bf16 bucket=200000", 0}};
	for (int i = 0; i < COUNT(buckets); i++) {
		const struct plan *p = right_plan(GPT "zero3 ranks=4 %s", buckets[i].more);
		const struct role *r = plan_role_of(p, 0);
		int64_t bytes = 0;
		for (int b = 0; b < r->buffer_count; b++)
			if (r->buffers[b].state && !strcmp(r->buffers[b].name, "bucket"))
				bytes += buffer_bytes(&r->buffers[b]);
		ck_assert_msg(bytes == buckets[i].bytes, "%s: %lld", buckets[i].more, (long long)bytes);
		plans_forget();
	}
}

/* __add_grad_to_ipg_bucket: a tensor that is larger than the bucket is reduced where its kernel wrote it, if it
 * divides, and the bucket is no larger for it. */
START_TEST(a_tensor_larger_than_the_bucket_passes_it)
{
	static const struct {
		const char *words;
		int passes;
		int64_t bytes; /* of the bucket */
	} cases[] = {
	        {"vocabulary=64 zero3 ranks=4 bucket=1024", 2 + 2 * 2,
	         1024},                                               /* qkv and gate with up, of 768 elements, too */
	        {"vocabulary=64 zero3 ranks=4 bucket=1600", 2, 1600}, /* table and head, of 1,024 elements */
	        {"vocabulary=64 zero3 ranks=4 bucket=1000000", 0, 1000000},
	        {"vocabulary=33 zero3 ranks=5 bucket=1000", 0, 1540}}; /* 768 do not divide: copied, padded to 770 */
	for (int i = 0; i < COUNT(cases); i++) {
		const struct plan *p = right_plan("llama:layers=2,width=16,heads=2,kv_heads=2,hidden=24,context=8,%s "
		                                  "precision=bf16 as=deepspeed",
		                                  cases[i].words);
		const struct role *r = plan_role_of(p, 0);
		int passes = 0;
		int64_t bytes = 0;
		for (int b = 0; b < r->buffer_count; b++)
			if (r->buffers[b].state && !strcmp(r->buffers[b].name, "bucket"))
				bytes = buffer_bytes(&r->buffers[b]);
		for (int k = r->step.begin; k < r->step.end; k++)
			if (r->ops[k].kind == OP_REDUCE_SCATTER)
				passes +=
				        !strncmp(r->buffers[r->ops[k].operand[REDUCE_SCATTER_X].buffer].name, "d.", 2);
		ck_assert_msg(passes == cases[i].passes && bytes == cases[i].bytes, "%s: %d, %lld", cases[i].words,
		              passes, (long long)bytes);
		plans_forget();
	}
}

/* Several micro-batches are under way at once, each with what its kernels keep; and a tree of sums in fp32. */
START_TEST(plans_of_many_micro_batches_are_right)
{
	must_come_back(right_plan(LLAMA "pipeline ranks=2 accumulate=4 as=pytorch"));
	must_come_back(right_plan(LLAMA "pipeline:schedule=gpipe ranks=2 accumulate=4 as=deepspeed"));
	must_come_back(right_plan(LLAMA "zero2 ranks=1 precision=bf16 accumulate=4 reproducible=yes as=pytorch"));
}

/* ---- DeepSpeed's estimators ---- */

/* Parameters are given to a million, cut off, and results to a hundredth. */
static void must_be_near(const char *line, double bytes, double gib, double share)
{
	ck_assert_msg(fabs(bytes / (1 << 30) - gib) <= 0.006 + share * gib, "%s: %.3f GiB", line, bytes / (1 << 30));
}

START_TEST(deepspeeds_estimates_come_out)
{
	char line[200], model[40], parameter[8], optimizer[8];
	double parameters, largest, gpus, host, device;
	int zero_init, rows = 0;
	FILE *f = fopen("tests/golden/deepspeed_mem_estimator.csv", "r");
	ck_assert_ptr_nonnull(f);
	while (fgets(line, sizeof line, f)) {
		if (*line == '#' || !strncmp(line, "model,", 6))
			continue;
		ck_assert_int_eq(sscanf(line, "%39[^,],%lf,%lf,%lf,%7[^,],%7[^,],%d,%lf,%lf", model, &parameters,
		                        &largest, &gpus, parameter, optimizer, &zero_init, &host, &device),
		                 9);
		struct estimate e = estimate_make(&(struct estimate_of){
		        .stage = 3,
		        .parameters = (int64_t)(parameters * 1e6),
		        .largest = (int64_t)(largest * 1e6),
		        .devices = (int64_t)gpus,
		        .nodes = 1,
		        .offload = {.optimizer = !strcmp(optimizer, "cpu"), .parameters = !strcmp(parameter, "cpu")},
		        .zero_init = zero_init});
		must_be_near(line, e.host_bytes, host,
		             1 / (zero_init && !strcmp(optimizer, "none") ? largest : parameters));
		must_be_near(line, e.device_bytes, device, 1 / largest);
		rows++;
	}
	fclose(f);
	ck_assert_int_eq(rows, 18);
}

/* 2P + 18P/N, and of the host 4 bytes a parameter and rank, half as much again. */
START_TEST(stage_2_is_the_formula_of_the_code)
{
	struct estimate e =
	        estimate_make(&(struct estimate_of){.stage = 2, .parameters = 1000, .devices = 8, .nodes = 2});
	ck_assert_int_eq((int64_t)e.device_bytes, 2000 + 18000 / 8);
	ck_assert_int_eq((int64_t)e.host_bytes, 4 * 4 * 1500);
	struct estimate none;
	ck_assert(estimate_of_plan(made_plan(GPT "zero3 ranks=4 precision=bf16"), 4, &none));
	ck_assert(!estimate_of_plan(made_plan(GPT "zero1 ranks=4 precision=bf16"), 4, &none));
	ck_assert(!estimate_of_plan(made_plan(GPT "zero3 ranks=4"), 4, &none));
}

/* A block of Llama has two norms, a rotary embedding, SwiGLU and two residuals; behind the blocks is a norm. */
START_TEST(eager_kernels_go_over_memory)
{
	const struct plan *p = right_plan(LLAMA "ddp ranks=2 as=pytorch");
	const struct role *r = &p->roles[0];
	int sweeps = 0;
	for (int i = r->step.begin; i < r->step.end; i++)
		sweeps += r->ops[i].kind == OP_SWEEP;
	ck_assert_int_eq(sweeps, 2 * (2 * 4 + 3 + 1 + 2) + 4 + 2 * (2 * 6 + 3 + 2 + 2) + 6);
	p = right_plan(LLAMA "ddp ranks=2 as=pytorch:kernels=fused");
	for (int i = 0; i < p->roles[0].op_count; i++)
		ck_assert_int_ne(p->roles[0].ops[i].kind, OP_SWEEP);
}

/* Bytes of one buffer by the end of its name; all must agree. 0: there is none. */
static int64_t bytes_named(const struct plan *p, const char *ending)
{
	int64_t bytes = 0;
	const struct role *r = &p->roles[0];
	for (int i = 0; i < r->buffer_count; i++) {
		const char *name = r->buffers[i].name, *at = strstr(name, ending);
		if (!at || strcmp(at, ending))
			continue;
		int64_t own = r->buffers[i].elements * type_bytes(r->buffers[i].type);
		ck_assert(!bytes || bytes == own);
		bytes = own;
	}
	return bytes;
}

/* 2 samples of 40 tokens, 3 heads of 8: PyTorch's saved_tensors_hooks count 3·7,680 bytes of queries, keys and values
 * and 38,400 of softmax under its math kernel, in fp32 and in bf16, where ours count qkv and 960 bytes of sums. */
START_TEST(attention_keeps_what_a_frameworks_does)
{
	static const struct {
		const char *way, *precision;
		int64_t kept;
	} cases[] = {{"flash", "fp32", 0},
	             {"efficient", "fp32", 4 * 2 * 3 * (64 - 40)},
	             {"efficient", "bf16", 4 * 2 * 3 * (64 - 40)},
	             {"math", "fp32", 38400 + 3 * 7680 - 23040 - 960},
	             {"math", "bf16", 38400 + 3 * 7680 - 11520 - 960},
	             {"standard", "fp32", 38400 - 960},
	             {"standard", "bf16", 19200 - 960}};
	for (int i = 0; i < COUNT(cases); i++) {
		const struct plan *p = right_plan(
		        "gpt:layers=2,width=24,heads=3,context=40,vocabulary=33 ddp ranks=2 micro_batch=2 precision=%s "
		        "as=shardlab:attention=%s",
		        cases[i].precision, cases[i].way);
		ck_assert_int_eq(bytes_named(p, "attention.kept"), cases[i].kept);
	}
	/* Each of Llama's 2 heads has its own keys and values there, of one that they share here. */
	const struct plan *p =
	        right_plan("llama:layers=1,width=16,heads=2,kv_heads=1,hidden=24,context=8,vocabulary=33 "
	                   "ddp ranks=2 micro_batch=1 as=shardlab:attention=math");
	ck_assert_int_eq(bytes_named(p, "attention.kept"), 4 * (2 * 8 * 8 + 3 * 8 * 16 - 8 * 32 - 2 * 8));
}

START_TEST(plans_of_every_attention_are_right)
{
	static const char *const ways[] = {"efficient", "math", "standard"};
	static const char *const more[] = {"ddp ranks=2 accumulate=2", "zero3 ranks=2 activation_checkpointing=full",
	                                   "fsdp ranks=2 activation_checkpointing=selective precision=bf16",
	                                   "tensor ranks=2", "pipeline ranks=2 accumulate=2 precision=fp16"};
	for (int w = 0; w < COUNT(ways); w++)
		for (int m = 0; m < COUNT(more); m++) {
			must_come_back(
			        right_plan("%s%s as=pytorch:attention=%s", m % 2 ? LLAMA : GPT, more[m], ways[w]));
			must_come_back(
			        right_plan("%s%s as=shardlab:attention=%s", m % 2 ? LLAMA : GPT, more[m], ways[w]));
			plans_forget();
		}
	must_not_open("leave one of them out", "gpt:layers=1,attention=standard ddp as=pytorch:attention=math");
}

SUITE("software", 60)
