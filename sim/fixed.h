/* The simulation's numbers: whole nanoseconds, and quantities in units of 2^-32. There is no floating point, so every
 * machine computes the same bytes.
 */
#ifndef SHARDLAB_SIM_FIXED_H
#define SHARDLAB_SIM_FIXED_H

#include <stdint.h>

__extension__ typedef unsigned __int128 wide;

typedef uint64_t fixed; /* in 2^-32 */
#define FIXED_ONE (UINT64_C(1) << 32)
#define FIXED_MOST (UINT64_MAX >> 1)

/* No clock passes 73 years, which leaves room for additions. */
#define TIME_MOST (INT64_MAX / 4)

static inline fixed fixed_clamp(wide x)
{
	return x > FIXED_MOST ? FIXED_MOST : (fixed)x;
}

static inline fixed fixed_ratio(uint64_t a, uint64_t b) /* a / b */
{
	return fixed_clamp(((wide)a << 32) / (b ? b : 1));
}

static inline fixed fixed_times(fixed a, fixed b)
{
	return fixed_clamp((wide)a * b >> 32);
}

static inline fixed fixed_over(fixed a, fixed b)
{
	return fixed_clamp(((wide)a << 32) / (b ? b : 1));
}

static inline int64_t time_clamp(wide ns)
{
	return ns > (wide)TIME_MOST ? TIME_MOST : (int64_t)ns;
}

/* The time that so many bytes or FLOPs take at so many a second: nanoseconds, rounded up. */
static inline int64_t time_of(int64_t amount, int64_t per_second)
{
	if (amount <= 0)
		return 0;
	return time_clamp(((wide)amount * 1000000000u + (wide)per_second - 1) / (wide)per_second);
}

/* Converts to bytes a nanosecond. A rate is at least 2^-32, so that everything ends. */
static inline fixed fixed_rate(int64_t per_second)
{
	fixed r = fixed_ratio((uint64_t)per_second, 1000000000u);
	return r ? r : 1;
}

#endif
