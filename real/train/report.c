/* Measurements, brought together at rank 0: the largest figure of each role's ranks. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "real/train/internal.h"
#include "strategy/base/arena.h"
#include "strategy/base/compare.h"
#include "strategy/cluster/cluster.h"

static void raise_to(int64_t *most, int64_t value)
{
	if (value > *most)
		*most = value;
}

static int by_step_time(const void *a, const void *b)
{
	const struct times *x = a, *y = b;
	return compare(x->step, y->step);
}

static int by_gap(const void *a, const void *b)
{
	return compare(*(const int64_t *)a, *(const int64_t *)b);
}

/* The most memory that this process had. getrusage would include what it had before it became this program. */
static int64_t resident_bytes(void)
{
	char line[256];
	int64_t kib = 0;
	FILE *f = fopen("/proc/self/status", "r");
	while (f && fgets(line, sizeof line, f) && sscanf(line, "VmHWM: %" SCNd64 " kB", &kib) != 1)
		continue;
	if (f)
		fclose(f);
	return kib * 1024;
}

static void own_traffic(const struct training *t, struct rank_figures *f)
{
	const struct traffic_count *traffic = executor_traffic(t->device.executor);
	f->counted = true;
	for (int k = 0; k < TRAFFIC_COUNT; k++) {
		const struct traffic_count *c = &traffic[k];
		f->traffic[k] = (struct report_traffic){c->calls, c->payload_bytes, c->counted ? c->sent_bytes : -1,
		                                        c->counted ? c->received_bytes : -1};
		raise_to(&f->staging_bytes, c->staging_bytes);
		if (k == TRAFFIC_CONTROL)
			continue;
		f->counted &= c->counted;
		f->sent_all += c->sent_bytes;
		f->received_all += c->received_bytes;
	}
}

void training_figures(const struct training *t, struct rank_figures *f)
{
	*f = (struct rank_figures){.resident_bytes = resident_bytes()};
	for (int space = 0; space < SPACE_COUNT; space++)
		rank_memory_used(t->device.rank, (enum space)space, &f->memory[space]);
	f->overhead_bytes = device_overhead(&t->device, &f->overhead);
	device_slowed(&t->device, &f->slowed);
	memcpy(f->transfer, t->device.rank->transfer, sizeof f->transfer);
	own_traffic(t, f);
	/* Sorting loses the order of the steps, which is no longer needed. */
	struct times *times = t->times.items;
	qsort(times, (size_t)t->times.count, sizeof *times, by_step_time);
	f->time = times[t->times.count / 2];
	int64_t *gaps = t->gaps.items;
	qsort(gaps, (size_t)t->gaps.count, sizeof *gaps, by_gap);
	f->gap = gaps[t->gaps.count / 2];
}

/* The rank that reports speak of: the one that sends and receives most, and the lowest of equals. Where bytes cannot be
 * counted, all ranks count alike. */
static const struct rank_figures *busiest(const struct rank_figures *all, const struct role *role)
{
	const struct rank_figures *most = &all[role->first_rank];
	for (int64_t i = role->first_rank; i < role->first_rank + role->ranks; i++)
		if (all[i].counted && all[i].sent_all + all[i].received_all > most->sent_all + most->received_all)
			most = &all[i];
	return most;
}

static void merge_memory(struct report_memory *m, const struct plan *p, const struct role *role, enum space space,
                         const struct rank_figures *all)
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

static void merge_role(struct report_role *r, const struct plan *p, const struct role *role,
                       const struct rank_figures *all)
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
	const struct rank_figures *f = busiest(all, role);
	memcpy(r->by_kind, f->traffic, sizeof r->by_kind);
	r->sent_bytes = f->counted ? f->sent_all : -1;
	r->received_bytes = f->counted ? f->received_all : -1;
}

