/* Collectives between GPUs: NCCL's, or those of CPU ranks through pinned memory, as the executor runs them.
 */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

#include "real/calibrate/cuda.h"
#include "real/communicator/kind.h"
#include "real/communicator/nccl.h"

enum { REPEATS = 11, SAMPLES_MOST = 32 };

static const int64_t sizes[] = {4096, 65536, 1 << 20, 4 << 20, 16 << 20, 64 << 20, 256 << 20}; /* bytes of the whole */
enum { SIZES = sizeof sizes / sizeof *sizes, STAGED_SIZES = SIZES - 2 };

static const struct {
	enum schedule_algorithm algorithm;
	const char *name;
} kinds[] = {{SCHEDULE_RING_ALL_GATHER, "all_gather"},
             {SCHEDULE_RING_REDUCE_SCATTER, "reduce_scatter"},
             {SCHEDULE_RING_ALL_REDUCE, "all_reduce"}};
enum { KINDS = sizeof kinds / sizeof *kinds, GATHER = 0, REDUCE = 2 };

struct links {
	struct calibration *k;
	struct gpu gpu;
	struct nccl *nccl;     /* NULL: staged */
	void *whole, *part;    /* device */
	unsigned char *pinned; /* the whole, the part, the staging */
	int64_t bytes;         /* of the whole, the largest */
	/* of the collective at hand */
	struct collective what;
	enum status status;
	char message[512];
};

static bool is_nccl(const struct calibration *k)
{
	return communicator_kind(k->options->communicator)->device;
}

static int size_count(const struct calibration *k)
{
	return (is_nccl(k) ? SIZES : STAGED_SIZES) - k->options->quick;
}

int calibrate_cuda_links_tasks(const struct calibration *k)
{
	return k->ranks > 1 ? size_count(k) : 0;
}

int64_t calibrate_collective_launch(int64_t all_gather_ns, int64_t all_reduce_ns)
{
	int64_t launch = 2 * all_gather_ns - all_reduce_ns;
	return launch < 0 ? 0 : launch < all_gather_ns / 2 ? launch : all_gather_ns / 2;
}

/* ---- memory ---- */

static enum status take_memory(struct links *l)
{
	const struct cuda_api *api = l->gpu.api;
	int error = api->allocate(l->gpu.cuda, (size_t)l->bytes, &l->whole);
	if (!error)
		error = api->allocate(l->gpu.cuda, (size_t)l->bytes, &l->part);
	if (!error)
		error = api->kernels.fill(l->gpu.cuda, l->gpu.stream, l->whole, 0, (size_t)l->bytes);
	if (!error)
		error = api->kernels.fill(l->gpu.cuda, l->gpu.stream, l->part, 0, (size_t)l->bytes);
	if (!error && !is_nccl(l->k))
		error = api->allocate_host(l->gpu.cuda, (size_t)(2 * l->bytes + SCHEDULE_STAGING_BYTES),
		                           (void **)&l->pinned);
	if (!error)
		error = api->stream_synchronize(l->gpu.cuda, l->gpu.stream);
	return gpu_error(&l->gpu, error, "taking memory to send");
}

static void give_back(struct links *l)
{
	if (!l->gpu.cuda)
		return;
	nccl_close(l->nccl, false);
	l->gpu.api->release(l->gpu.cuda, l->whole);
	l->gpu.api->release(l->gpu.cuda, l->part);
	l->gpu.api->release_host(l->gpu.cuda, l->pinned);
}

/* The difference between two calls is the device memory that NCCL took, at its first collectives too. */
static int64_t bytes_in_use(struct links *l)
{
	int64_t available, total;
	return l->gpu.api->memory(l->gpu.cuda, &available, &total) ? 0 : total - available;
}

/* ---- one collective ---- */

static void run_staged(void *context)
{
	struct links *l = context;
	struct communicator *m = l->k->communicator;
	struct traffic traffic;
	enum status s = l->status ? l->status : m->ops->run(m, &l->what, &traffic);
	if (s && !l->status)
		snprintf(l->message, sizeof l->message, "%s", status_message());
	l->status = s;
}

/* Copies out, runs on the host, and copies in, as real/cuda/communication.c does. */
static int issue_staged(struct links *l, struct gpu *g)
{
	int64_t whole = l->what.elements * (int64_t)sizeof(float), part = whole / l->k->ranks;
	const struct operation_row *o = operation_row(schedule_row(l->what.algorithm)->operation);
	bool gathers = o->before == EXTENT_SLICE, scatters = o->after == EXTENT_SLICE;
	int error = gathers ? g->api->kernels.copy(g->cuda, g->stream, l->what.part, l->part, (size_t)part)
	                    : g->api->kernels.copy(g->cuda, g->stream, l->what.whole, l->whole, (size_t)whole);
	if (!error)
		error = g->api->host_call(g->cuda, g->stream, run_staged, l);
	if (error)
		return error;
	return scatters ? g->api->kernels.copy(g->cuda, g->stream, l->part, l->what.part, (size_t)part)
	                : g->api->kernels.copy(g->cuda, g->stream, l->whole, l->what.whole, (size_t)whole);
}

