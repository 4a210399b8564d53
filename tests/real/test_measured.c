/* A report of a run says what was measured, and not what the plan says: a communicator that counts otherwise, or
 * figures of ranks that are made up, show in it. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "real/train/internal.h"
#include "strategy/base/clock.h"
#include "tests/support/images.h"
#include "tests/support/plan_check.h"
#include "tests/support/suite.h"
#include "tests/support/trainer.h"

static const char text_file[] = "tests/golden/text.txt";

/* ---- a communicator that moves what rank 0 has, and counts as it is told ---- */

struct stand_in {
	struct communicator public;              /* first */
	int64_t handed, sent, received, staging; /* the excess that a call counts */
};

static enum status stand_in_run(struct communicator *c, const struct collective *what, struct traffic *traffic)
{
	const struct stand_in *s = (const struct stand_in *)c;
	int64_t bytes = type_bytes(what->type), part = what->elements / c->ranks * bytes;
	struct schedule schedule = {what->algorithm, c->ranks, what->root, what->elements, 0};
	for (int r = 0; r < c->ranks && what->part && what->algorithm == SCHEDULE_RING_ALL_GATHER; r++)
		memmove((char *)what->whole + r * part, what->part, (size_t)part);
	if (what->part && what->algorithm == SCHEDULE_RING_REDUCE_SCATTER)
		memmove(what->part, what->whole, (size_t)part);
	*traffic = (struct traffic){.handed_bytes = what->elements * bytes + s->handed,
	                            .staging_bytes = s->staging,
	                            .sent_bytes = schedule_sent(&schedule, c->rank) * bytes + s->sent,
	                            .received_bytes = schedule_received(&schedule, c->rank) * bytes + s->received,
	                            .counted = true};
	return STATUS_OK;
}

static enum status stand_in_sum(struct communicator *c, double *values, int n, struct traffic *traffic)
{
	int64_t bytes = n * (int64_t)sizeof *values;
	(void)c;
	*traffic =
	        (struct traffic){.handed_bytes = bytes, .sent_bytes = bytes, .received_bytes = bytes, .counted = true};
	return STATUS_OK;
}

enum { LATE_NS = 50000000 };

/* The other end comes late, and then the message takes no time. */
static enum status late_message(struct communicator *c, const struct point_to_point *what, struct traffic *traffic)
{
	(void)c;
	memset(what->at, 0, what->sends ? 0 : (size_t)what->bytes);
	nanosleep(&(struct timespec){.tv_nsec = LATE_NS}, NULL);
	*traffic = (struct traffic){.handed_bytes = what->bytes, .counted = true, .began_ns = clock_ns()};
	return STATUS_OK;
}

static void stand_in_spin(struct communicator *c, bool spin)
{
	(void)c;
	(void)spin;
}

static const struct communicator_ops stand_in_ops = {
        .name = "stand-in", .run = stand_in_run, .sum = stand_in_sum, .message = late_message, .spin = stand_in_spin};

/* ---- rank 0 of two ---- */

#define ZERO3                                                                                                          \
	"gpt:layers=1,width=16,heads=2,context=8 zero3 ranks=2 micro_batch=3 accumulate=2 clip=1 offload=optimizer"

struct run {
	struct trainer trainer;
	struct stand_in communicator;
	struct train_options options;
	struct training training;
	struct times times[5];
	int64_t gaps[5];
	struct report planned;
};

static void run_open(struct run *r, const struct stand_in *counts)
{
	static const int64_t steps[] = {700, 100, 900, 300, 500};
	double loss;
	*r = (struct run){.communicator = *counts, .options = train_options_default()};
	r->communicator.public = (struct communicator){&stand_in_ops, 0, 2};
	const struct plan *p = made_plan(ZERO3);
	ck_assert_int_eq(trainer_open_among(&r->trainer, p, text_file, false, &r->communicator.public), STATUS_OK);
	ck_assert_int_eq(trainer_step(&r->trainer, &loss), STATUS_OK);
	ck_assert(isfinite(loss));
	for (int i = 0; i < 5; i++) {
		r->gaps[i] = steps[i] + 20;
		r->times[i] = (struct times){.step = steps[i], .compute = steps[i] / 10, .exposed = steps[i] / 100};
	}
	r->training = (struct training){.options = &r->options,
	                                .ranks = 2,
	                                .model = *p->model,
	                                .plan = *p,
	                                .device = {.rank = &r->trainer.device, .executor = r->trainer.executor},
	                                .steps_done = 5,
	                                .times = {.items = r->times, .count = 5},
	                                .gaps = {.items = r->gaps, .count = 5}};
	report_from_plan(&r->planned, p);
	report_add_ranks(&r->planned, p);
}

