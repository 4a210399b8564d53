#include "tests/support/elements.h"

#include <math.h>
#include <string.h>

static float from_bits(uint32_t bits)
{
	float x;
	memcpy(&x, &bits, sizeof x);
	return x;
}

static uint32_t to_bits(float x)
{
	uint32_t bits;
	memcpy(&bits, &x, sizeof bits);
	return bits;
}

static float fp16_value(uint16_t bits)
{
	int exponent = bits >> 10 & 31, fraction = bits & 1023;
	float size = exponent == 31 ? (fraction ? NAN : INFINITY)
	             : exponent     ? ldexpf((float)(1024 + fraction), exponent - 25)
	                            : ldexpf((float)fraction, -24);
	return bits >> 15 ? -size : size;
}

static uint16_t fp16_bits(float x)
{
	unsigned sign = signbit(x) ? 0x8000 : 0;
	int exponent;
	if (isnan(x))
		return 0x7e00;
	(void)frexpf(x, &exponent);
	/* The last of its eleven digits, or of a subnormal number's. */
	float unit = ldexpf(1, exponent - 11 > -24 ? exponent - 11 : -24), size = nearbyintf(fabsf(x) / unit) * unit;
	if (size >= 65536)
		return (uint16_t)(sign | 0x7c00);
	if (size < ldexpf(1, -14))
		return (uint16_t)(sign | (unsigned)ldexpf(size, 24));
	exponent = ilogbf(size);
	return (uint16_t)(sign | (unsigned)(exponent + 15) << 10 | ((unsigned)ldexpf(size, 10 - exponent) & 1023));
}

static uint16_t bf16_bits(float x)
{
	uint32_t bits = to_bits(x);
	if (isnan(x))
		return 0x7fc0;
	return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

float element_get(enum type t, const void *x, int64_t i)
{
	if (t == TYPE_FP32)
		return ((const float *)x)[i];
	uint16_t bits = ((const uint16_t *)x)[i];
	return t == TYPE_FP16 ? fp16_value(bits) : from_bits((uint32_t)bits << 16);
}

void element_set(enum type t, void *x, int64_t i, float value)
{
	if (t == TYPE_FP32)
		((float *)x)[i] = value;
	else
		((uint16_t *)x)[i] = t == TYPE_FP16 ? fp16_bits(value) : bf16_bits(value);
}
