#include "viz/build/outcome.h"

#include <stdio.h>
#include <string.h>

#include "strategy/base/language.h"
#include "viz/scene/scene.h"

static const struct {
	const char *name;
	bool bytes;
	size_t offset;
} rows[] = {
#define X(field, name, bytes) {name, bytes, offsetof(struct outcome, field)},
        OUTCOME_LIST(X)
#undef X
};

const char *outcome_name(int row)
{
	return rows[row].name;
}

bool outcome_is_bytes(int row)
{
	return rows[row].bytes;
}

int64_t outcome_value(const struct outcome *o, int row)
{
	int64_t value;
	memcpy(&value, (const char *)o + rows[row].offset, sizeof value);
	return value;
}

void outcome_make(struct outcome *o, const struct plan *p, const struct report *r)
{
	struct timeline counted = {.plan = p};
	const struct timeline_role *role = &counted.roles[0];
	*o = (struct outcome){.step_ns = r->time.step, .exposed_ns = r->time.exposed};
	for (int i = 0; i < r->role_count; i++)
		if (r->roles[i].sent_bytes > o->sent_bytes)
			o->sent_bytes = r->roles[i].sent_bytes;
	o->peak_bytes = r->roles[0].memory[SPACE_DEVICE].peak_bytes;
	timeline_count_memory(&counted.roles[0], &p->roles[0]);
	if (role->live[SPACE_DEVICE])
		memcpy(o->at_peak, role->live[SPACE_DEVICE] + (ptrdiff_t)role->peak_at[SPACE_DEVICE] * HELD_COUNT,
		       sizeof o->at_peak);
	timeline_release(&counted);
}

/* ---- in words ---- */

static const char *remedy(enum held h)
{
	switch (h) {
	case HELD_WHOLE_PARAMETERS:
		return tr(": gather them later, or free them sooner");
	case HELD_WHOLE_GRADIENTS:
		return tr(": reduce and free them sooner");
	default:
		return "";
	}
}

/* Names the memory that one step holds more of at its peak than the other. */
static int most_more(const struct outcome *own, const struct outcome *mine)
{
	int most = 0;
	for (int h = 1; h < HELD_COUNT; h++)
		if (mine->at_peak[h] - own->at_peak[h] > mine->at_peak[most] - own->at_peak[most])
			most = h;
	return most;
}

static size_t add_memory(const struct outcome *own, const struct outcome *mine, char *out, size_t size)
{
	char by[WORD], more[WORD];
	int64_t difference = mine->peak_bytes - own->peak_bytes;
	int most = most_more(own, mine);
	if (difference > 0)
		return (size_t)snprintf(out, size, tr("Memory peaks %s higher, where your step holds %s more %s%s."),
		                        bytes_word(by, difference),
		                        bytes_word(more, mine->at_peak[most] - own->at_peak[most]),
		                        tr(held_name((enum held)most)), remedy((enum held)most));
	if (difference < 0)
		return (size_t)snprintf(out, size, tr("Memory peaks %s lower than in the strategy's own plan."),
		                        bytes_word(by, -difference));
	return (size_t)snprintf(out, size, tr("Memory peaks as high as in the strategy's own plan."));
}

static size_t add_time(const struct outcome *own, const struct outcome *mine, char *out, size_t size)
{
	char by[WORD], step[WORD];
	int64_t exposed = mine->exposed_ns - own->exposed_ns, longer = mine->step_ns - own->step_ns;
	if (longer > 0 && exposed > 0)
		return (size_t)snprintf(
		        out, size,
		        tr(" The step is %s longer, and %s more communication is exposed: begin it while "
		           "something is left to compute."),
		        time_word(step, longer), time_word(by, exposed));
	if (longer > 0)
		return (size_t)snprintf(out, size, tr(" The step is %s longer."), time_word(step, longer));
	if (longer < 0)
		return (size_t)snprintf(out, size, tr(" The step is %s shorter%s."), time_word(step, -longer),
		                        exposed < 0 ? tr(": more communication hides behind computing") : "");
	return (size_t)snprintf(out, size, tr(" The step takes as long."));
}

void outcome_words(const struct outcome *own, const struct outcome *mine, char *out, size_t size)
{
	char by[WORD];
	size_t at = add_memory(own, mine, out, size);
	if (at < size)
		at += add_time(own, mine, out + at, size - at);
	if (at < size && mine->sent_bytes > own->sent_bytes)
		snprintf(out + at, size - at, tr(" A rank sends %s more: something travels twice."),
		         bytes_word(by, mine->sent_bytes - own->sent_bytes));
}
