/* State: what a rank keeps from step to step, and its first content. The strategy says what part of it a rank keeps,
 * offload.c where. */
#include "strategy/step/activations.h"
#include "strategy/step/groups.h"
#include "strategy/step/offload.h"

/* Room for data that the communicator receives. */
#define STAGING_ELEMENTS (SCHEDULE_STAGING_BYTES / (int64_t)sizeof(float))

static const struct {
	const char *name;
	enum category category;
} kinds[STATE_KINDS] = {
        [STATE_PARAMETERS] = {"parameters", CATEGORY_PARAMETERS},
        [STATE_GRADIENTS] = {"gradients", CATEGORY_GRADIENTS},
        [STATE_MASTER] = {"master", CATEGORY_OPTIMIZER},
        [STATE_FIRST_MOMENT] = {"first_moment", CATEGORY_OPTIMIZER},
        [STATE_SECOND_MOMENT] = {"second_moment", CATEGORY_OPTIMIZER},
};

/* Gradients of which a rank keeps a part come with their reduction, and go with the update. */
static bool frees_gradients(const struct step *s)
{
	const struct home *h = &s->state.home[STATE_GRADIENTS];
	int whose = s->strategy->parameters == PLACE_SHARD ? FREED_UNITS : FREED_BUCKETS;
	return step_software(s, SOFTWARE_FREED) == whose && h->place == PLACE_SHARD && s->shards > 1;
}

/* Shards of the parameters stay in fp32, and are rounded for each gather. */
static bool casts(const struct step *s)
{
	return step_software(s, SOFTWARE_WEIGHTS) == WEIGHTS_FP32 && s->settings->precision != TYPE_FP32 &&
	       s->strategy->parameters == PLACE_SHARD && s->shards > 1;
}

static bool is_kept(const struct step *s, enum state_kind kind)
{
	switch (kind) {
	case STATE_GRADIENTS:
		return !s->state.frees_gradients;
	case STATE_MASTER:
		return step_mixed(s) || s->state.own_weights;
	case STATE_FIRST_MOMENT:
	case STATE_SECOND_MOMENT:
		return step_adamw(s);
	default:
		return true;
	}
}

static enum type type_of(const struct step *s, enum state_kind kind)
{
	bool shard = s->strategy->gradients == PLACE_SHARD && !s->settings->offload.optimizer;
	return kind == STATE_GRADIENTS                       ? (shard ? plan_shard_type : plan_gradient_type)(s->plan)
	       : kind == STATE_PARAMETERS && !s->state.casts ? s->settings->precision
	                                                     : TYPE_FP32;
}

static void alloc_kind(struct step *s, enum state_kind kind)
{
	struct home *h = &s->state.home[kind];
	if (is_kept(s, kind))
		h->buffer = build_state_in(s->b, h->space, kinds[kind].name, kinds[kind].category, type_of(s, kind),
		                           h->place == PLACE_SHARD ? s->state.held / s->shards : s->state.held);
}

/* ---- what is there besides ---- */

static int alloc_scaler(struct step *s, enum space space, const char *name)
{
	int scaler = build_state_in(s->b, space, name, CATEGORY_BUFFERS, TYPE_FP32, LOSS_SCALE_ELEMENTS);
	build_op(s->b, OP_SCALER_BEGIN, space_queue(space))->operand[SCALER_BEGIN_SCALER] = region_whole(s->b, scaler);
	return scaler;
}

/* fp16 also needs a loss scale, and a flag that says that gradients overflowed. A host that updates keeps both, and the
 * device keeps the scale for the classifier. */
static void alloc_loss_scale(struct step *s)
{
	struct state *st = &s->state;
	enum space space = st->update_space;
	if (s->settings->loss_scaler == LOSS_SCALER_NONE)
		return;
	st->overflow = build_state_in(s->b, space, "overflow", CATEGORY_BUFFERS, TYPE_FP32, 1);
	st->scaler = st->update_scaler = alloc_scaler(s, SPACE_DEVICE, "scaler");
	if (space != SPACE_DEVICE)
		st->update_scaler = alloc_scaler(s, space, "scaler.host");
}

/* A host that updates counts its own updates. */
static void alloc_counters(struct step *s)
{
	struct state *st = &s->state;
	st->counter = st->update_counter = build_state(s->b, "step", CATEGORY_BUFFERS, TYPE_I64, 1);
	step_zero(s, region_whole(s->b, st->counter));
	if (st->update_space == SPACE_DEVICE || !step_holds_state(s))
		return;
	st->update_counter = build_state_in(s->b, st->update_space, "updates", CATEGORY_BUFFERS, TYPE_I64, 1);
	build_op(s->b, OP_ZERO, st->update_queue)->operand[ZERO_X] = region_whole(s->b, st->update_counter);
}

/* Stages without a tied group only exchange messages, which go straight to their place. */
static bool has_collectives(const struct step *s)
{
	bool tied = s->stages == 1;
	for (int g = 0; g < s->plan->group_count; g++)
		tied |= s->group[g].tied;
	return s->ranks > 1 && tied;
}

/* ---- first content ---- */

static void initialize(struct step *s, enum state_kind kind)
{
	const struct home *h = &s->state.home[kind];
	for (int g = 0; g < s->plan->group_count && h->buffer >= 0; g++) {
		/* Parameters that another role owns are broadcast by it in the prologue. */
		if (s->group[g].base < 0 || (!s->group[g].owner && kind == STATE_PARAMETERS))
			continue;
		home_begin_with(s, OP_INITIALIZE, h, step_shard_axes(s, h->place), g);
	}
}