static int issue(struct gpu *g, const void *what)
{
	struct links *l = *(struct links *const *)what;
	if (!l->nccl)
		return issue_staged(l, g);
	enum status s = nccl_run(l->nccl, &l->what, g->stream);
	if (s && !l->status)
		snprintf(l->message, sizeof l->message, "%s", status_message());
	l->status = l->status ? l->status : s;
	return 0;
}

/* All ranks begin together, and the slowest one's time counts. */
static enum status run_repeats(struct links *l, enum schedule_algorithm algorithm, int64_t elements, int64_t *ns)
{
	const struct calibration *k = l->k;
	l->what = (struct collective){.algorithm = algorithm, .elements = elements, .type = TYPE_FP32};
	l->what.whole = l->nccl ? l->whole : l->pinned;
	l->what.part = l->nccl ? l->part : l->pinned + l->bytes;
	l->what.staging = l->nccl ? NULL : l->pinned + 2 * l->bytes;
	for (int i = -1; i < REPEATS; i++) {
		int64_t *one = &ns[i < 0 ? 0 : i];
		calibrate_meet(k);
		/* gpu_time runs it once untimed, in which late ranks catch up, and once timed. */
		enum status s = gpu_time(&l->gpu, issue, &l, 1, false, 1, one);
		if (!s && l->status)
			s = status_fail(l->status, "%s", l->message);
		if (s)
			return s;
		CALIBRATE_WAITS(MPI_Allreduce(MPI_IN_PLACE, one, 1, MPI_INT64_T, MPI_MAX, MPI_COMM_WORLD));
	}
	return STATUS_OK;
}

/* ---- the curves ---- */

static void tell(struct links *l, const char *kind, int64_t bytes, struct rate ns)
{
	char name[64];
	snprintf(name, sizeof name, "%s of %lld bytes, %s", kind, (long long)bytes, l->k->options->communicator);
	calibrate_figure(l->k, name, CALIBRATE_NS, ns);
}

static enum status measure_sizes(struct links *l, struct cluster *out)
{
	struct link_sample samples[SAMPLES_MOST];
	struct calibration *k = l->k;
	struct rate smallest[KINDS] = {{0}};
	int count = 0;
	for (int i = 0; i < size_count(k) && sizes[i] <= l->bytes; i++) {
		int64_t elements = sizes[i] / (int64_t)sizeof(float) / k->ranks * k->ranks, ns[REPEATS];
		calibrate_progress(k, "collectives");
		for (int kind = 0; kind < KINDS; kind++) {
			struct schedule schedule = {kinds[kind].algorithm, k->ranks, 0, elements, 0};
			TRY(run_repeats(l, kinds[kind].algorithm, elements, ns));
			struct rate r = calibrate_rate(0, ns, REPEATS);
			smallest[kind] = i ? smallest[kind] : r;
			tell(l, kinds[kind].name, elements * (int64_t)sizeof(float), r);
			samples[count++] = (struct link_sample){.rounds = schedule_rounds(&schedule),
			                                        .bytes = elements / k->ranks * (int64_t)sizeof(float),
			                                        .ns = r.value};
		}
	}
	int64_t launch = calibrate_collective_launch(smallest[GATHER].value, smallest[REDUCE].value);
	out->collective_launch =
	        rate_measured(launch, calibrate_collective_launch(smallest[GATHER].low, smallest[REDUCE].high),
	                      calibrate_collective_launch(smallest[GATHER].high, smallest[REDUCE].low));
	/* On a busy machine the launch that small collectives show may exceed the time of others. */
	for (int i = 0; i < count; i++)
		samples[i].ns = samples[i].ns - launch > samples[i].rounds ? samples[i].ns - launch : samples[i].rounds;
	link_fit(samples, count, &out->link);
	return STATUS_OK;
}

enum status calibrate_cuda_links(struct calibration *k)
{
	struct links l = {.k = k};
	enum status s = gpu_open(&l.gpu, k);
	int64_t before = 0;
	if (!s) {
		int64_t ours = l.gpu.available_bytes / 4 / (k->local_ranks > 0 ? k->local_ranks : 1);
		l.bytes = sizes[size_count(k) - 1];
		while (l.bytes > ours && l.bytes > sizes[0])
			l.bytes /= 2;
		CALIBRATE_WAITS(MPI_Allreduce(MPI_IN_PLACE, &l.bytes, 1, MPI_INT64_T, MPI_MIN, MPI_COMM_WORLD));
		s = take_memory(&l);
	}
	if (!s && is_nccl(k)) {
		before = bytes_in_use(&l);
		s = nccl_open(&l.nccl, k->communicator);
	}
	if (!s)
		s = measure_sizes(&l, k->cluster);
	if (!s && l.nccl)
		k->gpu->overhead_bytes += bytes_in_use(&l) - before;
	/* A collective on the host takes no share of the GPU. NCCL's share stays assumed. */
	if (!s && !l.nccl)
		k->cluster->collective_share = rate_measured(0, 0, 0);
	give_back(&l);
	gpu_close(&l.gpu);
	return s;
}
