/* Another program's trace: tests/golden/torch_profiler.json is as PyTorch's profiler writes it, with two GPUs. Its
 * times in us, worked out by hand; the recorded time is 100 to 650:
 *
 *     GPU 0, stream 7     gemm 100–300, add 400–450, Memcpy HtoD 600–650
 *     GPU 0, stream 20    nccl 250–500: beside gemm for 50 and add for 50
 *     GPU 1, stream 7     gemm 120–320, add 350–370, Memset 530–540
 *     GPU 1, stream 20    nccl 320–520: beside add for 20
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/suite.h"
#include "tests/viz/hands.h"
#include "tests/viz/picture_fixture.h"
#include "viz/scene/lane_foreign.h"
#include "viz/scene/scene_parts.h"

static struct trace_file file;
static struct trace_view shown;

static void show(void)
{
	trace_view_open_foreign(&shown, &file);
	open_playback(&shown);
}

static void open_golden(void)
{
	ck_assert_msg(!trace_file_open(&file, "tests/golden/torch_profiler.json"), "%s", status_message());
	show();
}

static void open_text(const char *text)
{
	ck_assert_msg(!trace_file_read(&file, text, strlen(text), "x.json"), "%s", status_message());
	show();
}

static void close_trace(void)
{
	close_window();
	close_playback();
	trace_view_release(&shown);
	trace_file_release(&file);
}

static const char *caption(void)
{
	static char text[CAPTION_SIZE];
	foreign_caption(&shown.lanes, playback.selected_rank, playback.selected_op, text, sizeof text);
	return text;
}

/* The tip of the selected span. */
static void ck_tells(const char *words)
{
	char text[512];
	foreign_span_words(&shown.lanes, playback.selected_rank, playback.selected_op, text, sizeof text);
	ck_assert_msg(strstr(text, words), "no '%s' in '%s'", words, text);
}

static void ck_says(const char *words)
{
	ck_assert_msg(strstr(caption(), words), "no '%s' in '%s'", words, caption());
}

/* ---- what is read ---- */

/* Ordered by process and sort index, whatever the order in the file; an idle GPU has no lane. */
START_TEST(processes_and_lanes_are_in_order)
{
	static const struct {
		enum lane_kind kind;
		const char *process, *name;
	} rows[] = {{LANE_PROCESS, "python (CPU)", ""},
	            {LANE_SPANS, "python (CPU)", "thread 4242 (python)"},
	            {LANE_SPANS, "python (CPU)", "thread 4300 (pt_autograd_0)"},
	            {LANE_PROCESS, "python (GPU 0)", ""},
	            {LANE_SPANS, "python (GPU 0)", "stream 7"},
	            {LANE_SPANS, "python (GPU 0)", "stream 20"},
	            {LANE_COUNTER, "python (GPU 0)", "GPU memory (MiB): allocated"},
	            {LANE_COUNTER, "python (GPU 0)", "GPU memory (MiB): reserved"},
	            {LANE_PROCESS, "python (GPU 1)", ""},
	            {LANE_SPANS, "python (GPU 1)", "stream 7"},
	            {LANE_SPANS, "python (GPU 1)", "stream 20"},
	            {LANE_PROCESS, "Spans", ""},
	            {LANE_SPANS, "Spans", "PyTorch Profiler"}};
	open_golden();
	ck_assert_int_eq(shown.lanes.lane_count, sizeof rows / sizeof rows[0]);
	for (int i = 0; i < shown.lanes.lane_count; i++) {
		ck_assert_int_eq(shown.lanes.lanes[i].kind, rows[i].kind);
		ck_assert_str_eq(shown.lanes.lanes[i].process, rows[i].process);
		ck_assert_str_eq(shown.lanes.lanes[i].name, rows[i].name);
	}
}

START_TEST(processes_of_one_name_are_told_apart)
{
	open_text("[{\"ph\":\"X\",\"name\":\"a\",\"pid\":8,\"tid\":1,\"ts\":1,\"dur\":1},"
	          "{\"ph\":\"X\",\"name\":\"b\",\"pid\":7,\"tid\":1,\"ts\":1,\"dur\":1},"
	          "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":7,\"args\":{\"name\":\"python\"}},"
	          "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":8,\"args\":{\"name\":\"python\"}}]");
	ck_assert_int_eq(file.process_count, 2);
	ck_assert_str_eq(file.processes[0].name, "python, 7");
	ck_assert_str_eq(file.processes[1].name, "python, 8");
	ck_assert_str_eq(file.spans[0].name, "b");
}

