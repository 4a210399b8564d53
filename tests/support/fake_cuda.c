#include "tests/support/fake_cuda.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "tests/support/fake_cuda_internal.h"

enum { ERROR_VALUE = 1, ERROR_MEMORY = 2, ERROR_NO_DEVICE = 100, ERROR_KERNEL = 700, ERROR_STANDSTILL = 702 };
enum { ERROR_CAPTURING = 900, ERROR_UNJOINED = 904, ERROR_ISOLATION = 905 };
enum { PLACES = 64 };

enum kind { KERNEL, COPY, HOST_CALL, RECORD, WAIT, LAUNCH };

struct work {
	enum kind kind;
	void (*kernel)(const struct arguments *g);
	struct arguments arguments;
	int64_t ticket; /* record, wait */
	cuda_event event;
	cuda_graph graph;
	void (*function)(void *context);
	cuda_stream stream; /* of a captured one */
};

struct list {
	struct work *items;
	int64_t head, count, capacity;
};

struct CUstream_st {
	struct list work;
	cuda_graph capturing; /* NULL: not */
	bool used;
};

struct CUevent_st {
	int64_t ticket; /* of the last record; -1: none */
	int64_t time;
	bool timed;
};

struct CUgraphExec_st {
	struct list items;
	cuda_stream origin;
};

/* A record: each has its own number, since an event may be recorded again. */
struct ticket {
	bool done;
	cuda_graph graph; /* … within a capture; NULL: not */
};

struct place {
	void *at;
	size_t bytes;
	bool device;
};

struct cuda {
	struct CUstream_st streams[PLACES];
	struct place places[PLACES];
	struct ticket *tickets;
	int64_t ticket_count;
	void **kept;
	int64_t kept_count;
	uint64_t random, rank[PLACES]; /* of streams */
	int64_t pushed;
	struct cuda_opening opening;
	int64_t graphs;
	int64_t time; /* where it is not the clock's */
	void (*seen[PLACES])(const struct arguments *g);
	bool loaded; /* a kernel has run */
};

static struct fake_cuda_settings settings;
static struct fake_cuda_counts counts;

const struct fake_cuda_counts *fake_cuda_counts(void)
{
	return &counts;
}

static void *grown(void *list, int64_t count, size_t size)
{
	list = realloc(list, (size_t)count * size);
	if (!list)
		abort();
	return list;
}

void *fake_keep(struct cuda *c, const void *bytes, size_t size)
{
	c->kept = grown(c->kept, c->kept_count + 1, sizeof *c->kept);
	void **copy = &c->kept[c->kept_count++];
	*copy = grown(NULL, 1, size);
	return memcpy(*copy, bytes, size);
}

static void append(struct list *l, const struct work *w)
{
	if (l->count == l->capacity) {
		l->capacity = 2 * l->capacity + 16;
		l->items = grown(l->items, l->capacity, sizeof *l->items);
	}
	l->items[l->count++] = *w;
}

static uint64_t random_number(struct cuda *c)
{
	c->random = c->random * 6364136223846793005u + 1442695040888963407u;
	return c->random >> 33;
}

/* ---- the device ---- */

static const char *error_text(int error)
{
	switch (error) {
	case ERROR_MEMORY:
		return "out of memory";
	case ERROR_KERNEL:
		return "an illegal memory access was encountered";
	case ERROR_STANDSTILL:
		return "streams wait for each other";
	case ERROR_CAPTURING:
		return "operation not permitted when stream is capturing";
	case ERROR_UNJOINED:
		return "unjoined work";
	case ERROR_ISOLATION:
		return "dependency created on uncaptured work in another stream";
	default:
		return "some error";
	}
}

static int device_count(int *devices)
{
	*devices = settings.devices < 0 ? 0 : settings.devices ? settings.devices : 1;
	return settings.count_error;
}

static int64_t memory_bytes(void)
{
	return settings.memory_bytes ? settings.memory_bytes : (int64_t)8 << 30;
}

static int describe(int device, struct cuda_properties *out)
{
	(void)device;
	*out = (struct cuda_properties){.name = "a fake GPU",
	                                .major = 9,
	                                .multiprocessors = 1,
	                                .memory_bytes = memory_bytes(),
	                                .driver = 13000,
	                                .runtime = 13000,
	                                .runs_kernels = !settings.no_code};
	return 0;
}

