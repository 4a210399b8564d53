/* The plan as text: every operation a line, those that run now lit, and what waits for what. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "strategy/base/language.h"
#include "strategy/base/memory.h"
#include "viz/scene/scene_parts.h"
#include "viz/scene/search.h"
#include "viz/timeline/op_words.h"

enum { LINE = 19, DETAIL = 118 };

static char *line_of(const struct plan *p, const struct role *r, int op)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = memory_stream(&text, &size);
	plan_write_op(p, r, op, out);
	memory_stream_close(out);
	if (size && text[size - 1] == '\n')
		text[size - 1] = 0;
	return text;
}

int plan_current_op(const struct state *st, int index)
{
	const struct role *role = timeline_role_of(st->timeline, index);
	int issued = st->ranks[index].issued, told = caption_op(st, index);
	return told >= 0 ? told : role->step.begin + (issued ? issued - 1 : 0);
}

/* The last operation that the rank has issued: later ones stay hidden while a question is open. */
static int last_issued(const struct state *st, int index)
{
	int issued = st->ranks[index].issued;
	return timeline_role_of(st->timeline, index)->step.begin + (issued ? issued - 1 : 0);
}

/* The heading: "The program of every rank", "The program of ranks 1 to 3 (worker)". */
static void say_whose(const struct plan *p, const struct role *r, int64_t rank, char *out, size_t size)
{
	int64_t last = r->first_rank + r->ranks - 1;
	char as[48] = "";
	if (r->ranks > 1)
		snprintf(as, sizeof as, tr(", as rank %" PRId64 " carries it out"), rank);
	if (p->role_count == 1 && r->ranks > 1)
		snprintf(out, size, tr("The program of every rank%s"), as);
	else if (p->role_count == 1)
		snprintf(out, size, tr("The program of the rank"));
	else if (r->ranks == 1)
		snprintf(out, size, tr("The program of rank %" PRId64 " (%.40s)"), r->first_rank, r->name);
	else
		snprintf(out, size, tr("The program of ranks %" PRId64 " to %" PRId64 " (%.40s)%s"), r->first_rank,
		         last, r->name, as);
}

static void draw_operation(struct canvas *c, const struct state *st, int index, int op, bool current, bool selected,
                           bool found, double x, double y, double width)
{
	const struct theme *t = c->theme;
	const struct role *role = timeline_role_of(st->timeline, index);
	bool memory = op_class(role->ops[op].kind) == OP_CLASS_M;
	enum op_state state = state_of_op(st, index, op);
	char *text = line_of(st->timeline->plan, role, op);
	struct box row = {x, y - 14, width, LINE};
	bool lit = state == OP_RUNS || (current && st->position);
	if (lit)
		draw_fill(c, row, colour_mix(t->panel, t->accent, 0.2));
	if (found)
		draw_fill(c, (struct box){x + 1, y - 14, 5, LINE}, t->accent);
	if (selected)
		draw_frame(c, (struct box){row.x + 2, row.y, row.width - 4, row.height}, t->ink, 1.6);
	if (!memory)
		draw_fill(c, (struct box){x + 8, y - 10, 9, 11}, op_colour(t, &role->ops[op]));
	if (!memory)
		draw_frame(c, (struct box){x + 8, y - 10, 9, 11}, t->outline, 0.7);
	draw_text(c, x + 26, y, 12, WEIGHT_PLAIN, t->ink, ALIGN_LEFT, 0, "%s",
	          state == OP_RUNS   ? "▶"
	          : state == OP_DONE ? "✓"
	                             : "");
	draw_text(c, x + 44, y, 12.5, WEIGHT_MONO, state == OP_WAITS && !lit ? t->soft : t->ink, ALIGN_LEFT, width - 52,
	          "%s", text);
	free(text);
}

/* The operation on the first line, so that the current one stands in the upper half. */
static int first_line(const struct view *v, int index, struct box b, int *rows)
{
	const struct role *role = timeline_role_of(v->state->timeline, index);
	*rows = (int)((b.height - 34) / LINE);
	int first = plan_current_op(v->state, index) - *rows * 2 / 5 + v->plan_scroll;
	if (first > role->step.end - *rows)
		first = role->step.end - *rows;
	return first < role->step.begin ? role->step.begin : first;
}

static int op_at(const struct view *v, struct box b, double x, double y)
{
	int index = timeline_index_of(v->state->timeline, v->focus_rank), rows;
	struct box list = {b.x, b.y, b.width, b.height - DETAIL - 10};
	int first = first_line(v, index, list, &rows), line = (int)floor((y - list.y - 32) / LINE);
	if (x < b.x || x > b.x + b.width || line < 0 || line >= rows ||
	    first + line >= timeline_role_of(v->state->timeline, index)->step.end)
		return -1;
	return first + line;
}

