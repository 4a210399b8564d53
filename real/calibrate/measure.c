/* The steps, times and progress of all parts of the calibration. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "real/calibrate/internal.h"
#include "strategy/base/arena.h"
#include "strategy/base/clock.h"
#include "strategy/base/compare.h"

/* ---- waiting ---- */

static void sleep_until(MPI_Request *request)
{
	const struct timespec pause = {0, 1000000};
	int done = 0;
	communicator_deadline_to_meet("calibrating");
	for (MPI_Test(request, &done, MPI_STATUS_IGNORE); !done; MPI_Test(request, &done, MPI_STATUS_IGNORE))
		nanosleep(&pause, NULL);
	communicator_deadline_end();
}

void calibrate_sleep(MPI_Comm group)
{
	MPI_Request request;
	MPI_Ibarrier(group, &request);
	sleep_until(&request);
}

void calibrate_wait(const struct calibration *k)
{
	if (k->ranks > 1)
		calibrate_sleep(MPI_COMM_WORLD);
}

void calibrate_meet(const struct calibration *k)
{
	if (k->group_ranks > 1)
		CALIBRATE_WAITS(MPI_Barrier(k->group));
}

/* Rank 0 goes on at once; the others get what it says. */
static int say_going(const struct calibration *k, int going)
{
	MPI_Request request;
	if (k->ranks == 1)
		return going;
	MPI_Ibcast(&going, 1, MPI_INT, 0, MPI_COMM_WORLD, &request);
	sleep_until(&request);
	return going;
}

void calibrate_wait_for_first(const struct calibration *k)
{
	while (say_going(k, 0))
		continue;
}

/* ---- what is told ---- */

void calibrate_progress(struct calibration *k, const char *what)
{
	const struct calibrate_options *o = k->options;
	if (o->progress && !k->rank)
		o->progress(o->context, (double)k->tasks_done / k->tasks, what);
	k->tasks_done++;
	if (k->alone)
		say_going(k, 1);
}

void calibrate_figure(struct calibration *k, const char *name, enum calibrate_unit unit, struct rate rate)
{
	if (!k->rank)
		calibrate_figures_add(k->figures, name, unit, rate);
}

void calibrate_figures_add(struct calibrate_figures *f, const char *name, enum calibrate_unit unit, struct rate rate)
{
	f->list = array_reserve(f->list, f->count, &f->capacity, sizeof *f->list);
	struct calibrate_figure *one = &f->list[f->count++];
	*one = (struct calibrate_figure){.unit = unit, .rate = rate};
	snprintf(one->name, sizeof one->name, "%s", name);
}

void calibrate_gather(struct calibration *k, MPI_Comm group)
{
	k->group = group;
	k->group_ranks = 1;
	if (k->ranks > 1)
		MPI_Comm_size(group, &k->group_ranks);
}

/* ---- steps ---- */

enum { WARM_UP = 2, STEPS_LEAST = 3, STEPS_MOST = 400 };

enum status calibrate_steps(struct timed_run *r, const struct calibration *k, double seconds, bool together,
                            void (*seen)(void *context, const struct timed_run *r), void *context)
{
	int64_t begin = clock_ns();
	for (int i = 0; i < WARM_UP + STEPS_MOST; i++) {
		int enough = i >= WARM_UP + STEPS_LEAST && (double)(clock_ns() - begin) > seconds * 1e9;
		if (together && k->group_ranks > 1) {
			CALIBRATE_WAITS(MPI_Bcast(&enough, 1, MPI_INT, 0, k->group));
			calibrate_meet(k);
		}
		if (enough)
			break;
		TRY(executor_run(r->executor, r->step));
		if (i >= WARM_UP)
			seen(context, r);
	}
	return STATUS_OK;
}

/* ---- figures ---- */

static int64_t a_second(int64_t amount, int64_t ns)
{
	double rate = (double)amount * 1e9 / (double)(ns > 0 ? ns : 1);
	return rate < 1 ? 1 : rate > 1e18 ? INT64_C(1000000000000000000) : (int64_t)rate;
}

struct rate calibrate_rate(int64_t amount, int64_t *ns, int n)
{
	qsort(ns, (size_t)n, sizeof *ns, compare_elements);
	int64_t fastest = ns[0], median = ns[n / 2], slowest = ns[n - 1];
	if (!amount)
		return rate_measured(median, fastest, slowest);
	return rate_measured(a_second(amount, median), a_second(amount, slowest), a_second(amount, fastest));
}
