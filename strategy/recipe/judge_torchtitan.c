/* torchtitan's refusals: when it reads the file (its ConfigManager looks at names alone), and when a job begins and
 * makes the mesh, the optimizer, the checkpoints and the batch of what it says. */
#include <ctype.h>
#include <inttypes.h>
#include <stddef.h>
#include <string.h>

#include "strategy/base/keys.h"
#include "strategy/base/number.h"
#include "strategy/recipe/reader.h"

#define PARALLELISM "parallelism."
#define CHECKPOINTS "activation_checkpoint."

static void judge_word(struct recipe *r, const char *path, const char *words)
{
	const struct tree *v = recipe_find(r, path);
	if (v && (v->kind != TREE_TEXT || word_find(words, v->text) < 0))
		recipe_refuse(r, "torchtitan", v, "%s: %s is not one of %s%s", path, tree_shown(&r->arena, v), words,
		              tree_near(&r->arena, words, v));
}

static bool is_text(const struct tree *v, const char *word)
{
	return v && v->kind == TREE_TEXT && !strcmp(v->text, word);
}

/* ---- while it reads ---- */

static void judge_while_reading(struct recipe *r)
{
	const struct tree *balancer = recipe_find(r, PARALLELISM "context_parallel_load_balancer");
	int64_t steps = recipe_whole(r, "validation.steps", -1);
	if (is_text(balancer, ""))
		recipe_refuse(r, "torchtitan", balancer,
		              PARALLELISM "context_parallel_load_balancer is empty; leave it out");
	if (steps <= 0 && steps != -1)
		recipe_refuse(r, "torchtitan", recipe_find(r, "validation.steps"),
		              "validation.steps %" PRId64 " is neither above 0 nor -1", steps);
}

/* ---- ranks ---- */

static const struct {
	const char *path;
	size_t at;
} degrees[] = {
        {PARALLELISM "data_parallel_replicate_degree", offsetof(struct torchtitan_mesh, copies)},
        {PARALLELISM "context_parallel_degree", offsetof(struct torchtitan_mesh, context)},
        {PARALLELISM "tensor_parallel_degree", offsetof(struct torchtitan_mesh, tensor)},
        {PARALLELISM "pipeline_parallel_degree", offsetof(struct torchtitan_mesh, stages)},
        {PARALLELISM "expert_parallel_degree", offsetof(struct torchtitan_mesh, experts)},
        {PARALLELISM "expert_tensor_parallel_degree", offsetof(struct torchtitan_mesh, experts_tensor)},
};
enum { MOST_DEGREE = 1 << 24 };

static bool is_degree(int64_t n)
{
	return n >= 1 && n <= MOST_DEGREE;
}

/* A product, and no more than any number of ranks is far below. */
static int64_t times(int64_t a, int64_t b)
{
	int64_t n;
	return multiply(a, b, &n) && n < (int64_t)1 << 40 ? n : (int64_t)1 << 40;
}

/* A degree that is none counts as 1. */
static int64_t degree(const struct recipe *r, const char *path)
{
	int64_t n = recipe_whole(r, path, 1);
	return is_degree(n) ? n : 1;
}

static const char shard_key[] = PARALLELISM "data_parallel_shard_degree";

/* The shard degree of the ranks that the other axes leave. 0: the number of ranks is not known. */
static int64_t shard_degree(const struct recipe *r, int64_t others)
{
	int64_t n = recipe_whole(r, shard_key, -1), ranks = r->question.ranks;
	return is_degree(n) ? n : ranks >= others ? ranks / others : ranks ? 1 : 0;
}

struct torchtitan_mesh torchtitan_mesh(const struct recipe *r)
{
	struct torchtitan_mesh m = {0};
	for (size_t i = 0; i < sizeof degrees / sizeof degrees[0]; i++)
		*(int64_t *)((char *)&m + degrees[i].at) = degree(r, degrees[i].path);
	m.others = times(times(m.copies, m.context), times(m.tensor, m.stages));
	m.shard = shard_degree(r, m.others);
	m.data = times(m.copies, m.shard);
	m.ranks = times(m.others, m.shard);
	return m;
}

static void judge_degrees(struct recipe *r)
{
	int64_t shard = recipe_whole(r, shard_key, -1);
	for (size_t i = 0; i < sizeof degrees / sizeof degrees[0]; i++)
		if (!is_degree(recipe_whole(r, degrees[i].path, 1)))
			recipe_refuse(r, "torchtitan", recipe_find(r, degrees[i].path), "%s: %s is no number of ranks",
			              degrees[i].path, tree_shown(&r->arena, recipe_find(r, degrees[i].path)));
	if (!is_degree(shard) && shard != -1)
		recipe_refuse(r, "torchtitan", recipe_find(r, shard_key),
		              "%s: %s is neither a number of ranks nor -1, those that are left", shard_key,
		              tree_shown(&r->arena, recipe_find(r, shard_key)));
}

