/* The functions that gcc's -fsanitize=thread has code call before each access to memory. The sanitizer's own library is
 * not linked: these stand in its place. */
#include "tests/emulate/emulate.h"
#include "tests/emulate/internal.h"

bool emulated_tells()
{
#ifdef EMULATE_TELLS
	return true;
#else
	return false;
#endif
}

#ifdef EMULATE_TELLS

#define EXPORT extern "C" __attribute__((visibility("default")))

static inline void tell(emulate_kind kind, const void *p, size_t bytes, const void *site)
{
	if (emulate_told)
		emulate_tell(kind, p, bytes, site);
}

#define OF_SIZE(n)                                                                                                     \
	EXPORT void __tsan_read##n(const void *p)                                                                      \
	{                                                                                                              \
		tell(EMULATE_READ, p, n, __builtin_return_address(0));                                                 \
	}                                                                                                              \
	EXPORT void __tsan_write##n(const void *p)                                                                     \
	{                                                                                                              \
		tell(EMULATE_WRITE, p, n, __builtin_return_address(0));                                                \
	}
OF_SIZE(1)
OF_SIZE(2)
OF_SIZE(4)
OF_SIZE(8)
OF_SIZE(16)
#undef OF_SIZE

EXPORT void __tsan_read_range(const void *p, size_t bytes)
{
	tell(EMULATE_READ, p, bytes, __builtin_return_address(0));
}

EXPORT void __tsan_write_range(const void *p, size_t bytes)
{
	tell(EMULATE_WRITE, p, bytes, __builtin_return_address(0));
}

EXPORT void __tsan_init()
{
}

EXPORT void __tsan_vptr_update(const void *, const void *)
{
}

#endif
