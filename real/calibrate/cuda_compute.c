/* The rate of each kind of operation on a GPU, by its work.
 *
 *     eager steps ──► spans by (kind, type, work) ──► medians ─┬─► less the excess ──► points ──► curves
 *     replayed steps ──► median ───────────────────────────────┘
 *
 * Steps run as graphs, in which no operation can be timed. Issued one by one, an operation takes longer: by the events
 * around it and by the time that the host lags behind, whether it is short or long. The medians of the spans are
 * therefore all lowered by the same excess, until they add up to the replayed step. The prediction for a case that was
 * measured then equals the measurement.
 */
#include <stdio.h>
#include <stdlib.h>

#include "real/calibrate/cuda.h"
#include "real/cuda/executor.h"
#include "real/cuda/fit.h"
#include "strategy/base/arena.h"
#include "strategy/strategies/strategy.h"

#define LARGE_GPT "gpt:layers=2,width=2048,heads=16,context=1024,vocabulary=50257"

/* The cases that people run come first; later ones fill the gaps. A case that does not fit is left out. */
static const struct gpu_case {
	struct timed_case what;
	bool quick;
	bool clips, sgd, offloads;
} cases[] = {
        {.what = {"gpt2-124m", "single", 16, TYPE_BF16}, .quick = true},
        {.what = {"gpt2-124m", "single", 4, TYPE_BF16}, .quick = true},
        {.what = {"gpt2-124m", "single", 4, TYPE_FP32}, .quick = true},
        {.what = {"gpt2-124m", "single", 4, TYPE_FP16}, .quick = true},
        {.what = {"gpt2-124m", "single", 32, TYPE_BF16}},
        {.what = {"gpt2-124m", "single", 1, TYPE_BF16}},
        {.what = {"gpt2-124m", "single", 16, TYPE_FP32}},
        {.what = {"gpt2-124m", "single", 1, TYPE_FP32}},
        {.what = {"gpt2-124m", "single", 16, TYPE_FP16}},
        {.what = {"gpt2-124m", "single", 4, TYPE_BF16}, .clips = true},
        {.what = {LARGE_GPT, "single", 4, TYPE_BF16}},
        {.what = {LARGE_GPT, "single", 4, TYPE_FP32}},
        {.what = {LARGE_GPT, "single", 4, TYPE_FP16}},
        {.what = {"gpt", "single", 4, TYPE_FP32}, .quick = true},
        {.what = {"gpt", "single", 4, TYPE_BF16}, .quick = true, .clips = true},
        {.what = {"gpt", "single", 4, TYPE_FP16}, .quick = true},
        {.what = {"gpt", "single", 4, TYPE_BF16}, .quick = true, .offloads = true},
        {.what = {"gpt", "single", 16, TYPE_FP32}},
        {.what = {"gpt", "single", 16, TYPE_BF16}},
        {.what = {"gpt", "single", 16, TYPE_FP16}},
        {.what = {"mlp", "single", 4, TYPE_FP32}, .quick = true},
        {.what = {"mlp", "single", 4, TYPE_BF16}, .quick = true},
        {.what = {"mlp", "single", 4, TYPE_FP16}, .quick = true, .clips = true},
        {.what = {"mlp", "single", 64, TYPE_FP32}, .clips = true},
        {.what = {"mlp", "single", 64, TYPE_BF16}},
        {.what = {"mlp", "single", 64, TYPE_FP16}},
        {.what = {"mlp:norm=batch", "single", 32, TYPE_FP32}, .quick = true, .sgd = true},
        {.what = {"mlp:norm=batch", "single", 32, TYPE_BF16}, .sgd = true},
        {.what = {"gpt:layers=2,width=64,heads=4", "single", 2, TYPE_FP32}, .quick = true},
        {.what = {"gpt:layers=2,width=64,heads=4", "single", 2, TYPE_BF16}, .quick = true},
        {.what = {"gpt:layers=2,width=64,heads=4", "single", 2, TYPE_FP16}, .quick = true},
        {.what = {"gpt:layers=2,width=64,heads=4", "single", 2, TYPE_BF16}, .quick = true, .offloads = true},
};
enum { CASES = sizeof cases / sizeof *cases };

