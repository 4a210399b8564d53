/* Where DeepSpeed keeps state, as --offload, and what its buffers and copies are like. Accelerate's few keys leave all
 * but the devices to DeepSpeed's defaults. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "strategy/base/number.h"
#include "strategy/model/model.h"
#include "strategy/recipe/reader.h"
#include "strategy/settings/software.h"

#define OPTIMIZER(key) "zero_optimization.offload_optimizer." key
#define PARAM(key) "zero_optimization.offload_param." key

enum place { PLACE_NONE, PLACE_HOST, PLACE_DISK };

static enum place place_of(const struct tree *device, bool old)
{
	if (!device)
		return old ? PLACE_HOST : PLACE_NONE;
	if (device->kind != TREE_TEXT || (strcmp(device->text, "cpu") != 0 && strcmp(device->text, "nvme") != 0))
		return PLACE_NONE;
	return strcmp(device->text, "nvme") ? PLACE_HOST : PLACE_DISK;
}

static void say_on_device(struct recipe *r, const struct tree *device)
{
	if (device && device->kind == TREE_TEXT && !strcmp(device->text, "none"))
		recipe_say(r, device, "on the device");
}

/* ---- the optimizer's state ---- */

/* AdamW's weights, two moments and a gradient are in as many buffers at once. */
static const char *optimizer_on_disk(struct recipe *r)
{
	enum { ADAMW_BUFFERS = 4 };
	const struct tree *v = recipe_find(r, OPTIMIZER("buffer_count"));
	int64_t n = recipe_whole(r, OPTIMIZER("buffer_count"), ADAMW_BUFFERS);
	if (n < ADAMW_BUFFERS || n > OFFLOAD_BUFFERS_MOST)
		recipe_bar(r, v, "%s: %" PRId64 " buffers are %s", OPTIMIZER("buffer_count"), n,
		           n < ADAMW_BUFFERS ? "too few for AdamW's weights, moments and gradients: 4 will do"
		                             : "more than can be said here");
	recipe_say(r, v, "buffers=%" PRId64, n);
	return arena_print(&r->arena, "optimizer:to=disk:buffers=%" PRId64, n);
}

/* Pieces are read, updated and written one after another, unless the file has more go on at a time. */
static void take_pipeline(struct recipe *r)
{
	static const char *const words[] = {"none", "reads", "writes", "both"};
	const struct tree *read = recipe_find(r, OPTIMIZER("pipeline_read")),
	                  *write = recipe_find(r, OPTIMIZER("pipeline_write"));
	bool reads = recipe_flag(r, OPTIMIZER("pipeline_read"), false),
	     writes = recipe_flag(r, OPTIMIZER("pipeline_write"), false);
	recipe_switch(r, read ? read : write, SOFTWARE_DISK, words[reads + 2 * writes]);
	if (read)
		recipe_say(r, write, "pipeline_read's line says it");
}

/* Below stage 3 DeepSpeed has no disk: nvme is the host's memory. */
static const char *take_optimizer_place(struct recipe *r, const struct offload_devices *d)
{
	enum place at = place_of(d->optimizer, d->old_optimizer);
	if (at == PLACE_NONE)
		return "";
	if (d->stage == 0) {
		recipe_say(r, d->optimizer, "nothing, in stage 0");
		return "";
	}
	if (at == PLACE_DISK && d->stage == 3)
		return optimizer_on_disk(r);
	if (at == PLACE_DISK)
		recipe_note(r, d->optimizer, "offload_optimizer: below stage 3 nvme is host memory, and no disk");
	return "optimizer";
}

/* ---- parameters ---- */

/* The elements of the parameters that a rank holds, and those of the first piece (sub_group_size). */
struct held {
	int64_t share, first;
};

static enum status measure(const struct recipe *r, int64_t ranks, struct held *out)
{
	struct model m;
	int64_t piece = recipe_whole(r, "zero_optimization.sub_group_size", 1000000000);
	bool full = false;
	*out = (struct held){0, 0};
	TRY(model_open(&m, r->question.model, 0));
	for (int i = 0; i < m.tensor_count; i++) {
		int64_t n = (m.tensors[i].elements + ranks - 1) / ranks;
		out->share += n;
		out->first += full ? 0 : n;
		full |= out->first >= piece;
	}
	model_release(&m);
	return STATUS_OK;
}

/* Buffers begin at whole blocks of the disk. */
static int64_t aligned(const struct recipe *r, int64_t elements)
{
	enum { BLOCK = 1024 };
	const char *precision = recipe_pair_find(r, SETTING_PRECISION);
	int64_t bytes = precision && !strcmp(precision, "fp32") ? 4 : 2;
	int64_t step = BLOCK * recipe_whole(r, "aio.intra_op_parallelism", 1) / bytes;
	return step > 0 ? (elements + step - 1) / step * step : elements;
}

