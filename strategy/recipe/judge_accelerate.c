/* Accelerate's refusals: when it reads the file (ClusterConfig), when it starts the ranks (accelerate launch), and when
 * they make FullyShardedDataParallelPlugin of what it hands on. */
#include <inttypes.h>
#include <string.h>
#include <strings.h>

#include "strategy/base/keys.h"
#include "strategy/base/number.h"
#include "strategy/recipe/reader.h"

#define FSDP "fsdp_config.fsdp_"

static const char kinds[] = "NO|MULTI_CPU|MULTI_GPU|MULTI_NPU|MULTI_MLU|MULTI_SDAA|MULTI_MUSA|MULTI_XPU|MULTI_HPU|"
                            "MULTI_NEURON|DEEPSPEED|FSDP|XLA|MEGATRON_LM";

static bool is_word(const char *words, const struct tree *v)
{
	for (const char *p = words; v->kind == TREE_TEXT && *p; p += strcspn(p, "|"), p += *p == '|')
		if (strlen(v->text) == strcspn(p, "|") && !strncasecmp(p, v->text, strlen(v->text)))
			return true;
	return false;
}

static void refuse_word(struct recipe *r, const char *path, const struct tree *v, const char *words)
{
	recipe_refuse(r, "Accelerate", v, "%s: %s is not one of %s%s", path, tree_shown(&r->arena, v), words,
	              tree_near(&r->arena, words, v));
}

static void judge_type(struct recipe *r)
{
	const struct tree *v = tree_find(r->file.root, "distributed_type"), *count = recipe_find(r, "num_processes");
	bool none = v && v->kind == TREE_TEXT && !strcmp(v->text, "NO");
	if (!v)
		recipe_refuse(r, "Accelerate", NULL, "distributed_type is missing");
	else if (v->kind == TREE_TEXT && word_find(kinds, v->text) < 0)
		refuse_word(r, "distributed_type", v, kinds);
	else if (v->kind == TREE_FLAG)
		recipe_note(r, v, "distributed_type: a plain %s is a flag in YAML; write 'NO'", v->text);
	if (v && !none && (!count || tree_same(count, "-1")))
		recipe_refuse(r, "Accelerate", count, "num_processes is missing: accelerate launch --num_processes N");
}

/* An unquoted no is a flag. */
static void judge_mixed(struct recipe *r)
{
	static const char words[] = "no|fp8|fp16|bf16";
	const struct tree *v = recipe_find(r, "mixed_precision");
	if (v && v->kind == TREE_FLAG)
		recipe_refuse(r, "Accelerate", v,
		              "mixed_precision: a plain %s is a flag in YAML, and Accelerate wants a text: 'no'",
		              v->text);
	else if (v && !is_word(words, v))
		refuse_word(r, "mixed_precision", v, words);
}

/* Takes a value by its name, or by its number from 1. */
static void judge_choice(struct recipe *r, const char *path, const char *words, bool numbered)
{
	const struct tree *v = recipe_find(r, path);
	int64_t n;
	bool number = numbered && v && v->kind != TREE_FLAG && tree_whole(v, &n) && n >= 1 && n <= 5;
	if (v && !number && !is_word(words, v))
		refuse_word(r, path, v, words);
}

static void judge_reshard(struct recipe *r)
{
	const struct tree *v = recipe_find(r, FSDP "reshard_after_forward");
	bool flag;
	if (v && (v->kind == TREE_NUMBER || !tree_flag(v, &flag)))
		recipe_refuse(r, "Accelerate", v, FSDP "reshard_after_forward: %s, and version 2 wants true or false",
		              tree_shown(&r->arena, v));
}

/* A rank makes int() of the text that Python has for a value: "1000" is one; 1e6, a text in YAML, and 1.0 are none. */
static bool is_int(const struct tree *v)
{
	int64_t n;
	return v->kind == TREE_NUMBER ? v->whole : v->kind == TREE_TEXT && !strchr(v->text, '.') && tree_whole(v, &n);
}

