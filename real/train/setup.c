/* Sets a run up: model, plan, data. Every fault of the input is found here, before any rank starts. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "real/rank/disk.h"

#include "real/communicator/kind.h"
#include "real/train/internal.h"
#include "strategy/base/number.h"
#include "strategy/base/path.h"
#include "strategy/base/work.h"
#include "strategy/strategies/strategy.h"

enum { TEXT_VALIDATION_SAMPLES = 256 };
enum { LOSSES_KEPT = 16384, TIMES_KEPT = 4096 };

static enum status make_plan(struct training *t)
{
	const struct train_options *o = t->options;
	enum status s;
	work_set_threads(o->threads);
	if (o->plan_file) {
		s = plan_read_file(&t->plan, &t->model, o->plan_file);
	} else {
		s = model_open(&t->model, o->settings.model, o->settings.sequence);
		if (!s)
			s = plan_compile(&t->plan, &t->model, &o->settings);
	}
	return s ? s : plan_verify(&t->plan, NULL);
}

static enum status check_runnable(const struct training *t)
{
	const struct plan *p = &t->plan;
	if (t->model.is_abstract)
		return status_fail(STATUS_INPUT,
		                   "{model} %s has model states only and cannot be trained; use it with sim",
		                   t->model.name);
	if (t->model.only_simulated)
		return status_fail(STATUS_INPUT, "{model} %s cannot be trained: %s", t->model.specification,
		                   t->model.only_simulated);
	if (t->options->steps < 1 || t->options->steps > 100000000)
		return status_fail(STATUS_INPUT, "{steps}: %" PRId64 " is not between 1 and 100000000",
		                   t->options->steps);
	TRY(software_check_runs(p->settings.software));
	if (p->settings.fp8)
		return status_fail(STATUS_INPUT, "{fp8}: products in fp8 are simulated only; leave it out, or say "
		                                 "{precision} bf16");
	const char *comm = t->options->communicator;
	const struct communicator_kind *kind = communicator_kind(comm);
	if (!kind)
		return status_fail(STATUS_INPUT, "{comm}: unknown communicator '%s'; known: ring, mpi, nccl", comm);
	const struct device_table *table;
	TRY(device_find(t->options->device, &table));
	if (p->settings.reproducible && strcmp(t->options->device, "cpu") != 0)
		return status_fail(
		        STATUS_INPUT,
		        "{reproducible}: exact sums of losses and norms are made by the CPU; use {device} cpu");
	if (p->settings.library_collectives && p->ranks > 1 && !kind->library)
		return status_fail(
		        STATUS_INPUT,
		        "{comm} %s: this plan is for a library's collectives and has no staging for ours; use "
		        "{comm} mpi",
		        comm);
	return STATUS_OK;
}

/* Values can be read only if communicators run on this process's memory. */
static enum status check_values(const struct training *t)
{
	const struct plan *p = &t->plan;
	if (!t->options->values)
		return STATUS_OK;
	if (!t->options->trace_file)
		return status_fail(STATUS_INPUT, "{values}: they are written to a trace; give {trace} FILE too");
	if (strcmp(t->options->device, "cpu") != 0)
		return status_fail(STATUS_INPUT, "{values}: they are read from memory of the host; use {device} cpu");
	for (int r = 0; r < p->role_count; r++)
		for (int i = p->roles[r].step.begin; i < p->roles[r].step.end; i++)
			if (trace_values_of(p, &p->roles[r].ops[i]))
				return STATUS_OK;
	return status_fail(STATUS_INPUT, "{values}: the plan has no collective of 2 to %d ranks", TRACE_VALUE_RANKS);
}

struct device_choice training_device(const struct training *t)
{
	const struct train_options *o = t->options;
	return (struct device_choice){.name = o->device,
	                              .guard = o->guard,
	                              .folder = o->offload_folder,
	                              .collectives = o->communicator,
	                              .eager = o->no_graph || o->trace_file,
	                              .autotune = o->autotune,
	                              .products = o->products,
	                              .attention = o->attention,
	                              .tf32 = o->tf32,
	                              .local_rank = t->local_rank,
	                              .local_ranks = t->local_ranks};
}

/* Weights of a model with a tokenizer know what its ids mean, and the bytes of a text are none of them. */
static bool weights_have_tokenizer(const struct training *t)
{
	return t->model.is_text && t->model.classes != DATASET_VOCABULARY &&
	       path_folder_has(t->options->init, "tokenizer.json");
}

static enum status check_weights_have_data(const struct training *t)
{
	const struct train_options *o = t->options;
	if (o->data || !weights_have_tokenizer(t))
		return STATUS_OK;
	return status_fail(STATUS_INPUT,
	                   "{init} %.200s: weights with a vocabulary of %" PRId64 " go on with ids of their own "
	                   "tokenizer: give {data} DIR with such ids, which tools/tokenize.py makes (docs/data.md)",
	                   o->init, t->model.classes);
}

