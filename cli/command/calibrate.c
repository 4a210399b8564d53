/* shardlab calibrate: starts ranks that measure, reads what they found, writes it and shows it. */
#include "cli/command/calibrate.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cli/command/command.h"
#include "cli/command/job.h"
#include "cli/command/launch.h"
#include "cli/show/progress.h"
#include "cli/show/table.h"
#include "real/calibrate/calibrate.h"
#include "real/train/train.h"

/* ---- measuring ---- */

struct description {
	char *text;
	size_t length, capacity;
	struct progress progress;
	struct calibrate_figures *figures;
};

/* "#= 1 2100 2000 2300 start of a kernel, issued" */
static void take_figure(struct calibrate_figures *f, const char *line)
{
	struct calibrate_figure one = {.unit = CALIBRATE_FLOPS};
	int unit, at = 0;
	struct rate *r = &one.rate;
	if (sscanf(line, "#= %d %" SCNd64 " %" SCNd64 " %" SCNd64 " %n", &unit, &r->value, &r->low, &r->high, &at) !=
	            4 ||
	    !at)
		return;
	one.unit = (enum calibrate_unit)unit;
	r->measured = true;
	snprintf(one.name, sizeof one.name, "%s", line + at);
	f->list = array_reserve(f->list, f->count, &f->capacity, sizeof *f->list);
	f->list[f->count++] = one;
}

/* Comments carry the progress, "# 0.25 all_reduce", and what is no field of a cluster. */
static void take_line(void *context, const char *line)
{
	struct description *d = context;
	double done;
	int at = 0;
	if (sscanf(line, "# %lf %n", &done, &at) == 1 && at)
		progress_show(&d->progress, (int64_t)(1000 * done), line + at);
	take_figure(d->figures, line);
	size_t n = strlen(line);
	d->text = array_reserve(d->text, d->length + n + 2, &d->capacity, 1);
	memcpy(d->text + d->length, line, n);
	d->text[d->length + n] = '\n';
	d->length += n + 1;
}

static struct calibrate_options calibrate_options_from(const struct options *o)
{
	struct calibrate_options k = calibrate_options_default();
	k.quick = option_given(o, OPTION_QUICK);
	k.threads = (int)option_whole(o, OPTION_THREADS);
	k.device = option_text(o, OPTION_DEVICE);
	k.communicator = option_text(o, OPTION_COMM);
	k.no_graph = option_given(o, OPTION_NO_GRAPH);
	return k;
}

/* The ranks are this program again: rank 0 prints the description of the cluster. */
static enum status measure(struct cluster *c, struct calibrate_figures *figures, const struct options *o)
{
	struct arguments a;
	struct description d = {.figures = figures};
	struct calibrate_options k = calibrate_options_from(o);
	enum status s = calibrate_check(&k, option_whole(o, OPTION_RANKS));
	if (s)
		return s;
	arguments_begin(&a, "calibrate");
	arguments_pass(&a, COMMAND_CALIBRATE, o);
	progress_begin(&d.progress, 1000);
	struct launch launch = {.ranks = option_whole(o, OPTION_RANKS),
	                        .arguments = a.list,
	                        .under_mpi = true,
	                        .ends_at_once = true,
	                        .on_line = take_line,
	                        .context = &d};
	s = launch_run(&launch);
	progress_clear(&d.progress);
	if (!s)
		s = cluster_read(c, d.text ? d.text : "", d.length, "calibration");
	arguments_release(&a);
	free(d.text);
	return s;
}

static void tell(void *context, double done, const char *what)
{
	(void)context;
	printf("# %.3f %s\n", done, what);
	fflush(stdout);
}

static void tell_figures(const struct calibrate_figures *f)
{
	for (size_t i = 0; i < f->count; i++)
		printf("#= %d %" PRId64 " %" PRId64 " %" PRId64 " %s\n", f->list[i].unit, f->list[i].rate.value,
		       f->list[i].rate.low, f->list[i].rate.high, f->list[i].name);
}

static enum status measure_as_rank(const struct options *o, int rank)
{
	struct cluster c = {0};
	struct calibrate_figures figures;
	struct calibrate_options k = calibrate_options_from(o);
	k.progress = tell;
	enum status s = calibrate_run(&k, &c, &figures);
	if (!s && !rank) {
		tell_figures(&figures);
		cluster_print(&c, stdout);
	}
	calibrate_figures_release(&figures);
	cluster_release(&c);
	return s;
}