static const char *staged(struct recipe *r, bool disk, int64_t elements)
{
	return arena_print(&r->arena, "parameters%s:staging=%" PRId64, disk ? ":to=disk" : "", elements);
}

/* Whole pieces stay in host memory for good, as many as fit into max_in_cpu. Its memory is set aside all the same if
 * none does. */
static const char *divide(struct recipe *r, const struct offload_devices *d, int64_t ranks, int64_t buffers)
{
	const struct tree *v = recipe_find(r, PARAM("max_in_cpu"));
	int64_t most = recipe_whole(r, PARAM("max_in_cpu"), 1000000000);
	struct held h;
	if (most == 0) {
		recipe_say(r, v, "all on the disk");
		return staged(r, true, buffers);
	}
	if (!r->question.model || ranks <= 0 || measure(r, ranks, &h)) {
		recipe_bar(r, v ? v : d->parameters,
		           "%s %" PRId64
		           ": what of a rank's share stays in host memory depends on the model and the ranks; "
		           "give {model} and {ranks}",
		           PARAM("max_in_cpu"), most);
		return "";
	}
	if (h.share > most && h.first <= most)
		recipe_bar(r, v ? v : d->parameters,
		           "%s %" PRId64 ": of a rank's %" PRId64
		           " elements a part stays in host memory, which cannot be said here; 0, and %" PRId64 ", can",
		           PARAM("max_in_cpu"), most, h.share, h.share);
	recipe_say(r, v, h.share <= most ? "all %" PRId64 " elements of a rank stay in host memory" : "all on the disk",
	           h.share);
	if (h.share <= most)
		recipe_note(r, v ? v : d->parameters,
		            "%s %" PRId64 "%s: a rank's %" PRId64 " elements stay in host memory, and none on the disk",
		            PARAM("max_in_cpu"), most, v ? "" : ", the default", h.share);
	return staged(r, h.share > most, h.share <= most ? buffers : buffers + most);
}

static int64_t ranks_of(const struct recipe *r)
{
	const char *said = recipe_pair_find(r, SETTING_RANKS);
	return r->question.ranks ? r->question.ranks : said ? strtoll(said, NULL, 10) : 0;
}

static const char *parameters_on_disk(struct recipe *r, const struct offload_devices *d)
{
	const struct tree *count = recipe_find(r, PARAM("buffer_count")), *size = recipe_find(r, PARAM("buffer_size"));
	int64_t n = recipe_whole(r, PARAM("buffer_count"), 5), each = recipe_whole(r, PARAM("buffer_size"), 100000000),
	        most = OFFLOAD_STAGING_MOST / 4, all;
	if (n < 0 || each < 0 || each > most || !multiply(n, aligned(r, each), &all) || all > most ||
	    recipe_whole(r, PARAM("max_in_cpu"), 0) > most) {
		recipe_bar(r,
		           count  ? count
		           : size ? size
		                  : d->parameters,
		           "%s, buffer_size and max_in_cpu: too large", PARAM("buffer_count"));
		return "";
	}
	recipe_say(r, count, "%" PRId64 " elements of staging=", all);
	recipe_say(r, size, "%" PRId64 " elements of staging=", all);
	return divide(r, d, ranks_of(r), all);
}

static const char *take_parameters_place(struct recipe *r, const struct offload_devices *d)
{
	enum place at = place_of(d->parameters, d->old_parameters);
	if (at == PLACE_NONE)
		return "";
	if (d->stage != 3) {
		recipe_say(r, d->parameters, "nothing, below stage 3");
		return "";
	}
	return at == PLACE_DISK ? parameters_on_disk(r, d) : "parameters";
}

/* ---- requests to the disk ---- */

static bool is_said_of_requests(const struct recipe *r)
{
	static const char *const keys[] = {"aio.block_size", "aio.queue_depth", "aio.intra_op_parallelism",
	                                   "aio.overlap_events"};
	bool said = false;
	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
		said |= recipe_find(r, keys[i]) != NULL;
	return said;
}

/* Pieces with fewer bytes than a request, in fp32, stay in host memory for good (is_swappable_tensor). */
static void bar_small_pieces(struct recipe *r, int64_t block)
{
	enum { SMALLEST = 1 << 20 }; /* DeepSpeed's MIN_AIO_BYTES */
	struct held h;
	if (block > SMALLEST && r->question.model && ranks_of(r) > 0 && !measure(r, ranks_of(r), &h) &&
	    h.first < block / 4)
		recipe_bar(r, recipe_find(r, "aio.block_size"),
		           "aio.block_size %" PRId64 ": a rank's %" PRId64
		           " elements are less than a request, and stay in host memory there; give a smaller one",
		           block, h.first);
}

