/* The GPU's calibration on a GPU of functions (tests/support/fake_cuda.h): everything is measured, comes back from a
 * file, and is what the simulator then goes by. Its memory is small, so that the models that fit are small too. */
#include <stdio.h>
#include <string.h>

#include "real/calibrate/cuda.h"
#include "real/cuda/library.h"
#include "strategy/strategies/strategy.h"
#include "tests/support/cluster_text.h"
#include "tests/support/fake_cuda.h"
#include "tests/support/plan_check.h"
#include "tests/support/reports.h"
#include "tests/support/suite.h"

#define MIB (INT64_C(1) << 20)

/* ---- parts ---- */

static int64_t sum_less(const int64_t *ns, const int64_t *times, size_t n, int64_t least, int64_t x)
{
	int64_t sum = 0;
	for (size_t i = 0; i < n; i++)
		sum += times[i] * (ns[i] - x > least ? ns[i] - x : least);
	return sum;
}

START_TEST(the_excess_makes_spans_add_up_to_the_step)
{
	static const int64_t ns[] = {3000, 5000, 100000, 4000}, times[] = {10, 2, 3, 1};
	enum { N = 4 };
	/* 344000 in all: 16 operations, each 1000 less, as much as it is, and 500 more */
	ck_assert_int_eq(calibrate_excess(ns, times, N, 100, 344000 - 16000), 1000);
	ck_assert_int_eq(calibrate_excess(ns, times, N, 100, 344000), 0);
	ck_assert_int_eq(calibrate_excess(ns, times, N, 100, 344000 + 8000), -500);
	/* the shortest reach what no operation is below */
	int64_t x = calibrate_excess(ns, times, N, 2000, 300000);
	ck_assert_int_gt(x, 1000);
	ck_assert_int_le(sum_less(ns, times, N, 2000, x), 300000);
	ck_assert_int_gt(sum_less(ns, times, N, 2000, x - 1), 300000);
	/* a step that is shorter than can be */
	ck_assert_int_eq(sum_less(ns, times, N, 2000, calibrate_excess(ns, times, N, 2000, 1)), 16 * 2000);
}

START_TEST(a_collective_is_its_launch_and_its_rounds)
{
	ck_assert_int_eq(calibrate_collective_launch(5000 + 3 * 2000, 5000 + 6 * 2000), 5000);
	ck_assert_int_eq(calibrate_collective_launch(10000, 25000), 0);
	ck_assert_int_eq(calibrate_collective_launch(10000, 10000), 5000); /* no more than half of it */
}

/* ---- the whole ---- */

static int lines;
static double last_done;

static void watch(void *context, double done, const char *what)
{
	ck_assert_ptr_eq(context, &lines);
	ck_assert_msg(done >= last_done && done <= 1 && *what, "%g after %g: %s", done, last_done, what);
	last_done = done;
	lines++;
}

static struct calibrate_options options(void)
{
	struct calibrate_options o = calibrate_options_default();
	o.quick = true;
	o.device = "cuda";
	o.progress = watch;
	o.context = &lines;
	lines = 0;
	last_done = 0;
	return o;
}

/* Every rate of a field is measured, positive, and within its spread. */
static void check_rate(const char *name, const struct rate *r)
{
	ck_assert_msg(r->measured && r->value > 0 && r->low <= r->value && r->value <= r->high,
	              "%s: %lld, %lld to %lld", name, (long long)r->value, (long long)r->low, (long long)r->high);
}

static void check_fields(const struct cluster *c)
{
	check_rate("launch", &c->launch);
	check_rate("device_bandwidth", &c->device_bandwidth);
	check_rate("node_bandwidth", &c->node_bandwidth);
	check_rate("core_compute", &c->core_compute);
	check_rate("host_link.bandwidth", &c->host_link.bandwidth);
	check_rate("host_link.latency", &c->host_link.latency);
	check_rate("overhead", &c->overhead);
	ck_assert_msg(!c->link.bandwidth.measured && !c->collective_launch.measured,
	              "there was nobody to measure with");
	ck_assert_int_gt(c->link.bandwidth.value, 0);
	static const enum op_kind kinds[] = {OP_LINEAR_FORWARD,    OP_LINEAR_BACKWARD,   OP_NORM_FORWARD,
	                                     OP_NORM_BACKWARD,     OP_ATTENTION_FORWARD, OP_ADAMW,
	                                     OP_ATTENTION_BACKWARD};
	for (int type = TYPE_FP32; type < CLUSTER_TYPES; type++)
		for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
			const struct curve *curve = &c->compute[kinds[i]][type];
			ck_assert_int_gt(curve->count, 0);
			for (int p = 0; p < curve->count; p++)
				check_rate(compute_key_name((int)kinds[i]), &curve->point[p].rate);
		}
}