/* Quickly; processors two at once. */
enum status calibrate_if_older(enum device_kind kind, int64_t seconds)
{
	struct cluster c = {0};
	struct calibrate_figures figures = {0};
	struct options o;
	struct stat file;
	char path[4096];
	char *quick[] = {"--quick", kind == DEVICE_GPU ? "--device=cuda" : "--device=cpu",
	                 kind == DEVICE_GPU ? "--ranks=1" : "--ranks=2"};
	enum status s = cluster_local_path(kind, path, sizeof path);
	if (s || (!stat(path, &file) && time(NULL) - file.st_mtime < seconds))
		return s;
	fprintf(stderr, "measuring this machine's rates, for %s\n", path);
	s = options_parse(&o, COMMAND_CALIBRATE, 3, quick);
	if (!s)
		s = measure(&c, &figures, &o);
	if (!s)
		s = cluster_write(&c, path);
	calibrate_figures_release(&figures);
	cluster_release(&c);
	return s;
}

/* ---- showing ---- */

enum in { FLOPS = CALIBRATE_FLOPS, BYTES_A_SECOND = CALIBRATE_BYTES, NANOSECONDS = CALIBRATE_NS, SHARE };

static void scaled(char *out, size_t size, double v, const char *unit)
{
	static const char *const prefix[] = {"", "k", "M", "G", "T", "P"};
	int p = 0;
	while (v >= 999.5 && p < 5) {
		v /= 1000;
		p++;
	}
	snprintf(out, size, "%.*f %s%s", v < 9.995 ? 2 : v < 99.95 ? 1 : 0, v, prefix[p], unit);
}

static void format_rate(char *out, size_t size, int64_t v, enum in in)
{
	if (in == FLOPS)
		scaled(out, size, (double)v, "FLOP/s");
	else if (in == BYTES_A_SECOND)
		scaled(out, size, (double)v, "B/s");
	else if (in == NANOSECONDS)
		snprintf(out, size, "%.2f us", (double)v / 1e3);
	else
		snprintf(out, size, "%.2f", (double)v / (double)MILLION);
}

static void rate_row(void *context, const char *name, const struct rate *r, enum in in)
{
	struct table *t = context;
	char median[32], low[32], high[32];
	format_rate(median, sizeof median, r->value, in);
	format_rate(low, sizeof low, r->low, in);
	format_rate(high, sizeof high, r->high, in);
	if (r->measured)
		table_row(t, STYLE_PLAIN, "%s\t%s\t%s\t%s", name, median, low, high);
	else
		table_row(t, STYLE_PLAIN, "%s\t%s\t\t\tassumed", name, median);
	if (r->measured && r->value)
		table_cell(t, 4, "%.0f %%", 100.0 * (double)(r->high - r->low) / (double)r->value);
}

static void rate_json(void *context, const char *name, const struct rate *r, enum in in)
{
	static const char *const units[] = {
	        [FLOPS] = "FLOP/s", [BYTES_A_SECOND] = "B/s", [NANOSECONDS] = "s", [SHARE] = "1"};
	const double scale = in == NANOSECONDS ? 1e9 : in == SHARE ? (double)MILLION : 1;
	json_array_append_new(context, json_pack("{s:s, s:s, s:f, s:f, s:f, s:b}", "name", name, "unit", units[in],
	                                         "median", (double)r->value / scale, "lowest", (double)r->low / scale,
	                                         "highest", (double)r->high / scale, "measured", r->measured));
}

/* Who is told of each rate. */
struct listener {
	void (*hear)(void *context, const char *name, const struct rate *r, enum in in);
	void *context;
};

static void say(const struct listener *l, const char *name, const struct rate *r, enum in in)
{
	if (r->value || r->measured)
		l->hear(l->context, name, r, in);
}

/* The rate of the largest work that was measured stands for the curve, unless all are asked for. */
static void say_curve(const struct listener *l, int key, int type, const struct curve *curve, bool all)
{
	for (int i = all ? 0 : curve->count - 1; i >= 0 && i < curve->count; i++) {
		char name[96], work[32];
		if (!all && !curve->point[i].rate.measured)
			continue;
		scaled(work, sizeof work, (double)curve->point[i].work, "FLOP");
		snprintf(name, sizeof name, "%s, %s, %s", compute_key_name(key), type_name((enum type)type), work);
		say(l, name, &curve->point[i].rate, FLOPS);
	}
}

