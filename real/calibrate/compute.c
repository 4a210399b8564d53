/* Compute: the rate of each kind of operation by its work, and the rates that ranks reach side by side.
 *
 *     steps of a plan ──► spans by (kind, type, work) ──► median of each ──► points, best case first ──► curves
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "kernels/kernels.h"
#include "real/calibrate/internal.h"
#include "strategy/base/arena.h"
#include "strategy/base/clock.h"

/* The rate of a kernel follows from its shape, and the work is only the most important part of that. The cases that
 * people run therefore come first, with the default of 4 samples a rank; later ones fill the gaps. */
static const struct {
	struct timed_case what;
	bool quick;
} cases[] = {
        {{"mlp", "single", 4, TYPE_FP32}, true},
        {{"mlp", "ddp", 4, TYPE_FP32}, true}, /* gradients in buckets: tensors begin anywhere, updates are larger */
        {{"gpt", "single", 4, TYPE_FP32}, true},
        {{"gpt", "ddp", 4, TYPE_FP32}, true},
        {{"mlp", "single", 32, TYPE_FP32}, true},
        {{"mlp:norm=batch", "single", 32, TYPE_FP32}, true},
        {{"gpt", "single", 1, TYPE_FP32}, true},
        {{"mlp", "single", 256, TYPE_FP32}, true},
        {{"mlp", "single", 8, TYPE_FP32}, true},
        {{"llama", "single", 4, TYPE_FP32}, true}, /* rotary positions, SwiGLU and RMS norms, which gpt has not */
        {{"llama", "single", 1, TYPE_FP32}, false},
        {{"gpt", "single", 8, TYPE_FP32}, false},
        {{"gpt", "single", 16, TYPE_FP32}, false},
        {{"mlp", "single", 16, TYPE_FP32}, false},
        {{"mlp", "single", 64, TYPE_FP32}, false},
        {{"mlp", "single", 1, TYPE_FP32}, false},
        {{"gpt:layers=2,width=64,heads=4", "single", 2, TYPE_FP32}, true},
        {{"gpt:layers=2,width=768,heads=12", "single", 2, TYPE_FP32}, false},
        {{"mlp:sizes=64-64-10", "single", 4, TYPE_FP32}, true},
        {{"gpt", "single", 4, TYPE_BF16}, true},
        {{"mlp", "single", 4, TYPE_BF16}, true},
        {{"llama", "single", 4, TYPE_BF16}, false},
        {{"gpt", "ddp", 4, TYPE_BF16}, false},
        {{"mlp", "single", 32, TYPE_BF16}, true},
        {{"gpt", "single", 1, TYPE_BF16}, false},
        {{"gpt", "single", 16, TYPE_BF16}, false},
        {{"gpt:layers=2,width=64,heads=4", "single", 2, TYPE_BF16}, false},
        {{"gpt", "single", 4, TYPE_FP16}, true},
        {{"mlp", "single", 4, TYPE_FP16}, true},
        {{"llama", "single", 4, TYPE_FP16}, false},
        {{"gpt", "ddp", 4, TYPE_FP16}, false},
        {{"mlp", "single", 32, TYPE_FP16}, true},
        {{"gpt", "single", 1, TYPE_FP16}, false},
        {{"gpt", "single", 16, TYPE_FP16}, false},
        {{"gpt:layers=2,width=64,heads=4", "single", 2, TYPE_FP16}, false},
};
enum { CASES = sizeof cases / sizeof *cases };

/* Operations that move at least so many bytes tell something about memory. */
enum { LARGE = 1 << 20 };

static const struct timed_case tiny = {"mlp:sizes=16-16-16-10", "single", 1, TYPE_FP32};

/* All ranks carry out these cases at once, each on its own plan. Ranks share caches, which no curve shows, so rates
 * measured side by side are averaged with those of one rank alone. */
static const struct timed_case beside[] = {
        {"mlp", "ddp", 4, TYPE_FP32}, {"gpt", "ddp", 4, TYPE_FP32}, {"mlp", "single", 32, TYPE_FP32}};
enum { BESIDE = sizeof beside / sizeof *beside };

static double case_seconds(const struct calibration *k)
{
	return k->options->quick ? 0.25 : 1.5;
}

int calibrate_compute_tasks(const struct calibration *k)
{
	int n = 3 + BESIDE; /* vectors, weights, launch */
	for (int i = 0; i < CASES; i++)
		n += cases[i].quick || !k->options->quick;
	return n;
}

/* ---- what steps show ---- */

static void collect(void *context, const struct timed_run *r)
{
	struct durations *all = context;
	durations_add_step(all, executor_times(r->executor).compute);
	for (int i = r->step->begin; i < r->step->end; i++) {
		const struct op *op = &r->device.rank->role->ops[i];
		enum op_class class = op_class(op->kind);
		if ((class == OP_CLASS_K || class == OP_CLASS_V) && op_flops(&r->plan, op))
			durations_add(all, r, i);
	}
}

