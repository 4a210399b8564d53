/* How a refusal reads. */
#include "strategy/plan/verify/verify.h"

#include <stdarg.h>

static const char *const rule_names[] = {"",
#define X(number, name, what) name,
                                         RULE_LIST(X)
#undef X
};

const char *rule_name(int rule)
{
	return rule_names[rule];
}

__attribute__((format(printf, 2, 0))) static void text_add_list(struct text *t, const char *format, va_list args)
{
	size_t room = t->size - t->length;
	size_t n = (size_t)vsnprintf(t->out + t->length, room, format, args);
	t->length += n < room ? n : room - 1;
}

void text_add(struct text *t, const char *format, ...)
{
	WITH_ARGS(format, text_add_list(t, format, args));
}

enum status refuse(const struct verify *v, int rule, const struct role *r, int op, int buffer, const char *format, ...)
{
	char line[1000];
	struct text t = {line, sizeof line, 0};
	*v->why = (struct refusal){rule, r ? (int)(r - v->p->roles) : -1, op, buffer};
	text_add(&t, "rule %d (%s): ", rule, rule_name(rule));
	if (r && op >= 0) {
		char what[160];
		op_describe(v->p, &r->ops[op], what, sizeof what);
		text_add(&t, "operation %d, %s, of ", op, what);
	}
	if (r && r->ranks == 1)
		text_add(&t, "role %s (rank %lld)", r->name, (long long)r->first_rank);
	else if (r)
		text_add(&t, "role %s (rank %lld to rank %lld)", r->name, (long long)r->first_rank,
		         (long long)(r->first_rank + r->ranks - 1));
	if (r && buffer >= 0)
		text_add(&t, ", buffer '%s'", r->buffers[buffer].name);
	text_add(&t, r ? ": " : "");
	WITH_ARGS(format, text_add_list(&t, format, args));
	return status_fail(STATUS_REFUSED, "%s", line);
}

enum status refuse_op(const struct at *a, int rule, const char *format, ...)
{
	char text[700];
	WITH_ARGS(format, vsnprintf(text, sizeof text, format, args));
	return refuse(a->v, rule, a->r, a->number, op_buffer(a->op), "%s", text);
}

enum status refuse_at(const struct at *a, int rule, int operand, const char *format, ...)
{
	char text[700];
	WITH_ARGS(format, vsnprintf(text, sizeof text, format, args));
	return refuse(a->v, rule, a->r, a->number, a->op->operand[operand].buffer, "operand %s%s",
	              op_operand_name(a->op->kind, operand), text);
}

const char *op_title(const struct verify *v, const struct role *r, int op)
{
	static _Thread_local char titles[4][200];
	static _Thread_local int next;
	char *title = titles[next++ % 4], what[160];
	op_describe(v->p, &r->ops[op], what, sizeof what);
	snprintf(title, sizeof titles[0], "%d (%s)", op, what);
	return title;
}
