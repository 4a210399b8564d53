/* Figures of recorded steps. tests/golden/torch_profiler.json is of two GPUs; its times, by hand, are in
 * tests/viz/test_foreign.c. Others are a few spans each, in us. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "strategy/trace/interval.h"
#include "strategy/trace/profile.h"
#include "tests/support/plan_check.h"
#include "tests/support/suite.h"
#include "tests/support/viewed.h"

static struct profile p;

static void close_profile(void)
{
	profile_release(&p);
}

static enum status add_text(const char *text, const char *name)
{
	struct trace_file f;
	TRY(trace_file_read(&f, text, strlen(text), name));
	enum status s = profile_add(&p, &f, name);
	trace_file_release(&f);
	return s;
}

#define SPAN(category, name, pid, tid, begin, length, args)                                                            \
	"{\"ph\":\"X\",\"cat\":\"" category "\",\"name\":\"" name "\",\"pid\":" pid ",\"tid\":" tid ",\"ts\":" begin   \
	",\"dur\":" length ",\"args\":{" args "}},"
#define STEP(number, begin, length) SPAN("user_annotation", "ProfilerStep#" number, "1", "1", begin, length, "")
#define OPERATOR(name, begin, length) SPAN("cpu_op", name, "1", "1", begin, length, "")
#define KERNEL(name, stream, begin, length) SPAN("kernel", name, "0", stream, begin, length, "")
#define LAUNCH(number, begin)                                                                                          \
	SPAN("cuda_runtime", "cudaLaunchKernel", "1", "1", begin, "1", "")                                             \
	"{\"ph\":\"s\",\"cat\":\"ac2g\",\"id\":" number ",\"pid\":1,\"tid\":1,\"ts\":" begin "},"
#define LAUNCHED(number, stream, begin)                                                                                \
	"{\"ph\":\"f\",\"bp\":\"e\",\"cat\":\"ac2g\",\"id\":" number ",\"pid\":0,\"tid\":" stream ",\"ts\":" begin "}" \
	","
#define END "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":1,\"args\":{\"name\":\"python\"}}]"

/* ---- intervals ---- */

START_TEST(intervals_by_hand)
{
	static const struct interval some[] = {{20, 30}, {0, 5}, {28, 40}, {5, 7}, {50, 50}};
	struct intervals v = {0}, w = {0};
	ck_assert_int_eq(intervals_within(&v, 0, 100), 0);
	for (size_t i = 0; i < sizeof some / sizeof some[0]; i++)
		intervals_add(&v, some[i].begin, some[i].end);
	intervals_unite(&v);
	ck_assert_uint_eq(v.count, 3);
	ck_assert_int_eq(intervals_length(&v), 27);
	ck_assert_int_eq(intervals_within(&v, 6, 22), 3);
	ck_assert_int_eq(intervals_within(&v, 7, 20), 0);
	ck_assert_int_eq(intervals_within(&v, -10, 100), 27);
	intervals_add(&w, 3, 25);
	ck_assert_int_eq(intervals_common(&v, &w), 9);
	free(v.list);
	free(w.list);
}

/* ---- a GPU ---- */

static void ck_step(const struct profile_step *s, int64_t compute, int64_t exposed, int64_t copies, int64_t idle)
{
	ck_assert_int_eq(s->compute, 1000 * compute);
	ck_assert_int_eq(s->exposed, 1000 * exposed);
	ck_assert_int_eq(s->copies, 1000 * copies);
	ck_assert_int_eq(s->idle, 1000 * idle);
	ck_assert_int_eq(s->step, 1000 * (compute + exposed + copies + idle));
}

