/* The window's speed: drawing every scene at 1920 × 1080 in every theme, from a key to the picture, and traces of
 * 200,000 spans, of another program and of a plan; and how long the page of a step takes.
 * Targets: the slowest scene under 8 ms, a key under 33 ms, opening under 1 s, scrolling at 30 pictures a second or
 * more.
 */
#include <SDL.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command/view_open.h"
#include "sim/sim.h"
#include "tests/bench/bench.h"
#include "tests/support/plans.h"
#include "viz/window/window.h"

enum { WIDTH = 1920, HEIGHT = 1080, REPEATS = 30, ROUNDS = 5, SPANS = 200000 };

static double now_ms(void)
{
	return 1e3 * clock_seconds();
}

struct subject {
	struct made made;
	struct trace trace;
	struct trace_view shown;
};

static void subject_open(struct subject *b, const char *model, const char *strategy, int64_t ranks, int64_t accumulate)
{
	struct settings s = settings_of("%s %s ranks=%d batch=%d accumulate=%d", model, strategy, (int)ranks,
	                                (int)(4 * ranks * accumulate), (int)accumulate);
	struct cluster c;
	struct report r = {0};
	struct limits limits = {0};
	*b = (struct subject){0};
	must(made_open(&b->made, &s));
	must(cluster_open(&c, "a100-80gb", ranks));
	must(sim_run(&b->made.plan, &c, ranks <= TIMELINE_MESSAGE_RANKS ? GRAIN_MESSAGE : GRAIN_OPERATION, &b->trace,
	             &r));
	limits.device_bytes = c.device_memory;
	must(trace_view_open(&b->shown, &b->trace, &limits, NULL));
	snprintf(b->shown.heading, sizeof b->shown.heading, "%s on %d ranks · %s", strategy, (int)ranks, model);
	snprintf(b->shown.label, sizeof b->shown.label, "%s", strategy);
	report_release(&r);
	cluster_release(&c);
}

static void subject_close(struct subject *b)
{
	trace_view_release(&b->shown);
	trace_release(&b->trace);
	made_release(&b->made);
}

/* The time to step to another state and draw it: the median of several, and the lowest of such medians, since other
 * programs only ever make it longer. */
static double draw_ms(struct playback *p, cairo_t *cr, int repeats)
{
	double took[REPEATS], lowest = 1e9;
	size_t at = export_steps(p) / 2;
	for (int round = 0; round < ROUNDS; round++) {
		for (int i = 0; i < repeats; i++) {
			double begin = now_ms();
			export_go(p, at + (size_t)(i % 2));
			playback_draw(p, cr, WIDTH, HEIGHT);
			took[i] = now_ms() - begin;
		}
		double middle = median(took, repeats);
		lowest = middle < lowest ? middle : lowest;
	}
	return lowest;
}

struct slowest {
	double ms;
	char what[64];
};

/* A scene in all themes: the slowest of them. */
static double all_themes(struct playback *p, cairo_t *cr, const char *subject, const char *scene,
                         struct slowest *of_all)
{
	double slowest = 0;
	for (int theme = 0; theme < THEME_COUNT; theme++) {
		p->theme = (enum theme_name)theme;
		double took = draw_ms(p, cr, 7);
		slowest = took > slowest ? took : slowest;
		if (took > of_all->ms) {
			of_all->ms = took;
			snprintf(of_all->what, sizeof of_all->what, "%.20s, %.16s, %.16s", subject, scene,
			         theme_of(p->theme)->name);
		}
	}
	return slowest;
}

