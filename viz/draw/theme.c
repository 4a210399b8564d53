#include "viz/draw/theme.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* Okabe and Ito: orange, sky blue, bluish green, yellow, blue, reddish purple. */
#define ORANGE 0xE69F00
#define SKY 0x56B4E9
#define GREEN 0x009E73
#define YELLOW 0xF0E442
#define BLUE 0x0072B2
#define PURPLE 0xCC79A7
/* of our own, a darker forward */
#define NAVY 0x1B2A6B

static const struct {
	colour colour;
	char letter;
	enum pattern pattern;
} categories[CATEGORY_COUNT] = {
        [CATEGORY_PARAMETERS] = {BLUE, 'P', PATTERN_PLAIN},   [CATEGORY_GRADIENTS] = {ORANGE, 'G', PATTERN_RISING},
        [CATEGORY_OPTIMIZER] = {GREEN, 'O', PATTERN_DOTS},    [CATEGORY_ACTIVATIONS] = {SKY, 'A', PATTERN_LEVEL},
        [CATEGORY_GATHERED] = {PURPLE, 'W', PATTERN_FALLING}, [CATEGORY_BUFFERS] = {YELLOW, 'B', PATTERN_CROSS},
};

#define ALL_CATEGORIES                                                                                                 \
	{                                                                                                              \
		[CATEGORY_PARAMETERS] = BLUE, [CATEGORY_GRADIENTS] = ORANGE, [CATEGORY_OPTIMIZER] = GREEN,             \
		[CATEGORY_ACTIVATIONS] = SKY, [CATEGORY_GATHERED] = PURPLE, [CATEGORY_BUFFERS] = YELLOW                \
	}

static const struct theme themes[] = {
        [THEME_LIGHT] = {"light", 0xF6F7F9, 0xFFFFFF, 0xC9CED6, 0x16191D, 0x4A525C, 0xB3400A, 0xFFFFFF, 0xA3123A,
                         0xFFFFFF, 0x16191D, 1.0, ALL_CATEGORIES, 0xECEEF1},
        [THEME_DARK] = {"dark", 0x14171B, 0x1E2329, 0x434B55, 0xF1F3F5, 0xB4BDC7, 0xFFB454, 0x14171B, 0xFF8AA5,
                        0x14171B, 0x050607, 1.0, ALL_CATEGORIES, 0x2B323A},
        [THEME_PROJECTOR] = {"projector", 0xFFFFFF, 0xFFFFFF, 0x8A8F96, 0x000000, 0x2B2F34, 0x9A2A00, 0xFFFFFF,
                             0x8C0026, 0xFFFFFF, 0x000000, 1.6, ALL_CATEGORIES, 0xF1F1F1},
        [THEME_PAPER] = {"paper", 0xFFFFFF, 0xFFFFFF, 0xB5B5B5, 0x000000, 0x444444, 0x9A3400, 0xFFFFFF, 0x8C0026,
                         0xFFFFFF, 0x000000, 0.8, ALL_CATEGORIES, 0xF4F4F4},
};

static_assert(sizeof themes / sizeof *themes == THEME_COUNT, "one row for each theme");

const struct theme *theme_of(enum theme_name n)
{
	return &themes[n];
}

bool theme_parse(const char *name, enum theme_name *out)
{
	for (int i = 0; i < THEME_COUNT; i++)
		if (!strcmp(name, themes[i].name)) {
			*out = (enum theme_name)i;
			return true;
		}
	return false;
}

char category_letter(enum category c)
{
	return categories[c].letter;
}

enum pattern category_pattern(enum category c)
{
	return categories[c].pattern;
}

colour rank_colour(const struct theme *t, int64_t rank)
{
	/* violet, lime, brown, teal, lavender, rust, sand, petrol: found by trying thousands of sets for the one whose
	 * least difference is largest, for any eye, and far from what passes and categories have */
	static const colour of_rank[] = {0x6F4DB3, 0x99E052, 0x805E4D, 0x4DB2B3,
	                                 0xB288DD, 0xB86614, 0xD1D194, 0x177082};
	(void)t;
	return of_rank[rank % 8];
}

colour op_colour(const struct theme *t, const struct op *op)
{
	if (op_class(op->kind) == OP_CLASS_C)
		return op->traffic == TRAFFIC_CONTROL ? t->line : communication_colour();
	return pass_colour(op->pass);
}

colour communication_colour(void)
{
	return PURPLE;
}

colour pass_colour(enum pass pass)
{
	switch (pass) {
	case PASS_FORWARD:
		return SKY;
	case PASS_BACKWARD:
		return ORANGE;
	case PASS_RECOMPUTE:
		return NAVY;
	case PASS_UPDATE:
		return GREEN;
	case PASS_NONE:
		break;
	}
	return 0xA9A9A9;
}

/* ---- contrast ---- */

static double linear(double v)
{
	return v <= 0.04045 ? v / 12.92 : pow((v + 0.055) / 1.055, 2.4);
}

static double colour_luminance(colour c)
{
	return 0.2126 * linear((c >> 16 & 255) / 255.0) + 0.7152 * linear((c >> 8 & 255) / 255.0) +
	       0.0722 * linear((c & 255) / 255.0);
}

double colour_contrast(colour a, colour b)
{
	double x = colour_luminance(a), y = colour_luminance(b);
	return x > y ? (x + 0.05) / (y + 0.05) : (y + 0.05) / (x + 0.05);
}

colour ink_on(colour ground)
{
	return colour_contrast(ground, 0x000000) >= colour_contrast(ground, 0xFFFFFF) ? 0x000000 : 0xFFFFFF;
}

colour colour_mix(colour a, colour b, double part)
{
	colour out = 0;
	for (int shift = 16; shift >= 0; shift -= 8) {
		double v = (a >> shift & 255) * (1 - part) + (b >> shift & 255) * part;
		out |= (colour)(v + 0.5) << shift;
	}
	return out;
}
