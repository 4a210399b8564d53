/* Both communicators, every collective, awkward sizes; run at 1, 2, 3, 4 and 8 ranks:
 *
 *     mpirun --oversubscribe --bind-to none -n 3 build/tests/mpi/mpi_communicator
 *
 * Values are small integers, whose sums the type holds exactly, and depend on rank, element and test, so that a slice
 * in the wrong place or left from the test before shows. Each rank counts what is wrong, and the counts are added at
 * the end: a rank that stopped at its first failure would hang the others.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "real/communicator/communicator.h"
#include "tests/support/elements.h"
#include "tests/support/ranks.h"
#include "tests/support/suite.h"

enum { GUARD = 16 };
static const float GUARD_VALUE = -12288.0f, SPOILED = -768.0f; /* exact in 16 bits too */

struct trial {
	struct communicator *c;
	enum schedule_algorithm algorithm;
	enum operation kind;
	int64_t root, elements;
	bool in_place, spin;
	int salt;
	enum type type;
};

/* buffers for the largest trial, with guard elements before and after */
static float *whole_memory, *part_memory, *first_memory;

/* Element i of a buffer of the trial's type; its guards lie at negative places too. */
static float get(const struct trial *t, const void *buffer, int64_t i)
{
	return element_get(t->type, (const char *)buffer + i * type_bytes(t->type), 0);
}

static void set(const struct trial *t, void *buffer, int64_t i, float x)
{
	element_set(t->type, (char *)buffer + i * type_bytes(t->type), 0, x);
}

static void *after_guard(const struct trial *t, void *memory)
{
	return (char *)memory + GUARD * type_bytes(t->type);
}

static char *staging;

static float value(const struct trial *t, int64_t of_rank, int64_t element)
{
	int64_t most = t->type == TYPE_FP32 ? 1000 : t->type == TYPE_FP16 ? 251 : 31; /* × 8 ranks is exact */
	return (float)((of_rank * 31 + element * 7 + element / 1024 + t->salt) % most);
}

static float total(const struct trial *t, int64_t element)
{
	float sum = 0;
	for (int r = 0; r < ranks_count; r++)
		sum += value(t, r, element);
	return sum;
}

static bool whole_is_input(const struct trial *t)
{
	return t->kind == OPERATION_ALL_REDUCE || t->kind == OPERATION_SUM || t->kind == OPERATION_REDUCE_SCATTER ||
	       t->kind == OPERATION_REDUCE ||
	       ((t->kind == OPERATION_BROADCAST || t->kind == OPERATION_SCATTER) && rank_number == t->root);
}

static bool part_is_input(const struct trial *t)
{
	return t->kind == OPERATION_ALL_GATHER || t->kind == OPERATION_GATHER;
}

static bool whole_is_there(const struct trial *t)
{
	return !(t->kind == OPERATION_SCATTER || t->kind == OPERATION_GATHER) || rank_number == t->root;
}

static bool uses_part(const struct trial *t)
{
	return t->kind == OPERATION_REDUCE_SCATTER || t->kind == OPERATION_ALL_GATHER || t->kind == OPERATION_SCATTER ||
	       t->kind == OPERATION_GATHER;
}

static void fill(const struct trial *t, void *whole, void *part)
{
	int64_t slice = t->elements / ranks_count, own = slice * rank_number;
	for (int64_t i = -GUARD; i < t->elements + GUARD; i++)
		set(t, whole, i,
		    i < 0 || i >= t->elements ? GUARD_VALUE
		    : whole_is_input(t)       ? value(t, rank_number, i)
		                              : SPOILED);
	if (!t->in_place)
		for (int64_t i = -GUARD; i < slice + GUARD; i++)
			set(t, part, i, i < 0 || i >= slice ? GUARD_VALUE : SPOILED);
	if (part_is_input(t))
		for (int64_t i = 0; i < slice; i++)
			set(t, part, i, value(t, rank_number, own + i));
}