static bool is_taken(const struct calibration *k, int i)
{
	return cases[i].quick || !k->options->quick;
}

int calibrate_cuda_compute_tasks(const struct calibration *k)
{
	int n = 0;
	for (int i = 0; i < CASES; i++)
		n += is_taken(k, i);
	return n;
}

/* ---- what steps show ---- */

/* Operations of the compute queue and, with offload, the update on the host's queue. */
struct spans {
	struct durations device, host;
};

static void collect(void *context, const struct timed_run *r)
{
	struct spans *all = context;
	for (int i = r->step->begin; i < r->step->end; i++) {
		const struct op *op = &r->device.rank->role->ops[i];
		enum op_class class = op_class(op->kind);
		if (class != OP_CLASS_K && class != OP_CLASS_V)
			continue;
		if (op->queue == QUEUE_COMPUTE)
			durations_add(&all->device, r, i);
		else if (op->queue == QUEUE_HOST_COMPUTE && op_flops(&r->plan, op))
			durations_add(&all->host, r, i);
	}
	durations_add_step(&all->device, executor_times(r->executor).step);
}

static void collect_step(void *context, const struct timed_run *r)
{
	durations_add_step(context, executor_times(r->executor).step);
}

/* ---- the excess ---- */

static double sum_without(const int64_t *ns, const int64_t *times, size_t n, int64_t least, int64_t x)
{
	double sum = 0;
	for (size_t i = 0; i < n; i++)
		sum += (double)times[i] * (double)(ns[i] - x > least ? ns[i] - x : least);
	return sum;
}

/* The sum falls as x grows, so bisection finds x. */
int64_t calibrate_excess(const int64_t *ns, const int64_t *times, size_t n, int64_t least, int64_t step)
{
	int64_t low = -step, high = 0;
	for (size_t i = 0; i < n; i++)
		high = ns[i] > high ? ns[i] : high;
	while (high - low > 1) {
		int64_t middle = low + (high - low) / 2;
		if (sum_without(ns, times, n, least, middle) > (double)step)
			low = middle;
		else
			high = middle;
	}
	return high;
}

/* ---- points ---- */

/* Subtracts the excess, and the launch, which the simulator adds again. */
static void add_point(struct calibration *k, const struct duration *d, int64_t *ns, size_t n, int64_t excess)
{
	int64_t launch = k->gpu->launch_ns, least = launch / 4 + 1;
	if (!d->work)
		return;
	for (size_t i = 0; i < n; i++) {
		ns[i] -= excess + launch;
		ns[i] = ns[i] > least ? ns[i] : least;
	}
	curve_points_add(&k->points, d->kind, d->type, d->work, calibrate_rate(d->work, ns, (int)n));
}

/* replayed: steps as they run in training. */
static void add_points(struct calibration *k, struct durations *all, const struct durations *replayed)
{
	const int64_t steps = (int64_t)all->step_count;
	const size_t most = all->count + 1;
	int64_t *ns = array_unset(most, sizeof *ns), *medians = array_unset(most, sizeof *ns);
	int64_t *times = array_unset(most, sizeof *ns);
	size_t groups = 0;
	if (!steps)
		abort(); /* calibrate_steps does at least three */
	durations_sort(all);
	for (size_t i = 0, next; i < all->count; i = next, groups++) {
		next = durations_equal(all, i, ns);
		medians[groups] = calibrate_rate(0, ns, (int)(next - i)).value;
		times[groups] = (int64_t)(next - i) / steps;
	}
	int64_t step = calibrate_rate(0, replayed->steps, (int)replayed->step_count).value;
	int64_t excess = calibrate_excess(medians, times, groups, k->gpu->launch_ns, step);
	for (size_t i = 0, next; i < all->count; i = next) {
		next = durations_equal(all, i, ns);
		add_point(k, &all->d[i], ns, next - i, excess);
	}
	free(ns);
	free(medians);
	free(times);
}

/* The rate is of one core: the simulator gives each rank its part of the cores. The largest update counts, since no
 * cache holds it. */
