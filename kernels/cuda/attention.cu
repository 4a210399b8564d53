/* Attention: which rung of its ladder does a shape, and, where samples × heads are more than a grid or the workspace
 * takes, how many samples at once. */
#include <cmath>

#include "kernels/cuda/attention.cuh"
#include "kernels/cuda/attention_cudnn.h"
#include "kernels/cuda/stopwatch.h"
#include "kernels/cuda/table.h"

namespace
{

enum { MOST_HEADS = 65535 /* blocks along a grid's y */ };

/* The highest rung that takes such heads at these addresses, of up to `most`. */
enum cuda_attention highest(const struct kernel_context *c, enum cuda_attention most, const struct attention_shape *s,
                            bool aligned)
{
	const bool tensor = s->type != ELEMENT_FP32 && s->head_size <= 128 && s->head_size % 8 == 0 && aligned;
	if (most >= CUDA_ATTENTION_HOPPER && tensor && attention_hopper_takes(c, s->head_size))
		return CUDA_ATTENTION_HOPPER;
	if (most >= CUDA_ATTENTION_TENSOR && tensor)
		return CUDA_ATTENTION_TENSOR;
	return most >= CUDA_ATTENTION_SIMPLE && s->head_size <= SIMPLE_HEAD ? CUDA_ATTENTION_SIMPLE
	                                                                    : CUDA_ATTENTION_PLAIN;
}

bool is_same(const struct attention_shape *a, const struct attention_shape *b)
{
	return a->samples == b->samples && a->tokens == b->tokens && a->heads == b->heads &&
	       a->kv_heads == b->kv_heads && a->head_size == b->head_size && a->type == b->type &&
	       a->window == b->window && a->alibi_heads == b->alibi_heads && a->first_head == b->first_head;
}

/* The measured choice for this shape; NULL: it was not measured. */
const struct attention_place *measured(const struct kernel_context *c, const struct attention_shape *s, bool backward)
{
	const int n = c->choices < CUDA_ATTENTION_CHOICES ? c->choices : CUDA_ATTENTION_CHOICES;
	for (int i = 0; i < n; i++)
		if (c->choice[i].backward == backward && is_same(&c->choice[i].shape, s))
			return &c->choice[i];
	return nullptr;
}

/* cuDNN's plan for it: the one that was the fastest, or the first that cuDNN advises. */
int64_t kept_plan(const struct kernel_context *c, const struct attention_shape *s, bool backward)
{
	const struct attention_place *p = measured(c, s, backward);
	return p ? p->choice.cudnn_plan : 0;
}

/* `auto`: where nothing was measured, the highest of our own, for on an H200 every one was faster than those below it,
 * at all heads and lengths (kernels/RESULTS.md). */
enum cuda_attention wanted(const struct kernel_context *c, const struct attention_shape *s, bool backward)
{
	if (c->attention != CUDA_ATTENTION_AUTO)
		return c->attention;
	const struct attention_place *p = measured(c, s, backward);
	return p ? p->choice.rung : CUDA_ATTENTION_HOPPER;
}

enum cuda_attention rung_of(struct kernel_context *c, enum cuda_attention most, const struct attention_shape *s,
                            bool backward, bool aligned)
{
	if (most == CUDA_ATTENTION_CUDNN && aligned && attention_cudnn_takes(c, s, backward, kept_plan(c, s, backward)))
		return CUDA_ATTENTION_CUDNN;
	const bool local = (s->window > 0 && s->window < s->tokens) || s->alibi_heads > 0;
	if (backward && local && most > CUDA_ATTENTION_TENSOR)
		most = CUDA_ATTENTION_TENSOR; /* the only one with windows and ALiBi backward */
	return highest(c, most, s, aligned);
}

enum cuda_attention rung(struct kernel_context *c, const struct attention_shape *s, bool backward, bool aligned)
{
	return rung_of(c, wanted(c, s, backward), s, backward, aligned);
}

struct attention_arguments arguments(const struct attention_shape *s)
{
	struct attention_arguments a = {};
	a.samples = s->samples;
	a.tokens = s->tokens;
	a.heads = s->heads;
	a.kv_heads = s->kv_heads;
	a.size = s->head_size;
	a.scale = 1 / sqrtf(static_cast<float>(s->head_size));
	a.window = s->window > 0 && s->window < s->tokens ? s->window : s->tokens;
	a.alibi_heads = s->alibi_heads;
	a.first_head = s->first_head;
	return a;
}

/* The same for `samples` samples from `first` on. */
struct attention_arguments part(const struct attention_arguments &a, enum element type, int64_t first, int64_t samples)
{
	struct attention_arguments p = a;
	int64_t rows = first * a.tokens, bytes = rows * a.heads * a.size * element_bytes(type);
	int64_t qkv_bytes = bytes / a.heads * (a.heads + 2 * a.kv_heads);
	p.samples = samples;
	p.qkv = static_cast<const char *>(a.qkv) + qkv_bytes;
	p.y = static_cast<const char *>(a.y) + (a.y ? bytes : 0);
	p.dy = static_cast<const char *>(a.dy) + (a.dy ? bytes : 0);
	p.y_out = static_cast<char *>(a.y_out) + (a.y_out ? bytes : 0);
	p.dqkv = static_cast<char *>(a.dqkv) + (a.dqkv ? qkv_bytes : 0);
	p.log_sum_exp = a.log_sum_exp + (a.log_sum_exp ? rows * a.heads : 0);
	p.log_sum_exp_out = a.log_sum_exp_out + (a.log_sum_exp_out ? rows * a.heads : 0);
	return p;
}

typedef int attention_version(kernel_stream s, enum element type, const struct attention_arguments *a);

/* Indexed by rung. */
attention_version *const forwards[] = {
        nullptr, attention_forward_plain, attention_forward_simple, attention_forward_tensor, attention_forward_hopper,
        nullptr};
attention_version *const backwards[] = {nullptr,
                                        attention_backward_plain,
                                        attention_backward_simple,
                                        attention_backward_tensor,
                                        attention_backward_hopper,
                                        nullptr};

/* All samples, `together` at once. */
int run(attention_version *f, kernel_stream s, enum element type, const struct attention_arguments &a, int64_t together)
{
	int error = 0;
	for (int64_t i = 0; i < a.samples && !error; i += together) {
		struct attention_arguments p = part(a, type, i, smaller(a.samples - i, together));
		error = f(s, type, &p);
	}
	return error;
}

/* ---- a pass, by whichever rung ---- */

struct pass {
	struct kernel_context *c;
	kernel_stream s;
	const struct attention_shape *shape;
	struct attention_arguments a;
	bool backward, aligned;
	enum cuda_attention rung;
};

/* How many samples a kernel of ours does at once; 0: not one, and `error` says why. */
int64_t together(const struct pass *p, int *error)
{
	const int64_t most = MOST_HEADS / p->shape->heads;
	const int64_t fit =
	        static_cast<int64_t>(p->c->workspace_bytes / sizeof(float)) / (p->shape->heads * p->shape->tokens);
	*error = most < 1 ? CUDA_ERROR_SHAPE : CUDA_ERROR_WORKSPACE;
	return p->backward && p->rung != CUDA_ATTENTION_PLAIN ? smaller(most, fit) : most;
}

int put(void *context)
{
	const struct pass *p = static_cast<const struct pass *>(context);
	if (p->rung == CUDA_ATTENTION_CUDNN)
		return attention_cudnn(p->c, p->s, p->shape, &p->a, p->backward);
	int error = 0;
	const int64_t n = together(p, &error);
	return n < 1 ? error : run((p->backward ? backwards : forwards)[p->rung], p->s, p->shape->type, p->a, n);
}

/* ---- which of them is the fastest ---- */

struct attention_place *take_choice(struct kernel_context *c, const struct attention_shape *s, bool backward)
{
	struct attention_place *at = &c->choice[c->choices++ % CUDA_ATTENTION_CHOICES];
	*at = {};
	at->shape = *s;
	at->backward = backward;
	at->cudnn = cudnn_version();
	at->choice.why = CUDA_ATTENTION_MEASURED;
	return at;
}

double seconds_of(struct pass *p)
{
	const double took = 1e-3 * static_cast<double>(stopwatch_run(p->s, put, p));
	return took > 0 ? took : 0;
}

/* Of the plans that cuDNN advises, which is the fastest? It has the shape from now on. cuDNN puts them in order without
 * running any. */
double seconds_of_cudnn(struct pass *p, int64_t *fastest)
{
	double best = 0;
	*fastest = 0;
	for (int64_t i = 0; (i = attention_cudnn_plan(p->c, p->shape, p->backward, i)) >= 0; i++) {
		const double took = seconds_of(p);
		if (took > 0 && (best <= 0 || took < best)) {
			best = took;
			*fastest = i;
		}
	}
	attention_cudnn_keep(p->c, p->shape, p->backward, *fastest);
	return best;
}

/* Times the rungs that take the shape, all but the plain one, which takes seconds. All leave the same results, up to
 * rounding, and what is chosen overwrites them. */
void choose(struct pass p)
{
	struct cuda_attention_choice best = {};
	best.rung = CUDA_ATTENTION_HOPPER;
	for (int r = CUDA_ATTENTION_SIMPLE; r < CUDA_ATTENTIONS; r++) {
		p.rung = static_cast<enum cuda_attention>(r);
		if (rung_of(p.c, p.rung, p.shape, p.backward, p.aligned) != p.rung)
			continue;
		const double took =
		        p.rung == CUDA_ATTENTION_CUDNN ? seconds_of_cudnn(&p, &best.cudnn_plan) : seconds_of(&p);
		best.seconds[r] = took;
		if (took > 0 && (best.seconds[best.rung] <= 0 || took < best.seconds[best.rung]))
			best.rung = p.rung;
	}
	best.why = CUDA_ATTENTION_MEASURED;
	take_choice(p.c, p.shape, p.backward)->choice = best;
}

int issue(struct pass p)
{
	if (p.c->attention == CUDA_ATTENTION_AUTO && p.c->times_attention && !measured(p.c, p.shape, p.backward) &&
	    stopwatch_may(p.s))
		choose(p);
	p.rung = rung(p.c, p.shape, p.backward, p.aligned);
	return put(&p);
}

/* ---- choices as words ---- */

enum { MICROSECONDS = 1000000, CUDNN_WORD = 1 + CUDA_ATTENTIONS };
static_assert(CUDNN_WORD < sizeof(cuda_algorithm::algorithm) / sizeof(uint64_t),
              "a choice has no room for cuDNN's plan");
const uint64_t ATTENTION_WORD = UINT64_MAX; /* no product begins with it */

} // namespace