static void run_close(struct run *r)
{
	report_release(&r->planned);
	trainer_release(&r->trainer);
}

/* The report of two ranks that both did what rank 0 did. */
static void report_twice(struct run *r, struct report *out)
{
	struct rank_figures all[2];
	training_figures(&r->training, &all[0]);
	all[1] = all[0];
	training_merge(&r->training, all, out);
}

/* Measured less planned, of traffic that is not control: `each` bytes a call. */
static void assert_off(const struct report_traffic *measured, const struct report_traffic *planned,
                       const struct stand_in *each)
{
	for (int k = 0; k < TRAFFIC_COUNT; k++) {
		const struct report_traffic *m = &measured[k], *p = &planned[k];
		int64_t off = k == TRAFFIC_CONTROL ? 0 : p->calls;
		ck_assert_int_eq(m->calls, p->calls);
		ck_assert_int_eq(m->payload_bytes - p->payload_bytes, off * each->handed);
		ck_assert_int_eq(m->sent_bytes - p->sent_bytes, off * each->sent);
		ck_assert_int_eq(m->received_bytes - p->received_bytes, off * each->received);
	}
}

START_TEST(a_communicators_counts_are_reported)
{
	static const struct stand_in cases[] = {
	        {.handed = 0}, {.handed = -8}, {.sent = 1}, {.received = -1}, {.staging = 77}};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct run r;
		struct report measured;
		run_open(&r, &cases[i]);
		report_twice(&r, &measured);
		assert_off(measured.roles[0].by_kind, r.planned.roles[0].by_kind, &cases[i]);
		for (int rank = 0; rank < 2; rank++)
			assert_off(measured.by_rank[rank].by_kind, r.planned.by_rank[rank].by_kind, &cases[i]);
		int64_t calls = 0;
		for (int k = 0; k < TRAFFIC_COUNT; k++)
			calls += k == TRAFFIC_CONTROL ? 0 : r.planned.roles[0].by_kind[k].calls;
		ck_assert_int_gt(calls, 10);
		ck_assert_int_eq(measured.roles[0].sent_bytes - r.planned.roles[0].sent_bytes, calls * cases[i].sent);
		ck_assert_int_eq(measured.roles[0].received_bytes - r.planned.roles[0].received_bytes,
		                 calls * cases[i].received);
		ck_assert_int_eq(measured.staging_touched_bytes, cases[i].staging);
		/* a communicator that works on less uses less memory */
		const struct report_memory *m = &measured.roles[0].memory[SPACE_DEVICE];
		const struct report_memory *p = &r.planned.roles[0].memory[SPACE_DEVICE];
		ck_assert(cases[i].handed ? m->peak_bytes < p->peak_bytes : m->peak_bytes == p->peak_bytes);
		ck_assert_int_eq(m->arena_bytes, p->arena_bytes);
		for (int k = 0; k < TRANSFER_COUNT; k++) {
			ck_assert_int_eq(measured.roles[0].transfer[k].calls, r.planned.roles[0].transfer[k].calls);
			ck_assert_int_eq(measured.roles[0].transfer[k].bytes, r.planned.roles[0].transfer[k].bytes);
		}
		report_release(&measured);
		run_close(&r);
	}
}

/* ---- figures that no plan has ---- */

static void make_up(struct rank_figures *f, int64_t seed)
{
	for (int space = 0; space < SPACE_COUNT; space++) {
		struct memory_use *m = &f->memory[space];
		*m = (struct memory_use){
		        .peak_bytes = 1000 * seed + space, .peak_op = -1, .arena_bytes = 2000 * seed + space};
		for (int c = 0; c < CATEGORY_COUNT; c++) {
			m->at_peak[c] = 3000 * seed + 10 * space + c;
			m->steady[c] = 4000 * seed + 10 * space + c;
		}
	}
	for (int k = 0; k < TRAFFIC_COUNT; k++)
		f->traffic[k] = (struct report_traffic){seed + k, 10 * seed + k, 20 * seed + k, 30 * seed + k};
	for (int k = 0; k < TRANSFER_COUNT; k++)
		f->transfer[k] = (struct transfer_count){50 * seed + k, 60 * seed + k};
	f->resident_bytes = 70 * seed;
	f->staging_bytes = 80 * seed;
	f->sent_all = 90 * seed;
	f->received_all = 95 * seed;
	f->counted = true;
	f->gap = 1250000 * seed;
	f->time = (struct times){.step = 1000000 * seed, .compute = 7 * seed, .bubble = 8 * seed};
}

