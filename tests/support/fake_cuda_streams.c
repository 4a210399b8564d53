/* The fake GPU's streams, events and graphs: work that waits, and who goes on next. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "strategy/base/clock.h"
#include "tests/support/fake_cuda_internal.h"

static void append(struct list *l, const struct work *w)
{
	if (l->count == l->capacity) {
		l->capacity = 2 * l->capacity + 16;
		l->items = fake_grown(l->items, l->capacity, sizeof *l->items);
	}
	l->items[l->count++] = *w;
}

/* ---- work ---- */

static int64_t now(const struct kernel_context *c)
{
	return fake_settings.kernel_ns ? c->time : clock_ns();
}

/* A kernel takes the same time whenever it runs, each its own; a copy 10 bytes a nanosecond. What the host says to a
 * running GPU, an event that is timed, costs too: replayed steps, which have none inside, are shorter. */
static void take_time(struct kernel_context *c, const struct work *w)
{
	int i = 0;
	switch (w->kind) {
	case KERNEL:
		while (i < PLACES - 1 && c->seen[i] && c->seen[i] != w->run)
			i++;
		c->seen[i] = w->run;
		c->time += fake_settings.kernel_ns * (1 + i % 4);
		break;
	case COPY:
		c->time += fake_settings.kernel_ns + w->bytes / 10;
		break;
	case HOST_CALL:
		c->time += 20 * fake_settings.kernel_ns;
		break;
	case RECORD:
		c->time += w->event->timed ? fake_settings.kernel_ns / 4 : 0;
		break;
	case WAIT:
	case LAUNCH:
		break;
	}
}

/* A seed gives each stream a rank, and the first of those that may go on does: so a stream stands as long as nobody
 * waits for it, which a choice at random would hardly ever let it. One in eight is at random all the same. */
static int64_t choose(struct kernel_context *c, const int64_t *streams, int64_t count)
{
	int64_t first = 0;
	if (fake_settings.seed && fake_random(c) % 8 == 0)
		return (int64_t)(fake_random(c) % (uint64_t)count);
	for (int64_t i = 1; i < count && fake_settings.seed; i++)
		if (c->rank[streams[i]] > c->rank[streams[first]])
			first = i;
	return first;
}

static int run_graph(struct kernel_context *c, struct CUgraphExec_st *g);

static void *call_host(void *of)
{
	const struct work *w = of;
	w->function(w->context);
	return NULL;
}

/* On a thread that is the driver's. */
static void run_host_call(const struct work *w)
{
	struct work own = *w;
	pthread_t thread;
	if (pthread_create(&thread, NULL, call_host, &own) || pthread_join(thread, NULL))
		abort();
}

static int carry_out(struct kernel_context *c, const struct work *w)
{
	take_time(c, w);
	switch (w->kind) {
	case KERNEL:
	case COPY:
		fake_lock_memory(c, PROT_READ | PROT_WRITE);
		w->run(w->arguments);
		fake_lock_memory(c, PROT_NONE);
		*(w->kind == KERNEL ? &fake_counts.kernels : &fake_counts.copies) += 1;
		c->loaded |= w->kind == KERNEL;
		break;
	case HOST_CALL:
		run_host_call(w);
		fake_counts.host_calls++;
		break;
	case RECORD:
		c->tickets[w->ticket].done = true;
		w->event->time = now(c);
		break;
	case WAIT:
		break;
	case LAUNCH:
		fake_counts.launches++;
		return run_graph(c, w->graph);
	}
	return 0;
}

static bool may_go_on(const struct kernel_context *c, const struct work *w)
{
	return w->kind != WAIT || c->tickets[w->ticket].done;
}

