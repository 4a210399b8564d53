#include "real/cuda/device.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cuda/cudnn.h"
#include "real/communicator/kind.h"
#include "real/communicator/nccl.h"
#include "real/cuda/algorithms.h"
#include "real/cuda/fit.h"

#define TILE_BYTES ((int64_t)6 << 20)

/* CUDA's errors of a kernel that ran: every later call gives them too, so the one that tells is not the one that erred.
 */
static bool is_sticky(int error)
{
	enum { ILLEGAL_ADDRESS = 700, ASSERT = 710, HARDWARE_STACK = 714, LAUNCH_FAILURE = 719 };
	return error == ILLEGAL_ADDRESS || error == ASSERT || (error >= HARDWARE_STACK && error <= LAUNCH_FAILURE);
}

enum status cuda_device_error(const struct cuda_device *c, int error, const char *what)
{
	char said[600];
	if (!error)
		return STATUS_OK;
	enum status s = cuda_library_failed(c->api, STATUS_RUN, error, "GPU %d (%s): %s", c->gpu, c->properties.name,
	                                    status_words(what));
	if (!is_sticky(error))
		return s;
	snprintf(said, sizeof said, "%s", status_message());
	return status_fail(s, "%s; CUDA_LAUNCH_BLOCKING=1 and {no_graph} show where it began", said);
}

static bool is_nccl(const struct device_choice *choice)
{
	return choice->collectives && communicator_kind(choice->collectives)->device;
}

static enum status check_count(const struct device_choice *choice, int gpus)
{
	if (!is_nccl(choice) || choice->local_ranks <= gpus)
		return STATUS_OK;
	return status_fail(
	        STATUS_INPUT,
	        "{comm} nccl needs a GPU for each rank, and %d ranks here have %d; use {comm} ring, under which "
	        "ranks share a GPU, or fewer {ranks}",
	        choice->local_ranks, gpus);
}

static enum status check_precision(const struct device_choice *choice, const struct plan *p)
{
	if (!choice->tf32 || p->settings.precision == TYPE_FP32)
		return STATUS_OK;
	return status_fail(STATUS_INPUT,
	                   "{tf32} is how products of fp32 are computed, and {precision} is %s; leave one of them out",
	                   type_name(p->settings.precision));
}

static enum status check_choice(const struct device_choice *choice)
{
	return choice->guard ? status_fail(STATUS_INPUT, "{guard} looks after a CPU's memory; with {device} cuda, run "
	                                                 "under compute-sanitizer instead")
	                     : STATUS_OK;
}

const char *const cuda_attention_names[] = {
#define X(NAME, name) #name,
        CUDA_ATTENTION_LIST(X)
#undef X
};

static const char *const product_names[] = {
#define X(NAME, name) #name,
        CUDA_PRODUCT_LIST(X)
#undef X
};

/* The place of a rung in such a list; 0 where none is asked for. */
static int rung_of(const char *asked, const char *const *names, int count)
{
	int i = 0;
	while (asked && i < count && strcmp(names[i], asked) != 0)
		i++;
	return asked && i < count ? i : 0;
}

static enum cuda_attention attention_of(const struct device_choice *choice)
{
	return (enum cuda_attention)rung_of(choice->attention, cuda_attention_names, CUDA_ATTENTIONS);
}

/* It loads cuDNN, which is not done unless it is asked for. */
static enum status check_cudnn(const struct device_choice *choice, const struct cuda_api *api)
{
	int version = attention_of(choice) == CUDA_ATTENTION_CUDNN ? api->cudnn() : CUDNN_OLDEST;
	if (version >= CUDNN_OLDEST)
		return STATUS_OK;
	if (version)
		return status_fail(STATUS_INPUT,
		                   "{attention} cudnn: cuDNN %d.%d.%d is older than 9.10; install a newer one",
		                   version / 10000, version / 100 % 100, version % 100);
	return status_fail(
	        STATUS_INPUT,
	        "{attention} cudnn: no libcudnn.so.9 is found; install it (pip install nvidia-cudnn-cu13, or "
	        "-cu12), name it in SHARDLAB_CUDNN, or leave {attention} out");
}

static int sharing(const struct device_choice *choice, int gpus, int gpu)
{
	int ranks = choice->local_ranks > 0 ? choice->local_ranks : 1;
	return ranks / gpus + (gpu < ranks % gpus);
}