static void take_host_rate(struct calibration *k, struct durations *all)
{
	struct cluster *c = k->cluster;
	int64_t share = c->cores / c->devices > 1 ? c->cores / c->devices : 1;
	int64_t *ns = array_unset(all->count + 1, sizeof *ns);
	durations_sort(all);
	for (size_t i = 0, next; i < all->count; i = next) {
		next = durations_equal(all, i, ns);
		if (all->d[i].work <= k->gpu->host_work)
			continue;
		struct rate r = calibrate_rate(all->d[i].work, ns, (int)(next - i));
		k->gpu->host_work = all->d[i].work;
		c->core_compute = rate_measured(r.value / share + 1, r.low / share + 1, r.high / share + 1);
	}
	free(ns);
}

/* ---- one case ---- */

static enum status settings_of(const struct gpu_case *what, struct settings *out)
{
	*out = timed_run_settings(&what->what, 1);
	out->clip = what->clips ? 1 : 0;
	out->optimizer = what->sgd ? OPTIMIZER_SGD : OPTIMIZER_ADAMW;
	out->offload.optimizer = what->offloads;
	return settings_resolve(out, strategy_data_ranks(out));
}

/* A sixteenth of the memory is left for libraries. */
static enum status does_fit(const struct calibration *k, const struct settings *settings, bool *fits)
{
	struct model m = {0};
	struct plan p = {0};
	struct gpu g;
	enum status s = gpu_open(&g, k);
	if (!s)
		s = model_open(&m, settings->model, settings->sequence);
	if (!s)
		s = plan_compile(&p, &m, settings);
	if (!s)
		*fits = cuda_fit_bytes(&p, &p.roles[0]) < g.available_bytes - g.available_bytes / 16;
	plan_release(&p);
	model_release(&m);
	gpu_close(&g);
	return s;
}

static double case_seconds(const struct calibration *k)
{
	return k->options->quick ? 0.2 : 0.5;
}

static enum status measure_steps(struct calibration *k, struct timed_run *r)
{
	struct spans all = {.device = {0}};
	struct durations replayed = {0};
	struct report_overhead unused;
	cuda_executor_replay(r->executor, false);
	enum status s = calibrate_steps(r, k, case_seconds(k), false, collect, &all);
	cuda_executor_replay(r->executor, !k->options->no_graph);
	if (!s)
		s = calibrate_steps(r, k, case_seconds(k), false, collect_step, &replayed);
	/* With offload the GPU waits for the host, so its spans do not add up to the step. */
	if (!s && !all.host.count)
		add_points(k, &all.device, &replayed);
	if (!s)
		take_host_rate(k, &all.host);
	int64_t overhead = device_overhead(&r->device, &unused);
	k->gpu->overhead_bytes = overhead > k->gpu->overhead_bytes ? overhead : k->gpu->overhead_bytes;
	durations_release(&all.device);
	durations_release(&all.host);
	durations_release(&replayed);
	return s;
}

static enum status measure_case(struct calibration *k, const struct gpu_case *what)
{
	struct timed_run r = {.executor = NULL};
	struct settings settings;
	char text[128];
	bool fits = false;
	snprintf(text, sizeof text, "%s in %s, %lld samples", what->what.model, type_name(what->what.precision),
	         (long long)what->what.micro_batch);
	calibrate_progress(k, text);
	enum status s = settings_of(what, &settings);
	if (!s)
		s = does_fit(k, &settings, &fits);
	if (s || !fits)
		return s;
	s = timed_run_open_settings(&r, &settings, &k->gpu->choice, NULL);
	if (!s)
		s = measure_steps(k, &r);
	timed_run_release(&r);
	return s;
}

enum status calibrate_cuda_compute(struct calibration *k)
{
	struct device_choice all = k->gpu->choice;
	enum status s = STATUS_OK;
	/* The other ranks sleep, so this rank has the GPU to itself. */
	k->gpu->choice.local_ranks = 1;
	for (int i = 0; i < CASES && !s; i++)
		if (is_taken(k, i))
			s = measure_case(k, &cases[i]);
	k->gpu->choice = all;
	if (!s && !k->points.count)
		s = status_fail(STATUS_INPUT,
		                "{device} cuda: GPU %d has too little free memory for any of the steps that "
		                "calibrate measures; end what else runs on it",
		                all.local_rank % k->gpu->count);
	return s;
}
