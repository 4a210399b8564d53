/* A step with offload against the sum of its parts, and against the step without: one rank, one thread a queue.
 *
 *     bench_offload [rounds]            default: 7
 *
 * `gpt` under zero3, 2 × 128 tokens: few, so that what is offloaded shows. The parts are what each queue of the
 * executor was busy with in that step: computing, copying both ways, the host's update, the disk. A step as long as
 * their sum hides nothing; on a machine with a core for each queue it can be as short as the longest part. The rounds
 * of all cases take turns, so that what else the machine does falls on all alike. The disk's files are in $TMPDIR, or
 * /tmp; what is written there goes to the system's cache first.
 */
#include "kernels/kernels.h"
#include "tests/bench/bench_steps.h"

enum { SAMPLES = 2, ROUNDS_MOST = 1000 };

static const struct {
	const char *offload;
	double clip;
} cases[] = {{"none", 0},
             {"optimizer", 0},
             {"optimizer", 1},
             {"optimizer:delayed=yes", 1},
             {"optimizer,parameters", 0},
             {"activations", 0},
             {"optimizer,parameters,activations", 0},
             {"optimizer:to=disk,parameters:to=disk", 0}};
enum { CASES = sizeof cases / sizeof cases[0] };

struct sample {
	int64_t step, sum, queue[QUEUE_COUNT];
};

static struct sample run(struct timed_run *r)
{
	struct sample sample = {0};
	must(executor_run(r->executor, r->step));
	sample.step = executor_times(r->executor).step;
	for (int i = r->step->begin; i < r->step->end; i++) {
		const struct op *op = &r->device.rank->role->ops[i];
		int64_t begin, end;
		executor_span(r->executor, i, &begin, &end);
		if (op_class(op->kind) == OP_CLASS_M || begin < 0)
			continue;
		sample.queue[op->queue] += end - begin;
		sample.sum += end - begin;
	}
	return sample;
}

static int by_step(const void *a, const void *b)
{
	const struct sample *x = a, *y = b;
	return (x->step > y->step) - (x->step < y->step);
}

static double ms(int64_t ns)
{
	return (double)ns * 1e-6;
}

int main(int argc, char **argv)
{
	static struct sample samples[CASES][ROUNDS_MOST];
	static struct timed_run runs[CASES];
	int rounds = bench_rounds(argc, argv, 7, ROUNDS_MOST), middle = rounds / 2;
	kernels_set_threads(1);
	for (int i = 0; i < CASES; i++) {
		bench_open(&runs[i], NULL, "gpt zero3 micro_batch=%d clip=%g offload=%s", SAMPLES, cases[i].clip,
		           cases[i].offload);
		(void)run(&runs[i]);
	}
	for (int round = 0; round < rounds; round++)
		for (int i = 0; i < CASES; i++)
			samples[i][round] = run(&runs[i]);
	printf("gpt, zero3, 1 rank, 2 × 128 tokens, fp32; milliseconds of the median step\n");
	printf("%-40s %7s %8s %7s %7s %7s %7s %8s %9s\n", "offload", "step", "compute", "to host", "from it", "host",
	       "disk", "÷ parts", "÷ without");
	for (int i = 0; i < CASES; i++) {
		qsort(samples[i], (size_t)rounds, sizeof samples[i][0], by_step);
		const struct sample *m = &samples[i][middle], *without = &samples[0][middle];
		char name[64];
		snprintf(name, sizeof name, "%s%s", cases[i].offload, cases[i].clip > 0 ? ", clipped" : "");
		printf("%-40s %7.1f %8.1f %7.1f %7.1f %7.1f %7.1f %7.2f %8.2f\n", name, ms(m->step),
		       ms(m->queue[QUEUE_COMPUTE]), ms(m->queue[QUEUE_DEVICE_TO_HOST]),
		       ms(m->queue[QUEUE_HOST_TO_DEVICE]), ms(m->queue[QUEUE_HOST_COMPUTE]), ms(m->queue[QUEUE_DISK]),
		       (double)m->step / (double)m->sum, (double)m->step / (double)without->step);
	}
	for (int i = 0; i < CASES; i++)
		timed_run_release(&runs[i]);
	return 0;
}
