#include "strategy/cluster/fields.h"

#include <inttypes.h>
#include <string.h>

#define BOTH (ON_CPU | ON_GPU)
#define AT(member) offsetof(struct cluster, member)

/* The bounds keep every product and quotient of the simulator within 63 bits, and catch a wrong unit (microseconds
 * where seconds are meant). */
static const struct field all[] = {
        {"", "name", FIELD_TEXT, BOTH | REQUIRED, 0, sizeof((struct cluster *)0)->name, AT(name)},
        {"", "about", FIELD_TEXT, BOTH, 0, sizeof((struct cluster *)0)->about, AT(about)},
        {"", "kind", FIELD_KIND, BOTH | REQUIRED, 0, 0, AT(kind)},
        {"", "card", FIELD_CARD, ON_GPU, 0, sizeof((struct cluster *)0)->card, AT(card)},
        {"", "nodes", FIELD_WHOLE, BOTH, 1, 1e7, AT(nodes)},
        {"", "node", FIELD_SECTION, BOTH | REQUIRED, 0, 0, 0},
        {"", "device", FIELD_SECTION, BOTH | REQUIRED, 0, 0, 0},
        {"", "link", FIELD_SECTION, BOTH | REQUIRED, 0, 0, 0},
        {"", "network", FIELD_SECTION, BOTH, 0, 0, 0},
        {"", "host_link", FIELD_SECTION, ON_GPU | REQUIRED, 0, 0, 0},
        {"", "disk", FIELD_SECTION, BOTH, 0, 0, 0},
        {"", "compute", FIELD_COMPUTE, BOTH | REQUIRED, 0, 0, 0},
        {"", "slow", FIELD_SLOW, BOTH, 0, 0, 0},
        {"node", "devices", FIELD_WHOLE, BOTH | GPU_NEEDS, 1, 65536, AT(devices)},
        {"node", "together", FIELD_WHOLE, ON_CPU, 1, 65536, AT(together)},
        {"node", "cores", FIELD_WHOLE, BOTH | REQUIRED, 1, 65536, AT(cores)},
        {"node", "memory", FIELD_BYTES, BOTH | REQUIRED, 1, 1e18, AT(node_memory)},
        {"node", "memory_bandwidth", FIELD_PER_SECOND, BOTH | REQUIRED, 1e6, 1e15, AT(node_bandwidth)},
        {"node", "core_compute", FIELD_PER_SECOND, ON_GPU | REQUIRED, 1e6, 1e13, AT(core_compute)},
        {"device", "memory", FIELD_BYTES, ON_GPU | REQUIRED, 1, 1e18, AT(device_memory)},
        {"device", "multiprocessors", FIELD_WHOLE, ON_GPU, 1, 65536, AT(multiprocessors)},
        {"device", "threads", FIELD_WHOLE, ON_CPU, 1, 65536, AT(threads)},
        {"device", "overhead", FIELD_RATE_BYTES, BOTH | REQUIRED, 0, 1e18, AT(overhead)},
        {"device", "memory_bandwidth", FIELD_PER_SECOND, BOTH | REQUIRED, 1e6, 1e15, AT(device_bandwidth)},
        {"device", "weight_bandwidth", FIELD_PER_SECOND, ON_CPU, 1e6, 1e15, AT(weight_bandwidth)},
        {"device", "launch", FIELD_SECONDS, BOTH | REQUIRED, 0, 1, AT(launch)},
        {"device", "collective_launch", FIELD_SECONDS, BOTH | REQUIRED, 0, 1, AT(collective_launch)},
        {"device", "collective_share", FIELD_SHARE, ON_GPU | REQUIRED, 0, 0.99, AT(collective_share)},
        {"device", "collective_cores", FIELD_SHARE, ON_CPU | REQUIRED, 0, 64, AT(collective_cores)},
        {"link", "latency", FIELD_SECONDS, BOTH | REQUIRED, 0, 1, AT(link.latency)},
        {"link", "bandwidth", FIELD_PER_SECOND, BOTH | REQUIRED, 1e3, 1e15, AT(link.bandwidth)},
        {"network", "latency", FIELD_SECONDS, BOTH | REQUIRED, 0, 1, AT(network.latency)},
        {"network", "bandwidth", FIELD_PER_SECOND, BOTH | REQUIRED, 1e3, 1e15, AT(network.bandwidth)},
        {"network", "sum_bandwidth", FIELD_PER_SECOND, ON_CPU, 1e3, 1e15, AT(network_sum)},
        {"network", "rails", FIELD_WHOLE, BOTH, 1, 65536, AT(rails)},
        {"host_link", "latency", FIELD_SECONDS, ON_GPU | REQUIRED, 0, 1, AT(host_link.latency)},
        {"host_link", "bandwidth", FIELD_PER_SECOND, ON_GPU | REQUIRED, 1e3, 1e15, AT(host_link.bandwidth)},
        {"host_link", "pageable", FIELD_PER_SECOND, ON_GPU, 1e3, 1e15, AT(pageable)},
        {"disk", "latency", FIELD_SECONDS, BOTH | REQUIRED, 0, 1, AT(disk.latency)},
        {"disk", "read_bandwidth", FIELD_PER_SECOND, BOTH | REQUIRED, 1e3, 1e15, AT(disk.read)},
        {"disk", "write_bandwidth", FIELD_PER_SECOND, BOTH | REQUIRED, 1e3, 1e15, AT(disk.write)},
        {"disk", "capacity", FIELD_BYTES, BOTH | REQUIRED, 1, 1e18, AT(disk.capacity)},
};

int cluster_section_fields(const char *section, const struct field *fields[SECTION_FIELDS])
{
	int n = 0;
	for (size_t i = 0; i < sizeof all / sizeof *all && n < SECTION_FIELDS; i++)
		if (!strcmp(all[i].section, section))
			fields[n++] = &all[i];
	return n;
}

double field_scale(enum field_kind kind)
{
	return kind == FIELD_SECONDS ? 1e9 : kind == FIELD_SHARE ? 1e6 : 1;
}

/* ---- writing ---- */

void print_scaled(int64_t value, double scale, FILE *out)
{
	if (scale == 1) {
		fprintf(out, "%" PRId64, value);
		return;
	}
	int digits = scale == 1e9 ? 9 : 6;
	int64_t s = (int64_t)scale;
	fprintf(out, "%" PRId64 ".%0*" PRId64, value / s, digits, value % s);
}

/* Only the quote itself needs care. */
void print_text(const char *text, FILE *out)
{
	fputc('\'', out);
	for (; *text; text++)
		fputs(*text == '\'' ? "''" : (char[2]){*text, 0}, out);
	fputc('\'', out);
}
