#include "cli/lesson/teach.h"

#include <string.h>

#include "cli/lesson/folder.h"
#include "cli/lesson/markdown.h"
#include "cli/lesson/shell.h"
#include "cli/show/text.h"
#include "strategy/base/language.h"

/* ---- the learner ---- */

enum reply { REPLY_LINE, REPLY_END };

/* A line without its newline; REPLY_END: there are no more. */
static enum reply read_line(struct teaching *t, char *out, size_t size)
{
	fflush(t->out);
	if (!fgets(out, (int)size, t->in))
		return REPLY_END;
	size_t length = strcspn(out, "\n");
	if (!out[length]) { /* longer than anything that is asked for: the rest is dropped */
		int c;
		do
			c = fgetc(t->in);
		while (c != EOF && c != '\n');
	}
	out[length] = 0;
	return REPLY_LINE;
}

/* False: the learner leaves. */
static bool wait_for_enter(struct teaching *t)
{
	char line[64];
	if (!t->interactive)
		return true;
	fputs(tr("[Enter goes on, q leaves] "), t->out);
	return read_line(t, line, sizeof line) == REPLY_LINE && strcmp(line, "q") != 0;
}

/* ---- pieces ---- */

static void print(struct teaching *t, const char *markdown)
{
	markdown_print(markdown, t->out, t->columns, t->bold);
}

static enum status show_run(struct teaching *t, const struct place *place, const struct piece *p)
{
	bool here;
	int exit_status;
	enum status s = place_try(place, p->where, &here);
	for (int i = 0; !s && i < p->command_count; i++) {
		const struct lesson_command *c = &p->commands[i];
		fprintf(t->out, "$ %s\n%s", c->text, here ? "" : c->output);
		s = here ? place_show(place, c->text, &exit_status) : STATUS_OK;
	}
	if (!s && !here)
		fputs(tr("This was not run: what it needs is not installed here. It printed that elsewhere.\n"),
		      t->out);
	fputc('\n', t->out);
	return s;
}

/* In text, all moments of a step would be too much: the named one, or the beginning, is enough. A text has all scenes.
 */
static void print_as_text(char *out, size_t size, const struct piece *p)
{
	static const char *const others[] = {"--at ", "--race ", "--build"}, scene[] = "--scene ";
	const char *when = " --at 0", *at = strstr(p->options, scene);
	for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
		if (strstr(p->options, others[i]))
			when = "";
	const char *rest = at ? at + strlen(scene) + strcspn(at + strlen(scene), " ") : "";
	int before = (int)(at ? (size_t)(at - p->options) : strlen(p->options));
	before -= at && before;
	snprintf(out, size, "%s view %.*s%s --describe%s", p->program, before, p->options, rest, when);
}

/* In the window, which the learner closes; without a display as text. */
static enum status show_view(struct teaching *t, const struct place *place, const struct piece *p)
{
	char command[1024];
	int exit_status = 0;
	bool window = t->display && t->interactive;
	if (window)
		snprintf(command, sizeof command, "%s view %s", p->program, p->options);
	else
		print_as_text(command, sizeof command, p);
	fprintf(t->out, "$ %s\n", command);
	if (window)
		fputs(tr("The window is open; close it (Ctrl Q) to go on.\n"), t->out);
	enum status s = place_show(place, command, &exit_status);
	fputc('\n', t->out);
	return s;
}

static void print_choice(struct teaching *t, int i, const char *choice)
{
	enum { INDENT = 5 };
	fprintf(t->out, "  %d. ", i + 1);
	text_wrapped(t->out, choice, INDENT, t->columns);
}

/* False: the learner leaves. */
static bool ask(struct teaching *t, const struct piece *p, struct lesson_progress *progress)
{
	char typed[256], why[ANSWER_WORDS];
	print(t, p->question);
	for (int i = 0; i < p->choice_count; i++)
		print_choice(t, i, p->choices[i]);
	if (p->choice_count)
		fputc('\n', t->out);
	while (t->interactive) {
		fputs(tr("Your answer (Enter skips): "), t->out);
		if (read_line(t, typed, sizeof typed) == REPLY_END || !strcmp(typed, "q"))
			return false;
		if (!*typed)
			break;
		enum answer a = teach_judge(p, typed, why);
		if (a == ANSWER_UNCLEAR) {
			fprintf(t->out, "%s\n", tr(why));
			continue;
		}
		progress->asked++;
		progress->right += a == ANSWER_RIGHT;
		fputs(a == ANSWER_RIGHT ? tr("Right.\n\n") : tr("Not quite.\n\n"), t->out);
		break;
	}
	print(t, p->reason);
	return true;
}

static void show_exercise(struct teaching *t, const struct piece *p)
{
	print(t, p->question);
	fprintf(t->out, tr("When it is done: shardlab lesson %d --check %s\n\n"), t->lesson->number, p->name);
}

static enum status show_piece(struct teaching *t, const struct place *place, const struct piece *p,
                              struct lesson_progress *progress, bool *leaves)
{
	switch (p->kind) {
	case PIECE_TEXT:
		print(t, p->markdown);
		return STATUS_OK;
	case PIECE_RUN:
		return show_run(t, place, p);
	case PIECE_VIEW:
		return show_view(t, place, p);
	case PIECE_ASK:
		*leaves = !ask(t, p, progress);
		return STATUS_OK;
	case PIECE_EXERCISE:
		show_exercise(t, p);
		return STATUS_OK;
	}
	return STATUS_OK;
}

enum status teach(struct teaching *t, struct learner *progress)
{
	const struct lesson *l = t->lesson;
	struct lesson_progress now = learner_progress(progress, l->number);
	struct place place;
	char folder[512];
	bool leaves = false;
	enum status s = place_open(&place, lesson_home(l->path, folder, sizeof folder));
	if (s)
		return s;
	now = (struct lesson_progress){.done = now.done};
	for (int i = t->from; !s && !leaves && i < l->piece_count; i++) {
		now.piece = i;
		s = show_piece(t, &place, &l->pieces[i], &now, &leaves);
		if (!s && !leaves && i + 1 < l->piece_count)
			leaves = !wait_for_enter(t);
		if (!s && t->interactive)
			s = learner_set(progress, l->number, &now);
	}
	if (!s && !leaves) {
		now.done = true;
		now.piece = 0;
		if (now.asked)
			fprintf(t->out, tr("%d of %d questions right. "), now.right, now.asked);
		fputs(tr("That was the lesson.\n"), t->out);
		s = t->interactive ? learner_set(progress, l->number, &now) : STATUS_OK;
	} else if (leaves) {
		fprintf(t->out, tr("\nTo go on here: shardlab lesson %d --from %d\n"), l->number, now.piece + 1);
	}
	place_close(&place);
	return s;
}