static void say_all(const struct cluster *c, const struct calibrate_figures *figures, bool all,
                    const struct listener *l)
{
	bool gpu = c->kind == DEVICE_GPU;
	say(l, gpu ? "host memory" : "memory, all ranks", &c->node_bandwidth, BYTES_A_SECOND);
	say(l, gpu ? "memory, copied on the GPU" : "memory, one rank", &c->device_bandwidth, BYTES_A_SECOND);
	say(l, "between ranks", &c->link.bandwidth, BYTES_A_SECOND);
	say(l, "message latency", &c->link.latency, NANOSECONDS);
	say(l, "start of a kernel", &c->launch, NANOSECONDS);
	say(l, "start of a collective", &c->collective_launch, NANOSECONDS);
	if (gpu) {
		say(l, "share of a collective", &c->collective_share, SHARE);
		say(l, "between host and GPU", &c->host_link.bandwidth, BYTES_A_SECOND);
		say(l, "start of a copy between them", &c->host_link.latency, NANOSECONDS);
		say(l, "update on the host, a core", &c->core_compute, FLOPS);
	} else {
		say(l, "cores of a collective", &c->collective_cores, SHARE);
	}
	for (int key = 0; key < COMPUTE_KEY_COUNT; key++)
		for (int type = 0; type < CLUSTER_TYPES; type++)
			say_curve(l, key, type, &c->compute[key][type], all);
	for (size_t i = 0; i < figures->count; i++)
		say(l, figures->list[i].name, &figures->list[i].rate, (enum in)figures->list[i].unit);
}

static void show_cluster(const struct cluster *c, const struct calibrate_figures *figures, bool all, FILE *out)
{
	struct table t;
	table_init(&t, out, 5, 1);
	table_row(&t, STYLE_HEAD, "rate\tmedian\tlowest\thighest\tspread");
	fprintf(out, "%s\n\n", c->about);
	say_all(c, figures, all, &(struct listener){rate_row, &t});
	table_end(&t, 0);
	if (calibrate_forced_core() && c->kind == DEVICE_CPU)
		fprintf(out, "\nOPENBLAS_CORETYPE=%s is set: these are the rates of that core, not of this machine\n",
		        calibrate_forced_core());
}

static json_t *to_json(const struct cluster *c, const struct calibrate_figures *figures, const char *path)
{
	json_t *rates = json_array();
	say_all(c, figures, true, &(struct listener){rate_json, rates});
	json_t *o = json_pack("{s:s, s:s}", "cluster", c->name, "about", c->about);
	json_object_set_new(o, "file", json_string(path)); /* left out if it is not UTF-8 */
	json_object_set_new(o, "overhead_bytes", json_integer(c->overhead.value));
	json_object_set_new(o, "rates", rates);
	return o;
}

enum status command_calibrate(const struct options *o)
{
	struct cluster c = {0};
	struct calibrate_figures figures = {0};
	enum device_kind kind = strcmp(option_text(o, OPTION_DEVICE), "cuda") ? DEVICE_CPU : DEVICE_GPU;
	char local[4096];
	const char *path = option_text(o, OPTION_OUTPUT);
	int rank, ranks;
	enum status s = STATUS_OK;
	if (train_under_mpi(&rank, &ranks))
		return measure_as_rank(o, rank);
	launch_stop_on_signals();
	if (!path) {
		path = local;
		s = cluster_local_path(kind, local, sizeof local);
	}
	if (!s)
		s = measure(&c, &figures, o);
	if (!s)
		s = cluster_write(&c, path);
	if (!s && option_given(o, OPTION_JSON)) {
		print_json(to_json(&c, &figures, path), false);
	} else if (!s) {
		show_cluster(&c, &figures, option_given(o, OPTION_VERBOSE), stdout);
		printf("\nwritten to %s%s%s%s\n", path, path == local ? ", the cluster `" : "",
		       path == local ? c.name : "", path == local ? "`" : "");
	}
	calibrate_figures_release(&figures);
	cluster_release(&c);
	return s;
}
