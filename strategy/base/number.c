#include "strategy/base/number.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* strtod also takes hexadecimal, "nan" and "inf", which nobody means here. */
static bool starts_as_number(const char *text)
{
	const char *p = text;
	if (*p == '-' || *p == '+')
		p++;
	if (!isdigit((unsigned char)*p) && !(*p == '.' && isdigit((unsigned char)p[1])))
		return false;
	return !(p[0] == '0' && (p[1] == 'x' || p[1] == 'X'));
}

static enum status in_range(const char *text, const char *what, double v, double low, double high)
{
	if (v < low)
		return status_fail(STATUS_INPUT, "%s: '%.60s' is below %g", what, text, low);
	if (v > high)
		return status_fail(STATUS_INPUT, "%s: '%.60s' is above %g", what, text, high);
	return STATUS_OK;
}

static enum status whole_in_range(const char *text, const char *what, int64_t v, int64_t low, int64_t high, bool units)
{
	if (v >= low && v <= high)
		return STATUS_OK;
	return status_fail(STATUS_INPUT, "%s: '%.60s' is %s %" PRId64 "%s", what, text, v < low ? "below" : "above",
	                   v < low ? low : high, units ? " B" : "");
}

double number_byte_unit(const char *unit, bool loosely)
{
	static const struct {
		const char *name;
		double bytes;
		bool loosely; /* where people type, not in options */
	} units[] = {
	        {"B", 1, false},
	        {"byte", 1, true},
	        {"bytes", 1, true},
	        {"kB", 1e3, false},
	        {"KB", 1e3, false},
	        {"MB", 1e6, false},
	        {"GB", 1e9, false},
	        {"TB", 1e12, false},
	        {"KiB", 1024.0, false},
	        {"MiB", 1048576.0, false},
	        {"GiB", 1073741824.0, false},
	        {"TiB", 1099511627776.0, false},
	};
	for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
		if (loosely ? !strcasecmp(unit, units[i].name) : !units[i].loosely && !strcmp(unit, units[i].name))
			return units[i].bytes;
	return 0;
}

/* Units of model sizes: 350M, 7B. */
static double count_unit(const char *unit)
{
	static const char letters[] = "KMBT";
	const char *at = *unit && !unit[1] ? strchr(letters, *unit) : NULL;
	return at ? pow(1000, (double)(at - letters + 1)) : 0;
}

/* "7b" was meant as 7B. */
static enum status not_a_number(const char *text, const char *what, const char *kind, const char *unit)
{
	char upper[2] = {(char)toupper((unsigned char)*unit), 0};
	if (*unit && count_unit(upper) > 0 && !unit[1])
		return status_fail(STATUS_INPUT, "%s: '%.60s' is not %s; say %.*s%s", what, text, kind,
		                   (int)(unit - text), text, upper);
	return status_fail(STATUS_INPUT, "%s: '%.60s' is not %s", what, text, kind);
}

static enum status whole_with_unit(const char *text, const char *what, int64_t low, int64_t high, bool units,
                                   int64_t *out)
{
	const char *kind = units ? "a number of bytes such as 1048576, 1MiB or 25MB" : "a whole number";
	if (!starts_as_number(text))
		return status_fail(STATUS_INPUT, "%s: '%.60s' is not %s", what, text, kind);
	char *end = NULL;
	errno = 0;
	int64_t digits = strtoll(text, &end, 10);
	if (!*end && !errno) { /* plain digits keep all their 63 bits */
		*out = digits;
		return whole_in_range(text, what, digits, low, high, units);
	}
	double v = strtod(text, &end);
	double unit = !*end ? 1 : units ? number_byte_unit(end, false) : count_unit(end);
	if (unit <= 0)
		return not_a_number(text, what, kind, units ? "" : end);
	v *= unit;
	if (!isfinite(v) || v > 9.0e18 || v < -9.0e18)
		return status_fail(STATUS_INPUT, "%s: '%.60s' is too large", what, text);
	if (v != floor(v))
		return status_fail(STATUS_INPUT, "%s: '%.60s' is not whole", what, text);
	*out = (int64_t)v;
	return whole_in_range(text, what, *out, low, high, units);
}

enum status number_whole(const char *text, const char *what, int64_t low, int64_t high, int64_t *out)
{
	return whole_with_unit(text, what, low, high, false, out);
}

enum status number_bytes(const char *text, const char *what, int64_t low, int64_t high, int64_t *out)
{
	return whole_with_unit(text, what, low, high, true, out);
}

enum status number_real(const char *text, const char *what, double low, double high, double *out)
{
	char *end = NULL;
	double v = starts_as_number(text) ? strtod(text, &end) : 0;
	if (!end || *end || !isfinite(v))
		return status_fail(STATUS_INPUT, "%s: '%.60s' is not a number", what, text);
	TRY(in_range(text, what, v, low, high));
	*out = v;
	return STATUS_OK;
}

