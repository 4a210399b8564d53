/* The `set` lines of a plan's text, each at most once (those of the loss scale in fp16 only), the axes, and the model
 * that they name. */
#include <stdio.h>
#include <string.h>

#include "strategy/base/number.h"
#include "strategy/plan/text/read.h"

static enum status read_value(struct reader *r, enum setting i)
{
	char *text, where[300];
	TRY(scan_word(&r->scan, "its value", &text));
	scan_place(&r->scan, r->scan.next - 1, where, sizeof where);
	size_t n = strlen(where);
	snprintf(where + n, sizeof where - n, ": %s", setting_rows[i].name);
	enum status s = setting_read(i, where, text, &r->p->settings);
	where[n] = 0;
	return s && strncmp(status_message(), where, n) != 0 ? status_prefix(s, "%s", where) : s;
}

enum status read_setting(struct reader *r)
{
	char *name;
	TRY(scan_word(&r->scan, "a setting", &name));
	int i = 0;
	while (i < SETTING_COUNT && (!setting_rows[i].line || strcmp(setting_rows[i].name, name) != 0))
		i++;
	if (i == SETTING_COUNT)
		return scan_fail(&r->scan, r->scan.next - 1, "unknown setting '%.60s'", name);
	if (r->model_open)
		return scan_fail(&r->scan, 0, "settings come before groups and roles; move this line up");
	if (r->settings_seen >> i & 1)
		return scan_fail(&r->scan, r->scan.next - 1, "'%s' is set a second time; take one out", name);
	r->settings_seen |= 1u << i;
	TRY(read_value(r, (enum setting)i));
	return scan_end(&r->scan);
}

enum status read_axis(struct reader *r)
{
	struct scan *c = &r->scan;
	struct plan *p = r->p;
	char *name;
	int64_t size;
	enum status s;
	if (r->model_open)
		return scan_fail(c, 0, "axes come before groups and roles; move this line up");
	if (p->axis_count == PLAN_AXES)
		return scan_fail(c, 0, "a plan has at most %d axes", PLAN_AXES);
	if ((s = scan_word(c, "an axis's name", &name)) ||
	    (s = scan_whole(c, "how many ranks it has", 1, READ_MOST_RANKS, &size)))
		return s;
	if (strpbrk(name, ",/[]+-=") || !strcmp(name, "r") || plan_axis(p, name))
		return scan_fail(c, 1, "'%.60s' is %s", name,
		                 plan_axis(p, name) ? "an axis already" : "no name for an axis");
	plan_add_axis(p, arena_copy(&p->arena, name), size, scan_is(c, "data"));
	p->axes[p->axis_count - 1].sequence = scan_is(c, "sequence");
	return scan_end(c);
}

/* The axes are those of all ranks. */
static enum status settle_axes(struct reader *r)
{
	struct plan *p = r->p;
	int64_t ranks = 1;
	if (!p->axis_count)
		plan_one_axis(p);
	for (int i = 0; i < p->axis_count; i++)
		if (!multiply(ranks, p->axes[i].size, &ranks) || ranks > p->ranks)
			break;
	if (ranks == p->ranks)
		return STATUS_OK;
	return scan_fail(&r->scan, 0, "the product of the axes above is not %lld ranks", (long long)p->ranks);
}

enum status read_model(struct reader *r)
{
	struct settings *t = &r->p->settings;
	if (r->model_open)
		return STATUS_OK;
	for (int i = 0; i < SETTING_COUNT; i++)
		if (setting_rows[i].line > 0 && !(r->settings_seen >> i & 1))
			return scan_fail(&r->scan, 0, "'set %s …' is missing above this line", setting_rows[i].name);
	if (t->accumulate > SETTING_MOST_ACCUMULATE)
		return scan_fail(&r->scan, 0, "accumulate is %lld, above %d", (long long)t->accumulate,
		                 SETTING_MOST_ACCUMULATE);
	int scaled = (t->loss_scaler != LOSS_SCALER_NONE) + (t->loss_scale > 0) + (t->loss_scale_window > 0);
	if (scaled != (t->precision == TYPE_FP16 ? 3 : 0))
		return scan_fail(
		        &r->scan, 0,
		        "above this line a plan in fp16, and no other, has 'set loss_scaler …', 'set loss_scale …' "
		        "(above 0) and 'set loss_scale_window …'");
	enum status s = model_open(r->model, t->model, t->sequence);
	if (s)
		return status_prefix(s, "%.200s:%d:1", r->scan.name, r->scan.line);
	r->model_open = true;
	r->p->ranks = t->ranks;
	if ((s = settle_axes(r)))
		return s;
	int64_t data_ranks = plan_data_ranks(r->p);
	if ((s = plan_check_sizes(r->model, t, data_ranks)) || (s = plan_take_model(r->p, r->model)))
		return status_prefix(s, "%.200s:%d:1", r->scan.name, r->scan.line);
	t->batch = data_ranks * t->micro_batch * t->accumulate;
	r->p->strategy = arena_print(&r->p->arena, "%.*s", (int)strcspn(t->strategy, ":"), t->strategy);
	int tensors = r->model->tensor_count;
	r->p->tensor_group = arena_alloc(&r->p->arena, (size_t)tensors * sizeof *r->p->tensor_group);
	r->p->tensor_offset = arena_alloc(&r->p->arena, (size_t)tensors * sizeof *r->p->tensor_offset);
	r->p->groups = arena_alloc(&r->p->arena, (size_t)tensors * sizeof *r->p->groups);
	for (int i = 0; i < tensors; i++) {
		r->p->tensor_group[i] = -1;
		names_add(&r->tensors, r->model->tensors[i].name, i);
	}
	for (int i = 0; i < r->model->kernel_count; i++)
		names_add(&r->kernels, r->model->kernels[i].name, i);
	for (int i = 0; i < r->model->unit_count; i++)
		names_add(&r->units, r->model->units[i].name, i);
	return STATUS_OK;
}
