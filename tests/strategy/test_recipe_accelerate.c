/* Accelerate's configurations: judged as it judges (verdicts.txt, by tests/oracle/config_keys.py), and each key as the
 * table of keys says. */
#include <stdio.h>
#include <string.h>

#include "strategy/recipe/reader.h"
#include "tests/support/recipe_settings.h"
#include "tests/support/refusal.h"
#include "tests/support/suite.h"

static struct recipe recipe;

static void end(void)
{
	recipe_release(&recipe);
}

static bool takes_file(enum recipe_reader reader, const char *path)
{
	const struct recipe_question q = {.reader = reader, .model = "gpt2-124m", .ranks = 1};
	recipe_release(&recipe);
	enum status s = recipe_open(&recipe, path, &q);
	return !s && !recipe.refusals.count;
}

#define ACCELERATE "tests/golden/recipes/accelerate/"

START_TEST(accelerate_files_are_judged_as_it_judges)
{
	char verdict[16], name[128], path[256];
	int count = 0;
	FILE *f = fopen(ACCELERATE "verdicts.txt", "r");
	ck_assert_ptr_nonnull(f);
	for (; fscanf(f, "%15s %127s", verdict, name) == 2; count++) {
		snprintf(path, sizeof path, ACCELERATE "%s", name);
		bool took = takes_file(RECIPE_GUESSED, path);
		ck_assert_int_eq(recipe.reader, RECIPE_ACCELERATE);
		ck_assert_msg(took == !strcmp(verdict, "takes"), "%s: Accelerate %s it, not we: %s", name, verdict,
		              took ? "" : recipe.refusals.list[0].text);
	}
	fclose(f);
	ck_assert_int_ge(count, 30);
}

