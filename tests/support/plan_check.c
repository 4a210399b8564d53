#include "tests/support/plan_check.h"

#include <string.h>

#include "tests/support/plan_edit.h"
#include "tests/support/suite.h"
#include "tests/support/virtual_ranks.h"

/* ---- plans and texts that stay ---- */

struct kept {
	struct made made;
	char *text;
	struct kept *next;
};
static struct kept *kept;

static struct kept *keep(void)
{
	struct kept *k = calloc(1, sizeof *k);
	ck_assert_ptr_nonnull(k);
	k->next = kept;
	return kept = k;
}

static struct plan *keep_plan(enum status made, struct kept *k, const char *words, bool verify)
{
	ck_assert_msg(!made, "%s: %s", words, status_message());
	ck_assert_msg(!verify || !plan_verify(&k->made.plan, NULL), "%s: %s", words, status_message());
	return &k->made.plan;
}

struct plan *right_plan(const char *words, ...)
{
	WORDS(words, text);
	struct kept *k = keep();
	return keep_plan(made_open_words(&k->made, text), k, text, true);
}

struct plan *made_plan(const char *words, ...)
{
	WORDS(words, text);
	struct kept *k = keep();
	return keep_plan(made_open_words(&k->made, text), k, text, false);
}

struct plan *right_plan_of(const struct settings *s)
{
	struct kept *k = keep();
	return keep_plan(made_open(&k->made, s), k, s->strategy, true);
}

struct plan *read_plan(const char *text)
{
	struct kept *k = keep();
	return keep_plan(plan_read(&k->made.plan, &k->made.model, text, strlen(text), "text"), k, "text", false);
}

void plans_forget(void)
{
	while (kept) {
		struct kept *next = kept->next;
		made_release(&kept->made);
		free(kept->text);
		free(kept);
		kept = next;
	}
}

void must_not_open(const char *says, const char *words, ...)
{
	struct made m;
	WORDS(words, text);
	must_fail(made_open_words(&m, text), STATUS_INPUT, says);
}

char *plan_to_text(const struct plan *p, const char *role)
{
	struct kept *k = keep();
	size_t size;
	FILE *out = open_memstream(&k->text, &size);
	ck_assert_ptr_nonnull(out);
	plan_write(p, role, out);
	fclose(out);
	return k->text;
}

char *text_replaced(const char *text, const char *what, const char *by)
{
	const char *at = strstr(text, what);
	ck_assert_msg(at != NULL, "'%s' is not in the text", what);
	char *out = keep()->text = malloc(strlen(text) + strlen(by) + 1);
	ck_assert_ptr_nonnull(out);
	sprintf(out, "%.*s%s%s", (int)(at - text), text, by, at + strlen(what));
	return out;
}

const struct plan *must_come_back(const struct plan *p)
{
	char *text = plan_to_text(p, NULL);
	const struct plan *again = read_plan(text);
	must(plan_verify(again, NULL));
	ck_assert_str_eq(text, plan_to_text(again, NULL));
	return again;
}

void must_need_every_op(const struct plan *p)
{
	for (int role = 0; role < p->role_count; role++)
		for (int op = 0; op < p->roles[role].op_count; op++) {
			struct plan less;
			plan_copy(&less, p);
			plan_drop_op(&less, role, op);
			ck_assert_msg(plan_verify(&less, NULL) == STATUS_REFUSED,
			              "%s: operation %d, %s, can be taken out", p->strategy, op,
			              op_name(p->roles[role].ops[op].kind));
			plan_release(&less);
		}
}

void must_be_refused(const struct broken *b)
{
	struct plan p;
	const char *what = b->edit ? b->edit : "", *line = status_message();
	plan_copy(&p, right_plan("%s", b->words));
	if (b->edit)
		plan_edit_words(&p, b->edit);
	if (b->breaks)
		b->breaks(&p);
	ck_assert_msg(plan_verify(&p, NULL) == STATUS_REFUSED, "%s, %s: is let through", b->words, what);
	ck_assert_msg(!strncmp(line, b->rule, strlen(b->rule)), "%s, %s: not by %s: %s", b->words, what, b->rule, line);
	ck_assert_msg(strstr(line, b->says) && !strchr(line, '\n'), "%s, %s: '%s' is not in: %s", b->words, what,
	              b->says, line);
	plan_release(&p);
}

void must_train_alike(const struct plan *a, const struct plan *b, int steps, double tolerance)
{
	struct virtual_run x, y;
	ck_assert_int_eq(a->settings.batch, b->settings.batch);
	virtual_ranks_run(a, steps, 0, &x);
	virtual_ranks_run(b, steps, 0, &y);
	if (x.evaluate_total != y.evaluate_total) {
		x.evaluate_total = y.evaluate_total;
		x.evaluate_loss = y.evaluate_loss;
		x.evaluate_correct = y.evaluate_correct;
	}
	ck_assert_msg(virtual_runs_equal(&x, &y, tolerance), "%s on %d ranks, accumulate %d: not as %s",
	              a->settings.strategy, (int)a->ranks, (int)a->settings.accumulate, b->settings.strategy);
	virtual_run_release(&x);
	virtual_run_release(&y);
}
