/* Buffers that are alive on a rank, by name, the largest first. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "strategy/base/language.h"
#include "strategy/base/memory.h"
#include "viz/scene/scene_parts.h"
#include "viz/timeline/op_words.h"

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

/* The buffer's name in the plan; a buffer that is whole only for a while is named by its contents. */
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

/* The list in columns, filled one after another. */
struct cells {
	struct box box;
	int columns, rows;
	double width; /* of a column */
};

static struct cells cells_in(struct box b, int count)
{
	int columns = b.width > 520 ? 2 : 1, rows = (int)((b.height - 26) / 20);
	if (count > rows * columns && rows < 1)
		rows = 1;
	return (struct cells){b, columns, rows, (b.width - 20 * (columns - 1)) / columns};
}

static struct box cell_at(const struct cells *l, int i)
{
	int column = i / l->rows, row = i % l->rows;
	return (struct box){l->box.x + (l->width + 20) * column, l->box.y + 26 + 20 * row, l->width, 20};
}

static void draw_held(struct canvas *c, struct box at, enum category of)
{
	colour fill = c->theme->category[of];
	draw_category(c, (struct box){at.x, at.y + 1, 15, 15}, of);
	draw_fill(c, (struct box){at.x + 2, at.y + 3, 11, 11}, fill);
	draw_text(c, at.x + 7.5, at.y + 12.5, 11, WEIGHT_BOLD, ink_on(fill), ALIGN_CENTRE, 0, "%c",
	          category_letter(of));
}

static void draw_buffer(struct canvas *c, const struct timeline *s, int index, int buffer, struct box at)
{
	const struct role *role = timeline_role_of(s, index);
	const struct buffer *one = &role->buffers[buffer];
	char word[WORD], name[OP_WORDS], where[48] = "";
	name_of(name, s, role, buffer);
	draw_held(c, at, held_category(s->roles[s->ranks[index].role].held[buffer]));
	if (one->space != SPACE_DEVICE)
		snprintf(where, sizeof where, tr(" on %s"), tr(space_name(one->space)));
	c->verbatim = true;
	draw_text(c, at.x + 22, at.y + 13, 12, WEIGHT_PLAIN, c->theme->ink, ALIGN_LEFT, at.width - 106, "%s%s", name,
	          where);
	c->verbatim = false;
	draw_text(c, at.x + at.width, at.y + 13, 12, WEIGHT_PLAIN, c->theme->ink, ALIGN_RIGHT, 0, "%s",
	          bytes_word(word, buffer_bytes(one)));
}

static void draw_smaller(struct canvas *c, const struct alive *alive, int count, struct box at)
{
	char word[WORD];
	int64_t bytes = 0;
	for (int i = 0; i < count; i++)
		bytes += alive[i].bytes;
	draw_text(c, at.x + 22, at.y + 13, 12, WEIGHT_PLAIN, c->theme->soft, ALIGN_LEFT, at.width - 106,
	          "… and %d smaller", count);
	draw_text(c, at.x + at.width, at.y + 13, 12, WEIGHT_PLAIN, c->theme->soft, ALIGN_RIGHT, 0, "%s",
	          bytes_word(word, bytes));
}

void draw_alive(struct canvas *c, const struct view *v, struct box b)
{
	const struct timeline *s = v->state->timeline;
	int index = timeline_index_of(s, v->focus_rank), count = 0;
	struct alive *alive = list_alive(v->state, index, &count);
	struct cells cells = cells_in(b, count);
	int room = cells.rows * cells.columns, shown = count > room ? room - 1 : count;
	draw_text(c, b.x, b.y + 12, 14, WEIGHT_BOLD, c->theme->ink, ALIGN_LEFT, b.width,
	          "Alive on rank %" PRId64 ": %d buffers", v->focus_rank, count);
	for (int i = 0; i < shown; i++)
		draw_buffer(c, s, index, alive[i].buffer, cell_at(&cells, i));
	if (shown < count)
		draw_smaller(c, alive + shown, count - shown, cell_at(&cells, shown));
	free(alive);
}