static void bench_scenes(struct playback *p, const struct fonts *fonts)
{
	static const struct {
		const char *model, *strategy;
		int64_t ranks, accumulate;
	} cases[] = {{"mlp", "ddp", 4, 1},
	             {"gpt", "zero3", 16, 1},
	             {"gpt", "zero3", 64, 1},
	             {"gpt2-124m", "fsdp", 8, 1},
	             {"gpt2-124m", "pipeline", 4, 8}};
	static const char *const others[] = {"single", "ddp", "zero1", "zero2", "zero3", "fsdp"};
	enum { OTHERS = sizeof others / sizeof others[0] };
	cairo_surface_t *surface = cairo_image_surface_create(CAIRO_FORMAT_RGB24, WIDTH, HEIGHT);
	cairo_t *cr = cairo_create(surface);
	struct slowest slowest = {0};
	printf("a step and its picture, %d x %d, lowest median of %d, ms, of the slowest theme:\n", WIDTH, HEIGHT,
	       ROUNDS);
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct subject b;
		static struct subject other[OTHERS];
		subject_open(&b, cases[i].model, cases[i].strategy, cases[i].ranks, cases[i].accumulate);
		playback_init(p, fonts);
		playback_show(p, &b.shown);
		printf("  %-9s %-8s %2d ranks ", cases[i].model, cases[i].strategy, (int)cases[i].ranks);
		for (int scene = 0; scene < SCENE_COUNT; scene++) {
			p->scene = (enum scene)scene;
			printf("  %s %.1f", scene_name(p->scene),
			       all_themes(p, cr, cases[i].model, scene_name(p->scene), &slowest));
		}
		bool compare = cases[i].ranks <= TIMELINE_MESSAGE_RANKS && !strstr(cases[i].model, "gpt2");
		for (int k = 0; compare && k < OTHERS; k++) {
			subject_open(&other[k], cases[i].model, others[k], k ? cases[i].ranks : 1, 1);
			p->contender[p->contender_count++] = &other[k].shown;
		}
		p->compare = compare;
		if (compare)
			printf("  compare %.1f", all_themes(p, cr, cases[i].model, "compare", &slowest));
		printf("\n");
		playback_release(p);
		for (int k = 0; compare && k < OTHERS; k++)
			subject_close(&other[k]);
		subject_close(&b);
	}
	printf("  slowest %.1f: %s (target 8)\n", slowest.ms, slowest.what);
	cairo_destroy(cr);
	cairo_surface_destroy(surface);
}

/* All steps and scenes in a file. */
static void bench_page(struct playback *p, const struct fonts *fonts)
{
	struct subject b;
	struct picture size = {.width = 1280, .height = 720, .scale = 1, .delay = 80};
	char *page = NULL;
	size_t bytes = 0;
	FILE *out = open_memstream(&page, &bytes);
	if (!out)
		exit(1);
	subject_open(&b, "gpt2-124m", "zero3", 4, 1);
	playback_init(p, fonts);
	playback_show(p, &b.shown);
	double begin = now_ms();
	must(export_write(p, EXPORT_HTML, &size, false, out));
	double took = now_ms() - begin;
	fclose(out);
	printf("a page of gpt2-124m, zero3, 4 ranks: %zu steps, %.2f MB in %.1f s (target 3 MB, 5 s)\n",
	       export_steps(p), (double)bytes / 1e6, took / 1e3);
	free(page);
	playback_release(p);
	subject_close(&b);
}

/* On the display that there is (bench_view_display.sh brings one), or SDL's dummy, whose windows are seen by nobody. */
static void bench_key(struct playback *p, const struct fonts *fonts)
{
	struct subject b;
	struct window *w;
	struct picture size = {.width = WIDTH, .height = HEIGHT, .scale = 1};
	struct window_host host = {0};
	double took[REPEATS];
	if (!getenv("DISPLAY") && !getenv("WAYLAND_DISPLAY"))
		setenv("SDL_VIDEODRIVER", "dummy", 0);
	subject_open(&b, "mlp", "ddp", 4, 1);
	playback_init(p, fonts);
	playback_show(p, &b.shown);
	must(window_open(&w, p, &size, &host, false));
	for (int i = 0; i < 5; i++)
		window_turn(w);
	for (int i = 0; i < REPEATS; i++) {
		SDL_Event e = {.key = {.type = SDL_KEYDOWN, .keysym = {.sym = i % 2 ? SDLK_LEFT : SDLK_RIGHT}}};
		double begin = now_ms();
		SDL_PushEvent(&e);
		window_turn(w);
		took[i] = now_ms() - begin;
	}
	double middle = median(took, REPEATS);
	printf("a key to its picture on SDL's driver %s, ms: median %.1f, slowest %.1f (target 33)\n",
	       SDL_GetCurrentVideoDriver(), middle, took[REPEATS - 1]);
	window_close(w);
	playback_release(p);
	subject_close(&b);
}

