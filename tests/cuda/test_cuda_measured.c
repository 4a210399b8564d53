/* A run that measures, and those after it, with the kernels that are shipped behind the stand-in for a GPU: what was
 * faster is in the file of algorithms, and later runs read it, obey it and have the same bits. Times are what this test
 * says (tests/emulate/emulate.h). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "real/cuda/library.h"
#include "tests/emulate/emulate.h"
#include "tests/gpu/target.h"
#include "tests/support/fake_cuda.h"
#include "tests/support/plans.h"
#include "tests/support/ranks.h"
#include "tests/support/reports.h"
#include "tests/support/suite.h"

#define GPT "gpt:layers=1,width=16,heads=2,context=8 single micro_batch=1 precision=bf16"

enum { STEPS = 4 /* the last is replayed */, TIMES = 32 };

static char calibration[300], kept[300];

static void make_place(void)
{
	snprintf(calibration, sizeof calibration, "%s/rates.yaml", support_folder());
	snprintf(kept, sizeof kept, "%s/algorithms-a-fake-GPU-130200.txt", support_folder());
	setenv("SHARDLAB_CONFIG", calibration, 1);
	(void)unlink(kept);
}

static void remove_place(void)
{
	(void)unlink(kept);
	cuda_library_use(NULL);
}

/* `times`: of the epilogue and the pass, in milliseconds; NULL: nothing is timed. */
static const struct report *trained(const float *times)
{
	float all[TIMES];
	struct kernel_context *on = target_open(3, 1 << 20);
	struct train_options o = train_options_default();
	struct settings asked = settings_of(GPT);
	o.settings = settings_resolved(&asked);
	o.device = "cuda";
	o.steps = STEPS;
	o.data = "tests/golden/text.txt";
	o.attention = "simple"; /* which is not timed */
	o.autotune = times;
	for (int i = 0; i < TIMES && times; i++)
		all[i] = times[i % 2];
	emulated_times(times ? all : NULL, times ? TIMES : 0);
	(void)target_products(on, ~0U >> 1);
	target_order(true); /* races are looked for elsewhere */
	cuda_library_use(fake_cuda(&(struct fake_cuda_settings){.seed = 3, .shipped = target_api(), .shipped_on = on}));
	const struct report *r = report_trained(&o);
	emulated_times(NULL, 0);
	target_close(on);
	return r;
}

static int lines_of(const char *path)
{
	FILE *f = fopen(path, "r");
	int c, lines = 0;
	ck_assert_ptr_nonnull(f);
	while ((c = getc(f)) != EOF)
		lines += c == '\n';
	ck_assert_int_eq(fclose(f), 0);
	return lines;
}

/* Of the four layers of a block. */
START_LOOP_TEST(the_faster_way_of_a_bias_is_kept_and_obeyed, 0, 2)
{
	static const float times[2][2] = {{1, 2}, {2, 1}};
	char said[sizeof((struct report *)NULL)->slowed.bias_times], line[80], sum[64];
	const struct report *r = trained(NULL);
	ck_assert_str_eq(r->slowed.bias_times, "");
	ck_assert_int_ne(access(kept, F_OK), 0);
	r = trained(times[_i]);
	snprintf(line, sizeof line, "16 to 48: epilogue %d, pass %d µs", 1000 * (1 + _i), 1000 * (2 - _i));
	ck_assert_ptr_nonnull(strstr(r->slowed.bias_times, line));
	ck_assert_int_eq(lines_of(kept), 1 + 4);
	snprintf(said, sizeof said, "%s", r->slowed.bias_times);
	snprintf(sum, sizeof sum, "%s", r->weights_checksum);
	r = trained(NULL);
	ck_assert_str_eq(r->slowed.bias_times, said);
	ck_assert_str_eq(r->weights_checksum, sum);
	r = trained(times[!_i]); /* there is nothing left to time */
	ck_assert_str_eq(r->slowed.bias_times, said);
	ck_assert_str_eq(r->weights_checksum, sum);
}

SUITE_WITH("cuda measured", 120, make_place, remove_place)