static bool guards_hold(const struct trial *t, const void *buffer, int64_t elements)
{
	for (int i = 1; i <= GUARD; i++)
		if (get(t, buffer, -i) != GUARD_VALUE || get(t, buffer, elements + i - 1) != GUARD_VALUE)
			return false;
	return true;
}

/* The number of wrong elements. */
static int64_t wrong(const struct trial *t, const void *whole, const void *part)
{
	int64_t slice = t->elements / ranks_count, own = slice * rank_number, n = 0;
	bool at_root = rank_number == t->root;
	switch (t->kind) {
	case OPERATION_ALL_REDUCE:
	case OPERATION_SUM:
	case OPERATION_REDUCE:
		for (int64_t i = 0; i < t->elements && (t->kind != OPERATION_REDUCE || at_root); i++)
			n += get(t, whole, i) != total(t, i);
		break;
	case OPERATION_BROADCAST:
		for (int64_t i = 0; i < t->elements; i++)
			n += get(t, whole, i) != value(t, t->root, i);
		break;
	case OPERATION_ALL_GATHER:
	case OPERATION_GATHER:
		for (int64_t i = 0; i < t->elements && (t->kind == OPERATION_ALL_GATHER || at_root); i++)
			n += get(t, whole, i) != value(t, i / slice, i);
		break;
	case OPERATION_REDUCE_SCATTER:
		for (int64_t i = 0; i < slice; i++)
			n += get(t, part, i) != total(t, own + i);
		break;
	case OPERATION_SCATTER:
		for (int64_t i = 0; i < slice; i++)
			n += get(t, part, i) != value(t, t->root, own + i);
		break;
	case OPERATION_COUNT:
		break;
	}
	return n;
}

static void check_traffic(const struct trial *t, const struct traffic *traffic)
{
	bool ring = strcmp(t->c->ops->name, "ring") == 0;
	struct schedule s = {t->algorithm, ranks_count, t->root, t->elements, 0};
	int64_t bytes = type_bytes(t->type);
	ranks_check(traffic->counted == ring, "%s: counted is %d", t->c->ops->name, traffic->counted);
	if (!ring)
		return;
	ranks_check(traffic->sent_bytes == bytes * schedule_sent(&s, rank_number),
	            "%s: sent %lld bytes, the schedule says %lld", schedule_row(t->algorithm)->description,
	            (long long)traffic->sent_bytes, (long long)(bytes * schedule_sent(&s, rank_number)));
	ranks_check(traffic->received_bytes == bytes * schedule_received(&s, rank_number),
	            "%s: received %lld bytes, the schedule says %lld", schedule_row(t->algorithm)->description,
	            (long long)traffic->received_bytes, (long long)(bytes * schedule_received(&s, rank_number)));
}

static void try(const struct trial *t)
{
	void *whole = after_guard(t, whole_memory), *outside = after_guard(t, part_memory), *part = outside;
	int64_t slice = t->elements / ranks_count;
	struct traffic traffic;
	if (t->in_place && whole_is_there(t))
		part = (char *)whole + slice * rank_number * type_bytes(t->type);
	fill(t, whole, part);
	memset(staging + SCHEDULE_STAGING_BYTES, 0x5a, GUARD);
	struct collective what = {
	        t->algorithm, t->root, t->elements, whole_is_there(t) ? whole : NULL, uses_part(t) ? part : NULL,
	        staging,      false,   t->type};
	if (part == outside && t->in_place) /* fill() left this one alone */
		for (int i = 1; i <= GUARD; i++) {
			set(t, part, -i, GUARD_VALUE);
			set(t, part, slice + i - 1, GUARD_VALUE);
		}
	t->c->ops->spin(t->c, t->spin);
	enum status s = t->c->ops->run(t->c, &what, &traffic);

	ranks_check(!s, "%s", status_message());
	int64_t bad = wrong(t, whole, part);
	ranks_check(bad == 0, "%s, %s, %s, root %lld, %lld elements, in place %d: %lld wrong", t->c->ops->name,
	            schedule_row(t->algorithm)->description, type_name(t->type), (long long)t->root,
	            (long long)t->elements, t->in_place, (long long)bad);
	ranks_check(guards_hold(t, whole, t->elements) && (part != outside || guards_hold(t, part, slice)),
	            "%s, %s: wrote outside its buffers", t->c->ops->name, schedule_row(t->algorithm)->description);
	for (int i = 0; i < GUARD; i++)
		ranks_check(staging[SCHEDULE_STAGING_BYTES + i] == 0x5a, "%s wrote outside its staging",
		            t->c->ops->name);
	if (!s)
		check_traffic(t, &traffic);
}

