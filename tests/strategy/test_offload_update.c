/* Offload: a delayed update is one that is applied a step late, and nothing else; the verifier holds plans to the lag
 * and the places that they declare. (tests/strategy/test_mutation.c breaks plans with offload as all others.) Stray
 * writes are found in every arena, files are gone as soon as they are made, and a disk that fails ends the run with a
 * line. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "kernels/kernels.h"
#include "real/rank/disk.h"
#include "tests/support/plan_check.h"
#include "tests/support/plan_edit.h"
#include "tests/support/scratch.h"
#include "tests/support/suite.h"
#include "tests/support/trainer.h"

#define GPT "gpt:layers=3,width=32,heads=2,context=16"

/* ---- the delayed update ---- */

enum { STEPS = 6 };

/* Weights of the whole model, moments, and the gradients of the step before, kept by the test. */
struct reference {
	float *weights, *first, *second, *late;
	int64_t count;
};

static float *make(int64_t n)
{
	float *p = calloc((size_t)n, sizeof *p);
	ck_assert_ptr_nonnull(p);
	return p;
}

/* W(i + 1) = Adam(W(i), g(i - 1)), the first step without one: ZeRO-Offload, section 5.2. The gradients come from a run
 * without offload, whose weights are set before every step. */
static void run_reference(const struct plan *p, double losses[STEPS], struct reference *out)
{
	struct trainer t;
	must(trainer_open(&t, p, "tests/golden/text.txt", false));
	int64_t n = p->group_elements;
	*out = (struct reference){make(n), make(n), make(n), make(n), n};
	float *weights = rank_memory_buffer(&t.device, role_buffer(t.device.role, "parameters"));
	float *gradients = rank_memory_buffer(&t.device, role_buffer(t.device.role, "gradients"));
	memcpy(out->weights, weights, (size_t)n * sizeof *weights);
	for (int step = 1; step <= STEPS; step++) {
		memcpy(weights, out->weights, (size_t)n * sizeof *weights);
		ck_assert_int_eq(trainer_step(&t, &losses[step - 1]), STATUS_OK);
		struct adamw a = {(float)p->settings.learning_rate, 0.9F, 0.999F, 1e-8F,
		                  (float)p->settings.weight_decay};
		if (step > 1 && p->settings.optimizer == OPTIMIZER_ADAMW)
			adamw_update(ELEMENT_FP32, &a, step - 1, n, out->weights, out->late, 1, out->first, out->second,
			             NULL);
		else if (step > 1)
			sgd_update(ELEMENT_FP32, (float)p->settings.learning_rate, n, out->weights, out->late, 1, NULL);
		memcpy(out->late, gradients, (size_t)n * sizeof *gradients);
	}
	trainer_release(&t);
}

START_LOOP_TEST(delayed_update_is_one_step_late, 0, 2)
{
	static const char *const settings[] = {"accumulate=1 optimizer=adamw", "accumulate=2 optimizer=sgd"};
	double expected[STEPS], loss, prompt;
	struct reference reference;
	struct trainer t, u;
	char request[200];
	snprintf(request, sizeof request, GPT " single micro_batch=3 learning_rate=0.01 bucket=16384 %s", settings[_i]);
	const struct plan *plain = right_plan("%s", request),
	                  *late = right_plan("%s offload=optimizer:delayed=yes", request);
	run_reference(plain, expected, &reference);
	must(trainer_open(&t, late, "tests/golden/text.txt", false));
	ck_assert(!trainer_open(&u, plain, "tests/golden/text.txt", false));
	for (int step = 1; step <= STEPS; step++) {
		ck_assert_int_eq(trainer_step(&t, &loss), STATUS_OK);
		ck_assert_int_eq(trainer_step(&u, &prompt), STATUS_OK);
		ck_assert_msg(loss == expected[step - 1], "step %d: loss %.9g, the reference has %.9g", step, loss,
		              expected[step - 1]);
		/* Its effect: the first two steps see the same weights, the prompt update's second does not. */
		ck_assert(step == 1 ? loss == prompt : loss != prompt);
	}
	const float *weights = rank_memory_buffer(&t.device, role_buffer(t.device.role, "parameters"));
	ck_assert_int_eq(memcmp(weights, reference.weights, (size_t)reference.count * sizeof *weights), 0);
	trainer_release(&t);
	trainer_release(&u);
	free(reference.weights);
	free(reference.first);
	free(reference.second);
	free(reference.late);
}

