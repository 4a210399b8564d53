/* Races of a launch. Two accesses to a byte, one of which writes, must have an order:
 *
 *     of one block     __syncthreads() or __syncwarp() after the one and before the other, passed by both threads or by
 *                      threads that are so ordered with them. Shuffles, votes, ldmatrix and products make lanes wait
 *                      for each other, but order no memory (CUDA C++ Programming Guide, "Warp Shuffle Functions")
 *     of two blocks    none: blocks that meet in memory do so by atomics alone
 *     cp.async, wgmma  last from the instruction to this thread's wait, whose order with others is then as above
 *     wgmma's reads    of what ordinary stores and cp.async wrote: fence.proxy.async besides, on the way between (PTX
 *                      ISA, "Async proxy")
 *
 * Atomics do not race with each other, and order nothing.
 *
 * Memory is kept track of in lines of 16 bytes: who wrote and read which of these last, before what is forgotten
 * because all that could race with it races with what came later (Flanagan & Freund 2009, FastTrack).
 */
#include <memory>
#include <unordered_map>

#include "tests/emulate/emulate.h"
#include "tests/emulate/order.h"
#include "tests/emulate/watch.h"

namespace
{

enum { LINE_BYTES = 16, PAGE_LINES = 256, PAGE_BYTES = LINE_BYTES * PAGE_LINES, CACHE = 512 };

/* ---- who accessed a line ---- */

/* Goes on until it is waited for. */
bool begins(emulate_kind kind)
{
	return kind == EMULATE_COPY_READ || kind == EMULATE_COPY_WRITE || kind == EMULATE_PRODUCT_READ;
}

/* One instruction of some lanes of a warp, at the same clock: each of them accessed all these bytes. */
struct record {
	uint16_t mask;
	uint8_t kind;
	bool under_way;
	int warp;
	uint32_t lanes, clock;
	uint64_t block;
	const void *site;

	/* Makes this access part of the record, where it is the same but for the lane, or for the bytes. */
	bool takes(const emulate_access &a, uint16_t bytes, uint32_t now, uint64_t in)
	{
		uint32_t lane = 1U << a.thread % WARP;
		if (begins(a.kind) || site != a.site || kind != a.kind || clock != now || warp != a.thread / WARP ||
		    block != in || (mask != bytes && lanes != lane))
			return false;
		mask |= bytes;
		lanes |= lane;
		return true;
	}
};

struct line {
	uint64_t launch, block; /* of the last access */
	std::vector<record> records;
};

class memory
{
	struct page {
		line lines[PAGE_LINES];
	};
	std::unordered_map<uintptr_t, std::unique_ptr<page>> pages;
	struct {
		uintptr_t number;
		page *at;
	} cache[CACHE] = {};

      public:
	line &at(uintptr_t address)
	{
		uintptr_t number = address / PAGE_BYTES;
		auto &c = cache[number % CACHE];
		if (!c.at || c.number != number) {
			std::unique_ptr<page> &p = pages[number];
			if (!p)
				p.reset(new page());
			c = {number, p.get()};
		}
		return c.at->lines[address % PAGE_BYTES / LINE_BYTES];
	}
};

/* One access of each kind is enough of what other blocks did to the same bytes. */
void join(line *l)
{
	std::vector<record> joined;
	for (const record &r : l->records)
		if (std::none_of(joined.begin(), joined.end(),
		                 [&](const record &j) { return j.kind == r.kind && !(r.mask & ~j.mask); }))
			joined.push_back(r);
	l->records.swap(joined);
}

bool conflict(emulate_kind a, emulate_kind b)
{
	return (emulate_writes(a) || emulate_writes(b)) && !(a == EMULATE_ATOMIC && b == EMULATE_ATOMIC);
}

class races : public emulate_watcher
{
	emulate_order threads;
	memory lines;
	uint64_t launches = 0, blocks = 0;
	const void *kernel = nullptr;

	/* The first thread of the record for which before() does not hold; −1: there is none. */
	template <typename Before> int without(const record &r, Before before) const
	{
		const bool none = r.under_way || r.block != blocks;
		for (uint32_t left = r.lanes; left; left &= left - 1) {
			int thread = r.warp * WARP + __builtin_ctz(left);
			if (none || !before(thread))
				return thread;
		}
		return -1;
	}
	int unordered(const record &r, int thread) const
	{
		if (!r.under_way && r.block == blocks && threads.settled(r.warp, r.clock))
			return -1;
		return without(r, [&](int earlier) { return threads.before(earlier, r.clock, thread); });
	}
	int unfenced(const record &r, int thread) const
	{
		return without(r, [&](int earlier) { return threads.proxied(earlier, r.clock, thread); });
	}

	line &line_at(const emulate_access &a, uintptr_t address)
	{
		line &l = lines.at(address);
		if (l.launch != launches || (l.block != blocks && a.shared))
			l.records.clear();
		else if (l.block != blocks)
			join(&l);
		l.launch = launches;
		l.block = blocks;
		return l;
	}

