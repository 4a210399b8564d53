/* The questions of a step as text, for screen readers, terminals and tests. */
#include <stdio.h>

#include "strategy/base/language.h"
#include "viz/export/export.h"

static void write_question(const struct timeline *s, const struct question *q, int number, int count, FILE *out)
{
	char answer[QUESTION_CHOICE];
	fprintf(out, tr("\nquestion %d of %d, after step %zu\n"), number, count,
	        timeline_stop_of(s, STEP_SIZE_ROUND, q->position));
	fprintf(out, "asked    %s\n", q->text);
	for (int i = 0; i < q->choice_count; i++)
		fprintf(out, "choice   %d: %s\n", i + 1, q->choice[i]);
	fprintf(out, "right    %s\n", question_answer(q, answer));
	fprintf(out, "reason   %s\n", q->reason);
	fprintf(out, tr("look     %s: %s, step %zu\n"), tr(scene_row(q->scene)->title), tr(q->look),
	        timeline_stop_of(s, STEP_SIZE_ROUND, q->shown));
}

void export_questions(const struct playback *p, FILE *out)
{
	const struct timeline *s = &p->shown->timeline;
	struct question_set set;
	questions_make(&set, s);
	fprintf(out, "%s\n", p->shown->heading);
	for (int i = 0; i < set.count; i++)
		write_question(s, &set.list[i], i + 1, set.count, out);
	if (!set.count)
		fputs(tr("\nThere is nothing to ask about this step.\n"), out);
}
