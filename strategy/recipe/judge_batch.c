/* The samples of a rank. DeepSpeed has three keys and the number of ranks, of which one follows from the others:
 *
 *     train_batch_size = train_micro_batch_size_per_gpu × gradient_accumulation_steps × ranks
 *
 * Trainer has its arguments for the first two on the right, and the file must agree with them.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "strategy/base/number.h"
#include "strategy/recipe/reader.h"

static const char batch_key[] = "train_batch_size", micro_key[] = "train_micro_batch_size_per_gpu",
                  accumulate_key[] = "gradient_accumulation_steps";

static int64_t argument(const struct recipe *r, enum setting i)
{
	const char *text = recipe_given(r, i);
	int64_t n;
	return text && !number_whole(text, "", 1, SETTING_LARGE, &n) ? n : 0;
}

static int64_t said(const struct recipe *r, const char *path)
{
	int64_t n = recipe_whole(r, path, 0);
	return n > 0 && n <= SETTING_LARGE ? n : 0;
}

static void need_one(struct recipe *r)
{
	if (!recipe_find(r, batch_key) && !recipe_find(r, micro_key))
		recipe_refuse(r, recipe_judge(r->reader), NULL, "neither %s nor %s is there", batch_key, micro_key);
}

/* ---- Trainer ---- */

static int64_t trainer_value(struct recipe *r, const char *path, enum setting i, int64_t otherwise, const char *name)
{
	const struct tree *v = recipe_find(r, path);
	int64_t given = argument(r, i), n = said(r, path);
	if (given && n && given != n)
		recipe_refuse(r, "Trainer", v, "%s %" PRId64 " disagrees with its argument %s %" PRId64, path, n, name,
		              given);
	if (tree_is_auto(v) && !given && !recipe_given(r, SETTING_BATCH))
		recipe_note(r, v, "%s is Trainer's default of %s: %" PRId64 "; %s gives another", path, name, otherwise,
		            recipe_option(r, i));
	return n ? n : given ? given : otherwise;
}

static struct recipe_batch trainer_batch(struct recipe *r)
{
	const struct tree *v = recipe_find(r, batch_key);
	struct recipe_batch b = {.ranks = r->question.ranks};
	enum { DEFAULT_MICRO = 8 };
	need_one(r);
	b.micro = trainer_value(r, micro_key, SETTING_MICRO_BATCH, DEFAULT_MICRO, "per_device_train_batch_size");
	b.accumulate = trainer_value(r, accumulate_key, SETTING_ACCUMULATE, 1, "gradient_accumulation_steps");
	b.batch = said(r, batch_key);
	int64_t share = b.micro * b.accumulate;
	if (!b.ranks && b.batch && b.batch % share == 0) {
		b.ranks = b.batch / share;
		r->ranks_from =
		        arena_print(&r->arena, "train_batch_size: %" PRId64 " = %" PRId64 " × %" PRId64 " × %" PRId64,
		                    b.batch, b.micro, b.accumulate, b.ranks);
	}
	const char *ranks = b.ranks ? arena_print(&r->arena, "%" PRId64, b.ranks) : "any number of";
	if (b.batch && b.batch != share * (b.ranks ? b.ranks : 1) && (b.ranks || b.batch % share))
		recipe_refuse(r, "Trainer", v,
		              "train_batch_size %" PRId64 " disagrees with micro-batch %" PRId64
		              " × accumulation %" PRId64 " × %s ranks",
		              b.batch, b.micro, b.accumulate, ranks);
	return b;
}

/* ---- DeepSpeed ---- */

static void find_ranks(struct recipe *r, struct recipe_batch *b)
{
	if (b->ranks || !b->batch || !b->micro || !b->accumulate || b->batch % (b->micro * b->accumulate))
		return;
	b->ranks = b->batch / (b->micro * b->accumulate);
	r->ranks_from = arena_print(&r->arena,
	                            "train_batch_size: %" PRId64 " = micro-batch %" PRId64 " × accumulation %" PRId64
	                            " × %" PRId64 " ranks",
	                            b->batch, b->micro, b->accumulate, b->ranks);
}

/* DeepSpeed's divisions, which round down; what does not come out even is refused after them. */
static void fill_in(struct recipe_batch *b)
{
	if (b->batch && b->micro && !b->accumulate)
		b->accumulate = b->batch / b->micro / b->ranks;
	else if (b->batch && b->accumulate && !b->micro)
		b->micro = b->batch / b->ranks / b->accumulate;
	else if (b->batch && !b->micro)
		b->micro = b->batch / b->ranks;
	if (!b->accumulate)
		b->accumulate = 1;
}

static struct recipe_batch deepspeed_batch(struct recipe *r)
{
	const struct tree *v = recipe_find(r, batch_key);
	struct recipe_batch b = {
	        .batch = said(r, batch_key), .micro = said(r, micro_key), .accumulate = said(r, accumulate_key)};
	b.ranks = r->question.ranks;
	if (!b.batch && !b.micro) {
		need_one(r);
		return b;
	}
	find_ranks(r, &b);
	if (!b.ranks) {
		if (b.batch && b.micro && b.accumulate)
			recipe_refuse(r, "DeepSpeed", v,
			              "train_batch_size %" PRId64 " is no multiple of micro-batch %" PRId64
			              " × accumulation %" PRId64,
			              b.batch, b.micro, b.accumulate);
		return b;
	}
	struct recipe_batch whole = b;
	fill_in(&whole);
	if (whole.batch && whole.batch != whole.micro * whole.accumulate * whole.ranks)
		recipe_refuse(r, "DeepSpeed", v,
		              "train_batch_size %" PRId64 " is not micro-batch %" PRId64 " × accumulation %" PRId64
		              " × %" PRId64 " ranks",
		              whole.batch, whole.micro, whole.accumulate, whole.ranks);
	return whole;
}

struct recipe_batch judge_batch(struct recipe *r)
{
	r->batch = said(r, batch_key) ? recipe_find(r, batch_key) : NULL;
	return r->reader == RECIPE_TRANSFORMERS ? trainer_batch(r) : deepspeed_batch(r);
}