CUDA_KERNEL(attention_forward)
{
	struct pass p = {
	        c, s, shape, arguments(shape), false, in_packs(shape->head_size, 8, {qkv, y}), CUDA_ATTENTION_AUTO};
	p.a.qkv = qkv;
	p.a.y_out = y;
	p.a.log_sum_exp_out = log_sum_exp;
	return issue(p);
}

CUDA_KERNEL(attention_backward)
{
	struct pass p = {c,
	                 s,
	                 shape,
	                 arguments(shape),
	                 true,
	                 in_packs(shape->head_size, 8, {qkv, y, dy, dqkv}),
	                 CUDA_ATTENTION_AUTO};
	p.a.qkv = qkv;
	p.a.y = y;
	p.a.dy = dy;
	p.a.log_sum_exp = log_sum_exp;
	p.a.dqkv = dqkv;
	p.a.delta = static_cast<float *>(c->workspace);
	return issue(p);
}

int cuda_use_attention(struct kernel_context *c, enum cuda_attention most, bool time)
{
	c->attention = most;
	c->times_attention = time;
	return most == CUDA_ATTENTION_CUDNN ? cudnn_open() : 0;
}

enum cuda_attention cuda_attention_rung(struct kernel_context *c, const struct attention_shape *shape, bool backward)
{
	return rung(c, shape, backward, true);
}

