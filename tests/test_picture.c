/* Pictures: the same bytes from run to run, the same picture whichever way one comes to it, and in a GIF and a page the
 * pictures of the single steps.
 */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/suite.h"
#include "tests/support/viewed.h"
#include "viz/export.h"
#include "viz/timeline.h"

static struct fonts fonts;
static struct viewed ddp, zero3;
static struct player player;

static void open_all(void)
{
	static const char model[] = "mlp:sizes=12-16-8-4";
	ck_assert_msg(!fonts_open(&fonts), "%s", status_message());
	viewed_open(&ddp, &(struct request){.model = model, .strategy = "ddp", .ranks = 4});
	viewed_open(&zero3, &(struct request){.model = model, .strategy = "zero3", .ranks = 3});
	player_init(&player, &fonts);
	player_set_piece(&player, &ddp.piece);
}

static void close_all(void)
{
	player_release(&player);
	viewed_release(&ddp);
	viewed_release(&zero3);
	fonts_release(&fonts);
}

static const struct picture small = {.width = 480, .height = 270, .scale = 1, .delay = 50};

/* Written as a file would be; to be freed. */
static char *exported(enum export_format format, const struct picture *size, bool all, size_t *length)
{
	char *text = NULL;
	FILE *out = open_memstream(&text, length);
	ck_assert(out);
	enum status s = export_write(&player, format, size, all, out);
	ck_assert_msg(!s, "%s", status_message());
	ck_assert(!fclose(out));
	return text;
}

static cairo_surface_t *surface_of(struct player *p, const struct picture *size)
{
	cairo_surface_t *surface;
	ck_assert_msg(!export_surface(p, size, &surface), "%s", status_message());
	return surface;
}

static void ck_same(const char *a, size_t na, const char *b, size_t nb, const char *what)
{
	ck_assert_msg(na == nb && !memcmp(a, b, na), "%s differs", what);
}

static void go(size_t step)
{
	player_go(&player, score_stop(&player.piece->score, player.stride, step));
}

START_TEST(the_same_bytes_again)
{
	/* cairo numbers the surfaces of SVG within a process: cli_view.sh compares two. */
	static const enum export_format formats[] = {EXPORT_PNG, EXPORT_PDF, EXPORT_GIF, EXPORT_HTML};
	for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
		size_t na, nb;
		go(9);
		char *a = exported(formats[i], &small, true, &na);
		/* In a player of its own, and after other pictures. */
		player_release(&player);
		player_init(&player, &fonts);
		player_set_piece(&player, &zero3.piece);
		free(exported(EXPORT_PNG, &small, false, &nb));
		player_set_piece(&player, &ddp.piece);
		go(9);
		char *b = exported(formats[i], &small, true, &nb);
		char what[32];
		snprintf(what, sizeof what, "format %d", (int)formats[i]);
		ck_same(a, na, b, nb, what);
		ck_assert_uint_gt(na, 1000);
		free(a);
		free(b);
	}
}
END_TEST

/* Stepping there, forward and back, and jumping there give one picture. */
static void check_ways(size_t step)
{
	const struct score *s = &player.piece->score;
	size_t na, nb, nc, p = 0;
	go(step);
	char *jumped = exported(EXPORT_PNG, &small, false, &na);
	player_go(&player, 0);
	for (size_t k = 0; k < step; k++)
		player_go(&player, p = score_next(s, player.stride, p));
	char *stepped = exported(EXPORT_PNG, &small, false, &nb);
	ck_same(jumped, na, stepped, nb, scene_name(player.scene));
	for (int k = 0; k < 5; k++)
		player_go(&player, p = score_next(s, player.stride, p));
	for (int k = 0; k < 5; k++)
		player_go(&player, p = score_previous(s, player.stride, p));
	char *back = exported(EXPORT_PNG, &small, false, &nc);
	ck_same(jumped, na, back, nc, scene_name(player.scene));
	free(jumped);
	free(stepped);
	free(back);
}

/* In every scene and theme. */
START_TEST(the_same_by_every_way)
{
	for (int scene = 0; scene < SCENE_COUNT; scene++) {
		player.scene = (enum scene)scene;
		player.theme = (enum theme_name)(scene % THEME_COUNT);
		check_ways(11);
	}
}
END_TEST

/* A step changes the picture: a test of equality that never fails would not see a picture of nothing. */
START_TEST(steps_differ)
{
	size_t na, nb;
	player.scene = SCENE_RING;
	go(9);
	char *a = exported(EXPORT_PNG, &small, false, &na);
	go(10);
	char *b = exported(EXPORT_PNG, &small, false, &nb);
	ck_assert(na != nb || memcmp(a, b, na) != 0);
	free(a);
	free(b);
}
END_TEST