/* The fastest of the operations that move much sets the bandwidth of memory. */
static void raise_bandwidth(struct rate *bandwidth, int64_t bytes, int64_t *ns, int n)
{
	struct rate seen = calibrate_rate(bytes, ns, n);
	if (bytes >= LARGE && seen.value > bandwidth->value)
		*bandwidth = seen;
}

static const double STRETCH_MOST = 1.3;

/* A disturbance slows down a few operations of a step, different ones each time. A median step therefore takes longer
 * than its operations' medians together, and every operation gets its share of the difference. */
static double stretch(const struct durations *all, int64_t medians)
{
	int64_t *steps = all->steps;
	struct rate step = calibrate_rate(0, steps, (int)all->step_count);
	double s = (double)step.value / (double)(medians > 0 ? medians : 1);
	return s < 1 ? 1 : s > STRETCH_MOST ? STRETCH_MOST : s;
}

static void add_medians(struct durations *all, const struct cluster *c, struct curve_points *points,
                        struct rate *bandwidth)
{
	int64_t *ns = array_unset(all->count + 1, sizeof *ns), medians = 0;
	const size_t steps = all->step_count; /* at least three, and every step has operations */
	if (!all->count || !steps)
		abort();
	durations_sort(all);
	for (size_t i = 0, next; i < all->count; i = next) {
		next = durations_equal(all, i, ns);
		medians += calibrate_rate(0, ns, (int)(next - i)).value * (int64_t)((next - i) / steps);
	}
	double s = stretch(all, medians);
	for (size_t i = 0, next; i < all->count; i = next) {
		next = durations_equal(all, i, ns);
		for (size_t k = 0; k < next - i; k++)
			ns[k] = (int64_t)((double)ns[k] * s);
		raise_bandwidth(bandwidth, all->d[i].bytes, ns, (int)(next - i));
		for (size_t k = 0; k < next - i; k++)
			ns[k] = calibrate_rate_time(&all->d[i + k], c, ns[k]);
		curve_points_add(points, all->d[i].kind, all->d[i].type, all->d[i].work,
		                 calibrate_rate(all->d[i].work, ns, (int)(next - i)));
	}
	free(ns);
}

enum status calibrate_case(const struct calibration *k, const struct timed_case *what, bool together,
                           struct durations *all)
{
	struct timed_run r;
	enum status s = timed_run_open(&r, what, NULL);
	if (!s)
		s = calibrate_steps(&r, k, case_seconds(k), together, collect, all);
	timed_run_release(&r);
	return s;
}

/* together: all ranks do so at once, each on its own plan. Raises *bandwidth to the rate at which this rank moved
 * bytes. */
static enum status measure_case(const struct calibration *k, const struct timed_case *what, bool together,
                                struct curve_points *points, struct rate *bandwidth)
{
	struct durations all = {0};
	enum status s = calibrate_case(k, what, together, &all);
	if (!s)
		add_medians(&all, k->cluster, points, bandwidth);
	durations_release(&all);
	return s;
}

static void tell(struct calibration *k, const struct timed_case *what, const char *how)
{
	char text[128];
	snprintf(text, sizeof text, "%s in %s, %lld samples%s", what->model, type_name(what->precision),
	         (long long)what->micro_batch, how);
	calibrate_progress(k, text);
}

/* ---- launch ---- */

struct launches {
	int64_t ns[512];
	int count;
};

static void collect_launch(void *context, const struct timed_run *r)
{
	struct launches *l = context;
	struct times t = executor_times(r->executor);
	int ops = 0;
	for (int i = r->step->begin; i < r->step->end; i++)
		ops += op_class(r->device.rank->role->ops[i].kind) != OP_CLASS_M;
	if (ops && l->count < (int)(sizeof l->ns / sizeof *l->ns))
		l->ns[l->count++] = (t.step - t.compute) / ops;
}

static enum status measure_launch(const struct calibration *k)
{
	struct timed_run r;
	struct launches l = {.count = 0};
	enum status s = timed_run_open(&r, &tiny, NULL);
	if (!s)
		s = calibrate_steps(&r, k, 0.1, false, collect_launch, &l);
	timed_run_release(&r);
	if (!s)
		k->cluster->launch = calibrate_rate(0, l.ns, l.count);
	return s;
}

/* ---- vectors, which the default plans do not have ---- */

enum { VECTOR_REPEATS = 15 };

struct vectors {
	enum element type;
	float *x, *y; /* large enough for elements of any type */
	float *master;
	volatile double sum; /* keeps the sum from being optimized away */
};

static void vectors_release(struct vectors *v)
{
	free(v->x);
	free(v->y);
	free(v->master);
}

static void vectors_fill(struct vectors *v, int64_t n)
{
	enum { TILE = 1024 };
	float tile[TILE];
	for (int i = 0; i < TILE; i++)
		tile[i] = (float)(i % 7);
	for (int64_t i = 0; i < n; i += TILE) {
		int64_t bytes = i * element_bytes(v->type);
		vector_convert(TILE, ELEMENT_FP32, tile, v->type, (char *)v->x + bytes);
		vector_convert(TILE, ELEMENT_FP32, tile, v->type, (char *)v->y + bytes);
	}
}

