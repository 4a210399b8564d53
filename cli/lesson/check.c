#include "cli/lesson/check.h"

#include <cairo.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>

#include "cli/lesson/same.h"
#include "cli/lesson/shell.h"
#include "strategy/base/character.h"
#include "strategy/base/file.h"

struct checking {
	struct lesson l;
	struct place place;
	char folder[256];
	bool update, changed;
	FILE *out;
	int differences;
};

/* ---- what depends on the machine ---- */

/* The option that makes a command's output the same on every machine; NULL: there is none. */
static const struct {
	const char *command, *option, *give;
} predicted[] = {
        {"plan", "", ""},
        {"config", "", ""},
        {"help", "", ""},
        {"collective", "", ""},
        {"sim", " --cluster ", "--cluster"},
        {"compare", " --cluster ", "--cluster"},
        {"view", "", ""},
        {"trace", " lessons/", "a file of the lesson's"}, /* what was recorded is the same everywhere */
};

static enum status check_machine(const struct lesson *l, const struct lesson_command *c)
{
	const char *at = c->text;
	while ((at = strstr(at, "shardlab "))) {
		at += strlen("shardlab ");
		size_t length = strcspn(at, " ");
		bool known = false;
		for (size_t i = 0; i < sizeof predicted / sizeof predicted[0]; i++)
			if (strlen(predicted[i].command) == length && !strncmp(predicted[i].command, at, length)) {
				known = true;
				if (!strstr(c->text, predicted[i].option) || strstr(c->text, "--cluster local"))
					return lesson_fail(l, c->line,
					                   "'exact', but its times are this machine's: give %s",
					                   predicted[i].give);
			}
		if (!known)
			return lesson_fail(l, c->line, "'exact', but `shardlab %.*s` differs from machine to machine",
			                   (int)length, at);
	}
	return STATUS_OK;
}

/* ---- commands ---- */

static void differs(struct checking *k, int line, const char *what, const char *why)
{
	fprintf(k->out, "%s:%d: %s: %s\n", character_plain(k->l.path), line, what, why);
	k->differences++;
}

/* The line with which the program refuses, in a pipe too; NULL: there is none. */
static const char *refusal(const char *printed)
{
	const char *line = strncmp(printed, "fatal: ", 7) ? strstr(printed, "\nfatal: ") : printed;
	return line && *line == '\n' ? line + 1 : line;
}

static enum status run_command(struct checking *k, struct piece *p, struct lesson_command *c)
{
	char *printed, why[600];
	int exit_status;
	enum status s = p->check == LESSON_EXACT ? check_machine(&k->l, c) : STATUS_OK;
	if (s || (s = place_run(&k->place, c->text, &printed, &exit_status)))
		return s;
	if ((refusal(printed) != NULL) != p->fails)
		s = lesson_fail(&k->l, c->line, "%s: %.300s", c->text,
		                p->fails ? "it is not refused" : refusal(printed));
	else if (!lesson_same(p->check, p->tolerance, c->output, printed, why, sizeof why)) {
		if (k->update) {
			c->output = arena_copy(&k->l.arena, printed);
			k->changed = true;
		} else {
			differs(k, c->line, c->text, why);
		}
	}
	free(printed);
	return s;
}

/* ---- pictures ---- */

/* Fonts are drawn a little differently from release to release: a few pixels change, and not by much. */
static bool same_picture(const char *a, const char *b)
{
	cairo_surface_t *one = cairo_image_surface_create_from_png(a), *other = cairo_image_surface_create_from_png(b);
	int width = cairo_image_surface_get_width(one), height = cairo_image_surface_get_height(one);
	bool same = !cairo_surface_status(one) && !cairo_surface_status(other) &&
	            width == cairo_image_surface_get_width(other) && height == cairo_image_surface_get_height(other);
	long far = 0;
	for (int y = 0; same && y < height; y++) {
		const unsigned char *p = cairo_image_surface_get_data(one) + y * cairo_image_surface_get_stride(one);
		const unsigned char *q =
		        cairo_image_surface_get_data(other) + y * cairo_image_surface_get_stride(other);
		for (int x = 0; x < 4 * width; x++)
			far += abs(p[x] - q[x]) > 24;
	}
	cairo_surface_destroy(one);
	cairo_surface_destroy(other);
	return same && far <= (long)width * height / 2000;
}

struct picture {
	char *bytes;
	size_t size;
};

static enum status print_picture(void *context, FILE *out)
{
	const struct picture *p = context;
	fwrite(p->bytes, 1, p->size, out);
	return STATUS_OK;
}