/* ---- text that is none, and pictures that fail ---- */

START_TEST(halves_of_characters)
{
	static const struct {
		const char *text, *mended;
	} cases[] = {
	        {"", ""},
	        {"plain", "plain"},
	        {"n − 1 → größer", "n − 1 → größer"},
	        {"gr\xC3", "gr"},
	        {"\xE2\x86", ""},
	        {"\xF0\x9F\x98", ""},
	        {"a\x80z", "az"},
	        {"\xC0\xAFx", "x"},
	        {"\xED\xA0\x80x", "x"},
	        {"\xF4\x90\x80\x80x", "x"},
	        {"\xFFx\xC3\xA9\xC3", "x\xC3\xA9"},
	};
	cairo_surface_t *surface = cairo_image_surface_create(CAIRO_FORMAT_RGB24, 200, 100);
	cairo_t *cr = cairo_create(surface);
	struct canvas c;
	canvas_begin(&c, cr, 200, 100, 1, theme_of(THEME_LIGHT), &fonts);
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		char text[64];
		snprintf(text, sizeof text, "%s", cases[i].text);
		text_mend(text);
		ck_assert_str_eq(text, cases[i].mended);
		text_length(&c, 12, WEIGHT_BOLD, cases[i].text);
		draw_text(&c, 5, 50, 12, WEIGHT_PLAIN, 0, ALIGN_CENTRE, 30, "%s", cases[i].text);
		draw_paragraph(&c, 5, 50, 40, 12, 2, 0, cases[i].text);
		ck_assert_msg(!cairo_status(cr), "text %zu: %s", i, cairo_status_to_string(cairo_status(cr)));
	}
	canvas_end(&c);
	cairo_destroy(cr);
	cairo_surface_destroy(surface);
}
END_TEST

/* Nothing is written as if it were whole when drawing has failed: here by a font that is none. */
START_TEST(a_failure_is_said)
{
	struct fonts broken = fonts;
	broken.plain = cairo_toy_font_face_create("\xFF", CAIRO_FONT_SLANT_NORMAL, CAIRO_FONT_WEIGHT_NORMAL);
	player.fonts = &broken;
	for (int format = 0; format < EXPORT_COUNT; format++) {
		char *text = NULL;
		size_t length;
		FILE *out = open_memstream(&text, &length);
		ck_assert_msg(export_write(&player, (enum export_format)format, &small, false, out), "format %d",
		              format);
		ck_assert(!fclose(out));
		free(text);
	}
	player.fonts = &fonts;
}
END_TEST

/* ---- side by side ---- */

/* Is the left, or the right, half of two pictures the same? */
static bool same_half(cairo_surface_t *a, cairo_surface_t *b, int half)
{
	int width = cairo_image_surface_get_width(a) / 2, stride = cairo_image_surface_get_stride(a);
	for (int y = 0; y < cairo_image_surface_get_height(a); y++)
		if (memcmp(cairo_image_surface_get_data(a) + (ptrdiff_t)y * stride + (ptrdiff_t)half * width * 4,
		           cairo_image_surface_get_data(b) + (ptrdiff_t)y * stride + (ptrdiff_t)half * width * 4,
		           (size_t)width * 4))
			return false;
	return true;
}

/* What the second may use is in its card alone. */
START_TEST(each_card_has_its_own_capacity)
{
	const struct limits before = zero3.piece.score.limits;
	player.scene = SCENE_MEMORY;
	player.contender[0] = &ddp.piece;
	player.contender[1] = &zero3.piece;
	player.contender_count = 2;
	player.compare = true;
	cairo_surface_t *a = surface_of(&player, &small);
	zero3.piece.score.limits = (struct limits){.device_bytes = zero3.piece.score.roles[0].peak[SPACE_DEVICE] / 2};
	cairo_surface_t *b = surface_of(&player, &small);
	zero3.piece.score.limits = before;
	ck_assert(same_half(a, b, 0));
	ck_assert(!same_half(a, b, 1));
	cairo_surface_destroy(a);
	cairo_surface_destroy(b);
	player.compare = false;
	player.contender_count = 0;
}
END_TEST

/* ---- messages in the timeline ---- */