START_TEST(counters_are_curves)
{
	static const double wanted[] = {100, 160, 130, 100};
	open_golden();
	ck_assert_int_eq(file.counter_count, 2);
	ck_assert_uint_eq(file.counters[0].point_count, 4);
	for (int i = 0; i < 4; i++)
		ck_assert(file.counters[0].points[i].value == wanted[i]);
	ck_assert_int_eq(file.counters[0].points[1].time, 100000);
	ck_assert(file.counters[1].least == 200 && file.counters[1].most == 256);
}

/* One of the flows ends, in the file, before it starts; another has the same number in another category. */
START_TEST(flows_lead_from_span_to_span)
{
	static const struct {
		const char *from, *to;
	} wanted[] = {{"cudaLaunchKernel", "ampere_sgemm"},
	              {"aten::linear", "MmBackward0"},
	              {"cudaLaunchKernelExC", "ncclDevKernel"},
	              {"cudaLaunchKernel", "void at::native"},
	              {"cudaMemcpyAsync", "Memcpy HtoD"}};
	open_golden();
	ck_assert_uint_eq(file.flow_count, sizeof wanted / sizeof wanted[0]);
	for (size_t i = 0; i < file.flow_count; i++) {
		ck_assert_str_eq(file.spans[file.flows[i].from].name, wanted[i].from);
		ck_assert(!strncmp(file.spans[file.flows[i].to].name, wanted[i].to, strlen(wanted[i].to)));
	}
}

/* ---- what GPUs do ---- */

START_TEST(exposed_time_is_as_by_hand)
{
	static const int64_t wanted[][4] = {{250, 300, 200, 100}, {230, 200, 180, 140}};
	open_golden();
	const struct gpu_use *u = &shown.lanes.gpus;
	ck_assert_int_eq(u->count, 2);
	ck_assert_int_eq(u->begin, 100000);
	ck_assert_int_eq(u->end, 650000);
	for (int i = 0; i < 2; i++) {
		const struct gpu_process *g = &u->gpus[i];
		ck_assert_int_eq(g->compute, 1000 * wanted[i][0]);
		ck_assert_int_eq(g->communication, 1000 * wanted[i][1]);
		ck_assert_int_eq(g->exposed, 1000 * wanted[i][2]);
		ck_assert_int_eq(g->idle, 1000 * wanted[i][3]);
		ck_assert_int_eq(g->compute + g->exposed + g->idle, u->end - u->begin);
	}
	ck_assert_uint_eq(u->exposed_count, 3); /* the range around a kernel does not count again */
	ck_assert_int_eq(u->exposed[0].exposed, 180000);
	ck_assert_int_eq(u->exposed[1].exposed, 150000);
	ck_assert_int_eq(u->exposed[2].exposed, 50000);
	ck_says("python (GPU 0): compute 250.0 µs (45.5 %), communication 300.0 µs (54.5 %), exposed 200.0 µs (36.4 "
	        "%), "
	        "idle 100.0 µs (18.2 %)");
	ck_says("python (GPU 1): compute 230.0 µs (41.8 %)");
}

static const struct {
	const char *category, *thread, *name;
	enum gpu_kind kind;
} names[] = {{"kernel", "7", "ncclDevKernel_AllReduce_Sum_f32_RING_LL", GPU_COMMUNICATION},
             {"kernel", "7", "ncclKernel_Broadcast_RING_LL_Sum_int8_t", GPU_COMMUNICATION},
             {"gpu_user_annotation", "7", "nccl:all_reduce", GPU_COMMUNICATION},
             {"gpu_user_annotation", "7", "ProfilerStep#3", GPU_NONE},
             {"gpu_memcpy", "7", "Memcpy HtoD (Pageable -> Device)", GPU_COMMUNICATION},
             {"gpu_memcpy", "7", "Memcpy PtoP (Device -> Device)", GPU_COMMUNICATION},
             {"gpu_memcpy", "7", "Memcpy DtoD (Device -> Device)", GPU_COMPUTE},
             {"gpu_memset", "7", "Memset (Device)", GPU_COMPUTE},
             {"", "Stream #20(MemcpyH2D)", "MemcpyH2D", GPU_COMMUNICATION},
             {"", "stream 7", "sm90_xmma_gemm_bf16", GPU_COMPUTE},
             {"Kernel", "7", "anything", GPU_COMPUTE},
             {"cpu_op", "thread 1", "nccl:all_reduce", GPU_NONE},
             {"cuda_runtime", "thread 1", "cudaMemcpyAsync", GPU_NONE}};

