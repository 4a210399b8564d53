/* Collectives between ranks: their time alone, their share of the cores, and the time to hand them to their thread. */
#define _GNU_SOURCE /* CLOCK_THREAD_CPUTIME_ID */
#include <mpi.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "real/calibrate/internal.h"
#include "strategy/base/clock.h"

enum { REPEATS_MOST = 63, SAMPLES_MOST = 32 };
enum { QUICK_NS = 1500 * 1000 * 1000, LONG_NS = 2000 * 1000 * 1000 }; /* for one size */

static const int64_t sizes[] = {4096, 65536, 1 << 20, 2 << 20, 4 << 20, 8 << 20, 16 << 20}; /* bytes of the whole */
enum { SIZES = sizeof sizes / sizeof *sizes, BUSY_SIZE = 4 };
enum { NETWORK_SIZES = 2 }; /* between hosts, from this size on */

/* Up to this size the shortest of the repeats counts, not the median: when a small message takes a thousand times as
 * long, another program has had the core for its time slice. */
enum { SMALL = 65536 };

static const enum schedule_algorithm kinds[] = {SCHEDULE_RING_ALL_REDUCE, SCHEDULE_RING_REDUCE_SCATTER,
                                                SCHEDULE_RING_ALL_GATHER};
enum { KINDS = sizeof kinds / sizeof *kinds };

/* In a step, a collective finds most of its data outside the cache. Each repeat therefore takes the next place in
 * memory that is larger than the caches, on large pages as the device's arena is. */
#define PLACES_BYTES ((int64_t)96 << 20)
#define LARGE_PAGE ((int64_t)2 << 20)

int calibrate_links_tasks(const struct calibration *k)
{
	return (k->communicator ? SIZES : 0) + (k->between ? 2 : 0) + (k->ranks > 1);
}

/* ---- the fit ---- */

static struct rate fit_latency(const struct link_sample *samples, int count)
{
	int64_t values[SAMPLES_MOST], least = INT64_MAX;
	int n = 0;
	for (int i = 0; i < count; i++)
		least = samples[i].bytes < least ? samples[i].bytes : least;
	for (int i = 0; i < count && n < SAMPLES_MOST; i++)
		if (samples[i].bytes == least)
			values[n++] = samples[i].ns / samples[i].rounds;
	return calibrate_rate(0, values, n);
}

/* Fits the samples that send at least `least` bytes a round. */
static struct rate fit_bandwidth(const struct link_sample *samples, int count, int64_t latency, int64_t least)
{
	int64_t values[SAMPLES_MOST];
	int n = 0;
	for (int i = 0; i < count && n < SAMPLES_MOST; i++) {
		/* On a busy machine a small message may take as long as a large one. At least half of a large one is
		 * moving. */
		int64_t round = samples[i].ns / samples[i].rounds, moving = round - latency;
		moving = moving > round / 2 ? moving : round / 2;
		if (samples[i].bytes >= least)
			values[n++] = (int64_t)((double)samples[i].bytes * 1e9 / (double)(moving > 0 ? moving : 1));
	}
	return calibrate_rate(0, values, n);
}

void link_fit(const struct link_sample *samples, int count, struct link *out)
{
	int64_t most = 0;
	for (int i = 0; i < count; i++)
		most = samples[i].bytes > most ? samples[i].bytes : most;
	out->latency = fit_latency(samples, count);
	out->bandwidth = fit_bandwidth(samples, count, out->latency.value, most / 4);
}

/* ---- collectives ---- */

struct collectives {
	struct calibration *k;
	struct communicator *between;
	unsigned char *memory; /* of PLACES_BYTES, then the staging */
	int64_t place;
};

static float *next_place(struct collectives *c, int64_t elements)
{
	int64_t bytes = (elements * (int64_t)sizeof(float) + 63) / 64 * 64;
	if (c->place + bytes > PLACES_BYTES)
		c->place = 0;
	float *place = (float *)(c->memory + c->place);
	c->place += bytes;
	return place;
}

/* Elements of the whole, rounded down to a multiple of the ranks. */
static int64_t elements_of(const struct collectives *c, int64_t bytes)
{
	return bytes / (int64_t)sizeof(float) / c->between->ranks * c->between->ranks;
}