/* One section of a file of Accelerate's, besides what it is, and the settings; NULL: refused with the line. */
static const struct {
	const char *type, *section, *settings, *refused;
} accelerate[] = {
        {"MULTI_GPU", "", "strategy=ddp ranks=8 precision=bf16 as=shardlab:gradients=fp32", NULL},
        {"NO", "", "strategy=ddp ranks=8 as=shardlab:gradients=fp32", NULL},
        {"FSDP", "fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP",
         "strategy=fsdp:backward=none offload=none activation_checkpointing=none", NULL},
        {"FSDP", "fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP, fsdp_sharding_strategy: SHARD_GRAD_OP",
         "strategy=fsdp:reshard=no:backward=none", NULL},
        {"FSDP", "auto_wrap_policy: TRANSFORMER_BASED_WRAP, sharding_strategy: 2",
         "strategy=fsdp:reshard=no:backward=none", NULL},
        {"FSDP", "auto_wrap_policy: TRANSFORMER_BASED_WRAP, fsdp_backward_prefetch: BACKWARD_PRE", "strategy=fsdp",
         NULL},
        {"FSDP", "auto_wrap_policy: TRANSFORMER_BASED_WRAP, fsdp_backward_prefetch: BACKWARD_POST",
         "strategy=fsdp:backward=post", NULL},
        {"FSDP",
         "auto_wrap_policy: TRANSFORMER_BASED_WRAP, fsdp_backward_prefetch: BACKWARD_PRE, fsdp_forward_prefetch: true",
         "strategy=fsdp:prefetch=two:backward=unit", NULL},
        {"FSDP", "auto_wrap_policy: TRANSFORMER_BASED_WRAP, fsdp_version: 2, fsdp_backward_prefetch: BACKWARD_POST",
         "strategy=fsdp", NULL},
        {"FSDP", "auto_wrap_policy: NO_WRAP, fsdp_backward_prefetch: BACKWARD_PRE, fsdp_forward_prefetch: true",
         "strategy=fsdp:reshard=no:units=model", NULL},
        {"FSDP", "fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP, fsdp_sharding_strategy: NO_SHARD", "strategy=ddp",
         NULL},
        {"FSDP, num_machines: 2", "fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP, fsdp_sharding_strategy: HYBRID_SHARD",
         "strategy=hybrid:shard=4:backward=none", NULL},
        {"FSDP", "fsdp_version: 2, fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP", "strategy=fsdp", NULL},
        {"FSDP", "fsdp_version: 2, fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP, fsdp_reshard_after_forward: false",
         "strategy=fsdp:reshard=no", NULL},
        {"FSDP, parallelism_config: {parallelism_config_dp_replicate_size: 4, parallelism_config_dp_shard_size: 2}",
         "fsdp_version: 2, fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP", "strategy=hybrid:shard=2", NULL},
        {"FSDP", "fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP, fsdp_offload_params: true",
         "offload=optimizer,parameters", NULL},
        {"FSDP", "fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP, fsdp_activation_checkpointing: true",
         "activation_checkpointing=full", NULL},
        {"FSDP", "fsdp_version: 1", "strategy=fsdp:reshard=no:units=model", NULL},
        {"FSDP", "fsdp_version: 2, fsdp_auto_wrap_policy: NO_WRAP", "strategy=fsdp:units=model", NULL},
        {"FSDP", "fsdp_auto_wrap_policy: SIZE_BASED_WRAP, fsdp_min_num_params: 7000000", "strategy=fsdp:backward=none",
         NULL},
        {"FSDP", "fsdp_auto_wrap_policy: SIZE_BASED_WRAP", "strategy=fsdp:units=model", NULL},
        {"FSDP", "fsdp_auto_wrap_policy: SIZE_BASED_WRAP, fsdp_min_num_params: 200000000",
         "strategy=fsdp:reshard=no:units=model", NULL},
        {"FSDP", "fsdp_auto_wrap_policy: SIZE_BASED_WRAP, fsdp_min_num_params: 4000000", NULL,
         "f.yaml:1:104: fsdp_config.fsdp_auto_wrap_policy: with fsdp_min_num_params of 4000000 a unit is a part of a"},
        {"FSDP", "fsdp_auto_wrap_policy: SIZE_BASED_WRAP, fsdp_min_num_params: 20000000", NULL,
         "a unit is the embedding alone, and another all blocks"},
        {"FSDP", "fsdp_version: 3", NULL, "Accelerate would refuse: fsdp_config.fsdp_version: 3 is neither 1 nor 2"},
        {"FSDP", "fsdp_version: 0", NULL, "Accelerate would refuse: fsdp_config.fsdp_version: 0 is neither 1 nor 2"},
        {"FSDP", "fsdp_version: 2.0", NULL,
         "Accelerate would refuse: fsdp_config.fsdp_version: 2.0 is neither 1 nor 2"},
        {"FSDP", "fsdp_version: x", NULL,
         "Accelerate would refuse: fsdp_config.fsdp_version: \"x\" is neither 1 nor 2"},
        {"FSDP", "fsdp_version: true", NULL,
         "Accelerate would refuse: fsdp_config.fsdp_version: true is neither 1 nor 2"},
        {"FSDP", "fsdp_version: null", NULL,
         "f.yaml:1:95: Accelerate would refuse: fsdp_config.fsdp_version: null is the text None to a rank"},
        {"FSDP", "fsdp_version: 2, reshard_after_forward: null", NULL,
         "Accelerate would refuse: fsdp_config.fsdp_reshard_after_forward: null is the text None"},
        {"FSDP", "fsdp_version: 2, fsdp_sharding_strategy: null, fsdp_forward_prefetch: null",
         "strategy=fsdp:units=model", NULL},
        {"FSDP", "fsdp_sharding_strategy: null", NULL, "fsdp_config.fsdp_sharding_strategy: null is the text None"},
        {"FSDP", "fsdp_offload_params: ~", NULL, "fsdp_config.fsdp_offload_params: null is the text None"},
        {"FSDP", "fsdp_activation_checkpointing: null", NULL,
         "fsdp_config.fsdp_activation_checkpointing: null is the text None"},
        {"FSDP", "fsdp_auto_wrap_policy: size_based_wrap, fsdp_min_num_params: null", NULL,
         "fsdp_config.fsdp_min_num_params: null is the text None to a rank, which cannot read it"},
        {"FSDP", "fsdp_auto_wrap_policy: NO_WRAP, fsdp_min_num_params: null, fsdp_backward_prefetch: null",
         "strategy=fsdp:reshard=no:units=model", NULL},
        {"FSDP", "fsdp_version: 0x2, fsdp_auto_wrap_policy: NO_WRAP", "strategy=fsdp:units=model", NULL},
        {"FSDP", "fsdp_version: 0o2", NULL,
         "Accelerate would refuse: fsdp_config.fsdp_version: \"0o2\" is neither 1 nor 2"},
        {"FSDP", "fsdp_version: '2', fsdp_auto_wrap_policy: NO_WRAP", "strategy=fsdp:units=model", NULL},
        {"FSDP", "fsdp_auto_wrap_policy: SIZE_BASED_WRAP, fsdp_min_num_params: 1e6", NULL,
         "Accelerate would refuse: fsdp_config.fsdp_min_num_params: \"1e6\" is no int in Python"},
        {"FSDP", "fsdp_auto_wrap_policy: SIZE_BASED_WRAP, fsdp_min_num_params: 1.0e+6", NULL,
         "Accelerate would refuse: fsdp_config.fsdp_min_num_params: 1.0e+6 is no int in Python"},
        {"FSDP", "fsdp_auto_wrap_policy: SIZE_BASED_WRAP, fsdp_min_num_params: '7000000.0'", NULL,
         "Accelerate would refuse: fsdp_config.fsdp_min_num_params: \"7000000.0\" is no int in Python"},
        {"FSDP", "fsdp_auto_wrap_policy: SIZE_BASED_WRAP, fsdp_min_num_params: '7000000'",
         "strategy=fsdp:backward=none", NULL},
        {"FSDP", "fsdp_auto_wrap_policy: SIZE_BASED_WRAP, fsdp_min_num_params: 7_000_000",
         "strategy=fsdp:backward=none", NULL},
        {"FSDP", "fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP, fsdp_min_num_params: 1e6",
         "strategy=fsdp:backward=none", NULL},
        {"FSDP", "fsdp_auto_wrap_policy: transformer_based_wrap, fsdp_sharding_strategy: full_shard",
         "strategy=fsdp:backward=none", NULL},
        {"FSDP", "fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP, fsdp_state_dict_type: FULL_STATE_DICT",
         "strategy=fsdp:backward=none:save=full", NULL},
        {"FSDP", "fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP, fsdp_ignored_modules: lm_head", NULL,
         "fsdp_config.fsdp_ignored_modules: \"lm_head\" cannot be said here"},
        {"FSDP",
         "fsdp_version: 2, fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP, "
         "fsdp_transformer_layer_cls_to_wrap: 'GPT2Block, Embedding'",
         "strategy=fsdp", NULL},
        {"FSDP",
         "fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP, fsdp_transformer_layer_cls_to_wrap: 'GPT2Block,GPT2MLP'", NULL,
         "fsdp_config.fsdp_transformer_layer_cls_to_wrap: a unit is a part of a block or the head, GPT2MLP, which"},
        {"FSDP", "fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP, fsdp_transformer_layer_cls_to_wrap: Embedding", NULL,
         "a unit is the embedding alone, and another all blocks"},
        {"FSDP", "fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP, fsdp_transformer_layer_cls_to_wrap: GPT2Blok", NULL,
         "no model has a GPT2Blok (did you mean GPT2Block?); Accelerate finds that out when it wraps them"},
        {"FSDP", "fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP, fsdp_transformer_layer_cls_to_wrap: LlamaDecoderLayr",
         NULL, "no model has a LlamaDecoderLayr (did you mean LlamaDecoderLayer?)"},
        {"FSDP", "fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP, fsdp_transformer_layer_cls_to_wrap: Qwen2DecoderLayer",
         NULL, "gpt2-124m has no Qwen2DecoderLayer; its blocks are GPT2Block;"},
        {"FSDP", "fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP, fsdp_transformer_layer_cls_to_wrap: OurOwnThing",
         "strategy=fsdp:backward=none", NULL},
        {"FSDP, num_machines: 2",
         "fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP, fsdp_sharding_strategy: HYBRID_SHARD_ZERO2",
         "strategy=hybrid:shard=4:reshard=no:backward=none", NULL},
        {"FSDP, parallelism_config: {parallelism_config_dp_replicate_size: 4, parallelism_config_dp_shard_size: 2}",
         "fsdp_version: 2, fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP, fsdp_reshard_after_forward: false",
         "strategy=hybrid:shard=2:reshard=no", NULL},
        {"FSDP, parallelism_config: {parallelism_config_tp_size: 2, parallelism_config_dp_shard_size: 4}",
         "fsdp_version: 2, fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP", NULL,
         "parallelism_config_tp_size: 2 cannot"},
        {"FSDP, parallelism_config: {parallelism_config_dp_shard_size: 4}",
         "fsdp_version: 2, fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP", NULL,
         "Accelerate would refuse: parallelism_config: dp_replicate × dp_shard × tp × cp = 1 × 4 × 1 × 1 is 4, and "
         "num_processes 8"},
        {"MULTI_GPU, parallelism_config: {parallelism_config_dp_replicate_size: 4}", "", NULL,
         "is 4, and num_processes 8"},
        {"DEEPSPEED", "", "strategy=zero2:overlap=no bucket=1000000000 clip=1", NULL},
        {"DEEPSPEED", "zero_stage: 3, offload_optimizer_device: cpu, offload_param_device: nvme",
         "strategy=zero3:prefetch=50000000:live=1000000000:reuse=1000000000 "
         "offload=optimizer,parameters:staging=500001280",
         NULL},
        {"DEEPSPEED", "zero_stage: 1, gradient_accumulation_steps: 3, gradient_clipping: 0.5",
         "strategy=zero1:overlap=no accumulate=3 clip=0.5", NULL},
        {"DEEPSPEED", "zero_stage: 3, zero3_save_16bit_model: true",
         "strategy=zero3:prefetch=50000000:live=1000000000:reuse=1000000000:save=16bit bucket=1000000000", NULL},
        {"DEEPSPEED", "deepspeed_config_file: none.json", NULL, "mixed_precision beside a deepspeed_config_file"},
        {"DEEPSPEED", "zero_stage: 5", NULL, "zero_stage: 5 is not one of 0 1 2 3"},
        {"MEGATRON_LM", "", NULL, "\"MEGATRON_LM\" cannot be said here"},
        {"XLA", "", NULL, "\"XLA\" cannot be said here"},
};

