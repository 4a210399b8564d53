/* shardlab help: commands, options, and the models, strategies and clusters there are. */
#include <stdio.h>
#include <string.h>

#include "cli/command/command.h"
#include "cli/show/table.h"
#include "cli/show/text.h"
#include "strategy/cluster/cluster.h"
#include "strategy/model/model.h"
#include "strategy/settings/checkpointing.h"
#include "strategy/strategies/strategy.h"

/* Names and what they are, in two columns, with two spaces before them. */
static struct table begin_list(void)
{
	struct table t;
	table_init(&t, stdout, 2, 2);
	return t;
}

static void list_line(void *list, const char *name, const char *what)
{
	table_row(list, STYLE_PLAIN, "%s\t%s", name, status_words(what));
}

static void help_list(void (*list)(void (*line)(void *, const char *, const char *), void *))
{
	struct table t = begin_list();
	list(list_line, &t);
	table_end(&t, 2);
}

static void paragraph(const char *text)
{
	putchar('\n');
	text_wrapped(stdout, text, 0, text_columns(stdout, 80));
}

static void help_pairs(const char *const (*pairs)[2], size_t count)
{
	struct table t = begin_list();
	for (size_t i = 0; i < count; i++)
		list_line(&t, pairs[i][0], pairs[i][1]);
	table_end(&t, 2);
}
#define PAIRS(list) list, sizeof(list) / sizeof *(list)

static void help_models(void)
{
	static const char *const keys[][2] = {
	        {"layers", "n_layer, num_hidden_layers"},
	        {"width", "n_embd, hidden_size"},
	        {"heads", "n_head, num_attention_heads"},
	        {"context", "n_positions, max_position_embeddings (of an OPT 2 more)"},
	        {"vocabulary", "vocab_size"},
	        {"hidden", "n_inner, intermediate_size; four times the width unless given"},
	};
	static const char *const llama[][2] = {
	        {"kv_heads", "num_key_value_heads: heads of keys and values"},
	        {"head_size", "head_dim"},
	        {"hidden", "intermediate_size"},
	        {"tied", "tie_word_embeddings: yes or no"},
	        {"bias", "qkv (Qwen2's), attention (attention_bias), all (and mlp_bias)"},
	        {"qk_norm", "yes: norms of each head of queries and keys (Qwen3's)"},
	        {"theta", "rope_theta"},
	        {"epsilon", "rms_norm_eps"},
	        {"scaling", "rope_type: none, linear, dynamic, llama3 or yarn, with"},
	        {"factor", "factor"},
	        {"original", "original_max_position_embeddings; the context before"},
	        {"low, high", "low_freq_factor, high_freq_factor; beta_slow, beta_fast"},
	};
	puts("--model NAME[:key=value,…]\n");
	help_list(model_list);
	paragraph("mlp:sizes=784-256-10 sets the layers of the MLP. gpt and its presets have keys, as in "
	          "gpt:layers=12,width=768,heads=12. In a Hugging Face config.json, which is not read, they are");
	putchar('\n');
	help_pairs(PAIRS(keys));
	paragraph("That is a GPT-2, a Cerebras-GPT or an OPT (but its 350m), parameter for parameter. llama and its "
	          "presets are Llama, Mistral, Qwen2 and Qwen3 (not their mixtures of experts, and no sliding window), "
	          "as in llama:layers=16,width=2048,heads=32,kv_heads=8,hidden=8192,vocabulary=128256,tied=yes, and "
	          "have besides");
	putchar('\n');
	help_pairs(PAIRS(llama));
	paragraph("Gemma, Falcon, Mixtral, T5, BERT … are built otherwise. Their model states follow from the number "
	          "of parameters and layers: params=8.54e9:units=28 is a Gemma 7B. It has no activations; those of "
	          "a gpt or llama with the same layers, width and heads are near.");
}