static void judge_version(struct recipe *r)
{
	const struct tree *v = recipe_find(r, FSDP "version");
	int64_t n = recipe_whole(r, FSDP "version", 1);
	if (v && (!is_int(v) || n < 1 || n > 2))
		recipe_refuse(r, "Accelerate", v, FSDP "version: %s is neither 1 nor 2", tree_shown(&r->arena, v));
}

/* A rank looks at it where the policy does. */
static void judge_least(struct recipe *r)
{
	const struct tree *v = recipe_find(r, FSDP "min_num_params"), *policy = recipe_find(r, FSDP "auto_wrap_policy");
	if (v && !is_int(v) && policy && is_word("SIZE_BASED_WRAP", policy))
		recipe_refuse(r, "Accelerate", v, FSDP "min_num_params: %s is no int in Python",
		              tree_shown(&r->arena, v));
}

/* A null is no key left out: `accelerate launch` hands a rank the text None. These are read by all, by version 1 or by
 * version 2; those that are not handed on then are not here. */
static const struct {
	const char *path;
	bool first, second;
} read_by_ranks[] = {
        {FSDP "version", true, true},
        {FSDP "sharding_strategy", true, false},
        {FSDP "reshard_after_forward", false, true},
        {FSDP "offload_params", true, true},
        {FSDP "forward_prefetch", true, false},
        {FSDP "use_orig_params", true, false},
        {FSDP "sync_module_states", true, false},
        {FSDP "cpu_ram_efficient_loading", true, true},
        {FSDP "activation_checkpointing", true, true},
        {FSDP "activation_checkpointing_offload", true, true},
};

static void refuse_none(struct recipe *r, const char *path)
{
	const struct tree *v = recipe_spelled(r, path);
	if (v && v->kind == TREE_NULL)
		recipe_refuse(r, "Accelerate", v, "%s: null is the text None to a rank, which cannot read it", path);
}

static void judge_nulls(struct recipe *r, bool second)
{
	const struct tree *policy = recipe_find(r, FSDP "auto_wrap_policy");
	for (size_t i = 0; i < sizeof read_by_ranks / sizeof *read_by_ranks; i++)
		if (second ? read_by_ranks[i].second : read_by_ranks[i].first)
			refuse_none(r, read_by_ranks[i].path);
	if (policy && is_word("SIZE_BASED_WRAP", policy))
		refuse_none(r, FSDP "min_num_params");
}

static void judge_fsdp(struct recipe *r)
{
	bool second = recipe_whole(r, FSDP "version", 1) == 2;
	const struct tree *offload = recipe_find(r, FSDP "activation_checkpointing_offload"),
	                  *loading = recipe_find(r, FSDP "cpu_ram_efficient_loading");
	judge_nulls(r, second);
	judge_version(r);
	judge_least(r);
	if (second)
		judge_reshard(r);
	else
		judge_choice(r, FSDP "sharding_strategy",
		             "FULL_SHARD|SHARD_GRAD_OP|NO_SHARD|HYBRID_SHARD|HYBRID_SHARD_ZERO2|_HYBRID_SHARD_ZERO2",
		             true);
	judge_choice(r, FSDP "auto_wrap_policy", "TRANSFORMER_BASED_WRAP|SIZE_BASED_WRAP|NO_WRAP", false);
	judge_choice(r, FSDP "backward_prefetch", "BACKWARD_PRE|BACKWARD_POST|NO_PREFETCH", false);
	judge_choice(r, FSDP "state_dict_type", "FULL_STATE_DICT|LOCAL_STATE_DICT|SHARDED_STATE_DICT", false);
	if (recipe_flag(r, FSDP "activation_checkpointing_offload", false) &&
	    (!second || !recipe_flag(r, FSDP "activation_checkpointing", false)))
		recipe_refuse(r, "Accelerate", offload,
		              FSDP "activation_checkpointing_offload goes with version 2 and activation_checkpointing");
	if (recipe_flag(r, FSDP "cpu_ram_efficient_loading", true) && !recipe_flag(r, FSDP "sync_module_states", true))
		recipe_refuse(r, "Accelerate", loading ? loading : recipe_find(r, FSDP "sync_module_states"),
		              FSDP "cpu_ram_efficient_loading, the default, goes with sync_module_states");
	if (!second && recipe_find(r, FSDP "reshard_after_forward") && !recipe_find(r, FSDP "sharding_strategy"))
		recipe_note(r, recipe_find(r, FSDP "reshard_after_forward"),
		            FSDP
		            "reshard_after_forward does nothing in version 1, where fsdp_sharding_strategy says it");
}