static int device_open(struct cuda **out, int device, size_t workspace_bytes)
{
	(void)device;
	*out = calloc(1, sizeof **out);
	if (!*out)
		abort();
	struct cuda_opening *o = &(*out)->opening;
	o->total_bytes = memory_bytes();
	o->after_context = o->total_bytes - FAKE_CONTEXT_BYTES;
	o->after_workspace = o->after_context - (int64_t)workspace_bytes;
	o->after_cublaslt = o->after_workspace - FAKE_CUBLASLT_BYTES;
	(*out)->random = settings.seed * 0x9e3779b97f4a7c15u + 1;
	for (int i = 0; i < PLACES; i++)
		(*out)->rank[i] = random_number(*out);
	counts = (struct fake_cuda_counts){.launches = 0};
	return 0;
}

static void device_close(struct cuda *c)
{
	if (!c)
		return;
	for (int64_t i = 0; i < c->kept_count; i++)
		free(c->kept[i]);
	for (int i = 0; i < PLACES; i++)
		free(c->streams[i].work.items);
	free(c->kept);
	free(c->tickets);
	free(c);
}

static int memory(struct cuda *c, int64_t *free_bytes, int64_t *total_bytes)
{
	*total_bytes = memory_bytes();
	*free_bytes = c->opening.after_cublaslt - c->graphs * FAKE_GRAPH_BYTES - (c->loaded ? FAKE_CODE_BYTES : 0);
	for (int i = 0; i < PLACES; i++)
		if (c->places[i].at && c->places[i].device)
			*free_bytes -= (int64_t)c->places[i].bytes;
	return 0;
}

static void opening(const struct cuda *c, struct cuda_opening *out)
{
	*out = c->opening;
}

