/* Buffers that are alive on a rank, by name, the largest first. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "strategy/base/language.h"
#include "strategy/base/memory.h"
#include "viz/scene/op_words.h"
#include "viz/scene/scene_parts.h"

struct alive {
	int64_t bytes;
	int buffer;
};

static int by_size(const void *a, const void *b)
{
	const struct alive *x = a, *y = b;
	if (x->bytes != y->bytes)
		return x->bytes > y->bytes ? -1 : 1;
	return x->buffer - y->buffer;
}

/* As the plan names it; what is whole for a while, by what it is. */
static void name_of(char *out, const struct timeline *s, const struct role *r, int buffer)
{
	static const char article[] = "the ";
	static const char *const keys[] = {
	        "parameters:", "gradients:", "master:", "first_moment:", "second_moment:", "staging:",
	        "step:",       "loss:",      "input:",  "target:",       "targets:",       NULL};
	char words[OP_WORDS];
	bool whole = r->buffers[buffer].category == CATEGORY_GATHERED;
	const char *name = whole ? buffer_words(words, s, r, buffer) : r->buffers[buffer].name;
	name = tr_name(name, keys);
	snprintf(out, OP_WORDS, "%s", name + (strncmp(name, article, strlen(article)) ? 0 : strlen(article)));
}

/* The largest first; the caller frees them. */
static struct alive *list_alive(const struct state *st, int index, int *count)
{
	const struct role *role = timeline_role_of(st->timeline, index);
	size_t most = (size_t)role->buffer_count + 1;
	struct alive *list = calloc(most, sizeof *list);
	bool *alive = calloc(most, sizeof *alive);
	if (!list || !alive)
		memory_exhausted();
	state_alive(st, index, alive);
	*count = 0;
	for (int i = 0; i < role->buffer_count; i++)
		if (alive[i])
			list[(*count)++] = (struct alive){buffer_bytes(&role->buffers[i]), i};
	free(alive);
	qsort(list, (size_t)*count, sizeof *list, by_size);
	return list;
}

void draw_alive(struct canvas *c, const struct view *v, struct box b)
{
	const struct theme *t = c->theme;
	const struct state *st = v->state;
	int index = timeline_index_of(st->timeline, v->focus_rank), count = 0, rows = (int)((b.height - 26) / 20);
	const struct role *role = timeline_role_of(st->timeline, index);
	struct alive *alive = list_alive(st, index, &count);
	char word[WORD];
	draw_text(c, b.x, b.y + 12, 14, WEIGHT_BOLD, t->ink, ALIGN_LEFT, b.width,
	          "Alive on rank %" PRId64 ": %d buffers", v->focus_rank, count);
	int columns = b.width > 520 ? 2 : 1, shown = 0;
	double width = (b.width - 20 * (columns - 1)) / columns;
	if (count > rows * columns)
		rows = rows > 1 ? rows : 1;
	for (int i = 0; i < count && i < rows * columns; i++) {
		if (i == rows * columns - 1 && count > rows * columns)
			break;
		const struct buffer *one = &role->buffers[alive[i].buffer];
		char name[OP_WORDS], where[48] = "";
		name_of(name, st->timeline, role, alive[i].buffer);
		int column = i / rows;
		double x = b.x + (width + 20) * column, y = b.y + 26 + 20 * (i % rows);
		enum category of =
		        held_category(st->timeline->roles[st->timeline->ranks[index].role].held[alive[i].buffer]);
		colour fill = t->category[of];
		draw_category(c, (struct box){x, y + 1, 15, 15}, of);
		draw_fill(c, (struct box){x + 2, y + 3, 11, 11}, fill);
		draw_text(c, x + 7.5, y + 12.5, 11, WEIGHT_BOLD, ink_on(fill), ALIGN_CENTRE, 0, "%c",
		          category_letter(of));
		if (one->space != SPACE_DEVICE)
			snprintf(where, sizeof where, tr(" on %s"), tr(space_name(one->space)));
		c->verbatim = true;
		draw_text(c, x + 22, y + 13, 12, WEIGHT_PLAIN, t->ink, ALIGN_LEFT, width - 106, "%s%s", name, where);
		c->verbatim = false;
		draw_text(c, x + width, y + 13, 12, WEIGHT_PLAIN, t->ink, ALIGN_RIGHT, 0, "%s",
		          bytes_word(word, buffer_bytes(one)));
		shown++;
	}
	if (shown < count) {
		int64_t rest = 0;
		for (int i = shown; i < count; i++)
			rest += alive[i].bytes;
		double x = b.x + (width + 20) * (columns - 1), y = b.y + 26 + 20 * (rows - 1);
		draw_text(c, x + 22, y + 13, 12, WEIGHT_PLAIN, t->soft, ALIGN_LEFT, width - 106, "… and %d smaller",
		          count - shown);
		draw_text(c, x + width, y + 13, 12, WEIGHT_PLAIN, t->soft, ALIGN_RIGHT, 0, "%s",
		          bytes_word(word, rest));
	}
	free(alive);
}