static void name_gpu(char *out, size_t size, int gpu, const struct cuda_properties *p, int sharing_ranks)
{
	int n = snprintf(out, size, "GPU %d (%.100s)", gpu, p->name);
	if (sharing_ranks > 1)
		snprintf(out + n, size - (size_t)n, ", shared by %d ranks,", sharing_ranks);
}

enum status cuda_device_find(const struct device_choice *choice, const struct cuda_api **api, int *gpus)
{
	struct cuda_properties properties;
	enum status s = check_choice(choice);
	if (s || (s = cuda_library_open(api)) || (s = cuda_library_devices(*api, gpus)) ||
	    (s = cuda_library_describe(*api, 0, &properties)) || (is_nccl(choice) && (s = nccl_check())) ||
	    (s = check_cudnn(choice, *api)))
		return s;
	return check_count(choice, *gpus);
}

enum status cuda_device_check(const struct device_choice *choice, const struct plan *p)
{
	const struct cuda_api *api;
	struct cuda_properties properties;
	char gpu[160];
	int gpus = 0;
	enum status s = p ? check_precision(choice, p) : STATUS_OK;
	if (s || (s = cuda_device_find(choice, &api, &gpus)) || !p || (s = cuda_library_describe(api, 0, &properties)))
		return s;
	int share = sharing(choice, gpus, 0);
	int64_t available = properties.memory_bytes / share - (int64_t)CUDA_WORKSPACE_BYTES;
	for (int r = 0; r < p->role_count; r++) {
		int64_t need = cuda_fit_bytes(p, &p->roles[r]);
		name_gpu(gpu, sizeof gpu, 0, &properties, share);
		if (need > available)
			return cuda_fit_failed(p, gpu, need, available);
	}
	return STATUS_OK;
}

/* ---- memory that is elsewhere ---- */

static enum status take(void *context, enum space space, int64_t bytes, void **at)
{
	struct cuda_device *c = context;
	char gpu[160];
	int64_t available = 0, total = 0;
	if (space == SPACE_HOST) {
		int error = c->api->allocate_host(c->context, (size_t)bytes, &c->host_arena);
		*at = c->host_arena;
		return error ? cuda_library_failed(c->api, STATUS_RUN, error,
		                                   "no pinned memory for a host arena of %" PRId64 " bytes", bytes)
		             : STATUS_OK;
	}
	TRY(cuda_device_error(c, c->api->memory(c->context, &available, &total), "asking for free memory"));
	name_gpu(gpu, sizeof gpu, c->gpu, &c->properties, c->sharing);
	if (bytes > available)
		return cuda_fit_failed(c->rank.plan, gpu, bytes, available);
	int error = c->api->allocate(c->context, (size_t)(bytes ? bytes : 1), &c->device_arena);
	*at = c->device_arena;
	/* Other ranks and programs may have taken the memory meanwhile. */
	if (error && !c->api->memory(c->context, &available, &total) && bytes > available)
		return cuda_fit_failed(c->rank.plan, gpu, bytes, available);
	return cuda_device_error(c, error, "allocating the arena");
}

enum status cuda_device_copy(struct cuda_device *c, void *to, const void *from, int64_t bytes)
{
	int error = c->api->kernels.copy(c->context, c->stream, to, from, (size_t)bytes);
	if (!error)
		error = c->api->stream_synchronize(c->context, c->stream);
	return cuda_device_error(c, error, "copying to or from device memory");
}

static enum status copy(void *context, void *to, const void *from, int64_t bytes)
{
	return cuda_device_copy(context, to, from, bytes);
}

/* ---- life ---- */

/* Takes pinned memory for the tile and for everything small. */
static enum status take_pinned(struct cuda_device *c)
{
	enum { SMALL = 4096 };
	int error = c->api->allocate_host(c->context, (size_t)(TILE_BYTES + SMALL), &c->pinned);
	if (!error)
		error = c->api->allocate(c->context, sizeof *c->sums, (void **)&c->sums);
	if (error)
		return cuda_device_error(c, error, "allocating memory for copies");
	memset(c->pinned, 0, SMALL);
	c->shown = c->pinned;
	c->scaler_begin = (struct loss_scale *)((char *)c->pinned + 1024);
	c->gave_up = (int32_t *)((char *)c->pinned + 2048);
	c->remote = (struct remote_memory){
	        .context = c, .take = take, .copy = copy, .tile = (char *)c->pinned + SMALL, .tile_bytes = TILE_BYTES};
	return STATUS_OK;
}