static void merge_ranks(struct report *out, const struct rank_figures *all)
{
	out->by_rank = array_make((size_t)out->ranks, sizeof *out->by_rank);
	for (int64_t i = 0; i < out->ranks; i++) {
		struct report_rank *r = &out->by_rank[i];
		memcpy(r->by_kind, all[i].traffic, sizeof r->by_kind);
		for (int k = 0; k < TRANSFER_COUNT; k++)
			r->transfer[k] = (struct report_transfer){all[i].transfer[k].calls, all[i].transfer[k].bytes};
		for (int space = 0; space < SPACE_COUNT; space++) {
			r->peak_bytes[space] = all[i].memory[space].peak_bytes;
			r->arena_bytes[space] = all[i].memory[space].arena_bytes;
		}
	}
}

static const char *cluster_of(const struct training *t)
{
	const struct device_table *table = t->device.table;
	return table && table->kind == DEVICE_GPU ? CLUSTER_LOCAL_CUDA : CLUSTER_LOCAL;
}

/* Rates that were assumed before anything was calibrated say nothing about this machine. */
double training_peak(const struct training *t)
{
	const struct settings *settings = &t->plan.settings;
	struct cluster c;
	if (cluster_open(&c, cluster_of(t), t->plan.ranks))
		return 0;
	c.tf32 = t->options->tf32;
	struct rate peak = cluster_peak(&c, settings->precision);
	bool known = peak.measured || c.compute[COMPUTE_PEAK][settings->precision].count;
	bool threads = c.kind == DEVICE_GPU || c.threads == t->options->threads;
	cluster_release(&c);
	return known && threads ? (double)peak.value : 0;
}

/* The losses that were kept, and the last. */
static void merge_losses(struct report *out, const struct training *t)
{
	const double *kept = t->losses.items;
	int64_t n = t->losses.count, every = t->losses.every ? t->losses.every : 1;
	out->steps = t->steps_done;
	out->losses_every = every;
	out->losses = array_make((size_t)n + 1, sizeof *out->losses);
	memcpy(out->losses, kept ? kept : out->losses, (size_t)n * sizeof *out->losses);
	if (n && (n - 1) * every + 1 < t->steps_done - t->steps_before)
		out->losses[n++] = t->loss;
	out->loss_count = n;
}

static void merge_slowed(struct report_slowed *most, const struct report_slowed *s)
{
	raise_to(&most->gelu_passes, s->gelu_passes);
	most->attention_refused |= s->attention_refused;
	if (!*most->attention_forward) {
		memcpy(most->attention_forward, s->attention_forward, sizeof most->attention_forward);
		memcpy(most->attention_backward, s->attention_backward, sizeof most->attention_backward);
		memcpy(most->attention_why, s->attention_why, sizeof most->attention_why);
		memcpy(most->attention_times, s->attention_times, sizeof most->attention_times);
	}
	if (!*most->bias_times)
		memcpy(most->bias_times, s->bias_times, sizeof most->bias_times);
	if (!*most->products_by)
		memcpy(most->products_by, s->products_by, sizeof most->products_by);
	if (!*most->not_captured)
		memcpy(most->not_captured, s->not_captured, sizeof most->not_captured);
	if (s->plain_products <= most->plain_products)
		return;
	most->plain_products = s->plain_products;
	memcpy(most->plain_why, s->plain_why, sizeof most->plain_why);
}

void training_warn(struct training *t, const struct report_slowed *s)
{
	if (!t->rank && !t->warned.products && s->plain_products)
		fprintf(stderr,
		        "warning: %" PRId64 " products of a step were computed without cuBLASLt, hundreds of times "
		        "slower; the first: %s\n",
		        s->plain_products, s->plain_why);
	if (!t->rank && !t->warned.capture && *s->not_captured)
		fprintf(stderr, "warning: steps are issued anew, not replayed from a graph: %s\n", s->not_captured);
	if (!t->rank && !t->warned.attention && s->attention_refused)
		fprintf(stderr,
		        "warning: cuDNN does not take every pass of this attention; forward has %s, backward %s\n",
		        s->attention_forward, s->attention_backward);
	t->warned.attention |= s->attention_refused;
	t->warned.products |= s->plain_products > 0;
	t->warned.capture |= *s->not_captured != 0;
}