START_LOOP_TEST(names_say_what_a_span_is, 0, (int)(sizeof names / sizeof names[0]))
{
	const char *what;
	ck_assert_int_eq(gpu_kind_of(names[_i].category, names[_i].thread, names[_i].name, &what), names[_i].kind);
}

/* How much of a GPU's heading has the colour of computing, per cent of the plot's width. */
static int computing_in_heading(int heading)
{
	enum { WIDTH = 1280, HEIGHT = 720 };
	cairo_t *cr = sheet_open(WIDTH, HEIGHT);
	struct canvas c = {.width = WIDTH, .height = HEIGHT};
	struct lane_area l;
	playback_draw(&playback, cr, WIDTH, HEIGHT);
	const struct view *v = playback_view(&playback);
	lane_area_lay(&l, v, v->lanes, frame_scene(v, (struct box){0, 0, c.width, c.height}), true);
	double y = l.plot.y + l.row / 2;
	for (int i = 0; i < heading; i++)
		y += l.row * shown.lanes.lanes[i].depth;
	int count = 0, first = (int)l.plot.x + 2, end = (int)(l.plot.x + l.plot.width);
	for (int row = -12; row < 12; row++) /* the strip */
		for (int x = first; x < end; x++)
			count += sheet_pixel(cr, x, (int)y + row) == 0x56B4E9;
	cairo_destroy(cr);
	return 100 * count / (24 * (end - first));
}

/* Kernels that are much shorter than a pixel: three quarters of the time something computes. */
START_TEST(headings_sum_up_short_kernels)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	ck_assert_ptr_nonnull(out);
	for (int i = 0; i < 20000; i++)
		fprintf(out,
		        "%s{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"%s\",\"pid\":0,\"tid\":7,\"ts\":%d,\"dur\":%d}",
		        i ? "," : "[", i % 2 ? "ncclDevKernel" : "gemm", i / 2 * 4 + (i % 2 ? 3 : 0), i % 2 ? 1 : 3);
	fprintf(out, "]");
	ck_assert(!fclose(out));
	open_text(text);
	ck_assert_int_eq(shown.lanes.gpus.gpus[0].exposed, 10000000);
	int share = computing_in_heading(0);
	ck_assert_msg(share > 65 && share < 80, "%d %%", share);
	free(text);
}

/* ---- the window ---- */

static void open_window_of_golden(void)
{
	open_golden();
	open_window(&playback, 1280, 720, &(struct window_host){0});
}

START_TEST(highlights_are_the_longest_exposed)
{
	open_window_of_golden();
	type("n");
	ck_assert_int_eq(playback.cursor, 320000);
	ck_says("allreduce (ncclDevKernel_AllReduce_Sum_f32_RING_LL): 200.0 µs, from 320.0 µs; exposed for 180.0 µs; "
	        "bus\u00a021.0\u00a0GB/s");
	ck_tells("; device 1, stream 20, allreduce of 1048576 elements of Float on 2 ranks");
	type("n");
	ck_says("250.0 µs, from 250.0 µs; exposed for 150.0 µs");
	ck_tells("launched by cudaLaunchKernelExC");
	type("n");
	ck_assert_int_eq(playback.cursor, 600000);
	ck_says("Memcpy HtoD (Pinned -> Device) (copy): 50.00 µs");
	ck_tells("524288 B");
	type("n");
	ck_assert_ptr_nonnull(strstr(playback.note, "the shortest of 3 exposed"));
	ck_assert_int_eq(playback.selected_op, -1);
	type("n");
	ck_assert_int_eq(playback.cursor, 320000);
}