static void judge_mesh(struct recipe *r, const struct torchtitan_mesh *m)
{
	int64_t ranks = r->question.ranks;
	judge_degrees(r);
	if (ranks && m->ranks != ranks)
		recipe_refuse(r, "torchtitan", tree_find(r->file.root, "parallelism"),
		              "copies %" PRId64 " × shards %" PRId64 " × context %" PRId64 " × tensor %" PRId64
		              " × stages %" PRId64 " are not %" PRId64 " ranks",
		              m->copies, m->shard, m->context, m->tensor, m->stages, ranks);
	if (m->experts > 1 && m->experts_tensor > 1 && m->experts_tensor != m->tensor)
		recipe_refuse(r, "torchtitan", recipe_find(r, degrees[5].path),
		              "%s is neither 1 nor the tensor_parallel_degree", degrees[5].path);
	if (m->copies > 1 && m->shard == 1 && m->context == 1 && (m->tensor > 1 || m->stages > 1))
		recipe_refuse(r, "torchtitan", recipe_find(r, degrees[0].path),
		              "copies without shards (DDP) go with no other axis");
}

/* ---- samples ---- */

static void judge_batch_of_step(struct recipe *r, const struct torchtitan_mesh *m)
{
	static const char global_key[] = "training.global_batch_size", local_key[] = "training.local_batch_size";
	const struct tree *v = recipe_find(r, global_key);
	int64_t local = recipe_whole(r, local_key, 8), global = recipe_whole(r, global_key, -1), share, length;
	if (local <= 0)
		recipe_refuse(r, "torchtitan", recipe_find(r, local_key), "%s %" PRId64 " is no number of samples",
		              local_key, local);
	if (local > SETTING_LARGE / 1000000)
		recipe_bar(r, recipe_find(r, local_key), "%s %" PRId64 " is too large", local_key, local);
	if (local <= 0 || local > SETTING_LARGE / 1000000)
		return;
	share = times(local, m->data);
	if (share && (global == 0 || (global > 0 && global % share)))
		recipe_refuse(r, "torchtitan", v,
		              "%s %" PRId64 " is no multiple of local_batch_size %" PRId64 " × %" PRId64
		              " data-parallel ranks",
		              global_key, global, local, m->data);
	length = recipe_whole(r, "training.seq_len", 2048);
	if (length % (times(m->tensor, m->context) * 2))
		recipe_refuse(r, "torchtitan", recipe_find(r, "training.seq_len"),
		              "training.seq_len %" PRId64 " is no multiple of %" PRId64
		              ": tensor degree × 2 × context degree",
		              length, times(m->tensor, m->context) * 2);
}

/* ---- the parts of a job ---- */

static bool is_number(const char *text)
{
	while (isdigit((unsigned char)*text))
		text++;
	return !*text;
}

static void judge_checkpointing(struct recipe *r)
{
	const struct tree *mode = recipe_find(r, CHECKPOINTS "mode"), *compile = recipe_find(r, "compile.components"),
	                  *option = recipe_find(r, CHECKPOINTS "selective_ac_option");
	bool compiled = recipe_flag(r, "compile.enable", false), has_model = !compile;
	for (const struct tree *t = compile ? compile->first : NULL; t; t = t->next)
		has_model |= is_text(t, "model");
	judge_word(r, CHECKPOINTS "mode", "none|full|selective|memory_budget");
	if (is_text(mode, "memory_budget") && !(compiled && has_model))
		recipe_refuse(r, "torchtitan", mode, CHECKPOINTS "mode memory_budget goes with compile.enable");
	if ((!mode || is_text(mode, "selective")) && option && option->kind == TREE_TEXT && !is_text(option, "op") &&
	    (!*option->text || !is_number(option->text)))
		recipe_refuse(r, "torchtitan", option,
		              CHECKPOINTS "selective_ac_option: %s is neither \"op\" nor a number in quotes",
		              tree_shown(&r->arena, option));
	if ((!mode || is_text(mode, "selective")) && option && option->kind != TREE_TEXT)
		recipe_refuse(r, "torchtitan", option,
		              CHECKPOINTS "selective_ac_option: %s is no text; write it in quotes",
		              tree_shown(&r->arena, option));
}

