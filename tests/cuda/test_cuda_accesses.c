/* The memory requests of memory-bound kernels at GPT-2's sizes, and those of attention to shared memory, stay within
 * the limits listed here. `make bench` prints the numbers. */
#include "tests/bench/cuda_accesses.h"
#include "tests/support/suite.h"

/* Bytes asked for ÷ bytes that must be moved, at most; what is more comes out of a cache. */
static const struct {
	const char *name;
	double times;
} LIMITS[JOBS] = {
        {"copy", 0},                  /* no kernel of ours */
        {"norm forward", 2.01},       /* a warp has one row, and reads weight and bias for it */
        {"norm backward", 1.30},      /* the same of weight, and the blocks' sums */
        {"classifier", 1.01},         /* each row is read once; the losses */
        {"embedding forward", 1.51},  /* the position's row too */
        {"embedding backward", 1.50}, /* dy is read twice, as it must; keys, and sums of words in many places */
        {"AdamW", 1.001},
        {"vector add", 1.001},
        {"sum of squares", 1.001},
        {"overflow", 1.001},
        {"fp32 to bf16", 1.001},
        {"bias, residual, GELU", 1.26}, /* the bias once for each row */
        {"bias, residual, GELU of 4×", 1.26}};

START_LOOP_TEST(memory, 0, JOBS)
{
	struct job jobs[JOBS];
	const struct emulated_accesses *kernels;
	jobs_of_one_processor(jobs);
	ck_assert_str_eq(jobs[_i].name, LIMITS[_i].name);
	if (jobs[_i].run == run_copy)
		return;
	int n = job_accesses(&jobs[_i], &kernels);
	double times = job_times(&jobs[_i], n, kernels);
	int64_t sectors = 0, least = 0;
	ck_assert_msg(times > 0.9 && times <= LIMITS[_i].times, "%s: %.3f times what it must move", jobs[_i].name,
	              times);
	for (int k = 0; k < n; k++) {
		/* where a key goes is the sort's to say */
		bool scatters = strstr(kernels[k].kernel, "sort_scatter") != NULL;
		sectors += kernels[k].sectors;
		least += kernels[k].least_sectors;
		ck_assert_msg(scatters || share(kernels[k].least_sectors, kernels[k].sectors) >= 0.95,
		              "%s: %lld sectors for what %lld hold", kernels[k].kernel, (long long)kernels[k].sectors,
		              (long long)kernels[k].least_sectors);
	}
	ck_assert_msg(share(least, sectors) >= 0.95, "%s: %lld sectors for what %lld hold", jobs[_i].name,
	              (long long)sectors, (long long)least);
}

static const int64_t HEADS[] = {32, 64, 96, 128};
static const enum element TYPES[] = {ELEMENT_BF16, ELEMENT_FP32};

START_LOOP_TEST(attention, 0, 2 * ATTENTION_VERSIONS)
{
	for (size_t i = 0; i < sizeof HEADS / sizeof *HEADS; i++) {
		struct attention_shape shape = {1, 160, 1, HEADS[i], TYPES[_i % 2]};
		enum attention_version version = (enum attention_version)(_i / 2);
		const struct emulated_accesses *kernels;
		if (version == ATTENTION_HOPPER && (shape.type == ELEMENT_FP32 || shape.head_size == 32))
			continue; /* which it does not take */
		int n = attention_accesses(&shape, version, &kernels);
		for (int k = 0; k < n; k++) {
			ck_assert_msg(kernels[k].wavefronts == kernels[k].least_wavefronts,
			              "%s: %lld wavefronts in place of %lld", kernels[k].kernel,
			              (long long)kernels[k].wavefronts, (long long)kernels[k].least_wavefronts);
			ck_assert_msg(share(kernels[k].least_sectors, kernels[k].sectors) >= 0.95,
			              "%s: %lld sectors for what %lld hold", kernels[k].kernel,
			              (long long)kernels[k].sectors, (long long)kernels[k].least_sectors);
		}
	}
}

int main(void)
{
	return emulated_tells() ? suite_run("cuda_accesses", 120)
	                        : suite_skip("kernels of this build have another sanitizer");
}