START_LOOP_TEST(accelerate_becomes_settings, 0, COUNT(accelerate))
{
	char text[700];
	const char *section = !strncmp(accelerate[_i].type, "FSDP", 4) ? "fsdp_config" : "deepspeed_config";
	const struct recipe_question q = {.reader = RECIPE_GUESSED, .model = "gpt2-124m"};
	snprintf(text, sizeof text, "{num_processes: 8, mixed_precision: bf16, distributed_type: %s, %s: {%s}}",
	         accelerate[_i].type, section, accelerate[_i].section);
	must(recipe_read(&recipe, text, strlen(text), "f.yaml", &q));
	enum status s = recipe_plan(&recipe);
	if (accelerate[_i].refused) {
		must_fail(s, STATUS_INPUT, accelerate[_i].refused);
		return;
	}
	must(s);
	must_have_settings(&recipe, accelerate[_i].settings);
}

/* Messages about it name both files. */
START_TEST(accelerate_reads_the_file_that_it_names)
{
	must(takes_file(RECIPE_GUESSED, ACCELERATE "zero_file_alone.yaml") ? STATUS_OK : STATUS_INPUT);
	must(recipe_plan(&recipe));
	must_have_settings(&recipe, "strategy=zero3:prefetch=50000000:live=1000000000:reuse=1000000000:save=16bit "
	                            "precision=bf16 micro_batch=2 accumulate=4 ranks=8 clip=1");
	takes_file(RECIPE_GUESSED, ACCELERATE "zero_file_missing.yaml");
	must_fail(recipe_plan(&recipe), STATUS_INPUT,
	          ACCELERATE "zero_file_missing.yaml:13:26: Accelerate would refuse");
	must_fail(recipe_plan(&recipe), STATUS_INPUT, ACCELERATE "used/missing.json");
}

