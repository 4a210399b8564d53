/* What was measured, brought together at rank 0: of each role the largest figure of its ranks. */
#include <errno.h>
#include <inttypes.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "real/train/internal.h"
#include "strategy/cluster/cluster.h"

/* One rank's figures: no pointers, so that they travel as bytes. */
struct figures {
	struct memory_use memory[SPACE_COUNT];
	int64_t resident_bytes;
	int64_t overhead_bytes; /* of the device */
	int64_t gelu_passes;
	struct report_overhead overhead;
	struct transfer_count transfer[TRANSFER_COUNT];
	int64_t calls[TRAFFIC_COUNT], payload[TRAFFIC_COUNT], sent[TRAFFIC_COUNT], received[TRAFFIC_COUNT];
	int64_t sent_all, received_all; /* without control */
	int64_t counted;
	struct times time; /* of the step with the median time: whole numbers, all of them */
};

static int by_step_time(const void *a, const void *b)
{
	const struct times *x = a, *y = b;
	return (x->step > y->step) - (x->step < y->step);
}

static void own_figures(const struct training *t, struct figures *f)
{
	struct rusage usage;
	*f = (struct figures){.counted = 1};
	for (int space = 0; space < SPACE_COUNT; space++)
		rank_memory_used(t->device.rank, (enum space)space, &f->memory[space]);
	f->overhead_bytes = device_overhead(&t->device, &f->overhead);
	f->gelu_passes = device_gelu_passes(&t->device);
	memcpy(f->transfer, t->device.rank->transfer, sizeof f->transfer);
	if (!getrusage(RUSAGE_SELF, &usage))
		f->resident_bytes = usage.ru_maxrss * 1024;
	const struct traffic_count *traffic = executor_traffic(t->device.executor);
	for (int k = 0; k < TRAFFIC_COUNT; k++) {
		f->calls[k] = traffic[k].calls;
		f->payload[k] = traffic[k].payload_bytes;
		f->sent[k] = traffic[k].counted ? traffic[k].sent_bytes : -1;
		f->received[k] = traffic[k].counted ? traffic[k].received_bytes : -1;
		if (k == TRAFFIC_CONTROL)
			continue;
		f->counted &= traffic[k].counted;
		f->sent_all += traffic[k].sent_bytes;
		f->received_all += traffic[k].received_bytes;
	}
	/* Sorting spoils the order of the steps, which nobody needs any more. */
	qsort(t->times, (size_t)t->steps_done, sizeof *t->times, by_step_time);
	f->time = t->times[t->steps_done / 2];
}

static void raise_to(int64_t *most, int64_t value)
{
	if (value > *most)
		*most = value;
}

/* Sends and receives most, of the bytes that count; the lowest of equals: the rank of which reports speak. Where bytes
 * cannot be counted, all did the same. */
static const struct figures *busiest(const struct figures *all, const struct role *role)
{
	const struct figures *most = &all[role->first_rank];
	for (int64_t i = role->first_rank; i < role->first_rank + role->ranks; i++)
		if (all[i].counted && all[i].sent_all + all[i].received_all > most->sent_all + most->received_all)
			most = &all[i];
	return most;
}

static void merge_memory(struct report_memory *m, const struct plan *p, const struct role *role, enum space space,
                         const struct figures *all)
{
	const struct memory_use *first = &all[role->first_rank].memory[space];
	*m = (struct report_memory){0};
	if (first->peak_bytes)
		plan_peak_describe(p, role, first->peak_op, m->peak_at, sizeof m->peak_at);
	for (int64_t i = role->first_rank; i < role->first_rank + role->ranks; i++) {
		const struct memory_use *use = &all[i].memory[space];
		raise_to(&m->peak_bytes, use->peak_bytes);
		raise_to(&m->arena_bytes, use->arena_bytes);
		for (int c = 0; c < CATEGORY_COUNT; c++) {
			raise_to(&m->at_peak[c], use->at_peak[c]);
			raise_to(&m->steady[c], use->steady[c]);
		}
	}
}

static void merge_role(struct report_role *r, const struct plan *p, const struct role *role, const struct figures *all)
{
	for (int space = 0; space < SPACE_COUNT; space++)
		merge_memory(&r->memory[space], p, role, (enum space)space, all);
	for (int k = 0; k < TRANSFER_COUNT; k++) {
		const struct transfer_count *t = &all[role->first_rank].transfer[k];
		r->transfer[k] = (struct report_transfer){t->calls, t->bytes};
	}
	for (int64_t i = role->first_rank; i < role->first_rank + role->ranks; i++) {
		if (i > role->first_rank && all[i].overhead_bytes <= r->memory[SPACE_DEVICE].overhead_bytes)
			continue;
		r->memory[SPACE_DEVICE].overhead_bytes = all[i].overhead_bytes;
		r->overhead = all[i].overhead;
	}
	const struct figures *f = busiest(all, role);
	for (int k = 0; k < TRAFFIC_COUNT; k++)
		r->by_kind[k] = (struct report_traffic){f->calls[k], f->payload[k], f->sent[k], f->received[k]};
	r->sent_bytes = f->counted ? f->sent_all : -1;
	r->received_bytes = f->counted ? f->received_all : -1;
}

static const char *cluster_of(const struct training *t)
{
	return strcmp(t->options->device, "cuda") ? CLUSTER_LOCAL : CLUSTER_LOCAL_CUDA;
}