void cuda_attention_chosen(struct kernel_context *c, const struct attention_shape *shape, bool backward,
                           struct cuda_attention_choice *out)
{
	const struct attention_place *p = measured(c, shape, backward);
	*out = {};
	if (c->attention != CUDA_ATTENTION_AUTO)
		out->why = CUDA_ATTENTION_ASKED;
	else if (p)
		*out = p->choice;
	out->rung = rung(c, shape, backward, true);
}

int cuda_cudnn(void)
{
	return cudnn_version();
}

bool cuda_attention_is_word(const struct cuda_algorithm *a)
{
	return a->product[0] == ATTENTION_WORD;
}

/* product: the mark, backward, type, the shape's numbers; algorithm: the rung, cuDNN's version, microseconds of rungs,
 * cuDNN's plan and 1 (0: a file in which cuDNN's first plan alone was timed).
 * What was measured with another cuDNN, or with one plan, is measured again. */
void cuda_attention_give(struct kernel_context *c, const struct cuda_algorithm *a)
{
	const uint64_t *w = a->product, *chosen = a->algorithm;
	if (chosen[0] >= CUDA_ATTENTIONS || w[2] >= ELEMENT_TYPES || chosen[CUDNN_WORD] > CUDNN_MOST_PLANS ||
	    chosen[1] != static_cast<uint64_t>(cudnn_version()) || (chosen[1] && !chosen[CUDNN_WORD]))
		return;
	struct attention_shape s = {};
	int64_t *const numbers[] = {&s.samples,   &s.tokens, &s.heads,       &s.kv_heads,
	                            &s.head_size, &s.window, &s.alibi_heads, &s.first_head};
	for (int i = 0; i < 8; i++)
		*numbers[i] = static_cast<int64_t>(w[3 + i]);
	s.type = static_cast<enum element>(w[2]);
	struct attention_place *at = take_choice(c, &s, w[1] != 0);
	at->choice.rung = static_cast<enum cuda_attention>(chosen[0]);
	at->choice.cudnn_plan = chosen[CUDNN_WORD] ? static_cast<int64_t>(chosen[CUDNN_WORD] - 1) : 0;
	for (int r = CUDA_ATTENTION_PLAIN; r < CUDA_ATTENTIONS; r++)
		at->choice.seconds[r] = static_cast<double>(chosen[1 + r]) / MICROSECONDS;
}

