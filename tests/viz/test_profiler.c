/* Arguments of events as PyTorch's profiler writes them: collectives, and instants of memory. */
#include <check.h>
#include <string.h>

#include "tests/support/suite.h"
#include "viz/scene/lane_foreign.h"
#include "viz/scene/scene_parts.h"
#include "viz/timeline/speed.h"
#include "viz/window/parts.h"

static struct trace_file file;
static struct trace_view shown;

static void open_text(const char *text)
{
	ck_assert_msg(!trace_file_read(&file, text, strlen(text), "x.json"), "%s", status_message());
	trace_view_open_foreign(&shown, &file);
}

static void close_all(void)
{
	trace_view_release(&shown);
	trace_file_release(&file);
}

/* ---- the bandwidth of collectives ---- */

/* 4 ranks, 8,000,000 B in 1 ms: 8 GB/s, times the factor of nccl-tests, doc/PERFORMANCE.md. 0: nothing says what it is.
 */
static const struct {
	const char *name, *collective;
	double factor;
} collectives[] = {{"ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)", "all_to_allv", 0.75},
                   {"ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)", "all_to_all", 0.75},
                   {"ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)", "send", 1},
                   {"ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)", "recv", 1},
                   {"ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)", NULL, 0},
                   {"ncclDevKernel_Generic(ncclDevKernelArgsStorage<4096ul>)", "_reduce_scatter_base", 0.75},
                   {"ncclDevKernel_Generic(ncclDevKernelArgsStorage<4096ul>)", "_allgather_base", 0.75},
                   {"ncclDevKernel_Generic(ncclDevKernelArgsStorage<4096ul>)", "allreduce_coalesced", 1.5},
                   {"ncclDevKernel_AllReduce_Sum_f32_RING_LL", NULL, 1.5},
                   {"ncclDevKernel_Broadcast_RING_LL", NULL, 1},
                   {"ncclDevKernel_Reduce_Sum_f32_RING_LL", NULL, 1},
                   {"void vllm::cross_device_reduce_1stage<float, 4>", NULL, 1.5},
                   {"my_own_kernel", "allreduce", 1.5}};

START_LOOP_TEST(a_collective_is_what_its_argument_says, 0, (int)(sizeof collectives / sizeof collectives[0]))
{
	char text[600], argument[80] = "";
	const char *collective = collectives[_i].collective;
	struct speed s;
	if (collective)
		snprintf(argument, sizeof argument, ",\"Collective name\":\"%s\"", collective);
	snprintf(text, sizeof text,
	         "[{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"%s\",\"pid\":0,\"tid\":7,\"ts\":1,\"dur\":1000,"
	         "\"args\":{\"stream\":7,\"In msg nelems\":2000000,\"Out msg nelems\":2000000,\"Group size\":4,"
	         "\"dtype\":\"Float\"%s}}]",
	         collectives[_i].name, argument);
	open_text(text);
	ck_assert_int_eq(shown.lanes.lanes[1].spans[0].kind, GPU_COMMUNICATION);
	ck_assert(speed_of_span(&file, 0, &s));
	ck_assert_int_eq(s.ranks, 4);
	ck_assert_double_eq_tol(s.algorithm, 8e9, 1);
	ck_assert_double_eq_tol(s.bus, 8e9 * collectives[_i].factor, 1);
	close_all();
}
END_TEST

/* The host's record of a collective has the same arguments, and is no work of a GPU. */
START_TEST(a_call_of_the_host_is_no_collective)
{
	open_text("[{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"record_param_comms\",\"pid\":1,\"tid\":1,\"ts\":1,"
	          "\"dur\":9,\"args\":{\"Collective name\":\"allreduce\",\"Group size\":4}}]");
	ck_assert_int_eq(shown.lanes.lanes[1].spans[0].kind, GPU_NONE);
	ck_assert_int_eq(shown.lanes.gpus.count, 0);
	close_all();
}
END_TEST

SUITE("profiler", 0)