static int darkness(cairo_surface_t *surface, double x, double y)
{
	const unsigned char *row = cairo_image_surface_get_data(surface) +
	                           (ptrdiff_t)y * cairo_image_surface_get_stride(surface) + 4 * (ptrdiff_t)x;
	return 3 * 255 - row[0] - row[1] - row[2];
}

/* Marks inside the span of a collective, one where each message of a rank but its last arrives. */
static int marks(cairo_surface_t *surface, const struct timeline *l, const struct score *s, int collective,
                 int64_t rank)
{
	double y = timeline_y(l, rank, QUEUE_COMMUNICATION) + l->row * 0.15; /* below the name, above "→ 1" */
	int found = 0;
	for (size_t i = 0; i < s->event_count; i++) {
		const struct event *e = &s->events[i];
		double x = timeline_x(l, e->time);
		if (e->kind != EVENT_MESSAGE || e->collective != collective || e->rank != rank ||
		    x > l->plot.x + l->plot.width - 12)
			continue;
		int here = darkness(surface, x, y), left = darkness(surface, x - 1, y),
		    there = here > left ? here : left;
		found += there > darkness(surface, x - 8, y) + 60 && there > darkness(surface, x + 8, y) + 60;
	}
	return found;
}

/* Of hybrid sharding each group carries out its own collectives by the same operations. */
START_TEST(messages_of_every_group)
{
	struct viewed v;
	viewed_open(&v, &(struct request){.model = "mlp:sizes=12-16-8-4", .strategy = "hybrid:shard=2", .ranks = 4});
	const struct score *s = &v.piece.score;
	int groups = 0;
	player_set_piece(&player, &v.piece);
	for (int k = 0; k < s->collective_count; k++) {
		const struct collective *one = &s->collectives[k];
		if (one->kind != OP_ALL_REDUCE || one->control)
			continue;
		struct canvas c;
		struct timeline l;
		struct box b = {0, 0, 1280, 720};
		cairo_surface_t *surface = cairo_image_surface_create(CAIRO_FORMAT_RGB24, 1280, 720);
		cairo_t *cr = cairo_create(surface);
		player.from = one->begin;
		player.to = one->end;
		const struct view *view = player_view(&player);
		canvas_begin(&c, cr, 1280, 720, 1, view->theme, &fonts);
		scene_timeline(&c, view, b, false);
		canvas_end(&c);
		cairo_surface_flush(surface);
		timeline_lay(&l, view, view->lanes, b);
		for (int64_t member = 0; member < one->schedule.ranks; member++)
			ck_assert_msg(marks(surface, &l, s, k, one->rank[member]) > 0,
			              "no message of rank %d in collective %d", (int)one->rank[member], k);
		groups += one->family != k;
		cairo_destroy(cr);
		cairo_surface_destroy(surface);
	}
	ck_assert_int_gt(groups, 0);
	player_set_piece(&player, &ddp.piece);
	viewed_release(&v);
}
END_TEST

/* ---- GIF ---- */

struct gif {
	const unsigned char *at, *end;
	int width, height;
	unsigned char palette[256][3];
	unsigned char *indices; /* the picture so far */
};

static int byte_of(struct gif *g)
{
	ck_assert(g->at < g->end);
	return *g->at++;
}

static int short_of(struct gif *g)
{
	int low = byte_of(g);
	return low | byte_of(g) << 8;
}

/* LZW, as a reader does it: written from the specification, not from the encoder. */
static void decode(struct gif *g, int x0, int y0, int width, int height)
{
	static unsigned char data[1 << 22], last[4096], text[4097];
	static int prefix[4096];
	size_t size = 0, bit = 0;
	int code_size = byte_of(g), clear = 1 << code_size, bits = code_size + 1, next = clear + 2, old = -1, first = 0;
	ck_assert_int_eq(code_size, 8);
	for (int n; (n = byte_of(g)) > 0;) {
		ck_assert(g->end - g->at >= n && size + (size_t)n <= sizeof data);
		memcpy(data + size, g->at, (size_t)n);
		g->at += n;
		size += (size_t)n;
	}
	for (long done = 0;;) {
		int code = 0;
		for (int i = 0; i < bits; i++, bit++) {
			ck_assert_uint_lt(bit / 8, size);
			code |= (data[bit / 8] >> (bit % 8) & 1) << i;
		}
		if (code == clear) {
			bits = code_size + 1;
			next = clear + 2;
			old = -1;
			continue;
		}
		if (code == clear + 1) {
			ck_assert_int_eq(done, (long)width * height);
			return;
		}
		int n = 0, c = code;
		ck_assert(code < next || (code == next && old >= 0));
		if (code == next) {
			text[n++] = (unsigned char)first;
			c = old;
		}
		for (; c >= clear; c = prefix[c])
			text[n++] = last[c];
		text[n++] = (unsigned char)c;
		first = c;
		while (n > 0) {
			ck_assert_int_lt(done, (long)width * height);
			g->indices[(y0 + done / width) * g->width + x0 + done % width] = text[--n];
			done++;
		}
		if (old >= 0 && next < 4096) {
			prefix[next] = old;
			last[next++] = (unsigned char)first;
			if (next == 1 << bits && bits < 12)
				bits++;
		}
		old = code;
	}
}

