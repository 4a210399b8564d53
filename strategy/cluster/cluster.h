/* A cluster: what a plan runs on. Nodes, the devices in them, the links between them, and host memory, with rates.
 *
 * Every rate knows where it comes from. A plain number is *assumed*: from a data sheet, or a published figure. A rate
 * with `measured:` was measured on this hardware, and carries its spread. Predictions say which they rest on.
 *
 *     name: lab
 *     kind: gpu
 *     nodes: 4                      # leave out: as many as the ranks need
 *     node: {devices: 8, cores: 64, memory: 512GB, memory_bandwidth: 2e11, core_compute: 2e10}
 *     card: ampere                  # its generation; may be left out
 *     device:
 *       memory: 80GiB
 *       multiprocessors: 108        # may be left out
 *       overhead: 2GiB              # CUDA context and communicator
 *       memory_bandwidth: {measured: 1.81e12, min: 1.78e12, max: 1.83e12}
 *       weight_bandwidth: 2e10      # cpu, beside measured products: of their large weights; may be left out
 *       straddle_bandwidth: 2e11    # cpu, beside measured rates: of what begins inside a cache line; may be left out
 *       launch: 2e-6                # seconds: units are FLOP/s, bytes/s, seconds and bytes everywhere
 *       collective_launch: 8.4e-6
 *       collective_share: 0.08      # of the multiprocessors, while a collective runs
 *     compute:                      # FLOP/s by kernel and type; a list gives it by size and is interpolated
 *       default: {fp32: 1.9e13, bf16: 1.9e13}
 *       linear: {bf16: [{work: 1e8, rate: 4e13}, {work: 1e11, rate: 2.7e14}]}
 *       attention.backward: {bf16: 1e14}
 *     link: {latency: 3.4e-6, bandwidth: 2.4e11}              # inside a node: per device and direction
 *     network: {latency: 1.4e-5, bandwidth: 2.4e10, rails: 8} # between nodes: of one NIC, and how many a node has;
 *                                 # on a cpu cluster also sum_bandwidth, of what is added up where it comes
 *     host_link: {latency: 1e-5, bandwidth: 2.5e10}           # between a device and its host (pageable: 1.2e10)
 *     disk: {latency: 1e-4, read_bandwidth: 1e10, write_bandwidth: 5e9, capacity: 15TB}  # of a node; may be left out
 *     slow: {3: 1.5}                # rank 3 computes 1.5 times as long
 *
 * Ranks fill nodes in order: rank r is device r mod devices of node r / devices. On a `cpu` cluster a rank is a
 * process: it has `threads` cores while the node's `cores` last, all ranks of a node share cores and memory bandwidth,
 * and without `devices` all ranks are on one node, so 4 ranks on 2 cores run at half speed. Nodes that are containers
 * or namespaces of one machine share that machine's cores and memory: `node: {together: 4}` says that four that follow
 * each other do. Each still has its network to itself.
 *
 * Keys of `compute`: an operation of the plan ("linear.forward", "adamw"), a family (a model kernel: "linear" is both
 * passes; "vector": all that are not model kernels), or `default`. The most specific one counts. A type without a
 * rate (bf16 on V100) is refused when a plan needs it. Beside fp32, bf16 and fp16 there may be tf32, for --tf32, and
 * fp8, for --precision fp8.
 * `peak` is no kernel's rate but the data sheet's, which MFU is a share of; it may be left out.
 *
 *     struct cluster c;
 *     enum status s = cluster_open(&c, "a100-80gb", 64);      (catalogue name, or file)
 *     cluster_release(&c);
 */
#ifndef SHARDLAB_CLUSTER_H
#define SHARDLAB_CLUSTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "strategy/base/status.h"
#include "strategy/cluster/stack.h"
#include "strategy/plan/plan.h"

/* Rates are whole numbers, so that results are the same on every machine: FLOP/s, bytes/s, nanoseconds, bytes, or
 * millionths (of shares and factors). 0: the cluster has none. */
struct rate {
	int64_t value;
	int64_t low, high; /* the spread: minimum and maximum of the measurements; assumed: equal to value */
	bool measured;
};

#define MILLION INT64_C(1000000)