static enum status run_one(struct collectives *c, enum schedule_algorithm algorithm, int64_t elements, bool spin,
                           int64_t *ns, int64_t *processor_ns)
{
	struct communicator *m = c->between;
	struct collective what = {.algorithm = algorithm,
	                          .elements = elements,
	                          .whole = next_place(c, elements),
	                          .part = next_place(c, elements / m->ranks), /* plans keep shards apart */
	                          .staging = c->memory + PLACES_BYTES};
	struct traffic traffic;
	struct timespec a, b;
	m->ops->spin(m, spin);
	calibrate_meet(c->k);
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &a);
	int64_t begin = clock_ns();
	enum status s = m->ops->run(m, &what, &traffic);
	*ns = clock_ns() - begin;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &b);
	*processor_ns = (int64_t)(b.tv_sec - a.tv_sec) * 1000000000 + (b.tv_nsec - a.tv_nsec);
	m->ops->spin(m, false);
	if (!s) /* the slowest rank counts */
		CALIBRATE_WAITS(MPI_Allreduce(MPI_IN_PLACE, ns, 1, MPI_INT64_T, MPI_MAX, c->k->group));
	return s;
}

/* As many repeats as time allows, at least three, and the same number on all ranks. The shortest of the small ones
 * counts, so they need enough repeats for one to fall between other processes' time slices. */
static int repeats_of(const struct collectives *c, int64_t elements, int64_t ns)
{
	enum { LEAST = 3, QUICK_REPEATS = 9, LONG_REPEATS = 31 };
	bool quick = c->k->options->quick && elements > SMALL / (int64_t)sizeof(float);
	int64_t budget = quick ? QUICK_NS : LONG_NS, most = quick                                       ? QUICK_REPEATS
	                                                    : elements > SMALL / (int64_t)sizeof(float) ? LONG_REPEATS
	                                                                                                : REPEATS_MOST;
	int64_t fit = budget / (ns > 0 ? ns : 1);
	return (int)(fit < LEAST ? LEAST : fit > most ? most : fit);
}

static enum status run_repeats(struct collectives *c, enum schedule_algorithm algorithm, int64_t elements, bool spin,
                               struct rate *ns, struct rate *processor_ns)
{
	int64_t wall[REPEATS_MOST], processor[REPEATS_MOST];
	enum status s = run_one(c, algorithm, elements, spin, wall, processor); /* warms up */
	int repeats = s ? 0 : repeats_of(c, elements, wall[0]);
	for (int i = 0; i < repeats && !s; i++)
		s = run_one(c, algorithm, elements, spin, &wall[i], &processor[i]);
	if (s)
		return s;
	*ns = calibrate_rate(0, wall, repeats);
	*processor_ns = calibrate_rate(0, processor, repeats);
	return STATUS_OK;
}

/* Measures the share of a core that a collective takes while others compute. It sleeps between its polls then. */
static enum status measure_cores(struct collectives *c, int64_t elements, struct cluster *out)
{
	struct rate alone, busy, spun, processor;
	enum status s = run_repeats(c, SCHEDULE_RING_ALL_REDUCE, elements, true, &alone, &spun);
	if (!s)
		s = run_repeats(c, SCHEDULE_RING_ALL_REDUCE, elements, false, &busy, &processor);
	if (s)
		return s;
	int64_t shares[] = {processor.value, processor.low, processor.high};
	for (int i = 0; i < 3; i++) {
		shares[i] = (int64_t)((double)shares[i] / (double)alone.value * MILLION);
		shares[i] = shares[i] < MILLION / 100 ? MILLION / 100 : shares[i] > MILLION ? MILLION : shares[i];
	}
	out->collective_cores = rate_measured(shares[0], shares[1], shares[2]);
	return STATUS_OK;
}

/* The samples of one kind after those of the other. */
struct samples {
	struct link_sample list[SAMPLES_MOST];
	int count;
};