/* One piece of work, of any stream that may go on. */
static int advance_any(struct kernel_context *c)
{
	int64_t ready[PLACES], count = 0;
	for (int i = 0; i < PLACES; i++) {
		const struct list *l = &c->streams[i].work;
		if (l->head < l->count && may_go_on(c, &l->items[l->head]))
			ready[count++] = i;
	}
	if (!count)
		return ERROR_STANDSTILL;
	struct list *l = &c->streams[ready[choose(c, ready, count)]].work;
	struct work w = l->items[l->head++];
	if (l->head == l->count)
		l->head = l->count = 0;
	return carry_out(c, &w);
}

/* All of a graph: of each captured stream in order, and in whatever order the records allow. */
static int run_graph(struct kernel_context *c, struct CUgraphExec_st *g)
{
	bool *ran = calloc((size_t)g->items.count + 1, sizeof *ran);
	int64_t *ready = calloc((size_t)g->items.count + 1, sizeof *ready);
	int64_t *streams = calloc((size_t)g->items.count + 1, sizeof *streams), left = g->items.count;
	int error = 0;
	if (!ran || !ready || !streams)
		abort();
	for (int64_t i = 0; i < g->items.count; i++)
		if (g->items.items[i].kind == RECORD)
			c->tickets[g->items.items[i].ticket].done = false;
	while (left && !error) {
		int64_t count = 0;
		for (int64_t i = 0; i < g->items.count; i++) {
			bool first = !ran[i] && may_go_on(c, &g->items.items[i]);
			for (int64_t k = 0; k < i && first; k++)
				first = ran[k] || g->items.items[k].stream != g->items.items[i].stream;
			if (!first)
				continue;
			streams[count] = g->items.items[i].stream - c->streams;
			ready[count++] = i;
		}
		int64_t i = count ? ready[choose(c, streams, count)] : 0;
		error = count ? carry_out(c, &g->items.items[i]) : ERROR_STANDSTILL;
		ran[i] = true;
		left--;
	}
	free(ran);
	free(ready);
	free(streams);
	return error;
}

static int push(kernel_stream s, const struct work *w)
{
	struct work captured = *w;
	captured.stream = s;
	append(s->capturing ? &s->capturing->items : &s->work, &captured);
	return 0;
}

/* A copy that lives as long as the device. */
static const void *keep(struct kernel_context *c, const void *bytes, size_t size)
{
	c->kept = fake_grown(c->kept, c->kept_count + 1, sizeof *c->kept);
	void **copy = &c->kept[c->kept_count++];
	*copy = fake_grown(NULL, 1, size);
	return memcpy(*copy, bytes, size);
}

int fake_push(struct kernel_context *c, kernel_stream s, void (*run)(const void *arguments), const void *arguments,
              size_t bytes)
{
	int error = fake_refuses(c, true);
	if (error)
		return error;
	if (fake_settings.fail_after && ++c->pushed > fake_settings.fail_after)
		return ERROR_KERNEL;
	return push(s, &(struct work){.kind = KERNEL, .run = run, .arguments = keep(c, arguments, bytes)});
}

int fake_push_working(struct kernel_context *c, kernel_stream s, void (*run)(const void *arguments),
                      const void *arguments, size_t bytes)
{
	c->working = c->working ? c->working : s;
	return c->working == s ? fake_push(c, s, run, arguments, bytes) : ERROR_VALUE;
}

/* Arguments of a copy or, without `from`, of a fill. */
struct moved {
	void *to;
	const void *from;
	int byte;
	size_t bytes;
};

static void run_moved(const void *arguments)
{
	const struct moved *m = arguments;
	if (m->from)
		memcpy(m->to, m->from, m->bytes);
	else
		memset(m->to, m->byte, m->bytes);
}

static int push_moved(struct kernel_context *c, kernel_stream s, const struct moved *m)
{
	return push(s, &(struct work){.kind = COPY,
	                              .run = run_moved,
	                              .arguments = keep(c, m, sizeof *m),
	                              .bytes = (int64_t)m->bytes});
}

