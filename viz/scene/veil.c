/* In place of what may not be seen while a question is open. */
#include <math.h>

#include "viz/scene/scene_parts.h"

void draw_veil(struct canvas *c, struct box b)
{
	const struct theme *t = c->theme;
	double size = fmin(40, b.height * 0.5);
	if (b.width < 1 || b.height < 1)
		return;
	draw_fill(c, b, t->empty);
	draw_pattern(c, b, PATTERN_FALLING, colour_mix(t->empty, t->line, 0.5));
	draw_frame(c, b, t->line, 1);
	if (b.width > size && size > 8)
		draw_text(c, b.x + b.width / 2, b.y + b.height / 2 + size * 0.36, size, WEIGHT_BOLD, t->soft,
		          ALIGN_CENTRE, 0, "?");
}
