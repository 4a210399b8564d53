/* The CUDA executor on a GPU of functions (tests/support/fake_cuda.h), whose streams go on in an order that a seed
 * chooses: one rank's plans give the bits that the CPU device gives, the bytes that the plan says, and errors one line.
 *
 * The kernels behind the streams are the CPU's own, and so every bit must be the same: an operand, a wait or a slot
 * that is wrong shows in one number of many, where a comparison within rounding would pass it. What the shipped kernels
 * make of the same plans is mpi_shipped's and mpi_noisy's, and all strategies are mpi_cuda's. Here are the options of a
 * GPU alone, the graph between validations, waits taken out one at a time, overhead, and errors. */
#include <stdlib.h>
#include <string.h>

#include "cli/show/show.h"
#include "real/cpu/device.h"
#include "real/cuda/executor.h"
#include "real/cuda/library.h"
#include "real/device/device.h"
#include "tests/support/fake_cuda.h"
#include "tests/support/images.h"
#include "tests/support/measured.h"
#include "tests/support/plan_check.h"
#include "tests/support/plan_edit.h"
#include "tests/support/ranks.h"
#include "tests/support/reports.h"
#include "tests/support/suite.h"

enum { STEPS = 7 };

#define GPT "gpt:layers=2,width=32,heads=2,context=16"
#define MLP "mlp:sizes=48-33-17-10"
/* Grouped queries, norms of heads, a window shorter than the text; six heads are no power of two for ALiBi. */
#define LLAMA "llama:layers=2,width=32,heads=4,kv_heads=2,hidden=44,context=16,qk_norm=yes,window=5"
#define MPT "mpt:layers=2,width=24,heads=6,context=16,vocabulary=256"
#define OPT "opt:layers=2,width=24,heads=6,context=16,vocabulary=256,hidden=72"
static char images[256];

static void make_images(void)
{
	ck_assert(images_make(images, sizeof images, 6, 8, 60, 20));
}

static void remove_images(void)
{
	images_remove(images);
	cuda_library_use(NULL);
}

static struct train_options options_of(const char *words, const char *device)
{
	struct train_options o = train_options_default();
	struct settings asked = settings_of("%s", words);
	o.settings = settings_resolved(&asked);
	o.device = device;
	o.steps = STEPS;
	o.data = !strncmp(words, "mlp", 3) ? images : "tests/golden/text.txt";
	o.offload_folder = strstr(words, "disk") ? support_folder() : NULL;
	return o;
}

static void use_gpu(const struct fake_cuda_settings *s)
{
	cuda_library_use(fake_cuda(s));
}

static void must_be_the_same(const struct report *cpu, const struct report *cuda)
{
	ck_assert_int_eq(cuda->loss_count, STEPS);
	for (int i = 0; i < STEPS; i++)
		ck_assert_msg(!memcmp(&cpu->losses[i], &cuda->losses[i], sizeof(double)),
		              "step %d: %.17g, the CPU has %.17g", i + 1, cuda->losses[i], cpu->losses[i]);
	ck_assert_str_eq(cuda->weights_checksum, cpu->weights_checksum);
	ck_assert_msg(cuda->validation_loss == cpu->validation_loss &&
	                      cuda->validation_accuracy == cpu->validation_accuracy,
	              "validation: %.17g, the CPU has %.17g", cuda->validation_loss, cpu->validation_loss);
	ck_assert_int_eq(cuda->skipped_steps, cpu->skipped_steps);
	ck_assert_double_eq(cuda->loss_scale, cpu->loss_scale);
}

/* The run touched and moved what the plan says. */
static void must_be_as_planned(const char *words, const struct report *measured)
{
	const struct report_role *planned = &report_planned(right_plan("%s", words))->roles[0];
	compare_role(words, &measured->roles[0], planned);
	ck_assert_int_eq(ranks_failures(), 0);
	for (int space = 0; space < SPACE_COUNT; space++)
		ck_assert_int_eq(measured->roles[0].memory[space].arena_bytes, planned->memory[space].arena_bytes);
}

