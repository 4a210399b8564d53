/* The checks of `validate`: a figure that is off by one fails its own check and no other. */
#include <string.h>

#include "cli/command/check.h"
#include "tests/support/plan_check.h"
#include "tests/support/suite.h"

static struct report predicted, measured;

/* One report twice: of a root and two workers, or of two ranks with all spaces and copies in use. */
static void open_reports(int which)
{
	const struct plan *p = made_plan(
	        "mlp:sizes=20-30-10 micro_batch=2 %s",
	        which ? "strategy=zero3 ranks=2 offload=optimizer:to=disk,parameters,activations checkpoints=yes"
	              : "strategy=dp ranks=3 clip=1");
	struct report *both[] = {&predicted, &measured};
	for (int i = 0; i < 2; i++) {
		report_from_plan(both[i], p);
		report_add_ranks(both[i], p);
		both[i]->time = (struct times){1000, 600, 300, 200, 100, 0, 0, 0, 0};
	}
}

static void close_reports(void)
{
	report_release(&predicted);
	report_release(&measured);
}

/* Only the check of this role and quantity fails, at error |change| ÷ measured. */
static void assert_one_fails(const char *role, const char *quantity, int64_t value, double limit)
{
	struct checks c;
	int failed = 0;
	checks_make(&c, &predicted, &measured, limit);
	ck_assert_msg(!c.pass, "%s, %s: all pass", role, quantity);
	for (size_t i = 0; i < c.count; i++) {
		const struct check *one = &c.list[i];
		bool is_it = !strcmp(one->role, role) && !strcmp(one->quantity, quantity);
		ck_assert_msg(one->pass != is_it, "%s, %s: %s, %s %s", role, quantity, one->role, one->quantity,
		              one->pass ? "passes" : "fails");
		ck_assert(!is_it || one->measured == value);
		failed += is_it;
	}
	ck_assert_msg(failed == 1, "%s, %s: %d checks", role, quantity, failed);
	checks_release(&c);
}

static int tried;

static void try_figure(const char *role, const char *quantity, int64_t *figure)
{
	int64_t was = *figure;
	for (int change = was > 0 ? -1 : 1; change <= 1; change += 2) {
		*figure = was + change;
		assert_one_fails(role, quantity, *figure, -1);
	}
	*figure = was;
	tried++;
}

static const char *named(const char *format, const char *a, const char *b)
{
	static char text[96];
	snprintf(text, sizeof text, format, a, b);
	return text;
}

static void try_memory(const char *role, const char *space, struct report_memory *m)
{
	for (int c = 0; c < CATEGORY_COUNT; c++) {
		const char *category = category_name((enum category)c);
		try_figure(role, named("%s.at_peak.%s_bytes", space, category), &m->at_peak[c]);
		try_figure(role, named("%s.steady.%s_bytes", space, category), &m->steady[c]);
	}
	try_figure(role, named("%s.peak_bytes", space, ""), &m->peak_bytes);
	try_figure(role, named("%s.arena_bytes", space, ""), &m->arena_bytes);
}

static void try_role(struct report_role *r)
{
	for (int space = 0; space < SPACE_COUNT; space++)
		try_memory(r->role, space_name((enum space)space), &r->memory[space]);
	for (int k = 0; k < TRAFFIC_COUNT; k++) {
		const char *kind = traffic_name((enum traffic_kind)k);
		struct report_traffic *t = &r->by_kind[k];
		try_figure(r->role, named("communication.%s.%s", kind, "calls"), &t->calls);
		try_figure(r->role, named("communication.%s.%s", kind, "payload_bytes"), &t->payload_bytes);
		try_figure(r->role, named("communication.%s.%s", kind, "sent_bytes"), &t->sent_bytes);
		try_figure(r->role, named("communication.%s.%s", kind, "received_bytes"), &t->received_bytes);
	}
	for (int k = 0; k < TRANSFER_COUNT; k++) {
		const char *kind = transfer_name((enum transfer_kind)k);
		try_figure(r->role, named("transfers.%s.%s", kind, "calls"), &r->transfer[k].calls);
		try_figure(r->role, named("transfers.%s.%s", kind, "bytes"), &r->transfer[k].bytes);
	}
}

START_LOOP_TEST(a_figure_off_by_one_fails_its_check, 0, 2)
{
	struct checks c;
	open_reports(_i);
	checks_make(&c, &predicted, &measured, CHECK_TIME_LIMIT);
	ck_assert(c.pass);
	checks_release(&c);
	for (int i = 0; i < measured.role_count; i++)
		try_role(&measured.roles[i]);
	for (int i = 0; i < measured.ranks; i++) {
		char name[64], role[32];
		int64_t *figure;
		snprintf(role, sizeof role, "rank %d", i);
		for (int k = 0; (figure = report_rank_figure(&measured.by_rank[i], k, name, sizeof name)); k++)
			try_figure(role, name, figure);
	}
	if (_i) {
		try_figure("all", "saved.bytes", &measured.saved.bytes);
		try_figure("all", "saved.rank_bytes", &measured.saved.rank_bytes);
	}
	ck_assert_int_gt(tried, 200);
}

