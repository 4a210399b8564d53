/* The next step up or down from the best line; and where nothing fits, what would be enough. */
#include "sim/advise.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "strategy/base/number.h"
#include "strategy/strategies/strategy.h"

/* ---- one step ---- */

static enum status open_search(const struct advice *a, const struct settings *s, struct grid_search *f)
{
	*f = (struct grid_search){.cluster_name = advise_cluster(&a->request, s->strategy),
	                          .margin = a->request.margin};
	variant_grid_make(&f->grid, s);
	return grid_search_begin(f);
}

static const struct variant_place as_given;

/* change: of the cluster; may be NULL. False: such a step cannot be compiled. */
static bool judge(struct advice *a, const struct settings *s, void (*change)(struct cluster *), struct advise_next *out)
{
	struct grid_search f;
	struct report_tightest t = {0};
	bool there = !open_search(a, s, &f);
	if (there && change)
		change(&f.cluster);
	f.fits_or_not = true;
	out->step = there ? grid_search_time(&f, &as_given, false, &t) : -1;
	out->missing_bytes = t.needed_bytes > t.capacity_bytes ? t.needed_bytes - t.capacity_bytes : 0;
	a->plans += f.plans;
	grid_search_release(&f);
	return out->step >= 0;
}

static void add(struct advice *a, const struct advise_next *n)
{
	if (a->next_count < ADVISE_NEXT)
		a->next[a->next_count++] = *n;
}

static void judge_and_add(struct advice *a, const struct settings *s, void (*change)(struct cluster *),
                          struct advise_next *n)
{
	if (judge(a, s, change, n))
		add(a, n);
}

/* The same batch on another number of ranks, in micro-batches of the same size or smaller. */
static bool on_ranks(const struct settings *s, int64_t ranks, struct settings *out)
{
	for (int64_t micro = s->micro_batch; micro >= 1; micro /= 2) {
		*out = *s;
		out->ranks = ranks;
		out->micro_batch = micro;
		out->accumulate = 0;
		if (!settings_resolve(out, strategy_data_ranks(out)))
			return true;
	}
	return false;
}

/* ---- from the best line ---- */

/* With nothing computed again and nothing offloaded, a sample at a time; where that is so already, with twice the
 * micro-batch. */
static bool with_more_memory(const struct settings *s, struct settings *out)
{
	const struct offload none = {0};
	bool plain = !strcmp(s->checkpointing, "none") && !s->offload.optimizer && !s->offload.parameters &&
	             !s->offload.activations;
	*out = *s;
	snprintf(out->checkpointing, sizeof out->checkpointing, "none");
	out->offload = none;
	out->accumulate = 0;
	out->micro_batch = plain ? 2 * s->micro_batch : 1;
	return settings_resolve(out, strategy_data_ranks(out)) == STATUS_OK;
}

static void double_links(struct cluster *c)
{
	c->link.bandwidth.value *= 2;
	c->network.bandwidth.value *= 2;
}

static void go_on(struct advice *a, const struct settings *best)
{
	struct settings s;
	struct advise_next n = {0};
	if (with_more_memory(best, &s)) {
		advise_options(&s, n.what);
		judge_and_add(a, &s, NULL, &n);
	}
	for (int i = 0; i < 2; i++) {
		int64_t ranks = i ? 2 * best->ranks : best->ranks / 2;
		snprintf(n.what, sizeof n.what, "%s %" PRId64, status_words("{ranks}"), ranks);
		if (ranks > 1 && on_ranks(best, ranks, &s))
			judge_and_add(a, &s, NULL, &n);
	}
	snprintf(n.what, sizeof n.what, "links twice as fast");
	if (best->ranks > 1)
		judge_and_add(a, best, double_links, &n);
}

/* ---- where nothing fits ---- */

static double share(const struct report_tightest *t)
{
	return (double)t->needed_bytes / (double)(t->capacity_bytes ? t->capacity_bytes : 1);
}

static bool offloads(const struct settings *s)
{
	return s->offload.optimizer || s->offload.parameters || s->offload.activations;
}