static const struct rate *find(const struct calibrate_figures *f, const char *name, enum calibrate_unit unit)
{
	for (size_t i = 0; i < f->count; i++)
		if (!strcmp(f->list[i].name, name) && f->list[i].unit == unit)
			return &f->list[i].rate;
	ck_abort_msg("there is no figure '%s'", name);
}

static void check_figures(const struct calibrate_figures *f)
{
	static const char *const types[] = {"fp32", "tf32", "bf16", "fp16"};
	static const char *const copies[] = {"host to device, pinned", "device to host, pinned",
	                                     "host to device, not pinned", "device to host, not pinned"};
	char name[64];
	for (int i = 0; i < 4; i++) {
		snprintf(name, sizeof name, "product of %s, 1024", types[i]);
		check_rate(name, find(f, name, CALIBRATE_FLOPS));
		check_rate(copies[i], find(f, copies[i], CALIBRATE_BYTES));
	}
	check_rate("issued", find(f, "start of a kernel, issued", CALIBRATE_NS));
	check_rate("in a graph", find(f, "start of a kernel, in a graph", CALIBRATE_NS));
}

static const struct report *predicted(const struct cluster *c, enum type precision)
{
	const struct plan *p =
	        made_plan("gpt:layers=2,width=64,heads=4 single micro_batch=2 precision=%s", type_name(precision));
	return report_simulated(p, c, GRAIN_OPERATION, NULL);
}

/* The simulator rests on nothing that is assumed, and follows what was measured. */
static void check_predictions(struct cluster *c)
{
	const struct report *r;
	for (int type = TYPE_FP32; type < CLUSTER_TYPES; type++) {
		r = predicted(c, (enum type)type);
		ck_assert_msg(r->rates_measured, "%s: something in the step has an assumed rate",
		              type_name((enum type)type));
		ck_assert_int_gt(r->time.step, 0);
	}
	r = predicted(c, TYPE_BF16);
	ck_assert_int_eq(r->roles[0].memory[SPACE_DEVICE].overhead_bytes, c->overhead.value);
	c->launch.value += 1000000;
	struct curve *curve = &c->compute[OP_ADAMW][TYPE_BF16];
	for (int p = 0; p < curve->count; p++)
		curve->point[p].rate.value = curve->point[p].rate.value / 2 + 1;
	ck_assert_int_gt(predicted(c, TYPE_BF16)->time.step,
	                 r->time.step + 20 * 1000000); /* of more than 20 operations */
}

START_TEST(one_gpu_is_calibrated_completely)
{
	struct calibrate_options o = options();
	struct cluster c, again;
	struct calibrate_figures figures;
	cuda_library_use(fake_cuda(&(struct fake_cuda_settings){.seed = 1, .memory_bytes = 140 * MIB, .devices = 2}));
	must(calibrate_run(&o, &c, &figures));
	ck_assert_int_eq(fake_cuda_counts()->live, 0);
	ck_assert_str_eq(c.name, "local-cuda");
	ck_assert_int_eq(c.kind, DEVICE_GPU);
	ck_assert_int_eq(c.devices, 2);
	ck_assert_int_eq(c.device_memory, 140 * MIB);
	ck_assert_int_ge(c.overhead.value, FAKE_CONTEXT_BYTES + FAKE_CUBLASLT_BYTES + (int64_t)CUDA_WORKSPACE_BYTES);
	ck_assert_msg(strstr(c.about, "a fake GPU × 2") && strstr(c.about, "CUDA 13.0"), "%s", c.about);
	ck_assert_int_gt(lines, 10);
	check_fields(&c);
	check_figures(&figures);

	must_read_back(&c, &again);
	check_predictions(&again);
	calibrate_figures_release(&figures);
	cluster_release(&c);
	cluster_release(&again);
}

