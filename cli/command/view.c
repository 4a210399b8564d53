/* shardlab view: a step in a window, or as pictures. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command/command.h"
#include "cli/command/view_load.h"
#include "cli/command/view_open.h"
#include "strategy/base/arena.h"
#include "strategy/base/file.h"
#include "strategy/base/language.h"
#include "strategy/base/number.h"
#include "viz/export/export.h"

/* ---- options ---- */

static enum status read_size(const char *text, struct picture *out)
{
	const char *x = strchr(text, 'x');
	char width[16];
	int64_t w = 0, h = 0;
	if (!x || x - text >= (ptrdiff_t)sizeof width)
		return status_fail(STATUS_INPUT, "--size: '%.40s' is not WIDTHxHEIGHT, such as 1920x1080", text);
	snprintf(width, sizeof width, "%.*s", (int)(x - text), text);
	enum status s = number_whole(width, "--size: width", 64, 16384, &w);
	if (!s)
		s = number_whole(x + 1, "--size: height", 64, 16384, &h);
	out->width = (int)w;
	out->height = (int)h;
	return s;
}

/* ---- pictures ---- */

/* The step itself is shown unless an option asks for something else. */
static enum status describe_step(struct viewer *v, FILE *out)
{
	export_describe(&v->playback, !option_given(v->options, OPTION_AT), out);
	return STATUS_OK;
}

static const struct way step_itself = {.option = OPTION_COUNT, .describe = describe_step};
static const struct way *const ways[] = {&way_race, &way_ask, &way_build};

/* At most one option may choose what is shown. */
static enum status choose_way(struct viewer *v)
{
	v->way = &step_itself;
	for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
		if (!option_given(v->options, ways[i]->option))
			continue;
		if (v->way != &step_itself)
			return status_fail(STATUS_INPUT, "--%s and --%s each fill the picture: leave out one of them",
			                   option_name(v->way->option), option_name(ways[i]->option));
		v->way = ways[i];
	}
	return STATUS_OK;
}

bool viewer_windowless(const struct viewer *v)
{
	return option_given(v->options, OPTION_DESCRIBE) || option_given(v->options, OPTION_EXPORT);
}

static enum status write_export(void *context, FILE *out)
{
	struct viewer *v = context;
	bool all_pages = !strcmp(option_text(v->options, OPTION_PAGES), "all");
	return v->way->draw ? export_drawing(v->way->draw, v, v->format, &v->size, out)
	                    : export_write(&v->playback, v->format, &v->size, all_pages, out);
}

static enum status check_options(struct viewer *v)
{
	const struct options *o = v->options;
	const char *path = option_text(o, OPTION_EXPORT);
	enum status s = read_size(option_text(o, OPTION_SIZE), &v->size);
	v->size.scale = o->value[OPTION_SCALE].real;
	v->size.delay = (int)option_whole(o, OPTION_DELAY);
	if (s)
		return s;
	if (option_given(o, OPTION_VALUES) && option_given(o, OPTION_NO_VALUES))
		return status_fail(STATUS_INPUT, "--values and --no-values: leave one of them out");
	if (path && option_given(o, OPTION_DESCRIBE))
		return status_fail(STATUS_INPUT, "--describe prints text: leave out --%s", option_name(OPTION_EXPORT));
	if (option_given(o, OPTION_SCENE) && option_given(o, OPTION_DESCRIBE) && v->way->option == OPTION_COUNT)
		return status_fail(STATUS_INPUT, "--describe says what all scenes show: leave out --%s",
		                   option_name(OPTION_SCENE));
	if (!path) {
		static const enum option of_files[] = {OPTION_PAGES, OPTION_DELAY, OPTION_SCALE};
		for (size_t i = 0; i < sizeof of_files / sizeof of_files[0]; i++)
			if (option_given(o, of_files[i]))
				return status_fail(STATUS_INPUT, "--%s is for pictures: give --export FILE too",
				                   option_name(of_files[i]));
		return STATUS_OK;
	}
	if (!export_parse(path, &v->format))
		return status_fail(STATUS_INPUT, "--export %.60s: the name must end in .png, .svg, .pdf, .gif or .html",
		                   path);
	if (v->size.width * v->size.scale > 32767 || v->size.height * v->size.scale > 32767)
		return status_fail(STATUS_INPUT, "--size times --scale: more than 32767 pixels");
	if (v->way->draw && (v->format == EXPORT_GIF || v->format == EXPORT_HTML))
		return status_fail(STATUS_INPUT, "--export %.60s: %s is written as .png, .svg or .pdf", path,
		                   v->way->name);
	if (option_given(o, OPTION_PAGES) && v->format != EXPORT_PDF)
		return status_fail(STATUS_INPUT, "--pages is for .pdf files; .gif and .html have all steps");
	return STATUS_OK;
}

