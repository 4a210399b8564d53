#include "kernels/exact.h"

#include <math.h>
#include <string.h>

#include "kernels/cpu/bodies.h"

enum { DIGIT_BITS = 12, LOWEST = -300, MANTISSA = 24, EXPONENTS = 256 };

/* While they are worked on, digits are integers of any size and sign. */
struct digits {
	int64_t d[EXACT_DIGITS];
};

static struct digits load(const float *sum)
{
	struct digits n;
	for (int i = 0; i < EXACT_DIGITS; i++)
		n.d[i] = (int64_t)sum[i];
	return n;
}

/* The one form of a number: digits of 0 … 4095, but for the last, which has the sign. */
static void carry(struct digits *n)
{
	for (int i = 0; i + 1 < EXACT_DIGITS; i++) {
		int64_t low = n->d[i] & ((1 << DIGIT_BITS) - 1);
		n->d[i + 1] += (n->d[i] - low) / (1 << DIGIT_BITS);
		n->d[i] = low;
	}
}

static void store(struct digits *n, float *sum)
{
	carry(n);
	for (int i = 0; i < EXACT_DIGITS; i++)
		sum[i] = (float)n->d[i];
}

/* += whole · 2^exponent; |whole| < 2^53. What lies below the lowest digit is no square of fp32. */
static void add_at(struct digits *n, int64_t whole, int exponent)
{
	int at = exponent - LOWEST;
	for (; at < 0; at++)
		whole /= 2;
	int digit = at / DIGIT_BITS, sign = whole < 0 ? -1 : 1;
	uint64_t left = (uint64_t)(whole * sign);
	int shift = at % DIGIT_BITS;
	for (int bits = DIGIT_BITS - shift; left && digit < EXACT_DIGITS; bits = DIGIT_BITS, shift = 0, digit++) {
		n->d[digit] += sign * (int64_t)((left & ((UINT64_C(1) << bits) - 1)) << shift);
		left >>= bits;
	}
}

void exact_add(float *sum, double value)
{
	int exponent = 0;
	if (!isfinite(value) || !isfinite(sum[0])) {
		sum[0] += (float)value;
		return;
	}
	struct digits n = load(sum);
	double fraction = frexp(value, &exponent);
	add_at(&n, (int64_t)ldexp(fraction, 53), exponent - 53);
	store(&n, sum);
}

double exact_value(const float *sum)
{
	double value = 0;
	if (!isfinite(sum[0]))
		return (double)sum[0];
	struct digits n = load(sum);
	carry(&n);
	for (int i = EXACT_DIGITS - 1; i >= 0; i--)
		value += ldexp((double)n.d[i], DIGIT_BITS * i + LOWEST);
	return value;
}

/* ---- squares ---- */

/* Squares of mantissas by exponent, in two halves that 2^39 of them do not fill. */
struct bins {
	uint64_t low[EXPONENTS], high[EXPONENTS];
};

static void take(struct bins *b, const float *x, int64_t n)
{
	for (int64_t i = 0; i < n; i++) {
		uint32_t bits;
		memcpy(&bits, &x[i], sizeof bits);
		uint32_t exponent = bits >> (MANTISSA - 1) & (EXPONENTS - 1);
		uint64_t mantissa = (bits & ((1U << (MANTISSA - 1)) - 1)) | (exponent ? 1U << (MANTISSA - 1) : 0);
		uint64_t square = mantissa * mantissa;
		b->low[exponent] += square & ((1U << MANTISSA) - 1);
		b->high[exponent] += square >> MANTISSA;
	}
}

/* Denormal numbers have the weight of the lowest exponent. */
static void add_bins(const struct bins *b, float *sum)
{
	struct digits n = load(sum);
	for (int e = 0; e + 1 < EXPONENTS; e++) {
		int weight = 2 * ((e ? e : 1) - 127 - (MANTISSA - 1));
		add_at(&n, (int64_t)b->low[e], weight);
		add_at(&n, (int64_t)b->high[e], weight + MANTISSA);
	}
	store(&n, sum);
}

void exact_add_squares(enum element type, int64_t n, const void *x, float *sum)
{
	float tile[1024];
	struct bins b = {0};
	for (int64_t i = 0; i < n; i += 1024) {
		int64_t count = n - i < 1024 ? n - i : 1024;
		vector_convert(count, type, element_at_const(type, x, i), ELEMENT_FP32, tile);
		take(&b, tile, count);
	}
	if (b.low[EXPONENTS - 1] || b.high[EXPONENTS - 1] || !isfinite(sum[0]))
		sum[0] = NAN;
	else
		add_bins(&b, sum);
}