/* On both devices, in three orders; how many steps were replayed. */
static int64_t compare(const char *words)
{
	struct train_options o = options_of(words, "cpu");
	int64_t launches = 0;
	const struct report *cpu = report_trained(&o);
	o.device = "cuda";
	for (uint64_t seed = 0; seed < 3; seed++) {
		use_gpu(&(struct fake_cuda_settings){.seed = seed});
		const struct report *cuda = report_trained(&o);
		must_be_the_same(cpu, cuda);
		must_be_as_planned(words, cuda);
		launches = fake_cuda_counts()->launches;
		ck_assert_int_gt(fake_cuda_counts()->kernels, 0);
		ck_assert_int_eq(fake_cuda_counts()->live, 0);
	}
	return launches;
}

static const char *const replayed[] = {
        GPT " single micro_batch=4 precision=bf16 clip=0.5",
        GPT " single micro_batch=4 precision=fp16 loss_scale=65536 loss_scale_window=2 accumulate=2",
        GPT " single micro_batch=4 precision=fp16 loss_scaler=pytorch clip=1",
        GPT " single micro_batch=4 optimizer=sgd activation_checkpointing=full",
        GPT " single micro_batch=4 precision=bf16 activation_checkpointing=selective",
        MLP ",norm=batch single micro_batch=4",
        MLP " single micro_batch=4 precision=bf16",
        GPT " single micro_batch=4 precision=bf16 stochastic_rounding=yes",
        MLP " single micro_batch=4 precision=fp16 stochastic_rounding=yes optimizer=sgd",
        GPT " single micro_batch=4 offload=activations",
        LLAMA " single micro_batch=4 clip=0.5",
        LLAMA " single micro_batch=4 precision=bf16 activation_checkpointing=full",
        LLAMA ",tied=yes,bias=all fsdp micro_batch=2 precision=fp16 accumulate=2",
        MPT " single micro_batch=4 precision=bf16",
        MPT " zero3 micro_batch=2 activation_checkpointing=selective",
        OPT " single micro_batch=4 precision=fp16",
        OPT " fsdp micro_batch=2 accumulate=2",
};

START_LOOP_TEST(every_option_of_the_gpu_alone, 0, COUNT(replayed))
{
	ck_assert_int_eq(compare(replayed[_i]), STEPS - 2);
}

/* Validation between two steps takes its samples through the same slots as training. The step after it is issued anew,
 * as are the first two: of seven, the fourth and the sixth are replayed. */
START_LOOP_TEST(validating_between_steps_changes_nothing, 0, COUNT(replayed))
{
	struct train_options o = options_of(replayed[_i], "cpu");
	const struct report *cpu = report_trained(&o);
	o.device = "cuda";
	o.eval_every = 2;
	use_gpu(&(struct fake_cuda_settings){.seed = 1});
	must_be_the_same(cpu, report_trained(&o));
	ck_assert_int_eq(fake_cuda_counts()->launches, 2);
}

static const char *const with_host[] = {
        GPT " zero2 micro_batch=4 offload=optimizer",
        GPT " zero2 micro_batch=4 offload=optimizer:delayed=yes clip=1",
        GPT " zero2 micro_batch=4 offload=optimizer:to=disk precision=bf16",
        GPT " zero2 micro_batch=4 offload=optimizer precision=fp16",
        GPT " zero2 micro_batch=4 offload=optimizer precision=bf16 stochastic_rounding=yes",
        LLAMA " zero2 micro_batch=4 offload=optimizer precision=bf16",
};

/* The host's part of a step cannot be captured. */
START_LOOP_TEST(host_work_is_not_replayed, 0, COUNT(with_host))
{
	ck_assert_int_eq(compare(with_host[_i]), 0);
	ck_assert_int_gt(fake_cuda_counts()->host_calls, 0);
}