START_TEST(two_gpus_by_hand)
{
	static const char *const path[] = {"tests/golden/torch_profiler.json"};
	must(profile_open(&p, path, 1));
	ck_assert_int_eq(p.source, PROFILE_KERNELS);
	ck_assert_int_eq(p.rank_count, 2);
	ck_assert_int_eq(p.world, 2);
	ck_assert_str_eq(p.ranks[1].device, "python (GPU 1)");
	const struct profile_step *a = &p.ranks[0].steps[0], *b = &p.ranks[1].steps[0];
	ck_step(a, 250, 150, 50, 100);
	ck_step(b, 230, 180, 0, 10);
	ck_assert_int_eq(a->number, 1);
	ck_assert_int_eq(a->host, 700000);
	ck_assert_int_eq(a->communication, 250000);
	ck_assert_int_eq(a->kinds[PROFILE_PRODUCTS].time, 200000);
	ck_assert_int_eq(a->kinds[PROFILE_REST].calls, 1);
	ck_assert_int_eq(a->kinds[PROFILE_ALL_REDUCE].calls, 1); /* the range around it is none */
	ck_assert_int_eq(a->kinds[PROFILE_ALL_REDUCE].exposed, 150000);
	ck_assert_int_eq(a->kinds[PROFILE_ALL_REDUCE].bytes, 4194304);
	ck_assert_int_eq(a->kinds[PROFILE_TO_DEVICE].bytes, 524288);
	ck_assert_int_eq(b->kinds[PROFILE_REST].calls, 2); /* a kernel, and a fill */
	struct profile_step mean = profile_mean(&p);
	ck_assert_int_eq(mean.compute, 240000);
	ck_assert_int_eq(mean.compute + mean.exposed + mean.copies + mean.idle, mean.step);
}

static const struct {
	const char *category, *name;
	enum profile_kind kind;
} names[] = {{"kernel", "ampere_sgemm_128x64_tn", PROFILE_PRODUCTS},
             {"kernel", "nvjet_tst_128x256_64x4_2x1_v_bz_coopA_TNN", PROFILE_PRODUCTS},
             {"kernel", "void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm>", PROFILE_PRODUCTS},
             {"kernel", "void cublasLt::splitKreduce_kernel<32, 16, int>", PROFILE_PRODUCTS},
             {"kernel", "triton_tem_fused_addmm_0", PROFILE_PRODUCTS},
             {"kernel", "triton_poi_fused_addmm_gelu_1", PROFILE_REST},
             {"kernel", "void pytorch_flash::flash_fwd_kernel<cutlass::bfloat16_t>", PROFILE_ATTENTION},
             {"kernel", "fmha_cutlassF_bf16_aligned_64x64_rf_sm80", PROFILE_ATTENTION},
             {"kernel", "cudnn_generated_fort_native_sdpa_sm90_flash_fprop", PROFILE_ATTENTION},
             {"kernel", "void at::native::vectorized_elementwise_kernel<4>", PROFILE_REST},
             {"kernel", "ncclDevKernel_AllReduce_Sum_bf16_RING_LL", PROFILE_ALL_REDUCE},
             {"kernel", "ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL", PROFILE_REDUCE_SCATTER},
             {"kernel", "ncclDevKernel_AllGather_RING_LL", PROFILE_ALL_GATHER},
             {"kernel", "ncclDevKernel_Broadcast_RING_LL", PROFILE_BROADCAST},
             {"kernel", "ncclDevKernel_Reduce_Sum_f32_RING_LL", PROFILE_REDUCE},
             {"kernel", "ncclDevKernel_SendRecv", PROFILE_MESSAGE},
             {"kernel", "ncclDevKernel_Generic", PROFILE_COMMUNICATION},
             {"gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", PROFILE_TO_DEVICE},
             {"gpu_memcpy", "Memcpy DtoH (Device -> Pageable)", PROFILE_TO_HOST},
             {"gpu_memcpy", "Memcpy DtoD (Device -> Device)", PROFILE_WITHIN},
             {"gpu_memcpy", "Memcpy PtoP (Device -> Device)", PROFILE_BETWEEN},
             {"gpu_memset", "Memset (Device)", PROFILE_REST}};

START_LOOP_TEST(kernels_by_name, 0, COUNT(names))
{
	char text[800];
	snprintf(text, sizeof text,
	         "[" STEP("0", "0", "100") "{\"ph\":\"X\",\"cat\":\"%s\",\"name\":\"%s\",\"pid\":0,\"tid\":7,\"ts\":5,"
	                                   "\"dur\":10}]",
	         names[_i].category, names[_i].name);
	must(add_text(text, "x.json"));
	for (enum profile_kind k = 0; k < PROFILE_KINDS; k++)
		ck_assert_int_eq(p.ranks[0].steps[0].kinds[k].calls, k == names[_i].kind);
	close_profile();
}

/* The host is ahead: kernels belong to the step that launched them, and run in the next one's time. What ran before the
 * first step belongs to none.
 *
 *     host      |    step 3    |    step 4    |
 *     launches    a b            c d
 *     stream 7                 a a a b       c c      d      a gemm, b add, c gemm, d add (of the optimizer)
 */
