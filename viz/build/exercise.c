#include "viz/build/exercise.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "strategy/base/language.h"
#include "strategy/plan/reorder.h"
#include "viz/scene/scene.h"

/* ---- opening ---- */

static enum status check_plan(const struct plan *p)
{
	const struct role *r = &p->roles[0];
	if (p->role_count > 1)
		return status_fail(STATUS_INPUT,
		                   "under %s ranks have programs of their own, and a step that one builds is the same "
		                   "on all: choose single, ddp, zero1, zero2, zero3 or fsdp",
		                   p->strategy);
	for (int i = r->step.begin; i < r->step.end; i++)
		if (op_class(r->ops[i].kind) != OP_CLASS_M && r->ops[i].queue != QUEUE_COMPUTE &&
		    r->ops[i].queue != QUEUE_COMMUNICATION)
			return status_fail(STATUS_INPUT,
			                   "a step that one builds has no copies between memories: leave out offload");
	return STATUS_OK;
}

enum status exercise_open(struct exercise *e, const struct plan *plan)
{
	*e = (struct exercise){.plan = plan, .said = {.accepted = true, .move = -1}};
	enum status s = check_plan(plan);
	if (s)
		return s;
	e->words.plan = plan;
	timeline_count_memory(&e->words.roles[0], &plan->roles[0]);
	if ((s = exercise_split(e)))
		exercise_release(e);
	return s;
}

void exercise_release(struct exercise *e)
{
	if (!e)
		return;
	for (int i = 0; i < e->move_count; i++)
		free(e->moves[i].ops);
	free(e->moves);
	timeline_release(&e->words);
	*e = (struct exercise){0};
}

/* ---- plans of moves ---- */

struct order {
	int *ops, *owner, count;
};

static int most_ops(const struct exercise *e)
{
	int most = 0;
	for (int i = 0; i < e->placed_count; i++)
		most += e->moves[e->placed[i]].op_count;
	for (int i = 0; i < e->move_count; i++)
		most += 2 * e->moves[i].op_count;
	return most;
}

static void add(const struct exercise *e, struct order *o, int move)
{
	for (int i = 0; i < e->moves[move].op_count; i++) {
		o->ops[o->count] = e->moves[move].ops[i];
		o->owner[o->count++] = move;
	}
}

/* Lists the placed moves, then a move (-1: none), then the remaining ones if asked for. */
static void make_order(const struct exercise *e, int move, bool rest, struct order *o)
{
	int room = most_ops(e) + 1;
	*o = (struct order){.ops = array_make((size_t)room, sizeof *o->ops),
	                    .owner = array_make((size_t)room, sizeof *o->owner)};
	for (int i = 0; i < e->placed_count; i++)
		add(e, o, e->placed[i]);
	if (move >= 0)
		add(e, o, move);
	for (int i = 0; rest && i < e->move_count; i++)
		if (i != move && !exercise_times(e, i))
			add(e, o, i);
}

static void order_free(struct order *o)
{
	free(o->ops);
	free(o->owner);
}

void exercise_plan(const struct exercise *e, struct plan *out)
{
	struct order o;
	make_order(e, -1, false, &o);
	plan_reorder(out, e->plan, 0, o.ops, o.count);
	order_free(&o);
}

/* tried: -1: the step is said to be complete. */
static bool judge(struct exercise *e, int tried)
{
	struct order o;
	struct plan p;
	struct refusal why;
	make_order(e, tried, tried >= 0, &o);
	plan_reorder(&p, e->plan, 0, o.ops, o.count);
	e->said = (struct verdict){.move = tried};
	e->said.accepted = plan_verify_why(&p, NULL, &why) == STATUS_OK;
	if (!e->said.accepted)
		exercise_explain(e, &p, &why, o.owner, tried);
	plan_release(&p);
	order_free(&o);
	return e->said.accepted;
}

/* ---- what a learner does ---- */

int exercise_times(const struct exercise *e, int move)
{
	int times = 0;
	for (int i = 0; i < e->placed_count; i++)
		times += e->placed[i] == move;
	return times;
}

/* Bytes that it allocates on the device, less those that it frees. */
static int64_t bytes_of(const struct exercise *e, const struct move *m)
{
	const struct role *r = &e->plan->roles[0];
	int64_t bytes = 0;
	for (int i = 0; i < m->op_count; i++) {
		const struct op *op = &r->ops[m->ops[i]];
		int64_t size = op_class(op->kind) == OP_CLASS_M ? buffer_bytes(&r->buffers[op_buffer(op)]) : 0;
		bytes += op->kind == OP_ALLOC ? size : -size;
	}
	return bytes;
}

static void say_placed(struct exercise *e, const struct move *m)
{
	char by[WORD], memory[WORD + 40] = "";
	int64_t bytes = bytes_of(e, m);
	if (bytes)
		snprintf(memory, sizeof memory, tr(" Memory: %s%s."), bytes > 0 ? "+" : "−",
		         bytes_word(by, bytes > 0 ? bytes : -bytes));
	snprintf(e->said.text, sizeof e->said.text, tr("%d of %d: %s. It %s.%s"), e->placed_count, e->move_count,
	         m->said, move_what(m->kind), memory);
}

bool exercise_place(struct exercise *e, int move)
{
	if (move < 0 || move >= e->move_count || e->placed_count == EXERCISE_PLACED) {
		e->said = (struct verdict){.move = -1};
		snprintf(e->said.text, sizeof e->said.text, tr("There is no room for more. Take some back."));
		return false;
	}
	if (!judge(e, move))
		return false;
	e->put[e->placed_count] = e->placed_count;
	e->placed[e->placed_count++] = move;
	e->done = false;
	say_placed(e, &e->moves[move]);
	return true;
}

