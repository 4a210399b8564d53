/* How a refusal reads. */
#include "strategy/plan/verify/verify.h"

#include <stdarg.h>
#include <string.h>

static const char *const rule_names[] = {"",
#define X(number, name, what) name,
                                         RULE_LIST(X)
#undef X
};

struct line {
	char text[1000];
	int length;
};

__attribute__((format(printf, 2, 0))) static void line_add_list(struct line *l, const char *format, va_list args)
{
	int room = (int)sizeof l->text - l->length;
	int n = vsnprintf(l->text + l->length, (size_t)room, format, args);
	l->length += n < room ? n : room - 1;
}

__attribute__((format(printf, 2, 3))) static void line_add(struct line *l, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	line_add_list(l, format, args);
	va_end(args);
}

enum status refuse(const struct verify *v, int rule, const struct role *r, int op, int buffer, const char *format, ...)
{
	struct line l = {.length = 0};
	va_list args;
	line_add(&l, "rule %d (%s): ", rule, rule_names[rule]);
	if (op >= 0) {
		char what[160];
		op_describe(v->p, &r->ops[op], what, sizeof what);
		line_add(&l, "operation %d, %s, of ", op, what);
	}
	if (r && r->ranks == 1)
		line_add(&l, "role %s (rank %lld)", r->name, (long long)r->first_rank);
	else if (r)
		line_add(&l, "role %s (rank %lld to rank %lld)", r->name, (long long)r->first_rank,
		         (long long)(r->first_rank + r->ranks - 1));
	if (r && buffer >= 0)
		line_add(&l, ", buffer '%s'", r->buffers[buffer].name);
	line_add(&l, r ? ": " : "");
	va_start(args, format);
	line_add_list(&l, format, args);
	va_end(args);
	return status_fail(STATUS_REFUSED, "%s", l.text);
}

enum status refuse_op(const struct at *a, int rule, const char *format, ...)
{
	char text[700];
	va_list args;
	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	return refuse(a->v, rule, a->r, a->number, op_buffer(a->op), "%s", text);
}

enum status refuse_at(const struct at *a, int rule, int operand, const char *format, ...)
{
	char text[700];
	va_list args;
	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
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
