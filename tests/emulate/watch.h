/* The emulator tells the watcher of a launch: every access of a kernel to memory, and what orders accesses.
 *
 *     struct counter : emulate_watcher { void access(const emulate_access &a) override { n += a.bytes; } … };
 *     counter c;
 *     emulate_watcher *before = emulate_watch(&c);
 *     …                                       launches
 *     emulate_watch(before);
 *
 * Kernels are compiled with the calls that gcc makes for its thread sanitizer, which tsan.cpp answers; what a
 * GPU does with one instruction (loads of vectors, cp.async, ldmatrix, wgmma, atomics) the emulator tells itself.
 * Not told is what is no memory of a kernel: its stack, its parameters, the emulator's own variables.
 */
#ifndef SHARDLAB_CUDA_EMULATE_WATCH_H
#define SHARDLAB_CUDA_EMULATE_WATCH_H

#include "kernels/cuda/device.cuh"

enum emulate_kind {
	EMULATE_READ,
	EMULATE_WRITE,
	EMULATE_ATOMIC,
	EMULATE_COPY_READ, /* cp.async: under way until it is waited for, as the next two */
	EMULATE_COPY_WRITE,
	EMULATE_PRODUCT_READ /* wgmma: by the asynchronous proxy, one thread for its warp */
};

static inline bool emulate_writes(emulate_kind kind)
{
	return kind == EMULATE_WRITE || kind == EMULATE_ATOMIC || kind == EMULATE_COPY_WRITE;
}

struct emulate_access {
	emulate_kind kind;
	bool shared; /* else global */
	int thread;  /* of the block */
	uintptr_t address;
	size_t bytes;
	const void *site; /* the instruction after it */
};

struct emulate_watcher {
	virtual void launch(const void *kernel)
	{
		(void)kernel;
	}
	virtual void block(int threads) /* another one begins: blockIdx says which */
	{
		(void)threads;
	}
	virtual void access(const emulate_access &a) = 0;
	/* A copy or product of this thread, as it was told of, has been waited for. */
	virtual void arrived(const emulate_access &a)
	{
		(void)a;
	}
	/* All threads of the block that have not ended; these lanes of a warp, with or without an order of memory. */
	virtual void barrier()
	{
	}
	virtual void warp(int number, unsigned lanes, bool orders_memory)
	{
		(void)number;
		(void)lanes;
		(void)orders_memory;
	}
	virtual void proxy_fence(int thread)
	{
		(void)thread;
	}
	virtual void ended(int thread)
	{
		(void)thread;
	}
	virtual void launched()
	{
	}

      protected:
	~emulate_watcher() = default;
};

/* Returns who watched before; NULL: nobody. */
emulate_watcher *emulate_watch(emulate_watcher *watcher);

/* "kernels/cuda/norm.cu:91, called at kernels/cuda/norm.cu:110", or an address if there is no addr2line; and which
 * function it is in. */
struct emulate_place {
	std::string lines, function;
};
emulate_place emulate_place_of(const void *site);

#endif