/* The choice that lacks the least for its size; NULL: there is none. */
static const struct advise_lack *nearest(const struct advice *a, bool offloaded)
{
	const struct advise_lack *best = NULL;
	for (int i = 0; i < a->lack_count; i++)
		if (offloads(&a->lack[i].settings) == offloaded &&
		    (!best || share(&a->lack[i].tightest) < share(&best->tightest)))
			best = &a->lack[i];
	return best;
}

static int64_t memory_of(const struct cluster *c, enum space space)
{
	return space == SPACE_DEVICE ? c->device_memory : space == SPACE_HOST ? c->node_memory : c->disk.capacity;
}

/* With the margin: the search has taken it from a node's memory, and spares it of a device's. */
static void set_memory(struct cluster *c, enum space space, int64_t needed, double margin)
{
	if (space == SPACE_DEVICE) {
		c->device_memory = (int64_t)((double)needed / (1 - margin)) + 1;
		c->device_spared = c->device_memory - needed;
	} else if (space == SPACE_HOST) {
		c->node_memory = needed;
	} else {
		c->disk.capacity = needed;
	}
}

/* Raises each memory to what is needed. False: that comes to no end. */
static bool enlarge(struct grid_search *f)
{
	enum { TRIES = 4 * SPACE_COUNT }; /* an allocator may take more of a larger device */
	for (int i = 0; i < TRIES; i++) {
		struct report r;
		bool failed = grid_search_memory(f, &as_given, &r) != STATUS_OK, fits = r.fits;
		const struct report_tightest t = r.tightest;
		report_release(&r);
		if (failed || fits)
			return !failed;
		set_memory(&f->cluster, t.space, t.needed_bytes, f->margin);
	}
	return false;
}

/* "devices of 190 GB (177 GiB) and nodes of 2 TB (1.8 TiB)", with the margin. */
static void say_memories(const struct cluster *before, const struct cluster *after, double margin, char *out,
                         size_t size)
{
	static const char *const names[SPACE_COUNT] = {
	        [SPACE_DEVICE] = "devices", [SPACE_HOST] = "nodes", [SPACE_DISK] = "disks"};
	*out = 0;
	for (int i = 0; i < SPACE_COUNT; i++) {
		int64_t needed = memory_of(after, (enum space)i);
		char text[64];
		size_t n = strlen(out);
		if (needed == memory_of(before, (enum space)i))
			continue;
		if (i == SPACE_HOST)
			needed = (int64_t)((double)needed / (1 - margin));
		number_format_capacity(text, sizeof text, needed);
		snprintf(out + n, size - n, "%s%s of %s", n ? " and " : "", names[i], text);
	}
}

/* With as much memory as it takes. */
static void try_memory(struct advice *a, const struct settings *s)
{
	struct grid_search f;
	struct advise_next n = {0};
	char memories[200], options[ADVISE_OPTIONS];
	if (!open_search(a, s, &f)) {
		struct cluster before = f.cluster;
		if (enlarge(&f) && (n.step = grid_search_time(&f, &as_given, false, NULL)) >= 0) {
			say_memories(&before, &f.cluster, a->request.margin, memories, sizeof memories);
			advise_options(s, options);
			snprintf(n.what, sizeof n.what, "%s with %s", memories, options);
			add(a, &n);
		}
	}
	a->plans += f.plans;
	grid_search_release(&f);
}

/* A batch that so many ranks cannot divide grows with them. */
static bool with_ranks(const struct settings *s, int64_t ranks, struct settings *out, char *what, size_t size)
{
	bool same = on_ranks(s, ranks, out);
	char options[ADVISE_OPTIONS], batch[48] = "";
	if (!same) {
		*out = *s;
		out->ranks = ranks;
		out->micro_batch = out->accumulate = 1;
		out->batch = 0;
		if (settings_resolve(out, strategy_data_ranks(out)))
			return false;
		snprintf(batch, sizeof batch, " %s %" PRId64, status_words("{batch}"), out->batch);
	}
	advise_options(out, options);
	snprintf(what, size, "%s %" PRId64 "%s with %s", status_words("{ranks}"), ranks, batch, options);
	return true;
}