static enum status pair(struct viewer *v, const char *with)
{
	if (strcmp(with, PAIR_BEFORE) != 0)
		return viewer_pair(v, with);
	if (!v->playback.whatif)
		return status_fail(STATUS_INPUT, "--pair " PAIR_BEFORE " is for --what-if: give it too");
	v->together = true;
	viewer_fill(v);
	return STATUS_OK;
}

/* Strategies beside the one that was asked for. */
static enum status set_others(struct viewer *v)
{
	static const enum option beside[] = {OPTION_COMPARE, OPTION_PAIR};
	const struct options *o = v->options;
	if (option_given(o, OPTION_PAIR) && !option_given(o, OPTION_COMPARE) && v->loaded[0].read)
		return viewer_pair_traces(v, option_text(o, OPTION_PAIR));
	for (size_t i = 0; i < sizeof beside / sizeof beside[0]; i++)
		if (option_given(o, beside[i]) && viewer_alone(v))
			return status_fail(STATUS_INPUT, "--%s makes a plan of each strategy: leave out --%s",
			                   option_name(beside[i]), option_name(viewer_source(v)));
	if (option_given(o, OPTION_PAIR)) {
		if (option_given(o, OPTION_COMPARE))
			return status_fail(STATUS_INPUT, "--pair shows two strategies in every scene, --compare the "
			                                 "memory of several: leave out one of them");
		return pair(v, option_text(o, OPTION_PAIR));
	}
	if (!option_given(o, OPTION_COMPARE))
		return STATUS_OK;
	if (option_given(o, OPTION_SCENE) && v->playback.scene != SCENE_MEMORY)
		return status_fail(STATUS_INPUT, "--compare shows the memory of each strategy: leave out --scene %s",
		                   scene_name(v->playback.scene));
	return viewer_compare(v, option_text(o, OPTION_COMPARE));
}

/* Without a window to show meanwhile, the change that would fit is looked for first. */
static void find_changes(struct viewer *v)
{
	for (int i = 0; i < VIEWS; i++)
		while (load_search(&v->loaded[i]))
			;
}

static enum status what_if(struct viewer *v)
{
	const struct options *o = v->options;
	if (!option_given(o, OPTION_WHAT_IF))
		return STATUS_OK;
	if (viewer_alone(v))
		return status_fail(STATUS_INPUT, "--what-if makes a plan of other settings: leave out --%s",
		                   option_name(viewer_source(v)));
	return viewer_what_if(v, option_text(o, OPTION_WHAT_IF));
}

static enum status show(struct viewer *v)
{
	const struct options *o = v->options;
	if (option_given(o, OPTION_DESCRIBE))
		return v->way->describe(v, stdout);
	if (option_given(o, OPTION_EXPORT))
		return file_write(option_text(o, OPTION_EXPORT), "{export}", write_export, v);
	return viewer_window(v);
}

/* ---- the language ---- */

/* Everything is said in the language that is asked for, or the user's. Drawn text needs its characters. */
static enum status open_fonts(const struct options *o, struct fonts *fonts)
{
	enum status s = option_given(o, OPTION_DESCRIBE) ? STATUS_OK : fonts_open(fonts);
	language_set(option_given(o, OPTION_LANGUAGE) ? option_text(o, OPTION_LANGUAGE) : language_of_user());
	if (s || option_given(o, OPTION_DESCRIBE) || !strcmp(language_chosen(), "en") || fonts_open_han(fonts))
		return s;
	fputs("note: no font with Chinese characters is installed, so that texts are in English; on Debian: apt-get "
	      "install " HAN_PACKAGE "\n",
	      stderr);
	language_set("en");
	return STATUS_OK;
}

/* Does everything that the options ask for. */
static enum status open_viewer(struct viewer *v, struct fonts *fonts)
{
	const struct options *o = v->options;
	enum status s = choose_way(v);
	if (!s)
		s = check_options(v);
	if (!s)
		s = viewer_build_check(o);
	if (!s)
		s = open_fonts(o, fonts);
	playback_init(&v->playback, fonts);
	if (!s && !(s = viewer_begin(v, o)))
		s = what_if(v);
	if (!s)
		s = viewer_place(v);
	if (!s)
		s = set_others(v);
	if (!s && viewer_windowless(v))
		find_changes(v);
	return s || !v->way->begin ? s : v->way->begin(v);
}

enum status command_view(const struct options *o)
{
	struct viewer *v = array_make(1, sizeof *v);
	struct fonts fonts = {0};
	v->options = o;
	enum status s = open_viewer(v, &fonts);
	if (!s)
		s = show(v);
	viewer_release(v);
	fonts_release(&fonts);
	free(v);
	return s;
}