/* ---- what if ---- */

static double key_ms(struct window *w, SDL_Keycode key)
{
	SDL_Event e = {.key = {.type = SDL_KEYDOWN, .keysym = {.sym = key}}};
	double begin = now_ms();
	SDL_PushEvent(&e);
	window_turn(w);
	return now_ms() - begin;
}

static void type(struct window *w, const char *text)
{
	for (; *text; text++) {
		SDL_Event e = {.text = {.type = SDL_TEXTINPUT, .text = {*text}}};
		window_handle(w, &e);
	}
}

static void choose(struct viewer *v, struct window *w, const char *row)
{
	do
		key_ms(w, SDLK_DOWN);
	while (strcmp(v->whatif.rows[v->whatif.row].name, row) != 0);
}

/* Another size of the bucket each time, so that no step is there already: from Enter to the picture. */
static void bench_what_if(const struct fonts *fonts, const char *model, const char *strategy, const char *ranks)
{
	enum { CHANGES = 9 };
	const char *const arguments[] = {"--model", model, "--strategy", strategy,
	                                 "--ranks", ranks, "--cluster",  "v100-16gb"};
	struct picture size = {.width = WIDTH, .height = HEIGHT, .scale = 1};
	struct viewer *v = bench_zeroed(1, sizeof *v);
	struct options o;
	struct window *w;
	double took[CHANGES], keys[CHANGES];
	must(options_parse(&o, COMMAND_VIEW, sizeof arguments / sizeof arguments[0], (char **)(uintptr_t)arguments));
	playback_init(&v->playback, fonts);
	must(viewer_begin(v, &o));
	struct window_host host = viewer_host(v);
	must(window_open(&w, &v->playback, &size, &host, false));
	type(w, "w");
	choose(v, w, "bucket");
	for (int i = 0; i < CHANGES; i++) {
		char bytes[24];
		snprintf(bytes, sizeof bytes, "%dkB", 4000 + i);
		key_ms(w, SDLK_RETURN);
		type(w, bytes);
		took[i] = key_ms(w, SDLK_RETURN);
	}
	for (int i = 0; i < CHANGES; i++)
		keys[i] = key_ms(w, i % 2 ? SDLK_PAGEUP : SDLK_PAGEDOWN);
	if (*v->whatif.refused)
		bench_fail(v->whatif.refused);
	printf("  %-10.10s %-6s %3s ranks: %.0f", model, strategy, ranks, median(took, CHANGES));
	printf(", slowest %.0f; a key then %.1f\n", took[CHANGES - 1], median(keys, CHANGES));
	window_close(w);
	viewer_release(v);
	free(v);
}

static void bench_changes(const struct fonts *fonts)
{
	static const char *const models[] = {"gpt:layers=6,width=512,heads=8,vocabulary=32768", "gpt2-124m"};
	static const char *const strategies[] = {"ddp", "zero3"}, *const ranks[] = {"4", "64"};
	printf("what if: from a changed setting to the picture, ms (target 100; a key 33):\n");
	for (int i = 0; i < 8; i++)
		bench_what_if(fonts, models[i / 4], strategies[i / 2 % 2], ranks[i % 2]);
}

/* Opened, drawn whole, and a tenth of it moving on. */
static void bench_lanes(struct playback *p, const struct fonts *fonts, struct trace_view *shown)
{
	cairo_surface_t *surface = cairo_image_surface_create(CAIRO_FORMAT_RGB24, WIDTH, HEIGHT);
	cairo_t *cr = cairo_create(surface);
	playback_init(p, fonts);
	playback_show(p, shown);
	p->scene = SCENE_TIMELINE;
	double all = draw_ms(p, cr, REPEATS), took[REPEATS];
	for (int i = 0; i < REPEATS; i++) {
		p->from = shown->lanes.end / 50 * i;
		p->to = p->from + shown->lanes.end / 10;
		double begin = now_ms();
		playback_draw(p, cr, WIDTH, HEIGHT);
		took[i] = now_ms() - begin;
	}
	printf("  drawn whole in %.1f ms, scrolled at %.0f pictures a second (target 30)\n", all,
	       1e3 / median(took, REPEATS));
	cairo_destroy(cr);
	cairo_surface_destroy(surface);
	playback_release(p);
	trace_view_release(shown);
}