START_TEST(every_key_of_accelerate_that_is_taken_has_a_case)
{
	static const char others[] = "num_processes mixed_precision distributed_type dynamo_backend";
	const struct recipe_key *k;
	for (int i = 0; (k = recipe_key_at(RECIPE_ACCELERATE, i)); i++) {
		const char *dot = strrchr(k->path, '.'), *word = dot ? dot + 1 : k->path;
		bool found = k->here != HERE_TAKEN || strstr(others, word);
		for (int c = 0; c < COUNT(accelerate); c++)
			found |= strstr(accelerate[c].section, word) || strstr(accelerate[c].type, word);
		ck_assert_msg(found, "%s: no case", k->path);
	}
}

/* accelerate.commands.config.config_args.load_config_from_file: what does not end in .json is YAML. */
START_TEST(accelerate_reads_yaml_whatever_its_name)
{
	static const char text[] = "distributed_type: FSDP\nnum_processes: 8\nfsdp_config:\n"
	                           "  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP\n  fsdp_use_orig_params: true\n";
	const struct recipe_question q = {.reader = RECIPE_ACCELERATE, .model = "gpt2-124m"};
	recipe_release(&recipe);
	must(recipe_read(&recipe, text, sizeof text - 1, "default_config", &q));
	ck_assert_int_eq(recipe.refusals.count, 0);
	must(recipe_plan(&recipe));
}

