/* Arguments of events as PyTorch's profiler writes them: collectives, and instants of memory. */
#include <check.h>
#include <string.h>

#include "tests/support/suite.h"
#include "viz/scene/lane_foreign.h"
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

/* The host's record of a collective has the same arguments, and is no work of a GPU. */
START_TEST(a_call_of_the_host_is_no_collective)
{
	open_text("[{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"record_param_comms\",\"pid\":1,\"tid\":1,\"ts\":1,"
	          "\"dur\":9,\"args\":{\"Collective name\":\"allreduce\",\"Group size\":4}}]");
	ck_assert_int_eq(shown.lanes.lanes[1].spans[0].kind, GPU_NONE);
	ck_assert_int_eq(shown.lanes.gpus.count, 0);
	close_all();
}

/* ---- names ---- */

START_TEST(names_are_as_one_reads_them)
{
	static const struct {
		const char *name, *collective, *read;
	} rows[] = {
	        {"void at::native::vectorized_elementwise_kernel<4, at::native::AddFunctor<float> >(int)", NULL,
	         "vectorized_elementwise_kernel<4, AddFunctor<float> >"},
	        {"void at::native::(anonymous namespace)::layer_norm<f(int)>(int, float)", NULL, "layer_norm<f(int)>"},
	        {"Memcpy HtoD (Pinned -> Device)", NULL, "Memcpy HtoD (Pinned -> Device)"},
	        {"ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)", "all_to_allv",
	         "all_to_allv (ncclDevKernel_SendRecv)"},
	        {"", NULL, ""},
	        {"(", NULL, "("}};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		char name[FOREIGN_NAME];
		struct foreign_span s = {.name = rows[i].name, .collective = rows[i].collective};
		ck_assert_str_eq(foreign_name(name, &s), rows[i].read);
	}
}

/* ---- memory ---- */

#define CALL(name, begin, length)                                                                                      \
	"{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"" name "\",\"pid\":42,\"tid\":42,\"ts\":" begin                   \
	",\"dur\":" length "},"
#define MEMORY(time, device, args)                                                                                     \
	"{\"ph\":\"i\",\"cat\":\"cpu_instant_event\",\"s\":\"t\",\"name\":\"[memory]\",\"pid\":42,\"tid\":42,"         \
	"\"ts\":" time ",\"args\":{" args ",\"Addr\":139,\"Device Id\":" device "}},"
#define KERNEL                                                                                                         \
	"{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"gemm\",\"pid\":0,\"tid\":7,\"ts\":1,\"dur\":100,\"args\":{"       \
	"\"stream\":"                                                                                                  \
	"7}}"

static const struct foreign_counter *counter_named(const char *name)
{
	for (int i = 0; i < file.counter_count; i++)
		if (!strcmp(file.counters[i].name, name))
			return &file.counters[i];
	ck_abort_msg("no counter %s", name);
	return NULL;
}

/* Instants of allocations are curves of the device that they name, and the peak has the call that asked for it. */
START_TEST(allocations_are_curves)
{
	char words[192];
	open_text("[" CALL("aten::linear", "10", "40") CALL("aten::empty", "20", "5") MEMORY(
	        "22", "0", "\"Total Reserved\":4194304,\"Total Allocated\":2097152,\"Bytes\":1048576,\"Device Type\":1")
	                  MEMORY("12", "0",
	                         "\"Total Reserved\":2097152,\"Total Allocated\":1048576,\"Bytes\":1048576,\"Device "
	                         "Type\":1") MEMORY("60", "0",
	                                            "\"Total Reserved\":4194304,\"Total "
	                                            "Allocated\":1048576,\"Bytes\":-1048576,\"Device Type\":1")
	                          MEMORY("14", "-1",
	                                 "\"Total Reserved\":0,\"Total Allocated\":512,\"Bytes\":512,\"Device Type\":0")
	                                  KERNEL "]");
	ck_assert_int_eq(file.counter_count, 3);
	const struct foreign_counter *allocated = counter_named("memory: allocated");
	ck_assert_str_eq(file.processes[file.counters[0].process].name, "0");
	ck_assert_str_eq(file.counters[0].name, "memory: allocated");
	ck_assert_str_eq(file.counters[1].name, "memory: reserved");
	ck_assert_str_eq(file.processes[file.counters[2].process].name, "42");
	ck_assert_uint_eq(allocated->point_count, 3);
	ck_assert(allocated->most == 2097152 && allocated->least == 1048576 && allocated->points[1].value == 2097152);
	counter_peak_words(&shown.lanes, allocated, words, sizeof words);
	ck_assert_str_eq(words, "at most 2.097 MB at 21.00 µs, in aten::linear");
	close_all();
}

/* Before there were totals, an instant had the change alone; and a GPU whose kernels were not recorded has no process.
 */
START_TEST(changes_are_added_up)
{
	open_text("[" CALL("aten::linear", "10", "40") MEMORY("12", "1", "\"Bytes\":1000,\"Device Type\":1")
	                  MEMORY("14", "1", "\"Bytes\":500,\"Device Type\":1")
	                          MEMORY("16", "1", "\"Bytes\":-1000,\"Device Type\":1") KERNEL "]");
	ck_assert_int_eq(file.counter_count, 1);
	const struct foreign_counter *c = counter_named("memory of device 1: allocated since the recording began");
	ck_assert(c->points[0].value == 1000 && c->points[1].value == 1500 && c->points[2].value == 500);
	ck_assert(c->most == 1500);
	close_all();
}

START_TEST(odd_memory)
{
	open_text("[" CALL("a", "10", "40") MEMORY("12", "\"x\"", "\"Bytes\":\"many\"")
	                  MEMORY("14", "0", "\"Bytes\":1e999") "{\"ph\":\"i\",\"name\":\"[memory]\",\"ts\":3},{\"ph\":"
	                                                       "\"i\",\"name\":\"mark\",\"pid\":42,\"ts\":3}]");
	for (int i = 0; i < file.counter_count; i++)
		ck_assert_uint_eq(file.counters[i].point_count, 0);
	close_all();
}

SUITE("profiler", 0)
