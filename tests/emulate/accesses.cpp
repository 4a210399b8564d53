/* Counts a kernel's requests of memory. The k-th time that a lane comes to an instruction, counted from where its warp
 * met last, it makes one request with those lanes whose k-th time it is too. */
#include <unordered_map>

#include "tests/emulate/emulate.h"
#include "tests/emulate/watch.h"

namespace
{

enum { SECTOR = 32, BANKS = 32, BANK = 4 };

struct request {
	emulate_kind kind;
	bool shared;
	uint32_t lanes;
	uintptr_t address[WARP];
	size_t bytes;
};

/* One instruction in one warp. */
struct instruction {
	size_t times[WARP];
	std::vector<request> requests;
};

struct warp_requests {
	std::unordered_map<uintptr_t, instruction> of; /* by its address and the kind of access */
};

/* Numbers of pieces of memory, each once. */
class pieces
{
	std::vector<uintptr_t> all;

      public:
	void add(uintptr_t address, size_t bytes, size_t piece)
	{
		for (uintptr_t p = address / piece; p <= (address + bytes - 1) / piece; p++)
			all.push_back(p);
	}
	const std::vector<uintptr_t> &once()
	{
		std::sort(all.begin(), all.end());
		all.erase(std::unique(all.begin(), all.end()), all.end());
		return all;
	}
};

/* Each byte once. */
int64_t bytes_of(request r)
{
	size_t lanes = 0;
	uintptr_t end = 0, sum = 0;
	for (int lane = 0; lane < WARP; lane++)
		if (r.lanes >> lane & 1)
			r.address[lanes++] = r.address[lane];
	std::sort(r.address, r.address + lanes);
	for (size_t i = 0; i < lanes; i++) {
		uintptr_t begin = std::max(r.address[i], end);
		end = r.address[i] + r.bytes;
		sum += end - std::min(begin, end);
	}
	return static_cast<int64_t>(sum);
}

void add_global(emulated_accesses *to, const request &r)
{
	pieces sectors;
	for (int lane = 0; lane < WARP; lane++)
		if (r.lanes >> lane & 1)
			sectors.add(r.address[lane], r.bytes, SECTOR);
	int64_t asked = bytes_of(r);
	to->sectors += static_cast<int64_t>(sectors.once().size());
	to->least_sectors += (asked + SECTOR - 1) / SECTOR;
	(emulate_writes(r.kind) ? to->written_bytes : to->read_bytes) += asked;
}

/* Wavefronts of some lanes: as many as the fullest bank has words. */
int64_t wavefronts(const request &r, int first, int lanes)
{
	pieces words;
	int64_t in_bank[BANKS] = {};
	for (int lane = first; lane < first + lanes; lane++)
		if (r.lanes >> lane & 1)
			words.add(r.address[lane], r.bytes, BANK);
	for (uintptr_t word : words.once())
		in_bank[word % BANKS]++;
	return *std::max_element(in_bank, in_bank + BANKS);
}

void add_shared(emulated_accesses *to, const request &r)
{
	const int together = r.bytes <= 4 ? WARP : r.bytes <= 8 ? WARP / 2 : WARP / 4;
	for (int first = 0; first < WARP; first += together) {
		int64_t n = wavefronts(r, first, together);
		to->wavefronts += n;
		to->least_wavefronts += n > 0;
	}
}

class accesses final : public emulate_watcher
{
	std::vector<warp_requests> warps;
	emulated_accesses *now = nullptr;
	std::unordered_map<const void *, size_t> numbers;

	void flush(warp_requests *w)
	{
		for (auto &i : w->of)
			for (const request &r : i.second.requests)
				(r.shared ? add_shared : add_global)(now, r);
		w->of.clear();
	}
	void flush_all()
	{
		for (warp_requests &w : warps)
			flush(&w);
	}

      public:
	std::vector<emulated_accesses> kernels;

	void launch(const void *kernel) override
	{
		auto added = numbers.insert({kernel, kernels.size()});
		if (added.second) {
			emulated_accesses k = {};
			emulate_place place = emulate_place_of(static_cast<const char *>(kernel) + 1);
			snprintf(k.kernel, sizeof k.kernel, "%s", place.function.c_str());
			kernels.push_back(k);
		}
		now = &kernels[added.first->second];
		now->launches++;
	}
	void block(int threads) override
	{
		flush_all();
		warps.resize(static_cast<size_t>((threads + WARP - 1) / WARP));
	}
	void access(const emulate_access &a) override
	{
		if (a.kind == EMULATE_PRODUCT_READ)
			return; /* in an order of the tensor cores' own */
		size_t lane = static_cast<size_t>(a.thread % WARP);
		uintptr_t key = reinterpret_cast<uintptr_t>(a.site) * 8 + static_cast<uintptr_t>(a.kind);
		instruction &i = warps[static_cast<size_t>(a.thread / WARP)].of[key];
		size_t k = i.times[lane]++;
		if (k >= i.requests.size())
			i.requests.push_back({a.kind, a.shared, 0, {}, a.bytes});
		i.requests[k].lanes |= 1U << lane;
		i.requests[k].address[lane] = a.address;
	}
	void barrier() override
	{
		flush_all();
	}
	void warp(int number, unsigned lanes, bool) override
	{
		if (lanes == emulate_lanes())
			flush(&warps[static_cast<size_t>(number)]);
	}
	void launched() override
	{
		flush_all();
	}
};

accesses *counter;
emulate_watcher *before;

} // namespace

void emulated_accesses_begin()
{
	delete counter;
	counter = new accesses();
	before = emulate_watch(counter);
}

int emulated_accesses_end(const struct emulated_accesses **kernels)
{
	emulate_watch(before);
	*kernels = counter->kernels.data();
	return static_cast<int>(counter->kernels.size());
}