/* The fewest that are enough, of twice, four times, … as many. */
static void try_ranks(struct advice *a, const struct settings *s)
{
	enum { DOUBLINGS = 10 };
	struct advise_next n = {0};
	struct settings more;
	for (int k = 1; k <= DOUBLINGS; k++)
		if (with_ranks(s, s->ranks << k, &more, n.what, sizeof n.what) && judge(a, &more, NULL, &n) &&
		    !n.missing_bytes) {
			add(a, &n);
			return;
		}
}

static bool searched_halves(const struct advice *a)
{
	for (int i = 0; i < a->request.precisions; i++)
		if (type_bytes(a->request.precision[i]) < type_bytes(TYPE_FP32))
			return true;
	return false;
}

/* The type with 16 bits that the cluster computes in; fp32 if that was searched, or there is none. */
static enum type untried_halves(const struct advice *a)
{
	struct cluster c;
	enum type type = TYPE_FP32;
	if (searched_halves(a) || cluster_open(&c, a->request.cluster, a->request.given.ranks))
		return type;
	type = grid_search_halves(&c);
	cluster_release(&c);
	return type;
}

/* The work itself made smaller: 16 bits, and as long a sequence as such models are mostly trained with. */
static void try_less(struct advice *a, const struct settings *nearest)
{
	enum { LONG_ENOUGH = 4096 };
	struct settings s = *nearest;
	char more[48] = "", options[ADVISE_OPTIONS];
	struct advise_next n = {0};
	enum type halves = untried_halves(a);
	if (halves != TYPE_FP32)
		s.precision = halves;
	if (a->tokens > LONG_ENOUGH) {
		s.sequence = LONG_ENOUGH;
		snprintf(more, sizeof more, "%s %d with ", status_words("{sequence}"), LONG_ENOUGH);
	}
	if (s.precision == nearest->precision && !*more)
		return;
	advise_options(&s, options);
	snprintf(n.what, sizeof n.what, "%s%s", more, options);
	if (judge(a, &s, NULL, &n) && !n.missing_bytes)
		add(a, &n);
}

static void find_way_out(struct advice *a)
{
	const struct advise_lack *kept = nearest(a, false), *moved = nearest(a, true);
	const struct advise_lack *least =
	        !kept || (moved && share(&moved->tightest) < share(&kept->tightest)) ? moved : kept;
	if (!least)
		return;
	if (kept)
		try_memory(a, &kept->settings);
	if (moved)
		try_memory(a, &moved->settings);
	if (kept && kept->settings.ranks > 1)
		try_ranks(a, &kept->settings);
	if (moved && moved->settings.ranks > 1)
		try_ranks(a, &moved->settings);
	try_less(a, &least->settings);
}

/* ---- the largest micro-batch ---- */

static bool holds(struct grid_search *f, const struct settings *line, int64_t micro, int64_t *batch)
{
	struct settings s = *line;
	struct report r = {0};
	s.micro_batch = micro;
	s.batch = 0;
	bool fits = !settings_resolve(&s, strategy_data_ranks(&s)) && !grid_search_report(f, &s, false, &r) && r.fits;
	report_release(&r);
	if (fits)
		*batch = s.batch;
	return fits;
}

/* Twice as many samples until they are too many, and then between the last two. */
static void find_held(struct advice *a, struct grid_search *f, const struct settings *s)
{
	enum { MOST = 1 << 20 };
	int64_t low = s->micro_batch, high = 2 * low, batch = 0;
	while (high < MOST && holds(f, s, high, &batch)) {
		low = high;
		high *= 2;
	}
	while (high - low > 1) {
		int64_t middle = low + (high - low) / 2;
		if (holds(f, s, middle, &batch))
			low = middle;
		else
			high = middle;
	}
	a->held_micro = batch ? low : 0;
	a->held_batch = batch;
}

static void try_larger(struct advice *a)
{
	const struct settings *s = &advise_largest(a)->settings;
	struct grid_search f;
	if (a->request.given.micro_batch || a->request.given.accumulate || !advise_takes_all(s))
		return;
	if (!open_search(a, s, &f))
		find_held(a, &f, s);
	a->plans += f.plans;
	grid_search_release(&f);
}

void advise_find_next(struct advice *a)
{
	if (a->fit_count)
		try_larger(a);
	if (a->fit_count)
		go_on(a, &advise_best(a)->settings);
	else
		find_way_out(a);
}
