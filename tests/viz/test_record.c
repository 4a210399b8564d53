/* Drawings as data: everything that a scene draws is recorded, and a picture is found again in its difference to the
 * one before. */
#define _GNU_SOURCE /* RTLD_NEXT */
#include "tests/support/suite.h"
#include "tests/viz/drawn_words.h"
#include "tests/viz/picture_fixture.h"
#include "viz/draw/record.h"

enum { WIDTH = 1280, HEIGHT = 600, STEPS = 40 };

/* The playback's scene, on a canvas of lines: recorded, or drawn where r is NULL. */
static void draw_scene(struct record *r, double width, double height)
{
	cairo_rectangle_t extents = {0, 0, width, height};
	cairo_surface_t *surface = cairo_recording_surface_create(CAIRO_CONTENT_COLOR, &extents);
	cairo_t *cr = cairo_create(surface);
	struct canvas c;
	const struct view *v = playback_view(&playback);
	canvas_begin(&c, cr, width, height, 1 / canvas_scale(width, height), v->theme, &fonts);
	c.record = r;
	if (r)
		record_begin(r, width, height);
	scene_draw_alone(&c, v);
	canvas_end(&c);
	ck_assert(!cairo_status(cr));
	cairo_destroy(cr);
	cairo_surface_destroy(surface);
}

static const char *string_of(const struct strings *s, size_t i, char *out, size_t size)
{
	snprintf(out, size, "%.*s", (int)s->list[i].length, s->bytes + s->list[i].at);
	return out;
}

/* The texts of the picture, as drawn_words has them. */
static void list_texts(const struct record *r, char *out, size_t size)
{
	size_t length = (size_t)snprintf(out, size, "\n");
	for (size_t i = 0; i < r->now_count; i++) {
		char command[4096], text[2048];
		int ink, number;
		string_of(&r->commands, (size_t)r->now[i], command, sizeof command);
		if (sscanf(command, "[3,%d,%d", &ink, &number) != 2)
			continue;
		string_of(&r->texts, (size_t)number, text, sizeof text);
		*strrchr(text, '"') = 0;
		length += (size_t)snprintf(out + length, size - length, "%s\n", text + 2);
	}
	ck_assert_uint_lt(length, size);
}

/* Texts without a character are not recorded. */
static void drop_empty_lines(char *text)
{
	char *to = text;
	for (const char *from = text; *from; from++)
		if (*from != '\n' || to == text || to[-1] != '\n')
			*to++ = *from;
	*to = 0;
}

START_LOOP_TEST(records_every_text, 0, SCENE_COUNT)
{
	static char texts[1 << 16];
	size_t steps = export_steps(&playback);
	playback.scene = (enum scene)_i;
	for (size_t k = 0; k < steps; k += 3) {
		struct record r = {0};
		go(k);
		words_begin();
		draw_scene(NULL, WIDTH, HEIGHT);
		draw_scene(&r, WIDTH, HEIGHT);
		drop_empty_lines(drawn_words);
		list_texts(&r, texts, sizeof texts);
		ck_assert_str_eq(texts, drawn_words);
		ck_assert(!r.failed);
		record_release(&r);
	}
}

/* A reader of what record_write() writes, which counts new commands as they come. */
static size_t read_picture(const char *text, const int *before, size_t *known, int *now)
{
	size_t count = 0, i = 0;
	ck_assert_int_eq(*text++, '[');
	while (*text != ']') {
		int number, from, same, kind, used = 0;
		if (*text == ',')
			text++;
		if (sscanf(text, "[%d,%d]%n", &from, &same, &used) == 2 && used) {
			for (i = (size_t)from; same > 0; same--)
				now[count++] = before[i++];
		} else if (sscanf(text, "[%d,%n", &kind, &used) == 1 && used) {
			now[count++] = (int)(*known)++;
			i++;
			for (bool quoted = false; quoted || text[used] != ']'; used++)
				quoted ^= text[used] == '"';
			used++;
		} else {
			ck_assert_msg(sscanf(text, "%d%n", &number, &used) == 1, "'%.20s' is no entry", text);
			if (number >= 0)
				i++;
			for (now[count] = number, count += number >= 0; number < 0; number++)
				now[count++] = before[i++];
		}
		text += used;
	}
	return count;
}