static void assert_traffic(const struct report_traffic *t, int64_t seed)
{
	for (int k = 0; k < TRAFFIC_COUNT; k++) {
		ck_assert_int_eq(t[k].calls, seed + k);
		ck_assert_int_eq(t[k].payload_bytes, 10 * seed + k);
		ck_assert_int_eq(t[k].sent_bytes, 20 * seed + k);
		ck_assert_int_eq(t[k].received_bytes, 30 * seed + k);
	}
}

/* Rank `most` has the larger figures, and is the slower one. */
static void assert_made_up(struct run *r, int most)
{
	struct rank_figures all[2] = {{.resident_bytes = 0}, {.resident_bytes = 0}};
	struct report out;
	make_up(&all[most], 5);
	make_up(&all[!most], 2);
	training_merge(&r->training, all, &out);
	const struct report_role *role = &out.roles[0];
	for (int space = 0; space < SPACE_COUNT; space++) {
		const struct report_memory *m = &role->memory[space];
		ck_assert_int_eq(m->peak_bytes, 5000 + space);
		ck_assert_int_eq(m->arena_bytes, 10000 + space);
		for (int c = 0; c < CATEGORY_COUNT; c++) {
			ck_assert_int_eq(m->at_peak[c], 15000 + 10 * space + c);
			ck_assert_int_eq(m->steady[c], 20000 + 10 * space + c);
		}
		ck_assert_int_eq(out.by_rank[most].peak_bytes[space], 5000 + space);
		ck_assert_int_eq(out.by_rank[!most].arena_bytes[space], 4000 + space);
	}
	assert_traffic(role->by_kind, 5);
	assert_traffic(out.by_rank[most].by_kind, 5);
	assert_traffic(out.by_rank[!most].by_kind, 2);
	for (int k = 0; k < TRANSFER_COUNT; k++) {
		ck_assert_int_eq(role->transfer[k].calls, (most ? 100 : 250) + k);
		ck_assert_int_eq(role->transfer[k].bytes, (most ? 120 : 300) + k);
		ck_assert_int_eq(out.by_rank[1].transfer[k].calls, (most ? 250 : 100) + k);
		ck_assert_int_eq(out.by_rank[1].transfer[k].bytes, (most ? 300 : 120) + k);
	}
	ck_assert_int_eq(role->sent_bytes, 450);
	ck_assert_int_eq(role->received_bytes, 475);
	ck_assert_int_eq(out.resident_bytes, 350);
	ck_assert_int_eq(out.staging_touched_bytes, 400);
	ck_assert_int_eq(out.time.step, 5000000);
	ck_assert_int_eq(out.time.compute, 35);
	ck_assert_int_eq(out.time.bubble, 40);
	/* 2 ranks × 2 micro-batches × 3 samples × 8 tokens, from step to step in 6.25 ms */
	ck_assert_double_eq_tol(out.units_per_s, 15360, 1e-9);
	report_release(&out);
}

START_TEST(figures_of_ranks_are_merged)
{
	struct run r;
	run_open(&r, &(struct stand_in){.handed = 0});
	assert_made_up(&r, 0);
	assert_made_up(&r, 1);
	run_close(&r);
}

START_TEST(a_library_without_counts_is_reported_as_such)
{
	struct run r;
	struct rank_figures all[2];
	struct report out;
	run_open(&r, &(struct stand_in){.handed = 0});
	make_up(&all[0], 2);
	make_up(&all[1], 5);
	all[0].counted = all[1].counted = false;
	training_merge(&r.training, all, &out);
	ck_assert_int_eq(out.roles[0].sent_bytes, -1);
	ck_assert_int_eq(out.roles[0].received_bytes, -1);
	report_release(&out);
	run_close(&r);
}

