#include "strategy/cluster/fields.h"

#define BOTH (ON_CPU | ON_GPU)
#define AT(member) offsetof(struct cluster, member)

/* The bounds keep every product and quotient of the simulator within 63 bits, and catch a wrong unit (microseconds
 * where seconds are meant). */
const struct field cluster_fields[] = {
        {"", "nodes", FIELD_WHOLE, BOTH, 1, 1e7, AT(nodes)},
        {"node", "devices", FIELD_WHOLE, BOTH, 1, 65536, AT(devices)},
        {"node", "cores", FIELD_WHOLE, BOTH | REQUIRED, 1, 65536, AT(cores)},
        {"node", "memory", FIELD_BYTES, BOTH | REQUIRED, 1, 1e18, AT(node_memory)},
        {"node", "memory_bandwidth", FIELD_PER_SECOND, BOTH | REQUIRED, 1e6, 1e15, AT(node_bandwidth)},
        {"node", "core_compute", FIELD_PER_SECOND, ON_GPU | REQUIRED, 1e6, 1e13, AT(core_compute)},
        {"device", "memory", FIELD_BYTES, ON_GPU | REQUIRED, 1, 1e18, AT(device_memory)},
        {"device", "threads", FIELD_WHOLE, ON_CPU, 1, 65536, AT(threads)},
        {"device", "overhead", FIELD_RATE_BYTES, BOTH | REQUIRED, 0, 1e18, AT(overhead)},
        {"device", "memory_bandwidth", FIELD_PER_SECOND, BOTH | REQUIRED, 1e6, 1e15, AT(device_bandwidth)},
        {"device", "launch", FIELD_SECONDS, BOTH | REQUIRED, 0, 1, AT(launch)},
        {"device", "collective_launch", FIELD_SECONDS, BOTH | REQUIRED, 0, 1, AT(collective_launch)},
        {"device", "collective_share", FIELD_SHARE, ON_GPU | REQUIRED, 0, 0.99, AT(collective_share)},
        {"device", "collective_cores", FIELD_SHARE, ON_CPU | REQUIRED, 0, 64, AT(collective_cores)},
        {"link", "latency", FIELD_SECONDS, BOTH | REQUIRED, 0, 1, AT(link.latency)},
        {"link", "bandwidth", FIELD_PER_SECOND, BOTH | REQUIRED, 1e3, 1e15, AT(link.bandwidth)},
        {"network", "latency", FIELD_SECONDS, BOTH | REQUIRED, 0, 1, AT(network.latency)},
        {"network", "bandwidth", FIELD_PER_SECOND, BOTH | REQUIRED, 1e3, 1e15, AT(network.bandwidth)},
        {"network", "rails", FIELD_WHOLE, BOTH, 1, 65536, AT(rails)},
        {"host_link", "latency", FIELD_SECONDS, ON_GPU | REQUIRED, 0, 1, AT(host_link.latency)},
        {"host_link", "bandwidth", FIELD_PER_SECOND, ON_GPU | REQUIRED, 1e3, 1e15, AT(host_link.bandwidth)},
        {"disk", "latency", FIELD_SECONDS, BOTH | REQUIRED, 0, 1, AT(disk.latency)},
        {"disk", "read_bandwidth", FIELD_PER_SECOND, BOTH | REQUIRED, 1e3, 1e15, AT(disk.read)},
        {"disk", "write_bandwidth", FIELD_PER_SECOND, BOTH | REQUIRED, 1e3, 1e15, AT(disk.write)},
        {"disk", "capacity", FIELD_BYTES, BOTH | REQUIRED, 1, 1e18, AT(disk.capacity)},
};
_Static_assert(sizeof cluster_fields / sizeof *cluster_fields <= CLUSTER_FIELDS_MOST, "the reader marks each");
const int cluster_field_count = sizeof cluster_fields / sizeof *cluster_fields;

const char *const cluster_sections[] = {"", "node", "device", "link", "network", "host_link", "disk"};
const int cluster_section_count = sizeof cluster_sections / sizeof *cluster_sections;

double field_scale(enum field_kind kind)
{
	switch (kind) {
	case FIELD_SECONDS:
		return 1e9;
	case FIELD_SHARE:
		return 1e6;
	case FIELD_WHOLE:
	case FIELD_BYTES:
	case FIELD_RATE_BYTES:
	case FIELD_PER_SECOND:
		break;
	}
	return 1;
}
