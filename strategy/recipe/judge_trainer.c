/* Trainer's refusals of its arguments: when they are made (TrainingArguments.__post_init__), and when it begins with
 * them. take_trainer.c, which reads the DeepSpeed file, has its refusals of that. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "strategy/base/keys.h"
#include "strategy/recipe/reader.h"
#include "strategy/recipe/trainer.h"

#define FSDP "fsdp_config."

/* ---- the string of fsdp ---- */

bool trainer_shards(const struct recipe *r)
{
	const struct tree *v = recipe_find(r, "fsdp");
	if (!v)
		return false;
	return v->kind == TREE_TEXT ? *v->text : v->kind == TREE_LIST ? v->first != NULL : v->number != 0;
}

bool trainer_word(const struct tree *v, int i, char *out, size_t size)
{
	const char *p = v && v->kind == TREE_TEXT ? v->text : "";
	const struct tree *one = v && v->kind == TREE_LIST ? v->first : NULL;
	*out = '\0';
	for (; one && i; i--)
		one = one->next;
	if (one) {
		snprintf(out, size, "%s", one->kind == TREE_TEXT ? one->text : "?");
		return true;
	}
	for (p += strspn(p, " \t\n"); *p && i; i--) {
		p += strcspn(p, " \t\n");
		p += strspn(p, " \t\n");
	}
	snprintf(out, size, "%.*s", (int)strcspn(p, " \t\n"), p);
	return *out;
}

int64_t trainer_fsdp_version(const struct recipe *r)
{
	return recipe_whole(r, FSDP "version", 2);
}

/* Strategies are read in either case, and in version 2 are two words in lower case. */
static void judge_fsdp_words(struct recipe *r)
{
#define OF_BOTH "full_shard|shard_grad_op"
#define OF_VERSION_1 "no_shard|hybrid_shard|hybrid_shard_zero2"
#define BESIDE "offload|auto_wrap"
	static const char all[] = OF_BOTH "|" OF_VERSION_1 "|" BESIDE;
	const struct tree *v = recipe_find(r, "fsdp");
	char word[64], low[64], near[WORD_NEAR];
	for (int i = 0; trainer_word(v, i, word, sizeof word); i++) {
		size_t n = 0;
		for (; word[n]; n++)
			low[n] = (char)tolower((unsigned char)word[n]);
		low[n] = '\0';
		bool strategy = word_find(OF_BOTH, low) >= 0 || word_find(OF_VERSION_1, low) >= 0;
		word_near(all, word, near);
		if (!strategy && word_find(BESIDE, word) < 0)
			recipe_refuse(r, "Trainer", v, "fsdp: %.40s is not one of %s%s", word, all, near);
		else if (strategy && trainer_fsdp_version(r) == 2 && word_find(OF_BOTH, word) < 0)
			recipe_refuse(r, "Trainer", v, "fsdp: %.40s goes with fsdp_config.version 1 alone", word);
	}
}

/* str_to_bool of the text of a value. */
static void judge_flag(struct recipe *r, const char *path)
{
	const struct tree *v = recipe_find(r, path);
	bool flag;
	if (v && !tree_flag(v, &flag))
		recipe_refuse(r, "Trainer", v, "%s: %s is not true or false", path, tree_shown(&r->arena, v));
}

static void judge_fsdp(struct recipe *r)
{
	const struct tree *v = recipe_find(r, FSDP "version"), *reshard = recipe_find(r, FSDP "reshard_after_forward");
	int64_t n = trainer_fsdp_version(r);
	judge_fsdp_words(r);
	if (v && !tree_whole(v, &n))
		recipe_refuse(r, "Trainer", v, FSDP "version: %s is no number", tree_shown(&r->arena, v));
	else if (n < 1 || n > 2)
		recipe_bar(r, v, FSDP "version: %s is neither 1 nor 2", tree_shown(&r->arena, v));
	if (n == 2)
		judge_flag(r, FSDP "reshard_after_forward");
	else if (reshard &&
	         (reshard->kind != TREE_TEXT ||
	          word_find("full_shard|shard_grad_op|no_shard|hybrid_shard|hybrid_shard_zero2", reshard->text) < 0))
		recipe_refuse(r, "Trainer", reshard,
		              FSDP "reshard_after_forward: %s; version 1 wants the name of a strategy, \"full_shard\"",
		              tree_shown(&r->arena, reshard));
	judge_flag(r, FSDP "activation_checkpointing");
	judge_flag(r, FSDP "cpu_ram_efficient_loading");
	if (trainer_recomputes(r) && recipe_flag(r, FSDP "activation_checkpointing", false))
		recipe_refuse(r, "Trainer", recipe_find(r, FSDP "activation_checkpointing"),
		              FSDP "activation_checkpointing and the argument of that name are both true");
}