/* The time of a rank is that of its median step, all parts of it. */
START_TEST(the_median_step_is_reported)
{
	struct run r;
	struct rank_figures f;
	run_open(&r, &(struct stand_in){.handed = 0});
	training_figures(&r.training, &f);
	ck_assert_int_eq(f.time.step, 500);
	ck_assert_int_eq(f.time.compute, 50);
	ck_assert_int_eq(f.time.exposed, 5);
	ck_assert_int_eq(f.gap, 520);
	run_close(&r);
}

/* A long run reports the losses that it kept, and the last in any case. */
START_TEST(losses_of_a_long_run_are_thinned_out)
{
	double kept[] = {5, 3, 1}; /* of steps 1, 3 and 5 */
	struct run r;
	run_open(&r, &(struct stand_in){.handed = 0});
	r.training.losses = (struct series){.items = kept, .count = 3, .every = 2};
	for (int64_t steps = 5; steps <= 6; steps++) {
		struct report out;
		r.training.steps_done = steps;
		r.training.loss = 6 - (double)steps;
		report_twice(&r, &out);
		ck_assert_int_eq(out.steps, steps);
		ck_assert_int_eq(out.losses_every, 2);
		ck_assert_int_eq(out.loss_count, steps - 2);
		ck_assert(out.losses[0] == 5 && out.losses[1] == 3 && out.losses[2] == 1);
		ck_assert(out.losses[out.loss_count - 1] == r.training.loss);
		report_release(&out);
	}
	run_close(&r);
}

/* To wait until the other end of a message comes is no communication: it is the pipeline's bubble. */
START_TEST(waiting_for_a_message_is_bubble)
{
	char images[256];
	struct communicator late = {&stand_in_ops, 0, 2};
	struct trainer t;
	double loss;
	ck_assert(images_make(images, sizeof images, 4, 4, 20, 10));
	ck_assert_int_eq(trainer_open_among(&t, made_plan("mlp:sizes=16-12-10 pipeline ranks=2"), images, false, &late),
	                 STATUS_OK);
	ck_assert_int_eq(trainer_step(&t, &loss), STATUS_OK);
	struct times times = executor_times(t.executor);
	ck_assert_int_ge(times.step, 2 * (int64_t)LATE_NS);
	ck_assert_int_lt(times.communication, LATE_NS);
	ck_assert_int_gt(times.bubble, LATE_NS);
	trainer_release(&t);
	images_remove(images);
}

/* ---- resident memory ---- */

static int64_t kernel_says(void)
{
	char line[256];
	long long kib = 0;
	FILE *f = fopen("/proc/self/status", "r");
	ck_assert_ptr_nonnull(f);
	while (fgets(line, sizeof line, f) && sscanf(line, "VmHWM: %lld kB", &kib) != 1)
		continue;
	fclose(f);
	return kib * 1024;
}

enum { PARENT_BYTES = 256 << 20 };

START_TEST(resident_memory_matches_the_kernels_figure)
{
	struct run r;
	struct rank_figures f;
	run_open(&r, &(struct stand_in){.handed = 0});
	int64_t before = kernel_says();
	training_figures(&r.training, &f);
	ck_assert_int_le(before, f.resident_bytes);
	ck_assert_int_le(f.resident_bytes, kernel_says());
	run_close(&r);
}

#if !defined __SANITIZE_ADDRESS__ && !defined __SANITIZE_THREAD__ /* whose shadow is resident too */
/* Whatever started the program may have had more. */
START_TEST(resident_memory_is_not_the_parents)
{
	int status = -1;
	pid_t child = fork();
	if (!child) {
		char *block = malloc(PARENT_BYTES);
		if (block)
			memset(block, 1, PARENT_BYTES);
		execl("/proc/self/exe", "test_measured", block ? "resident" : "none", (char *)NULL);
		_exit(2);
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
}
#endif

static int resident_is_small(void)
{
	struct run r;
	struct rank_figures f;
	run_open(&r, &(struct stand_in){.handed = 0});
	training_figures(&r.training, &f);
	return f.resident_bytes <= 0 || f.resident_bytes >= PARENT_BYTES;
}

int main(int argc, char **argv)
{
	return argc > 1 && !strcmp(argv[1], "resident") ? resident_is_small() : suite_run("measured", 0);
}
