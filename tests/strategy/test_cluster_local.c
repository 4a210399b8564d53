/* This machine as a cluster, `local`: where its file is kept, and what it is without one. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "strategy/cluster/cluster.h"
#include "tests/support/refusal.h"
#include "tests/support/scratch.h"
#include "tests/support/suite.h"

static void assert_local(enum device_kind kind, const char *want)
{
	char path[256];
	ck_assert(!cluster_local_path(kind, path, sizeof path));
	ck_assert_str_eq(path, want);
}

START_TEST(test_local)
{
	char path[256], small[4];
	struct cluster c;
	setenv("SHARDLAB_CONFIG", "/x/y.yaml", 1);
	assert_local(DEVICE_CPU, "/x/y.yaml");
	assert_local(DEVICE_GPU, "/x/y-cuda.yaml");
	ck_assert_int_eq(cluster_local_path(DEVICE_CPU, small, sizeof small), STATUS_INPUT);
	unsetenv("SHARDLAB_CONFIG");
	setenv("XDG_CONFIG_HOME", "/c", 1);
	assert_local(DEVICE_CPU, "/c/shardlab/local.yaml");
	assert_local(DEVICE_GPU, "/c/shardlab/local-cuda.yaml");
	ck_assert_int_eq(cluster_local_path(DEVICE_GPU, path, strlen("/c/shardlab/local-cuda.yaml")), STATUS_INPUT);
	unsetenv("XDG_CONFIG_HOME");
	setenv("HOME", "/h", 1);
	assert_local(DEVICE_CPU, "/h/.config/shardlab/local.yaml");
	unsetenv("HOME");
	ck_assert_int_eq(cluster_local_path(DEVICE_CPU, path, sizeof path), STATUS_INPUT);

	/* never calibrated: assumed, on the cores that are here, all ranks on one node */
	ck_assert(!cluster_open(&c, "local", 64));
	ck_assert_int_eq(c.kind, DEVICE_CPU);
	ck_assert_int_ge(c.cores, 1);
	ck_assert_int_gt(c.node_memory, 1000000);
	ck_assert_int_eq(cluster_node_of(&c, 63), 0);
	ck_assert(!cluster_compute_rate(&c, OP_LINEAR_FORWARD, TYPE_FP32, 1000).measured);
	cluster_release(&c);
}

/* The GPUs of this machine: never calibrated, an H100's; and shared where there are more ranks. */
START_TEST(test_local_cuda)
{
	static const char text[] =
	        "name: local-cuda\nkind: gpu\n"
	        "node: {devices: 2, cores: 8, memory: 64GB, memory_bandwidth: 1e11, core_compute: 1e10}\n"
	        "device: {memory: 90GB, overhead: 1GB, memory_bandwidth: 1e12, launch: 1e-6,\n"
	        "  collective_launch: 1e-6, collective_share: 0}\n"
	        "compute: {default: {fp32: 1e12}}\n"
	        "link: {latency: 1e-6, bandwidth: 1e10}\nhost_link: {latency: 1e-6, bandwidth: 1e10}\n";
	char path[] = "/tmp/shardlab-cluster-XXXXXX", file[64];
	struct cluster c;
	int directory = mkdtemp(path) != NULL;
	ck_assert(directory);
	snprintf(file, sizeof file, "%s/l.yaml", path);
	setenv("SHARDLAB_CONFIG", file, 1);
	must(cluster_open(&c, "local-cuda", 8));
	ck_assert_int_eq(c.kind, DEVICE_GPU);
	ck_assert_str_eq(c.name, "local-cuda");
	ck_assert_ptr_nonnull(strstr(c.about, "assumed"));
	ck_assert(!c.slow_count && !c.launch.measured);
	cluster_release(&c);

	ck_assert(!cluster_read(&c, text, strlen(text), "text"));
	snprintf(file, sizeof file, "%s/l-cuda.yaml", path);
	ck_assert(!cluster_write(&c, file));
	cluster_release(&c);
	must(cluster_open(&c, "local-cuda", 2));
	ck_assert_int_eq(c.device_memory, 90000000000);
	ck_assert_int_eq(cluster_slow_factor(&c, 1), MILLION);
	cluster_release(&c);
	must(cluster_open(&c, "local-cuda", 5));
	ck_assert_int_eq(c.device_memory, 30000000000);
	for (int rank = 0; rank < 5; rank++)
		ck_assert_int_eq(cluster_slow_factor(&c, rank), (rank % 2 ? 2 : 3) * MILLION);
	cluster_release(&c);
	/* as a file of one's own, it has two GPUs and no network */
	ck_assert_int_eq(cluster_open(&c, file, 5), STATUS_INPUT);

	file_put_text(file, cluster_catalogue("laptop"));
	must_fail(cluster_open(&c, "local-cuda", 1), STATUS_INPUT, "calibrate device cuda");
	unlink(file);
	rmdir(path);
}

/* A calibration that is there and broken is an error, not a reason to assume. */
START_TEST(test_local_broken)
{
	struct cluster c;
	scratch_make();
	setenv("SHARDLAB_CONFIG", scratch_text("local.yaml", "name: local\n"), 1);
	must_fail(cluster_open(&c, "local", 1), STATUS_INPUT, "'kind' is missing");
	scratch_remove();
}

SUITE("cluster_local", 60)