static void judge_pipeline(struct recipe *r, const struct torchtitan_mesh *m)
{
	static const char schedules[] = "1f1b|interleaved1f1b|gpipe|loopedbfs|interleavedzerobubble|zbvzerobubble|"
	                                "dualpipev|pipelineschedulesingle|pipelineschedulemulti";
	const struct tree *v = recipe_find(r, PARALLELISM "pipeline_parallel_schedule"),
	                  *micro_key = recipe_find(r, PARALLELISM "pipeline_parallel_microbatch_size");
	int64_t micro = recipe_whole(r, PARALLELISM "pipeline_parallel_microbatch_size", 1),
	        local = recipe_whole(r, "training.local_batch_size", 8);
	char name[40] = "";
	if (m->stages == 1)
		return;
	for (size_t i = 0; v && v->kind == TREE_TEXT && i + 1 < sizeof name && v->text[i]; i++)
		name[i] = (char)tolower((unsigned char)v->text[i]);
	if (v && word_find(schedules, name) < 0)
		recipe_refuse(r, "torchtitan", v,
		              PARALLELISM "pipeline_parallel_schedule: %s is unknown; 1F1B and "
		                          "GPipe are two that it knows",
		              tree_shown(&r->arena, v));
	if (micro < 1 || local % micro)
		recipe_refuse(r, "torchtitan", micro_key,
		              PARALLELISM "pipeline_parallel_microbatch_size %" PRId64
		                          " does not divide local_batch_size %" PRId64,
		              micro, local);
}

static void judge_optimizer(struct recipe *r, const struct torchtitan_mesh *m)
{
	const struct tree *early = recipe_find(r, "optimizer.early_step_in_backward");
	judge_word(r, "optimizer.name", "Adam|AdamW");
	judge_word(r, "optimizer.implementation", "for-loop|foreach|fused");
	if (recipe_flag(r, "optimizer.early_step_in_backward", false) && (m->experts > 1 || m->stages > 1))
		recipe_refuse(r, "torchtitan", early, "optimizer.early_step_in_backward goes with no %s",
		              m->experts > 1 ? "expert_parallel_degree" : "pipeline_parallel_degree");
}

static void judge_flavor(struct recipe *r, const char *name)
{
	const struct tree *flavor = recipe_find(r, "model.flavor");
	const char *sizes = table_flavors(r->table, &r->arena, name);
	if (!flavor && *sizes && word_find(sizes, TORCHTITAN_FLAVOR) < 0)
		recipe_refuse(r, "torchtitan", recipe_find(r, "model.name"),
		              "model.flavor is " TORCHTITAN_FLAVOR " by default, and %s has %s", name, sizes);
	else if (flavor && *sizes && (flavor->kind != TREE_TEXT || word_find(sizes, flavor->text) < 0))
		recipe_refuse(r, "torchtitan", flavor, "model.flavor: %s has no %s, but %s%s", name,
		              tree_shown(&r->arena, flavor), sizes, tree_near(&r->arena, sizes, flavor));
}

static void judge_model(struct recipe *r)
{
	const struct tree *name = recipe_find(r, "model.name");
	const char *family = name && name->kind == TREE_TEXT ? name->text : "llama3";
	if (word_find(TORCHTITAN_EXPERIMENTS, family) < 0)
		judge_word(r, "model.name", "deepseek_v3|flux|gpt_oss|llama3|llama3_ft|llama4|qwen3");
	judge_flavor(r, family);
}

/* It computes with these as they are. */
static void judge_numbers(struct recipe *r, const struct torchtitan_mesh *m)
{
	static const char *const keys[] = {"training.seq_len", "training.local_batch_size",
	                                   "training.global_batch_size", shard_key,
	                                   "parallelism.pipeline_parallel_microbatch_size"};
	enum { DEGREES = sizeof degrees / sizeof degrees[0], COUNT = sizeof keys / sizeof keys[0] };
	for (int i = 0; i < COUNT - (m->stages == 1) + DEGREES; i++) {
		const char *path = i < DEGREES ? degrees[i].path : keys[i - DEGREES];
		const struct tree *v = recipe_find(r, path);
		if (v && v->kind == TREE_TEXT)
			recipe_refuse(r, "torchtitan", v, "%s: %s is a text; write it without quotes", path,
			              tree_shown(&r->arena, v));
	}
}

void judge_torchtitan(struct recipe *r)
{
	struct torchtitan_mesh m = torchtitan_mesh(r);
	judge_while_reading(r);
	judge_mesh(r, &m);
	judge_batch_of_step(r, &m);
	judge_checkpointing(r);
	judge_pipeline(r, &m);
	judge_optimizer(r, &m);
	judge_model(r);
	judge_numbers(r, &m);
	if (m.shard != 1 || m.context > 1)
		judge_word(r, PARALLELISM "fsdp_reshard_after_forward", "default|always|never");
	judge_word(r, "training.mixed_precision_param", "float16|float32|bfloat16");
	judge_word(r, "training.mixed_precision_reduce", "float16|float32|bfloat16");
	judge_word(r, "training.dtype", "float16|float32|bfloat16");
}
