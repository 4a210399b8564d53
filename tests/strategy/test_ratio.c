/* Ratios of predicted steps, and what is close to a device's memory. */
#include <check.h>
#include <string.h>

#include "strategy/trace/ratio.h"
#include "strategy/trace/report.h"
#include "tests/support/suite.h"

START_TEST(ties_are_within_the_spread)
{
	struct ratio r = ratio_of(1090, 1000, true);
	ck_assert_double_eq_tol(r.value, 1.09, 1e-12);
	ck_assert_double_eq_tol(r.low, 1, 1e-12);
	ck_assert_double_eq_tol(r.high, 1.1881, 1e-12);
	ck_assert(ratio_of(1089, 1000, true).tied);
	ck_assert(ratio_of(1000, 1089, true).tied);
	ck_assert(!ratio_of(1091, 1000, true).tied);
	ck_assert(!ratio_of(1000, 1091, true).tied);
	ck_assert(ratio_of(1019, 1000, false).tied);
	ck_assert(!ratio_of(1021, 1000, false).tied);
}

static const char *fit(const char *stack, int64_t needed)
{
	struct report r = {.tightest = {SPACE_DEVICE, needed, 1000}, .fits = needed <= 1000};
	snprintf(r.stack, sizeof r.stack, "%s", stack);
	return report_fit_word(&r);
}

START_TEST(close_is_within_a_twentieth)
{
	ck_assert_str_eq(fit("fused", 949), "yes");
	ck_assert_str_eq(fit("fused", 950), "close");
	ck_assert_str_eq(fit("fused", 1050), "close");
	ck_assert_str_eq(fit("fused", 1051), "no");
	ck_assert_str_eq(fit("", 999), "yes"); /* the plan's bytes are exact */
	ck_assert_str_eq(fit("", 1001), "no");
}

SUITE("ratios", 0)
