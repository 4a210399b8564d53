/* Helpers for tests of the GPU's kernels: elements of a type between guards, random numbers, and how far
 * rounding may be off. */
#ifndef SHARDLAB_TESTS_ELEMENTS_HPP
#define SHARDLAB_TESTS_ELEMENTS_HPP

#include <cstring>
#include <vector>

#include "kernels/kernels.h"
#include "tests/gpu/target.h"

/* For memory that kernels reach. */
template <typename T> struct target_allocator {
	typedef T value_type;
	target_allocator() = default;
	template <typename U> target_allocator(const target_allocator<U> &)
	{
	}
	T *allocate(size_t n)
	{
		return static_cast<T *>(target_memory(n * sizeof(T)));
	}
	void deallocate(T *p, size_t)
	{
		target_release(p);
	}
	template <typename U> bool operator==(const target_allocator<U> &) const
	{
		return true;
	}
	template <typename U> bool operator!=(const target_allocator<U> &) const
	{
		return false;
	}
};
typedef std::vector<unsigned char, target_allocator<unsigned char>> target_bytes;

/* Elements of a type, NaN until written; beside them 64 bytes that nobody may write. */
class elements
{
      public:
	elements(enum element of, int64_t n) : type(of), count(static_cast<size_t>(n)), bytes(size() + 2 * GUARD)
	{
		memset(bytes.data(), 0xff, bytes.size());
	}
	void *data()
	{
		return bytes.data() + GUARD;
	}
	size_t size() const
	{
		return count * static_cast<size_t>(element_bytes(type));
	}
	/* In [−scale, scale) */
	void fill(float scale)
	{
		static uint32_t state = 1;
		std::vector<float> x(count);
		for (float &f : x) {
			state = state * 1664525U + 1013904223U;
			f = scale * (static_cast<float>(state >> 8) / 8388608.0F - 1.0F);
		}
		vector_convert(static_cast<int64_t>(count), ELEMENT_FP32, x.data(), type, data());
	}
	std::vector<double> numbers()
	{
		std::vector<float> x(count);
		vector_convert(static_cast<int64_t>(count), type, data(), ELEMENT_FP32, x.data());
		return std::vector<double>(x.begin(), x.end());
	}
	bool same(const elements &other) const
	{
		return bytes == other.bytes;
	}
	bool intact() const
	{
		for (size_t i = 0; i < GUARD; i++)
			if (bytes[i] != 0xff || bytes[bytes.size() - 1 - i] != 0xff)
				return false;
		return true;
	}

      private:
	enum { GUARD = 64 };
	enum element type;
	size_t count;
	target_bytes bytes;
};

/* The largest relative rounding error: half a unit in the last place. */
static inline double unit(enum element type)
{
	return type == ELEMENT_FP32 ? 0x1p-24 : type == ELEMENT_BF16 ? 0x1p-8 : 0x1p-11;
}

#endif