START_TEST(kernels_belong_to_the_step_that_launched_them)
{
	must(add_text("[" KERNEL("gemm", "7", "0", "5") STEP("3", "10", "50") STEP("4", "60", "50") LAUNCH("1", "20")
	                      LAUNCH("2", "30") LAUNCH("3", "70") OPERATOR("Optimizer.step#AdamW.step", "90", "15")
	                              LAUNCH("4", "95") KERNEL("gemm", "7", "80", "30") LAUNCHED("1", "7", "80")
	                                      KERNEL("add", "7", "110", "10") LAUNCHED("2", "7", "110")
	                                              KERNEL("gemm", "7", "150", "20") LAUNCHED("3", "7", "150") KERNEL(
	                                                      "add", "7", "180", "10") LAUNCHED("4", "7", "180") END,
	              "x.json"));
	ck_assert_int_eq(p.rank_count, 1);
	ck_assert_int_eq(p.ranks[0].step_count, 2);
	const struct profile_step *s = p.ranks[0].steps;
	ck_assert_int_eq(s[0].number, 3);
	ck_step(&s[0], 40, 0, 0, 30);
	ck_step(&s[1], 30, 0, 0, 10);
	ck_assert_int_eq(s[0].kinds[PROFILE_PRODUCTS].calls, 1);
	ck_assert_int_eq(s[1].phases[PROFILE_FORWARD], 20000);
	ck_assert_int_eq(s[1].phases[PROFILE_UPDATE], 10000);
}

/* A stream that waits for an event, and a host that waits for a stream, are spans on a GPU's lanes too: nothing runs in
 * them. */
START_TEST(waits_are_no_work)
{
	must(add_text("[" STEP("0", "0", "100") KERNEL("gemm", "7", "5", "10")
	                      SPAN("cuda_sync", "Stream Wait Event", "0", "7", "15", "60", "\"stream\": 7")
	                              SPAN("cuda_sync", "Context Sync", "0", "-1", "10", "80", "\"stream\": -1")
	                                      KERNEL("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage"
	                                             "<4096ul>)",
	                                             "20", "15", "60") KERNEL("add", "7", "75", "10") END,
	              "x.json"));
	ck_step(&p.ranks[0].steps[0], 20, 60, 0, 0);
	ck_assert_int_eq(p.ranks[0].steps[0].kinds[PROFILE_REST].calls, 1);
}

/* ---- a host alone ---- */

/* Each operator has its own time, and one that calls another of its kind is one call.
 *
 *     ProfilerStep#0   |------------------------------------------------| 0–100
 *     linear, addmm      |--[------]-|                                    10–30, in it 12–25
 *     backward, mm                       |--[-----]--|                    40–70, in it 45–60
 *     gloo:all_reduce                             |--------------|        60–90, another thread
 */
START_TEST(operators_without_those_that_they_call)
{
	must(add_text("{\"distributedInfo\":{\"rank\":1,\"world_size\":4,\"backend\":\"gloo\"},\"traceEvents\":[" STEP(
	                      "0", "0", "100") OPERATOR("aten::linear", "10", "20") OPERATOR("aten::addmm", "12", "13")
	                      OPERATOR("autograd::engine::evaluate_function: MmBackward0", "40",
	                               "30") OPERATOR("aten::mm", "45", "15")
	                              SPAN("user_annotation", "gloo:all_reduce", "1", "2", "60", "30",
	                                   "\"Input Dims\": [[100, 3], [8]], \"Input type\": [\"float\", \"float\"]")
	                                      END "}",
	              "x.json"));
	ck_assert_int_eq(p.source, PROFILE_OPERATORS);
	ck_assert_int_eq(p.ranks[0].rank, 1);
	ck_assert_int_eq(p.world, 4);
	const struct profile_step *s = &p.ranks[0].steps[0];
	ck_step(s, 50, 20, 0, 30);
	ck_assert_int_eq(s->kinds[PROFILE_PRODUCTS].time, 35000);
	ck_assert_int_eq(s->kinds[PROFILE_PRODUCTS].calls, 2);
	ck_assert_int_eq(s->kinds[PROFILE_REST].time, 15000);
	ck_assert_int_eq(s->phases[PROFILE_FORWARD], 20000);
	ck_assert_int_eq(s->phases[PROFILE_BACKWARD], 30000);
	ck_assert_int_eq(s->kinds[PROFILE_ALL_REDUCE].exposed, 20000);
	ck_assert_int_eq(s->kinds[PROFILE_ALL_REDUCE].bytes, 4 * 308);
}