/* FLOP/s over the FLOPs of one kernel: between points by the logarithm of the work, outside them the nearest. */
#define CURVE_POINTS 24
struct curve {
	struct {
		int64_t work;
		struct rate rate;
	} point[CURVE_POINTS];
	int count; /* 0: none */
};

#define CLUSTER_TYPES 3                /* fp32, bf16, fp16: the first of enum type */
#define CLUSTER_TF32 CLUSTER_TYPES     /* of products of fp32 whose operands are rounded to TF32: a column of its own */
#define CLUSTER_FP8 (CLUSTER_TF32 + 1) /* of products of fp8, whose operands are copies */
#define CLUSTER_COLUMNS (CLUSTER_FP8 + 1)

/* The keys of `compute`. Operations come first, so that an op_kind is a key. */
enum compute_key {
	COMPUTE_FAMILY = OP_KIND_COUNT, /* + enum kernel_kind */
	COMPUTE_VECTOR = COMPUTE_FAMILY + KERNEL_KINDS,
	COMPUTE_DEFAULT,
	COMPUTE_PEAK, /* no kernel's rate: the device's, by its data sheet */
	COMPUTE_KEY_COUNT
};

enum device_kind { DEVICE_CPU, DEVICE_GPU };

struct link {
	struct rate latency;   /* ns: of a message before its first byte */
	struct rate bandwidth; /* bytes/s, each direction */
};

/* The disk of a node, which its ranks share for offloading. */
struct storage {
	struct rate latency;     /* ns: of a request */
	struct rate read, write; /* bytes/s; 0: the cluster has none */
	int64_t capacity;        /* bytes */
};

struct slow {
	int64_t rank;
	int64_t factor; /* millionths */
};

struct cluster {
	char name[64];
	char about[256];
	enum device_kind kind;
	char card[16];           /* gpu: its generation, one of STACK_CARDS; "": it does not say */
	int64_t multiprocessors; /* of a device; 0: it does not say, and partial waves cost nothing */
	int64_t nodes;           /* 0: as many as needed */
	int64_t devices;         /* of a node; 0: all ranks on one node */
	int64_t together;        /* cpu: nodes that follow each other on one machine; 0: each is a machine */
	int64_t cores, threads, rails;
	int64_t node_memory, device_memory;    /* bytes; a cpu has only the node's */
	int64_t device_spared;                 /* set by its user: to be left free */
	struct rate overhead;                  /* bytes a rank */
	struct rate node_bandwidth;            /* of host memory, shared by the node's ranks, bytes/s */
	struct rate device_bandwidth;          /* of the device's memory; cpu: what one rank can draw */
	struct rate weight_bandwidth;          /* cpu: at which large weights reach a product, bytes/s,
	                                          beside its rate; 0: that has all of it */
	struct rate straddle_bandwidth;        /* cpu: of tensors that begin inside a cache line, bytes/s, beside what
	                                          was measured of others; 0: they take no longer */
	struct rate core_compute;              /* gpu: of one host core, FLOP/s, for the host queue */
	struct rate launch, collective_launch; /* ns */
	struct rate collective_share;          /* gpu: millionths of the device that a running collective takes */
	struct rate collective_cores;          /* cpu: millionths of a core that a running collective needs, per rank */
	struct link link, network, host_link;
	struct rate pageable;    /* gpu, bytes/s: of host_link, where host memory is not page-locked; 0: half of that */
	struct rate network_sum; /* bytes/s, of what is added up where it comes; 0: as the network's */
	struct storage disk;
	struct curve compute[COMPUTE_KEY_COUNT][CLUSTER_COLUMNS];
	struct stack stack; /* the stack whose rates these are; name "": the rates themselves */
	struct {
		int64_t link, network; /* bandwidths that the stack's shares are of; without a stack 0 */
	} unscaled;
	bool tf32;         /* set by the user of the cluster: fp32 takes the rates of tf32 where there are any */
	struct slow *slow; /* owned; by rank, ascending */
	int slow_count;
};

/* The names of this machine: its processors, and its GPUs. */
#define CLUSTER_LOCAL "local"
#define CLUSTER_LOCAL_CUDA "local-cuda"
/* The most ranks that can share its GPUs. */
#define CLUSTER_SHARING_MOST 4096