/* ---- the order of the update ---- */

/* Groups of the operations of one kind on a queue, one after another: of copies, those of gradients. */
static int groups_of(const struct role *r, enum op_kind kind, enum queue queue, int groups[16])
{
	int n = 0;
	for (int i = r->step.begin; i < r->step.end; i++)
		if (r->ops[i].kind == kind && r->ops[i].queue == queue) {
			ck_assert_int_lt(n, 16);
			groups[n++] = r->ops[i].group;
		}
	return n;
}

/* The host takes groups as their gradients arrive, in all that it does with them: a unit of the model's end arrives
 * first, the root unit last. */
START_LOOP_TEST(groups_are_updated_as_they_arrive, 0, 4)
{
	static const char *const strategies[] = {"zero3", "fsdp", "hybrid", "single"};
	static const enum op_kind kinds[] = {OP_OVERFLOW, OP_SQUARES, OP_ADAMW};
	int arrived[16] = {0}, done[16] = {0};
	const struct plan *p =
	        right_plan(GPT " %s ranks=%d precision=fp16 clip=1 offload=optimizer", strategies[_i], _i < 3 ? 2 : 1);
	int count = groups_of(&p->roles[0], OP_COPY, QUEUE_DEVICE_TO_HOST, arrived);
	ck_assert_int_eq(count, p->group_count);
	ck_assert_int_eq(arrived[count - 1], 0);
	ck_assert_int_eq(arrived[0], count - 1);
	for (int k = 0; k < 3; k++) {
		ck_assert_int_eq(groups_of(&p->roles[0], kinds[k], QUEUE_HOST_COMPUTE, done), count);
		ck_assert_mem_eq(done, arrived, (size_t)count * sizeof *done);
	}
}

/* ---- what the verifier holds plans to ---- */

static void forget_write(struct plan *p)
{
	int op = p->roles[0].step.end - 1;
	while (op_transfer(&p->roles[0], &p->roles[0].ops[op]) != TRANSFER_DISK_WRITE)
		op--;
	plan_drop_op(p, 0, op); /* the last: nobody waits for it */
}

#define ZERO2 GPT " zero2 ranks=2 offload="
static const struct broken broken[] = {
        {"rule 5 (gradient)", ZERO2 "optimizer", "set settings offload.delayed 1", "", NULL},
        {"rule 5 (gradient)", ZERO2 "optimizer:delayed=yes", "set settings offload.delayed 0", "", NULL},
        {"rule 2 (matching)", ZERO2 "optimizer", "set linear.forward.x space host", "", NULL},
        {"rule 2 (matching)", ZERO2 "optimizer", "set adamw queue compute", "", NULL},
        {"rule 2 (matching)", ZERO2 "optimizer", "set copy@device-to-host queue host-to-device", "", NULL},
        {"rule 6 (version)", ZERO2 "optimizer", "drop copy@host-to-device", "", NULL},
        {"rule 4 (race)", ZERO2 "optimizer", "unwait adamw", "", NULL},
        {"rule 6 (version)", ZERO2 "optimizer:to=disk", NULL, "", forget_write}};

START_LOOP_TEST(broken_plans_are_refused, 0, COUNT(broken))
{
	must_be_refused(&broken[_i]);
}

/* ---- memory and files ---- */

#define ON_DISK "gpt:layers=3,width=32,heads=2,context=16 single offload=optimizer:to=disk"

