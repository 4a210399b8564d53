/* Clusters: the catalogue, files and their errors, rates by size. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "strategy/cluster/links.h"
#include "tests/support/cluster_text.h"
#include "tests/support/plan_check.h"
#include "tests/support/scratch.h"
#include "tests/support/suite.h"

static const char lab[] = "name: lab\n"
                          "kind: gpu\n"
                          "nodes: 2\n"
                          "node: {devices: 4, cores: 16, memory: 256GB, memory_bandwidth: 2e11, core_compute: 2e10}\n"
                          "device:\n"
                          "  memory: 24GiB\n"
                          "  overhead: {measured: 1.5GiB, min: 1GiB, max: 2GiB}\n"
                          "  memory_bandwidth: {measured: 9e11, min: 8.5e11, max: 9.1e11}\n"
                          "  launch: 4e-6\n"
                          "  collective_launch: 8.4e-6\n"
                          "  collective_share: 0.1\n"
                          "compute:\n"
                          "  default: {fp32: 1e12}\n"
                          "  vector: {fp32: 2e12}\n"
                          "  linear: {fp32: 3e12, bf16: [{work: 1024, rate: 1e12},\n"
                          "    {work: 1048576, rate: {measured: 3e12, min: 2e12, max: 5e12}}], tf32: 6e12}\n"
                          "  linear.backward: {fp32: 4e12}\n"
                          "link: {latency: 5e-6, bandwidth: 2.5e10}\n"
                          "network: {latency: 1e-5, bandwidth: 1.25e9, rails: 2}\n"
                          "host_link: {latency: 1e-5, bandwidth: 1.2e10}\n"
                          "slow: {3: 1.5, 1: 2}\n";

static void read_lab(struct cluster *c)
{
	enum status s = cluster_read(c, lab, strlen(lab), "lab.yaml");
	must(s);
}

START_TEST(test_read)
{
	struct cluster c;
	read_lab(&c);
	ck_assert_str_eq(c.name, "lab");
	ck_assert_int_eq(c.kind, DEVICE_GPU);
	ck_assert_int_eq(c.nodes, 2);
	ck_assert_int_eq(c.devices, 4);
	ck_assert_int_eq(c.rails, 2);
	ck_assert_int_eq(c.device_memory, INT64_C(24) << 30);
	ck_assert_int_eq(c.node_memory, INT64_C(256000000000));
	ck_assert_int_eq(c.launch.value, 4000);
	ck_assert(!c.launch.measured);
	ck_assert_int_eq(c.collective_share.value, 100000);
	ck_assert(c.device_bandwidth.measured);
	ck_assert_int_eq(c.device_bandwidth.value, INT64_C(900000000000));
	ck_assert_int_eq(c.device_bandwidth.low, INT64_C(850000000000));
	ck_assert_int_eq(c.device_bandwidth.high, INT64_C(910000000000));
	ck_assert_int_eq(c.overhead.value, INT64_C(3) << 29);
	ck_assert_int_eq(cluster_slow_factor(&c, 0), MILLION);
	ck_assert_int_eq(cluster_slow_factor(&c, 1), 2 * MILLION);
	ck_assert_int_eq(cluster_slow_factor(&c, 2), MILLION);
	ck_assert_int_eq(cluster_slow_factor(&c, 3), 1500000);
	ck_assert_int_eq(cluster_node_of(&c, 3), 0);
	ck_assert_int_eq(cluster_node_of(&c, 4), 1);
	cluster_release(&c);
}

/* The most specific key counts: the operation, its family, default. Where it is asked for, tf32 counts before any rate
 * of fp32. */
