/* Counter-based numbers and the weights' checksum: against the generator's published answers, against themselves cut
 * into ranges, against statistics, and against numpy (tests/oracle/counter_random.py, through tests/golden/). And the
 * order of samples: every epoch a permutation, epochs and seeds different from one another, no place preferred. */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "real/data/sampler.h"
#include "real/rank/checksum.h"
#include "real/rank/random.h"
#include "tests/support/json.h"
#include "tests/support/suite.h"

/* Random123's kat_vectors, lines "philox4x32 10": counter 0 and key 0; all bits set; the digits of pi. */
START_TEST(block_known_answers)
{
	static const struct {
		uint64_t seed, stream, block;
		uint32_t words[4];
	} answers[] = {
	        {0, 0, 0, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
	        {UINT64_MAX, UINT64_MAX, UINT64_MAX, {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
	        {UINT64_C(0x299f31d0a4093822),
	         UINT64_C(0x0370734413198a2e),
	         UINT64_C(0x85a308d3243f6a88),
	         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
	};
	for (size_t i = 0; i < sizeof answers / sizeof answers[0]; i++) {
		uint32_t words[4];
		random_block(answers[i].seed, answers[i].stream, answers[i].block, words);
		ck_assert_mem_eq(words, answers[i].words, sizeof words);
	}
	ck_assert_uint_eq(random_u64(0, 0, 0), UINT64_C(0xe169c58d6627e8d5));
}

START_TEST(ranges_agree_with_the_whole)
{
	enum { COUNT = 103 };
	static const enum weights_init inits[] = {WEIGHTS_ZEROS, WEIGHTS_ONES, WEIGHTS_NORMAL, WEIGHTS_UNIFORM};
	for (size_t k = 0; k < sizeof inits / sizeof inits[0]; k++) {
		float whole[COUNT];
		weights_fill(5, 3, 0, COUNT, inits[k], 0.5, whole);
		for (int64_t first = 0; first < COUNT; first++) {
			for (int64_t count = 0; count <= COUNT - first; count += 1 + count / 8) {
				float part[COUNT + 1];
				part[count] = 42.0F;
				weights_fill(5, 3, first, count, inits[k], 0.5, part);
				ck_assert_mem_eq(part, whole + first, (size_t)count * sizeof *part);
				ck_assert(part[count] == 42.0F);
			}
		}
	}
}

START_TEST(streams_differ)
{
	float a[8], b[8];
	weights_fill(1, 0, 0, 8, WEIGHTS_NORMAL, 1.0, a);
	weights_fill(1, 1, 0, 8, WEIGHTS_NORMAL, 1.0, b);
	ck_assert(memcmp(a, b, sizeof a) != 0);
	weights_fill(2, 0, 0, 8, WEIGHTS_NORMAL, 1.0, b);
	ck_assert(memcmp(a, b, sizeof a) != 0);
	weights_fill(1, 0, INT64_C(1) << 40, 8, WEIGHTS_NORMAL, 1.0, b);
	ck_assert(memcmp(a, b, sizeof a) != 0);
}

/* Bounds are five standard errors: a right generator with another seed would fail once in a million. */
START_TEST(moments)
{
	enum { COUNT = 1 << 18 };
	float *x = malloc(COUNT * sizeof *x);
	ck_assert_ptr_nonnull(x);
	double sum = 0, squares = 0, fourth = 0, neighbours = 0;
	weights_fill(7, 2, 0, COUNT, WEIGHTS_NORMAL, 1.0, x);
	for (int i = 0; i < COUNT; i++) {
		double square = (double)x[i] * (double)x[i];
		sum += (double)x[i];
		squares += square;
		fourth += square * square;
		neighbours += i ? (double)x[i] * (double)x[i - 1] : 0;
		ck_assert(fabsf(x[i]) < 6.77F);
	}
	double n = COUNT;
	ck_assert(fabs(sum / n) < 5 / sqrt(n));
	ck_assert(fabs(neighbours / n) < 5 / sqrt(n));
	ck_assert(fabs(squares / n - 1) < 5 * sqrt(2 / n));
	ck_assert(fabs(fourth / n - 3) < 5 * sqrt(96 / n));

	sum = squares = 0;
	weights_fill(7, 2, 0, COUNT, WEIGHTS_UNIFORM, 0.5, x);
	for (int i = 0; i < COUNT; i++) {
		ck_assert(fabsf(x[i]) <= 0.5F);
		sum += (double)x[i];
		squares += (double)x[i] * (double)x[i];
	}
	ck_assert(fabs(sum / n) < 5 * sqrt(1 / 12.0 / n));
	ck_assert(fabs(squares / n - 1 / 12.0) < 5 * sqrt(1 / 180.0 / n));
	free(x);
}

static enum weights_init init_named(const char *name)
{
	static const char *const names[] = {"zeros", "ones", "normal", "uniform"};
	for (int i = 0; i < 4; i++)
		if (strcmp(name, names[i]) == 0)
			return (enum weights_init)i;
	ck_abort_msg("%s: unknown in a golden file", name);
}

/* Every initial weight of every golden model, bit for bit, from three shards as three ranks would make them. */
START_LOOP_TEST(weights_agree_with_numpy, 0, 4)
{
	static const char *const files[] = {"tests/golden/mlp.json", "tests/golden/mlp_tiny.json",
	                                    "tests/golden/gpt.json", "tests/golden/gpt_tiny.json"};
	json_t *golden = json_open(files[_i]);
	uint64_t seed = (uint64_t)whole_of(golden, "seed"), model_sum = 0;
	int64_t model_first = 0;
	size_t index;
	json_t *tensor, *size;
	ck_assert_uint_ge(json_array_size(member_of(golden, "tensors")), 4);
	json_array_foreach(member_of(golden, "tensors"), index, tensor)
	{
		int64_t elements = 1;
		size_t dimension;
		json_array_foreach(member_of(tensor, "shape"), dimension, size) elements *= json_integer_value(size);
		float *values = malloc((size_t)elements * sizeof *values);
		ck_assert_ptr_nonnull(values);
		uint64_t tensor_sum = 0;
		for (int64_t rank = 0; rank < 3; rank++) {
			int64_t first = elements * rank / 3, count = elements * (rank + 1) / 3 - first;
			weights_fill(seed, index, first, count, init_named(text_of(tensor, "init")),
			             number_of(tensor, "scale"), values);
			tensor_sum += weights_checksum(first, count, values);
			model_sum += weights_checksum(model_first + first, count, values);
		}
		ck_assert_msg(tensor_sum == strtoull(text_of(tensor, "initial_checksum"), NULL, 16), "%s: %s differs",
		              files[_i], text_of(tensor, "name"));
		model_first += elements;
		free(values);
	}
	ck_assert_uint_eq(model_sum, strtoull(text_of(golden, "initial_checksum"), NULL, 16));
	json_decref(golden);
}

START_TEST(checksums_differ)
{
	float x[64];
	weights_fill(1, 0, 0, 64, WEIGHTS_NORMAL, 1.0, x);
	uint64_t whole = weights_checksum(100, 64, x);
	for (int cut = 0; cut <= 64; cut++)
		ck_assert_uint_eq(weights_checksum(100, cut, x) + weights_checksum(100 + cut, 64 - cut, x + cut),
		                  whole);
	ck_assert_uint_ne(weights_checksum(101, 64, x), whole);

	float first = x[0]; /* two that changed places */
	x[0] = x[1];
	x[1] = first;
	ck_assert_uint_ne(weights_checksum(100, 64, x), whole);
	x[1] = x[0];
	x[0] = first;
	ck_assert_uint_eq(weights_checksum(100, 64, x), whole);
	x[63] = nextafterf(x[63], 10.0F); /* one bit */
	ck_assert_uint_ne(weights_checksum(100, 64, x), whole);

	float zero = 0.0F, minus_zero = -0.0F;
	ck_assert_uint_ne(weights_checksum(0, 1, &zero), weights_checksum(0, 1, &minus_zero));
	ck_assert_uint_ne(weights_checksum(0, 1, &zero), 0);
	ck_assert_uint_ne(weights_checksum(0, 1, &zero), weights_checksum(1, 1, &zero));
}

/* ---- the order of samples: a permutation every epoch, no place preferred ---- */

static void assert_permutation(uint64_t seed, int64_t epoch, int64_t n)
{
	bool *seen = calloc((size_t)n, sizeof *seen);
	ck_assert_ptr_nonnull(seen);
	for (int64_t i = 0; i < n; i++) {
		int64_t to = sampler_permute(seed, epoch, n, i);
		ck_assert_msg(to >= 0 && to < n && !seen[to], "n %lld: %lld goes to %lld", (long long)n, (long long)i,
		              (long long)to);
		seen[to] = true;
	}
	free(seen);
}

START_TEST(permutes)
{
	for (int64_t n = 1; n <= 300; n++)
		assert_permutation(1, n % 3, n);
	assert_permutation(2, 0, 60000);
	assert_permutation(2, 1, 65536);
	assert_permutation(2, 1, 65537);
}

START_TEST(epochs_and_seeds_differ)
{
	enum { N = 60000 };
	int same_epoch = 0, same_seed = 0, in_order = 0;
	for (int64_t i = 0; i < N; i++) {
		int64_t at = sampler_image(1, N, i);
		same_epoch += at == sampler_image(1, N, N + i);
		same_seed += at == sampler_image(2, N, i);
		in_order += sampler_image(1, N, (i + 1) % N) == at + 1;
		ck_assert_int_eq(at, sampler_permute(1, 0, N, i));
	}
	/* Each is about 1 by chance (Poisson): more than 10 happens once in 10^8. */
	ck_assert_int_le(same_epoch, 10);
	ck_assert_int_le(same_seed, 10);
	ck_assert_int_le(in_order, 10);
}

/* Element i goes to every place equally often over many epochs. Rows and columns of the counts sum to the same, so the
 * chi-square of n × n cells, times (n-1)/n, has (n-1)² degrees of freedom; its mean is that and its variance twice
 * that. Six standard deviations above is not chance. */
START_LOOP_TEST(places_are_even, 0, 6)
{
	static const int sizes[] = {2, 3, 5, 10, 17, 33};
	enum { EPOCHS = 20000, LARGEST = 33 };
	int n = sizes[_i];
	static int count[LARGEST][LARGEST];
	memset(count, 0, sizeof count);
	for (int epoch = 0; epoch < EPOCHS; epoch++)
		for (int i = 0; i < n; i++)
			count[i][sampler_permute(9, epoch, n, i)]++;
	double expected = (double)EPOCHS / n, chi = 0, freedom = (n - 1.0) * (n - 1.0);
	for (int i = 0; i < n; i++)
		for (int to = 0; to < n; to++)
			chi += (count[i][to] - expected) * (count[i][to] - expected) / expected;
	chi *= (n - 1.0) / n;
	ck_assert_msg(chi < freedom + 6 * sqrt(2 * freedom), "n %d: chi-square %g for %g degrees", n, chi, freedom);
}

/* Every element follows every other equally often: an order that keeps neighbours together would show here and not
 * above. */
START_TEST(neighbours_are_even)
{
	enum { N = 8, EPOCHS = 20000 };
	static int count[N][N];
	memset(count, 0, sizeof count);
	for (int epoch = 0; epoch < EPOCHS; epoch++)
		for (int i = 0; i + 1 < N; i++)
			count[sampler_permute(3, epoch, N, i)][sampler_permute(3, epoch, N, i + 1)]++;
	double expected = (double)EPOCHS / N, chi = 0, cells = N * (N - 1);
	for (int a = 0; a < N; a++)
		for (int b = 0; b < N; b++)
			chi += a == b ? 0 : (count[a][b] - expected) * (count[a][b] - expected) / expected;
	ck_assert_msg(chi < cells + 6 * sqrt(2 * cells), "chi-square %g for %g cells", chi, cells);
}

START_TEST(starts_cover_the_text)
{
	enum { STARTS = 50, SAMPLES = 50000 };
	int count[STARTS] = {0};
	for (int64_t i = 0; i < SAMPLES; i++) {
		int64_t start = sampler_start(4, STARTS, i);
		ck_assert(start >= 0 && start < STARTS);
		count[start]++;
	}
	double expected = (double)SAMPLES / STARTS, chi = 0;
	for (int s = 0; s < STARTS; s++)
		chi += (count[s] - expected) * (count[s] - expected) / expected;
	ck_assert_msg(chi < STARTS - 1 + 6 * sqrt(2.0 * (STARTS - 1)), "chi-square %g", chi);
	ck_assert_int_eq(sampler_start(4, 1, 12345), 0);
}

SUITE("random", 60)