static void try_all(struct communicator *c, enum type type, const int64_t *sizes, int n_sizes)
{
	int salt = 0;
	for (int a = 0; a < SCHEDULE_COUNT; a++)
		for (int i = 0; i < n_sizes; i++)
			for (int in_place = 0; in_place < 2; in_place++) {
				int64_t roots[] = {0, ranks_count - 1, ranks_count / 2};
				enum operation o = schedule_row((enum schedule_algorithm)a)->operation;
				bool rooted = operation_has_root(o);
				for (int j = 0; j < (rooted && sizes[i] < 100000 ? 3 : 1); j++) {
					struct trial t = {c,
					                  (enum schedule_algorithm)a,
					                  o,
					                  roots[j],
					                  sizes[i],
					                  in_place == 1,
					                  salt % 3 == 0,
					                  salt,
					                  type};
					try(&t);
					salt++;
				}
			}
}

/* An operation on `elements` of whole_memory; what it moved does not matter. */
static void run_whole(struct communicator *c, enum schedule_algorithm algorithm, int64_t elements, bool maximum,
                      enum type type)
{
	struct collective what = {algorithm, 0, elements, whole_memory, NULL, staging, maximum, type};
	struct traffic traffic;
	ranks_check(!c->ops->run(c, &what, &traffic), "%s", status_message());
}

/* Sums of numbers that do round: the same bits on every rank and in every repeat. */
static void check_bits(struct communicator *c, enum schedule_algorithm algorithm, int64_t elements)
{
	float *whole = whole_memory;
	for (int repeat = 0; repeat < 3; repeat++) {
		for (int64_t i = 0; i < elements; i++)
			whole[i] = 1.0f / (float)(1 + (i * 7919 + rank_number * 104729) % 1000003);
		run_whole(c, algorithm, elements, false, TYPE_FP32);
		if (repeat == 0) {
			memcpy(first_memory, whole, (size_t)elements * sizeof *whole);
			MPI_Bcast(first_memory, (int)elements, MPI_FLOAT, 0, MPI_COMM_WORLD);
		}
		ranks_check(memcmp(first_memory, whole, (size_t)elements * sizeof *whole) == 0,
		            "%s: %s differs from rank 0's first", c->ops->name, schedule_row(algorithm)->description);
	}
}

/* The largest over all ranks, also where all are negative, or some have nothing but -infinity. */
static void check_maximum(struct communicator *c, enum schedule_algorithm algorithm, int64_t elements)
{
	float *whole = whole_memory;
	int64_t bad = 0;
	for (int64_t i = 0; i < elements; i++)
		whole[i] = i % 3 == 2 && rank_number != i % ranks_count ? -INFINITY
		                                                        : -1.0f - (float)((i + rank_number * 31) % 97);
	run_whole(c, algorithm, elements, true, TYPE_FP32);
	for (int64_t i = 0; i < elements; i++) {
		float largest = -INFINITY;
		for (int r = 0; r < ranks_count; r++) {
			float x = i % 3 == 2 && r != i % ranks_count ? -INFINITY : -1.0f - (float)((i + r * 31) % 97);
			largest = x > largest ? x : largest;
		}
		bad += whole[i] != largest;
	}
	ranks_check(bad == 0, "%s, %s: %lld of %lld maxima are wrong", c->ops->name,
	            schedule_row(algorithm)->description, (long long)bad, (long long)elements);
}

/* 16-bit sums of numbers that do round: in fp32 and rounded at each of ranks-1 additions, each within half a unit in
 * the last place of a partial sum; all numbers are positive, so partial sums are at most the sum. */