START_TEST(test_compute_keys)
{
	static const struct {
		enum op_kind kind;
		enum type type;
		bool tf32;
		int64_t rate; /* in 10^12 */
	} rates[] = {{OP_LINEAR_FORWARD, TYPE_FP32, false, 3}, {OP_LINEAR_BACKWARD, TYPE_FP32, false, 4},
	             {OP_ADAMW, TYPE_FP32, false, 2},          {OP_NORM_FORWARD, TYPE_FP32, false, 1},
	             {OP_NORM_FORWARD, TYPE_BF16, false, 0},   {OP_LINEAR_FORWARD, TYPE_FP16, false, 0},
	             {OP_LINEAR_FORWARD, TYPE_FP32, true, 6},  {OP_LINEAR_BACKWARD, TYPE_FP32, true, 6},
	             {OP_NORM_FORWARD, TYPE_FP32, true, 1},    {OP_LINEAR_FORWARD, TYPE_BF16, true, 1}};
	struct cluster c;
	read_lab(&c);
	ck_assert(cluster_has_tf32(&c));
	for (int i = 0; i < COUNT(rates); i++) {
		c.tf32 = rates[i].tf32;
		ck_assert_int_eq(cluster_compute_rate(&c, rates[i].kind, rates[i].type, 1).value,
		                 rates[i].rate * INT64_C(1000000000000));
	}
	cluster_release(&c);
	ck_assert_int_eq(compute_key_parse("classifier"), COMPUTE_FAMILY + KERNEL_CLASSIFIER);
	ck_assert_int_eq(compute_key_parse("adamw"), OP_ADAMW);
	ck_assert_int_eq(compute_key_parse("default"), COMPUTE_DEFAULT);
	ck_assert_int_eq(compute_key_parse("all_reduce"), -1);
	ck_assert_int_eq(compute_key_parse("alloc"), -1);
}

/* The data sheet's where the cluster has it, else the fastest product of any size. */
START_TEST(test_peak)
{
	static const struct {
		const char *cluster;
		enum type type;
		bool tf32;
		double tera;
	} rows[] = {{"v100-16gb", TYPE_FP16, false, 125}, {"v100-16gb", TYPE_BF16, false, 0},
	            {"v100-16gb", TYPE_FP32, true, 15.7}, {"a100-80gb", TYPE_BF16, false, 312},
	            {"a100-80gb", TYPE_FP32, true, 156},  {"h100", TYPE_FP16, false, 989.4},
	            {"h200", TYPE_FP32, false, 67},       {"h200", TYPE_FP32, true, 494.7},
	            {"laptop", TYPE_BF16, true, 0.05}};
	struct cluster c;
	for (int i = 0; i < COUNT(rows); i++) {
		ck_assert_int_eq(cluster_open(&c, rows[i].cluster, 1), STATUS_OK);
		c.tf32 = rows[i].tf32;
		ck_assert_double_eq_tol((double)cluster_peak(&c, rows[i].type).value, 1e12 * rows[i].tera, 1);
		cluster_release(&c);
	}
	read_lab(&c);
	ck_assert_double_eq((double)cluster_peak(&c, TYPE_FP32).value, 4e12); /* linear.backward */
	struct rate bf16 = cluster_peak(&c, TYPE_BF16);
	ck_assert_double_eq((double)bf16.value, 3e12);
	cluster_release(&c);
	/* Nobody measured the GPUs of this machine. */
	ck_assert_int_eq(cluster_local_assumed(&c, DEVICE_GPU), STATUS_OK);
	ck_assert_int_eq(c.compute[COMPUTE_PEAK][TYPE_BF16].count, 0);
	ck_assert(cluster_peak(&c, TYPE_BF16).value > 0 && !cluster_peak(&c, TYPE_BF16).measured);
	cluster_release(&c);
	ck_assert_int_eq(compute_key_parse("peak"), COMPUTE_PEAK);
}

/* 2^10 … 2^20: half way in the logarithm is 2^15. */
START_TEST(test_curve)
{
	struct cluster c;
	read_lab(&c);
	const struct curve *curve = &c.compute[COMPUTE_FAMILY + KERNEL_LINEAR][TYPE_BF16];
	ck_assert_int_eq(curve->count, 2);
	ck_assert_int_eq(curve_rate(curve, 1).value, INT64_C(1000000000000));
	ck_assert_int_eq(curve_rate(curve, 1024).value, INT64_C(1000000000000));
	ck_assert_int_eq(curve_rate(curve, 32768).value, INT64_C(2000000000000));
	ck_assert_int_eq(curve_rate(curve, 32768).high, INT64_C(3000000000000));
	ck_assert(!curve_rate(curve, 32768).measured); /* one of its ends is assumed */
	ck_assert_int_eq(curve_rate(curve, 1048576).value, INT64_C(3000000000000));
	ck_assert_int_eq(curve_rate(curve, INT64_MAX).value, INT64_C(3000000000000));
	ck_assert(curve_rate(curve, 1048576).measured);
	/* log2(46341) = 15.50000…: 1 + 2 · 5.5/10 */
	int64_t v = curve_rate(curve, 46341).value;
	ck_assert_int_ge(v, INT64_C(2099900000000));
	ck_assert_int_le(v, INT64_C(2100100000000));
	cluster_release(&c);

	struct curve full = {.count = 0};
	for (int i = 0; i < CURVE_POINTS; i++)
		ck_assert(!curve_add(&full, i + 1, rate_assumed(1)));
	ck_assert_int_eq(curve_add(&full, 1000, rate_assumed(1)), STATUS_INPUT);
	struct curve twice = {.count = 0};
	ck_assert(!curve_add(&twice, 5, rate_assumed(1)));
	ck_assert_int_eq(curve_add(&twice, 5, rate_assumed(1)), STATUS_INPUT);
}