/* Device memory, or pinned. */
static bool is_known(const struct kernel_context *c, const void *at)
{
	for (int i = 0; i < PLACES; i++) {
		const char *begin = c->places[i].at;
		if (begin && (const char *)at >= begin && (const char *)at < begin + c->places[i].bytes)
			return true;
	}
	return false;
}

/* A graph copies when it is replayed: by then memory that is not pinned may be another's. */
static int copy(struct kernel_context *c, kernel_stream s, void *to, const void *from, size_t bytes)
{
	int error = fake_refuses(c, !s->capturing || (is_known(c, to) && is_known(c, from)));
	return error ? error : push_moved(c, s, &(struct moved){.to = to, .from = from, .bytes = bytes});
}

static int fill(struct kernel_context *c, kernel_stream s, void *to, int byte, size_t bytes)
{
	int error = fake_refuses(c, true);
	return error ? error : push_moved(c, s, &(struct moved){.to = to, .byte = byte, .bytes = bytes});
}

static int host_call(struct kernel_context *c, kernel_stream s, void (*function)(void *context), void *context)
{
	int error = fake_refuses(c, true);
	return error ? error : push(s, &(struct work){.kind = HOST_CALL, .function = function, .context = context});
}

/* ---- streams and events ---- */

static int stream_create(struct kernel_context *c, bool urgent, kernel_stream *out)
{
	int error = fake_refuses(c, false);
	(void)urgent;
	if (error)
		return error;
	for (int i = 0; i < PLACES; i++)
		if (!c->streams[i].used) {
			c->streams[i].used = true;
			fake_counts.live++;
			*out = &c->streams[i];
			return 0;
		}
	return ERROR_VALUE;
}

static void stream_destroy(struct kernel_context *c, kernel_stream s)
{
	(void)c;
	s->used = false;
	s->work.head = s->work.count = 0;
	fake_counts.live--;
}

/* Other streams are left where they are. */
static int stream_synchronize(struct kernel_context *c, kernel_stream s)
{
	int error = fake_refuses(c, false);
	while (s->work.head < s->work.count && !error)
		error = advance_any(c);
	return error;
}

static int event_create(struct kernel_context *c, bool timed, cuda_event *out)
{
	int error = fake_refuses(c, false);
	if (error)
		return error;
	*out = calloc(1, sizeof **out);
	if (!*out)
		abort();
	**out = (struct CUevent_st){.ticket = -1, .timed = timed};
	fake_counts.live++;
	return 0;
}

static void event_destroy(struct kernel_context *c, cuda_event e)
{
	(void)c;
	free(e);
	fake_counts.live--;
}

static int event_record(struct kernel_context *c, cuda_event e, kernel_stream s)
{
	int error = fake_refuses(c, true);
	if (error)
		return error;
	c->tickets = fake_grown(c->tickets, c->ticket_count + 1, sizeof *c->tickets);
	c->tickets[c->ticket_count] = (struct ticket){.graph = s->capturing};
	e->ticket = c->ticket_count++;
	return push(s, &(struct work){.kind = RECORD, .ticket = e->ticket, .event = e});
}

/* Within a capture, which may be over: such a record says nothing outside of it. */
static bool is_captured(const struct kernel_context *c, cuda_event e)
{
	return e->ticket >= 0 && c->tickets[e->ticket].graph;
}

static int stream_wait(struct kernel_context *c, kernel_stream s, cuda_event e)
{
	int error = fake_refuses(c, true);
	if (error || e->ticket < 0)
		return error; /* as CUDA has it: there is nothing to wait for */
	cuda_graph graph = c->tickets[e->ticket].graph;
	if (s->capturing && graph != s->capturing)
		return ERROR_ISOLATION;
	if (graph && graph != c->capturing)
		return ERROR_CAPTURED_EVENT;
	if (graph)
		s->capturing = graph;
	return push(s, &(struct work){.kind = WAIT, .ticket = e->ticket});
}

