/* Shared by the three files of the fake GPU: the device, and work that waits on its streams. */
#ifndef SHARDLAB_TESTS_FAKE_CUDA_INTERNAL_H
#define SHARDLAB_TESTS_FAKE_CUDA_INTERNAL_H

#include <pthread.h>

#include "tests/support/fake_cuda.h"

enum { ERROR_VALUE = 1, ERROR_MEMORY = 2, ERROR_NO_DEVICE = 100, ERROR_KERNEL = 700, ERROR_STANDSTILL = 702 };
enum { ERROR_NOT_PERMITTED = 800, ERROR_CAPTURING = 900, ERROR_INVALIDATED = 901 };
enum { ERROR_UNJOINED = 904, ERROR_ISOLATION = 905, ERROR_CAPTURED_EVENT = 907 };
enum { PLACES = 64 };

enum kind { KERNEL, COPY, HOST_CALL, RECORD, WAIT, LAUNCH };

struct work {
	enum kind kind;
	void (*run)(const void *arguments);
	const void *arguments; /* kept */
	int64_t bytes;         /* of a copy */
	int64_t ticket;        /* record, wait */
	cuda_event event;
	cuda_graph graph;
	void (*function)(void *context);
	void *context;
	kernel_stream stream; /* of a captured one */
};

struct list {
	struct work *items;
	int64_t head, count, capacity;
};

struct kernel_queue {
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
	kernel_stream origin;
	bool invalid; /* something happened while it was captured that must not */
};

/* A record: each has its own number, since an event may be recorded again. */
struct ticket {
	bool done;
	cuda_graph graph; /* the capture that it is part of; NULL: none */
};

struct place {
	void *at;
	size_t bytes;
	bool device;
};

struct kernel_context {
	struct kernel_queue streams[PLACES];
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
	void (*seen[PLACES])(const void *arguments);
	bool loaded;           /* a kernel has run */
	pthread_t thread;      /* its opener: others would be at GPU 0, and host calls may not call at all */
	cuda_graph capturing;  /* under way; NULL: none */
	kernel_stream working; /* of the kernels that use the workspace */
};

extern struct fake_cuda_settings fake_settings;
extern struct fake_cuda_counts fake_counts;
extern struct kernel_context *fake_device; /* the last one opened */
/* Called with each graph that is destroyed; NULL: nobody is interested. */
extern void (*fake_graph_goes)(const struct CUgraphExec_st *g);

void *fake_grown(void *list, int64_t count, size_t size);
uint64_t fake_random(struct kernel_context *c);
/* The protection of device memory: PROT_NONE but while a kernel runs. */
void fake_lock_memory(const struct kernel_context *c, int protection);

/* CUDA's answer to a call: 0 where it is made by the thread that opened the device and, unless `captures`, no capture
 * of that thread's is under way; that one is good for nothing afterwards. */
int fake_refuses(struct kernel_context *c, bool captures);

/* Puts a kernel on a stream, with a copy of what `run` is to be called with, which lives as long as the device. */
int fake_push(struct kernel_context *c, kernel_stream s, void (*run)(const void *arguments), const void *arguments,
              size_t bytes);
/* The same of one that uses the workspace: all of them are to be on one stream. */
int fake_push_working(struct kernel_context *c, kernel_stream s, void (*run)(const void *arguments),
                      const void *arguments, size_t bytes);

void fake_fill_streams(struct cuda_api *api);   /* fake_cuda_streams.c */
void fake_fill_kernels(struct kernel_table *t); /* fake_cuda_kernels.c */

#endif
