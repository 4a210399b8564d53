/* How large and how long simulations are: compile, verify, simulate; each in a process of its own, of which the system
 * tells the largest memory.
 *
 *     bench_simulation [rounds]             default: 5; the median counts
 */
#define _GNU_SOURCE /* wait4 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sim/sim.h"
#include "tests/bench/bench.h"
#include "tests/support/plans.h"

enum { REPEATS_MOST = 99 };

static const struct simulation {
	const char *words;
	enum grain grain;
	double target_ms, target_mb; /* 0: none */
} simulations[] = {
        {"gpt3-175b zero3 ranks=16384 micro_batch=4 precision=bf16", GRAIN_OPERATION, 50, 100},
        {"gpt ddp ranks=64 micro_batch=4", GRAIN_MESSAGE, 1000, 0},
        {"gpt2-124m fsdp ranks=1024 micro_batch=1 precision=bf16", GRAIN_MESSAGE, 8000, 0}, /* 41 million messages */
};

struct figures {
	double compile_s, verify_s, simulate_s, step_s;
};

static enum status simulate(const struct simulation *s, struct figures *f)
{
	struct made m = {0};
	struct cluster c = {0};
	struct report r = {0};
	double begin = clock_seconds();
	enum status e = made_open_words(&m, s->words);
	double compiled = clock_seconds();
	if (!e)
		e = plan_verify(&m.plan, NULL);
	double verified = clock_seconds();
	if (!e)
		e = cluster_open(&c, "a100-80gb", m.plan.ranks);
	if (!e)
		e = sim_run(&m.plan, &c, s->grain, NULL, &r);
	*f = (struct figures){compiled - begin, verified - compiled, clock_seconds() - verified,
	                      (double)r.time.step / 1e9};
	report_release(&r);
	cluster_release(&c);
	made_release(&m);
	return e;
}

/* In a child, which sends its figures back. */
static int measure(const struct simulation *s, struct figures *f, double *mb)
{
	int ends[2], state;
	struct rusage usage;
	if (pipe(ends))
		return -1;
	fflush(stdout);
	pid_t child = fork();
	if (child < 0)
		return -1;
	if (!child) {
		enum status e = simulate(s, f);
		if (e)
			fprintf(stderr, "fatal: bench_simulation: %s: %s\n", s->words, status_message());
		_exit(e || write(ends[1], f, sizeof *f) != (ssize_t)sizeof *f);
	}
	close(ends[1]);
	ssize_t got = read(ends[0], f, sizeof *f);
	close(ends[0]);
	if (wait4(child, &state, 0, &usage) < 0 || got != (ssize_t)sizeof *f)
		return -1;
	*mb = (double)usage.ru_maxrss * 1024 / 1e6;
	return 0;
}

static int by_time(const void *a, const void *b)
{
	const struct figures *x = a, *y = b;
	double s = x->compile_s + x->verify_s + x->simulate_s, t = y->compile_s + y->verify_s + y->simulate_s;
	return (s > t) - (s < t);
}

static int bench(const struct simulation *s, int repeats)
{
	struct figures all[REPEATS_MOST];
	double mb, most_mb = 0;
	for (int i = 0; i < repeats; i++) {
		if (measure(s, &all[i], &mb))
			return -1;
		most_mb = mb > most_mb ? mb : most_mb;
	}
	qsort(all, (size_t)repeats, sizeof *all, by_time);
	const struct figures *f = &all[repeats / 2];
	double ms = 1e3 * (f->compile_s + f->verify_s + f->simulate_s);
	bool reached = ms <= s->target_ms && (!s->target_mb || most_mb <= s->target_mb);
	char limit[64] = "";
	if (s->target_mb)
		snprintf(limit, sizeof limit, ", %.0f MB", s->target_mb);
	printf("(d) %-56s by %-9s %7.1f ms, %5.1f MB   (compile %.1f, verify %.1f, simulate %.1f ms)   "
	       "target ≤ %.0f ms%s   %s\n",
	       s->words, s->grain == GRAIN_MESSAGE ? "message" : "operation", ms, most_mb, 1e3 * f->compile_s,
	       1e3 * f->verify_s, 1e3 * f->simulate_s, s->target_ms, limit, verdict(reached));
	return 0;
}

int main(int argc, char **argv)
{
	int repeats = bench_rounds(argc, argv, 5, REPEATS_MOST);
	for (size_t i = 0; i < sizeof simulations / sizeof *simulations; i++)
		if (bench(&simulations[i], repeats))
			return 2;
	return 0;
}