void training_merge(struct training *t, const struct rank_figures *all, struct report *out)
{
	report_from_plan(out, &t->plan);
	out->measured = true;
	for (int i = 0; i < out->role_count; i++)
		out->roles[i].gathering = (struct report_gathering){0}; /* what the epilogue did is not known yet */
	out->saved = t->saved; /* not what the plan says: it is filled in once all is written */
	snprintf(out->cluster, sizeof out->cluster, "%s", cluster_of(t));
	for (int i = 0; i < out->role_count; i++)
		merge_role(&out->roles[i], &t->plan, &t->plan.roles[i], all);
	merge_ranks(out, all);
	const struct rank_figures *slowest = &all[0];
	int64_t gap = 1;
	for (int i = 0; i < t->ranks; i++) {
		raise_to(&gap, all[i].gap);
		raise_to(&out->resident_bytes, all[i].resident_bytes);
		raise_to(&out->staging_touched_bytes, all[i].staging_bytes);
		merge_slowed(&out->slowed, &all[i].slowed);
		if (all[i].time.step > slowest->time.step)
			slowest = &all[i];
	}
	training_warn(t, &out->slowed);
	out->time = slowest->time;
	out->rates_measured = out->fits = true;
	report_set_speed(out, t->peak);
	merge_losses(out, t);
	out->data = (struct report_data){.files = t->data.files,
	                                 .training_samples = t->data.training_samples,
	                                 .validation_samples = t->data.validation_samples};
	snprintf(out->data.type, sizeof out->data.type, "%s", t->data.type ? t->data.type : "");
	out->validation_loss = t->validation_loss;
	out->validation_accuracy = t->validation_accuracy;
	snprintf(out->weights_checksum, sizeof out->weights_checksum, "%016" PRIx64, t->checksum);
	double units = (double)t->plan.settings.batch * (double)t->model.tokens;
	out->speed.units_per_s = out->units_per_s = units / ((double)gap / 1e9);
}

/* Gathers the bytes of all ranks at rank 0, in the order of ranks; the caller frees them. bytes: of one rank, then of
 * all. */
static enum status gather(const struct training *t, const char *what, const void *mine, int *bytes, void **all)
{
	const struct exchange x = {what, .others_write = true};
	size_t ranks = (size_t)t->ranks;
	int *counts = array_make(ranks, sizeof *counts), *places = array_make(ranks + 1, sizeof *places);
	enum status s = STATUS_OK;
	counts[0] = *bytes;
	if (t->mpi)
		s = communicator_tell_all(t->communicator, &x, bytes, sizeof *bytes, counts);
	for (int i = 0; i < t->ranks; i++)
		places[i + 1] = places[i] + counts[i];
	*all = array_make((size_t)places[ranks], 1);
	if (t->mpi && !s)
		s = communicator_tell_first(t->communicator, &x, mine, *bytes, *all, counts, places);
	else if (*bytes && !s)
		memcpy(*all, mine, (size_t)*bytes);
	*bytes = places[ranks];
	free(counts);
	free(places);
	return s;
}

enum status training_report(struct training *t, struct report *out)
{
	struct rank_figures mine;
	void *all;
	int bytes = sizeof mine;
	*out = (struct report){0};
	training_figures(t, &mine);
	enum status s = gather(t, "the report", &mine, &bytes, &all);
	if (!s && !t->rank)
		training_merge(t, all, out);
	free(all);
	return s;
}

/* ---- weights that are gathered to be saved ---- */

static struct report_gathering own_gathering(const struct training *t)
{
	const struct rank_memory *memory = t->device.rank;
	const struct traffic_count *c = &executor_traffic(t->device.executor)[TRAFFIC_ALL_GATHER];
	struct report_gathering g = {c->counted ? c->sent_bytes : -1, c->counted ? c->received_bytes : -1, {0}};
	for (int space = 0; space < SPACE_COUNT; space++) {
		struct memory_use use;
		rank_memory_used_in(memory, &memory->role->epilogue, (enum space)space, &use);
		g.peak_bytes[space] = use.peak_bytes;
	}
	return g;
}

