/* The window's speed: drawing every scene at 1920 × 1080, from a key to the picture, and a trace of 200,000 spans.
 * Targets: the slowest scene under 8 ms, a key under 33 ms, opening under 1 s, scrolling at 30 pictures a second or
 * more.
 */
#include <SDL.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "sim/sim.h"
#include "strategy/model/model.h"
#include "strategy/strategy.h"
#include "viz/window.h"

enum { WIDTH = 1920, HEIGHT = 1080, REPEATS = 30, SPANS = 200000 };

static double now_ms(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

static void must(enum status s)
{
	if (s) {
		fprintf(stderr, "%s\n", status_message());
		exit(1);
	}
}

struct subject {
	struct model model;
	struct plan plan;
	struct trace trace;
	struct piece piece;
};

static void subject_open(struct subject *b, const char *model, const char *strategy, int64_t ranks)
{
	struct settings s = settings_default();
	struct cluster c;
	struct report r = {0};
	struct limits limits = {0};
	snprintf(s.model, sizeof s.model, "%s", model);
	snprintf(s.strategy, sizeof s.strategy, "%s", strategy);
	s.ranks = ranks;
	*b = (struct subject){0};
	must(settings_resolve(&s));
	must(model_open(&b->model, s.model, 0));
	must(plan_compile(&b->plan, &b->model, &s));
	must(cluster_open(&c, "a100-80gb", ranks));
	must(sim_run(&b->plan, &c, ranks <= SCORE_MESSAGE_RANKS ? GRAIN_MESSAGE : GRAIN_OPERATION, &b->trace, &r));
	limits.device_bytes = c.device_memory;
	must(piece_open(&b->piece, &b->trace, &limits, NULL));
	snprintf(b->piece.heading, sizeof b->piece.heading, "%s on %d ranks · %s", strategy, (int)ranks, model);
	snprintf(b->piece.label, sizeof b->piece.label, "%s", strategy);
	report_release(&r);
	cluster_release(&c);
}

static void subject_close(struct subject *b)
{
	piece_release(&b->piece);
	trace_release(&b->trace);
	plan_release(&b->plan);
	model_release(&b->model);
}

/* The best of several, of a step to another state and its picture: other programs only ever make it longer. */
static double draw_ms(struct player *p, cairo_t *cr)
{
	double best = 1e9;
	size_t at = export_steps(p) / 2;
	for (int i = 0; i < REPEATS; i++) {
		double begin = now_ms();
		export_go(p, at + (size_t)(i % 2));
		player_draw(p, cr, WIDTH, HEIGHT);
		double took = now_ms() - begin;
		best = took < best ? took : best;
	}
	return best;
}

static void bench_scenes(struct player *p, const struct fonts *fonts)
{
	static const struct {
		const char *model, *strategy;
		int64_t ranks;
	} cases[] = {{"mlp", "ddp", 4}, {"gpt", "zero3", 16}, {"gpt", "zero3", 64}, {"gpt2-124m", "fsdp", 8}};
	cairo_surface_t *surface = cairo_image_surface_create(CAIRO_FORMAT_RGB24, WIDTH, HEIGHT);
	cairo_t *cr = cairo_create(surface);
	double slowest = 0;
	printf("a step and its picture, %d x %d, ms:\n", WIDTH, HEIGHT);
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct subject b;
		subject_open(&b, cases[i].model, cases[i].strategy, cases[i].ranks);
		player_init(p, fonts);
		player_set_piece(p, &b.piece);
		printf("  %-9s %-5s %2d ranks ", cases[i].model, cases[i].strategy, (int)cases[i].ranks);
		for (int scene = 0; scene < SCENE_COUNT; scene++) {
			p->scene = (enum scene)scene;
			double took = draw_ms(p, cr);
			slowest = took > slowest ? took : slowest;
			printf("  %s %.1f", scene_name(p->scene), took);
		}
		printf("\n");
		player_release(p);
		subject_close(&b);
	}
	printf("  slowest %.1f (target 8)\n", slowest);
	cairo_destroy(cr);
	cairo_surface_destroy(surface);
}

/* On the display that there is, or SDL's dummy, whose windows are seen by nobody. */
static void bench_key(struct player *p, const struct fonts *fonts)
{
	struct subject b;
	struct window *w;
	struct picture size = {.width = WIDTH, .height = HEIGHT, .scale = 1};
	struct window_host host = {0};
	double best = 1e9, worst = 0;
	if (!getenv("DISPLAY") && !getenv("WAYLAND_DISPLAY"))
		setenv("SDL_VIDEODRIVER", "dummy", 0);
	subject_open(&b, "mlp", "ddp", 4);
	player_init(p, fonts);
	player_set_piece(p, &b.piece);
	must(window_open(&w, p, &size, &host, false));
	for (int i = 0; i < 5; i++)
		window_turn(w);
	for (int i = 0; i < REPEATS; i++) {
		SDL_Event e = {.key = {.type = SDL_KEYDOWN, .keysym = {.sym = i % 2 ? SDLK_LEFT : SDLK_RIGHT}}};
		double begin = now_ms();
		SDL_PushEvent(&e);
		window_turn(w);
		double took = now_ms() - begin;
		best = took < best ? took : best;
		worst = took > worst ? took : worst;
	}
	printf("a key to its picture on %s, ms: %.1f to %.1f (target 33)\n", SDL_GetCurrentVideoDriver(), best, worst);
	window_close(w);
	player_release(p);
	subject_close(&b);
}

/* As a profiler writes it: four threads, nested calls. */
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

static void bench_trace(struct player *p, const struct fonts *fonts)
{
	size_t size;
	char *text = foreign_trace(&size);
	struct trace_file f;
	struct piece piece = {.foreign = true};
	double begin = now_ms();
	must(trace_file_read(&f, text, size, "trace"));
	piece_open_foreign(&piece, &f);
	printf("a trace of %d spans (%.0f MB) opens in %.0f ms (target 1000)\n", SPANS, (double)size / 1e6,
	       now_ms() - begin);
	cairo_surface_t *surface = cairo_image_surface_create(CAIRO_FORMAT_RGB24, WIDTH, HEIGHT);
	cairo_t *cr = cairo_create(surface);
	player_init(p, fonts);
	player_set_piece(p, &piece);
	double all = draw_ms(p, cr), part = 0;
	for (int i = 0; i < REPEATS; i++) { /* a tenth of it, moving on */
		p->from = piece.lanes.end / 50 * i;
		p->to = p->from + piece.lanes.end / 10;
		begin = now_ms();
		player_draw(p, cr, WIDTH, HEIGHT);
		part += (now_ms() - begin) / REPEATS;
	}
	printf("  drawn whole in %.1f ms, scrolled at %.0f pictures a second (target 30)\n", all, 1e3 / part);
	cairo_destroy(cr);
	cairo_surface_destroy(surface);
	player_release(p);
	piece_release(&piece);
	trace_file_release(&f);
	free(text);
}

int main(void)
{
	struct fonts fonts;
	struct player *p = calloc(1, sizeof *p);
	must(fonts_open(&fonts));
	bench_scenes(p, &fonts);
	bench_key(p, &fonts);
	bench_trace(p, &fonts);
	fonts_release(&fonts);
	free(p);
	return 0;
}
