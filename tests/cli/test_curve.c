/* The loss of a run as text, dot by dot, and what a progress bar leaves out where it has no room. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/show/curve.h"
#include "tests/support/suite.h"

static void assert_curve(const struct curves *c, int columns, bool braille, const char *expected)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	show_curve(c, columns, braille, out);
	fclose(out);
	ck_assert_msg(!strcmp(text, expected), "\n%s\ninstead of\n%s", text, expected);
	free(text);
}

/* From 8 down to 1, one a row. */
static void begin_falling(struct curves *c)
{
	curves_begin(c);
	for (int64_t step = 1; step <= 8; step++)
		curves_add(c, step, (double)(9 - step), step == 3 ? 2.0 : (double)NAN);
}

START_TEST(in_ascii)
{
	struct curves c;
	begin_falling(&c);
	assert_curve(&c, 40, false,
	             "loss of training, o validation\n"
	             "       8 |**\n"
	             "         |  ****\n"
	             "         |      ****\n"
	             "         |          *****\n"
	             "         |               ****\n"
	             "         |                   ****\n"
	             "         |        o              ****\n"
	             "       1 |                           ***\n"
	             "         +------------------------------\n"
	             "          1                       step 8\n");
	curves_release(&c);
}

/* A character is two dots wide and four high: 8 columns of dots, in which the curve falls by all 32. */
START_TEST(in_braille)
{
	struct curves c;
	curves_begin(&c);
	for (int64_t step = 1; step <= 8; step++)
		curves_add(&c, step, (double)(9 - step), (double)NAN);
	assert_curve(&c, 14, true,
	             "loss of training\n"
	             "       8 ┤⢱\n"
	             "         │⠈⡆\n"
	             "         │ ⢣\n"
	             "         │ ⠘⡄\n"
	             "         │  ⢇\n"
	             "         │  ⠸⡀\n"
	             "         │   ⡇\n"
	             "       1 ┤   ⢸\n"
	             "         └────\n"
	             "          1 step 8\n");
	curves_release(&c);
}

START_TEST(of_nothing_it_is_nothing)
{
	struct curves c;
	curves_begin(&c);
	assert_curve(&c, 80, true, "");
	curves_add(&c, 1, 2.5, (double)NAN);
	assert_curve(&c, 80, true, "");
	curves_add(&c, 2, (double)INFINITY, (double)NAN);
	assert_curve(&c, 80, true, "");
	curves_release(&c);
}

START_TEST(utf8_is_what_the_environment_says)
{
	setenv("LC_ALL", "C", 1);
	setenv("LANG", "en_GB.UTF-8", 1);
	ck_assert(!text_is_utf8());
	setenv("LC_ALL", "", 1);
	unsetenv("LC_CTYPE");
	ck_assert(text_is_utf8());
	setenv("LC_CTYPE", "de_DE.utf8", 1);
	setenv("LANG", "C", 1);
	ck_assert(text_is_utf8());
	unsetenv("LC_CTYPE");
	ck_assert(!text_is_utf8());
}

SUITE("curve", 0)