/* The step of a case, as it is replayed, or issued. */
static int64_t step_of(enum type precision, bool eager)
{
	const struct timed_case what = {"gpt:layers=2,width=64,heads=4", "single", 2, precision};
	const struct device_choice choice = {.name = "cuda", .collectives = "ring", .eager = eager};
	struct settings settings = timed_run_settings(&what, 1);
	struct timed_run timed;
	int64_t step = 0;
	ck_assert_int_eq(settings_resolve(&settings, strategy_data_ranks(&settings)), STATUS_OK);
	must(timed_run_open_settings(&timed, &settings, &choice, NULL));
	for (int i = 0; i < 4; i++) {
		ck_assert_int_eq(executor_run(timed.executor, timed.step), STATUS_OK);
		step = executor_times(timed.executor).step;
	}
	timed_run_release(&timed);
	return step;
}

/* Within the limit that `validate` has for GPUs, on one whose time is its own: replayed, and issued. */
START_LOOP_TEST(predictions_match_measured_steps, SUITE_CASES(0, 2), 2)
{
	struct calibrate_options o = options();
	struct cluster c;
	struct calibrate_figures figures;
	o.no_graph = _i == 1;
	cuda_library_use(fake_cuda(&(struct fake_cuda_settings){.memory_bytes = 140 * MIB, .kernel_ns = 2000}));
	must(calibrate_run(&o, &c, &figures));
	ck_assert_int_eq(strstr(c.about, "no_graph") != NULL, o.no_graph);
	ck_assert_int_eq(
	        c.launch.value,
	        find(&figures, o.no_graph ? "start of a kernel, issued" : "start of a kernel, in a graph", CALIBRATE_NS)
	                ->value);
	/* 10 bytes a nanosecond; within the device, there and back */
	ck_assert_double_eq_tol((double)c.device_bandwidth.value, 20e9, 0.1e9);
	ck_assert_double_eq_tol((double)c.host_link.bandwidth.value, 10e9, 0.1e9);
	ck_assert_int_eq(step_of(TYPE_BF16, false) < step_of(TYPE_BF16, true), 1);
	for (int type = TYPE_FP32; type < CLUSTER_TYPES; type++) {
		int64_t step = step_of((enum type)type, o.no_graph);
		int64_t ns = predicted(&c, (enum type)type)->time.step;
		ck_assert_msg(ns > step - step / 10 && ns < step + step / 10, "%s: predicted %lld ns, measured %lld",
		              type_name((enum type)type), (long long)ns, (long long)step);
	}
	calibrate_figures_release(&figures);
	cluster_release(&c);
}

/* ---- errors ---- */

static const struct {
	struct fake_cuda_settings gpu;
	const char *communicator;
	int64_t ranks;
	const char *said;
} refused[] = {
        {{.devices = -1}, "ring", 1, "there is no GPU here"},
        {{.count_error = 35}, "ring", 1, "older than this program's CUDA"},
        {{.no_code = true}, "ring", 2, "for which this build has no code"},
        {{.devices = 1}, "nccl", 2, "use comm ring"},
};

START_LOOP_TEST(missing_parts_are_reported_first, 0, (int)(sizeof refused / sizeof *refused))
{
	struct calibrate_options o = options();
	o.communicator = refused[_i].communicator;
	cuda_library_use(fake_cuda(&refused[_i].gpu));
	must_fail(calibrate_check(&o, refused[_i].ranks), STATUS_INPUT, refused[_i].said);
}

START_TEST(failures_end_with_one_line)
{
	struct calibrate_options o = options();
	struct cluster c;
	struct calibrate_figures figures;
	cuda_library_use(fake_cuda(&(struct fake_cuda_settings){.memory_bytes = 86 * MIB}));
	must_fail(calibrate_run(&o, &c, &figures), STATUS_INPUT, "too little free memory");
	calibrate_figures_release(&figures);
	o = options();
	cuda_library_use(fake_cuda(&(struct fake_cuda_settings){.memory_bytes = 140 * MIB, .fail_after = 1000}));
	ck_assert_int_eq(calibrate_run(&o, &c, &figures), STATUS_RUN);
	ck_assert_msg(!strncmp(status_message(), "GPU 0 (a fake GPU): ", 20), "%s", status_message());
	ck_assert_int_eq(fake_cuda_counts()->live, 0);
	calibrate_figures_release(&figures);
}

static void forget(void)
{
	cuda_library_use(NULL);
}

SUITE_WITH("calibrate cuda", 300, NULL, forget)
