/* The bubble of a pipeline, measured, and what it is made of: steps of 1F1B and of GPipe on p ranks.
 * ranks: 2 4
 *
 *     mpirun -n 2 bench_pipeline [rounds]            default: 30
 *
 * The model has p stages of three hidden layers each. A bubble here is the share of a step, from its beginning to the
 * last model kernel of all ranks, in which the rank that computes most runs no model kernel. Four are printed:
 *
 *     formula    (p-1)/(m+p-1), of p equal stages (Narayanan et al. 2021, section 2.2)
 *     kernels    the simulator's, of the same plan, where every operation takes as long as it took in the step that was
 *                measured, and messages take no time: stages that are not equal after all
 *     messages   the same where messages take what they took from when both ends had come
 *     measured   the executor's own account. What it is above `messages` is the executor's: threads that wake up late.
 *
 * All are of the fastest of the rounds, since other programs only ever make steps longer. Ranks need a core each; with
 * fewer, they wait for cores as well, and the figure says so.
 */
#define _GNU_SOURCE
#include <limits.h>
#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#include "kernels/kernels.h"
#include "sim/engine.h"
#include "tests/bench/bench_steps.h"

enum { RANKS_MOST = 16, MICRO = 64 };

struct bubbles {
	double kernels, messages, measured;
};

static int rank, ranks;

/* ---- a step as it went ---- */

/* Indexed by stage, which is the rank, and by operation of its step. */
struct step_times {
	int stages;
	struct op_time {
		int64_t begin, end; /* since its rank began; -1: takes no time */
	} * of[RANKS_MOST];
};

static struct step_times times_open(const struct plan *p)
{
	struct step_times t = {.stages = p->role_count};
	for (int i = 0; i < t.stages; i++)
		t.of[i] = bench_zeroed((size_t)(p->roles[i].step.end - p->roles[i].step.begin), sizeof *t.of[i]);
	return t;
}

static void times_release(struct step_times *t)
{
	for (int i = 0; i < t->stages; i++)
		free(t->of[i]);
}

/* All ranks' spans, at all ranks. */
static void times_gather(struct step_times *t, const struct timed_run *r)
{
	const struct section *mine = &r->plan.roles[rank].step;
	for (int i = mine->begin; i < mine->end; i++)
		executor_span(r->executor, i, &t->of[rank][i - mine->begin].begin, &t->of[rank][i - mine->begin].end);
	for (int i = 0; i < t->stages; i++) {
		const struct section *s = &r->plan.roles[i].step;
		MPI_Bcast(t->of[i], 2 * (s->end - s->begin), MPI_INT64_T, i, MPI_COMM_WORLD);
	}
}

static bool is_model_kernel(const struct role *r, int number)
{
	return op_class(r->ops[r->step.begin + number].kind) == OP_CLASS_K;
}

static double bubble(const struct plan *p, const struct step_times *t, int64_t *end)
{
	int64_t most = 0;
	*end = 0;
	for (int i = 0; i < t->stages; i++) {
		const struct role *r = &p->roles[i];
		int64_t busy = 0;
		for (int k = 0; k < r->step.end - r->step.begin; k++) {
			const struct op_time *op = &t->of[i][k];
			if (!is_model_kernel(r, k))
				continue;
			busy += op->end - op->begin;
			*end = op->end > *end ? op->end : *end;
		}
		most = busy > most ? busy : most;
	}
	return 1 - (double)most / (double)*end;
}

/* ---- the same step, simulated with its own times ---- */

static int64_t took(const struct op_time *op)
{
	return op->begin < 0 ? 0 : op->end - op->begin;
}

/* Every kernel has its time; what ranks do together has the shortest of its ends', whose rank came last. */
static void take_costs(struct engine *e, const struct step_times *t, bool messages)
{
	for (int i = 0; i < e->rendezvous.instance_count; i++)
		e->instances[i].cost = (struct cost){.ns = INT64_MAX};
	for (int i = 0; i < t->stages; i++) {
		const struct role *r = &e->plan->roles[i];
		for (int op = r->step.begin; op < r->step.end; op++) {
			int64_t ns = took(&t->of[i][op - r->step.begin]);
			int number = rendezvous_number(&e->rendezvous, r, op);
			int place = subset_place(&e->timed[i].timed, op - r->step.begin);
			if (place >= 0)
				timed_set_cost(&e->timed[i], place, &(struct cost){.ns = ns});
			if (number < 0)
				continue;
			struct cost *together = &e->instances[number].cost;
			together->ns = !messages ? 0 : ns < together->ns ? ns : together->ns;
		}
	}
}