bool trainer_recomputes(const struct recipe *r)
{
	return recipe_flag(r, "activation_checkpointing", recipe_flag(r, "gradient_checkpointing", false));
}

/* ---- pairs of arguments ---- */

static void judge_precision(struct recipe *r)
{
	if (recipe_flag(r, "fp16", false) && recipe_flag(r, "bf16", false))
		recipe_refuse(r, "Trainer", recipe_find(r, "bf16"), "fp16 and bf16 are both true");
	if (recipe_flag(r, "fp16_full_eval", false) && recipe_flag(r, "bf16_full_eval", false))
		recipe_refuse(r, "Trainer", recipe_find(r, "bf16_full_eval"),
		              "fp16_full_eval and bf16_full_eval are both true");
}

static bool is_word(const struct recipe *r, const char *path, const char *word)
{
	const struct tree *v = recipe_find(r, path);
	return v && v->kind == TREE_TEXT && !strcmp(v->text, word);
}

static bool evaluates(const struct recipe *r)
{
	return is_word(r, "eval_strategy", "steps") || is_word(r, "eval_strategy", "epoch");
}

/* A number that it compares with another as it is; a text is an error of Python's. */
static void judge_number(struct recipe *r, const char *path, bool whole, double low)
{
	const struct tree *v = recipe_find(r, path);
	double x = low;
	if (!v)
		return;
	if (v->kind == TREE_TEXT || !tree_real(v, &x))
		recipe_refuse(r, "Trainer", v, "%s: %s is not a number", path, tree_shown(&r->arena, v));
	else if (x < low)
		recipe_refuse(r, "Trainer", v, "%s: %s is below %g", path, tree_shown(&r->arena, v), low);
	else if (whole && x > 1 && x != (double)(int64_t)x)
		recipe_refuse(r, "Trainer", v, "%s: %s is above 1, and no whole number", path,
		              tree_shown(&r->arena, v));
}

static void judge_intervals(struct recipe *r)
{
	const struct tree *cache = recipe_find(r, "torch_empty_cache_steps"),
	                  *logging = recipe_find(r, "logging_steps");
	const char *eval = evaluates(r) ? "eval_strategy" : NULL;
	int64_t n;
	judge_number(r, "warmup_steps", false, 0);
	if (!recipe_find(r, "logging_strategy") || is_word(r, "logging_strategy", "steps"))
		judge_number(r, "logging_steps", true, -1e300);
	if (logging && tree_same(logging, "0") &&
	    (!recipe_find(r, "logging_strategy") || is_word(r, "logging_strategy", "steps")))
		recipe_refuse(r, "Trainer", logging, "logging_steps 0 goes with logging_strategy no or epoch");
	if (!recipe_find(r, "save_strategy") || is_word(r, "save_strategy", "steps"))
		judge_number(r, "save_steps", true, -1e300);
	if (is_word(r, "eval_strategy", "steps"))
		judge_number(r, "eval_steps", true, -1e300);
	if (cache && (cache->kind != TREE_NUMBER || !cache->whole || !tree_whole(cache, &n) || n <= 0))
		recipe_refuse(r, "Trainer", cache, "torch_empty_cache_steps: %s is not a whole number above 0",
		              tree_shown(&r->arena, cache));
	if (!eval &&
	    (is_word(r, "lr_scheduler_type", "reduce_lr_on_plateau") || is_word(r, "lr_scheduler_type", "greedy")))
		recipe_refuse(r, "Trainer", recipe_find(r, "lr_scheduler_type"),
		              "lr_scheduler_type %s goes with an eval_strategy",
		              recipe_find(r, "lr_scheduler_type")->text);
}

