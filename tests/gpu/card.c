/* Linked with target_gpu.c, this is the card that it finds: the kernels for the host, in memory that only they and
 * copies may touch. So a test that works on it works on a card. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "real/cuda/library.h"
#include "tests/emulate/emulate.h"

enum { PLACES = 32, PAGE = 4096 };

static struct place {
	void *at;
	size_t bytes;
} places[PLACES];

static void protect(int protection)
{
	for (int i = 0; i < PLACES; i++)
		if (places[i].at && mprotect(places[i].at, places[i].bytes, protection))
			abort();
}

static int done(int error)
{
	protect(PROT_NONE);
	return error;
}

static const char *error_text(int error)
{
	return error ? "some error" : "none";
}

static int count(int *devices)
{
	*devices = 1;
	return 0;
}

static int describe(int device, struct cuda_properties *out)
{
	(void)device;
	*out = (struct cuda_properties){.name = "a card", .major = 9, .runs_kernels = true};
	return 0;
}

static int open_card(struct kernel_context **out, int device, size_t workspace_bytes)
{
	(void)device;
	*out = emulated_open(3, workspace_bytes);
	emulated_races(false); /* kernels that are told wrong sizes have them */
	return 0;
}

static int allocate(struct kernel_context *c, size_t bytes, void **out)
{
	struct place *p = places;
	(void)c;
	while (p < places + PLACES && p->at)
		p++;
	if (p == places + PLACES)
		abort();
	p->bytes = bytes + PAGE;
	p->at = *out = mmap(NULL, p->bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return *out == MAP_FAILED;
}

static void release(struct kernel_context *c, void *memory)
{
	(void)c;
	for (int i = 0; i < PLACES; i++)
		if (places[i].at == memory) {
			munmap(memory, places[i].bytes);
			places[i].at = NULL;
		}
}

static int allocate_host(struct kernel_context *c, size_t bytes, void **out)
{
	(void)c;
	*out = malloc(bytes);
	return !*out;
}

static void release_host(struct kernel_context *c, void *memory)
{
	(void)c;
	free(memory);
}

static int stream_synchronize(struct kernel_context *c, kernel_stream s)
{
	(void)c;
	(void)s;
	return 0;
}

static int copy(struct kernel_context *c, kernel_stream s, void *to, const void *from, size_t bytes)
{
	(void)c;
	(void)s;
	protect(PROT_READ | PROT_WRITE);
	memmove(to, from, bytes);
	return done(0);
}

static int fill(struct kernel_context *c, kernel_stream s, void *to, int byte, size_t bytes)
{
	(void)c;
	(void)s;
	protect(PROT_READ | PROT_WRITE);
	memset(to, byte, bytes);
	return done(0);
}

#define PASS(type, name) , name
#define KERNEL(name, place)                                                                                            \
	static int name##_here(struct kernel_context *c,                                                               \
	                       kernel_stream s PARAMETERS_##name(KERNEL_VALUE, KERNEL_SHAPE))                          \
	{                                                                                                              \
		protect(PROT_READ | PROT_WRITE);                                                                       \
		return done(emulated_api()->kernels.name(c, s PARAMETERS_##name(PASS, PASS)));                         \
	}
#include "kernels/table.def"

static void __attribute__((constructor)) take(void)
{
	static struct cuda_api api;
	api = *emulated_api();
	api.error_text = error_text;
	api.count = count;
	api.describe = describe;
	api.open = open_card;
	api.close = emulated_close;
	api.allocate = allocate;
	api.release = release;
	api.allocate_host = allocate_host;
	api.release_host = release_host;
	api.stream_synchronize = stream_synchronize;
	api.kernels.copy = copy;
	api.kernels.fill = fill;
#define KERNEL(name, place) api.kernels.name = name##_here;
#include "kernels/table.def"
	cuda_library_use(&api);
}
