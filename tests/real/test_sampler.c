/* The order of samples: every epoch a permutation, epochs and seeds different from one another, no place preferred. */
#include "real/data/sampler.h"
#include "tests/support/suite.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

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

SUITE("sampler", 60)
