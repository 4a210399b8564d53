/* shardlab lesson: lists the lessons, teaches one, checks an exercise, writes them as a page, slides or a handout,
 * verifies that lessons are what the program does.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/command/command.h"
#include "cli/lesson/check.h"
#include "cli/lesson/export/export.h"
#include "cli/lesson/folder.h"
#include "cli/lesson/teach.h"
#include "cli/lesson/translation.h"
#include "cli/show/table.h"
#include "cli/show/text.h"
#include "strategy/base/language.h"
#include "strategy/base/path.h"

/* ---- the list ---- */

static void list_row(struct table *t, const struct lesson *l, const struct learner *p)
{
	struct lesson_progress done = learner_progress(p, l->number);
	char state[48] = "";
	if (done.done)
		snprintf(state, sizeof state, "%s", tr("done"));
	else if (done.piece)
		snprintf(state, sizeof state, tr("piece %d of %d"), done.piece + 1, l->piece_count);
	table_row(t, STYLE_PLAIN, tr("%s\t%d min\t%s\t%s"), l->title, l->minutes, *l->after ? l->after : "-", state);
}

static enum status list(const struct lesson_folder *f, const struct learner *p)
{
	struct table t;
	enum status s = STATUS_OK;
	int minutes = 0;
	table_init(&t, stdout, 4, 1);
	table_row(&t, STYLE_HEAD, "%s", tr("lesson\ttime\tafter lesson\t"));
	for (int i = 0; !s && i < f->count; i++) {
		struct lesson l;
		s = lesson_open(&l, f->files[i]);
		if (!s) {
			list_row(&t, &l, p);
			minutes += l.minutes;
			lesson_release(&l);
		}
	}
	table_end(&t, 0);
	if (!s)
		printf(tr("\n%d lessons, %d minutes. To begin: shardlab lesson %s\n"), f->count, minutes, "0");
	return s;
}

/* ---- one lesson ---- */

static enum status teach_one(const struct options *o, const struct lesson *l, struct learner *p)
{
	bool interactive = isatty(0) && isatty(1) && !option_given(o, OPTION_NO_INPUT);
	struct teaching t = {.lesson = l,
	                     .in = stdin,
	                     .out = stdout,
	                     .interactive = interactive,
	                     .display = getenv("DISPLAY") || getenv("WAYLAND_DISPLAY"),
	                     .columns = text_columns(stdout, 80),
	                     .bold = isatty(1) && !getenv("NO_COLOR"),
	                     .from = learner_progress(p, l->number).piece};
	if (option_given(o, OPTION_FROM))
		t.from = (int)option_whole(o, OPTION_FROM) - 1;
	else if (!interactive)
		t.from = 0;
	if (t.from >= l->piece_count)
		return status_fail(STATUS_INPUT, "{from}: lesson %d has %d pieces", l->number, l->piece_count);
	return teach(&t, p);
}

/* `shardlab` in the command is this program. */
static void put_on_path(void)
{
	char program[PATH_OF_PROGRAM], path[8192];
	const char *old = getenv("PATH");
	if (!*path_of_program_folder(program))
		return;
	snprintf(path, sizeof path, "%s:%.4000s", program, old ? old : "/usr/bin:/bin");
	setenv("PATH", path, 1);
}

/* The first file that a check reads and that is not here; "": none. */
static const char *missing_file(const char *checks, char out[128])
{
	static const char *const readers[] = {"$(cat ", "own.sh "};
	for (size_t i = 0; i < sizeof readers / sizeof readers[0]; i++)
		for (const char *at = checks; (at = strstr(at, readers[i])) != NULL;) {
			at += strlen(readers[i]);
			snprintf(out, 128, "%.*s", (int)strcspn(at, " )"), at);
			if (access(out, R_OK))
				return out;
		}
	return "";
}

/* In the folder where the learner is. */
static enum status check_one(const struct lesson *l, const char *name, struct learner *p)
{
	for (int i = 0; i < l->piece_count; i++) {
		const struct piece *one = &l->pieces[i];
		if (one->kind != PIECE_EXERCISE || strcmp(one->name, name) != 0)
			continue;
		char file[128];
		if (*missing_file(one->checks, file))
			return status_fail(STATUS_CHECK,
			                   tr("not yet: there is no file '%s' here; lesson %d says what goes into it"),
			                   file, l->number);
		put_on_path();
		if (system(one->checks)) // NOLINT(cert-env33-c): the lesson's own command
			return status_fail(STATUS_CHECK,
			                   tr("not yet: '%s' is not solved; lesson %d says what it asks for"), name,
			                   l->number);
		puts(tr("Solved."));
		return learner_solve(p, l->number, name);
	}
	return status_fail(STATUS_INPUT, "{check}: lesson %d has no exercise '%.40s'", l->number, name);
}

