#include "strategy/trace/profile.h"

static json_t *seconds(int64_t ns)
{
	return json_real((double)ns / 1e9);
}

static json_t *part_to_json(const struct profile_part *part, bool computes)
{
	json_t *o = json_pack("{s:I, s:o}", "calls", (json_int_t)part->calls, "time_s", seconds(part->time));
	if (computes)
		return o;
	json_object_set_new(o, "exposed_s", seconds(part->exposed));
	json_object_set_new(o, "bytes", part->bytes ? json_integer(part->bytes) : json_null());
	return o;
}

/* The kinds that there are. */
static json_t *kinds_to_json(const struct profile_step *s)
{
	json_t *o = json_object();
	for (enum profile_kind k = 0; k < PROFILE_KINDS; k++)
		if (s->kinds[k].calls || s->kinds[k].time)
			json_object_set_new(o, profile_kind_key(k),
			                    part_to_json(&s->kinds[k], profile_kind_does(k) == PROFILE_COMPUTES));
	return o;
}

json_t *profile_step_to_json(const struct profile_step *s)
{
	json_t *o = json_object();
	if (s->number >= 0)
		json_object_set_new(o, "number", json_integer(s->number));
	json_object_set_new(o, "step_s", seconds(s->step));
	json_object_set_new(o, "compute_s", seconds(s->compute));
	json_object_set_new(o, "communication_s", seconds(s->communication));
	json_object_set_new(o, "exposed_s", seconds(s->exposed));
	json_object_set_new(o, "copies_s", seconds(s->copies));
	json_object_set_new(o, "idle_s", seconds(s->idle));
	json_object_set_new(o, "host_s", s->host ? seconds(s->host) : json_null());
	json_object_set_new(o, "by_kind", kinds_to_json(s));
	json_object_set_new(o, "phases",
	                    json_pack("{s:o, s:o, s:o, s:o}", "forward_s", seconds(s->phases[PROFILE_FORWARD]),
	                              "backward_s", seconds(s->phases[PROFILE_BACKWARD]), "update_s",
	                              seconds(s->phases[PROFILE_UPDATE]), "beside_s",
	                              seconds(s->phases[PROFILE_BESIDE])));
	return o;
}

static json_t *rank_to_json(const struct profile_rank *r)
{
	json_t *steps = json_array();
	for (int i = 0; i < r->step_count; i++)
		json_array_append_new(steps, profile_step_to_json(&r->steps[i]));
	return json_pack("{s:I, s:s, s:s, s:o, s:o}", "rank", (json_int_t)r->rank, "file", r->file, "device", r->device,
	                 "mean", profile_step_to_json(&r->mean), "steps", steps);
}

json_t *profile_to_json(const struct profile *p)
{
	static const char *const sources[] = {"kernels", "operators", "plan"};
	struct profile_step mean = profile_mean(p);
	json_t *ranks = json_array();
	for (int i = 0; i < p->rank_count; i++)
		json_array_append_new(ranks, rank_to_json(&p->ranks[i]));
	return json_pack("{s:s, s:I, s:o, s:o}", "source", sources[p->source], "world", (json_int_t)p->world, "mean",
	                 profile_step_to_json(&mean), "ranks", ranks);
}