/* A file that `sim --trace` wrote, with its plan, in as many micro-batches as make the spans. */
static void bench_file(struct playback *p, const struct fonts *fonts)
{
	char path[] = "/tmp/bench_view.XXXXXX";
	int descriptor = mkstemp(path);
	FILE *out = descriptor < 0 ? NULL : fdopen(descriptor, "w");
	struct subject b;
	struct trace_file f;
	struct trace_view shown = {0};
	size_t spans[2];
	if (!out)
		bench_fail("no file in /tmp");
	for (int64_t i = 0; i < 2; i++) { /* a micro-batch has always as many */
		subject_open(&b, "gpt2-124m", "ddp", 64, 1 + i);
		spans[i] = b.trace.span_count;
		subject_close(&b);
	}
	size_t more = spans[1] - spans[0];
	subject_open(&b, "gpt2-124m", "ddp", 64, 1 + (int64_t)((SPANS - spans[0] + more - 1) / more));
	must(trace_write(&b.trace, out));
	spans[0] = b.trace.span_count;
	subject_close(&b);
	fclose(out);
	double begin = now_ms();
	must(trace_file_open(&f, path));
	must(trace_view_open(&shown, &f.trace, NULL, NULL));
	printf("a file with a plan and %zu spans of it opens in %.0f ms (target 1000)\n", spans[0], now_ms() - begin);
	remove(path);
	bench_lanes(p, fonts, &shown);
	trace_file_release(&f);
}

/* A trace like a profiler's: four threads, nested calls. */
static char *foreign_trace(size_t *size)
{
	char *text = NULL;
	FILE *out = open_memstream(&text, size);
	fputs("{\"traceEvents\":[\n{\"ph\":\"M\",\"pid\":7,\"name\":\"process_name\",\"args\":{\"name\":\"python\"}}",
	      out);
	for (int i = 0; i < SPANS; i++)
		fprintf(out,
		        ",\n{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"aten::op%d\",\"pid\":7,\"tid\":%d,\"ts\":%d.%"
		        "03d,\"dur\":%d.250,"
		        "\"args\":{\"External id\":%d,\"Ev Idx\":%d}}",
		        i % 300, i % 4, 1000000 + i * 3, i % 1000, i % 3 ? 5 : 40, i, i);
	fputs("\n]}\n", out);
	fclose(out);
	return text;
}

static void bench_trace(struct playback *p, const struct fonts *fonts)
{
	size_t size;
	char *text = foreign_trace(&size);
	struct trace_file f;
	struct trace_view shown = {.foreign = true};
	double begin = now_ms();
	must(trace_file_read(&f, text, size, "trace"));
	trace_view_open_foreign(&shown, &f);
	printf("a trace of %d spans (%.0f MB) opens in %.0f ms (target 1000)\n", SPANS, (double)size / 1e6,
	       now_ms() - begin);
	bench_lanes(p, fonts, &shown);
	trace_file_release(&f);
	free(text);
}

/* With the word "key": from a key to its picture alone. */
int main(int argc, char **argv)
{
	struct fonts fonts;
	struct playback *p = calloc(1, sizeof *p);
	bool key = argc > 1 && !strcmp(argv[1], "key");
	setvbuf(stdout, NULL, _IOLBF, 0);
	must(fonts_open(&fonts));
	if (!key)
		bench_scenes(p, &fonts);
	bench_page(p, &fonts);
	bench_key(p, &fonts);
	bench_changes(&fonts);
	if (!key) {
		bench_trace(p, &fonts);
		bench_file(p, &fonts);
	}
	fonts_release(&fonts);
	free(p);
	return 0;
}