	static uint16_t mask_of(const emulate_access &a, uintptr_t begin)
	{
		size_t first = a.address > begin ? a.address - begin : 0;
		size_t end = std::min<size_t>(a.address + a.bytes - begin, LINE_BYTES);
		return static_cast<uint16_t>((1U << end) - (1U << first));
	}

	void check(const record &r, const emulate_access &a) const
	{
		emulate_kind kind = static_cast<emulate_kind>(r.kind);
		int other = conflict(kind, a.kind) ? unordered(r, a.thread) : -1;
		if (other >= 0)
			report(r, other, a, "nothing orders the two");
		other = a.kind == EMULATE_PRODUCT_READ && emulate_writes(kind) ? unfenced(r, a.thread) : -1;
		if (other >= 0)
			report(r, other, a, "no fence.proxy.async is between the two");
	}

	/* Later accesses that race with the record race with this one too, so they are not compared with it. */
	bool replaces(const emulate_access &a, const record &r) const
	{
		if (r.under_way || r.block != blocks)
			return false;
		if (emulate_writes(a.kind))
			return !(a.kind == EMULATE_ATOMIC && r.kind == EMULATE_ATOMIC) || unordered(r, a.thread) < 0;
		return !emulate_writes(static_cast<emulate_kind>(r.kind)) && threads.settled(r.warp, r.clock);
	}

	void add(line *l, const emulate_access &a, uint16_t mask)
	{
		const uint32_t now = threads.now(a.thread), lane = 1U << a.thread % WARP;
		bool empty = false, taken = false;
		for (record &r : l->records) {
			if (r.mask & mask)
				check(r, a);
			if (!taken && r.takes(a, mask, now, blocks)) {
				taken = true;
			} else if ((r.mask & mask) && replaces(a, r)) {
				r.mask = static_cast<uint16_t>(r.mask & ~mask);
				empty = empty || !r.mask;
			}
		}
		if (empty)
			l->records.erase(std::remove_if(l->records.begin(), l->records.end(),
			                                [](const record &r) { return !r.mask; }),
			                 l->records.end());
		if (!taken)
			l->records.push_back({mask, static_cast<uint8_t>(a.kind), begins(a.kind), a.thread / WARP, lane,
			                      now, blocks, a.site});
	}

	[[noreturn]] void report(const record &r, int thread, const emulate_access &a, const char *why) const
	{
		static const char *const words[] = {
		        "read", "write", "atomic", "read by cp.async", "write by cp.async", "read by wgmma"};
		emulate_place place = emulate_place_of(a.site), other = emulate_place_of(r.site);
		fprintf(stderr, "race in %s\n  block (%u, %u, %u), %zu bytes of %s memory at %#zx: %s\n",
		        emulate_place_of(static_cast<const char *>(kernel) + 1).function.c_str(), blockIdx.x,
		        blockIdx.y, blockIdx.z, a.bytes, a.shared ? "shared" : "global", static_cast<size_t>(a.address),
		        why);
		fprintf(stderr, "  %s of thread %d at %s\n", words[a.kind], a.thread, place.lines.c_str());
		fprintf(stderr, "  %s of thread %d at %s%s\n", words[r.kind], thread, other.lines.c_str(),
		        r.block != blocks ? ", in another block"
		        : r.under_way     ? ", still under way"
		                          : "");
		abort();
	}

      public:
	void launch(const void *of) override
	{
		launches++;
		kernel = of;
	}
	void block(int count) override
	{
		blocks++;
		threads.begin(count);
	}
	void access(const emulate_access &a) override
	{
		uintptr_t first = a.address / LINE_BYTES * LINE_BYTES;
		for (uintptr_t begin = first; begin < a.address + a.bytes; begin += LINE_BYTES)
			add(&line_at(a, begin), a, mask_of(a, begin));
	}
	void arrived(const emulate_access &a) override
	{
		uintptr_t first = a.address / LINE_BYTES * LINE_BYTES;
		for (uintptr_t begin = first; begin < a.address + a.bytes; begin += LINE_BYTES)
			for (record &r : line_at(a, begin).records)
				if (r.under_way && r.warp == a.thread / WARP && r.lanes == 1U << a.thread % WARP &&
				    r.kind == a.kind && (r.mask & mask_of(a, begin))) {
					r.under_way = false;
					r.clock = threads.now(a.thread);
				}
	}
	void barrier() override
	{
		threads.barrier();
	}
	void warp(int number, unsigned lanes, bool orders_memory) override
	{
		if (orders_memory)
			threads.warp(number, lanes);
	}
	void proxy_fence(int thread) override
	{
		threads.fence(thread);
	}
	void ended(int thread) override
	{
		threads.end(thread);
	}
};

} // namespace

void emulated_races(bool stopped)
{
	static races all;
	emulate_watch(stopped ? &all : nullptr);
}

static const bool from_the_start = (emulated_races(emulated_tells()), true);
