/* shardlab calibrate: starts ranks that measure, reads what they found, writes it and shows it. */
#include "cli/calibrate.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/launch.h"
#include "cli/progress.h"
#include "cli/table.h"
#include "real/calibrate.h"
#include "real/train.h"

/* ---- measuring ---- */

struct description {
	char *text;
	size_t length, capacity;
	struct progress progress;
};

/* Comments carry the progress: "# 0.25 all_reduce". */
static void take_line(void *context, const char *line)
{
	struct description *d = context;
	double done;
	int at = 0;
	if (sscanf(line, "# %lf %n", &done, &at) == 1 && at)
		progress_show(&d->progress, (int64_t)(1000 * done), line + at);
	size_t n = strlen(line);
	d->text = array_reserve(d->text, d->length + n + 2, &d->capacity, 1);
	memcpy(d->text + d->length, line, n);
	d->text[d->length + n] = '\n';
	d->length += n + 1;
}

/* The ranks are this program again: rank 0 prints the description of the cluster. */
static enum status measure(struct cluster *c, int64_t ranks, int64_t threads, bool quick)
{
	struct arguments a;
	struct description d = {0};
	arguments_begin(&a, "calibrate");
	arguments_set(&a, OPTION_RANKS, "%" PRId64, ranks);
	arguments_set(&a, OPTION_THREADS, "%" PRId64, threads);
	if (quick)
		arguments_flag(&a, OPTION_QUICK);
	progress_begin(&d.progress, 1000);
	struct launch launch = {
	        .ranks = ranks, .arguments = a.list, .under_mpi = true, .on_line = take_line, .context = &d};
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

static enum status measure_as_rank(const struct options *o, int rank)
{
	struct cluster c = {0};
	struct calibrate_options k = calibrate_options_default();
	k.quick = option_given(o, OPTION_QUICK);
	k.threads = (int)option_whole(o, OPTION_THREADS);
	k.progress = tell;
	enum status s = calibrate_run(&k, &c);
	if (!s && !rank)
		cluster_print(&c, stdout);
	cluster_release(&c);
	return s;
}

enum status calibrate_if_needed(void)
{
	return calibrate_if_older(INT64_MAX);
}

enum status calibrate_if_older(int64_t seconds)
{
	struct cluster c = {0};
	struct stat file;
	char path[4096];
	enum status s = cluster_local_path(DEVICE_CPU, path, sizeof path);
	if (s || (!stat(path, &file) && time(NULL) - file.st_mtime < seconds))
		return s;
	fprintf(stderr, "measuring this machine's rates, for %s\n", path);
	s = measure(&c, 2, 1, true);
	if (!s)
		s = cluster_write(&c, path);
	cluster_release(&c);
	return s;
}

/* ---- showing ---- */

enum in { FLOPS, BYTES_A_SECOND, NANOSECONDS, SHARE };

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

static void rate_row(struct table *t, const char *name, const struct rate *r, enum in in)
{
	char median[32], low[32], high[32];
	if (!r->value)
		return;
	table_add_row(t, STYLE_PLAIN);
	format_rate(median, sizeof median, r->value, in);
	table_cell(t, 0, "%s", name);
	table_cell(t, 1, "%s", median);
	if (!r->measured) {
		table_cell(t, 4, "assumed");
		return;
	}
	format_rate(low, sizeof low, r->low, in);
	format_rate(high, sizeof high, r->high, in);
	table_cell(t, 2, "%s", low);
	table_cell(t, 3, "%s", high);
	table_cell(t, 4, "%.0f %%", 100.0 * (double)(r->high - r->low) / (double)r->value);
}

/* The rate of the largest work that was measured stands for the curve, unless all are asked for. */
static void curve_rows(struct table *t, int key, int type, const struct curve *curve, bool all)
{
	for (int i = all ? 0 : curve->count - 1; i >= 0 && i < curve->count; i++) {
		char name[96], work[32];
		if (!all && !curve->point[i].rate.measured)
			continue;
		scaled(work, sizeof work, (double)curve->point[i].work, "FLOP");
		snprintf(name, sizeof name, "%s, %s, %s", compute_key_name(key), type_name((enum type)type), work);
		rate_row(t, name, &curve->point[i].rate, FLOPS);
	}
}

static void show_cluster(const struct cluster *c, bool all, FILE *out)
{
	struct table t;
	static const char *const heads[] = {"rate", "median", "lowest", "highest", "spread"};
	table_init(&t, out, 5);
	table_add_row(&t, STYLE_HEAD);
	for (int i = 0; i < 5; i++)
		table_cell(&t, i, "%s", heads[i]);
	fprintf(out, "%s\n\n", c->about);
	rate_row(&t, "memory, all ranks", &c->node_bandwidth, BYTES_A_SECOND);
	rate_row(&t, "memory, one rank", &c->device_bandwidth, BYTES_A_SECOND);
	rate_row(&t, "between ranks", &c->link.bandwidth, BYTES_A_SECOND);
	rate_row(&t, "message latency", &c->link.latency, NANOSECONDS);
	rate_row(&t, "start of a kernel", &c->launch, NANOSECONDS);
	rate_row(&t, "start of a collective", &c->collective_launch, NANOSECONDS);
	rate_row(&t, "cores of a collective", &c->collective_cores, SHARE);
	for (int key = 0; key < COMPUTE_KEY_COUNT; key++)
		for (int type = 0; type < CLUSTER_TYPES; type++)
			curve_rows(&t, key, type, &c->compute[key][type], all);
	table_print(&t, 0);
	table_release(&t);
	if (calibrate_forced_core())
		fprintf(out, "\nOPENBLAS_CORETYPE=%s is set: these are the rates of that core, not of this machine\n",
		        calibrate_forced_core());
}

enum status command_calibrate(const struct options *o)
{
	struct cluster c = {0};
	char local[4096];
	const char *path = option_text(o, OPTION_OUTPUT);
	int rank, ranks;
	enum status s = STATUS_OK;
	if (train_under_mpi(&rank, &ranks))
		return measure_as_rank(o, rank);
	launch_stop_on_signals();
	if (!path) {
		path = local;
		s = cluster_local_path(DEVICE_CPU, local, sizeof local);
	}
	if (!s)
		s = measure(&c, option_whole(o, OPTION_RANKS), option_whole(o, OPTION_THREADS),
		            option_given(o, OPTION_QUICK));
	if (!s)
		s = cluster_write(&c, path);
	if (!s) {
		show_cluster(&c, option_given(o, OPTION_VERBOSE), stdout);
		printf("\nwritten to %s%s\n", path, path == local ? ", the cluster `local`" : "");
	}
	cluster_release(&c);
	return s;
}