static int64_t overhead_of(const char *words, struct report_overhead *out)
{
	struct train_options o = options_of(words, "cuda");
	const struct report *report = report_trained(&o);
	*out = report->roles[0].overhead;
	int64_t bytes = report->roles[0].memory[SPACE_DEVICE].overhead_bytes, sum = 0;
	for (int i = 0; i < OVERHEAD_PARTS; i++)
		sum += out->part[i];
	ck_assert(out->measured);
	ck_assert_int_eq(sum, bytes);
	ck_assert_int_eq(out->in_use_bytes, bytes + report->roles[0].memory[SPACE_DEVICE].arena_bytes);
	struct column column = {"measured", report};
	size_t size;
	char *text = NULL;
	FILE *f = open_memstream(&text, &size);
	ck_assert_ptr_nonnull(f);
	show_overhead(&column, 1, f);
	fclose(f);
	for (int i = 0; i < OVERHEAD_PARTS; i++)
		ck_assert_msg(strstr(text, overhead_what((enum overhead_part)i)) != NULL, "%s", text);
	ck_assert_msg(strstr(text, "67.11 MB") != NULL, "%s", text); /* the workspace */
	free(text);
	return bytes;
}

/* The fake GPU's own memory, and what the executor keeps beside the arena. */
START_TEST(overhead_has_its_parts)
{
	static const struct fake_cuda_settings gpu = {.seed = 1}, shared = {.seed = 1, .devices = 1};
	struct report_overhead v;
	use_gpu(&gpu);
	overhead_of(GPT " single micro_batch=2", &v);
	ck_assert_int_eq(v.part[OVERHEAD_CONTEXT], FAKE_CONTEXT_BYTES);
	ck_assert_int_eq(v.part[OVERHEAD_WORKSPACE], CUDA_WORKSPACE_BYTES);
	ck_assert_int_eq(v.part[OVERHEAD_CUBLASLT], FAKE_CUBLASLT_BYTES);
	ck_assert_int_eq(v.part[OVERHEAD_NCCL], 0);
	ck_assert_int_eq(v.part[OVERHEAD_FIRST_USE], FAKE_CODE_BYTES);
	ck_assert_int_eq(v.part[OVERHEAD_GRAPHS], 2 * FAKE_GRAPH_BYTES); /* even and odd steps */
	ck_assert_int_gt(v.part[OVERHEAD_OTHER], 0);
	ck_assert_int_lt(v.part[OVERHEAD_OTHER], 65536);
	/* A GPU whose other half is another rank's: nobody can tell the parts apart. */
	struct device d;
	use_gpu(&shared);
	const struct device_choice choice = {.name = "cuda", .collectives = "ring", .local_ranks = 2};
	must(device_open(&d, right_plan(GPT " single micro_batch=2"), 0, NULL, &choice));
	int64_t bytes = device_overhead(&d, &v);
	ck_assert_int_gt(bytes, 0);
	ck_assert_int_eq(v.part[OVERHEAD_OTHER], bytes);
	device_release(&d);
	/* On a CPU there is none. */
	d = (struct device){.table = &cpu_device_table};
	ck_assert_int_eq(device_overhead(&d, &v), 0);
	ck_assert(!v.measured);
}

START_TEST(graphs_can_be_turned_off)
{
	struct train_options o = options_of(MLP " single micro_batch=4", "cuda");
	char trace[512];
	snprintf(trace, sizeof trace, "%s/trace.json", images);
	o.no_graph = true;
	use_gpu(&(struct fake_cuda_settings){.seed = 5});
	report_trained(&o);
	ck_assert_int_eq(fake_cuda_counts()->launches, 0);
	o.no_graph = false;
	o.trace_file = trace;
	report_trained(&o);
	ck_assert_int_eq(fake_cuda_counts()->launches, 0);
	ck_assert_int_eq(remove(trace), 0);
	o.trace_file = NULL;
	ck_assert_int_gt(report_trained(&o)->time.step, 0);
	ck_assert_int_eq(fake_cuda_counts()->launches, STEPS - 2);
}

/* ---- waits ---- */