/* Kernels use whole parameters and gradients where they stay. */
static void point_tensors(struct step *s)
{
	const struct home *home = s->state.home;
	for (int t = 0; t < s->model->tensor_count; t++) {
		int64_t base = s->group[s->plan->tensor_group[t]].base;
		int64_t offset = base + s->plan->tensor_offset[t], n = s->model->tensors[t].elements;
		if (base < 0)
			continue;
		if (home[STATE_PARAMETERS].place == PLACE_WHOLE)
			s->tensor[t].weight = region_of(home[STATE_PARAMETERS].buffer, offset, n);
		if (state_stays(s, STATE_GRADIENTS))
			s->tensor[t].gradient = region_of(home[STATE_GRADIENTS].buffer, offset, n);
	}
}

/* Whole gradients are sent with their padding. */
static void zero_padding(struct step *s)
{
	for (int g = 0; g < s->plan->group_count && state_stays(s, STATE_GRADIENTS); g++) {
		const struct group *group = &s->plan->groups[g];
		int64_t base = s->group[g].base;
		if (base >= 0)
			step_zero_padding(s, s->state.home[STATE_GRADIENTS].buffer, base + group->elements,
			                  base + group->padded);
	}
}

static void alloc_buckets(struct step *s)
{
	const struct home *h = &s->state.home[STATE_GRADIENTS];
	if (step_software(s, SOFTWARE_BUCKET) != BUCKET_VIEWS && h->place == PLACE_WHOLE &&
	    s->strategy->optimizer == PLACE_WHOLE && s->stages == 1 && !s->strategy->root_alone &&
	    plan_data_ranks(s->plan) > 1)
		s->state.buckets =
		        build_state(s->b, "buckets", CATEGORY_BUFFERS, plan_gradient_type(s->plan), s->state.held);
}

/* DeepSpeed's stage 3 has its bucket from the start, between steps too. */
static void alloc_own_bucket(struct step *s)
{
	int64_t capacity = 0;
	for (int g = 0; g < s->plan->group_count; g++)
		if (bucket_is_shared(s, g) && !bucket_is_passed(s, g) && reduce_capacity(s, g) > capacity)
			capacity = reduce_capacity(s, g);
	if (capacity && s->shards > 1 && !state_stays(s, STATE_GRADIENTS))
		s->bucket.own = build_state(s->b, "bucket", CATEGORY_BUFFERS, plan_gradient_type(s->plan), capacity);
}

static void alloc_border(struct step *s)
{
	const struct role *r = s->b->role;
	int64_t elements = border_is_kept(s->plan, s->strategy) ? border_elements(s->plan, r->first_rank, r->ranks) : 0;
	if (elements)
		build_state_in(s->b, s->state.home[STATE_GRADIENTS].space, "border", CATEGORY_GRADIENTS,
		               type_of(s, STATE_GRADIENTS), elements);
}

static void alloc_kinds(struct step *s)
{
	struct state *st = &s->state;
	int64_t scalar = scalar_elements(s->settings);
	st->loss = build_state(s->b, "loss", CATEGORY_BUFFERS, TYPE_FP32, scalar);
	if (s->settings->clip > 0)
		st->norm = build_state_in(s->b, st->update_space, "norm", CATEGORY_BUFFERS, TYPE_FP32, scalar);
	alloc_loss_scale(s);
	for (int i = 0; i < STATE_KINDS; i++)
		alloc_kind(s, (enum state_kind)i);
	alloc_border(s);
	alloc_buckets(s);
	alloc_own_bucket(s);
	initialize(s, STATE_PARAMETERS);
	initialize(s, STATE_MASTER);
	home_zero(s, &st->home[STATE_FIRST_MOMENT]);
	home_zero(s, &st->home[STATE_SECOND_MOMENT]);
	if (st->delayed)
		home_zero(s, &st->home[STATE_GRADIENTS]);
	zero_padding(s);
	point_tensors(s);
}

/* Host memory of --offload that is set aside for good. */
static void alloc_set_aside(struct step *s)
{
	const struct offload *o = &s->settings->offload;
	if (o->buffers)
		build_state_in(s->b, SPACE_HOST, "offload.buffers", CATEGORY_BUFFERS, TYPE_FP32,
		               o->buffers * update_largest_piece(s));
	if (o->staging)
		build_state_in(s->b, SPACE_HOST, "offload.staging", CATEGORY_BUFFERS, s->settings->precision,
		               o->staging);
}

void step_state(struct step *s)
{
	struct state *st = &s->state;
	st->buckets = st->staging = st->loss = st->norm = st->scaler = st->update_scaler = st->overflow = -1;
	home_choose(s);
	st->casts = casts(s);
	st->frees_gradients = frees_gradients(s);
	alloc_counters(s);
	if (has_collectives(s) && !s->settings->library_collectives)
		st->staging = build_state(s->b, "staging", CATEGORY_BUFFERS, TYPE_FP32, STAGING_ELEMENTS);
	buffers_state(s);
	fp8_state(s);
	if (step_holds_state(s)) {
		alloc_kinds(s);
		alloc_set_aside(s);
	}
}

struct region step_counter(const struct step *s)
{
	return region_whole(s->b, s->state.counter);
}
