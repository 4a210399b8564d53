/* The times of operations, as the executor's spans give them. Both calibrations turn them into rates. */
#include <stdlib.h>

#include "real/calibrate/internal.h"
#include "strategy/base/arena.h"
#include "strategy/base/compare.h"

void durations_add_step(struct durations *all, int64_t ns)
{
	all->steps = array_reserve(all->steps, all->step_count, &all->step_capacity, sizeof *all->steps);
	all->steps[all->step_count++] = ns;
}

void durations_add(struct durations *all, const struct timed_run *r, int number)
{
	const struct role *role = r->device.rank->role;
	const struct op *op = &role->ops[number];
	int64_t begin, end;
	executor_span(r->executor, number, &begin, &end);
	all->d = array_reserve(all->d, all->count, &all->capacity, sizeof *all->d);
	all->d[all->count++] = (struct duration){(int)op->kind,
	                                         op_compute_type(&r->plan, role, op),
	                                         op_flops(&r->plan, op),
	                                         op_bytes(&r->plan, role, op),
	                                         op_weight_bytes(&r->plan, role, op),
	                                         end - begin,
	                                         op_straddling_bytes(&r->plan, role, op)};
}

static int by_all(const void *a, const void *b)
{
	const struct duration *x = a, *y = b;
	return x->kind != y->kind   ? compare(x->kind, y->kind)
	       : x->type != y->type ? compare(x->type, y->type)
	       : x->work != y->work ? compare(x->work, y->work)
	                            : compare(x->ns, y->ns);
}

void durations_sort(struct durations *all)
{
	if (all->count) /* else there is no list */
		qsort(all->d, all->count, sizeof *all->d, by_all);
}

size_t durations_equal(const struct durations *all, size_t first, int64_t *ns)
{
	size_t i = first;
	const struct duration *d = &all->d[first];
	for (; i < all->count && all->d[i].kind == d->kind && all->d[i].type == d->type && all->d[i].work == d->work;
	     i++)
		ns[i - first] = all->d[i].ns;
	return i;
}

void durations_release(struct durations *all)
{
	free(all->d);
	free(all->steps);
	*all = (struct durations){0};
}
