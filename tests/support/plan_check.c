#include "tests/support/plan_check.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/plan_edit.h"

static void must(enum status s, const struct request *r)
{
	ck_assert_msg(s == STATUS_OK, "%s, %s, %d ranks, accumulate %d, %s, checkpointing %s, offload %s: %s", r->model,
	              r->strategy, (int)r->ranks, (int)r->accumulate, type_name(r->precision),
	              r->checkpointing ? r->checkpointing : "none", r->offload ? r->offload : "none", status_message());
}

void must_open(struct made *m, const struct request *r)
{
	must(made_open(m, r), r);
}

void must_open_verified(struct made *m, const struct request *r)
{
	must_open(m, r);
	must(plan_verify(&m->plan, NULL), r);
}

char *plan_to_text(const struct plan *p, const char *role)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	ck_assert_ptr_nonnull(out);
	plan_write(p, role, out);
	fclose(out);
	return text;
}

char *must_come_back(const struct plan *p)
{
	struct made again;
	char *text = plan_to_text(p, NULL);
	ck_assert_msg(plan_read(&again.plan, &again.model, text, strlen(text), "text") == STATUS_OK, "%s",
	              status_message());
	ck_assert_msg(plan_verify(&again.plan, NULL) == STATUS_OK, "%s", status_message());
	char *second = plan_to_text(&again.plan, NULL);
	ck_assert_str_eq(text, second);
	free(second);
	made_release(&again);
	return text;
}

int plan_find_op(const struct plan *p, enum op_kind kind, int from)
{
	while (from < p->roles[0].op_count && p->roles[0].ops[from].kind != kind)
		from++;
	ck_assert_int_lt(from, p->roles[0].op_count);
	return from;
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