static enum status open_plan(struct device *d, const struct plan *p, uint64_t seed, const struct input_source *input)
{
	use_gpu(&(struct fake_cuda_settings){.seed = seed});
	const struct device_choice choice = {.name = "cuda", .collectives = "ring", .folder = support_folder()};
	enum status s = device_open(d, p, 0, input, &choice);
	if (!s)
		s = device_start(d, &choice, NULL);
	return s ? s : executor_run(d->executor, &d->rank->role->prologue);
}

static void made_up(void *context, int64_t first, int64_t count, void *inputs, int32_t *targets)
{
	const struct model *m = context;
	int32_t *ids = inputs;
	for (int64_t i = 0; i < count * m->tokens; i++) {
		ids[i] = (int32_t)((first * 7 + i * 13) % m->classes);
		targets[i] = (int32_t)((first * 5 + i * 11) % m->classes);
	}
}

/* The checksum after a few steps; 0: the run failed. */
static uint64_t run_plan(const struct plan *p, uint64_t seed)
{
	struct device d = {.executor = NULL};
	struct input_source input = {.context = (void *)(uintptr_t)p->model, .training = made_up};
	enum status s = open_plan(&d, p, seed, &input);
	for (int i = 0; i < 3 && !s; i++)
		s = executor_run(d.executor, &d.rank->role->step);
	if (!s)
		s = executor_run(d.executor, &d.rank->role->epilogue);
	uint64_t sum = s ? 0 : d.rank->checksum;
	device_release(&d);
	return sum;
}

/* Taken one at a time out of a plan with four queues: each must show, in one order or another. */
START_TEST(a_missing_wait_is_noticed)
{
	enum { ORDERS = 40 };
	int dropped = 0;
	const struct plan *p =
	        right_plan("gpt:layers=1,width=16,heads=2,context=8 zero2 micro_batch=2 accumulate=2 clip=1 "
	                   "offload=optimizer:to=disk");
	uint64_t right = run_plan(p, 0);
	ck_assert_uint_ne(right, 0);
	for (uint64_t seed = 1; seed <= 5; seed++)
		ck_assert_uint_eq(run_plan(p, seed), right);
	const struct role *r = &p->roles[0];
	for (int i = r->step.begin; i < r->step.end; i++) {
		struct plan mutant;
		if (!r->ops[i].after_count || op_class(r->ops[i].kind) == OP_CLASS_M)
			continue;
		plan_copy(&mutant, p);
		plan_set_waits(&mutant, 0, i, NULL, 0);
		if (plan_verify(&mutant, NULL)) { /* a wait that others imply is no loss */
			bool differs = false;
			for (uint64_t seed = 1; seed <= ORDERS && !differs; seed++)
				differs = run_plan(&mutant, seed) != right;
			dropped++;
			ck_assert_msg(differs, "operation %d (%s) without its waits changed nothing: %s", i,
			              op_name(r->ops[i].kind), status_message());
		}
		plan_release(&mutant);
	}
	ck_assert_int_gt(dropped, 3);
}

/* ---- errors ---- */

static const struct {
	struct fake_cuda_settings gpu;
	const char *said;
} missing[] = {
        {{.devices = -1}, "there is no GPU here"},
        {{.count_error = 100}, "there is no GPU here"},
        {{.count_error = 35}, "older than this program's CUDA"},
        {{.count_error = 999}, "the driver does not answer"},
        {{.no_code = true}, "compute capability 9.0, for which this build has no code"},
        {{.memory_bytes = (64 << 20) + 300000}, "bytes, 300000 are there"},
};

START_LOOP_TEST(missing_parts_are_reported_before_the_ranks_start, 0, COUNT(missing))
{
	struct train_options o = options_of(GPT " single micro_batch=4", "cuda");
	use_gpu(&missing[_i].gpu);
	must_fail(train_check(&o), STATUS_INPUT, missing[_i].said);
}