/* Files that are no YAML here, and the lines that refuse them. */
START_TEST(yaml_is_refused_with_its_place)
{
	static const struct {
		const char *text, *line;
	} wrong[] = {
	        {"", "f.yaml:1:1: empty; a configuration has keys and values"},
	        {"---\n", "f.yaml:2:1: no section; a configuration is lines of key: value"},
	        {"- a\n- b\n", "f.yaml:1:1: a list; a configuration is lines of key: value"},
	        {"FSDP", "f.yaml:1:1: no section; a configuration is lines of key: value"},
	        {"a: 1\n b: 2\n", "f.yaml:2:3: not YAML: mapping values are not allowed in this context"},
	        {"a: [1, 2\n", "f.yaml:2:1: not YAML: did not find expected ',' or ']'"},
	        {"a: &x 1\nb: *x\n", "f.yaml:2:4: an alias (*name) is not read here"},
	        {"a:\n  <<: 1\n", "f.yaml:2:3: a merge (<<) is not read here"},
	        {"a: 1\n---\nb: 2\n", "f.yaml:3:1: a second document; a configuration is one"},
	        {"? [a]\n: 1\n", "f.yaml:1:3: a section or list where a key should be"},
	        {"a:\t1\n\tb: 2\n", "f.yaml:2:1: not YAML: found a tab character that violates indentation"},
	};
	const struct recipe_question q = {.reader = RECIPE_GUESSED};
	for (int i = 0; i < COUNT(wrong); i++) {
		must_fail(recipe_read(&recipe, wrong[i].text, strlen(wrong[i].text), "f.yaml", &q), STATUS_INPUT, "");
		ck_assert_str_eq(status_message(), wrong[i].line);
	}
}

SUITE_WITH("recipe_accelerate", 60, NULL, end)
