#include "strategy/cluster/cluster.h"
#include "strategy/base/arena.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "strategy/base/file.h"
#include "strategy/base/near.h"
#include "strategy/base/path.h"
#include "strategy/base/search.h"
#include "strategy/cluster/links.h"

__extension__ typedef __int128 wide;

/* ---- curves ---- */

enum status curve_add(struct curve *curve, int64_t work, struct rate rate)
{
	if (curve->count == CURVE_POINTS)
		return status_fail(STATUS_INPUT, "more than %d points", CURVE_POINTS);
	if (curve->count && curve->point[curve->count - 1].work >= work)
		return status_fail(STATUS_INPUT, "points must be in ascending order of work");
	curve->point[curve->count].work = work;
	curve->point[curve->count++].rate = rate;
	return STATUS_OK;
}

/* log2(x) in 2^-16, by squaring, so that it is the same on every machine: x is shifted until it is m·2^e with m in
 * [1, 2); squaring m doubles its logarithm, and each time the square reaches 2, that is a one in the next place. */
static int64_t log2_fixed(uint64_t x)
{
	int e = 63 - __builtin_clzll(x);
	uint64_t m = e > 31 ? x >> (e - 31) : x << (31 - e);
	int64_t log = e;
	for (int i = 0; i < 16; i++) {
		m = m * m >> 31;
		log <<= 1;
		if (m >> 32) {
			m >>= 1;
			log |= 1;
		}
	}
	return log;
}

static int64_t between(int64_t a, int64_t b, int64_t part, int64_t whole)
{
	return a + (int64_t)((wide)(b - a) * part / whole);
}

struct rate curve_rate(const struct curve *curve, int64_t work)
{
	if (!curve->count)
		return (struct rate){0};
	int i = 0;
	while (i < curve->count && curve->point[i].work <= work)
		i++;
	if (!i)
		return curve->point[0].rate;
	struct rate low = curve->point[i - 1].rate;
	if (i == curve->count)
		return low;
	struct rate high = curve->point[i].rate;
	int64_t from = log2_fixed((uint64_t)curve->point[i - 1].work);
	int64_t part = log2_fixed((uint64_t)work) - from;
	int64_t whole = log2_fixed((uint64_t)curve->point[i].work) - from;
	if (!whole) /* neighbours that 2^-16 does not tell apart */
		return low;
	return (struct rate){between(low.value, high.value, part, whole), between(low.low, high.low, part, whole),
	                     between(low.high, high.high, part, whole), low.measured && high.measured};
}

/* ---- keys of `compute` ---- */

const char *compute_key_name(int key)
{
	if (key < OP_KIND_COUNT)
		return op_name((enum op_kind)key);
	if (key < COMPUTE_VECTOR)
		return kernel_kind_name((enum kernel_kind)(key - COMPUTE_FAMILY));
	return key == COMPUTE_VECTOR ? "vector" : key == COMPUTE_DEFAULT ? "default" : "peak";
}

static bool computes(int key)
{
	return key >= OP_KIND_COUNT || op_class((enum op_kind)key) == OP_CLASS_K ||
	       op_class((enum op_kind)key) == OP_CLASS_V;
}

/* `classifier` is an operation and a model kernel: the family, which also says the rate of the operation. */
int compute_key_parse(const char *name)
{
	for (int key = COMPUTE_KEY_COUNT - 1; key >= 0; key--)
		if (computes(key) && !strcmp(name, compute_key_name(key)))
			return key;
	return -1;
}

/* The family of "linear.forward" is "linear"; an evaluation has the rate of a classifier. */
static int family_of(enum op_kind kind)
{
	if (op_class(kind) == OP_CLASS_V)
		return COMPUTE_VECTOR;
	const char *name = op_name(kind == OP_EVALUATE ? OP_CLASSIFIER : kind);
	size_t length = strcspn(name, ".");
	for (int key = COMPUTE_FAMILY; key < COMPUTE_VECTOR; key++)
		if (strlen(compute_key_name(key)) == length && !strncmp(name, compute_key_name(key), length))
			return key;
	return COMPUTE_DEFAULT;
}

/* Matrix products, at the rate of linear layers unless the cluster says another. */
static bool is_product(enum op_kind kind)
{
	return kind == OP_SCORES_FORWARD || kind == OP_SCORES_BACKWARD || kind == OP_CONTEXT_FORWARD ||
	       kind == OP_CONTEXT_BACKWARD;
}