/* The best weights are found by evaluation, so both must happen at the same time. */
static void judge_best(struct recipe *r)
{
	static const char best[] = "load_best_model_at_end";
	const struct tree *save = recipe_find(r, "save_strategy"), *eval = recipe_find(r, "eval_strategy");
	const char *saves = save && save->kind == TREE_TEXT ? save->text : "steps",
	           *looks = eval && eval->kind == TREE_TEXT ? eval->text : "no";
	if (recipe_flag(r, best, false) && strcmp(saves, "best") != 0 && strcmp(saves, looks) != 0)
		recipe_refuse(
		        r, "Trainer", recipe_find(r, best),
		        "load_best_model_at_end wants save_strategy and eval_strategy to be the same, and they are "
		        "%.20s and %.20s",
		        saves, looks);
}

static void judge_accumulation(struct recipe *r)
{
	const struct tree *v = recipe_find(r, "accelerator_config.gradient_accumulation_kwargs.num_steps");
	if (v && recipe_whole(r, "gradient_accumulation_steps", 1) > 1)
		recipe_refuse(r, "Trainer", v, "num_steps and gradient_accumulation_steps are both there");
}

static void judge_loader(struct recipe *r)
{
	const struct tree *ahead = recipe_find(r, "dataloader_prefetch_factor");
	if (ahead && !recipe_whole(r, "dataloader_num_workers", 0))
		recipe_refuse(r, "Trainer", ahead,
		              "dataloader_prefetch_factor goes with dataloader_num_workers above 0");
}

static void judge_debug(struct recipe *r)
{
	const struct tree *v = recipe_find(r, "debug");
	char word[64];
	for (int i = 0; trainer_word(v, i, word, sizeof word); i++)
		if (word_find("underflow_overflow|tpu_metrics_debug", word) < 0)
			recipe_refuse(r, "Trainer", v,
			              "debug: %.40s is not one of underflow_overflow|tpu_metrics_debug", word);
}

/* To Python a text is true whatever it says. */
static void judge_texts(struct recipe *r)
{
	for (const struct tree *t = r->file.root->first; t; t = t->next) {
		const struct recipe_key *k = table_key(r->table, t->key);
		if (k && t->kind == TREE_TEXT && *t->text && !strncmp(k->type, "~flag", 5) && k->here != HERE_NOTHING)
			recipe_bar(r, t, "%s: %s is a text, which Python takes for true; write it without quotes",
			           t->key, tree_shown(&r->arena, t));
	}
}

/* The recipes of training scripts have arguments of their own among Trainer's, and a parser of their own. */
static void note_script(struct recipe *r)
{
	static const char *const keys[] = {"model_name_or_path", "model_revision", "dataset_name",
	                                   "dataset_mixture",    "dataset",        "finetuning_type"};
	for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
		const struct tree *v = tree_find(r->file.root, keys[i]);
		if (!v)
			continue;
		recipe_note(
		        r, v,
		        "%s is an argument of a training script (TRL, alignment-handbook, LLaMA-Factory), whose own "
		        "parser reads such a file: keep Trainer's arguments alone for this, and give {model}",
		        keys[i]);
		return;
	}
}

void judge_trainer(struct recipe *r)
{
	const struct tree *deepspeed = recipe_find(r, "deepspeed");
	judge_precision(r);
	judge_intervals(r);
	judge_best(r);
	judge_accumulation(r);
	judge_loader(r);
	judge_debug(r);
	judge_texts(r);
	note_script(r);
	if (trainer_shards(r))
		judge_fsdp(r);
	if (trainer_shards(r) && deepspeed)
		recipe_refuse(r, "Trainer", deepspeed, "fsdp and deepspeed are both there");
}
