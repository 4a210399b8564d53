/* The `set` lines of a plan's text, each key exactly once (those of the loss scale in fp16 only), and the model that
 * they name. */
#include <string.h>

#include "strategy/base/number.h"
#include "strategy/plan/text/read.h"
#include "strategy/settings/checkpointing.h"

enum { MOST_ACCUMULATE = 4096 };

static enum status set_text(struct reader *r, const char *what, char *out, size_t size)
{
	char *text;
	enum status s = scan_word(&r->scan, what, &text);
	if (s)
		return s;
	if (strlen(text) >= size)
		return scan_fail(&r->scan, r->scan.next - 1, "%s is longer than %zu characters", what, size - 1);
	memcpy(out, text, strlen(text) + 1);
	return STATUS_OK;
}

static enum status at_word(struct reader *r, enum status s)
{
	if (!s)
		return s;
	return status_prefix(s, "%.200s:%d:%d", r->scan.name, r->scan.line, r->scan.words[r->scan.next - 1].column);
}

static enum status set_precision(struct reader *r)
{
	char *text;
	enum status s = scan_word(&r->scan, "a precision", &text);
	return s ? s : at_word(r, type_parse(text, &r->p->settings.precision));
}

static enum status set_optimizer(struct reader *r)
{
	char *text;
	enum status s = scan_word(&r->scan, "an optimizer", &text);
	return s ? s : at_word(r, optimizer_parse(text, &r->p->settings.optimizer));
}

static enum status set_loss_scaler(struct reader *r)
{
	char *text;
	enum status s = scan_word(&r->scan, "a loss scaler", &text);
	return s ? s : at_word(r, loss_scaler_parse(text, &r->p->settings.loss_scaler));
}

static enum status set_offload(struct reader *r)
{
	char *text;
	enum status s = scan_word(&r->scan, "what is offloaded", &text);
	return s ? s : at_word(r, offload_parse(text, &r->p->settings.offload));
}

static enum status set_collectives(struct reader *r)
{
	r->p->settings.library_collectives = scan_is(&r->scan, "library");
	if (r->p->settings.library_collectives || scan_is(&r->scan, "schedule"))
		return STATUS_OK;
	return scan_fail(&r->scan, r->scan.next, "collectives are 'schedule' or 'library'");
}

static enum status set_rounding(struct reader *r)
{
	r->p->settings.stochastic_rounding = scan_is(&r->scan, "yes");
	if (r->p->settings.stochastic_rounding)
		return STATUS_OK;
	return scan_fail(&r->scan, r->scan.next, "stochastic_rounding is 'yes', or the line is left out");
}

static enum status set_checkpointing(struct reader *r)
{
	struct settings *t = &r->p->settings;
	struct checkpointing c;
	enum status s = set_text(r, "a checkpointing", t->checkpointing, sizeof t->checkpointing);
	return s ? s : at_word(r, checkpointing_parse(t->checkpointing, &c));
}

/* key, how its value is read */
#define KEY_LIST(X)                                                                                                    \
	X("model", set_text(r, "a model", t->model, sizeof t->model))                                                  \
	X("strategy", set_text(r, "a strategy", t->strategy, sizeof t->strategy))                                      \
	X("ranks", scan_whole(c, "ranks", 1, READ_MOST_RANKS, &t->ranks))                                              \
	X("micro_batch", scan_whole(c, "a micro-batch", 1, READ_MOST_ELEMENTS, &t->micro_batch))                       \
	X("accumulate", scan_whole(c, "accumulate", 1, MOST_ACCUMULATE, &t->accumulate))                               \
	X("sequence", scan_whole(c, "a sequence", 1, READ_MOST_ELEMENTS, &t->sequence))                                \
	X("precision", set_precision(r))                                                                               \
	X("optimizer", set_optimizer(r))                                                                               \
	X("learning_rate", scan_real(c, "a learning rate", &t->learning_rate))                                         \
	X("warmup", scan_whole(c, "warm-up steps", 0, INT64_MAX, &t->warmup))                                          \
	X("decay", scan_whole(c, "decay steps", 0, INT64_MAX, &t->decay))                                              \
	X("weight_decay", scan_real(c, "a weight decay", &t->weight_decay))                                            \
	X("clip", scan_real(c, "a norm", &t->clip))                                                                    \
	X("collectives", set_collectives(r))                                                                           \
	X("seed", scan_whole(c, "a seed", 0, INT64_MAX, &t->seed))

/* Those that may be left out, and are written only where they are not the default. */
#define OPTIONAL_KEY_LIST(X)                                                                                           \
	X("offload", set_offload(r))                                                                                   \
	X("stochastic_rounding", set_rounding(r))                                                                      \
	X("activation_checkpointing", set_checkpointing(r))                                                            \
	X("loss_scaler", set_loss_scaler(r))                                                                           \
	X("loss_scale", scan_real(c, "a loss scale", &t->loss_scale))                                                  \
	X("loss_scale_window", scan_whole(c, "a window", 1, LOSS_SCALE_MOST_WINDOW, &t->loss_scale_window))

static const char *const keys[] = {
#define X(name, read) name,
        KEY_LIST(X) OPTIONAL_KEY_LIST(X)
#undef X
};
enum {
#define X(name, read) +1
	NEEDED = KEY_LIST(X),
#undef X
	KEYS = sizeof keys / sizeof keys[0]
};

static enum status read_value(struct reader *r, int key)
{
	struct settings *t = &r->p->settings;
	struct scan *c = &r->scan;
	int i = 0;
#define X(name, read)                                                                                                  \
	if (i++ == key)                                                                                                \
		return read;
	KEY_LIST(X)
	OPTIONAL_KEY_LIST(X)
#undef X
	return STATUS_OK;
}

enum status read_setting(struct reader *r)
{
	char *name;
	enum status s = scan_word(&r->scan, "a setting", &name);
	if (s)
		return s;
	int key = 0;
	while (key < KEYS && strcmp(keys[key], name))
		key++;
	if (key == KEYS)
		return scan_fail(&r->scan, r->scan.next - 1, "unknown setting '%.60s'", name);
	if (r->model_open)
		return scan_fail(&r->scan, 0, "settings come before groups and roles; move this line up");
	if (r->settings_seen >> key & 1)
		return scan_fail(&r->scan, r->scan.next - 1, "'%s' is set a second time; take one out", name);
	r->settings_seen |= 1u << key;
	s = read_value(r, key);
	return s ? s : scan_end(&r->scan);
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
	for (int i = 0; i < NEEDED; i++)
		if (!(r->settings_seen >> i & 1))
			return scan_fail(&r->scan, 0, "'set %s …' is missing above this line", keys[i]);
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
	return STATUS_OK;
}
