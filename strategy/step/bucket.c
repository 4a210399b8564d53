/* Gradients that are not reduced where kernels write them, but as copies in a buffer (--as …:bucket=copies|fixed). A
 * kernel writes a tensor's gradient into a buffer of its own, a *piece*, which goes when it has been copied.
 *
 *     copies   FSDP2: when a unit's last gradient is written, all of them go into the unit's buffer
 *     fixed    DeepSpeed: each goes into the bucket's buffer as it comes
 *
 * Where modules are groups (ZeRO-3), a fixed bucket has several, one after another, and all of them are reduced in one
 * call when it is full:
 *
 *     bucket   │ fc │ proj │ qkv │       free        │ ──► reduce-scatter fc, proj, qkv
 */
#include "strategy/step/groups.h"
#include "strategy/step/step.h"

/* ---- gradients that are copied into the buffer of their group ---- */

void bucket_open_piece(struct step *s, int tensor)
{
	struct tensor_state *t = &s->tensor[tensor];
	const struct tensor *named = &s->model->tensors[tensor];
	if (t->piece >= 0)
		return;
	t->piece = build_alloc(s->b, step_name(s, "d.%s", named->name), CATEGORY_GATHERED, s->settings->precision,
	                       named->elements);
	t->gradient = region_whole(s->b, t->piece);
	t->written = false;
}

/* FSDP2 copies a unit's gradients when it has them all, and DeepSpeed each as it comes. Of what was reduced before,
 * FSDP2 waits for all. */
void bucket_copy_piece(struct step *s, int tensor)
{
	int group = s->plan->tensor_group[tensor], piece = s->tensor[tensor].piece;
	struct region from = region_whole(s->b, piece);
	if (s->group[group].gradients < 0)
		reduce_make_room(s, group, reduce_copying(s, group) == BUCKET_FIXED ? GROUPS_IN_FLIGHT : 0);
	step_copy(
	        s, group, PASS_BACKWARD, from,
	        region_of(s->group[group].gradients, s->group[group].at + s->plan->tensor_offset[tensor], from.count));
	build_free(s->b, piece);
	s->tensor[tensor].piece = -1;
	s->tensor[tensor].gradient = region_none();
}

void bucket_copy_group(struct step *s, int group)
{
	const struct group *g = &s->plan->groups[group];
	for (int i = 0; i < g->tensor_count; i++)
		if (s->tensor[g->tensors[i]].piece >= 0)
			bucket_copy_piece(s, g->tensors[i]);
}

/* ---- a bucket of several groups, where modules are groups ---- */

bool bucket_is_shared(const struct step *s, int group)
{
	return s->units.modules && reduce_copying(s, group) == BUCKET_FIXED;
}

/* Reduces all groups in the bucket in one call. */
void bucket_send(struct step *s)
{
	struct open_bucket *b = &s->bucket;
	int count = b->count;
	b->buffer = -1;
	b->count = 0;
	for (int i = 0; i < count; i++) {
		b->joined = i > 0 && !s->replica_axes; /* between them replicas add up */
		reduce_send(s, b->groups[i], i + 1 == count);
	}
	b->joined = false;
}

/* Gradients that come while the bucket is on its way wait in memory of their own: there as single gradients, here as
 * another bucket. */
static void open_bucket(struct step *s, int group)
{
	struct open_bucket *b = &s->bucket;
	reduce_wait(s, GROUPS_IN_FLIGHT);
	b->capacity = reduce_capacity(s, group);
	b->used = 0;
	if (b->own >= 0 && !reduce_uses(s, b->own)) {
		b->buffer = b->own;
		return;
	}
	b->buffer = build_alloc(s->b, step_name(s, "bucket.%s", s->plan->groups[group].name), CATEGORY_GATHERED,
	                        plan_gradient_type(s->plan), b->capacity);
}

int64_t bucket_elements(const struct plan *p)
{
	return step_bucket_bytes(p) / type_bytes(plan_gradient_type(p));
}

/* A tensor of more elements than the bucket has is never copied into it (stage3.py, __add_grad_to_ipg_bucket), and one
 * that divides as it stands is reduced where it is (reduce_scatter_coalesced). What has a bias is copied here. */
bool bucket_is_passed(const struct step *s, int group)
{
	const struct group *g = &s->plan->groups[group];
	return g->padded > bucket_elements(s->plan) && g->tensor_count == 1 && g->elements == g->padded &&
	       plan_gradient_type(s->plan) == s->settings->precision;
}

static void send_alone(struct step *s, int group)
{
	struct tensor_state *t = &s->tensor[s->plan->groups[group].tensors[0]];
	bucket_send(s);
	reduce_wait(s, GROUPS_IN_FLIGHT);
	s->group[group].gradients = t->piece;
	s->group[group].at = 0;
	t->piece = -1;
	t->gradient = region_none();
	reduce_send(s, group, true);
}

/* The group's gradients are all there, and go into the bucket. */
void bucket_put(struct step *s, int group)
{
	const struct group *g = &s->plan->groups[group];
	struct open_bucket *b = &s->bucket;
	if (bucket_is_passed(s, group)) {
		send_alone(s, group);
		return;
	}
	if (b->buffer >= 0 && b->used + g->padded > b->capacity)
		bucket_send(s);
	if (b->buffer < 0)
		open_bucket(s, group);
	s->group[group].gradients = b->buffer;
	s->group[group].at = b->used;
	step_zero_padding(s, b->buffer, b->used + g->elements, b->used + g->padded);
	b->used += g->padded;
	b->groups[b->count++] = group;
	bucket_copy_group(s, group);
}