/* The number of bytes under way at a time. A file that does not say has the rates of the cluster's disk. */
static int64_t take_queue(struct recipe *r, bool disk)
{
	static const char *const keys[] = {"aio.block_size", "aio.queue_depth", "aio.intra_op_parallelism",
	                                   "aio.overlap_events"};
	const struct tree *v[4];
	int64_t block = recipe_whole(r, keys[0], 1048576), depth = recipe_whole(r, keys[1], 8),
	        threads = recipe_whole(r, keys[2], 1), bytes = 0;
	for (int i = 0; i < 4; i++) {
		v[i] = recipe_find(r, keys[i]);
		if (!disk)
			recipe_say(r, v[i], "nothing, without a disk");
	}
	if (!disk || !is_said_of_requests(r))
		return 0;
	if (block < 1 || depth < 1 || threads < 1 || !multiply(block, depth, &bytes) ||
	    !multiply(bytes, threads, &bytes) || bytes > OFFLOAD_STAGING_MOST) {
		recipe_bar(r,
		           v[0]   ? v[0]
		           : v[1] ? v[1]
		                  : v[2],
		           "aio.block_size, queue_depth and intra_op_parallelism: their "
		           "product must be 1 to %" PRId64 " bytes",
		           OFFLOAD_STAGING_MOST);
		return 0;
	}
	for (int i = 0; i < 3; i++)
		recipe_say(r, v[i], "%" PRId64 " bytes of queue=", bytes);
	recipe_switch(r, v[3], SOFTWARE_REQUESTS, recipe_flag(r, keys[3], true) ? "ahead" : "waves");
	bar_small_pieces(r, block);
	return bytes;
}

/* ---- page-locked memory ---- */

static void take_pinning(struct recipe *r, bool optimizer, bool parameters)
{
	static const char *const words[] = {"none", "optimizer", "parameters", "all"};
	const struct tree *a = recipe_find(r, OPTIMIZER("pin_memory")), *b = recipe_find(r, PARAM("pin_memory"));
	bool x = !optimizer || recipe_flag(r, OPTIMIZER("pin_memory"), true),
	     y = !parameters || recipe_flag(r, PARAM("pin_memory"), true);
	if (optimizer || parameters)
		recipe_switch(r, optimizer && a ? a : parameters ? b : NULL, SOFTWARE_PINNED, words[x + 2 * y]);
	if (optimizer && a && parameters)
		recipe_say(r, b, "offload_optimizer.pin_memory's line says it");
}

/* Without it a rank has one piece of the model, and copies alone while the others wait; with it the tensors of every
 * bucket go around. */
static void take_turns(struct recipe *r, int64_t stage, bool offloads)
{
	static const char path[] = "zero_optimization.round_robin_gradients";
	const struct tree *v = recipe_find(r, path);
	bool turns = recipe_flag(r, path, false);
	if (offloads && (stage == 1 || stage == 2))
		recipe_switch(r, v, SOFTWARE_COPIES, turns ? "all" : "one");
	else
		recipe_say(r, v, "nothing, without offload in stage 1 or 2");
}

void take_offload(struct recipe *r, const struct offload_devices *d)
{
	const char *optimizer = take_optimizer_place(r, d), *parameters = take_parameters_place(r, d);
	bool first = strstr(optimizer, "to=disk"), second = strstr(parameters, "to=disk");
	int64_t queue = take_queue(r, first || second);
	if (queue)
		*(first ? &optimizer : &parameters) =
		        arena_print(&r->arena, "%s:queue=%" PRId64, first ? optimizer : parameters, queue);
	if (*parameters && !*optimizer)
		recipe_bar(r, d->parameters, "parameters that are offloaded without the optimizer cannot be said here");
	recipe_set(r, SETTING_OFFLOAD, *optimizer ? d->optimizer : NULL, "%s%s%s",
	           *optimizer || *parameters ? optimizer : "none", *optimizer && *parameters ? "," : "", parameters);
	if (*parameters)
		recipe_say(r, d->parameters, "{offload} …,%s", parameters);
	say_on_device(r, d->optimizer);
	say_on_device(r, d->parameters);
	if (first)
		take_pipeline(r);
	take_pinning(r, *optimizer, *parameters);
	take_turns(r, d->stage, *optimizer);
}