static enum status measure_size(struct collectives *c, enum schedule_algorithm kind, int64_t bytes, struct samples *out)
{
	int64_t elements = elements_of(c, bytes);
	struct schedule schedule = {kind, c->between->ranks, 0, elements, 0};
	struct rate ns, processor;
	enum status s = run_repeats(c, kind, elements, true, &ns, &processor);
	if (!s)
		out->list[out->count++] =
		        (struct link_sample){.rounds = schedule_rounds(&schedule),
		                             .bytes = elements / c->between->ranks * (int64_t)sizeof(float),
		                             .ns = bytes <= SMALL ? ns.low : ns.value};
	return s;
}

/* Between the ranks of one machine. */
static enum status measure_link(struct collectives *c, struct cluster *out)
{
	struct samples samples = {.count = 0};
	enum status s = STATUS_OK;
	for (int i = 0; i < SIZES && !s; i++) {
		calibrate_progress(c->k, "collectives");
		for (int kind = 0; kind < KINDS && !s; kind++)
			s = measure_size(c, kinds[kind], sizes[i], &samples);
	}
	if (s)
		return s;
	link_fit(samples.list, samples.count, &out->link);
	return measure_cores(c, elements_of(c, sizes[BUSY_SIZE]), out);
}

/* Half of a small message's way there and back, between the first two hosts while the others sleep: where hosts share
 * cores, all of them at once would measure how they take turns. */
static struct rate measure_latency(const struct collectives *c)
{
	enum { PINGS = 64 };
	MPI_Comm hosts = c->k->group;
	int64_t ns[PINGS];
	char ball[8] = "";
	int rank = c->between->rank, other = !rank;
	communicator_deadline("calibrating");
	for (int i = 0; i < PINGS + 1 && rank < 2; i++) { /* the first connects */
		int64_t begin = clock_ns();
		if (!rank)
			MPI_Send(ball, sizeof ball, MPI_BYTE, other, i, hosts);
		MPI_Recv(ball, sizeof ball, MPI_BYTE, other, i, hosts, MPI_STATUS_IGNORE);
		if (rank)
			MPI_Send(ball, sizeof ball, MPI_BYTE, other, i, hosts);
		ns[i ? i - 1 : 0] = (clock_ns() - begin) / 2;
	}
	communicator_deadline_end();
	calibrate_sleep(hosts);
	struct rate way = rank < 2 ? calibrate_rate(0, ns, PINGS) : rate_assumed(0);
	return rank < 2 ? rate_measured(way.low, way.low, way.high) : way; /* the shortest counts, as of SMALL ones */
}

/* By all sizes that steps send: large messages overfill a cable's queue and lose packets, small ones do not. */
static enum status measure_bandwidth(struct collectives *c, enum schedule_algorithm kind, int64_t latency,
                                     struct rate *out)
{
	struct samples samples = {.count = 0};
	enum status s = STATUS_OK;
	for (int i = NETWORK_SIZES; i < SIZES && !s; i++)
		s = measure_size(c, kind, sizes[i], &samples);
	if (!s)
		*out = fit_bandwidth(samples.list, samples.count, latency, 0);
	return s;
}

/* Between machines, where an all-gather only sends and receives, and sums may be another matter. */
static enum status measure_network(struct collectives *c, struct cluster *out)
{
	calibrate_progress(c->k, "all-gathers between hosts");
	out->rails = 1;
	out->network.latency = measure_latency(c);
	int64_t latency = out->network.latency.value;
	enum status s = measure_bandwidth(c, SCHEDULE_RING_ALL_GATHER, latency, &out->network.bandwidth);
	calibrate_progress(c->k, "sums between hosts");
	if (!s)
		s = measure_bandwidth(c, SCHEDULE_RING_REDUCE_SCATTER, latency, &out->network_sum);
	/* Without a link inside hosts, a collective's share of a core is that of one between them. */
	return s || c->k->communicator ? s : measure_cores(c, elements_of(c, sizes[BUSY_SIZE]), out);
}

/* ---- the way to the communication thread and back ---- */

struct hand_over {
	int64_t there[512], back[512];
	int there_count, back_count;
};

static int64_t end_of(const struct timed_run *r, int op)
{
	int64_t begin, end;
	executor_span(r->executor, op, &begin, &end);
	return end;
}