/* Each move is judged again, so that the list of placed moves can be played. */
bool exercise_insert(struct exercise *e, int move, int at)
{
	struct exercise was = *e;
	if (at < 0 || at >= e->placed_count)
		return exercise_place(e, move);
	e->placed_count = at;
	bool can = exercise_place(e, move);
	struct verdict said = e->said;
	for (int i = at; can && i < was.placed_count; i++)
		can = exercise_place(e, was.placed[i]);
	if (!can) {
		was.said = e->said;
		*e = was;
		return false;
	}
	memcpy(e->put, was.put, sizeof e->put);
	e->put[e->placed_count - 1] = at;
	e->said = said;
	snprintf(e->said.text, sizeof e->said.text, tr("%s is placed before %s. It %s."), e->moves[move].said,
	         e->moves[was.placed[at]].said, move_what(e->moves[move].kind));
	return true;
}

bool exercise_undo(struct exercise *e)
{
	bool any = e->placed_count > 0;
	e->done = false;
	e->said = (struct verdict){.accepted = any, .move = -1};
	if (any) {
		int at = e->put[--e->placed_count], move = e->placed[at];
		memmove(e->placed + at, e->placed + at + 1, (size_t)(e->placed_count - at) * sizeof *e->placed);
		snprintf(e->said.text, sizeof e->said.text, tr("Taken back: %s."), e->moves[move].said);
	} else
		snprintf(e->said.text, sizeof e->said.text, tr("Nothing is placed yet."));
	return any;
}

void exercise_restart(struct exercise *e)
{
	e->placed_count = 0;
	e->done = false;
	e->said = (struct verdict){.accepted = true, .move = -1};
}

bool exercise_done(struct exercise *e)
{
	if ((e->done = judge(e, -1)))
		snprintf(e->said.text, sizeof e->said.text,
		         tr("Accepted: all rules hold. Your step trains as the strategy's own does."));
	return e->done;
}

static int first_left(const struct exercise *e)
{
	int i = 0;
	while (i < e->move_count && exercise_times(e, i))
		i++;
	return i < e->move_count ? i : -1;
}

int exercise_hint(struct exercise *e)
{
	int next = first_left(e);
	char why[300];
	e->said = (struct verdict){.accepted = true, .move = next};
	if (next < 0) {
		snprintf(e->said.text, sizeof e->said.text, tr("Everything is placed. Press D: is the step complete?"));
		return next;
	}
	exercise_say_why(e, next, why, sizeof why);
	snprintf(e->said.text, sizeof e->said.text, tr("Next in the strategy's own plan: %s. %s"), e->moves[next].said,
	         why);
	return next;
}

void exercise_solve(struct exercise *e)
{
	for (int next = first_left(e); next >= 0 && exercise_place(e, next); next = first_left(e))
		;
}

/* ---- lists ---- */

/* Small letters, single spaces, none at the ends. */
static void tidy(char *out, size_t size, const char *text, size_t length)
{
	size_t n = 0;
	for (size_t i = 0; i < length && n + 2 < size; i++) {
		char c = (char)tolower((unsigned char)text[i]);
		if (isspace((unsigned char)c) && (!n || out[n - 1] == ' '))
			continue;
		out[n++] = isspace((unsigned char)c) ? ' ' : c;
	}
	while (n && out[n - 1] == ' ')
		n--;
	out[n] = 0;
}

/* "gather root" of "gather root again". */
static bool is_short_for(const char *name, const char *whole)
{
	size_t n = strlen(name);
	return !strncmp(name, whole, n) && (!whole[n] || !strcmp(whole + n, " again") || !strncmp(whole + n, " a ", 3));
}

int exercise_find(const struct exercise *e, const char *name)
{
	char one[80] = "", whole[80] = "";
	int last = -1;
	tidy(one, sizeof one, name, strlen(name));
	for (int i = 0; *one && i < e->move_count; i++) {
		tidy(whole, sizeof whole, e->moves[i].name, strlen(e->moves[i].name));
		if (!is_short_for(one, whole))
			continue;
		last = i;
		if (!exercise_times(e, i))
			break;
	}
	return last;
}

/* The next word of a list up to a comma or the end of the line; NULL: there is none. */
static const char *next_word(const char *at, char *out, size_t size)
{
	while (*at) {
		size_t length = strcspn(at, ",\n"), remark = strcspn(at, "#");
		tidy(out, size, at, remark < length ? remark : length);
		at += remark < length ? remark + strcspn(at + remark, "\n") : length;
		at += *at != 0;
		if (*out)
			return at;
	}
	return NULL;
}

enum status exercise_play(struct exercise *e, const char *list)
{
	char word[80] = "";
	for (const char *at = list; (at = next_word(at, word, sizeof word));) {
		if (!strcmp(word, "…") || !strcmp(word, "...")) {
			exercise_solve(e);
			continue;
		}
		int move = exercise_find(e, word);
		if (move < 0)
			return status_fail(STATUS_INPUT, "there is no move '%s' under %s: moves are such as '%s'", word,
			                   e->plan->strategy, e->moves[0].name);
		if (!exercise_place(e, move))
			return STATUS_OK;
	}
	return STATUS_OK;
}

void exercise_list(const struct exercise *e, char *out, size_t size)
{
	size_t at = 0;
	*out = 0;
	for (int i = 0; i < e->placed_count && at < size; i++)
		at += (size_t)snprintf(out + at, size - at, "%s%s", i ? ", " : "", e->moves[e->placed[i]].name);
}