static enum status open_data(struct training *t)
{
	const struct model *m = &t->model;
	struct dataset_spec spec = {.kind = m->is_text ? DATASET_TEXT : DATASET_IMAGES,
	                            .path = t->options->data,
	                            .type = t->options->data_type,
	                            .ids_alone = weights_have_tokenizer(t),
	                            .tokens = m->tokens,
	                            .pixels = m->input_elements,
	                            .classes = m->classes};
	enum status s = check_weights_have_data(t);
	if (!s)
		s = dataset_open(&t->data, &spec);
	if (s)
		return s;
	t->validation_samples = t->data.validation_samples;
	if (m->is_text && t->validation_samples > TEXT_VALIDATION_SAMPLES)
		t->validation_samples = TEXT_VALIDATION_SAMPLES;
	if (t->options->eval_every && !t->validation_samples)
		return status_fail(STATUS_INPUT, "{eval_every}: the data has no validation samples; leave it out");
	return STATUS_OK;
}

enum status training_prepare(struct training *t, const struct train_options *o)
{
	*t = (struct training){.options = o, .ranks = 1, .validation_loss = NAN, .validation_accuracy = NAN};
	enum status s = make_plan(t);
	if (s || (s = check_runnable(t)) || (s = check_values(t)) || (s = open_data(t)) ||
	    (s = training_open_init(t)) || (s = training_open_resume(t)))
		return s;
	series_begin(&t->losses, sizeof(double), LOSSES_KEPT);
	series_begin(&t->times, sizeof(struct times), TIMES_KEPT);
	series_begin(&t->gaps, sizeof(int64_t), TIMES_KEPT);
	return STATUS_OK;
}

void training_release(struct training *t)
{
	training_checkpoint_release(t); /* its thread reads what the device has */
	device_release(&t->device);
	communicator_close(t->communicator);
	arrivals_release(&t->arrivals);
	model_weights_release(&t->init);
	weights_writer_release(&t->save);
	dataset_release(&t->data);
	plan_release(&t->plan);
	model_release(&t->model);
	series_release(&t->losses);
	series_release(&t->times);
	series_release(&t->gaps);
	*t = (struct training){0};
}

struct train_options train_options_default(void)
{
	return (struct train_options){.settings = settings_default(),
	                              .steps = 100,
	                              .device = "cpu",
	                              .communicator = "ring",
	                              .threads = 1,
	                              .evaluate = true};
}

/* The ranks that are about to start share a machine, and the folder: there must be room for all of them. */
static enum status check_folder(const struct training *t)
{
	const char *folder = t->options->offload_folder;
	struct disk *disk = NULL;
	int64_t bytes = 0, all;
	for (int i = 0; i < t->plan.role_count; i++) {
		struct layout l;
		layout_make(&l, &t->plan, &t->plan.roles[i], 0);
		if (!multiply(l.arena_bytes[SPACE_DISK], t->plan.roles[i].ranks, &all) ||
		    __builtin_add_overflow(bytes, all, &bytes))
			bytes = INT64_MAX; /* no disk has that */
		layout_release(&l);
	}
	if (!bytes)
		return !folder || !*folder ? STATUS_OK
		                           : status_fail(STATUS_INPUT,
		                                         "{offload_folder} %.200s: the plan keeps nothing on disk; say "
		                                         "{offload} optimizer:to=disk, or leave the folder out",
		                                         folder);
	enum status s = disk_open(&disk, folder, bytes);
	disk_close(disk);
	return s;
}

enum status train_look(const struct train_options *o, struct train_found *out)
{
	struct training t;
	enum status s = training_prepare(&t, o);
	if (!s)
		s = training_check_vocabulary(&t);
	if (!s)
		s = check_folder(&t);
	if (!s) {
		struct device_choice choice = training_device(&t);
		int rank, ranks;
		choice.eager = o->no_graph;
		if (!train_under_mpi(&rank, &ranks)) /* then they will all be started here */
			choice.local_ranks = (int)t.plan.ranks;
		s = device_check(&choice, &t.plan);
	}
	if (!s)
		s = training_save_check(&t);
	if (!s)
		s = training_checkpoint_check(&t);
	if (!s) {
		snprintf(out->data, sizeof out->data, "%s", t.data.words);
		out->bytes_as_ids = !strcmp(t.data.type, "bytes") && t.model.classes > DATASET_VOCABULARY;
	}
	training_release(&t);
	return s;
}

enum status train_check(const struct train_options *o)
{
	struct train_found found;
	return train_look(o, &found);
}

bool train_under_mpi(int *rank, int *ranks)
{
	static const char *const pairs[][2] = {
	        {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
	        {"PMI_RANK", "PMI_SIZE"},
	        /* srun --mpi=pmix; a batch script alone has SLURM_PROCID, but not this */
	        {"PMIX_RANK", "SLURM_STEP_NUM_TASKS"}};
	for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
		const char *r = getenv(pairs[i][0]), *n = getenv(pairs[i][1]);
		if (!r || !n)
			continue;
		*rank = atoi(r);
		*ranks = atoi(n);
		return true;
	}
	return false;
}
