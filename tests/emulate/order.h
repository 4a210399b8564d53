/* The happens-before order in the block that runs.
 *
 * A thread's clock ticks where it meets others. An access keeps its thread's clock: it is before another thread's next
 * access if that thread knows of a clock that is as late. After a barrier all know `known`; a lane besides what it has
 * `seen` of its warp since. `fenced` are the clocks up to which the asynchronous proxy sees a thread's writes, too.
 */
#ifndef SHARDLAB_CUDA_EMULATE_ORDER_H
#define SHARDLAB_CUDA_EMULATE_ORDER_H

#include "kernels/cuda/device.cuh"

struct emulate_clocks {
	uint32_t of[WARP];
	void merge(const emulate_clocks &other)
	{
		for (int i = 0; i < WARP; i++)
			of[i] = std::max(of[i], other.of[i]);
	}
};

class emulate_order
{
	enum { THREADS = 1024 };
	int threads = 0;
	bool fences = false; /* has there been one */
	uint32_t barriers = 0;
	bool ended[THREADS];
	uint32_t clock[THREADS], known[THREADS], known_fenced[THREADS];
	uint32_t known_of_all[THREADS / WARP];         /* the least of the warp's */
	emulate_clocks seen[THREADS], fenced[THREADS]; /* of the thread's warp */
	uint32_t fenced_at[THREADS];                   /* barriers + 1: fenced all that is known since */

	static int warp_of(int thread)
	{
		return thread / WARP * WARP;
	}
	bool fenced_known(int thread) const
	{
		return fenced_at[thread] == barriers + 1;
	}

	void barrier_of_fences()
	{
		bool all = false;
		for (int t = 0; t < threads; t++)
			all = all || (!ended[t] && fenced_known(t));
		for (int t = 0; t < threads; t++) {
			if (all)
				known_fenced[t] = std::max(known_fenced[t], known[t]);
			for (int v = warp_of(t); v < std::min(warp_of(t) + WARP, threads); v++)
				if (!ended[v])
					known_fenced[t] = std::max(known_fenced[t], fenced[v].of[t % WARP]);
		}
	}

      public:
	void begin(int of_block)
	{
		threads = of_block;
		fences = false;
		barriers = 0;
		std::fill(ended, ended + threads, false);
		std::fill(clock, clock + threads, 1);
		std::fill(known, known + threads, 0);
		std::fill(known_fenced, known_fenced + threads, 0);
		std::fill(known_of_all, known_of_all + THREADS / WARP, 0);
		std::fill(fenced_at, fenced_at + threads, 0);
		memset(seen, 0, static_cast<size_t>(threads) * sizeof *seen);
		memset(fenced, 0, static_cast<size_t>(threads) * sizeof *fenced);
	}

	/* A thread that has ended is known as far as its warp saw it: it is not at the barrier. */
	void barrier()
	{
		if (fences)
			barrier_of_fences();
		for (int t = 0; t < threads; t++) {
			for (int v = warp_of(t); ended[t] && v < std::min(warp_of(t) + WARP, threads); v++)
				if (!ended[v])
					known[t] = std::max(known[t], seen[v].of[t % WARP]);
			if (!ended[t])
				known[t] = clock[t]++;
		}
		for (int w = 0; w * WARP < threads; w++)
			known_of_all[w] =
			        *std::min_element(known + w * WARP, known + std::min(w * WARP + WARP, threads));
		barriers++;
	}

	void warp(int number, unsigned lanes)
	{
		emulate_clocks saw = {}, saw_fenced = {};
		bool all = false;
		for (int i = 0; i < WARP; i++)
			if (lanes >> i & 1) {
				int t = number * WARP + i;
				seen[t].of[i] = clock[t];
				saw.merge(seen[t]);
				saw_fenced.merge(fenced[t]);
				all = all || fenced_known(t);
			}
		for (int i = 0; i < WARP; i++)
			if (lanes >> i & 1) {
				int t = number * WARP + i;
				seen[t] = saw;
				fenced[t] = saw_fenced;
				fenced_at[t] = all ? barriers + 1 : fenced_at[t];
				clock[t]++;
			}
	}

	void fence(int thread)
	{
		fences = true;
		fenced[thread].merge(seen[thread]);
		fenced[thread].of[thread % WARP] = clock[thread]++;
		fenced_at[thread] = barriers + 1;
	}

	void end(int thread)
	{
		ended[thread] = true;
	}

	uint32_t now(int thread) const
	{
		return clock[thread];
	}

	/* Whether what `earlier` did at its clock is before what `later` does now; and whether products see it. */
	bool before(int earlier, uint32_t at, int later) const
	{
		return earlier == later || at <= known[earlier] ||
		       (warp_of(earlier) == warp_of(later) && at <= seen[later].of[earlier % WARP]);
	}
	bool proxied(int earlier, uint32_t at, int later) const
	{
		return at <= known_fenced[earlier] || (fenced_known(later) && at <= known[earlier]) ||
		       (warp_of(earlier) == warp_of(later) && at <= fenced[later].of[earlier % WARP]);
	}
	/* Whether all of a warp know of its clocks up to this one. */
	bool settled(int warp, uint32_t at) const
	{
		return at <= known_of_all[warp];
	}
};

#endif