static void check_rounding(struct communicator *c, enum type type, int64_t elements)
{
	double half = type == TYPE_BF16 ? 0x1p-8 : 0x1p-11; /* relative */
	int64_t bad = 0, exact = 0;
	for (int64_t i = 0; i < elements; i++)
		element_set(type, whole_memory, i, 1.0f / (float)(1 + (i * 7919 + rank_number * 104729) % 1000));
	run_whole(c, SCHEDULE_RING_ALL_REDUCE, elements, false, type);
	for (int64_t i = 0; i < elements; i++) {
		double sum = 0, got = (double)element_get(type, whole_memory, i);
		for (int r = 0; r < ranks_count; r++) {
			uint16_t x;
			element_set(type, &x, 0, 1.0f / (float)(1 + (i * 7919 + r * 104729) % 1000));
			sum += (double)element_get(type, &x, 0);
		}
		double error = got > sum ? got - sum : sum - got;
		bad += error > (ranks_count - 1) * half * sum * (1 + ranks_count * half);
		exact += error == 0;
	}
	ranks_check(bad == 0, "%s, %s: %lld sums are further off than rounding explains", c->ops->name, type_name(type),
	            (long long)bad);
	ranks_check(ranks_count == 1 || exact < elements, "the sums do not round: nothing was tested");
}

/* Integers pass through broadcast, scatter and gather as they are, also those that are no numbers as floats. */
static void check_integers(struct communicator *c)
{
	int32_t *whole = (int32_t *)whole_memory;
	int64_t elements = 3 * ranks_count;
	int bad = 0;
	for (int64_t i = 0; i < elements; i++)
		whole[i] = rank_number ? 0 : (int32_t)(0x7f800001 + i);
	run_whole(c, SCHEDULE_TREE_BROADCAST, elements, false, TYPE_FP32);
	for (int64_t i = 0; i < elements; i++)
		bad += whole[i] != (int32_t)(0x7f800001 + i);
	ranks_check(bad == 0, "%s: broadcast changed %d integers", c->ops->name, bad);
}

/* Every other rank is of one group, in reverse order; the last is of none. */
static void check_split(struct communicator *c)
{
	struct communicator *group = NULL;
	struct traffic traffic;
	int colour = rank_number == ranks_count - 1 && ranks_count > 1 ? -1 : rank_number % 2, sum = 0, members = 0;
	ranks_check(!communicator_split(&group, c, colour, ranks_count - rank_number), "%s", status_message());
	ranks_check((group == NULL) == (colour < 0), "rank %d is in no group, or in one too many", rank_number);
	for (int r = 0; r < (ranks_count > 1 ? ranks_count - 1 : 1); r++)
		if (r % 2 == colour) {
			sum += r + 1;
			members++;
		}
	if (group) {
		double number = rank_number + 1;
		ranks_check(group->ranks == members, "a group of %d, not %d", group->ranks, members);
		for (int i = 0; i < 2 * members; i++)
			element_set(TYPE_FP32, whole_memory, i, (float)(rank_number + 1));
		run_whole(group, SCHEDULE_RING_ALL_REDUCE, 2 * members, false, TYPE_FP32);
		for (int i = 0; i < 2 * members; i++)
			ranks_check((int)element_get(TYPE_FP32, whole_memory, i) == sum,
			            "%s: another sum than the group's", c->ops->name);
		ranks_check(!group->ops->sum(group, &number, 1, &traffic) && (int)number == sum, "sum of a group");
	}
	communicator_close(group);
}