/* ---- errors: the first line that is wrong, its place, and what is wrong with it ---- */

static const struct {
	const char *find, *replace, *message;
} wrong[] = {
        {"kind: gpu", "kind: tpu", "x.yaml:2:7: kind must be cpu or gpu"},
        {"name: lab", "nam: lab", "x.yaml:1:1: unknown key 'nam'"},
        {"name: lab", "name: ''", "x.yaml:1:7: name is empty"},
        {"name: lab\n", "", "x.yaml:1:1: 'name' is missing"},
        {"name: lab", "name: [a]", "x.yaml:1:7: name must be text"},
        {"nodes: 2", "nodes: 0", "x.yaml:3:8: nodes: '0' is below 1"},
        {"nodes: 2", "nodes: 2.5", "x.yaml:3:8: nodes: '2.5' is not whole"},
        {"devices: 4", "device: 4",
         "x.yaml:4:8: unknown key 'device' in node (did you mean devices?); known keys: devices, together, cores"},
        {"devices: 4", "devices: 4, together: 2",
         "x.yaml:4:30: 'together' is for kind: cpu; this cluster is of kind gpu"},
        {"devices: 4", "devices: 4, devices: 5", "x.yaml:4:20: 'devices' is there twice"},
        {"devices: 4, ", "", "x.yaml:4:7: node: 'devices' is missing"},
        {"cores: 16, ", "", "x.yaml:4:7: node: 'cores' is missing"},
        {"node: {", "node: 7 #", "x.yaml:4:7: node must be a list of `key: value`"},
        {"24GiB", "24GiBs", "x.yaml:6:11: device.memory: '24GiBs' is not a number of bytes"},
        {"24GiB", "9e40", "x.yaml:6:11: device.memory: '9e40' is too large"},
        {"min: 1GiB", "min: 1.7GB", "x.yaml:7:13: device.overhead: needs min <= measured <= max"},
        {"{measured: 1.5GiB, ", "{", "x.yaml:7:13: device.overhead: 'measured' is missing"},
        {"min: 1GiB", "least: 1GiB",
         "x.yaml:7:32: unknown key 'least' in device.overhead; known keys: measured, min, max"},
        {"launch: 4e-6", "launch: 4", "x.yaml:9:11: device.launch: '4' is above 1"},
        {"launch: 4e-6", "launch: nan", "x.yaml:9:11: device.launch: 'nan' is not a number"},
        {"launch: 4e-6", "launch: -1e-6", "x.yaml:9:11: device.launch: '-1e-6' is below 0"},
        {"collective_share: 0.1", "collective_cores: 1", "x.yaml:11:21: 'collective_cores' is for kind: cpu"},
        {"vector:", "vectors:", "x.yaml:14:3: unknown key 'vectors' in compute"},
        {"vector: {fp32", "vector: {int4", "x.yaml:14:12: unknown key 'int4' in compute.vector; known keys: fp32"},
        {"{work: 1024,", "{size: 1024,",
         "x.yaml:15:32: unknown key 'size' in compute.linear.bf16; known keys: work, rate"},
        {"{work: 1024, rate: 1e12}", "{work: 1024}", "x.yaml:15:31: compute.linear.bf16: a point is"},
        {"{work: 1048576", "{work: 1023", "x.yaml:16:5: compute.linear.bf16: points must be in ascending order"},
        {"linear.backward: {fp32: 4e12}", "linear.backward: {fp32: []}",
         "x.yaml:17:27: compute.linear.backward.fp32: an empty list"},
        {"linear.backward: {fp32: 4e12}", "vector: {fp32: 4e12}", "x.yaml:17:3: 'vector' is there twice"},
        {"bandwidth: 2.5e10", "bandwidth: 1e30", "x.yaml:18:34: link.bandwidth: '1e30' is above"},
        {"host_link:", "hostlink:",
         "x.yaml:20:1: unknown key 'hostlink' (did you mean host_link?); known keys: name, about, kind"},
        {"{3: 1.5, 1: 2}", "{3: 1.5, 3: 2}", "x.yaml:21:7: slow: rank 3 is there twice"},
        {"{3: 1.5, 1: 2}", "{three: 1.5}", "x.yaml:21:8: slow: rank: 'three' is not a whole number"},
        {"{3: 1.5, 1: 2}", "{3: 0}", "x.yaml:21:11: slow: factor: '0' is below"},
        {"{3: 1.5, 1: 2}", "{3: 1.5", "x.yaml:22:1: not YAML"},
        {"{3: 1.5, 1: 2}", "{[3]: 1.5}", "x.yaml:21:8: a key of slow must be a word"},
};

