/* Colours. Categories have the colours of Okabe and Ito (2008), which colour-blind people can tell apart, and each has
 * a pattern and a letter, so that they can be told apart in grey. Every text colour has a contrast of at least 4.5:1 on
 * what it is written on (WCAG 2.1, 1.4.3); a test computes both.
 */
#ifndef SHARDLAB_VIZ_THEME_H
#define SHARDLAB_VIZ_THEME_H

#include <stdbool.h>
#include <stdint.h>

#include "strategy/plan/plan.h"

typedef uint32_t colour; /* 0xRRGGBB */

enum theme_name {
	THEME_LIGHT,     /* a screen in daylight */
	THEME_DARK,      /* a screen in the dark */
	THEME_PROJECTOR, /* strong lines and pure contrast, for a pale projector */
	THEME_PAPER,     /* white ground, for print */
	THEME_COUNT
};

enum pattern {
	PATTERN_PLAIN,
	PATTERN_RISING,  /* lines like / */
	PATTERN_FALLING, /* lines like \ */
	PATTERN_DOTS,
	PATTERN_CROSS,
	PATTERN_LEVEL, /* horizontal lines */
};

struct theme {
	const char *name;
	colour ground, panel, line; /* of the picture, of a card on it, of borders and grids */
	colour ink, soft;           /* text, and text that matters less: both are legible on ground and panel */
	colour accent, accent_ink;  /* what happens now; text on it */
	colour warning, warning_ink;
	colour outline; /* around everything that is filled */
	double stroke;  /* factor on the width of lines */
	colour category[CATEGORY_COUNT];
	colour empty; /* a chunk that holds nothing */
};

const struct theme *theme_of(enum theme_name n);
bool theme_parse(const char *name, enum theme_name *out);

char category_letter(enum category c);
enum pattern category_pattern(enum category c);
/* The colour of a rank's contribution, which no category and no pass has. Colours repeat after eight. */
colour rank_colour(const struct theme *t, int64_t rank);
/* The colour of a kind of operation in the timeline: that of what it makes in memory. Forward passes make activations,
 * backward passes gradients, the update the optimizer's state, and communication gathers. */
colour op_colour(const struct theme *t, const struct op *op);
colour pass_colour(enum pass pass);
colour communication_colour(void);

/* Black or white, whichever reads better on a ground. */
colour ink_on(colour ground);
double colour_contrast(colour a, colour b); /* 1 … 21, WCAG 2.1 */
colour colour_mix(colour a, colour b, double part_of_b);

#endif