static void check_errors(void)
{
	struct communicator *c = NULL;
	MPI_Comm world = MPI_COMM_WORLD;
	ranks_check(communicator_open(&c, "nccl", &world) == STATUS_INPUT && !c, "nccl was opened");
	ranks_check(strstr(status_message(), "nccl") != NULL, "the message does not name nccl: %s", status_message());
	setenv("SHARDLAB_COMM_TIMEOUT_S", "soon", 1);
	ranks_check(communicator_open(&c, "ring", &world) == STATUS_INPUT && !c, "a timeout of `soon` was taken");
	communicator_close(NULL);
	MPI_Barrier(world); /* opening has this patience, too */
	setenv("SHARDLAB_COMM_TIMEOUT_S", "0.2", 1);

	/* Rank 0 waits for a partner that does not come; then it is broken and says so. */
	struct traffic traffic;
	ranks_check(!communicator_open(&c, "ring", &world), "%s", status_message());
	unsetenv("SHARDLAB_COMM_TIMEOUT_S");
	if (ranks_count > 1 && rank_number == 0) {
		struct collective what = {
		        SCHEDULE_RING_ALL_REDUCE, 0, ranks_count, whole_memory, NULL, staging, false, TYPE_FP32};
		double values[1] = {0};
		ranks_check(c->ops->run(c, &what, &traffic) == STATUS_RUN, "a missing partner went unnoticed");
		ranks_check(strstr(status_message(), "all-reduce") != NULL,
		            "the message does not name the collective: %s", status_message());
		ranks_check(c->ops->sum(c, values, 1, &traffic) == STATUS_RUN, "a broken communicator went on");
	}
	/* A broken communicator is not freed with its peers, so none of them may be: it stays, and is known to. */
	static struct communicator *volatile kept;
	kept = ranks_count == 1 ? NULL : c;
	if (!kept)
		communicator_close(c);
}

int main(int argc, char **argv)
{
	MPI_Comm world = MPI_COMM_WORLD;
	ranks_init(&argc, &argv);

	int64_t big = (int64_t)1 << 20;
	/* 65536 is a piece of the ring's: sizes around the slices that fill one, and some */
	int64_t sizes[] = {0,
	                   ranks_count,
	                   5 * ranks_count,
	                   1001 * ranks_count,
	                   65535 * ranks_count,
	                   65537 * ranks_count,
	                   (big + ranks_count) / ranks_count * ranks_count};
	size_t bytes = (size_t)(big + 65537 * ranks_count + 2 * GUARD) * sizeof(float);
	whole_memory = malloc(bytes);
	part_memory = malloc(bytes);
	first_memory = malloc(bytes);
	staging = malloc(SCHEDULE_STAGING_BYTES + GUARD);
	if (!whole_memory || !part_memory || !first_memory || !staging)
		MPI_Abort(world, 1);

	static const char *const names[] = {"ring", "mpi"};
	for (int i = 0; i < 2; i++) {
		struct communicator *c;
		if (communicator_open(&c, names[i], &world)) {
			fprintf(stderr, "%s\n", status_message());
			MPI_Abort(world, 1);
		}
		ranks_check(c->rank == rank_number && c->ranks == ranks_count && strcmp(c->ops->name, names[i]) == 0,
		            "%s: opened wrong", names[i]);
		try_all(c, TYPE_FP32, sizes, (int)(sizeof sizes / sizeof *sizes) - SUITE_CASES(0, 1));
		try_all(c, TYPE_BF16, sizes, (int)(sizeof sizes / sizeof *sizes) - 1);
		try_all(c, TYPE_FP16, sizes, (int)(sizeof sizes / sizeof *sizes) - 1);
		check_bits(c, SCHEDULE_RING_ALL_REDUCE, 300001 / ranks_count * ranks_count);
		check_bits(c, SCHEDULE_HALVING_DOUBLING_ALL_REDUCE, 1000 * ranks_count);
		check_maximum(c, SCHEDULE_RING_ALL_REDUCE, 100003 / ranks_count * ranks_count);
		check_maximum(c, SCHEDULE_HALVING_DOUBLING_ALL_REDUCE, 7 * ranks_count);
		check_rounding(c, TYPE_BF16, 10007 * ranks_count);
		check_rounding(c, TYPE_FP16, 10007 * ranks_count);
		check_integers(c);
		check_split(c);
		communicator_close(c);
	}
	check_errors();

	int status = ranks_finish("mpi_communicator");
	free(whole_memory);
	free(part_memory);
	free(first_memory);
	free(staging);
	return status;
}