static void merge(struct training *t, const struct figures *all, struct report *out)
{
	report_from_plan(out, &t->plan);
	out->measured = true;
	snprintf(out->cluster, sizeof out->cluster, "%s", cluster_of(t));
	for (int i = 0; i < out->role_count; i++)
		merge_role(&out->roles[i], &t->plan, &t->plan.roles[i], all);
	const struct figures *slowest = &all[0];
	for (int i = 0; i < t->ranks; i++) {
		raise_to(&out->resident_bytes, all[i].resident_bytes);
		raise_to(&out->gelu_passes, all[i].gelu_passes);
		if (all[i].time.step > slowest->time.step)
			slowest = &all[i];
	}
	out->time = slowest->time;
	out->rates_measured = out->fits = true;
	out->losses = t->losses;
	out->loss_count = t->steps_done;
	t->losses = NULL;
	out->validation_loss = t->validation_loss;
	out->validation_accuracy = t->validation_accuracy;
	snprintf(out->weights_checksum, sizeof out->weights_checksum, "%016" PRIx64, t->checksum);
	double units = (double)t->plan.settings.batch * (double)t->model.tokens;
	out->units_per_s = units / ((double)out->time.step / 1e9);
}

enum status training_report(struct training *t, struct report *out)
{
	struct figures mine, *all = NULL;
	*out = (struct report){0};
	own_figures(t, &mine);
	if (!t->rank) {
		all = calloc((size_t)t->ranks, sizeof *all);
		if (!all)
			return status_fail(STATUS_MEMORY, "out of memory");
	}
	if (t->mpi)
		MPI_Gather(&mine, sizeof mine, MPI_BYTE, all, sizeof mine, MPI_BYTE, 0, MPI_COMM_WORLD);
	else if (all)
		*all = mine;
	if (all)
		merge(t, all, out);
	free(all);
	return STATUS_OK;
}

/* ---- the trace ---- */

/* Ranks of one machine share a clock; then spans are placed by it, else from each rank's own beginning. */
static int64_t beginning(const struct training *t)
{
	int64_t started = executor_started(t->device.executor), earliest = started;
	int on_node = 1;
	MPI_Comm node;
	if (!t->mpi)
		return 0;
	MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
	MPI_Comm_size(node, &on_node);
	MPI_Comm_free(&node);
	MPI_Allreduce(&started, &earliest, 1, MPI_INT64_T, MPI_MIN, MPI_COMM_WORLD);
	return on_node == t->ranks ? started - earliest : 0;
}

static int own_spans(const struct training *t, struct span *spans)
{
	const struct section *s = &t->device.rank->role->step;
	int64_t offset = beginning(t);
	int n = 0;
	for (int i = s->begin; i < s->end; i++) {
		struct span span = {.rank = t->rank, .op = i};
		executor_span(t->device.executor, i, &span.begin, &span.end);
		if (span.begin < 0 || op_class(t->device.rank->role->ops[i].kind) == OP_CLASS_M)
			continue;
		span.begin += offset;
		span.end += offset;
		spans[n++] = span;
	}
	return n;
}

static enum status write_trace(const struct training *t, const struct span *spans, int64_t count)
{
	char temporary[4096];
	struct trace trace;
	const char *path = t->options->trace_file;
	snprintf(temporary, sizeof temporary, "%s.%d.tmp", path, (int)getpid());
	FILE *f = fopen(temporary, "w");
	if (!f)
		return status_fail(STATUS_INPUT, "{trace}: cannot write '%s': %s", temporary, strerror(errno));
	trace_open(&trace, &t->plan, cluster_of(t), true);
	for (int64_t i = 0; i < count; i++)
		trace_add_span(&trace, spans[i].rank, spans[i].op, spans[i].begin, spans[i].end);
	enum status s = trace_write(&trace, f);
	trace_release(&trace);
	if ((fclose(f) || rename(temporary, path)) && !s)
		s = status_fail(STATUS_RUN, "{trace}: cannot write '%s': %s", path, strerror(errno));
	if (s)
		unlink(temporary);
	return s;
}

enum status training_trace(struct training *t)
{
	const struct section *step = &t->device.rank->role->step;
	int most = step->end - step->begin, *counts = NULL, *places = NULL;
	struct span *mine, *all = NULL;
	enum status s = STATUS_OK;
	if (!t->options->trace_file)
		return STATUS_OK;
	mine = calloc((size_t)most + 1, sizeof *mine);
	counts = calloc((size_t)t->ranks + 1, sizeof *counts);
	places = calloc((size_t)t->ranks + 1, sizeof *places);
	if (!mine || !counts || !places)
		abort();
	int bytes = own_spans(t, mine) * (int)sizeof *mine, total = bytes;
	if (t->mpi) {
		MPI_Gather(&bytes, 1, MPI_INT, counts, 1, MPI_INT, 0, MPI_COMM_WORLD);
		for (int i = 0; i < t->ranks; i++)
			places[i + 1] = places[i] + counts[i];
		total = places[t->ranks];
		all = malloc((size_t)total + 1);
		if (!all)
			abort();
		MPI_Gatherv(mine, bytes, MPI_BYTE, all, counts, places, MPI_BYTE, 0, MPI_COMM_WORLD);
	}
	if (!t->rank)
		s = write_trace(t, all ? all : mine, total / (int64_t)sizeof *mine);
	free(mine);
	free(all);
	free(counts);
	free(places);
	return s;
}
