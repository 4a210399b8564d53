#include "cli/lesson/translation.h"

#include <stdio.h>
#include <string.h>

#include "cli/lesson/check.h"
#include "strategy/base/path.h"

/* ---- pieces ---- */

static const char *const kind_names[] = {[PIECE_TEXT] = "text",
                                         [PIECE_RUN] = "run",
                                         [PIECE_VIEW] = "view",
                                         [PIECE_ASK] = "ask",
                                         [PIECE_EXERCISE] = "exercise"};

static bool same(const char *a, const char *b)
{
	return !strcmp(a ? a : "", b ? b : "");
}

/* Says how two pieces differ in anything but commands and outputs; NULL: they agree. */
static const char *piece_difference(const struct piece *a, const struct piece *b)
{
	if (a->check != b->check || a->tolerance != b->tolerance || a->fails != b->fails || !same(a->where, b->where))
		return "another way to check";
	if (!same(a->program, b->program) || !same(a->options, b->options) ||
	    !same(path_name(a->picture), path_name(b->picture)))
		return "another picture";
	if (a->choice != b->choice || a->choice_count != b->choice_count || a->right != b->right ||
	    !same(a->answer, b->answer))
		return "another answer";
	if (!same(a->name, b->name) || !same(a->checks, b->checks))
		return "another exercise";
	return NULL;
}

static enum status fail(const struct lesson *l, int line, const struct lesson *translated, int there, const char *what)
{
	return lesson_fail(translated, there, "%s than %.200s:%d has", what, l->path, line);
}

static enum status check_commands(const struct lesson *l, const struct piece *a, const struct lesson *translated,
                                  const struct piece *b)
{
	for (int i = 0; i < a->command_count && i < b->command_count; i++) {
		const struct lesson_command *one = &a->commands[i], *other = &b->commands[i];
		if (!same(one->text, other->text))
			return fail(l, one->line, translated, other->line, "another command");
		if (!same(one->output, other->output))
			return fail(l, one->line, translated, other->line,
			            "another output (`make lessons-update` copies it)");
	}
	return a->command_count == b->command_count ? STATUS_OK
	                                            : fail(l, a->line, translated, b->line, "more or fewer commands");
}

static enum status check_piece(const struct lesson *l, const struct piece *a, const struct lesson *translated,
                               const struct piece *b)
{
	if (a->kind != b->kind)
		return lesson_fail(translated, b->line, "this piece is '%s', and in %.200s:%d it is '%s'",
		                   kind_names[b->kind], l->path, a->line, kind_names[a->kind]);
	const char *what = piece_difference(a, b);
	return what ? fail(l, a->line, translated, b->line, what) : check_commands(l, a, translated, b);
}

static enum status check_head(const struct lesson *l, const struct lesson *translated)
{
	if (l->number == translated->number && l->minutes == translated->minutes && same(l->after, translated->after) &&
	    same(l->needs, translated->needs))
		return STATUS_OK;
	return fail(l, 1, translated, 1, "another number, time or need");
}

enum status lesson_check_translation(const struct lesson *l, const struct lesson *translated)
{
	const int count = l->piece_count, there = translated->piece_count;
	enum status s = check_head(l, translated);
	for (int i = 0; !s && i < count && i < there; i++)
		s = check_piece(l, &l->pieces[i], translated, &translated->pieces[i]);
	if (!s && there < count)
		return lesson_fail(translated, translated->line_count, "the piece '%s' of %.200s:%d is missing",
		                   kind_names[l->pieces[there].kind], l->path, l->pieces[there].line);
	if (!s && there > count)
		return lesson_fail(translated, translated->pieces[count].line, "%.200s has no such piece '%s'", l->path,
		                   kind_names[translated->pieces[count].kind]);
	return s;
}

/* ---- files ---- */

/* False: there is nothing to copy, or no place to put it. */
static bool copy_outputs(const struct piece *from, struct piece *to)
{
	bool copied = false;
	for (int i = 0; i < from->command_count && i < to->command_count; i++)
		if (!same(from->commands[i].output, to->commands[i].output)) {
			to->commands[i].output = from->commands[i].output;
			copied = true;
		}
	return copied;
}

/* The translation is written only when nothing but outputs differed. */
static enum status check_pair(const struct lesson *l, struct lesson *translated, bool update)
{
	bool copied = false;
	for (int i = 0; update && i < l->piece_count && i < translated->piece_count; i++)
		copied |= copy_outputs(&l->pieces[i], &translated->pieces[i]);
	enum status s = lesson_check_translation(l, translated);
	return !s && copied ? lesson_write(translated) : s;
}

static enum status check_files(const char *original, const char *translation, bool update)
{
	struct lesson l = {0}, translated = {0};
	enum status s = lesson_open(&l, original);
	s = s ? s : lesson_open(&translated, translation);
	s = s ? s : check_pair(&l, &translated, update);
	lesson_release(&translated);
	lesson_release(&l);
	return s;
}

static enum status check_originals(const struct lesson_folder *originals, const struct lesson_folder *translations)
{
	char path[1024];
	for (int i = 0; i < translations->count; i++) {
		const char *one = translations->files[i];
		snprintf(path, sizeof path, "%s/%s", originals->path, path_name(one));
		if (!path_is_there(path))
			return status_fail(STATUS_INPUT, "%.200s:1: there is no lesson %.200s that this translates",
			                   one, path);
	}
	return STATUS_OK;
}

enum status translations_check(const struct lesson_folder *originals, const char *language, const char *only,
                               bool update)
{
	struct lesson_folder there;
	char path[1024];
	enum status s = lesson_folder_open(&there, language);
	s = s || only ? s : check_originals(originals, &there);
	for (int i = 0; !s && i < originals->count; i++) {
		const char *one = originals->files[i];
		if (only && strcmp(only, one) != 0)
			continue;
		snprintf(path, sizeof path, "%s/%s", there.path, path_name(one));
		s = path_is_there(path)
		            ? check_files(one, path, update)
		            : status_fail(STATUS_INPUT, "%.200s:1: this translation of %.200s is missing", path, one);
	}
	lesson_folder_release(&there);
	return s;
}
