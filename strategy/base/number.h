/* Numbers as people write them: 1024, 7.5e9, 25MiB, 1e-3. Every size that comes from outside goes through here. */
#ifndef SHARDLAB_NUMBER_H
#define SHARDLAB_NUMBER_H

#include <stdbool.h>
#include <stdint.h>

#include "strategy/base/status.h"

/* A whole number in [low, high]: digits, scientific notation whose value is whole (7.5e9), or with K, M, B or T (10³,
 * 10⁶, 10⁹, 10¹²) behind it, as model sizes are written (7.5B). `what` names it in the
 * message: "ranks: '0' is below 1". */
enum status number_whole(const char *text, const char *what, int64_t low, int64_t high, int64_t *out);
/* Bytes: as above, with B, kB, MB, GB, TB (10³) or KiB, MiB, GiB, TiB (2¹⁰). */
enum status number_bytes(const char *text, const char *what, int64_t low, int64_t high, int64_t *out);
/* The number of bytes in a unit: 1e6 for "MB". loosely: accepts letters of either case, and "bytes". 0: it is not a
 * unit. */
double number_byte_unit(const char *unit, bool loosely);
/* A finite number in [low, high]. */
enum status number_real(const char *text, const char *what, double low, double high, double *out);

/* A time in (0, 1e9 s] with its unit, ms, s, min or h, in nanoseconds: "1.53s", "860ms". */
enum status number_time(const char *text, const char *what, int64_t *out);

/* Products that would overflow return false. */
static inline bool multiply(int64_t a, int64_t b, int64_t *out)
{
	return !__builtin_mul_overflow(a, b, out);
}

static inline int64_t round_up(int64_t n, int64_t multiple)
{
	return (n + multiple - 1) / multiple * multiple;
}

/* "1.5 GB", "37.2 MB", "512 B": at most four digits, powers of ten. */
void number_format_bytes(char *out, int size, int64_t bytes);
/* The fewest digits that read back as the same double: "0.1", "1e-05", "0.30000000000000004". */
enum { NUMBER_REAL = 32 };
void number_exact_real(char out[NUMBER_REAL], double x);
/* All digits, and readable by number_bytes(): "25MiB", "1MB", "1048577B". */
void number_exact_bytes(char *out, int size, int64_t bytes);
/* The memory of a device or a node: "84.99 GB (79.15 GiB)", since a card of 80 GB is named after the second. Below 1 GB
 * it is as above. */
void number_format_capacity(char *out, int size, int64_t bytes);
/* 4837376 → "4,837,376", into a buffer of 32 bytes; returns it. */
const char *number_format_count(char *out, int64_t n);
/* Prints a count that number_whole() reads back, short where that is exact: 7000000000 → "7B", 1536000 → "1.536M". */
enum { NUMBER_COUNT = 32 };
void number_short_count(char out[NUMBER_COUNT], int64_t n);
/* "45.2 TFLOP/s", "150.3 GFLOP/s": of FLOP/s. */
void number_format_flops(char *out, int size, double flops_per_s);
/* "1.23 s", "4.56 ms", "789 µs". */
void number_format_time(char *out, int size, int64_t nanoseconds);

#endif