START_LOOP_TEST(test_wrong, 0, (int)(sizeof wrong / sizeof *wrong))
{
	const char *text = text_replaced(lab, wrong[_i].find, wrong[_i].replace);
	struct cluster c;
	ck_assert_int_eq(cluster_read(&c, text, strlen(text), "x.yaml"), STATUS_INPUT);
	ck_assert_msg(!strncmp(status_message(), wrong[_i].message, strlen(wrong[_i].message)), "'%s' instead of '%s…'",
	              status_message(), wrong[_i].message);
	cluster_release(&c);
}

START_TEST(test_wrong_whole)
{
	struct cluster c;
	ck_assert_int_eq(cluster_read(&c, "", 0, "x.yaml"), STATUS_INPUT);
	must_fail(cluster_read(&c, "- a\n", 4, "x.yaml"), STATUS_INPUT, "x.yaml:1:1: a cluster file must be");
	ck_assert_int_eq(cluster_read(&c, "\xff\xfe\xfd", 3, "x.yaml"), STATUS_INPUT);
	char *large = calloc(1, (1 << 20) + 1);
	ck_assert_int_eq(cluster_read(&c, large, (1 << 20) + 1, "x.yaml"), STATUS_INPUT);
	free(large);
	ck_assert_int_eq(cluster_open(&c, "/nonexistent/x.yaml", 1), STATUS_INPUT);
	must_fail(cluster_open(&c, "no-such-cluster", 1), STATUS_INPUT, "all of them");
	cluster_release(&c);
	cluster_release(&c);
	cluster_release(NULL);
}

/* ---- the catalogue ---- */

static int entries;

static void check_entry(void *context, const char *name, const char *what)
{
	static const int64_t ranks[] = {1, 3, 8, 16384};
	(void)context;
	entries++;
	ck_assert_uint_gt(strlen(what), 10);
	for (int i = 0; i < 4; i++) {
		struct cluster c, again;
		if (!strcmp(name, CLUSTER_LOCAL_CUDA) && ranks[i] > CLUSTER_SHARING_MOST) {
			ck_assert_int_eq(cluster_open(&c, name, ranks[i]), STATUS_INPUT);
			continue;
		}
		must(cluster_open(&c, name, ranks[i]));
		ck_assert_str_eq(c.name, name);
		ck_assert_int_gt(cluster_compute_rate(&c, OP_LINEAR_FORWARD, TYPE_FP32, 1000).value, 0);
		ck_assert_int_gt(cluster_compute_rate(&c, OP_LINEAR_FORWARD, TYPE_FP16, 1000).value, 0);
		bool no_bf16 = !strcmp(c.card, "volta") || !strcmp(c.card, "turing");
		ck_assert_int_eq(cluster_compute_rate(&c, OP_LINEAR_FORWARD, TYPE_BF16, 1000).value == 0, no_bf16);
		/* what is written is what is read */
		char *text = cluster_text(&c);
		must(cluster_read(&again, text, strlen(text), name));
		char *text_again = cluster_text(&again);
		ck_assert_str_eq(text, text_again);
		ck_assert_int_eq(again.device_bandwidth.value, c.device_bandwidth.value);
		ck_assert_int_eq(again.collective_share.value, c.collective_share.value);
		ck_assert_int_eq(again.network.latency.value, c.network.latency.value);
		free(text);
		free(text_again);
		cluster_release(&c);
		cluster_release(&again);
	}
}