/* On devices that share nothing, so that an operation takes what it is given. */
static double replay(const struct plan *p, const struct step_times *t, bool messages)
{
	struct step_times simulated = times_open(p);
	int64_t end;
	struct cluster c;
	struct engine e;
	must(cluster_open(&c, "a100-80gb:stack=ceiling", ranks));
	c.collective_share.value = 0;
	must(engine_init(&e, p, &c, GRAIN_OPERATION, NULL));
	take_costs(&e, t, messages);
	must(engine_run(&e));
	for (int i = 0; i < e.classes.count; i++) {
		const struct process *x = &e.processes[i];
		for (int op = x->role->step.begin; op < x->role->step.end; op++)
			if (subset_place(x->timed, op - x->role->step.begin) < 0)
				simulated.of[x->who->role][op - x->role->step.begin] = (struct op_time){-1, -1};
			else
				simulated.of[x->who->role][op - x->role->step.begin] =
				        (struct op_time){*process_begin(x, op), *process_end(x, op)};
	}
	double got = bubble(p, &simulated, &end);
	engine_release(&e);
	cluster_release(&c);
	times_release(&simulated);
	return got;
}

/* ---- */

static void open_case(struct timed_run *r, struct communicator *c, const char *strategy, int64_t micros)
{
	char model[512];
	int n = snprintf(model, sizeof model, "mlp:sizes=512");
	for (int i = 0; i < 3 * ranks; i++)
		n += snprintf(model + n, sizeof model - (size_t)n, "-512");
	bench_open(r, c, "%s %s ranks=%d micro_batch=%d accumulate=%d", model, strategy, ranks, MICRO, (int)micros);
}

static void measure(struct bubbles *out, struct communicator *c, const char *strategy, int64_t micros, int rounds)
{
	struct timed_run r;
	int64_t end, fastest = INT64_MAX;
	open_case(&r, c, strategy, micros);
	struct step_times times = times_open(&r.plan);
	must(executor_run(r.executor, r.step));
	for (int i = 0; i < rounds; i++) {
		MPI_Barrier(MPI_COMM_WORLD);
		must(executor_run(r.executor, r.step));
		times_gather(&times, &r);
		double measured = bubble(&r.plan, &times, &end);
		if (end >= fastest)
			continue;
		fastest = end;
		*out = (struct bubbles){replay(&r.plan, &times, false), replay(&r.plan, &times, true), measured};
	}
	times_release(&times);
	timed_run_release(&r);
}

int main(int argc, char **argv)
{
	static const char *const strategies[] = {"pipeline", "pipeline:schedule=gpipe"};
	int level, rounds = bench_rounds(argc, argv, 30, INT_MAX);
	MPI_Comm world = MPI_COMM_WORLD;
	struct communicator *c = NULL;
	struct bubbles b = {0};
	cpu_set_t set;
	MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &level);
	MPI_Comm_rank(world, &rank);
	MPI_Comm_size(world, &ranks);
	if (ranks < 2 || ranks > RANKS_MOST)
		bench_fail("start it on 2 to 16 ranks");
	kernels_set_threads(1);
	must(communicator_open(&c, "ring", &world));
	int cores = sched_getaffinity(0, sizeof set, &set) ? 1 : CPU_COUNT(&set);
	for (int i = 0; i < 2; i++)
		for (int64_t micros = ranks; micros <= 4 * ranks; micros *= 2) {
			measure(&b, c, strategies[i], micros, rounds);
			double formula = (ranks - 1.0) / (double)(micros + ranks - 1);
			if (!rank)
				printf("%-24s p = %d, m = %2d: bubble by formula %.3f, kernels %.3f, messages %.3f, "
				       "measured %.3f%s\n",
				       strategies[i], ranks, (int)micros, formula, b.kernels, b.messages, b.measured,
				       cores < ranks ? "   (fewer cores than ranks: they wait for those too)" : "");
		}
	communicator_close(c);
	MPI_Finalize();
	return 0;
}