/* DeepSpeedPlugin._deepspeed_config_checks: a file says these itself. */
static void judge_file(struct recipe *r)
{
	static const char *const keys[] = {"mixed_precision",
	                                   "deepspeed_config.gradient_accumulation_steps",
	                                   "deepspeed_config.gradient_clipping",
	                                   "deepspeed_config.zero_stage",
	                                   "deepspeed_config.offload_optimizer_device",
	                                   "deepspeed_config.offload_param_device",
	                                   "deepspeed_config.offload_param_nvme_path",
	                                   "deepspeed_config.offload_optimizer_nvme_path",
	                                   "deepspeed_config.zero3_save_16bit_model"};
	for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
		const struct tree *v = recipe_find(r, keys[i]);
		if (v)
			recipe_refuse(r, "Accelerate", v, "%s beside a deepspeed_config_file, which says it", keys[i]);
	}
}

/* Judges parallelism_config as a rank does (ParallelismConfig._validate_accelerator): its axes are all of the ranks.
 * For Ulysses it leaves that to DeepSpeed. */
static void judge_axes(struct recipe *r)
{
	static const char *const names[] = {"dp_replicate", "dp_shard", "tp", "cp", "sp"};
	enum { SHARD = 1, CONTEXT = 3, ULYSSES = 4, AXES = sizeof names / sizeof names[0] };
	const struct tree *section = recipe_find(r, "parallelism_config");
	int64_t size[AXES], total = 1, ranks = recipe_whole(r, "num_processes", 0);
	for (int i = 0; i < AXES; i++) {
		size[i] = recipe_whole(
		        r, arena_print(&r->arena, "parallelism_config.parallelism_config_%s_size", names[i]), 1);
		if (size[i] < 1 || !multiply(total, size[i], &total))
			return; /* a line of its own says so */
	}
	if (!section || !section->first || ranks < 2 || size[ULYSSES] > 1)
		return;
	if (total > 1 && total != ranks)
		recipe_refuse(r, "Accelerate", section,
		              "parallelism_config: dp_replicate × dp_shard × tp × cp = %" PRId64 " × %" PRId64
		              " × %" PRId64 " × %" PRId64 " is %" PRId64 ", and num_processes %" PRId64,
		              size[0], size[1], size[2], size[3], total, ranks);
	else if (size[SHARD] == 1 && size[CONTEXT] == 1 && recipe_whole(r, FSDP "version", 1) == 2 &&
	         is_word("FSDP", tree_find(r->file.root, "distributed_type")))
		recipe_refuse(
		        r, "Accelerate", section,
		        "parallelism_config: dp_shard_size and cp_size are both 1, so FSDP has no axis to shard along");
}

void judge_accelerate(struct recipe *r)
{
	const struct tree *type = recipe_find(r, "distributed_type");
	judge_type(r);
	if (type && (is_word("FSDP", type) || is_word("DEEPSPEED", type) ||
	             (type->kind == TREE_TEXT && !strncmp(type->text, "MULTI_", 6))))
		judge_axes(r);
	judge_mixed(r);
	if (type && is_word("FSDP", type))
		judge_fsdp(r);
	if (type && is_word("DEEPSPEED", type) && recipe_find(r, "deepspeed_config.deepspeed_config_file"))
		judge_file(r);
}