START_TEST(test_catalogue)
{
	entries = 0;
	setenv("SHARDLAB_CONFIG", "/nonexistent/local.yaml", 1);
	cluster_list(check_entry, NULL);
	ck_assert_int_ge(entries, 8);
	ck_assert_ptr_nonnull(cluster_catalogue("a100-80gb"));
	ck_assert_ptr_null(cluster_catalogue("nothing"));
}

START_TEST(test_ranks)
{
	struct cluster c;
	scratch_make();
	const char *path = scratch_text("lab.yaml", lab);
	must(cluster_open(&c, path, 8));
	cluster_release(&c);
	must_fail(cluster_open(&c, path, 9), STATUS_INPUT, "9 ranks on 2 nodes of 4");
	ck_assert_int_eq(cluster_open(&c, path, 3), STATUS_INPUT); /* a slow rank 3 that is not there */
	ck_assert_ptr_nonnull(strstr(status_message(), "no rank 3"));
	scratch_remove();
}

/* Behind a name stand other links; nothing else changes, and the name says so. */
START_TEST(test_links)
{
	struct cluster c, plain;
	ck_assert(!cluster_open(&plain, "v100-16gb:stack=ceiling", 8));
	must(cluster_open(&c, "v100-16gb:link=50GB:network=1e9:stack=ceiling", 8));
	ck_assert_str_eq(c.name, "v100-16gb:link=50GB:network=1e9");
	ck_assert_int_eq(c.link.bandwidth.value, INT64_C(50000000000));
	ck_assert_int_eq(c.network.bandwidth.value, INT64_C(1000000000));
	ck_assert(!c.link.bandwidth.measured);
	c.link.bandwidth = plain.link.bandwidth;
	c.network.bandwidth = plain.network.bandwidth;
	memcpy(c.name, plain.name, sizeof c.name);
	ck_assert_mem_eq(&c, &plain, sizeof c);
	ck_assert(links_named("local:link=1e9", CLUSTER_LOCAL) && !links_named("local-cuda", CLUSTER_LOCAL));
	ck_assert(links_known("h100:network=5GB") && links_known("local") && !links_known("mine:link=5GB"));
	cluster_release(&c);
	cluster_release(&plain);
}

static const struct {
	const char *cluster, *says;
} wrong_links[] = {
        {"laptop:network=1e9", "laptop has no 'network' that could be changed"},
        {"laptop:link=0", "laptop: link: '0' is below 1000"},
        {"laptop:link=fast", "laptop: link: 'fast' is not"},
        {"laptop:link=1e30", "laptop: link: '1e30' is"},
        {"laptop:link=1e9:speed=2", "speed"},
        {"laptop:link=1e9:link=2e9", "link"},
        {"laptop:link=", "link"},
        {"lap:link=1e9", "unknown cluster 'lap'"},
};

START_LOOP_TEST(test_wrong_links, 0, COUNT(wrong_links))
{
	struct cluster c;
	ck_assert_int_eq(cluster_open(&c, wrong_links[_i].cluster, 2), STATUS_INPUT);
	ck_assert_msg(strstr(status_message(), wrong_links[_i].says), "%s: %s", wrong_links[_i].cluster,
	              status_message());
}

/* ---- writing ---- */