/* -1: types without rates. */
static int column_of(enum type type)
{
	return type == TYPE_FP8 ? CLUSTER_FP8 : type < CLUSTER_TYPES ? (int)type : -1;
}

/* The curve of the kind itself, of its family, or the default; for products in TF32, the curves of TF32 come first. */
static const struct curve *curve_of(const struct cluster *c, enum op_kind kind, enum type type)
{
	const int keys[] = {(int)kind, family_of(kind),
	                    is_product(kind) ? COMPUTE_FAMILY + KERNEL_LINEAR : COMPUTE_DEFAULT, COMPUTE_DEFAULT};
	for (int i = 0; c->tf32 && type == TYPE_FP32 && i < 4; i++)
		if (c->compute[keys[i]][CLUSTER_TF32].count)
			return &c->compute[keys[i]][CLUSTER_TF32];
	int column = column_of(type);
	for (int i = 0; column >= 0 && i < 4; i++)
		if (c->compute[keys[i]][column].count)
			return &c->compute[keys[i]][column];
	return NULL;
}

struct rate cluster_compute_rate(const struct cluster *c, enum op_kind kind, enum type type, int64_t work)
{
	const struct curve *curve = curve_of(c, kind, type);
	return curve ? curve_rate(curve, work > 0 ? work : 1) : (struct rate){0};
}

static struct rate faster(struct rate a, struct rate b)
{
	return b.value > a.value ? b : a;
}

static struct rate fastest(const struct curve *curve)
{
	struct rate most = {0};
	for (int i = 0; curve && i < curve->count; i++)
		most = faster(most, curve->point[i].rate);
	return most;
}

struct rate cluster_peak(const struct cluster *c, enum type type)
{
	bool tf32 = c->tf32 && type == TYPE_FP32 && cluster_has_tf32(c);
	if (type >= CLUSTER_TYPES)
		return (struct rate){0};
	const struct curve *peak = &c->compute[COMPUTE_PEAK][tf32 ? CLUSTER_TF32 : (int)type];
	if (peak->count)
		return fastest(peak);
	return faster(fastest(curve_of(c, OP_LINEAR_FORWARD, type)), fastest(curve_of(c, OP_LINEAR_BACKWARD, type)));
}

bool cluster_has_tf32(const struct cluster *c)
{
	for (int key = 0; key < COMPUTE_KEY_COUNT; key++)
		if (c->compute[key][CLUSTER_TF32].count)
			return true;
	return false;
}

const char *cluster_column_name(int column)
{
	return column == CLUSTER_TF32 ? "tf32" : type_name(column == CLUSTER_FP8 ? TYPE_FP8 : (enum type)column);
}

bool cluster_measured_whole(const struct cluster *c, enum op_kind kind, enum type type, int64_t work)
{
	const struct curve *curve = curve_of(c, kind, type);
	if (!curve || work > 2 * curve->point[curve->count - 1].work ||
	    !curve_rate(curve, work > 0 ? work : 1).measured)
		return false;
	int key = compute_key_parse(compute_key_name((int)kind)); /* `classifier` is written as its family */
	return key >= 0 && curve >= c->compute[key] && curve < &c->compute[key][CLUSTER_COLUMNS];
}

/* ---- ranks ---- */

int64_t cluster_node_of(const struct cluster *c, int64_t rank)
{
	return c->devices ? rank / c->devices : 0;
}

int64_t cluster_machine_nodes(const struct cluster *c)
{
	return c->together > 1 ? c->together : 1;
}

int64_t cluster_slow_factor(const struct cluster *c, int64_t rank)
{
	int first = (int)FIRST_PAST(c->slow, rank, 0, c->slow_count, rank - 1);
	return first < c->slow_count && c->slow[first].rank == rank ? c->slow[first].factor : MILLION;
}

static enum status fits_ranks(const struct cluster *c, int64_t ranks)
{
	if (c->nodes && ranks > c->nodes * c->devices)
		return status_fail(
		        STATUS_INPUT,
		        "{cluster} %s: %lld ranks on %lld nodes of %lld; take fewer ranks, or another number "
		        "of nodes",
		        c->name, (long long)ranks, (long long)c->nodes, (long long)c->devices);
	if (c->devices && ranks > c->devices && !c->network.bandwidth.value)
		return status_fail(STATUS_INPUT, "{cluster} %s: %lld ranks need several nodes, but it has no 'network'",
		                   c->name, (long long)ranks);
	if (c->slow_count && c->slow[c->slow_count - 1].rank >= ranks)
		return status_fail(STATUS_INPUT, "{cluster} %s: slow: there is no rank %lld among %lld", c->name,
		                   (long long)c->slow[c->slow_count - 1].rank, (long long)ranks);
	return STATUS_OK;
}