static struct cuda_algorithm words_of(const struct attention_place *at)
{
	const struct attention_shape *s = &at->shape;
	const int64_t numbers[] = {s->samples,   s->tokens, s->heads,       s->kv_heads,
	                           s->head_size, s->window, s->alibi_heads, s->first_head};
	struct cuda_algorithm a = {};
	a.product[0] = ATTENTION_WORD;
	a.product[1] = at->backward;
	a.product[2] = static_cast<uint64_t>(s->type);
	a.algorithm[0] = static_cast<uint64_t>(at->choice.rung);
	for (int i = 0; i < 8; i++)
		a.product[3 + i] = static_cast<uint64_t>(numbers[i]);
	a.algorithm[1] = static_cast<uint64_t>(at->cudnn);
	a.algorithm[CUDNN_WORD] = static_cast<uint64_t>(at->choice.cudnn_plan + 1);
	for (int r = CUDA_ATTENTION_PLAIN; r < CUDA_ATTENTIONS; r++)
		a.algorithm[1 + r] = static_cast<uint64_t>(at->choice.seconds[r] * MICROSECONDS + 0.5);
	return a;
}

int cuda_attention_tell(const struct kernel_context *c, struct cuda_algorithm *out, int most)
{
	const int n = c->choices < CUDA_ATTENTION_CHOICES ? c->choices : CUDA_ATTENTION_CHOICES;
	for (int i = 0; i < n && i < most; i++)
		out[i] = words_of(&c->choice[i]);
	return n;
}