/* A library's bytes are not compared; the number of its calls is. */
START_TEST(what_cannot_be_counted_has_no_check)
{
	struct checks c;
	open_reports(0);
	struct report_traffic *t = &measured.roles[1].by_kind[TRAFFIC_BROADCAST];
	t->sent_bytes = t->received_bytes = -1;
	measured.by_rank[2].by_kind[TRAFFIC_BROADCAST].received_bytes = -1;
	checks_make(&c, &predicted, &measured, -1);
	ck_assert(c.pass);
	for (size_t i = 0; i < c.count; i++)
		ck_assert_int_ge(c.list[i].measured, 0);
	checks_release(&c);
	t->payload_bytes--;
	assert_one_fails(measured.roles[1].role, "communication.broadcast.payload_bytes", t->payload_bytes, -1);
}

static void assert_step(int64_t step, double limit, bool holds)
{
	struct checks c;
	measured.time.step = 100000;
	predicted.time.step = step;
	checks_make(&c, &predicted, &measured, limit);
	ck_assert_msg(c.pass == holds, "%lld ns for 100000, limit %g", (long long)step, limit);
	checks_release(&c);
}

START_TEST(a_step_has_a_limit_on_both_sides)
{
	enum { ALLOWED = 10000 };
	open_reports(0);
	for (int sign = -1; sign <= 1; sign += 2) {
		assert_step(100000 + sign * ALLOWED, CHECK_TIME_LIMIT, true);
		assert_step(100000 + sign * (ALLOWED + 100), CHECK_TIME_LIMIT, false);
		assert_step(100000 + sign * (ALLOWED + 100), -1, true);
	}
	assert_one_fails("all", "time.step_s", 100000, 0.01);
	/* the other times are shown, and not judged */
	predicted.time = measured.time;
	predicted.time.compute = predicted.time.exposed = 1;
	assert_step(100000, CHECK_TIME_LIMIT, true);
}

START_TEST(an_error_is_relative_to_what_was_measured)
{
	static const struct {
		int64_t predicted, measured;
		double error;
	} cases[] = {{0, 0, 0}, {1, 0, 1}, {0, 1, 1}, {3, 4, 0.25}, {5, 4, 0.25}, {8, 4, 1}, {12, 4, 2}, {7, 7, 0}};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct check c = {.predicted = cases[i].predicted, .measured = cases[i].measured};
		ck_assert_double_eq(check_error(&c), cases[i].error);
	}
	struct report fast = {.time.step = 9}, slow = {.time.step = 10};
	ck_assert(check_run_is_faster(&fast, &slow) && !check_run_is_faster(&slow, &fast));
	ck_assert(!check_run_is_faster(&fast, &fast));
}

START_TEST(a_demo_must_learn)
{
	static const double accuracies[] = {0.881, 0.88, 0.8799, 0.1, __builtin_nan("")};
	for (int i = 0; i < 5; i++) {
		struct report r = {.validation_accuracy = accuracies[i]};
		ck_assert_int_eq(check_accuracy("zero1", &r), i < 2 ? STATUS_OK : STATUS_CHECK);
	}
	ck_assert_int_eq(check_accuracy("zero1", &(struct report){.validation_accuracy = 0.5}), STATUS_CHECK);
	ck_assert_str_eq(status_message(), "zero1: a test accuracy of 50.00 %; it should be 88 % or more");
}

START_TEST(json_has_the_checks)
{
	struct checks c;
	open_reports(0);
	measured.roles[0].memory[SPACE_DEVICE].peak_bytes *= 2;
	predicted.time.step = 1100;
	checks_make(&c, &predicted, &measured, 0.25);
	json_t *list = checks_to_json(&c);
	ck_assert_uint_eq(json_array_size(list), c.count);
	for (size_t i = 0; i < c.count; i++) {
		const json_t *o = json_array_get(list, i);
		const char *quantity = json_string_value(json_object_get(o, "quantity"));
		bool first = !strcmp(json_string_value(json_object_get(o, "role")), predicted.roles[0].role);
		bool peak = first && !strcmp(quantity, "device.peak_bytes"), step = !strcmp(quantity, "time.step_s");
		double error = json_real_value(json_object_get(o, "error"));
		ck_assert(json_is_true(json_object_get(o, "pass")) == !peak);
		ck_assert_double_eq_tol(error, peak ? 0.5 : step ? 0.1 : 0, 1e-12);
		if (!step)
			continue;
		ck_assert_double_eq(json_real_value(json_object_get(o, "predicted")), 1.1e-6);
		ck_assert_double_eq(json_real_value(json_object_get(o, "measured")), 1e-6);
		ck_assert_double_eq(json_real_value(json_object_get(o, "limit")), 0.25);
	}
	json_decref(list);
	checks_release(&c);
}

SUITE_WITH("check", 0, NULL, close_reports)