static enum status open_gpu(struct cuda_device *c, const struct device_choice *choice)
{
	int gpus = 0;
	TRY(check_precision(choice, c->rank.plan));
	TRY(cuda_device_find(choice, &c->api, &gpus));
	c->gpu = choice->local_rank % gpus;
	c->sharing = sharing(choice, gpus, c->gpu);
	TRY(cuda_library_describe(c->api, c->gpu, &c->properties));
	int error = c->api->open(&c->context, c->gpu, CUDA_WORKSPACE_BYTES);
	if (error)
		return cuda_device_error(c, error, "opening it (is its memory taken by another program?)");
	c->api->allow_tf32(c->context, choice->tf32);
	c->api->use_products(c->context,
	                     (enum cuda_product_rung)rung_of(choice->products, product_names, CUDA_PRODUCT_RUNGS));
	c->attention = attention_of(choice);
	c->tunes = choice->autotune || (choice->attention && c->attention == CUDA_ATTENTION_AUTO);
	error = c->api->use_attention(c->context, c->attention, c->tunes);
	if (error)
		return cuda_device_error(c, error, "opening cuDNN");
	TRY(cuda_algorithms_use(c, choice->autotune));
	cuda_overhead_opened(c);
	error = c->api->stream_create(c->context, false, &c->stream);
	return error ? cuda_device_error(c, error, "making a stream") : take_pinned(c);
}

enum status cuda_device_open(struct cuda_device **out, const struct plan *p, int64_t rank,
                             const struct input_source *input, const struct device_choice *choice)
{
	struct cuda_device *c = *out = array_make(1, sizeof *c);
	c->rank.plan = p; /* for the message when it does not fit */
	TRY(open_gpu(c, choice));
	TRY(rank_memory_open(&c->rank, p, rank, input, false, choice->folder, &c->remote));
	TRY(bind_check(&c->rank, &c->api->kernels, "cuda"));
	c->fusion = array_make((size_t)c->rank.role->op_count, sizeof *c->fusion);
	fusion_find(p->model, c->rank.role, c->fusion);
	c->binding = (struct binding){.memory = &c->rank,
	                              .kernels = &c->api->kernels,
	                              .context = c->context,
	                              .fusion = c->fusion,
	                              .loss = &c->sums->loss,
	                              .correct = &c->sums->correct,
	                              .scaler_begin = c->scaler_begin,
	                              .gave_up = c->gave_up};
	return cuda_slots_open(c);
}

static int issue(struct cuda_device *c, const struct op *op, kernel_stream s)
{
	struct binding b = c->binding;
	b.stream = s;
	if (op->kind == OP_LOAD)
		return cuda_load(c, op, s);
	if (op->kind == OP_ADVANCE)
		cuda_slots_advance(c, op); /* loads that come after it will read the next step */
	return bind_issue(&b, op);
}

enum status cuda_device_issue(struct cuda_device *c, const struct op *op, kernel_stream s)
{
	char what[128];
	if (bind_is_of_process(op)) {
		int error = c->api->stream_synchronize(c->context, s);
		return error ? cuda_device_error(c, error, op_name(op->kind))
		             : rank_execute(&c->rank, (int)(op - c->rank.role->ops));
	}
	int error = issue(c, op, s);
	if (!error)
		return STATUS_OK;
	op_describe(c->rank.plan, op, what, sizeof what);
	return cuda_device_error(c, error, what);
}

void cuda_device_close(struct cuda_device *c)
{
	if (!c)
		return;
	rank_memory_release(&c->rank);
	for (int i = 0; i < c->slot_count; i++)
		c->api->release_host(c->context,
		                     c->slots[i].inputs[0] ? c->slots[i].inputs[0] : c->slots[i].targets[0]);
	free(c->slots);
	free(c->fusion);
	if (c->context) {
		c->api->release(c->context, c->device_arena);
		c->api->release(c->context, c->sums);
		c->api->release_host(c->context, c->host_arena);
		c->api->release_host(c->context, c->pinned);
		if (c->stream)
			c->api->stream_destroy(c->context, c->stream);
		c->api->close(c->context);
	}
	free(c);
}