START_TEST(test_write)
{
	char directory[] = "/tmp/shardlab-cluster-XXXXXX", path[256], list[300];
	struct cluster c, again;
	struct stat st;
	ck_assert_ptr_nonnull(mkdtemp(directory));
	snprintf(path, sizeof path, "%s/a/b/local.yaml", directory);
	read_lab(&c);
	snprintf(c.about, sizeof c.about, "it's measured: yes");
	must(cluster_write(&c, path));
	must(cluster_write(&c, path)); /* over the old one */

	/* `local` is found there, with its spread */
	setenv("SHARDLAB_CONFIG", path, 1);
	must(cluster_open(&again, "local", 8));
	ck_assert_str_eq(again.about, c.about);
	ck_assert(again.overhead.measured);
	ck_assert_int_eq(again.overhead.low, INT64_C(1) << 30);
	ck_assert_int_eq(again.overhead.high, INT64_C(2) << 30);
	ck_assert_int_eq(again.slow_count, 2);
	ck_assert_int_eq(again.compute[COMPUTE_FAMILY + KERNEL_LINEAR][CLUSTER_TF32].point[0].rate.value,
	                 INT64_C(6000000000000));
	cluster_release(&again);

	/* a link that stands where the file is prepared is not followed */
	char planted[300], victim[300];
	snprintf(planted, sizeof planted, "%s.%d.0.partial", path, (int)getpid());
	snprintf(victim, sizeof victim, "%s/victim", directory);
	ck_assert_int_eq(symlink(victim, planted), 0);
	must(cluster_write(&c, path));
	ck_assert_int_ne(access(victim, F_OK), 0);
	ck_assert_int_eq(unlink(planted), 0);

	/* nothing is left beside it */
	snprintf(list, sizeof list, "test $(ls -A %s/a/b | wc -l) = 1", directory);
	ck_assert_int_eq(system(list), 0);
	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert_int_eq(st.st_mode & 0777, 0644);

	/* a place that cannot be written: said, and nothing changed */
	snprintf(path, sizeof path, "%s/a/b/local.yaml/c.yaml", directory);
	ck_assert_int_eq(cluster_write(&c, path), STATUS_RUN);
	snprintf(list, sizeof list, "rm -r %s", directory);
	ck_assert_int_eq(system(list), 0);
	cluster_release(&c);
}

/* The rate of a measured operation includes its traffic; that of its family, or of sizes beyond the measured ones, does
 * not. */
START_TEST(test_measured_whole)
{
	struct cluster c = {.kind = DEVICE_GPU};
	struct curve *own = &c.compute[OP_LINEAR_FORWARD][TYPE_BF16];
	ck_assert(!cluster_measured_whole(&c, OP_LINEAR_FORWARD, TYPE_BF16, 100));
	ck_assert(!curve_add(own, 100, rate_measured(5, 4, 6)) && !curve_add(own, 1000, rate_measured(7, 6, 8)));
	ck_assert(cluster_measured_whole(&c, OP_LINEAR_FORWARD, TYPE_BF16, 1));
	ck_assert(cluster_measured_whole(&c, OP_LINEAR_FORWARD, TYPE_BF16, 2000));
	ck_assert(!cluster_measured_whole(&c, OP_LINEAR_FORWARD, TYPE_BF16, 2001));
	ck_assert(!cluster_measured_whole(&c, OP_LINEAR_BACKWARD, TYPE_BF16, 100));
	ck_assert(!cluster_measured_whole(&c, OP_LINEAR_FORWARD, TYPE_FP32, 100));
	ck_assert(!cluster_measured_whole(&c, OP_LINEAR_FORWARD, TYPE_I64, 100));
	own->point[0].rate.measured = own->point[1].rate.measured = false;
	ck_assert(!cluster_measured_whole(&c, OP_LINEAR_FORWARD, TYPE_BF16, 100));
	ck_assert(!curve_add(&c.compute[COMPUTE_FAMILY + KERNEL_LINEAR][TYPE_FP32], 1, rate_measured(5, 4, 6)));
	ck_assert(!cluster_measured_whole(&c, OP_LINEAR_FORWARD, TYPE_FP32, 1));
	ck_assert(!curve_add(&c.compute[compute_key_parse("classifier")][TYPE_FP32], 1, rate_measured(5, 4, 6)));
	ck_assert(cluster_measured_whole(&c, OP_CLASSIFIER, TYPE_FP32, 1));
}

/* Without a limit the time grows with the square of the depth: minutes. */
START_TEST(what_is_nested_deep_is_refused_at_once)
{
	static const char *const begins[] = {"[", "{a: ", "- ", "? "};
	enum { DEPTH = 100000, MOST = 4 * DEPTH };
	char *text = malloc(MOST + 1);
	ck_assert_ptr_nonnull(text);
	for (int i = 0; i < COUNT(begins); i++) {
		struct cluster c;
		size_t n = strlen(begins[i]), size = n * DEPTH;
		for (size_t k = 0; k < size; k++)
			text[k] = begins[i][k % n];
		ck_assert_int_eq(cluster_read(&c, text, size, "x.yaml"), STATUS_INPUT);
		ck_assert_ptr_nonnull(strstr(status_message(), "nested more than 16 deep"));
	}
	free(text);
}

SUITE("cluster", 60)