static int take(struct cuda *c, size_t bytes, bool device, void **out)
{
	struct place *p = c->places;
	int64_t free_bytes, total;
	memory(c, &free_bytes, &total);
	if (device && (int64_t)bytes > free_bytes)
		return ERROR_MEMORY;
	while (p < c->places + PLACES && p->at)
		p++;
	if (p == c->places + PLACES)
		return ERROR_VALUE;
	void *at = mmap(NULL, bytes + 1, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (at == MAP_FAILED)
		abort();
	memset(at, 0xff, bytes);
	*p = (struct place){at, bytes + 1, device};
	if (device && mprotect(at, bytes + 1, PROT_NONE))
		abort();
	counts.live++;
	*out = at;
	return 0;
}

static int allocate(struct cuda *c, size_t bytes, void **out)
{
	return take(c, bytes, true, out);
}

static int allocate_host(struct cuda *c, size_t bytes, void **out)
{
	return take(c, bytes, false, out);
}

static void release(struct cuda *c, void *at)
{
	for (int i = 0; i < PLACES && at; i++)
		if (c->places[i].at == at) {
			munmap(at, c->places[i].bytes);
			c->places[i].at = NULL;
			counts.live--;
		}
}

static void lock_memory(const struct cuda *c, int protection)
{
	for (int i = 0; i < PLACES; i++)
		if (c->places[i].at && c->places[i].device && mprotect(c->places[i].at, c->places[i].bytes, protection))
			abort();
}

/* ---- work ---- */

static int64_t now(const struct cuda *c)
{
	struct timespec t;
	if (settings.kernel_ns)
		return c->time;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* A kernel takes the same time whenever it runs, each its own; a copy 10 bytes a nanosecond. What the host says to a
 * running GPU, an event that is timed, costs too: replayed steps, which have none inside, are shorter. */
static void take_time(struct cuda *c, const struct work *w)
{
	int i = 0;
	switch (w->kind) {
	case KERNEL:
		while (i < PLACES - 1 && c->seen[i] && c->seen[i] != w->kernel)
			i++;
		c->seen[i] = w->kernel;
		c->time += settings.kernel_ns * (1 + i % 4);
		break;
	case COPY:
		c->time += settings.kernel_ns + w->arguments.a[2].whole / 10;
		break;
	case HOST_CALL:
		c->time += 20 * settings.kernel_ns;
		break;
	case RECORD:
		c->time += w->event->timed ? settings.kernel_ns / 4 : 0;
		break;
	case WAIT:
	case LAUNCH:
		break;
	}
}

/* A seed gives each stream a rank, and the first of those that may go on does: so a stream stands as long as nobody
 * waits for it, which a choice at random would hardly ever let it. One in eight is at random all the same. */
static int64_t choose(struct cuda *c, const int64_t *streams, int64_t count)
{
	int64_t first = 0;
	if (settings.seed && random_number(c) % 8 == 0)
		return (int64_t)(random_number(c) % (uint64_t)count);
	for (int64_t i = 1; i < count && settings.seed; i++)
		if (c->rank[streams[i]] > c->rank[streams[first]])
			first = i;
	return first;
}

static int run_graph(struct cuda *c, struct CUgraphExec_st *g);

static int carry_out(struct cuda *c, const struct work *w)
{
	take_time(c, w);
	switch (w->kind) {
	case KERNEL:
	case COPY:
		lock_memory(c, PROT_READ | PROT_WRITE);
		w->kernel(&w->arguments);
		lock_memory(c, PROT_NONE);
		*(w->kind == KERNEL ? &counts.kernels : &counts.copies) += 1;
		c->loaded |= w->kind == KERNEL;
		break;
	case HOST_CALL:
		w->function(w->arguments.a[0].at);
		counts.host_calls++;
		break;
	case RECORD:
		c->tickets[w->ticket].done = true;
		w->event->time = now(c);
		break;
	case WAIT:
		break;
	case LAUNCH:
		counts.launches++;
		return run_graph(c, w->graph);
	}
	return 0;
}

static bool may_go_on(const struct cuda *c, const struct work *w)
{
	return w->kind != WAIT || c->tickets[w->ticket].done;
}

/* One piece of work, of any stream that may go on. */
static int advance_any(struct cuda *c)
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
static int run_graph(struct cuda *c, struct CUgraphExec_st *g)
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

static int push(cuda_stream s, const struct work *w)
{
	struct work captured = *w;
	captured.stream = s;
	append(s->capturing ? &s->capturing->items : &s->work, &captured);
	return 0;
}

int fake_push(struct cuda *c, cuda_stream s, void (*kernel)(const struct arguments *g), const struct arguments *g)
{
	if (settings.fail_after && ++c->pushed > settings.fail_after)
		return ERROR_KERNEL;
	return push(s, &(struct work){.kind = KERNEL, .kernel = kernel, .arguments = *g});
}

static void run_copy(const struct arguments *g)
{
	memcpy(g->a[0].at, g->a[1].at, (size_t)g->a[2].whole);
}

static int copy(struct cuda *c, cuda_stream s, void *to, const void *from, size_t bytes)
{
	(void)c;
	return push(s,
	            &(struct work){.kind = COPY, .kernel = run_copy, .arguments = {{AT(to), AT(from), WHOLE(bytes)}}});
}

static void run_fill(const struct arguments *g)
{
	memset(g->a[0].at, (int)g->a[1].whole, (size_t)g->a[2].whole);
}

static int fill(struct cuda *c, cuda_stream s, void *to, int byte, size_t bytes)
{
	(void)c;
	return push(s, &(struct work){
	                       .kind = COPY, .kernel = run_fill, .arguments = {{AT(to), WHOLE(byte), WHOLE(bytes)}}});
}

static int host_call(struct cuda *c, cuda_stream s, void (*function)(void *context), void *context)
{
	(void)c;
	return push(s, &(struct work){.kind = HOST_CALL, .function = function, .arguments = {{AT(context)}}});
}

/* ---- streams and events ---- */

static int stream_create(struct cuda *c, bool urgent, cuda_stream *out)
{
	(void)urgent;
	for (int i = 0; i < PLACES; i++)
		if (!c->streams[i].used) {
			c->streams[i].used = true;
			counts.live++;
			*out = &c->streams[i];
			return 0;
		}
	return ERROR_VALUE;
}

static void stream_destroy(struct cuda *c, cuda_stream s)
{
	(void)c;
	s->used = false;
	s->work.head = s->work.count = 0;
	counts.live--;
}

/* Other streams are left where they are. */
static int stream_synchronize(struct cuda *c, cuda_stream s)
{
	int error = s->capturing ? ERROR_CAPTURING : 0;
	while (s->work.head < s->work.count && !error)
		error = advance_any(c);
	return error;
}

static int event_create(struct cuda *c, bool timed, cuda_event *out)
{
	(void)c;
	*out = calloc(1, sizeof **out);
	if (!*out)
		abort();
	**out = (struct CUevent_st){.ticket = -1, .timed = timed};
	counts.live++;
	return 0;
}

static void event_destroy(struct cuda *c, cuda_event e)
{
	(void)c;
	free(e);
	counts.live--;
}

static int event_record(struct cuda *c, cuda_event e, cuda_stream s)
{
	c->tickets = grown(c->tickets, c->ticket_count + 1, sizeof *c->tickets);
	c->tickets[c->ticket_count] = (struct ticket){.graph = s->capturing};
	e->ticket = c->ticket_count++;
	return push(s, &(struct work){.kind = RECORD, .ticket = e->ticket, .event = e});
}

static int stream_wait(struct cuda *c, cuda_stream s, cuda_event e)
{
	if (e->ticket < 0)
		return 0; /* as CUDA has it: there is nothing to wait for */
	cuda_graph graph = c->tickets[e->ticket].graph;
	if (s->capturing && graph != s->capturing)
		return ERROR_ISOLATION;
	if (graph)
		s->capturing = graph;
	return push(s, &(struct work){.kind = WAIT, .ticket = e->ticket});
}

static int event_is_done(struct cuda *c, cuda_event e, bool *done)
{
	*done = e->ticket < 0 || c->tickets[e->ticket].done;
	return *done ? 0 : advance_any(c);
}

static int event_elapsed(struct cuda *c, cuda_event begin, cuda_event end, double *seconds)
{
	bool timed = begin->timed && end->timed && begin->ticket >= 0 && end->ticket >= 0;
	if (!timed || !c->tickets[begin->ticket].done || !c->tickets[end->ticket].done)
		return ERROR_VALUE;
	*seconds = (double)(end->time - begin->time) * 1e-9;
	return 0;
}

/* ---- graphs ---- */

static int capture_begin(struct cuda *c, cuda_stream s)
{
	(void)c;
	if (s->capturing)
		return ERROR_CAPTURING;
	s->capturing = calloc(1, sizeof *s->capturing);
	if (!s->capturing)
		abort();
	s->capturing->origin = s;
	return 0;
}

/* The last that a stream was given is a record that the origin waits for. */
static bool is_joined(const struct CUgraphExec_st *g, const struct CUstream_st *s)
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

static void graph_destroy(struct cuda *c, cuda_graph g)
{
	free(g->items.items);
	free(g);
	counts.live--;
	c->graphs--;
}

static int capture_end(struct cuda *c, cuda_stream s, cuda_graph *out)
{
	struct CUgraphExec_st *g = s->capturing;
	bool joined = true;
	if (!g || g->origin != s)
		return ERROR_VALUE;
	for (int i = 0; i < PLACES; i++)
		if (c->streams[i].capturing == g) {
			joined &= is_joined(g, &c->streams[i]);
			c->streams[i].capturing = NULL;
		}
	counts.live++;
	c->graphs++;
	*out = g;
	if (joined)
		return 0;
	graph_destroy(c, g);
	*out = NULL;
	return ERROR_UNJOINED;
}

static int graph_launch(struct cuda *c, cuda_graph g, cuda_stream s)
{
	(void)c;
	return push(s, &(struct work){.kind = LAUNCH, .graph = g});
}

static bool tf32_allowed;

static void allow_tf32(struct cuda *c, bool allow)
{
	(void)c;
	tf32_allowed = allow;
}

bool fake_cuda_tf32(void)
{
	return tf32_allowed;
}

static int64_t gelu_passes(const struct cuda *c)
{
	(void)c;
	return 0;
}

const struct cuda_api *fake_cuda(const struct fake_cuda_settings *given)
{
	static struct cuda_api api;
	settings = *given;
	api = (struct cuda_api){
	        .version = CUDA_API_VERSION,
	        .error_text = error_text,
	        .count = device_count,
	        .describe = describe,
	        .open = device_open,
	        .close = device_close,
	        .allow_tf32 = allow_tf32,
	        .gelu_passes = gelu_passes,
	        .memory = memory,
	        .opening = opening,
	        .allocate = allocate,
	        .release = release,
	        .allocate_host = allocate_host,
	        .release_host = release,
	        .stream_create = stream_create,
	        .stream_destroy = stream_destroy,
	        .stream_synchronize = stream_synchronize,
	        .stream_wait = stream_wait,
	        .event_create = event_create,
	        .event_destroy = event_destroy,
	        .event_record = event_record,
	        .event_is_done = event_is_done,
	        .event_elapsed = event_elapsed,
	        .copy = copy,
	        .fill = fill,
	        .host_call = host_call,
	        .capture_begin = capture_begin,
	        .capture_end = capture_end,
	        .graph_launch = graph_launch,
	        .graph_destroy = graph_destroy,
	};
	fake_fill_kernels(&api);
	if (settings.no_attention)
		api.attention_forward = NULL;
	return &api;
}