START_TEST(keys_select_and_move_the_cursor)
{
	static const int64_t begins[] = {10000, 15000, 40000, 70000};
	open_window_of_golden();
	for (int i = 0; i < 4; i++) {
		press(SDLK_RIGHT);
		ck_assert_int_eq(playback.cursor, begins[i]);
	}
	press(SDLK_LEFT);
	ck_assert_int_eq(playback.cursor, 40000);
	press(SDLK_DOWN);
	ck_tells("cudaLaunchKernel: 10.00 µs, from 40.00 µs; leads to ampere_sgemm_128x64_tn");
	press(SDLK_DOWN);
	ck_says("c10d::allreduce_");
	press(SDLK_UP);
	press(SDLK_UP);
	ck_says("aten::mm");
	press(SDLK_UP);
	ck_tells("input [[32, 1024]");
	press(SDLK_RETURN);
	ck_assert_int_eq(playback.cursor, 10000);
	type("r"); /* the next lane */
	ck_says("MmBackward0");
	type("r");
	ck_says("ampere_sgemm_128x64_tn (matrix product): 200.0 µs");
	press(SDLK_UP);
	ck_assert_ptr_nonnull(strstr(playback.note, "no span before"));
	press(SDLK_END);
	ck_assert_int_eq(playback.cursor, 700000);
	press(SDLK_RIGHT);
	ck_assert_ptr_nonnull(strstr(playback.note, "No span begins after"));
	press(SDLK_HOME);
	ck_assert_int_eq(playback.cursor, 0);
}

/* A click sets the cursor, and selects what lies there. */
START_TEST(clicks_select)
{
	open_window_of_golden();
	struct canvas c = {.width = 1280, .height = 720};
	struct lane_area l;
	struct box all = window_scene_box(w, &c);
	const struct view *v = playback_view(&playback);
	lane_area_lay(&l, v, v->lanes, frame_scene(v, all), true);
	double y = l.plot.y;
	for (int i = 0; i < 10; i++)
		y += l.row * shown.lanes.lanes[i].depth;
	struct hit h = scene_hit(&c, v, all, lane_area_x(&l, 420000), y + l.row / 2);
	ck_assert_int_eq(h.rank, 10);
	ck_assert_int_eq(h.op, 0);
	ck_assert(h.time >= 419000 && h.time <= 421000);
	ck_assert_ptr_nonnull(strstr(h.text, "exposed for 180.0 µs"));
}

/* ---- what is missing is said ---- */

START_TEST(without_a_gpu_it_says_so)
{
	open_window_of_golden();
	close_trace();
	open_text("[{\"ph\":\"X\",\"name\":\"a\",\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":1}]");
	ck_says("No span in it runs on a GPU");
	open_window(&playback, 1280, 720, &(struct window_host){0});
	type("n");
	ck_assert_ptr_nonnull(strstr(playback.note, "No span of this trace runs on a GPU"));
}

/* Odd events are left out, or refused in a line; none of them is a crash. */
START_TEST(odd_counters_and_flows)
{
	open_text(
	        "[{\"ph\":\"X\",\"name\":\"a\",\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":1},"
	        "{\"ph\":\"C\",\"name\":\"c\",\"pid\":1,\"ts\":2,\"args\":{\"value\":1e999,\"x\":\"text\",\"y\":[1]}},"
	        "{\"ph\":\"C\",\"name\":\"c\",\"pid\":1,\"ts\":2,\"args\":7},{\"ph\":\"C\",\"name\":\"c\",\"ts\":-2},"
	        "{\"ph\":\"s\",\"pid\":1,\"tid\":9,\"ts\":2,\"id\":1},{\"ph\":\"f\",\"pid\":1,\"tid\":1,\"ts\":9,"
	        "\"id\":1},"
	        "{\"ph\":\"M\",\"name\":\"process_sort_index\",\"pid\":1,\"args\":{\"sort_index\":1e30}}]");
	ck_assert_uint_eq(file.flow_count, 0);
	for (int i = 0; i < file.counter_count; i++)
		ck_assert_uint_eq(file.counters[i].point_count, 0);
	close_trace();
	static const char alone[] = "[{\"ph\":\"C\",\"name\":\"c\",\"pid\":1,\"ts\":2}]";
	ck_assert_int_eq(trace_file_read(&file, alone, sizeof alone - 1, "x.json"), STATUS_INPUT);
	ck_assert_ptr_nonnull(strstr(status_message(), "nothing to show"));
}

SUITE_WITH("foreign", 0, NULL, close_trace)
