/* Colours: apart for eyes that lack a cone, apart in grey by pattern and letter, and text that can be read. */
#include <check.h>
#include <math.h>

#include "tests/support/suite.h"
#include "viz/draw/theme.h"

/* ---- colour vision ---- */

/* Machado, Oliveira and Fernandes (2009), severity 1, on linear RGB. */
static const double deficiency[3][9] = {
        {0.152286, 1.052583, -0.204868, 0.114503, 0.786281, 0.099216, -0.003882, -0.048116, 1.051998}, /* protan */
        {0.367322, 0.860646, -0.227968, 0.280085, 0.672501, 0.047413, -0.011820, 0.042940, 0.968881},  /* deutan */
        {1.255528, -0.076749, -0.178779, -0.078411, 0.930809, 0.147602, 0.004733, 0.691367, 0.303900}, /* tritan */
};
static const char *const names[] = {"protanopia", "deuteranopia", "tritanopia", "full vision"};

static void linear_of(colour c, double *out)
{
	for (int i = 0; i < 3; i++) {
		double v = (c >> (16 - 8 * i) & 255) / 255.0;
		out[i] = v <= 0.04045 ? v / 12.92 : pow((v + 0.055) / 1.055, 2.4);
	}
}

static double f(double t)
{
	return t > 216.0 / 24389 ? cbrt(t) : (24389.0 / 27 * t + 16) / 116;
}

/* CIE L*a*b*, D65, as an eye of this kind sees it. */
static void lab_of(colour c, int kind, double *lab)
{
	double v[3], w[3];
	linear_of(c, v);
	for (int i = 0; i < 3; i++)
		w[i] = kind == 3 ? v[i]
		                 : fmin(1, fmax(0, deficiency[kind][3 * i] * v[0] + deficiency[kind][3 * i + 1] * v[1] +
		                                           deficiency[kind][3 * i + 2] * v[2]));
	double x = (0.4124 * w[0] + 0.3576 * w[1] + 0.1805 * w[2]) / 0.95047;
	double y = 0.2126 * w[0] + 0.7152 * w[1] + 0.0722 * w[2];
	double z = (0.0193 * w[0] + 0.1192 * w[1] + 0.9505 * w[2]) / 1.08883;
	lab[0] = 116 * f(y) - 16;
	lab[1] = 500 * (f(x) - f(y));
	lab[2] = 200 * (f(y) - f(z));
}

/* CIE 1976: about 2.3 is just noticeable. */
static double difference(colour a, colour b, int kind)
{
	double p[3], q[3], sum = 0;
	lab_of(a, kind, p);
	lab_of(b, kind, q);
	for (int i = 0; i < 3; i++)
		sum += (p[i] - q[i]) * (p[i] - q[i]);
	return sqrt(sum);
}

START_TEST(known_differences)
{
	/* black and white are 100 apart whoever looks; red and green are near for those without green cones */
	for (int kind = 0; kind < 4; kind++)
		ck_assert_double_eq_tol(difference(0, 0xFFFFFF, kind), 100, 0.5);
	ck_assert_double_gt(difference(0xFF0000, 0x00FF00, 3), 160);
	ck_assert_double_lt(difference(0xB06000, 0x708000, 1), 25);
}

START_TEST(categories_stay_apart)
{
	for (int t = 0; t < THEME_COUNT; t++)
		for (int kind = 0; kind < 4; kind++)
			for (int a = 0; a < CATEGORY_COUNT; a++)
				for (int b = 0; b < a; b++) {
					const struct theme *theme = theme_of((enum theme_name)t);
					double d = difference(theme->category[a], theme->category[b], kind);
					ck_assert_msg(d >= 15, "%s and %s are %.1f apart with %s",
					              category_name((enum category)a), category_name((enum category)b),
					              d, names[kind]);
				}
}

START_TEST(ranks_stay_apart)
{
	for (int t = 0; t < THEME_COUNT; t++)
		for (int kind = 0; kind < 4; kind++)
			for (int a = 0; a < 8; a++)
				for (int b = 0; b < a; b++) {
					const struct theme *theme = theme_of((enum theme_name)t);
					double d = difference(rank_colour(theme, a), rank_colour(theme, b), kind);
					ck_assert_msg(d >= 20, "ranks %d and %d are %.1f apart with %s", a, b, d,
					              names[kind]);
				}
}

/* One colour means one thing: a rank's contribution looks like nothing that is held or done. A pass has the colour of
 * what it makes, which is meant. */