static int event_is_done(struct kernel_context *c, cuda_event e, bool *done)
{
	int error = fake_refuses(c, false);
	*done = false;
	if (error || is_captured(c, e))
		return error ? error : ERROR_CAPTURED_EVENT;
	*done = e->ticket < 0 || c->tickets[e->ticket].done;
	return *done ? 0 : advance_any(c);
}

static int event_elapsed(struct kernel_context *c, cuda_event begin, cuda_event end, double *seconds)
{
	int error = fake_refuses(c, false);
	bool timed = begin->timed && end->timed && begin->ticket >= 0 && end->ticket >= 0;
	if (error || is_captured(c, begin) || is_captured(c, end))
		return error ? error : ERROR_CAPTURED_EVENT;
	if (!timed || !c->tickets[begin->ticket].done || !c->tickets[end->ticket].done)
		return ERROR_VALUE;
	*seconds = (double)(end->time - begin->time) * 1e-9;
	return 0;
}

/* ---- graphs ---- */

static int capture_begin(struct kernel_context *c, kernel_stream s)
{
	int error = fake_refuses(c, false);
	if (error)
		return error;
	s->capturing = calloc(1, sizeof *s->capturing);
	if (!s->capturing)
		abort();
	s->capturing->origin = s;
	c->capturing = s->capturing;
	return 0;
}

/* The last that a stream was given is a record that the origin waits for. */
static bool is_joined(const struct CUgraphExec_st *g, const struct kernel_queue *s)
{
	int64_t last = g->items.count - 1;
	while (last >= 0 && g->items.items[last].stream != s)
		last--;
	if (s == g->origin || last < 0)
		return true;
	for (int64_t i = last + 1; i < g->items.count; i++)
		if (g->items.items[last].kind == RECORD && g->items.items[i].stream == g->origin &&
		    g->items.items[i].kind == WAIT && g->items.items[i].ticket == g->items.items[last].ticket)
			return true;
	return false;
}

static void graph_destroy(struct kernel_context *c, cuda_graph g)
{
	if (fake_graph_goes)
		fake_graph_goes(g);
	free(g->items.items);
	free(g);
	fake_counts.live--;
	c->graphs--;
}

static int capture_end(struct kernel_context *c, kernel_stream s, cuda_graph *out)
{
	struct CUgraphExec_st *g = s->capturing;
	bool joined = true;
	if (!g || g->origin != s)
		return ERROR_VALUE;
	c->capturing = NULL;
	for (int i = 0; i < PLACES; i++)
		if (c->streams[i].capturing == g) {
			joined &= is_joined(g, &c->streams[i]);
			c->streams[i].capturing = NULL;
		}
	fake_counts.live++;
	c->graphs++;
	*out = g;
	if (joined && !g->invalid && !fake_settings.no_capture)
		return 0;
	int error = g->invalid || fake_settings.no_capture ? ERROR_INVALIDATED : ERROR_UNJOINED;
	graph_destroy(c, g);
	*out = NULL;
	return error;
}

static int graph_launch(struct kernel_context *c, cuda_graph g, kernel_stream s)
{
	int error = fake_refuses(c, false);
	return error ? error : push(s, &(struct work){.kind = LAUNCH, .graph = g});
}

void fake_fill_streams(struct cuda_api *api)
{
	api->stream_create = stream_create;
	api->stream_destroy = stream_destroy;
	api->stream_synchronize = stream_synchronize;
	api->stream_wait = stream_wait;
	api->event_create = event_create;
	api->event_destroy = event_destroy;
	api->event_record = event_record;
	api->event_is_done = event_is_done;
	api->event_elapsed = event_elapsed;
	api->kernels.copy = copy;
	api->kernels.fill = fill;
	api->host_call = host_call;
	api->capture_begin = capture_begin;
	api->capture_end = capture_end;
	api->graph_launch = graph_launch;
	api->graph_destroy = graph_destroy;
}