/* Asked for, the GPU is told; and it is of fp32 on a GPU alone. */
START_TEST(tf32_needs_fp32_on_a_gpu)
{
	struct train_options o = options_of(MLP " single micro_batch=4", "cuda");
	use_gpu(&(struct fake_cuda_settings){.seed = 1});
	for (int tf32 = 0; tf32 < 2; tf32++) {
		o.tf32 = tf32;
		report_trained(&o);
		ck_assert(fake_cuda_tf32() == o.tf32);
	}
	o.settings.precision = TYPE_BF16;
	must_fail(train_check(&o), STATUS_INPUT, "tf32");
	must_fail(train_check(&o), STATUS_INPUT, "bf16");
	o = options_of(MLP " single micro_batch=4", "cpu");
	o.tf32 = true;
	must_fail(train_check(&o), STATUS_INPUT, "say device cuda");
}

/* The hint names options whose plans were compiled and fit. */
START_TEST(a_small_gpu_gets_a_hint_that_fits)
{
	static const char *const hints[] = {"1 are missing", "micro_batch 8", "activation_checkpointing full",
	                                    "offload optimizer"};
	struct train_options o = options_of(GPT " single micro_batch=16", "cuda");
	const struct plan *p = right_plan(GPT " single micro_batch=16");
	struct memory_use use;
	plan_memory(p, &p->roles[0], SPACE_DEVICE, &use);
	use_gpu(&(struct fake_cuda_settings){.memory_bytes = (64 << 20) + use.arena_bytes - 1});
	for (int i = 0; i < COUNT(hints); i++)
		must_fail(train_check(&o), STATUS_INPUT, hints[i]);
	use_gpu(&(struct fake_cuda_settings){.memory_bytes = (64 << 20) + use.arena_bytes});
	must(train_check(&o));
}

static void must_end(const struct train_options *o, enum status want, const char *said)
{
	must_fail(train_run(o, report_kept()), want, said);
	ck_assert_int_eq(fake_cuda_counts()->live, 0);
}

START_TEST(errors_end_the_run_with_one_line)
{
	struct train_options o = options_of(GPT " single micro_batch=4", "cuda");
	use_gpu(&(struct fake_cuda_settings){.no_attention = true});
	must_end(&o, STATUS_INPUT, "has no attention.forward for GPUs");
	use_gpu(&(struct fake_cuda_settings){.fail_after = 50});
	must_end(&o, STATUS_RUN, "GPU 0 (a fake GPU): ");
	must_end(&o, STATUS_RUN, "encountered; CUDA_LAUNCH_BLOCKING=1 and no_graph show where it began");
	use_gpu(&(struct fake_cuda_settings){.seed = 1});
	o.guard = true;
	must_end(&o, STATUS_INPUT, "guard");
	o.guard = false;
	o.communicator = "nccl";
	o.device = "cpu";
	must_fail(train_check(&o), STATUS_INPUT, "comm nccl moves a GPU's memory");
}

START_TEST(two_ranks_on_one_gpu_under_nccl_are_refused)
{
	struct train_options o = options_of(GPT " ddp ranks=2 micro_batch=4 collectives=library", "cuda");
	o.communicator = "nccl";
	use_gpu(&(struct fake_cuda_settings){.seed = 1});
	must_fail(train_check(&o), STATUS_INPUT, "use comm ring"); /* a missing NCCL is reported first */
}

/* An fp16 run whose loss scale cannot fall any further. */
START_TEST(the_loss_scale_ends_the_run)
{
	struct train_options o =
	        options_of(GPT " single micro_batch=4 precision=fp16 learning_rate=1e6 loss_scale=2", "cpu");
	char cpu[512];
	o.steps = 40;
	ck_assert_int_eq(train_run(&o, report_kept()), STATUS_RUN);
	snprintf(cpu, sizeof cpu, "%s", status_message());
	o.device = "cuda";
	use_gpu(&(struct fake_cuda_settings){.seed = 1});
	must_end(&o, STATUS_RUN, cpu);
}

SUITE_WITH("cuda executor", 240, make_images, remove_images)