/* name_or_path: a name of the catalogue, or a file (with a '/' or ending in .yaml or .yml). `local` is this machine:
 * as calibrated if cluster_local_path() exists, else with assumed rates for the cores that the system shows.
 * `local-cuda` is its GPUs: as calibrated, else with those of an H100 assumed. Ranks that are more than its GPUs share
 * them: each has a part of the memory, and computes as many times as long.
 * More ranks than devices of any other: STATUS_INPUT. Behind it may stand other links (strategy/cluster/links.h):
 * "a100-80gb:link=50GB", and a stack: "a100-80gb:stack=megatron". GPUs of which nothing was measured have a class
 * without that (cluster_take_class), unless it is "a100-80gb:stack=ceiling". */
enum status cluster_open(struct cluster *c, const char *name_or_path, int64_t ranks);
void cluster_release(struct cluster *c); /* accepts NULL and a zeroed struct */

/* Reads a description from memory. Errors begin with "file:line:column: ". */
enum status cluster_read(struct cluster *c, const char *text, size_t size, const char *file);

/* Writes the description that cluster_read() reads back to the same cluster. The file is there whole or not at all: it
 * is written beside and renamed. Missing directories are made. */
enum status cluster_write(const struct cluster *c, const char *path);
void cluster_print(const struct cluster *c, FILE *out);

/* The path of `local`: $SHARDLAB_CONFIG, or ${XDG_CONFIG_HOME:-$HOME/.config}/shardlab/local.yaml. `local-cuda` stands
 * beside it, with -cuda before .yaml. */
enum status cluster_local_path(enum device_kind kind, char *out, size_t size);
/* This machine with assumed rates, whether or not it was calibrated. Calibration starts from it. */
enum status cluster_local_assumed(struct cluster *c, enum device_kind kind);

/* One line an entry of the catalogue, for `shardlab help`. */
void cluster_list(void (*line)(void *context, const char *name, const char *what), void *context);
/* The text of an entry, NULL if there is none: a start for a file of one's own. */
const char *cluster_catalogue(const char *name);
/* Is the entry a machine that is bought or rented as a whole? Of cards a node has as many as somebody puts there. */
bool cluster_is_machine(const char *name);

/* ---- reading ---- */

/* Rate of an operation with `work` FLOPs in a type; value 0 if the cluster has none. */
struct rate cluster_compute_rate(const struct cluster *c, enum op_kind kind, enum type type, int64_t work);
bool cluster_has_tf32(const struct cluster *c);
/* The rate of a device that MFU is a share of (strategy/model/flops.h): its `peak`; where there is none, the fastest
 * rate of a matrix product of any size. 0: the cluster has no rate for the type. */
struct rate cluster_peak(const struct cluster *c, enum type type);
/* "fp32", "bf16", "fp16", "tf32", "fp8": as descriptions call the columns of `compute`. */
const char *cluster_column_name(int column);
/* True if the operation itself was measured, up to such work. Its rate then includes its memory traffic. */
bool cluster_measured_whole(const struct cluster *c, enum op_kind kind, enum type type, int64_t work);

int64_t cluster_node_of(const struct cluster *c, int64_t rank);
int64_t cluster_machine_nodes(const struct cluster *c);             /* that share cores and memory: at least 1 */
int64_t cluster_slow_factor(const struct cluster *c, int64_t rank); /* millionths: MILLION is as fast as the others */

static inline struct rate rate_assumed(int64_t value)
{
	return (struct rate){value, value, value, false};
}
static inline struct rate rate_measured(int64_t median, int64_t low, int64_t high)
{
	return (struct rate){median, low, high, true};
}

/* Adds a point to a curve, in ascending order of work. STATUS_INPUT if it is full or the work is there already. */
enum status curve_add(struct curve *curve, int64_t work, struct rate rate);
struct rate curve_rate(const struct curve *curve, int64_t work);

/* "linear.forward", "linear", "vector", "default", "peak". The inverse: -1 if it is none of these. */
const char *compute_key_name(int key);
int compute_key_parse(const char *name);

#endif
