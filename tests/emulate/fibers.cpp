/* Fibers for the threads of a block. */
#include "tests/emulate/emulate.h"

#include <sys/mman.h>

#include "tests/emulate/internal.h"
#include "tests/emulate/stack.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#define FIBER_ASAN 1
#else
#define FIBER_ASAN 0
#endif

/* ---- a block ---- */

EMULATE_OWN dim3 threadIdx, blockIdx, blockDim, gridDim;

namespace
{

enum { MOST_THREADS = 1024, WARPS = MOST_THREADS / 32, STACK_BYTES = 256 << 10 };
/* The tops of stacks are so far from where they would be that those of a warp do not lie in the same lines of a cache.
 */
enum { STACK_STEP = 11 * 64 };
enum { MOST_SHARED_BYTES = 227 << 10 }; /* of one block, on compute capability 9.0 */
enum { ERROR_CONFIGURATION = 9 };       /* cudaErrorInvalidConfiguration */
/* Where dynamic shared memory begins: no multiple of 1024, so that who needs one must see to it. */
enum { SHARED_BEGIN = 128 };

struct fiber {
	stack_state state;
	dim3 index;
	bool begun; /* its stack stands in thread_main */
	bool done;
	const char *waits_at; /* last */
	int line;
	unsigned mask;  /* … for these lanes */
	int operations; /* of its warp that it took part in */
	int untold;     /* depth */
#if FIBER_ASAN
	void *sanitizer;
#endif
};

struct warp {
	unsigned exists, gone, arrived;
	unsigned ready; /* lanes that can run */
	const char *what;
	unsigned char slots[2][32 * EMULATE_SLOT];
};

fiber fibers[MOST_THREADS];
EMULATE_OWN warp warps[WARPS];
stack_state scheduler;
char *stacks;
int threads, current, arrived, left, sum, result;
const char *barrier_file; /* that the first of those that have arrived is at */
int barrier_line;
bool descending;
unsigned char *shared_window;
uint32_t shared_end;
void (*run_thread)(const void *);
const void *run_context;
size_t run_context_bytes;
emulate_watcher *watcher;
#if FIBER_ASAN
void *scheduler_sanitizer;
const void *scheduler_stack;
size_t scheduler_stack_bytes;
#endif

int first_of(unsigned lanes)
{
	return descending ? 31 - __builtin_clz(lanes) : __builtin_ctz(lanes);
}

void become(int i)
{
	fiber *f = fibers + i;
	current = i;
	threadIdx = f->index;
	emulate_told = watcher && !f->untold;
}

/* To the next lane of the warp that can run, or to the scheduler, which AddressSanitizer must know of each time. */
void leave()
{
	fiber *f = fibers + current;
	const warp *w = warps + current / 32;
	emulate_told = false;
#if FIBER_ASAN
	__sanitizer_start_switch_fiber(&f->sanitizer, scheduler_stack, scheduler_stack_bytes);
	(void)w;
	stack_switch(&f->state, &scheduler);
	__sanitizer_finish_switch_fiber(f->sanitizer, &scheduler_stack, &scheduler_stack_bytes);
#else
	if (w->ready) {
		become(current / 32 * 32 + first_of(w->ready));
		stack_switch(&f->state, &fibers[current].state);
	} else {
		stack_switch(&f->state, &scheduler);
	}
#endif
}

void wait_at(const char *where, int line, unsigned mask)
{
	fiber *f = fibers + current;
	f->waits_at = where;
	f->line = line;
	f->mask = mask;
	warps[current / 32].ready &= ~(1U << current % 32);
	leave();
}

void enter(int i)
{
#if FIBER_ASAN
	__sanitizer_start_switch_fiber(&scheduler_sanitizer, stacks + static_cast<size_t>(i) * STACK_BYTES,
	                               STACK_BYTES);
#endif
	become(i);
	stack_switch(&scheduler, &fibers[i].state);
	emulate_told = false;
#if FIBER_ASAN
	__sanitizer_finish_switch_fiber(scheduler_sanitizer, nullptr, nullptr);
#endif
}

/* A fiber is a thread of one block after another: AddressSanitizer keeps frames beside each fiber's stack, megabytes
 * that it maps and clears, to find uses after return. */
[[noreturn]] void thread_main()
{
#if FIBER_ASAN
	__sanitizer_finish_switch_fiber(nullptr, &scheduler_stack, &scheduler_stack_bytes);
#endif
	for (;;) {
		run_thread(run_context);
		emulate_async_end();
		if (watcher)
			watcher->ended(current);
		fibers[current].done = true;
		left--;
		warps[current / 32].gone |= 1U << current % 32;
		warps[current / 32].ready &= ~(1U << current % 32);
		leave();
	}
}

void release_barrier()
{
	result = sum;
	sum = arrived = 0;
	if (watcher)
		watcher->barrier();
	for (int w = 0; w * 32 < threads; w++)
		warps[w].ready = warps[w].exists & ~warps[w].gone;
}

[[noreturn]] void report_waiting()
{
	for (int i = 0; i < threads; i++)
		if (i == 0 || fibers[i].done != fibers[i - 1].done || fibers[i].waits_at != fibers[i - 1].waits_at ||
		    fibers[i].line != fibers[i - 1].line)
			fprintf(stderr, "thread %d and after it: %s:%d\n", i,
			        fibers[i].done ? "has ended" : fibers[i].waits_at, fibers[i].line);
	emulate_fail("threads wait for others that do not come");
}

void run_block()
{
	arrived = sum = 0;
	left = threads;
	for (int i = 0; i < threads; i++) {
		fiber *f = fibers + i;
		unsigned n = static_cast<unsigned>(i);
		f->index = dim3(n % blockDim.x, n / blockDim.x % blockDim.y, n / blockDim.x / blockDim.y);
		f->done = false;
		f->waits_at = nullptr;
		f->mask = 0;
		f->operations = f->line = f->untold = 0;
		if (!f->begun)
			stack_begin(&f->state, stacks + static_cast<size_t>(i) * STACK_BYTES,
			            STACK_BYTES - static_cast<size_t>(i % 64) * STACK_STEP, thread_main);
		f->begun = true;
	}
	for (int w = 0; w * 32 < threads; w++) {
		int lanes = std::min(threads - w * 32, 32);
		warps[w].exists = lanes == 32 ? ~0U : (1U << lanes) - 1;
		warps[w].ready = warps[w].exists;
		warps[w].gone = warps[w].arrived = 0;
	}
	if (watcher)
		watcher->block(threads);
	while (left) {
		bool moved = false;
		for (int k = 0, count = (threads + 31) / 32; k < count; k++) {
			int w = descending ? count - 1 - k : k;
			for (; warps[w].ready; moved = true)
				enter(w * 32 + first_of(warps[w].ready));
		}
		if (left && arrived == left) /* threads that have ended are not waited for */
			release_barrier();
		else if (!moved)
			report_waiting();
	}
}

} // namespace

