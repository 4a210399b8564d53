/* Fuzz target: a trace file. What is read can be shown: its timeline opens, or its lanes are in order. Its steps, if it
 * has any, are the sums of their parts. */
#include <stdint.h>
#include <stdlib.h>

#include "strategy/trace/profile.h"
#include "strategy/trace/trace_file.h"
#include "viz/timeline/lanes.h"
#include "viz/timeline/state.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_lanes(const struct lanes *l)
{
	for (int i = 0; i < l->lane_count; i++)
		for (int d = 0; d < l->lanes[i].depth; d++)
			for (size_t k = l->lanes[i].row[d]; k < l->lanes[i].row[d + 1]; k++)
				if (l->lanes[i].spans[k].begin < 0 ||
				    l->lanes[i].spans[k].end < l->lanes[i].spans[k].begin ||
				    l->lanes[i].spans[k].depth != d)
					abort();
}

static void check_timeline(const struct trace *t)
{
	struct timeline s;
	struct lanes l;
	struct state st = {0};
	if (timeline_open(&s, t, NULL))
		return;
	for (int i = 0; i < 3; i++)
		state_make(&st, &s, (enum step_size)i, s.instant_count * (size_t)i / 2);
	lanes_of_timeline(&l, &s);
	check_lanes(&l);
	lanes_release(&l);
	state_release(&st);
	timeline_release(&s);
}

static void check_step(const struct profile_step *s)
{
	if (s->compute < 0 || s->exposed < 0 || s->copies < 0 || s->idle < 0 || s->communication < s->exposed ||
	    s->compute + s->exposed + s->copies + s->idle != s->step)
		abort();
}

static void check_profile(const struct trace_file *f)
{
	struct profile p = {0};
	if (profile_add(&p, f, "input") && !status_message()[0])
		abort();
	for (int i = 0; i < p.rank_count; i++) {
		for (int k = 0; k < p.ranks[i].step_count; k++)
			check_step(&p.ranks[i].steps[k]);
		check_step(&p.ranks[i].mean);
	}
	if (p.rank_count)
		json_decref(profile_to_json(&p));
	profile_release(&p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct trace_file f;
	struct lanes l;
	if (trace_file_read(&f, (const char *)data, size, "input")) {
		if (!status_message()[0])
			abort();
		return 0;
	}
	check_profile(&f);
	if (f.foreign) {
		lanes_of_file(&l, &f);
		check_lanes(&l);
		lanes_release(&l);
	} else {
		check_timeline(&f.trace);
	}
	trace_file_release(&f);
	return 0;
}