static void draw_operations(struct canvas *c, const struct view *v, int index, struct box b)
{
	const struct state *st = v->state;
	const struct role *role = timeline_role_of(st->timeline, index);
	int rows, first = first_line(v, index, b, &rows), now = plan_current_op(st, index);
	draw_card(c, b, c->theme->panel, c->theme->line, 1);
	char whose[192];
	say_whose(st->timeline->plan, role, v->focus_rank, whose, sizeof whose);
	draw_text(c, b.x + 14, b.y + 20, 14, WEIGHT_BOLD, c->theme->ink, ALIGN_LEFT, b.width - 28,
	          "%s: operations %d to %d of the step", whose, role->step.begin, role->step.end - 1);
	for (int i = 0; i < rows && first + i < role->step.end; i++) {
		if (is_veiled(v) && first + i > last_issued(st, index)) {
			double y = b.y + 32 + LINE * i;
			draw_veil(c, (struct box){b.x + 6, y, b.width - 12, b.y + b.height - y - 6});
			break;
		}
		draw_operation(c, st, index, first + i, first + i == now,
		               v->selected_rank == v->focus_rank && v->selected_op == first + i,
		               v->search && search_has_op(v->search, st->timeline->ranks[index].role, first + i),
		               b.x + 1, b.y + 46 + LINE * i, b.width - 2);
	}
}

static const char *state_words(enum op_state s)
{
	return s == OP_DONE ? tr("done") : s == OP_RUNS ? tr("running") : tr("to come");
}

/* The operations that the current one waits for, and those that wait for it. */
static void draw_waits(struct canvas *c, const struct view *v, int index, struct box b)
{
	const struct theme *t = c->theme;
	const struct state *st = v->state;
	const struct role *role = timeline_role_of(st->timeline, index);
	bool selected = v->selected_rank == v->focus_rank && v->selected_op >= role->step.begin &&
	                v->selected_op < role->step.end;
	int now = selected ? v->selected_op : plan_current_op(st, index);
	const struct op *op = &role->ops[now];
	char words[OP_WORDS];
	double middle = b.x + b.width / 2 + 8;
	draw_card(c, b, t->panel, t->line, 1);
	if (is_veiled(v)) {
		draw_veil(c, (struct box){b.x + 6, b.y + 6, b.width - 12, b.height - 12});
		return;
	}
	op_words(words, st->timeline, role, op);
	char meanwhile[48] = "";
	if (!selected && st->position && st->step_size != STEP_SIZE_PHASE && caption_op(st, index) < 0)
		snprintf(meanwhile, sizeof meanwhile, tr("Rank %" PRId64 " meanwhile: "), v->focus_rank);
	draw_text(c, b.x + 14, b.y + 21, 14, WEIGHT_BOLD, t->ink, ALIGN_LEFT, b.width / 2 - 20, "%s%d: %s waits for",
	          meanwhile, now, words);
	draw_text(c, middle, b.y + 21, 14, WEIGHT_BOLD, t->ink, ALIGN_LEFT, b.width / 2 - 20, "What waits for it");
	int line = 0;
	for (int i = 0; i < op->after_count && line < 4; i++, line++) {
		op_words(words, st->timeline, role, &role->ops[op->after[i]]);
		draw_text(c, b.x + 14, b.y + 44 + 20 * line, 13, WEIGHT_PLAIN, t->ink, ALIGN_LEFT, b.width / 2 - 20,
		          "%d: %s, %s (%s)", op->after[i], words, tr(queue_name(role->ops[op->after[i]].queue)),
		          state_words(state_of_op(st, index, op->after[i])));
	}
	if (!line)
		draw_text(c, b.x + 14, b.y + 44, 13, WEIGHT_PLAIN, t->soft, ALIGN_LEFT, b.width / 2 - 20, "%s",
		          op_class(op->kind) == OP_CLASS_M ? "nothing: memory is counted in the order of issue"
		                                           : "only those before it on its own queue");
	line = 0;
	for (int k = now + 1; k < role->step.end && line < 4; k++)
		for (int i = 0; i < role->ops[k].after_count; i++)
			if (role->ops[k].after[i] == now) {
				op_words(words, st->timeline, role, &role->ops[k]);
				draw_text(c, middle, b.y + 44 + 20 * line++, 13, WEIGHT_PLAIN, t->ink, ALIGN_LEFT,
				          b.width / 2 - 20, "%d: %s, %s (%s)", k, words,
				          tr(queue_name(role->ops[k].queue)), state_words(state_of_op(st, index, k)));
				break;
			}
	if (!line)
		draw_text(c, middle, b.y + 44, 13, WEIGHT_PLAIN, t->soft, ALIGN_LEFT, b.width / 2 - 20,
		          "only those after it on its own queue");
}

static void draw_plan(struct canvas *c, const struct view *v, struct box b, bool small)
{
	(void)small;
	int index = timeline_index_of(v->state->timeline, v->focus_rank);
	draw_operations(c, v, index, (struct box){b.x, b.y, b.width, b.height - DETAIL - 10});
	draw_waits(c, v, index, (struct box){b.x, b.y + b.height - DETAIL, b.width, DETAIL});
}

static void hit_plan(struct canvas *c, const struct view *v, struct box b, bool small, double x, double y,
                     struct hit *h)
{
	(void)c;
	(void)small;
	h->op = op_at(v, b, x, y);
	if (h->op < 0)
		return;
	h->rank = v->focus_rank;
	op_explain(v->state->timeline, h->rank, h->op, h->text, sizeof h->text);
}

const struct scene_row scene_plan = {
        .title = "Plan",
        .what = "the operations as text",
        .width = 620,
        .height = 260,
        .draw = draw_plan,
        .hit = hit_plan,
};
