/* One GPU, opened for measuring, and how its work is timed. */
#include "real/calibrate/cuda.h"

enum status gpu_error(const struct gpu *g, int error, const char *what)
{
	if (!error)
		return STATUS_OK;
	return cuda_library_failed(g->api, STATUS_RUN, error, "GPU %d (%s): %s", g->number, g->properties.name, what);
}

enum status gpu_open(struct gpu *g, const struct calibration *k)
{
	int gpus = 0;
	int64_t total = 0;
	*g = (struct gpu){.cuda = NULL};
	TRY(cuda_device_find(&k->gpu->choice, &g->api, &gpus));
	g->number = k->gpu->choice.local_rank % gpus;
	TRY(cuda_library_describe(g->api, g->number, &g->properties));
	int error = g->api->open(&g->cuda, g->number, CUDA_WORKSPACE_BYTES);
	if (!error)
		error = g->api->memory(g->cuda, &g->available_bytes, &total);
	if (!error)
		error = g->api->stream_create(g->cuda, false, &g->stream);
	if (!error)
		error = g->api->event_create(g->cuda, true, &g->begin);
	if (!error)
		error = g->api->event_create(g->cuda, true, &g->end);
	return gpu_error(g, error, "opening it (is its memory taken by another program?)");
}

void gpu_close(struct gpu *g)
{
	if (!g->cuda)
		return;
	if (g->begin)
		g->api->event_destroy(g->cuda, g->begin);
	if (g->end)
		g->api->event_destroy(g->cuda, g->end);
	if (g->stream)
		g->api->stream_destroy(g->cuda, g->stream);
	g->api->close(g->cuda);
	*g = (struct gpu){.cuda = NULL};
}

/* ---- time ---- */

static int issue_all(struct gpu *g, int (*issue)(struct gpu *g, const void *what), const void *what, int n)
{
	int error = 0;
	for (int i = 0; i < n && !error; i++)
		error = issue(g, what);
	return error;
}

static int time_once(struct gpu *g, int (*issue)(struct gpu *g, const void *what), const void *what, int n,
                     cuda_graph graph, int64_t *ns)
{
	double seconds = 0;
	int error = g->api->event_record(g->cuda, g->begin, g->stream);
	if (!error)
		error = graph ? g->api->graph_launch(g->cuda, graph, g->stream) : issue_all(g, issue, what, n);
	if (!error)
		error = g->api->event_record(g->cuda, g->end, g->stream);
	if (!error)
		error = g->api->stream_synchronize(g->cuda, g->stream);
	if (!error)
		error = g->api->event_elapsed(g->cuda, g->begin, g->end, &seconds);
	*ns = (int64_t)(seconds * 1e9) / n;
	return error;
}

enum status gpu_time(struct gpu *g, int (*issue)(struct gpu *g, const void *what), const void *what, int n,
                     bool replayed, int repeats, int64_t *ns)
{
	cuda_graph graph = NULL;
	int error = 0;
	if (replayed) {
		error = g->api->capture_begin(g->cuda, g->stream);
		if (!error)
			error = issue_all(g, issue, what, n);
		int ended = g->api->capture_end(g->cuda, g->stream, &graph);
		error = error ? error : ended;
	}
	for (int i = -1; i < repeats && !error; i++)
		error = time_once(g, issue, what, n, graph, &ns[i < 0 ? 0 : i]);
	if (graph)
		g->api->graph_destroy(g->cuda, graph);
	return gpu_error(g, error, "measuring");
}
