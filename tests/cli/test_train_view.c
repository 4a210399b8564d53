/* Which steps of a training have a line: the first, the last, each tenth of them, and one after a minute without. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/command/train_view.h"
#include "tests/support/suite.h"

enum { STEPS = 1000 };

/* The steps that have a line, of all of them with at most so many seconds between lines: "1 100 200 …". */
static void lines_of(double silence, char *out, size_t size)
{
	struct train_view v = {.steps = STEPS, .silence = silence};
	char line[200];
	curves_begin(&v.curves);
	FILE *said = tmpfile();
	int before = dup(STDOUT_FILENO), step;
	size_t n = 0;
	ck_assert(said && before >= 0);
	fflush(stdout);
	ck_assert_int_ge(dup2(fileno(said), STDOUT_FILENO), 0);
	for (int64_t i = 1; i <= STEPS; i++)
		train_view_step(&v, &(struct train_step){.step = i, .loss = 2.5, .validation_loss = NAN});
	fflush(stdout);
	ck_assert_int_ge(dup2(before, STDOUT_FILENO), 0);
	close(before);
	rewind(said);
	while (n < size && fgets(line, sizeof line, said))
		if (sscanf(line, "step %d", &step) == 1)
			n += (size_t)snprintf(out + n, size - n, "%d ", step);
	fclose(said);
	train_view_release(&v);
}

START_TEST(a_short_run_has_a_line_for_each_tenth)
{
	char lines[8000] = "";
	lines_of(3600, lines, sizeof lines);
	ck_assert_str_eq(lines, "1 100 200 300 400 500 600 700 800 900 1000 ");
}

START_TEST(after_a_silence_the_next_step_has_a_line)
{
	char lines[8000] = "";
	lines_of(0, lines, sizeof lines);
	ck_assert(!strncmp(lines, "1 2 3 4 5 ", 10));
}

SUITE("train_view", 0)