static int64_t time_vector(struct vectors *v, int kind, int64_t n)
{
	int64_t begin = clock_ns();
	if (kind == OP_ADD)
		vector_add(v->type, n, v->x, v->y);
	else if (kind == OP_SQUARES)
		v->sum = vector_sum_of_squares(v->type, n, v->x);
	else if (kind == OP_SGD)
		sgd_update(v->type, 1e-6f, n, v->y, v->x, 1, v->master);
	else
		vector_copy(v->type, n, v->x, v->y);
	return clock_ns() - begin;
}

static struct rate vector_rate(struct vectors *v, int kind, int64_t n, int64_t amount)
{
	int64_t ns[VECTOR_REPEATS];
	time_vector(v, kind, n);
	for (int i = 0; i < VECTOR_REPEATS; i++)
		ns[i] = time_vector(v, kind, n);
	return calibrate_rate(amount, ns, VECTOR_REPEATS);
}

int64_t calibrate_copy_bytes(int64_t elements)
{
	return 2 * elements * (int64_t)sizeof(float);
}

/* Vectors of up to n elements. */
static enum status vectors_open(struct vectors *v, int64_t n)
{
	size_t bytes = (size_t)n * sizeof(float);
	*v = (struct vectors){.type = ELEMENT_FP32, .x = malloc(bytes), .y = malloc(bytes), .master = calloc(1, bytes)};
	if (!v->x || !v->y || !v->master)
		return status_fail(STATUS_MEMORY, "out of memory");
	vectors_fill(v, n);
	return STATUS_OK;
}

static enum status measure_vectors(struct curve_points *points)
{
	static const struct {
		enum op_kind kind;
		int64_t flops; /* an element */
	} kinds[] = {{OP_ADD, 1}, {OP_SQUARES, 2}, {OP_SGD, 2}};
	const int64_t most = INT64_C(4) << 20;
	struct vectors v;
	enum status s = vectors_open(&v, most);
	for (int type = TYPE_FP32; type < (int)ELEMENT_TYPES && !s; type++) {
		v.type = (enum element)type;
		vectors_fill(&v, most);
		for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
			for (int64_t n = 1 << 11; n <= most; n *= 8)
				curve_points_add(points, kinds[i].kind, (enum type)type, n * kinds[i].flops,
				                 vector_rate(&v, kinds[i].kind, n, n * kinds[i].flops));
	}
	vectors_release(&v);
	return s;
}

enum status calibrate_copy(int64_t elements, struct rate *out)
{
	struct vectors v;
	enum status s = vectors_open(&v, elements);
	if (!s)
		*out = vector_rate(&v, OP_COPY, elements, calibrate_copy_bytes(elements));
	vectors_release(&v);
	return s;
}

enum status calibrate_compute(struct calibration *k)
{
	calibrate_progress(k, "vectors");
	enum status s = measure_vectors(&k->points);
	/* A step copies parameters and gradients: megabytes. */
	if (!s)
		s = calibrate_copy(INT64_C(8) << 20, &k->cluster->device_bandwidth);
	if (!s) {
		calibrate_progress(k, "weights");
		s = calibrate_weights(k);
	}
	for (int i = 0; i < CASES && !s; i++) {
		if (k->options->quick && !cases[i].quick)
			continue;
		tell(k, &cases[i].what, "");
		s = measure_case(k, &cases[i].what, false, &k->points, &k->cluster->device_bandwidth);
	}
	if (s)
		return s;
	calibrate_progress(k, "launch");
	return measure_launch(k);
}

/* ---- side by side ---- */

static int64_t resident_bytes(void)
{
	long long whole, resident = 0;
	FILE *f = fopen("/proc/self/statm", "r");
	if (f && fscanf(f, "%lld %lld", &whole, &resident) != 2)
		resident = 0;
	if (f)
		fclose(f);
	return (int64_t)resident * sysconf(_SC_PAGESIZE);
}

enum status calibrate_together(struct calibration *k)
{
	struct curve_points unused = {0};
	struct rate moved = {0};
	/* Ranks that take turns on a core would measure its scheduling, which the simulator models already. */
	bool cores_for_all = k->machine_ranks > 1 && k->machine_ranks * k->cluster->threads <= k->cluster->cores;
	enum status s = STATUS_OK;
	for (int i = 0; i < BESIDE && !s; i++) {
		tell(k, &beside[i], ", side by side");
		s = measure_case(k, &beside[i], true, cores_for_all ? &k->points : &unused, &moved);
	}
	curve_points_release(&unused);
	if (s)
		return s;
	/* The node's bandwidth is at least what all ranks together were seen to move. */
	int64_t sums[3] = {moved.value, moved.low, moved.high}, overhead = resident_bytes();
	if (k->ranks > 1)
		CALIBRATE_WAITS(MPI_Allreduce(MPI_IN_PLACE, sums, 3, MPI_INT64_T, MPI_SUM, k->machine));
	k->cluster->node_bandwidth = rate_measured(sums[0], sums[1], sums[2]);
	if (overhead > 0)
		k->cluster->overhead = rate_measured(overhead, overhead, overhead);
	return STATUS_OK;
}