/* Up to the next picture; false at the end. */
static bool next_frame(struct gif *g, int *delay)
{
	for (;;) {
		int what = byte_of(g);
		if (what == 0x3B) {
			ck_assert(g->at == g->end);
			return false;
		}
		if (what == 0x21) {
			int kind = byte_of(g);
			if (kind == 0xF9)
				*delay = g->at[2] | g->at[3] << 8;
			for (int n; (n = byte_of(g)) > 0;)
				g->at += n;
			continue;
		}
		ck_assert_int_eq(what, 0x2C);
		int x = short_of(g), y = short_of(g), width = short_of(g), height = short_of(g);
		ck_assert_int_eq(byte_of(g), 0);
		ck_assert(x + width <= g->width && y + height <= g->height);
		decode(g, x, y, width, height);
		return true;
	}
}

/* With 256 colours there is a difference, but a small one. */
static void ck_alike(const struct gif *g, cairo_surface_t *surface, size_t step)
{
	double sum = 0;
	long far = 0;
	for (int y = 0; y < g->height; y++) {
		const uint32_t *row =
		        (const uint32_t *)(const void *)(cairo_image_surface_get_data(surface) +
		                                         (ptrdiff_t)y * cairo_image_surface_get_stride(surface));
		for (int x = 0; x < g->width; x++) {
			const unsigned char *p = g->palette[g->indices[y * g->width + x]];
			int worst = 0;
			for (int i = 0; i < 3; i++) {
				int d = abs((int)(row[x] >> (16 - 8 * i) & 255) - p[i]);
				worst = d > worst ? d : worst;
			}
			sum += worst;
			far += worst > 24;
		}
	}
	double pixels = (double)g->width * g->height;
	ck_assert_msg(sum / pixels < 2, "frame %zu is %.2f off", step, sum / pixels);
	ck_assert_msg((double)far / pixels < 0.01, "frame %zu has %ld pixels of another colour", step, far);
}

static void check_gif(void)
{
	size_t length, steps = export_steps(&player), step = 0;
	char *text = exported(EXPORT_GIF, &small, false, &length);
	struct gif g = {.at = (unsigned char *)text, .end = (unsigned char *)text + length};
	ck_assert(!memcmp(text, "GIF89a", 6));
	g.at += 6;
	g.width = short_of(&g);
	g.height = short_of(&g);
	ck_assert_int_eq(g.width, small.width);
	ck_assert_int_eq(g.height, small.height);
	g.at += 3;
	memcpy(g.palette, g.at, sizeof g.palette);
	g.at += sizeof g.palette;
	g.indices = calloc((size_t)g.width, (size_t)g.height);
	for (int delay = 0; next_frame(&g, &delay); step++) {
		go(step);
		cairo_surface_t *surface = surface_of(&player, &small);
		ck_alike(&g, surface, step);
		ck_assert_int_eq(delay, step + 1 == steps ? 150 : 50);
		cairo_surface_destroy(surface);
	}
	ck_assert_uint_eq(step, steps);
	free(g.indices);
	free(text);
}

START_TEST(frames_of_the_gif)
{
	player.scene = SCENE_OVERVIEW;
	check_gif();
}
END_TEST

/* ---- HTML ---- */

static size_t from_base64(const char *text, size_t n, unsigned char *out)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	size_t size = 0;
	unsigned held = 0;
	int bits = 0;
	for (size_t i = 0; i < n && text[i] != '='; i++) {
		const char *d = strchr(digits, text[i]);
		ck_assert(d);
		held = held << 6 | (unsigned)(d - digits);
		bits += 6;
		if (bits >= 8)
			out[size++] = (unsigned char)(held >> (bits -= 8));
	}
	return size;
}