/* Takes collectives that waited for a computation, and computations that waited for a collective, if they did not wait
 * for their own queue. */
static void collect_hand_over(void *context, const struct timed_run *r)
{
	struct hand_over *h = context;
	int64_t last[QUEUE_COUNT] = {0};
	for (int i = r->step->begin; i < r->step->end; i++) {
		const struct op *op = &r->device.rank->role->ops[i];
		int64_t begin, end, ready = -1;
		if (op_class(op->kind) == OP_CLASS_M)
			continue;
		for (int a = 0; a < op->after_count; a++)
			if (op_class(r->device.rank->role->ops[op->after[a]].kind) != OP_CLASS_M &&
			    end_of(r, op->after[a]) > ready)
				ready = end_of(r, op->after[a]);
		executor_span(r->executor, i, &begin, &end);
		bool communicates = op->queue == QUEUE_COMMUNICATION;
		int *count = communicates ? &h->there_count : &h->back_count;
		if (ready > last[op->queue] && *count < (int)(sizeof h->there / sizeof *h->there))
			(communicates ? h->there : h->back)[(*count)++] = begin - ready;
		last[op->queue] = end;
	}
}

struct rate calibrate_there_and_back(struct rate there, struct rate back)
{
	return rate_measured(there.value + back.value, there.low + back.low, there.high + back.high);
}

static enum status measure_hand_over(const struct calibration *k, struct communicator *m, struct cluster *out)
{
	static const struct timed_case tiny = {"mlp:sizes=16-16-16-10", "fsdp", 1, TYPE_FP32};
	struct timed_run r;
	struct hand_over h = {.there_count = 0};
	enum status s = timed_run_open(&r, &tiny, m);
	if (!s)
		s = calibrate_steps(&r, k, 0.2, true, collect_hand_over, &h);
	timed_run_release(&r);
	if (s || !h.there_count || !h.back_count)
		return s;
	out->collective_launch = calibrate_there_and_back(calibrate_rate(0, h.there, h.there_count),
	                                                  calibrate_rate(0, h.back, h.back_count));
	return STATUS_OK;
}

/* Those in `group` measure, the others sleep until they have. */
static enum status measure_among(struct collectives *c, MPI_Comm group, struct communicator *m,
                                 enum status (*measure)(struct collectives *c, struct cluster *out))
{
	enum status s = STATUS_OK;
	if (m) {
		calibrate_gather(c->k, group);
		c->between = m;
		s = measure(c, c->k->cluster);
	}
	calibrate_wait(c->k);
	return s;
}

static enum status measure_thread(struct collectives *c, struct cluster *out)
{
	calibrate_progress(c->k, "the communication thread");
	return measure_hand_over(c->k, c->between, out);
}

static enum status measure_all(struct collectives *c)
{
	struct calibration *k = c->k;
	enum status s = measure_among(c, k->node, k->communicator, measure_link);
	if (!s)
		s = measure_among(c, k->hosts, k->between, measure_network);
	int several = k->communicator != NULL; /* on the first machine, whose figures these are */
	CALIBRATE_WAITS(MPI_Bcast(&several, 1, MPI_INT, 0, MPI_COMM_WORLD));
	if (!s && several)
		return measure_among(c, k->node, k->communicator, measure_thread);
	return s ? s : measure_among(c, k->hosts, k->between, measure_thread);
}

enum status calibrate_links(struct calibration *k)
{
	size_t bytes = (size_t)(PLACES_BYTES + SCHEDULE_STAGING_BYTES + LARGE_PAGE);
	void *mapped = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (mapped == MAP_FAILED)
		return status_fail(STATUS_MEMORY, "no memory for %lld bytes to send between ranks", (long long)bytes);
	struct collectives c = {k, NULL, (unsigned char *)mapped + (-(uintptr_t)mapped & (uintptr_t)(LARGE_PAGE - 1)),
	                        0};
	(void)madvise(c.memory, bytes - (size_t)LARGE_PAGE, MADV_HUGEPAGE); /* without large pages, ordinary ones do */
	memset(c.memory, 0, bytes - (size_t)LARGE_PAGE);
	enum status s = measure_all(&c);
	munmap(mapped, bytes);
	return s;
}