START_TEST(ranks_are_no_categories)
{
	const colour passes[] = {pass_colour(PASS_FORWARD), pass_colour(PASS_BACKWARD), pass_colour(PASS_RECOMPUTE),
	                         pass_colour(PASS_UPDATE), communication_colour()};
	for (int k = 0; k < CATEGORY_COUNT; k++) /* what is repeated makes activations, and nothing that lasts */
		ck_assert_double_ge(difference(pass_colour(PASS_RECOMPUTE), theme_of(THEME_LIGHT)->category[k], 3), 25);
	for (int t = 0; t < THEME_COUNT; t++)
		for (int rank = 0; rank < 8; rank++) {
			const struct theme *theme = theme_of((enum theme_name)t);
			for (int k = 0; k < CATEGORY_COUNT; k++)
				ck_assert_double_ge(difference(rank_colour(theme, rank), theme->category[k], 3), 25);
			for (int k = 0; k < COUNT(passes); k++)
				ck_assert_double_ge(difference(rank_colour(theme, rank), passes[k], 3), 25);
		}
}

/* The difference besides lightness. */
static double difference_of_hue(colour a, colour b, int kind)
{
	double p[3], q[3];
	lab_of(a, kind, p);
	lab_of(b, kind, q);
	return hypot(p[1] - q[1], p[2] - q[2]);
}

/* Passes and communication, and forward and backward by more than lightness, done or still to come. */
START_TEST(passes_stay_apart)
{
	const colour of[] = {pass_colour(PASS_FORWARD), pass_colour(PASS_BACKWARD), pass_colour(PASS_RECOMPUTE),
	                     pass_colour(PASS_UPDATE), communication_colour()};
	for (int kind = 0; kind < 4; kind++) {
		for (int a = 0; a < 5; a++)
			for (int b = 0; b < a; b++)
				ck_assert_msg(difference(of[a], of[b], kind) >= 15, "%d and %d are %.1f apart with %s",
				              a, b, difference(of[a], of[b], kind), names[kind]);
		for (int t = 0; t < THEME_COUNT; t++) {
			colour panel = theme_of((enum theme_name)t)->panel;
			ck_assert_double_ge(difference_of_hue(of[0], of[1], kind), 50);
			ck_assert_double_ge(
			        difference_of_hue(colour_mix(of[0], panel, 0.55), colour_mix(of[1], panel, 0.55), kind),
			        20);
		}
	}
}

/* Without colour there are the pattern and the letter, no two alike. */
START_TEST(categories_differ_without_colour)
{
	for (int a = 0; a < CATEGORY_COUNT; a++)
		for (int b = 0; b < a; b++) {
			ck_assert_int_ne(category_letter((enum category)a), category_letter((enum category)b));
			ck_assert_int_ne((int)category_pattern((enum category)a),
			                 (int)category_pattern((enum category)b));
		}
}

START_TEST(text_is_legible)
{
	for (int n = 0; n < THEME_COUNT; n++) {
		const struct theme *t = theme_of((enum theme_name)n);
		const colour pairs[][2] = {{t->ink, t->ground},
		                           {t->ink, t->panel},
		                           {t->soft, t->ground},
		                           {t->soft, t->panel},
		                           {t->accent_ink, t->accent},
		                           {t->warning_ink, t->warning},
		                           {t->warning, t->ground},
		                           {t->warning, t->panel},
		                           {t->ink, colour_mix(t->panel, t->accent, 0.2)},
		                           {t->soft, colour_mix(t->panel, t->accent, 0.2)}};
		for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++)
			ck_assert_msg(colour_contrast(pairs[i][0], pairs[i][1]) >= 4.5, "%s: pair %zu has %.2f",
			              t->name, i, colour_contrast(pairs[i][0], pairs[i][1]));
		for (int c = 0; c < CATEGORY_COUNT; c++)
			ck_assert_msg(colour_contrast(ink_on(t->category[c]), t->category[c]) >= 4.5,
			              "%s: letter of %s", t->name, category_name((enum category)c));
	}
}

/* Operations of the timeline are labelled on their colour, and on its paler version while they are to come. */
START_TEST(labels_on_operations)
{
	struct op ops[5] = {{.kind = OP_LINEAR_FORWARD, .pass = PASS_FORWARD},
	                    {.kind = OP_LINEAR_BACKWARD, .pass = PASS_BACKWARD},
	                    {.kind = OP_ADAMW, .pass = PASS_UPDATE},
	                    {.kind = OP_ALL_REDUCE},
	                    {.kind = OP_LOAD, .pass = PASS_NONE}};
	for (int n = 0; n < THEME_COUNT; n++)
		for (int i = 0; i < 5; i++) {
			const struct theme *t = theme_of((enum theme_name)n);
			colour fill = op_colour(t, &ops[i]), pale = colour_mix(fill, t->panel, 0.55);
			ck_assert_double_ge(colour_contrast(ink_on(fill), fill), 4.5);
			ck_assert_double_ge(colour_contrast(ink_on(pale), pale), 4.5);
		}
}

START_TEST(contrast_matches_the_guidelines)
{
	ck_assert_double_eq_tol(colour_contrast(0, 0xFFFFFF), 21, 1e-9);
	ck_assert_double_eq_tol(colour_contrast(0x777777, 0xFFFFFF), 4.478, 0.001);
}

SUITE("palette", 0)