/* A stray write beside a buffer on the host, and on disk, is found. */
START_LOOP_TEST(guard_zones_in_every_arena, 0, 2)
{
	static const char *const names[] = {"gradients", "first_moment"};
	struct trainer t;
	const unsigned char byte = 1;
	must(trainer_open(&t, right_plan(ON_DISK), "tests/golden/text.txt", true));
	ck_assert_int_eq(rank_memory_check(&t.device), STATUS_OK);
	int buffer = role_buffer(t.device.role, names[_i]);
	const struct buffer *b = &t.device.role->buffers[buffer];
	ck_assert_int_eq(b->space, _i ? SPACE_DISK : SPACE_HOST);
	if (b->space == SPACE_HOST)
		((unsigned char *)rank_memory_buffer(&t.device, buffer))[buffer_bytes(b)] = byte;
	else
		ck_assert(!disk_write(t.device.disk, t.device.layout.offset[buffer] + buffer_bytes(b), &byte, 1));
	must_fail(rank_memory_check(&t.device), STATUS_RUN, names[_i]);
	trainer_release(&t);
}

START_TEST(files_have_no_name)
{
	char folder[256], text[] = "0123456789", back[sizeof text];
	struct disk *disk;
	snprintf(folder, sizeof folder, "%s/offload.XXXXXX", support_folder());
	ck_assert_ptr_nonnull(mkdtemp(folder));
	ck_assert_int_eq(disk_open(&disk, folder, 1 << 20), STATUS_OK);
	ck_assert_int_eq(folder_entries(folder), 0);
	ck_assert_int_eq(disk_write(disk, 12345, text, sizeof text), STATUS_OK);
	ck_assert_int_eq(disk_read(disk, 12345, back, sizeof back), STATUS_OK);
	ck_assert_str_eq(text, back);
	must_fail(disk_read(disk, (1 << 20) - 4, back, 8), STATUS_RUN, "the file ends");
	disk_close(disk);
	/* More than any disk has. */
	must_fail(disk_open(&disk, folder, INT64_C(1) << 60), STATUS_INPUT, "has no room");
	ck_assert_ptr_null(disk);
	ck_assert_int_eq(folder_entries(folder), 0);
	ck_assert_int_eq(rmdir(folder), 0);
	ck_assert_int_eq(disk_open(&disk, folder, 1), STATUS_INPUT);
	ck_assert_int_eq(disk_open(&disk, NULL, 1), STATUS_INPUT);
}

/* The file that this process has open in the folder, though it has no name any more. */
static int nameless_file(const char *folder)
{
	char link[64], target[512];
	for (int file = 0; file < 1024; file++) {
		snprintf(link, sizeof link, "/proc/self/fd/%d", file);
		ssize_t n = readlink(link, target, sizeof target - 1);
		target[n > 0 ? n : 0] = 0;
		if (!strncmp(target, folder, strlen(folder)) && strstr(target, "/shardlab."))
			return file;
	}
	ck_abort_msg("no file is open in %s", folder);
	return -1;
}

/* A queue's thread says so, all queues end, and the threads that waited for it too: else this would not return. */
START_LOOP_TEST(disk_that_fails_ends_the_section, 0, 2)
{
	static const char *const lines[] = {"cannot read in", "cannot write in"};
	struct trainer t;
	struct rlimit limit;
	double loss;
	signal(SIGXFSZ, SIG_IGN);
	must(trainer_open(&t, right_plan(ON_DISK), "tests/golden/text.txt", false));
	must(trainer_step(&t, &loss));
	ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &limit), 0);
	if (!_i)
		ck_assert_int_eq(ftruncate(nameless_file(support_folder()), 0), 0);
	else
		ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &(struct rlimit){0, limit.rlim_max}), 0);
	for (int again = 0; again < 2; again++) {
		enum status s = trainer_step(&t, &loss);
		must_fail(s, STATUS_RUN, lines[_i]);
	}
	setrlimit(RLIMIT_FSIZE, &limit);
	trainer_release(&t);
}

SUITE("offload update", 120)