static enum status copy_file(const char *from, const char *to)
{
	struct picture p;
	enum status s = file_read(from, "picture", 64 << 20, &p.bytes, &p.size);
	if (!s)
		s = file_write(to, "picture", print_picture, &p);
	free(p.bytes);
	return s;
}

static enum status draw_picture(struct checking *k, const struct piece *p)
{
	char *printed, drawn[512], kept[768];
	int exit_status;
	snprintf(drawn, sizeof drawn, "%s/picture.png", k->place.folder);
	snprintf(kept, sizeof kept, "%s/%.400s", k->folder, p->picture);
	char *command = arena_print(&k->l.arena, "%s view %s --export picture.png", p->program, p->options);
	enum status s = place_run(&k->place, command, &printed, &exit_status);
	if (s)
		return s;
	if (exit_status)
		s = lesson_fail(&k->l, p->line, "%s: %.300s", command, printed);
	else if (!same_picture(drawn, kept) && k->update)
		s = copy_file(drawn, kept);
	else if (!same_picture(drawn, kept))
		differs(k, p->line, p->picture, "the picture is not what `view` draws");
	free(printed);
	return s;
}

/* ---- exercises: a check that succeeds before anything is done finds nothing ---- */

static enum status try_exercise(struct checking *k, const struct piece *p)
{
	char *printed;
	int exit_status;
	enum status s = place_run(&k->place, p->checks, &printed, &exit_status);
	if (!s && !exit_status)
		differs(k, p->line, p->name, "its check succeeds before anything is done");
	free(printed);
	return s;
}

/* A block that needs something this machine lacks stays as it is written. */
static enum status run_commands(struct checking *k, struct piece *p)
{
	bool here;
	enum status s = place_try(&k->place, p->where, &here);
	if (!s && !here)
		fprintf(k->out, "%s:%d: left out, since this fails here: %s\n", character_plain(k->l.path), p->line,
		        p->where);
	for (int i = 0; !s && here && i < p->command_count; i++)
		s = run_command(k, p, &p->commands[i]);
	return s;
}

static enum status check_piece(struct checking *k, struct piece *p)
{
	enum status s = p->kind == PIECE_RUN ? run_commands(k, p) : STATUS_OK;
	if (p->kind == PIECE_VIEW)
		s = draw_picture(k, p);
	if (p->kind == PIECE_EXERCISE)
		s = try_exercise(k, p);
	return s;
}

/* ---- writing it anew ---- */

static void print_console(const struct lesson *l, const struct piece *p, FILE *out)
{
	fprintf(out, "%s\n", l->lines[p->first - 1]);
	for (int i = 0; i < p->command_count; i++) {
		const struct lesson_command *c = &p->commands[i];
		int line = c->line;
		do
			fprintf(out, "%s\n", l->lines[line - 1]);
		while (l->lines[line - 1][0] && l->lines[line - 1][strlen(l->lines[line - 1]) - 1] == '\\' &&
		       line++ < p->end);
		fputs(c->output, out);
		if (*c->output && c->output[strlen(c->output) - 1] != '\n')
			fputc('\n', out);
	}
	fprintf(out, "%s\n", l->lines[p->end - 2]);
}

static enum status print_lesson(void *context, FILE *out)
{
	const struct lesson *l = context;
	int line = 1;
	for (int i = 0; i < l->piece_count; i++) {
		const struct piece *p = &l->pieces[i];
		if (p->kind != PIECE_RUN)
			continue;
		for (; line < p->first; line++)
			fprintf(out, "%s\n", l->lines[line - 1]);
		print_console(l, p, out);
		line = p->end;
	}
	for (; line <= l->line_count; line++)
		fprintf(out, "%s\n", l->lines[line - 1]);
	return STATUS_OK;
}

enum status lesson_write(const struct lesson *l)
{
	return file_write(l->path, "lesson", print_lesson, (void *)l);
}

enum status lesson_check_all(const char *path, bool update, FILE *out)
{
	struct checking k = {.update = update, .out = out};
	char copy[256];
	snprintf(copy, sizeof copy, "%.250s", path);
	snprintf(k.folder, sizeof k.folder, "%s", dirname(copy));
	TRY(lesson_open(&k.l, path));
	enum status s = place_open(&k.place, k.folder);
	for (int i = 0; !s && i < k.l.piece_count; i++)
		s = check_piece(&k, &k.l.pieces[i]);
	place_close(&k.place);
	if (!s && k.changed)
		s = lesson_write(&k.l);
	lesson_release(&k.l);
	if (!s && k.differences)
		s = status_fail(STATUS_CHECK,
		                "%s: %d of its outputs and pictures are not what the program makes; to write "
		                "them anew: make lessons-update",
		                path, k.differences);
	return s;
}
