/* The network of a cluster of processors, as calibrate writes it. */
#include <stdio.h>
#include <string.h>

#include "strategy/cluster/cluster.h"
#include "tests/support/cluster_text.h"
#include "tests/support/refusal.h"
#include "tests/support/suite.h"

/* Hosts that are one machine, as calibrate writes it. */
START_TEST(test_nodes_of_one_machine)
{
	static const char text[] =
	        "name: c\nkind: cpu\nnode: {devices: 1, together: 4, cores: 2, memory: 1GB, memory_bandwidth: 1e10}\n"
	        "device: {overhead: 1MB, memory_bandwidth: 1e9, launch: 0, collective_launch: 0,\n"
	        "  collective_cores: 0.5}\ncompute: {default: {fp32: 1e9}}\n"
	        "link: {latency: 1e-6, bandwidth: 1e9}\nnetwork: {latency: 1e-5, bandwidth: 2e8}\n";
	struct cluster c, again;
	must(cluster_read(&c, text, strlen(text), "c.yaml"));
	ck_assert_int_eq(cluster_machine_nodes(&c), 4);
	must_read_back(&c, &again);
	ck_assert_int_eq(again.together, 4);
	c.together = 0; /* not said: a node is a machine, and nothing is written */
	cluster_release(&again);
	must_read_back(&c, &again);
	ck_assert_int_eq(again.together, 0);
	ck_assert_int_eq(cluster_machine_nodes(&again), 1);
	cluster_release(&c);
	cluster_release(&again);
}

/* Sums between hosts have a rate of their own, if the file says one. */
START_TEST(test_sums_between_nodes)
{
	static const char without[] =
	        "name: c\nkind: cpu\nnode: {cores: 2, memory: 1GB, memory_bandwidth: 1e10}\n"
	        "device: {overhead: 1MB, memory_bandwidth: 1e9, launch: 0, collective_launch: 0,\n"
	        "  collective_cores: 0.5}\ncompute: {default: {fp32: 1e9}}\n"
	        "link: {latency: 1e-6, bandwidth: 1e9}\n";
	for (int i = 0; i < 2; i++) {
		struct cluster c, again;
		char text[1024];
		snprintf(text, sizeof text, "%snetwork: {latency: 1e-5, bandwidth: 2e8%s}\n", without,
		         i ? ", sum_bandwidth: 1e8" : "");
		must(cluster_read(&c, text, strlen(text), "c.yaml"));
		ck_assert_int_eq(c.network_sum.value, i * 100000000);
		must_read_back(&c, &again);
		ck_assert_int_eq(again.network_sum.value, c.network_sum.value);
		ck_assert_int_eq(again.network.bandwidth.value, 200000000);
		cluster_release(&c);
		cluster_release(&again);
	}
}

SUITE("network of a cluster", 0)
