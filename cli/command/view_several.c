/* Strategies side by side, in `view`. */
#include <stdio.h>
#include <string.h>

#include "cli/command/view_open.h"
#include "strategy/strategies/strategy.h"

bool viewer_alone(const struct viewer *v)
{
	return v->loaded[0].read || option_given(v->options, OPTION_PLAN_FILE) ||
	       option_given(v->options, OPTION_COLLECTIVE) || option_given(v->options, OPTION_RACE);
}

enum status viewer_load(struct viewer *v, const char *strategy, struct loaded **out)
{
	for (int k = 0; k < v->loaded_count; k++)
		if (!strcmp(v->loaded[k].shown.label, strategy)) {
			*out = &v->loaded[k];
			return STATUS_OK;
		}
	if (v->loaded_count == (int)(sizeof v->loaded / sizeof v->loaded[0]))
		return status_fail(STATUS_INPUT, "no more strategies can be opened");
	*out = &v->loaded[v->loaded_count];
	enum status s = load_strategy(*out, v->options, &v->loaded[0].job, strategy);
	v->loaded_count += !s;
	return s;
}

enum status viewer_pair(struct viewer *v, const char *strategy)
{
	struct loaded *l;
	enum status s = viewer_load(v, strategy, &l);
	if (!s && &l->shown == v->playback.shown)
		s = status_fail(STATUS_INPUT, "--pair %.60s: it is shown already; name another", strategy);
	if (!s)
		playback_pair(&v->playback, &l->shown);
	return s;
}

enum status viewer_compare(struct viewer *v, const char *list)
{
	for (const char *at = list;; at++) {
		size_t length = strcspn(at, ",");
		char name[256];
		bool all = length == 3 && !strncmp(at, "all", 3);
		for (int i = 0; all ? strategy_at(i) != NULL : i < 1; i++) {
			if (v->loaded_count == CONTENDERS)
				return status_fail(STATUS_INPUT, "--compare: more than %d strategies", CONTENDERS);
			snprintf(name, sizeof name, "%.*s", all ? 250 : (int)(length < 250 ? length : 250),
			         all ? strategy_at(i)->name : at);
			struct loaded *l = &v->loaded[v->loaded_count];
			enum status s = load_strategy(l, v->options, &v->loaded[0].job, name);
			if (s && all && s == STATUS_INPUT) /* makes no sense with the other settings */
				continue;
			if (s)
				return s;
			v->playback.contender[v->playback.contender_count++] = &l->shown;
			v->loaded_count++;
		}
		at += length;
		if (!*at)
			break;
	}
	v->playback.compare = true;
	return STATUS_OK;
}
