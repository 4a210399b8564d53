/* The stand-in for a GPU refuses what CUDA refuses, with CUDA's numbers of errors: else no test on it would notice. */
#include "tests/support/fake_cuda.h"
#include "tests/support/suite.h"

enum { NOT_PERMITTED = 800, CAPTURING = 900, INVALIDATED = 901, UNJOINED = 904, ISOLATION = 905, CAPTURED_EVENT = 907 };

static const struct cuda_api *api;
static struct kernel_context *gpu;
static kernel_stream stream, other;
static cuda_event event, later;
static void *device, *pinned;

static void must(int error)
{
	ck_assert_int_eq(error, 0);
}

static void begin(void)
{
	api = fake_cuda(&(struct fake_cuda_settings){.seed = 1});
	must(api->open(&gpu, 0, 1 << 20));
	must(api->stream_create(gpu, false, &stream));
	must(api->stream_create(gpu, true, &other));
	must(api->event_create(gpu, true, &event));
	must(api->event_create(gpu, true, &later));
	must(api->allocate(gpu, 64, &device));
	must(api->allocate_host(gpu, 64, &pinned));
}

static void end(void)
{
	api->release(gpu, device);
	api->release_host(gpu, pinned);
	api->event_destroy(gpu, event);
	api->event_destroy(gpu, later);
	api->stream_destroy(gpu, stream);
	api->stream_destroy(gpu, other);
	ck_assert_int_eq(fake_cuda_counts()->live, 0);
	api->close(gpu);
}

/* Calls that a capture forbids. */
static int call(int number)
{
	void *memory;
	kernel_stream s;
	cuda_event e;
	int64_t free_bytes, total;
	double seconds;
	bool done;
	char pageable[64];
	switch (number) {
	case 0:
		return api->allocate(gpu, 1, &memory);
	case 1:
		return api->allocate_host(gpu, 1, &memory);
	case 2:
		return api->memory(gpu, &free_bytes, &total);
	case 3:
		return api->stream_create(gpu, false, &s);
	case 4:
		return api->stream_synchronize(gpu, other);
	case 5:
		return api->event_create(gpu, false, &e);
	case 6:
		return api->event_is_done(gpu, event, &done);
	case 7:
		return api->event_elapsed(gpu, event, event, &seconds);
	case 8:
		return api->capture_begin(gpu, other);
	default:
		return api->kernels.copy(gpu, stream, device, pageable, sizeof pageable);
	}
}
enum { CALLS = 10 };

START_LOOP_TEST(calls_invalidate_a_capture, 0, CALLS)
{
	cuda_graph graph;
	must(api->capture_begin(gpu, stream));
	ck_assert_int_eq(call(_i), CAPTURING);
	ck_assert_int_eq(api->capture_end(gpu, stream, &graph), INVALIDATED);
	ck_assert_ptr_null(graph);
	must(api->stream_synchronize(gpu, stream)); /* and then all is well again */
}

START_TEST(captures_are_closed)
{
	cuda_graph graph;
	must(api->event_record(gpu, event, other));
	must(api->capture_begin(gpu, stream));
	ck_assert_int_eq(api->stream_wait(gpu, stream, event), ISOLATION);
	must(api->event_record(gpu, later, stream));
	must(api->stream_wait(gpu, other, later));
	must(api->kernels.copy(gpu, other, pinned, device, 64));
	ck_assert_int_eq(api->capture_end(gpu, stream, &graph), UNJOINED);
	must(api->stream_synchronize(gpu, other));
}

START_TEST(events_of_a_capture_stay_in_it)
{
	cuda_graph graph;
	bool done;
	double seconds;
	must(api->capture_begin(gpu, stream));
	must(api->event_record(gpu, event, stream));
	must(api->kernels.copy(gpu, stream, pinned, device, 64));
	must(api->capture_end(gpu, stream, &graph));
	must(api->graph_launch(gpu, graph, stream));
	must(api->stream_synchronize(gpu, stream));
	ck_assert_int_eq(api->stream_wait(gpu, other, event), CAPTURED_EVENT);
	ck_assert_int_eq(api->event_is_done(gpu, event, &done), CAPTURED_EVENT);
	ck_assert_int_eq(api->event_elapsed(gpu, event, event, &seconds), CAPTURED_EVENT);
	must(api->event_record(gpu, event, stream)); /* until it is recorded again */
	must(api->stream_wait(gpu, other, event));
	must(api->stream_synchronize(gpu, other));
	api->graph_destroy(gpu, graph);
}

static void call_back(void *error)
{
	*(int *)error = api->kernels.fill(gpu, stream, device, 0, 64);
}

START_TEST(host_calls_may_not_call)
{
	int error = 0;
	must(api->host_call(gpu, stream, call_back, &error));
	must(api->stream_synchronize(gpu, stream));
	ck_assert_int_eq(error, NOT_PERMITTED);
}

START_TEST(the_workspace_is_one_streams)
{
	must(api->kernels.vector_squares(gpu, stream, ELEMENT_FP32, 1, device, (float *)device + 1, false));
	ck_assert_int_ne(api->kernels.vector_squares(gpu, other, ELEMENT_FP32, 1, device, (float *)device + 1, false),
	                 0);
	must(api->kernels.vector_add(gpu, other, ELEMENT_FP32, 1, device, device));
	must(api->stream_synchronize(gpu, stream));
	must(api->stream_synchronize(gpu, other));
}

SUITE_WITH("fake cuda", 0, begin, end)