static const char lab[] = "name: workstation\n"
                          "kind: gpu\n"
                          "node: {devices: 1, cores: 16, memory: 64GB, memory_bandwidth: 60e9, core_compute: 3e10}\n"
                          "device:\n"
                          "  memory: 24GB\n"
                          "  overhead: 1GB                  # CUDA context and communicator\n"
                          "  memory_bandwidth: 1008e9\n"
                          "  launch: 2e-6                   # seconds\n"
                          "  collective_launch: 8.4e-6\n"
                          "  collective_share: 0.08         # of the multiprocessors\n"
                          "compute:                         # FLOP/s that are reached\n"
                          "  default: {fp32: 60e12, bf16: 60e12, fp16: 60e12}\n"
                          "  linear: {fp32: 60e12, bf16: 130e12, fp16: 130e12}\n"
                          "  attention: {fp32: 30e12, bf16: 60e12, fp16: 60e12}\n"
                          "link: {latency: 5e-6, bandwidth: 20e9}      # between devices of a node\n"
                          "network: {latency: 30e-6, bandwidth: 1e9, rails: 1}\n"
                          "host_link: {latency: 10e-6, bandwidth: 25e9}\n";

static void help_clusters(void)
{
	puts("--cluster NAME|FILE[:link=BYTES][:network=BYTES]\n");
	help_list(cluster_list);
	paragraph("A card is named after what it has in GiB, less what it keeps for itself: one of 80 GB has 84.99 GB, "
	          "which are 79.15 GiB. All other figures here are GB, 10⁹ bytes.");
	putchar('\n');
	paragraph("Ranks fill nodes: 4 on a100-40gb are half a node, 16 two. A file is YAML, with a '/' in its path or "
	          "ending in .yaml. calibrate writes one of this machine (--output mine.yaml), with --device cuda of "
	          "its GPUs, which is what local means for train and validate with --device cuda. Behind either stand "
	          "other "
	          "links, in bytes a second, inside a node and between nodes: a100-80gb:link=50GB:network=10GB. One of "
	          "your own, for "
	          "a card of 24 GB; rates are bytes and FLOP a second:");
	putchar('\n');
	fputs(lab, stdout);
}

static void help_config(void)
{
	static const char *const deepspeed[][2] = {
	        {"zero_optimization.stage 0 1 2 3", "--strategy ddp, zero1, zero2, zero3"},
	        {"train_batch_size", "--batch"},
	        {"train_micro_batch_size_per_gpu", "--micro-batch"},
	        {"gradient_accumulation_steps", "--accumulate"},
	        {"bf16.enabled, fp16.enabled", "--precision bf16, fp16"},
	        {"fp16.initial_scale_power P", "--loss-scale 2^P, as a number"},
	        {"fp16.loss_scale_window", "--loss-scale-window"},
	        {"gradient_clipping", "--clip"},
	        {"optimizer.params lr, weight_decay", "--learning-rate, --weight-decay"},
	        {"scheduler.params warmup_num_steps", "--warmup"},
	        {"reduce_bucket_size N", "--bucket, in bytes: 2N in 16 bits, 4N in fp32"},
	        {"stage3_prefetch_bucket_size N", "--strategy zero3:prefetch=N"},
	        {"stage3_max_live_parameters N", "--strategy zero3:live=N"},
	        {"stage3_max_reuse_distance N", "--strategy zero3:reuse=N"},
	        {"offload_optimizer.device", "--offload optimizer; of nvme optimizer:to=disk"},
	        {"offload_param.device", "--offload optimizer,parameters; of nvme parameters:to=disk"},
	        {"activation_checkpointing.KEY", "--activation-checkpointing full:KEY=…"},
	        {"mics_shard_size K", "--strategy hybrid:shard=K"},
	};
	static const char *const accelerate[][2] = {
	        {"distributed_type MULTI_GPU", "--strategy ddp"},
	        {"distributed_type FSDP", "--strategy fsdp; a block is a unit"},
	        {"num_processes", "--ranks"},
	        {"mixed_precision no, bf16, fp16", "--precision fp32, bf16, fp16"},
	        {"FULL_SHARD, reshard_after_forward true", "--strategy fsdp"},
	        {"SHARD_GRAD_OP, reshard_after_forward false", "--strategy fsdp:reshard=no"},
	        {"NO_SHARD", "--strategy ddp"},
	        {"HYBRID_SHARD", "--strategy hybrid:shard=K, K the GPUs of a node"},
	        {"fsdp_offload_params true", "--offload optimizer,parameters"},
	        {"fsdp_activation_checkpointing true", "--activation-checkpointing full"},
	        {"megatron_lm_tp_degree = num_processes", "--strategy tensor"},
	        {"megatron_lm_pp_degree = num_processes", "--strategy pipeline"},
	};
	puts("--config FILE is refused: this version reads no such files. Their keys, as options.\n\nDeepSpeed\n");
	help_pairs(PAIRS(deepspeed));
	puts("\nAccelerate, fsdp_config and megatron_lm_config\n");
	help_pairs(PAIRS(accelerate));
	paragraph(
	        "Of \"auto\" leave the option out, or give the number that your training script puts there. Nothing "
	        "here "
	        "stands for ZeRO++ (zero_hpz_partition_size, zero_quantized_weights, zero_quantized_gradients), "
	        "stage3_param_persistence_threshold, mixture of experts, or tensor and pipeline parallelism together.");
}