enum status number_time(const char *text, const char *what, int64_t *out)
{
	static const struct {
		const char *name;
		double ns;
	} units[] = {{"ms", 1e6}, {"s", 1e9}, {"min", 60e9}, {"h", 3600e9}};
	char *end = NULL;
	double v = starts_as_number(text) ? strtod(text, &end) : 0;
	for (size_t i = 0; end && i < sizeof units / sizeof *units; i++)
		if (!strcmp(end + strspn(end, " "), units[i].name) && v > 0 && v * units[i].ns <= 1e18) {
			*out = (int64_t)(v * units[i].ns + 0.5);
			return STATUS_OK;
		}
	return status_fail(STATUS_INPUT, "%s: '%.60s' is not a time; it looks like 1.53s or 860ms", what, text);
}

/* Four significant digits without trailing noise. */
static void format_scaled(char *out, int size, double v, const char *unit)
{
	int decimals = v < 9.9995 ? 3 : v < 99.995 ? 2 : v < 999.95 ? 1 : 0;
	snprintf(out, (size_t)size, "%.*f %s", decimals, v, unit);
}

void number_format_bytes(char *out, int size, int64_t bytes)
{
	static const char *const unit[] = {"B", "kB", "MB", "GB", "TB", "PB", "EB"};
	double v = (double)bytes;
	int u = 0;
	while (v >= 999.95 && u < 6) {
		v /= 1000;
		u++;
	}
	if (!u)
		snprintf(out, (size_t)size, "%d B", (int)bytes);
	else
		format_scaled(out, size, v, unit[u]);
}

void number_exact_bytes(char *out, int size, int64_t bytes)
{
	static const struct {
		const char *name;
		int64_t bytes;
	} unit[] = {{"GiB", 1 << 30}, {"GB", 1000000000}, {"MiB", 1 << 20}, {"MB", 1000000},
	            {"KiB", 1 << 10}, {"kB", 1000},       {"B", 1}};
	size_t u = 0;
	while (bytes % unit[u].bytes)
		u++;
	snprintf(out, (size_t)size, "%" PRId64 "%s", bytes / unit[u].bytes, bytes ? unit[u].name : "");
}

void number_short_count(char out[NUMBER_COUNT], int64_t n)
{
	static const char letters[] = "TBMK";
	int64_t unit = INT64_C(1000000000000);
	snprintf(out, NUMBER_COUNT, "%" PRId64, n);
	for (const char *letter = letters; *letter; letter++, unit /= 1000) {
		char text[16];
		if (n < unit || n % (unit / 1000))
			continue;
		snprintf(text, sizeof text, "%g", (double)n / (double)unit);
		if (strtod(text, NULL) * (double)unit != (double)n)
			continue;
		snprintf(out, NUMBER_COUNT, "%s%c", text, *letter);
		return;
	}
}

void number_exact_real(char out[NUMBER_REAL], double x)
{
	enum { CERTAIN = 15, ENOUGH = 17 };
	int digits = CERTAIN;
	do
		snprintf(out, NUMBER_REAL, "%.*g", digits, x);
	while (strtod(out, NULL) != x && digits++ < ENOUGH);
}

void number_format_capacity(char *out, int size, int64_t bytes)
{
	char decimal[32], binary[32];
	number_format_bytes(decimal, sizeof decimal, bytes);
	format_scaled(binary, sizeof binary, (double)bytes / (double)(INT64_C(1) << 30), "GiB");
	if (bytes < 1000000000)
		snprintf(out, (size_t)size, "%s", decimal);
	else
		snprintf(out, (size_t)size, "%s (%s)", decimal, binary);
}

void number_format_flops(char *out, int size, double flops_per_s)
{
	static const char *const unit[] = {"FLOP/s", "kFLOP/s", "MFLOP/s", "GFLOP/s", "TFLOP/s", "PFLOP/s"};
	int u = 0;
	while (flops_per_s >= 999.95 && u < 5) {
		flops_per_s /= 1000;
		u++;
	}
	format_scaled(out, size, flops_per_s, unit[u]);
}

const char *number_format_count(char *out, int64_t n)
{
	char digits[24];
	int length = snprintf(digits, sizeof digits, "%" PRId64, n), at = 0;
	for (int i = 0; i < length; i++) {
		if (i && (length - i) % 3 == 0 && digits[i - 1] != '-')
			out[at++] = ',';
		out[at++] = digits[i];
	}
	out[at] = 0;
	return out;
}

void number_format_time(char *out, int size, int64_t nanoseconds)
{
	double v = (double)nanoseconds;
	if (nanoseconds >= 999950000)
		format_scaled(out, size, v / 1e9, "s");
	else if (nanoseconds >= 999950)
		format_scaled(out, size, v / 1e6, "ms");
	else
		format_scaled(out, size, v / 1e3, "µs");
}