/* Forward, back and from scene to scene, each scene beside its own last picture. */
START_TEST(reads_what_was_written)
{
	static int pictures[SCENE_COUNT][2][1 << 14];
	struct record r = {0};
	struct record_series series[SCENE_COUNT] = {0};
	size_t known = 0, read = 0;
	for (int k = 0; k < STEPS; k++)
		for (int scene = 0; scene < SCENE_COUNT; scene++) {
			char *text = NULL;
			size_t size = 0;
			FILE *out = open_memstream(&text, &size);
			playback.scene = (enum scene)scene;
			go((size_t)(k % 4 == 3 ? k - 3 : k));
			draw_scene(&r, scene % 2 ? WIDTH : 540, HEIGHT);
			record_write(&r, &series[scene], &known, out);
			fclose(out);
			int *now = pictures[scene][k % 2];
			size_t count = read_picture(text, pictures[scene][1 - k % 2], &read, now);
			ck_assert_uint_eq(count, r.now_count);
			ck_assert_msg(!memcmp(now, r.now, count * sizeof *now), "%s at %d", scene_name(playback.scene),
			              k);
			ck_assert_uint_eq(read, r.commands.count);
			free(text);
		}
	for (int scene = 0; scene < SCENE_COUNT; scene++)
		record_series_release(&series[scene]);
	record_release(&r);
}

static void ck_command(const struct record *r, size_t i, const char *wanted)
{
	char command[256];
	ck_assert_uint_lt(i, r->now_count);
	ck_assert_str_eq(string_of(&r->commands, (size_t)r->now[i], command, sizeof command), wanted);
}

START_TEST(writes_commands)
{
	struct record r = {0};
	cairo_rectangle_t extents = {0, 0, 200, 100};
	cairo_surface_t *surface = cairo_recording_surface_create(CAIRO_CONTENT_COLOR, &extents);
	cairo_t *cr = cairo_create(surface);
	struct canvas c;
	char text[64];
	canvas_begin(&c, cr, 200, 100, 1 / canvas_scale(200, 100), theme_of(THEME_LIGHT), &fonts);
	c.record = &r;
	record_begin(&r, 200, 100);
	draw_fill(&c, (struct box){1, 2.5, 30, 4}, 0x102030);
	draw_line(&c, 0, 0, 3, 4.04, 0xFFFFFF, 2);
	draw_fill(&c, (struct box){1, 2.5, 30, 4}, 0x102030);
	cairo_rectangle(cr, 0, 0, 1, 1); /* two boxes, each for itself */
	cairo_rectangle(cr, 5, 5, 1, 1);
	draw_patterned_path(&c, (struct box){0, 0, 6, 6}, 0x102030, PATTERN_DOTS, 0xFFFFFF);
	cairo_new_path(cr);
	cairo_rectangle(cr, 10, 20, 30, 40);
	cairo_clip(cr);
	draw_text(&c, 10, 30, 12, WEIGHT_BOLD, 0x102030, ALIGN_LEFT, 0, "%s", "</script>\"\\&");
	ck_command(&r, 0, "[0,0,\"M10 25h300v40h-300z\"]");
	ck_command(&r, 1, "[2,1,\"M0 0l30 40\",20]");
	ck_assert_int_eq(r.now[2], r.now[0]);
	ck_command(&r, 3, "[1,0,\"M0 0h10v10h-10z\",3,1]");
	ck_command(&r, 4, "[1,0,\"M50 50h10v10h-10z\",3,1]");
	ck_command(&r, 5, "[4,100,200,300,400]");
	ck_command(&r, 6, "[3,0,0,100,300]");
	ck_assert_uint_eq(r.now_count, 7);
	ck_assert_uint_eq(r.colours[0], 0x102030FF);
	string_of(&r.texts, 0, text, sizeof text);
	ck_assert_msg(!strncmp(text, "[\"\\u003c/script>\\u0022\\u005c&\",", 30), "%s", text);
	canvas_end(&c);
	cairo_destroy(cr);
	cairo_surface_destroy(surface);
	record_release(&r);
}

int main(void)
{
	suite_fixture(open_all, close_all);
	return suite_run("record", 0);
}