static void merge_gathering(struct report_gathering *most, const struct report_gathering *g)
{
	raise_to(&most->sent_bytes, g->sent_bytes);
	raise_to(&most->received_bytes, g->received_bytes);
	for (int space = 0; space < SPACE_COUNT; space++)
		raise_to(&most->peak_bytes[space], g->peak_bytes[space]);
}

enum status training_gathering(struct training *t, struct report *out)
{
	struct report_gathering mine = own_gathering(t), *all;
	int bytes = sizeof mine;
	void *figures;
	enum status s = gather(t, "the report", &mine, &bytes, &figures);
	all = figures;
	for (int i = 0; i < out->role_count && !s && !t->rank; i++) {
		const struct role *role = &t->plan.roles[i];
		out->roles[i].gathering = all[role->first_rank];
		for (int64_t r = role->first_rank; r < role->first_rank + role->ranks; r++)
			merge_gathering(&out->roles[i].gathering, &all[r]);
	}
	free(figures);
	return s;
}

/* ---- the trace ---- */

/* The time of this rank's step since the first rank began. */
static enum status beginning(const struct training *t, int64_t *out)
{
	const struct exchange x = {.what = "the trace"};
	int64_t started = executor_started(t->device.executor) + t->arrivals.clock, earliest = started;
	int64_t *all = array_make((size_t)t->ranks, sizeof *all);
	enum status s = STATUS_OK;
	if (t->mpi)
		s = communicator_tell_all(t->communicator, &x, &started, sizeof started, all);
	for (int i = 0; t->mpi && i < t->ranks; i++)
		earliest = all[i] < earliest ? all[i] : earliest;
	free(all);
	*out = started - earliest;
	return s;
}

static int own_spans(const struct training *t, int64_t offset, struct span *spans)
{
	const struct section *s = &t->device.rank->role->step;
	int n = 0;
	for (int i = s->begin; i < s->end; i++) {
		struct span span = {.rank = t->rank, .op = i};
		executor_span(t->device.executor, i, &span.begin, &span.end);
		if (span.begin < 0 || op_class(t->device.rank->role->ops[i].kind) == OP_CLASS_M)
			continue;
		span.came = executor_came(t->device.executor, i) + offset;
		span.begin += offset;
		span.end += offset;
		spans[n++] = span;
	}
	return n;
}

static enum status save_trace(const struct training *t, const struct span *spans, int64_t count,
                              const struct trace_value *values, int64_t value_count)
{
	struct trace trace;
	trace_open(&trace, &t->plan, cluster_of(t), true);
	trace.scale = t->scale;
	for (int64_t i = 0; i < count; i++) {
		trace_add_span(&trace, spans[i].rank, spans[i].op, spans[i].begin, spans[i].end);
		trace.spans[i].came = spans[i].came;
	}
	for (int64_t i = 0; i < value_count; i++)
		trace_add_value(&trace, &values[i]);
	enum status s = trace_save(&trace, t->options->trace_file);
	trace_release(&trace);
	return s;
}

enum status training_trace(struct training *t)
{
	const struct section *step = &t->device.rank->role->step;
	size_t count;
	const struct trace_value *values = executor_values(t->device.executor, &count);
	enum status s = STATUS_OK;
	if (!t->options->trace_file)
		return STATUS_OK;
	struct span *mine = array_make((size_t)(step->end - step->begin), sizeof *mine);
	int64_t offset;
	s = beginning(t, &offset);
	int bytes = own_spans(t, offset, mine) * (int)sizeof *mine, value_bytes = (int)(count * sizeof *values);
	void *all = NULL, *all_values = NULL;
	if (!s)
		s = gather(t, "the trace", mine, &bytes, &all);
	if (!s)
		s = gather(t, "the trace", values, &value_bytes, &all_values);
	if (!s && !t->rank)
		s = save_trace(t, all, bytes / (int)sizeof(struct span), all_values,
		               value_bytes / (int)sizeof(struct trace_value));
	free(mine);
	free(all);
	free(all_values);
	return s;
}