static enum status run_all(const struct lesson_folder *f, const char *only, bool update)
{
	enum status s = STATUS_OK, first = STATUS_OK;
	for (int i = 0; !s && i < f->count; i++) {
		if (only && only != f->files[i])
			continue;
		s = lesson_check_all(f->files[i], update, stdout);
		if (s == STATUS_CHECK) {
			first = s;
			s = STATUS_OK;
		}
	}
	return s ? s : first;
}

/* All, or the one that is named, or with --language zh the translations alone, in which nothing is run: their outputs
 * are those of the originals. */
static enum status verify(const struct options *o, const char *language)
{
	static const char translation[] = "zh";
	bool update = option_given(o, OPTION_UPDATE);
	const char *only = NULL;
	struct lesson_folder f;
	enum status s = lesson_folder_open(&f, "en");
	s = s || !o->topic ? s : lesson_folder_find(&f, o->topic, &only);
	s = s || update ? s : translations_check(&f, translation, only, false);
	if (!s && strcmp(language, translation) != 0)
		s = run_all(&f, only, update);
	s = s || !update ? s : translations_check(&f, translation, only, true);
	lesson_folder_release(&f);
	return s;
}

/* ---- files ---- */

/* All lessons, or the one that is named. */
static enum status open_course(const struct lesson_folder *f, const char *only, struct lesson *lessons, int *count)
{
	enum status s = STATUS_OK;
	*count = 0;
	for (int i = 0; !s && i < f->count; i++)
		if (!only || only == f->files[i])
			s = lesson_open(&lessons[(*count)++], f->files[i]);
	return s;
}

static enum status export_files(const struct options *o, const struct lesson_folder *f, const char *language)
{
	struct lesson *lessons = array_make(LESSONS, sizeof *lessons);
	const char *path = option_text(o, OPTION_EXPORT), *only = NULL;
	enum lesson_format format;
	struct course c = {.lessons = lessons, .language = language};
	enum status s = lesson_format_of(path, &format);
	if (!s && o->topic)
		s = lesson_folder_find(f, o->topic, &only);
	if (!s)
		s = open_course(f, only, lessons, &c.count);
	if (!s)
		s = lesson_export(&c, format, path);
	for (int i = 0; i < c.count; i++)
		lesson_release(&lessons[i]);
	free(lessons);
	return s;
}

/* No other option goes with a file. */
static enum status check_export(const struct options *o)
{
	static const enum option others[] = {OPTION_CHECK, OPTION_VERIFY, OPTION_UPDATE, OPTION_FROM};
	for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
		if (option_given(o, others[i]))
			return status_fail(STATUS_INPUT, "--export writes the whole lesson: leave out --%s",
			                   option_name(others[i]));
	return STATUS_OK;
}

static enum status run(const struct options *o, const struct lesson_folder *f, struct learner *p)
{
	const char *path;
	struct lesson l;
	if (!o->topic)
		return list(f, p);
	enum status s = lesson_folder_find(f, o->topic, &path);
	if (s || (s = lesson_open(&l, path)))
		return s;
	s = option_given(o, OPTION_CHECK) ? check_one(&l, option_text(o, OPTION_CHECK), p) : teach_one(o, &l, p);
	lesson_release(&l);
	return s;
}

static enum status list_or_teach(const struct options *o, const struct lesson_folder *f)
{
	struct learner p;
	TRY(learner_open(&p));
	enum status s = run(o, f, &p);
	learner_release(&p);
	return s;
}

enum status command_lesson(const struct options *o)
{
	struct lesson_folder f;
	bool given = option_given(o, OPTION_LANGUAGE), exports = option_given(o, OPTION_EXPORT);
	enum status s = exports ? check_export(o) : STATUS_OK;
	if (s)
		return s;
	if (option_given(o, OPTION_VERIFY) || option_given(o, OPTION_UPDATE)) {
		setenv("LANGUAGE", "en", 1); /* outputs and pictures, whoever verifies them */
		return verify(o, given ? option_text(o, OPTION_LANGUAGE) : "en");
	}
	const char *language = given ? option_text(o, OPTION_LANGUAGE) : language_of_user();
	language_set(language);
	setenv("LANGUAGE", language, 1); /* for the commands that it runs */
	if (!(s = lesson_folder_open(&f, language)))
		s = exports ? export_files(o, &f, language) : list_or_teach(o, &f);
	lesson_folder_release(&f);
	return s;
}
