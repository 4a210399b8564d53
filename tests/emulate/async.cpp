/* Asynchronous work, which a thread begins and waits for later: copies to shared memory (cp.async), products of a
 * warpgroup (wgmma). */
#include <algorithm>
#include <map>
#include <vector>

#include "tests/emulate/internal.h"

namespace
{

struct copy {
	void *to;
	const void *from;
	size_t bytes, filled;
	int group;
	const void *site;
};

struct product {
	std::function<void(float *)> run;
	float *sums;
	int group;
	std::vector<const void *> reads;
	const void *site;
};

struct state {
	std::vector<copy> copies;
	int groups;  /* of copies that were committed */
	bool fenced; /* products may use registers */
	int product_groups;
	std::vector<product> products;
	std::map<float *, std::vector<float>> sums; /* what products that are under way add to */
};

state threads[1024];

/* Takes out what was committed in groups before `end`, in its order. */
template <typename T> std::vector<T> take_before(std::vector<T> &all, int end)
{
	auto rest = std::stable_partition(all.begin(), all.end(), [=](const T &x) { return x.group < end; });
	std::vector<T> taken(all.begin(), rest);
	all.erase(all.begin(), rest);
	return taken;
}

} // namespace

/* Copies that nobody waits for end with the thread; products must not. */
void emulate_async_end()
{
	state *f = threads + emulate_thread();
	if (!f->products.empty())
		emulate_fail("a thread ends before its products");
	f->copies.clear();
	f->sums.clear();
	f->groups = f->product_groups = 0;
	f->fenced = false;
}

/* ---- copies that run by themselves ---- */

void emulate_copy(void *to, const void *from, size_t bytes, size_t filled)
{
	if (reinterpret_cast<uintptr_t>(to) % bytes || (filled && reinterpret_cast<uintptr_t>(from) % bytes))
		emulate_fail("cp.async from or to an address that is not a multiple of its size");
	const void *site = __builtin_return_address(0);
	emulate_tell(EMULATE_COPY_READ, from, filled, site);
	emulate_tell(EMULATE_COPY_WRITE, to, bytes, site);
	memset(to, 0xff, bytes);
	threads[emulate_thread()].copies.push_back({to, from, bytes, filled, threads[emulate_thread()].groups, site});
}

void emulate_copy_commit()
{
	threads[emulate_thread()].groups++;
}

void emulate_copy_wait(int groups)
{
	state *f = threads + emulate_thread();
	for (const copy &c : take_before(f->copies, f->groups - groups)) {
		memcpy(c.to, c.from, c.filled);
		memset(static_cast<char *>(c.to) + c.filled, 0, c.bytes - c.filled);
		emulate_tell_arrived(EMULATE_COPY_READ, c.from, c.filled, c.site);
		emulate_tell_arrived(EMULATE_COPY_WRITE, c.to, c.bytes, c.site);
	}
}

/* ---- products that run by themselves ---- */

void emulate_product(float *sums, size_t n, const std::function<void(float *)> &run, std::vector<const void *> reads)
{
	state *f = threads + emulate_thread();
	const void *site = __builtin_return_address(0);
	if (!f->fenced)
		emulate_fail("wgmma without wgmma.fence before it");
	if (!f->sums.count(sums)) {
		f->sums[sums] = std::vector<float>(sums, sums + n);
		std::fill(sums, sums + n, NAN);
	}
	for (const void *p : reads)
		emulate_tell(EMULATE_PRODUCT_READ, p, 16, site);
	f->products.push_back({run, sums, f->product_groups, std::move(reads), site});
}

void emulate_product_fence()
{
	threads[emulate_thread()].fenced = true;
}

void emulate_product_commit()
{
	threads[emulate_thread()].product_groups++;
}

/* Registers that were waited for may be changed, and then a fence is due. */
void emulate_product_wait(int groups)
{
	emulate_untold meanwhile;
	state *f = threads + emulate_thread();
	for (const product &p : take_before(f->products, f->product_groups - groups)) {
		p.run(f->sums[p.sums].data());
		for (const void *read : p.reads)
			emulate_tell_arrived(EMULATE_PRODUCT_READ, read, 16, p.site);
	}
	for (auto i = f->sums.begin(); i != f->sums.end();) {
		bool waits = false;
		for (const product &p : f->products)
			waits = waits || p.sums == i->first;
		if (!waits)
			std::copy(i->second.begin(), i->second.end(), i->first);
		i = waits ? std::next(i) : f->sums.erase(i);
	}
	f->fenced = false;
}