/* ---- ours ---- */

/* The same sums as trace_times, which has them by another way. */
START_TEST(a_plan_is_as_its_times)
{
	static const char *const strategies[] = {"ddp", "dp", "zero3", "pipeline", "tensor"};
	for (int i = 0; i < COUNT(strategies); i++) {
		struct viewed v;
		viewed_open(&v, "gpt %s ranks=4", strategies[i]);
		profile_of_trace(&p, &v.trace);
		ck_assert_int_eq(p.rank_count, 4);
		for (int r = 0; r < 4; r++) {
			struct times t = trace_times(&v.trace, r, 0);
			const struct profile_step *s = &p.ranks[r].mean;
			ck_assert_int_eq(s->step, t.step);
			ck_assert_int_eq(s->compute, t.compute);
			ck_assert_int_eq(s->communication, t.communication);
			ck_assert_int_eq(s->exposed, t.exposed);
			ck_assert_int_eq(s->copies + s->idle, t.bubble);
		}
		close_profile();
		viewed_release(&v);
	}
}

START_TEST(collectives_of_a_plan)
{
	struct viewed v;
	viewed_open(&v, "mlp:sizes=12-16-8-4 zero3 ranks=3");
	profile_of_trace(&p, &v.trace);
	const struct profile_step *s = &p.ranks[0].mean;
	ck_assert_int_gt(s->kinds[PROFILE_ALL_GATHER].calls, 0);
	ck_assert_int_gt(s->kinds[PROFILE_REDUCE_SCATTER].bytes, 0);
	ck_assert_int_eq(s->kinds[PROFILE_CONTROL].calls, 1);
	ck_assert_int_eq(s->kinds[PROFILE_ALL_REDUCE].calls, 0);
	ck_assert_int_gt(s->phases[PROFILE_UPDATE], 0);
	viewed_release(&v);
}

/* ---- what is wrong ---- */

static const struct {
	const char *text, *message;
} bad[] = {
        {"[" KERNEL("gemm", "7", "0", "5") END, "x.json: no range ProfilerStep#N in it"},
        {"[" OPERATOR("aten::mm", "0", "5") END, "call prof.step() after each step"},
        {"[" STEP("0", "0", "9") END, "x.json: neither an operator nor a kernel in its steps"},
        {"[" STEP("0", "0", "9") OPERATOR("aten::mm", "20", "5") END, "neither an operator nor a kernel"},
        {"[" STEP("0", "10", "9") LAUNCH("1", "2") KERNEL("gemm", "7", "12", "5") LAUNCHED("1", "7", "12") END,
         "neither an operator nor a kernel"},
        {"[" STEP("0", "0", "9") "{\"ph\":\"X\",\"na", "x.json:1:"},
        {"{\"a\": 1}", "no \"traceEvents\" in it: not a trace"},
        {"[]", "no event in it has a duration"},
};

START_LOOP_TEST(one_line_says_what_is_wrong, 0, COUNT(bad))
{
	must_fail(add_text(bad[_i].text, "x.json"), STATUS_INPUT, bad[_i].message);
}

START_TEST(files_of_different_runs)
{
	static const char *const twice[] = {"tests/golden/torch_profiler.json", "tests/golden/torch_profiler.json"};
	static const char *const missing[] = {"tests/golden/none.json"};
	must_fail(profile_open(&p, missing, 1), STATUS_INPUT, "trace: cannot open 'tests/golden/none.json'");
	must(profile_open(&p, twice, 2)); /* which of four ranks they are, files of two GPUs each do not say */
	ck_assert_int_eq(p.rank_count, 4);
	must_fail(add_text("[" STEP("0", "0", "9") OPERATOR("aten::mm", "2", "5") END, "y.json"), STATUS_INPUT,
	          "has kernels of a GPU, and y.json has operators of a host alone");
}

START_TEST(odd_steps)
{
	/* numbers that are none, one step in another, a kernel without a launch behind the last step */
	must(add_text("[" STEP("", "0", "5") STEP("x", "5", "5") STEP("7", "10", "20") STEP("8", "15", "5")
	                      KERNEL("gemm", "7", "40", "5") END,
	              "x.json"));
	ck_assert_int_eq(p.ranks[0].step_count, 1);
	ck_step(&p.ranks[0].steps[0], 5, 0, 0, 0);
}

SUITE_WITH("profile", 0, NULL, close_profile)