static void list_strategies(const struct strategy *at(int i))
{
	struct table t = begin_list();
	for (int i = 0; at(i); i++) {
		list_line(&t, at(i)->name, at(i)->what);
		table_cell_style(&t, 0, STYLE_HEAD);
	}
	table_end(&t, 2);
}

/* strategy: "" where the keys are of an option. */
static void list_keys(struct table *t, const char *strategy, const struct key *keys, int count)
{
	for (int k = 0; k < count && keys[k].name; k++)
		table_row(t, STYLE_PLAIN, "%s%s%s=%s\t%s", strategy, *strategy ? ":" : "", keys[k].name, keys[k].values,
		          status_words(keys[k].help));
}

static void help_strategies(void)
{
	puts("--strategy NAME[:key=value:…]     a list is separated by commas; all is the first seven\n");
	list_strategies(strategy_at);
	puts("\nWhat they are compared with:\n");
	list_strategies(strategy_contrast_at);
	puts("\nTheir keys, the default first:\n");
	struct table t = begin_list();
	for (int i = 0; strategy_at(i); i++)
		list_keys(&t, strategy_at(i)->name, strategy_at(i)->keys, STRATEGY_KEYS);
	for (int i = 0; strategy_contrast_at(i); i++)
		list_keys(&t, strategy_contrast_at(i)->name, strategy_contrast_at(i)->keys, STRATEGY_KEYS);
	table_end(&t, 2);
}

static void help_checkpointing(void)
{
	puts("--activation-checkpointing none|full|every=K|selective[:key=value:…]\n\n"
	     "  none       every activation that the backward pass needs is kept\n"
	     "  full       of a block, only its input; the rest is made again before its backward pass\n"
	     "  every=K    the same, with K blocks between two checkpoints\n"
	     "  selective  everything but attention's inner part (gpt only)\n\n"
	     "A block is a transformer block of a gpt, a linear layer of the mlp. Keys, the default first:\n");
	struct table t = begin_list();
	list_keys(&t, "", checkpointing_keys, CHECKPOINTING_KEYS);
	table_end(&t, 2);
}

static const struct {
	const char *name;
	void (*print)(void);
} topics[] = {{"models", help_models},
              {"strategies", help_strategies},
              {"clusters", help_clusters},
              {"checkpointing", help_checkpointing},
              {"config", help_config}};

enum status command_help(const struct options *o)
{
	enum command c = COMMAND_HELP;
	for (size_t i = 0; o->topic && i < sizeof topics / sizeof topics[0]; i++)
		if (!strcmp(o->topic, topics[i].name)) {
			topics[i].print();
			return STATUS_OK;
		}
	if (o->topic && command_find(o->topic, &c))
		return status_fail(STATUS_INPUT,
		                   "no help on '%.40s'; there is help on the commands (shardlab help), and on "
		                   "models, strategies, clusters, checkpointing, config",
		                   o->topic);
	if (c == COMMAND_HELP)
		commands_help(stdout);
	else
		options_help(c, stdout);
	return STATUS_OK;
}
