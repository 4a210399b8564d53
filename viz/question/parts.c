/* The parts of questions: words, choices, and places in a step. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "strategy/base/language.h"
#include "strategy/base/number.h"
#include "viz/question/question_parts.h"

/* ---- places ---- */

static unsigned mix(unsigned h, size_t v)
{
	h = (h ^ (unsigned)v) * 2654435761U;
	return h ^ h >> 15;
}

void spot_init(struct spot *at, const struct timeline *s, size_t k)
{
	*at = (struct spot){.s = s,
	                    .k = k,
	                    .position = timeline_stop(s, STEP_SIZE_ROUND, k),
	                    .next = timeline_stop(s, STEP_SIZE_ROUND, k + 1)};
	at->seed = mix(2166136261U, at->position);
	for (size_t m = at->position; m < at->next; m++)
		for (size_t i = s->instants[m].begin; i < s->instants[m].end; i++) {
			const struct event *e = &s->events[i];
			if (e->kind == EVENT_MESSAGE && !at->message)
				at->message = e;
			if (e->kind == EVENT_BEGIN && !at->begin)
				at->begin = e;
			if (e->kind == EVENT_IDLE && !at->idle)
				at->idle = e;
		}
}

/* ---- words ---- */

void ask(char *text, const char *format, ...)
{
	size_t n = strlen(text);
	WITH_ARGS(format, vsnprintf(text + n, QUESTION_TEXT - n, tr(format), args));
}

const char *bytes_of(char out[BYTES], int64_t bytes)
{
	number_format_bytes(out, BYTES, bytes);
	return out;
}

const char *time_of(char out[BYTES], int64_t ns)
{
	number_format_time(out, BYTES, ns);
	return out;
}

const char *ranks_of(char out[RANKS], uint64_t set, uint64_t everyone)
{
	int left = state_contributors(set);
	size_t at = 0;
	if (set == everyone && left > 1) {
		snprintf(out, RANKS, tr("all %d ranks"), left);
		return out;
	}
	at += (size_t)snprintf(out, RANKS, left > 1 ? tr("ranks ") : tr("rank "));
	for (int r = 0; r < 64 && at < RANKS; r++)
		if (set >> r & 1) {
			left--;
			at += (size_t)snprintf(out + at, RANKS - at, "%d%s", r,
			                       left > 1    ? ", "
			                       : left == 1 ? tr(" and ")
			                                   : "");
		}
	if (state_contributors(set) == 1 && at < RANKS)
		snprintf(out + at, RANKS - at, tr(" alone"));
	return out;
}

const char *pass_of(char out[OP_WORDS], const struct timeline *s, const struct op *op)
{
	static const char *const names[PASS_COUNT] = {"the step", "the forward pass", "the repeated forward pass",
	                                              "the backward pass", "the update"};
	size_t at;
	if (op->unit >= 0 && op->pass != PASS_UPDATE)
		at = (size_t)snprintf(out, OP_WORDS, tr("%s of %.60s"), tr(names[op->pass]),
		                      s->plan->model->units[op->unit].name);
	else
		at = (size_t)snprintf(out, OP_WORDS, "%s", tr(names[op->pass]));
	if (op->micro >= 0 && s->plan->settings.accumulate > 1 && op->pass != PASS_UPDATE)
		snprintf(out + at, OP_WORDS - at, tr(", micro-batch %d"), op->micro);
	return out;
}

const char *collective_of(char out[OP_WORDS], const struct timeline *s, const struct collective *c)
{
	const struct role *r = plan_role_of(s->plan, c->lead);
	return op_words(out, s, r, &r->ops[c->op]);
}

/* ---- choices ---- */

void offer(struct question *q, const char *format, ...)
{
	if (q->choice_count == QUESTION_CHOICES)
		return;
	char *one = q->choice[q->choice_count];
	WITH_ARGS(format, vsnprintf(one, QUESTION_CHOICE, tr(format), args));
	for (int i = 0; i < q->choice_count; i++)
		if (!strcmp(q->choice[i], one))
			return;
	q->choice_count++;
}

bool shuffle(struct question *q, unsigned seed)
{
	char other[QUESTION_CHOICE];
	seed = mix(seed, (size_t)q->kind + 1);
	q->right = 0;
	for (int i = q->choice_count - 1; i > 0; i--) {
		int with = (int)((seed = mix(seed, 7)) >> 8) % (i + 1);
		memcpy(other, q->choice[i], sizeof other);
		memcpy(q->choice[i], q->choice[with], sizeof other);
		memcpy(q->choice[with], other, sizeof other);
		q->right = q->right == i ? with : q->right == with ? i : q->right;
	}
	return q->choice_count >= 3;
}

/* ---- the timeline ---- */

int last_needed(const struct timeline *s, int index, int op)
{
	const struct op *one = op_at(s, index, op);
	int begin = timeline_role_of(s, index)->step.begin, last = -1;
	int64_t latest = -1;
	for (int i = 0; i < one->after_count; i++)
		if (one->after[i] >= begin && s->ranks[index].end[one->after[i] - begin] > latest) {
			last = one->after[i];
			latest = s->ranks[index].end[last - begin];
		}
	return last;
}

const struct op *needed_for(const struct role *r, int op)
{
	for (int i = op; i < r->step.end; i++)
		if (op_class(r->ops[i].kind) != OP_CLASS_M)
			return &r->ops[i];
	return NULL;
}

enum held held_of(const struct timeline *s, int index, int buffer)
{
	return s->roles[s->ranks[index].role].held[buffer];
}