static void check_page(void)
{
	size_t length, steps = export_steps(&player);
	char *page = exported(EXPORT_HTML, &small, false, &length), *at = strstr(page, "const steps=[");
	ck_assert(at);
	for (size_t k = 0; k < steps; k++) {
		size_t n;
		char caption[512], begin[64];
		at = strstr(at, "[\"");
		ck_assert(at);
		at += 2;
		size_t coded = strcspn(at, "\"");
		unsigned char *picture = malloc(coded);
		size_t size = from_base64(at, coded, picture);
		go(k);
		char *png = exported(EXPORT_PNG, &small, false, &n);
		ck_same((char *)picture, size, png, n, "a picture of the page");
		caption_make(&player.state, caption, sizeof caption);
		snprintf(begin, sizeof begin, "%.20s", caption);
		at += coded + 3;
		ck_assert_msg(!strncmp(at, begin, strlen(begin)), "step %zu says '%.40s'", k, at);
		free(png);
		free(picture);
	}
	for (const char *p = page; (p = strstr(p, "http")) != NULL; p++)
		ck_abort_msg("the page names an address: %.60s", p);
	ck_assert(!strstr(page, " src="));
	free(page);
}

START_TEST(pictures_of_the_page)
{
	check_page();
}
END_TEST

/* ---- every strategy ---- */

#define SMALL_GPT "gpt:layers=2,width=8,heads=2,context=4,vocabulary=8"
static const struct request strategies[] = {
        {.strategy = "single", .model = "mlp:sizes=6-5-4", .ranks = 1},
        {.strategy = "dp", .model = "mlp:sizes=6-5-4", .ranks = 2},
        {.strategy = "zero1", .model = "mlp:sizes=6-5-4", .ranks = 2},
        {.strategy = "zero2", .model = "mlp:sizes=6-5-4", .ranks = 2, .offload = "optimizer"},
        {.strategy = "zero3", .model = "mlp:sizes=6-5-4", .ranks = 2},
        {.strategy = "fsdp", .model = "mlp:sizes=6-5-4", .ranks = 2},
        {.strategy = "hybrid:shard=2", .model = "mlp:sizes=6-5-4", .ranks = 4},
        {.strategy = "model", .model = "mlp:sizes=6-5-4", .ranks = 2},
        {.strategy = "pipeline", .model = "mlp:sizes=6-5-4", .ranks = 2, .accumulate = 2},
        {.strategy = "tensor", .model = SMALL_GPT, .ranks = 2},
};

/* Of every strategy: the ways, and the pictures inside a GIF and a page. (ddp has tests of its own.) */
START_TEST(of_every_strategy)
{
	struct viewed v;
	viewed_open(&v, &strategies[_i]);
	player_set_piece(&player, &v.piece);
	player.scene = SCENE_OVERVIEW;
	check_ways(score_stop_of(&v.piece.score, player.stride, v.piece.score.moment_count) / 2);
	player.stride = STRIDE_PHASE;
	check_gif();
	check_page();
	player.stride = STRIDE_ROUND;
	player_set_piece(&player, &ddp.piece);
	viewed_release(&v);
}
END_TEST

/* ---- sizes ---- */

/* Nothing breaks however little room there is, and large pictures are the small ones with more pixels. */
START_TEST(tiny_and_large)
{
	static const int sizes[][2] = {{64, 64}, {64, 2000}, {2000, 64}, {200, 120}};
	for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
		for (int scene = 0; scene < SCENE_COUNT; scene++) {
			size_t n;
			struct picture size = {.width = sizes[i][0], .height = sizes[i][1], .scale = 1};
			player.scene = (enum scene)scene;
			player.text = i % 2 ? 2 : 0.5;
			go(10);
			free(exported(EXPORT_PNG, &size, false, &n));
			ck_assert_uint_gt(n, 100);
		}
	player.text = 1;
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("picture");
	TCase *tc = tcase_create("picture");
	tcase_add_checked_fixture(tc, open_all, close_all);
	tcase_add_test(tc, the_same_bytes_again);
	tcase_add_test(tc, the_same_by_every_way);
	tcase_add_test(tc, steps_differ);
	tcase_add_test(tc, halves_of_characters);
	tcase_add_test(tc, a_failure_is_said);
	tcase_add_test(tc, each_card_has_its_own_capacity);
	tcase_add_test(tc, messages_of_every_group);
	tcase_add_test(tc, frames_of_the_gif);
	tcase_add_test(tc, pictures_of_the_page);
	tcase_add_loop_test(tc, of_every_strategy, 0, SUITE_CASES(sizeof strategies / sizeof strategies[0], 3));
	tcase_add_test(tc, tiny_and_large);
	suite_add_tcase(suite, tc);
	return suite_run(suite);
}
