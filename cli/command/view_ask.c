/* Questions in `view`: --ask. */
#include <string.h>

#include "cli/command/view_open.h"

/* Questions are about a single plan. */
static enum status check(const struct viewer *v)
{
	const struct options *o = v->options;
	bool pages = !strcmp(option_text(o, OPTION_PAGES), "all");
	if (v->playback.shown->foreign)
		return status_fail(STATUS_INPUT, "--ask is about plans: a trace of another program has none");
	static const enum option of_several[] = {OPTION_COMPARE, OPTION_PAIR};
	for (size_t i = 0; i < sizeof of_several / sizeof of_several[0]; i++)
		if (option_given(o, of_several[i]))
			return status_fail(STATUS_INPUT, "--ask is about one strategy: leave out --%s",
			                   option_name(of_several[i]));
	if (option_given(o, OPTION_EXPORT) && option_given(o, OPTION_WHAT_IF))
		return status_fail(STATUS_INPUT,
		                   "--ask and --what-if have one place beside the picture: leave out one");
	if (option_given(o, OPTION_EXPORT) && (v->format == EXPORT_GIF || pages))
		return status_fail(STATUS_INPUT,
		                   "--ask draws one question, the next from --at on: give a .png, .svg or .pdf; "
		                   ".html has all of them");
	return STATUS_OK;
}

/* The first question from where the playback stands. */
static enum status ask_from_here(struct viewer *v)
{
	struct playback *p = &v->playback;
	enum scene scene = p->scene;
	if (!asking_begin(&v->asking, &p->shown->timeline, p->position))
		return status_fail(STATUS_INPUT, "--ask: there is nothing to ask about this step");
	playback_ask(p, &v->asking);
	if (option_given(v->options, OPTION_SCENE))
		p->scene = scene;
	return STATUS_OK;
}

static enum status begin(struct viewer *v)
{
	enum status s = check(v);
	return s || option_given(v->options, OPTION_DESCRIBE) ? s : ask_from_here(v);
}

static enum status describe(struct viewer *v, FILE *out)
{
	export_questions(&v->playback, out);
	return STATUS_OK;
}

const struct way way_ask = {.option = OPTION_ASK, .begin = begin, .describe = describe};
