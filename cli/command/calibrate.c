/* shardlab calibrate: starts ranks that measure, reads what they found, writes it and shows it. */
#include "cli/command/calibrate.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cli/command/calibrate_own.h"
#include "cli/command/command.h"
#include "cli/command/hosts.h"
#include "cli/command/job.h"
#include "cli/command/launch.h"
#include "cli/show/progress.h"
#include "cli/show/table.h"
#include "kernels/kernels.h"
#include "real/calibrate/calibrate.h"
#include "real/train/train.h"
#include "strategy/base/character.h"

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
	int unit, at = 0;
	struct rate r = {.measured = true};
	if (sscanf(line, "#= %d %" SCNd64 " %" SCNd64 " %" SCNd64 " %n", &unit, &r.value, &r.low, &r.high, &at) == 4 &&
	    at)
		calibrate_figures_add(f, line + at, (enum calibrate_unit)unit, r);
}

/* Comments carry the progress, "# 0.25 all_reduce", and figures that are not fields of a cluster. */
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

/* Runs this program again as ranks, of which rank 0 prints the description of the cluster. */
static enum status measure(struct cluster *c, struct calibrate_figures *figures, const struct options *o)
{
	struct arguments a;
	struct description d = {.figures = figures};
	struct calibrate_options k = calibrate_options_from(o);
	TRY(calibrate_check(&k, option_whole(o, OPTION_RANKS)));
	arguments_begin(&a, "calibrate");
	arguments_drop(&a, OPTION_HOSTS);
	arguments_pass(&a, COMMAND_CALIBRATE, o);
	progress_begin(&d.progress, 1000);
	struct launch launch = {.ranks = option_whole(o, OPTION_RANKS),
	                        .arguments = a.list,
	                        .hosts = option_text(o, OPTION_HOSTS),
	                        .under_mpi = true,
	                        .ends_at_once = true,
	                        .on_line = take_line,
	                        .context = &d};
	enum status s = launch_run(&launch);
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

/* A calibration of this machine alone says nothing of its network, so the file keeps the network's last figures. */
static enum status write_cluster(struct cluster *c, const char *path)
{
	struct cluster before = {0};
	if (!c->network.bandwidth.value && !access(path, R_OK) && !cluster_open(&before, path, 1)) {
		c->network = before.network;
		c->together = before.together;
		c->network_sum = before.network_sum;
		c->rails = before.rails;
	}
	cluster_release(&before);
	return cluster_write(c, path);
}

bool calibrate_is_older(enum device_kind kind, int64_t seconds)
{
	char path[4096];
	struct stat file;
	return cluster_local_path(kind, path, sizeof path) || stat(path, &file) ||
	       time(NULL) - file.st_mtime >= seconds;
}

enum status calibrate_in_ranks(const char *device)
{
	struct cluster c = {0};
	struct calibrate_figures figures = {0};
	struct calibrate_options k = calibrate_options_default();
	char path[4096];
	int rank = 0, ranks;
	k.quick = true;
	k.device = device;
	train_under_mpi(&rank, &ranks);
	enum status s = cluster_local_path(strcmp(device, "cuda") ? DEVICE_CPU : DEVICE_GPU, path, sizeof path);
	if (!s && !rank)
		fprintf(stderr, "measuring these ranks' rates, for %s\n", character_plain(path));
	if (!s)
		s = calibrate_run(&k, &c, &figures);
	if (!s && !rank)
		s = write_cluster(&c, path);
	calibrate_figures_release(&figures);
	cluster_release(&c);
	return s;
}

/* Quickly; processors two at once. */
enum status calibrate_if_older(enum device_kind kind, int64_t seconds, const char *hosts)
{
	struct cluster c = {0};
	struct calibrate_figures figures = {0};
	struct options o;
	char path[4096];
	char over[4200], *quick[] = {"--quick", kind == DEVICE_GPU ? "--device=cuda" : "--device=cpu",
	                             hosts                ? over
	                             : kind == DEVICE_GPU ? "--ranks=1"
	                                                  : "--ranks=2"};
	snprintf(over, sizeof over, "--hosts=%s", hosts ? hosts : "");
	if (!calibrate_is_older(kind, seconds))
		return STATUS_OK;
	TRY(cluster_local_path(kind, path, sizeof path));
	fprintf(stderr, "measuring %s rates, for %s\n", hosts ? "these hosts'" : "this machine's",
	        character_plain(path));
	enum status s = options_parse(&o, COMMAND_CALIBRATE, 3, quick);
	if (!s)
		s = hosts_set_ranks(&o);
	if (!s)
		s = measure(&c, &figures, &o);
	if (!s)
		s = write_cluster(&c, path);
	calibrate_figures_release(&figures);
	cluster_release(&c);
	return s;
}

/* ---- showing ---- */

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

static void format_rate(char out[32], int64_t v, enum calibrate_unit unit)
{
	if (unit == CALIBRATE_FLOPS)
		scaled(out, 32, (double)v, "FLOP/s");
	else if (unit == CALIBRATE_BYTES)
		scaled(out, 32, (double)v, "B/s");
	else if (unit == CALIBRATE_NS)
		snprintf(out, 32, "%.2f µs", (double)v / 1e3);
	else
		snprintf(out, 32, "%.2f", (double)v / (double)MILLION);
}

static void rate_row(struct table *t, const struct calibrate_figure *f)
{
	const struct rate *r = &f->rate;
	char median[32], low[32], high[32];
	format_rate(median, r->value, f->unit);
	format_rate(low, r->low, f->unit);
	format_rate(high, r->high, f->unit);
	if (r->measured)
		table_row(t, STYLE_PLAIN, "%s\t%s\t%s\t%s", f->name, median, low, high);
	else
		table_row(t, STYLE_PLAIN, "%s\t%s\t\t\tassumed", f->name, median);
	if (r->measured && r->value)
		table_cell(t, 4, "%.0f %%", 100.0 * (double)(r->high - r->low) / (double)r->value);
}

static json_t *rate_to_json(const struct calibrate_figure *f)
{
	static const char *const units[] = {
	        [CALIBRATE_FLOPS] = "FLOP/s", [CALIBRATE_BYTES] = "B/s", [CALIBRATE_NS] = "s", [CALIBRATE_SHARE] = "1"};
	const struct rate *r = &f->rate;
	const double scale = f->unit == CALIBRATE_NS ? 1e9 : f->unit == CALIBRATE_SHARE ? (double)MILLION : 1;
	return json_pack("{s:s, s:s, s:f, s:f, s:f, s:b}", "name", f->name, "unit", units[f->unit], "median",
	                 (double)r->value / scale, "lowest", (double)r->low / scale, "highest", (double)r->high / scale,
	                 "measured", r->measured);
}

static void add_rate(struct calibrate_figures *f, const char *name, struct rate rate, enum calibrate_unit unit)
{
	if (rate.value || rate.measured)
		calibrate_figures_add(f, name, unit, rate);
}

/* The rate of the largest work that was measured stands for the curve, unless all are asked for. */
static void add_curve(struct calibrate_figures *f, int key, int type, const struct curve *curve, bool all)
{
	for (int i = all ? 0 : curve->count - 1; i >= 0 && i < curve->count; i++) {
		char name[96], work[32];
		if (!all && !curve->point[i].rate.measured)
			continue;
		scaled(work, sizeof work, (double)curve->point[i].work, "FLOP");
		snprintf(name, sizeof name, "%s, %s, %s", compute_key_name(key), type_name((enum type)type), work);
		add_rate(f, name, curve->point[i].rate, CALIBRATE_FLOPS);
	}
}

/* The rates of the cluster, then what else was measured. */
static struct calibrate_figures all_rates(const struct cluster *c, const struct calibrate_figures *others, bool all)
{
	struct calibrate_figures f = {0};
	bool gpu = c->kind == DEVICE_GPU;
	add_rate(&f, gpu ? "host memory" : "memory, all ranks", c->node_bandwidth, CALIBRATE_BYTES);
	add_rate(&f, gpu ? "memory, copied on the GPU" : "memory, one rank", c->device_bandwidth, CALIBRATE_BYTES);
	add_rate(&f, "between ranks", c->link.bandwidth, CALIBRATE_BYTES);
	add_rate(&f, "message latency", c->link.latency, CALIBRATE_NS);
	add_rate(&f, "between hosts", c->network.bandwidth, CALIBRATE_BYTES);
	add_rate(&f, "between hosts, sums", c->network_sum, CALIBRATE_BYTES);
	add_rate(&f, "message latency between hosts", c->network.latency, CALIBRATE_NS);
	add_rate(&f, "start of a kernel", c->launch, CALIBRATE_NS);
	add_rate(&f, "start of a collective", c->collective_launch, CALIBRATE_NS);
	if (gpu) {
		add_rate(&f, "share of a collective", c->collective_share, CALIBRATE_SHARE);
		add_rate(&f, "between host and GPU", c->host_link.bandwidth, CALIBRATE_BYTES);
		add_rate(&f, "start of a copy between them", c->host_link.latency, CALIBRATE_NS);
		add_rate(&f, "update on the host, a core", c->core_compute, CALIBRATE_FLOPS);
	} else {
		add_rate(&f, "cores of a collective", c->collective_cores, CALIBRATE_SHARE);
	}
	for (int key = 0; key < COMPUTE_KEY_COUNT; key++)
		for (int type = 0; type < CLUSTER_TYPES; type++)
			add_curve(&f, key, type, &c->compute[key][type], all);
	for (size_t i = 0; i < others->count; i++)
		add_rate(&f, others->list[i].name, others->list[i].rate, others->list[i].unit);
	return f;
}

static void show_cluster(const struct cluster *c, const struct calibrate_figures *rates)
{
	struct table t;
	table_init(&t, stdout, 5, 1);
	table_row(&t, STYLE_HEAD, "rate\tmedian\tlowest\thighest\tspread");
	printf("%s\n\n", c->about);
	for (size_t i = 0; i < rates->count; i++)
		rate_row(&t, &rates->list[i]);
	table_end(&t, 0);
	if (kernels_forced_core() && c->kind == DEVICE_CPU)
		printf("\nOPENBLAS_CORETYPE=%s is set: these are the rates of that core, not of this machine\n",
		       kernels_forced_core());
}

static json_t *to_json(const struct cluster *c, const struct calibrate_figures *rates, const char *path)
{
	json_t *list = json_array(), *o = json_pack("{s:s, s:s}", "cluster", c->name, "about", c->about);
	for (size_t i = 0; i < rates->count; i++)
		json_array_append_new(list, rate_to_json(&rates->list[i]));
	json_object_set_new(o, "file", json_string(path)); /* absent if it is not UTF-8 */
	json_object_set_new(o, "overhead_bytes", json_integer(c->overhead.value));
	json_object_set_new(o, "rates", list);
	return o;
}

static void show(const struct options *o, const struct cluster *c, const struct calibrate_figures *others,
                 const char *path)
{
	bool json = option_given(o, OPTION_JSON), local = !option_given(o, OPTION_OUTPUT);
	struct calibrate_figures rates = all_rates(c, others, json || option_given(o, OPTION_VERBOSE));
	if (json) {
		print_json(to_json(c, &rates, path), false);
	} else {
		show_cluster(c, &rates);
		printf("\nwritten to %s%s%s%s\n", character_plain(path), local ? ", the cluster `" : "",
		       local ? c->name : "", local ? "`" : "");
	}
	calibrate_figures_release(&rates);
}

static enum status find_path(const struct options *o, char *local, size_t size, const char **path)
{
	enum device_kind kind = strcmp(option_text(o, OPTION_DEVICE), "cuda") ? DEVICE_CPU : DEVICE_GPU;
	*path = option_text(o, OPTION_OUTPUT);
	if (*path)
		return STATUS_OK;
	*path = local;
	return cluster_local_path(kind, local, size);
}

static enum status write_and_show(const struct options *o, struct cluster *c, const struct calibrate_figures *figures)
{
	char local[4096];
	const char *path;
	enum status s = find_path(o, local, sizeof local, &path);
	if (!s)
		s = write_cluster(c, path);
	if (!s)
		show(o, c, figures, path);
	return s;
}

/* The process that started the ranks takes what the first of them prints. Of a user's mpirun there is none. */
static enum status measure_as_rank(const struct options *o, int rank, int ranks)
{
	struct cluster c = {0};
	struct calibrate_figures figures;
	struct calibrate_options k = calibrate_options_from(o);
	if (option_given(o, OPTION_HOSTS))
		return status_fail(STATUS_INPUT, "{hosts}: mpirun has started the ranks already; leave {hosts} out");
	hosts_say_joined(rank, ranks);
	k.progress = launch_is_child() ? tell : NULL;
	enum status s = calibrate_run(&k, &c, &figures);
	if (!s && !rank && !launch_is_child()) {
		s = write_and_show(o, &c, &figures);
	} else if (!s && !rank) {
		tell_figures(&figures);
		cluster_print(&c, stdout);
	}
	calibrate_figures_release(&figures);
	cluster_release(&c);
	return s;
}

enum status command_calibrate(const struct options *given)
{
	struct options all = *given, *o = &all;
	struct cluster c = {0};
	struct calibrate_figures figures = {0};
	char local[4096];
	const char *path;
	int rank, ranks;
	if (train_under_mpi(&rank, &ranks))
		return measure_as_rank(o, rank, ranks);
	enum status s = calibrate_check_options(o);
	if (!s && calibrate_is_own(o))
		return calibrate_own(o);
	if (!s)
		s = launch_check_alone();
	launch_stop_on_signals();
	if (!s)
		s = find_path(o, local, sizeof local, &path);
	if (!s)
		s = hosts_set_ranks(o);
	if (!s)
		s = measure(&c, &figures, o);
	if (!s)
		s = write_and_show(o, &c, &figures);
	calibrate_figures_release(&figures);
	cluster_release(&c);
	return s;
}