[[noreturn]] void emulate_fail(const char *text)
{
	fprintf(stderr, "kernel: block (%u, %u, %u), thread (%u, %u, %u): %s\n", blockIdx.x, blockIdx.y, blockIdx.z,
	        threadIdx.x, threadIdx.y, threadIdx.z, text);
	abort();
}

int emulate_launch(const void *kernel, void (*run)(const void *), const void *context, size_t context_bytes, dim3 grid,
                   dim3 block, size_t shared_bytes)
{
	uint64_t size = static_cast<uint64_t>(block.x) * block.y * block.z, blocks = grid.x;
	if (size == 0 || size > MOST_THREADS || grid.x == 0 || grid.x > INT32_MAX || grid.y == 0 || grid.y > 65535 ||
	    grid.z == 0 || grid.z > 65535 || block.z > 64 || shared_bytes > MOST_SHARED_BYTES)
		return ERROR_CONFIGURATION;
	if (!stacks) {
		void *memory = mmap(nullptr, static_cast<size_t>(MOST_THREADS) * STACK_BYTES, PROT_READ | PROT_WRITE,
		                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (memory == MAP_FAILED)
			emulate_fail("no memory for stacks");
		stacks = static_cast<char *>(memory);
	}
	run_thread = run;
	run_context = context;
	run_context_bytes = context_bytes;
	if (watcher)
		watcher->launch(kernel);
	blockDim = block;
	gridDim = grid;
	threads = static_cast<int>(size);
	blocks *= static_cast<uint64_t>(grid.y) * grid.z;
	for (uint64_t b = 0; b < blocks; b++) {
		uint64_t i = descending ? blocks - 1 - b : b;
		blockIdx = dim3(static_cast<unsigned>(i % grid.x), static_cast<unsigned>(i / grid.x % grid.y),
		                static_cast<unsigned>(i / grid.x / grid.y));
		void *memory = nullptr;
		if (posix_memalign(&memory, 1024, SHARED_BEGIN + shared_bytes))
			emulate_fail("no shared memory");
		shared_window = static_cast<unsigned char *>(memory);
		shared_end = static_cast<uint32_t>(SHARED_BEGIN + shared_bytes);
		memset(shared_window, 0xff, shared_end); /* NaNs */
#if FIBER_ASAN
		__asan_poison_memory_region(shared_window, SHARED_BEGIN);
#endif
		run_block();
#if FIBER_ASAN
		__asan_unpoison_memory_region(shared_window, SHARED_BEGIN);
#endif
		free(memory);
	}
	if (watcher)
		watcher->launched();
	return 0;
}

void emulated_order(bool is_descending)
{
	descending = is_descending;
}

void *emulate_shared()
{
	return shared_window + SHARED_BEGIN;
}

uint32_t emulate_shared_address(const void *p)
{
	return static_cast<uint32_t>(static_cast<const unsigned char *>(p) - shared_window);
}

const unsigned char *emulate_shared_at(uint32_t address)
{
	if (address < SHARED_BEGIN || address + 2 > shared_end)
		emulate_fail("a descriptor leads beside the block's shared memory");
	return shared_window + address;
}

static bool same(const char *a, const char *b)
{
	return a == b || !strcmp(a, b);
}

int emulate_barrier(const char *file, int line, int value)
{
	if (!arrived++) {
		barrier_file = file;
		barrier_line = line;
	} else if (barrier_line != line || !same(barrier_file, file)) {
		fprintf(stderr, "%s:%d and %s:%d\n", file, line, barrier_file, barrier_line);
		emulate_fail("threads of a block are at different barriers");
	}
	sum += value;
	wait_at(file, line, 0);
	return result;
}

int emulate_thread()
{
	return current;
}

int emulate_lane()
{
	return current % 32;
}

unsigned emulate_lanes()
{
	return warps[current / 32].exists;
}

/* Those that have waited for the lane that comes last are at the same operation. */
static void compare(const warp *w, unsigned lanes, unsigned mask, int operations)
{
	const fiber *first = fibers + (w - warps) * 32;
	for (unsigned rest = lanes; rest; rest &= rest - 1) {
		const fiber *f = first + __builtin_ctz(rest);
		if (f->mask != mask)
			emulate_fail("lanes of a warp name different masks");
		if (f->operations % 2 != operations % 2)
			emulate_fail("lanes of a warp took part in different operations before");
	}
}

/* Two sets of slots are enough: nobody writes to a set again before all have come to the operation between. */
const unsigned char *emulate_exchange(unsigned mask, const void *mine, size_t bytes, const char *what,
                                      void (*together)(unsigned char *slots))
{
	warp *w = warps + current / 32;
	fiber *f = fibers + current;
	unsigned lane = static_cast<unsigned>(current % 32), wanted = mask & w->exists;
	if (!(mask >> lane & 1))
		emulate_fail("a lane is not in the mask of its own operation");
	if (wanted & w->gone)
		emulate_fail("an operation of a warp names lanes that have ended");
	if ((w->arrived & wanted) && !same(w->what, what))
		emulate_fail("lanes of a warp are at different operations");
	w->what = what;
	w->arrived |= 1U << lane;
	unsigned char *slots = w->slots[f->operations++ % 2];
	memcpy(slots + lane * EMULATE_SLOT, mine, bytes);
	if ((w->arrived & wanted) != wanted) {
		wait_at(what, 0, mask);
		return slots;
	}
	w->arrived &= ~wanted;
	compare(w, wanted & ~(1U << lane), mask, f->operations);
	w->ready |= wanted;
	if (together)
		together(slots);
	if (watcher)
		watcher->warp(current / 32, wanted, bytes == 0);
	return slots;
}

/* ---- who watches ---- */

bool emulate_told;

/* The linker's: of a section by its name, and of static variables that begin as zeros. */
extern "C" char __start_emulate_own, __stop_emulate_own, __bss_start, _end;

static bool within(uintptr_t address, const void *begin, size_t bytes)
{
	return address - reinterpret_cast<uintptr_t>(begin) < bytes;
}

static bool between(uintptr_t address, const char &begin, const char &end)
{
	return address >= reinterpret_cast<uintptr_t>(&begin) && address < reinterpret_cast<uintptr_t>(&end);
}

/* Shared memory is the launch's, and every static variable: that kernels have no other is for their authors to keep. */
static bool describe(emulate_access *a, emulate_kind kind, const void *p, size_t bytes, const void *site)
{
	uintptr_t address = reinterpret_cast<uintptr_t>(p);
	if (!watcher || !bytes || within(address, stacks, static_cast<size_t>(MOST_THREADS) * STACK_BYTES) ||
	    between(address, __start_emulate_own, __stop_emulate_own) ||
	    within(address, run_context, run_context_bytes))
		return false;
	bool shared = within(address, shared_window, shared_end) || between(address, __bss_start, _end);
	*a = {kind, shared, current, address, bytes, site};
	return true;
}

void emulate_tell(emulate_kind kind, const void *p, size_t bytes, const void *site)
{
	emulate_access a;
	if (describe(&a, kind, p, bytes, site))
		watcher->access(a);
}

void emulate_tell_arrived(emulate_kind kind, const void *p, size_t bytes, const void *site)
{
	emulate_access a;
	if (describe(&a, kind, p, bytes, site))
		watcher->arrived(a);
}

emulate_watcher *emulate_watch(emulate_watcher *next)
{
	return std::exchange(watcher, next);
}

emulate_untold::emulate_untold()
{
	fibers[current].untold++;
	emulate_told = false;
}

emulate_untold::~emulate_untold()
{
	emulate_told = --fibers[current].untold == 0 && watcher;
}

void emulate_load(void *to, const void *from, size_t bytes, size_t word)
{
	if (reinterpret_cast<uintptr_t>(from) % word)
		emulate_fail("a load from an address that is not a multiple of its size");
	for (size_t i = 0; i < bytes; i += word)
		emulate_tell(EMULATE_READ, static_cast<const char *>(from) + i, word, __builtin_return_address(0));
	memcpy(to, from, bytes);
}

void emulate_store(void *to, const void *from, size_t bytes, size_t word)
{
	if (reinterpret_cast<uintptr_t>(to) % word)
		emulate_fail("a store to an address that is not a multiple of its size");
	for (size_t i = 0; i < bytes; i += word)
		emulate_tell(EMULATE_WRITE, static_cast<char *>(to) + i, word, __builtin_return_address(0));
	memcpy(to, from, bytes);
}

void emulate_atomic(const void *p, size_t bytes, const void *site)
{
	emulate_tell(EMULATE_ATOMIC, p, bytes, site);
}

void emulate_proxy_fence()
{
	if (watcher)
		watcher->proxy_fence(current);
}