/* ---- opening ---- */

static enum status read_file(struct cluster *c, const char *path)
{
	char *text;
	size_t size;
	TRY(file_read(path, "{cluster}", 1 << 20, &text, &size));
	enum status s = cluster_read(c, text, size, path);
	free(text);
	return s;
}

static enum status open_local(struct cluster *c, enum device_kind kind)
{
	char path[4096];
	if (cluster_local_path(kind, path, sizeof path)) /* no home directory: nothing can have been calibrated */
		return cluster_local_assumed(c, kind);
	return access(path, F_OK) && errno == ENOENT ? cluster_local_assumed(c, kind) : read_file(c, path);
}

/* Ranks that share a GPU take turns on it. */
static enum status share_devices(struct cluster *c, int64_t ranks)
{
	int64_t gpus = c->devices, most = (ranks + gpus - 1) / gpus;
	if (most <= 1)
		return STATUS_OK;
	if (c->slow_count || ranks > CLUSTER_SHARING_MOST)
		return status_fail(
		        STATUS_INPUT,
		        "{cluster} %s: %lld ranks would share %lld GPUs; at most %d can, and none with 'slow'", c->name,
		        (long long)ranks, (long long)gpus, CLUSTER_SHARING_MOST);
	c->slow = array_make((size_t)ranks, sizeof *c->slow);
	c->slow_count = (int)ranks;
	for (int64_t rank = 0; rank < ranks; rank++) /* rank i has GPU i, modulo their number */
		c->slow[rank] = (struct slow){rank, ((ranks - 1 - rank % gpus) / gpus + 1) * MILLION};
	c->device_memory /= most;
	c->devices = ranks;
	return STATUS_OK;
}

static enum status open_local_cuda(struct cluster *c, int64_t ranks)
{
	enum status s = open_local(c, DEVICE_GPU);
	if (!s && c->kind != DEVICE_GPU)
		s = status_fail(STATUS_INPUT, "{cluster} " CLUSTER_LOCAL_CUDA ": the calibration is not of a GPU; run: "
		                              "{calibrate} {device} cuda");
	return s ? s : share_devices(c, ranks);
}

static enum status unknown(const char *name)
{
	struct near near = {.typed = name};
	char counted[LINKS_MISCOUNTED];
	if (links_miscounted(name, counted))
		return status_fail(STATUS_INPUT, "{cluster}: unknown cluster '%.60s' (did you mean %s?)", name,
		                   counted);
	cluster_list(near_line, &near);
	return status_fail(
	        STATUS_INPUT,
	        "{cluster}: unknown cluster '%.60s'%s; all of them: {help} clusters, or a file (./NAME.yaml)", name,
	        near_words(&near));
}

static enum status open_named(struct cluster *c, const char *name_or_path, int64_t ranks)
{
	const char *text = cluster_catalogue(name_or_path);
	if (path_is_yaml(name_or_path))
		return read_file(c, name_or_path);
	if (!strcmp(name_or_path, CLUSTER_LOCAL))
		return open_local(c, DEVICE_CPU);
	if (!strcmp(name_or_path, CLUSTER_LOCAL_CUDA))
		return open_local_cuda(c, ranks);
	return text ? cluster_read(c, text, strlen(text), name_or_path) : unknown(name_or_path);
}

enum status cluster_open(struct cluster *c, const char *name_or_path, int64_t ranks)
{
	const char *pairs = links_find(name_or_path);
	char name[4096];
	*c = (struct cluster){0};
	if ((size_t)(pairs - name_or_path) >= sizeof name)
		return status_fail(STATUS_INPUT, "{cluster}: the name has more than %zu characters", sizeof name - 1);
	snprintf(name, sizeof name, "%.*s", (int)(pairs - name_or_path), name_or_path);
	enum status s = open_named(c, name, ranks);
	if (!s && ((s = links_change(c, pairs)) || (s = fits_ranks(c, ranks))))
		cluster_release(c);
	return s;
}

void cluster_release(struct cluster *c)
{
	if (!c)
		return;
	free(c->slow);
	*c = (struct cluster){0};
}
