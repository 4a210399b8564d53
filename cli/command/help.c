/* shardlab help: commands, options, and the models, strategies and clusters there are. */
#include <stdio.h>
#include <string.h>

#include "cli/command/command.h"
#include "cli/command/help_software.h"
#include "cli/options/manual.h"
#include "cli/options/options_table.h"
#include "cli/show/table.h"
#include "cli/show/text.h"
#include "strategy/base/near.h"
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
	        {"layers, width, heads",
	         "n_layer, n_embd, n_head; num_hidden_layers, hidden_size, num_attention_heads"},
	        {"context, vocabulary", "n_positions, max_position_embeddings; vocab_size"},
	        {"hidden", "n_inner, ffn_dim, intermediate_size; for gpt four times the width unless given"},
	};
	static const char *const gpt[][2] = {
	        {"positions", "table, alibi (MPT's) or none"},
	        {"bias", "yes, or no: linear layers and norms without biases (MPT's)"},
	        {"activation", "gelu_tanh (GPT-2's), gelu (MPT's, with the error function) or relu (OPT's)"},
	};
	static const char *const llama[][2] = {
	        {"kv_heads", "num_key_value_heads: heads of keys and values"},
	        {"head_size", "head_dim"},
	        {"tied", "tie_word_embeddings: yes or no"},
	        {"bias", "qkv (Qwen2's), attention (attention_bias), all (and mlp_bias)"},
	        {"qk_norm", "yes: norms of each head of queries and keys (Qwen3's)"},
	        {"window", "sliding_window (Mistral's): a token attends to so many, itself the last"},
	        {"theta", "rope_theta"},
	        {"epsilon", "rms_norm_eps"},
	        {"scaling", "rope_type: none, linear, dynamic, llama3 or yarn, with"},
	        {"factor", "factor"},
	        {"original", "original_max_position_embeddings; the context before"},
	        {"low, high", "low_freq_factor, high_freq_factor; beta_slow, beta_fast"},
	};
	puts("--model NAME|PATH[:key=value,…]\n");
	help_list(model_list);
	paragraph(
	        "PATH is a folder as downloaded from a hub, or the config.json in it: --model ./Qwen2.5-7B. Files of "
	        "gpt2, llama, mistral, qwen2, qwen3, mpt and opt are read, and the text's model of a file with "
	        "text_config. Others are refused with what differs; so are quantized models, adapters and mixtures of "
	        "experts. Its dtype is ignored: --precision chooses. So are dropout and initializer_range. Without "
	        "--sequence samples are as long as the context, which may be 131,072 tokens.");
	paragraph(
	        "Keys behind a name or a path replace its own, as in gpt:layers=12,width=768,heads=12 or "
	        "./Qwen2.5-7B:layers=2; name=WORD is its name in titles. mlp:sizes=784-256-10 sets the layers of the "
	        "MLP. gpt, mpt, opt, llama and their presets have these keys, listed with their names in config.json:");
	putchar('\n');
	help_pairs(PAIRS(keys));
	paragraph("gpt, mpt, opt and their presets also have:");
	putchar('\n');
	help_pairs(PAIRS(gpt));
	paragraph("llama and its presets also have:");
	putchar('\n');
	help_pairs(PAIRS(llama));
	paragraph("Gemma, Falcon, Mixtral, T5, BERT … are built differently. Their model states follow from the number "
	          "of parameters and layers: params=8.54e9:units=28 is a Gemma 7B. It has no activations; those of "
	          "a gpt or llama with the same layers, width and heads are close.");
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
	paragraph("A card is named after its memory in GiB, of which it keeps some for itself: one of 80 GB offers "
	          "84.99 GB, which are 79.15 GiB. All other figures here are GB, 10⁹ bytes.");
	putchar('\n');
	paragraph(
	        "Ranks fill nodes: 4 on a100-40gb are half a node, 16 two. A file is YAML, with a '/' in its path or "
	        "ending in .yaml. calibrate writes one for this machine (--output mine.yaml), and with --device cuda "
	        "one for its GPUs, which local means for train and validate with --device cuda. Other links may follow "
	        "either, in bytes a second, inside a node and between nodes: a100-80gb:link=50GB:network=10GB. A count "
	        "before the name are devices: 8xh100 has nodes of 8, 2x8xh100 two of them, and as many ranks unless "
	        "--ranks says otherwise. Here is "
	        "a file of your own, for a card of 24 GB; rates are bytes and FLOP a second:");
	putchar('\n');
	fputs(lab, stdout);
}

static void help_stacks(void)
{
	puts("--stack NAME|FILE\n");
	help_list(stack_list);
	paragraph("A cluster's rates are ceilings: the best that was measured of one kernel, one link, one NIC. A "
	          "stack is the share of them that a program reaches in a training step, with the range in which nine "
	          "of ten measured steps lay. The first are classes, for programs that were not measured; those below "
	          "were fitted on published runs, for some cards. Without --stack a GPU cluster has the class fused, "
	          "like shardlab's own plans, with --config FILE that of the file's program, and with --as that of its "
	          "software; calibrated clusters have none. shardlab stack NAME "
	          "--cluster NAME prints one as a file to change. "
	          "Its fields:");
	putchar('\n');
	struct table t = begin_list();
	for (int i = 0; i < STACK_VALUES; i++) {
		char name[64];
		snprintf(name, sizeof name, "%s.%s", stack_row(i)->section, stack_row(i)->key);
		list_line(&t, name, stack_row(i)->what);
	}
	table_end(&t, 2);
}

static void help_keys(enum recipe_reader reader)
{
	struct table t = begin_list();
	const struct recipe_key *k;
	for (int i = 0; (k = recipe_key_at(reader, i)); i++)
		if (k->here == HERE_TAKEN)
			list_line(&t, k->path, k->there);
	table_end(&t, 2);
}

static void help_config(void)
{
	options_help(COMMAND_CONFIG, stdout);
	puts("\nThe keys of DeepSpeed that become settings; others do nothing, or are refused by name\n");
	help_keys(RECIPE_DEEPSPEED);
	puts("\nThose of Accelerate\n");
	help_keys(RECIPE_ACCELERATE);
	puts("\nThose of torchtitan\n");
	help_keys(RECIPE_TORCHTITAN);
	puts("\nTrainer's arguments\n");
	help_keys(RECIPE_TRAINER);
	paragraph("Trainer fills in \"auto\" from its own arguments or from the model: config, sim, compare, plan "
	          "and "
	          "train take these as --micro-batch, --accumulate, --precision, --clip, --learning-rate and --model. "
	          "Nothing here stands for ZeRO++'s quantization (zero_quantized_weights, zero_quantized_gradients), "
	          "mixture of experts, or tensor and pipeline parallelism together.");
	paragraph("In the other direction, --emit deepspeed|accelerate|trainer|torchtitan of sim, compare, train and "
	          "advise writes the settings as such a file, to stdout or :FILE; settings that it cannot hold are "
	          "named on stderr.");
}

static void help_data(void)
{
	static const char *const files[][2] = {
	        {"NAME.bin", "token ids of llm.c (with a header) or nanoGPT (without), uint16 or uint32"},
	        {"NAME.npy", "token ids of NumPy, uint16, uint32 or int32"},
	        {"any other file", "text, plain or gzip: each byte is an id"},
	        {"NAME.csv", "for mlp: rows of numbers and a label, plain or .gz"},
	        {"IMAGES,LABELS", "for mlp: two IDX files; or a folder with the four of MNIST"},
	        {"a folder", "train.bin and val.bin, NAME_train_*.bin and NAME_val_*.bin, or .csv"},
	};
	static const char *const keys[][2] = {
	        {"type=uint16|uint32|bytes", "of ids without a header; {data_type} for all files"},
	        {"label=first|last|N|NAME", "the column of a table with the label, N from 1"},
	        {"normalize=columns|whole|none", "how a table's numbers are scaled"},
	};
	puts("--data PATH[:key=value…][,PATH…]\n");
	help_pairs(PAIRS(files));
	paragraph("A pattern in quotes stands for files: 'fineweb_*.bin'. Files with the word val, valid, validation "
	          "or test in their name are validation data; without any, the last tenth of token ids or text is kept "
	          "for it, or every tenth row. Ids must be below the model's vocabulary. Keys, behind a path:");
	putchar('\n');
	help_pairs(PAIRS(keys));
	paragraph("tools/tokenize.py makes files of token ids from texts.");
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
	puts("--activation-checkpointing none|full|every=K|selective|operations[:key=value:…]\n\n"
	     "  none        every activation that the backward pass needs is kept\n"
	     "  full        of a block, only its input; the rest is made again before its backward pass\n"
	     "  every=K     the same, with K blocks between two checkpoints\n"
	     "  selective   everything but attention's inner part (transformers only)\n"
	     "  operations  of a block, its input, attention's results and every second product's (transformers "
	     "only)\n\n"
	     "A block is a transformer block, or a linear layer of the mlp. Keys, the default first:\n");
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
              {"stacks", help_stacks},
              {"checkpointing", help_checkpointing},
              {"as", help_software},
              {"data", help_data},
              {"config", help_config},
              {"man", manual_page},
              {"bash", completion_bash},
              {"zsh", completion_zsh}};
enum { TOPICS = sizeof topics / sizeof topics[0] };

/* ---- a word that is none of the topics: a strategy, an option ---- */

static const struct strategy *find_strategy(const char *name)
{
	const struct strategy *(*const lists[])(int) = {strategy_at, strategy_contrast_at};
	for (int l = 0; l < 2; l++)
		for (int i = 0; lists[l](i); i++)
			if (!strcmp(lists[l](i)->name, name))
				return lists[l](i);
	return NULL;
}

static void help_strategy(const struct strategy *g)
{
	printf("--strategy %s: ", g->name);
	text_wrapped(stdout, status_words(g->what), 0, text_columns(stdout, 80));
	if (!g->keys[0].name)
		return;
	puts("\nIts keys, the default first:\n");
	struct table t = begin_list();
	list_keys(&t, g->name, g->keys, STRATEGY_KEYS);
	table_end(&t, 2);
}

/* Finds an option with or without its dashes. */
static int option_of_word(const char *word)
{
	return option_find(word + (strncmp(word, "--", 2) ? 0 : 2));
}

/* One word looked for in a topic's list of models, clusters or stacks. */
struct listed {
	const char *word;
	bool found;
};

static void find_listed(void *context, const char *name, const char *what)
{
	struct listed *l = context;
	(void)what;
	l->found |= !strcmp(name, l->word);
}

static const char *topic_of(const char *word)
{
	static const struct {
		const char *topic;
		void (*list)(void (*line)(void *context, const char *name, const char *what), void *context);
	} lists[] = {{"models", model_list}, {"clusters", cluster_list}, {"stacks", stack_list}};
	for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
		struct listed l = {.word = word};
		lists[i].list(find_listed, &l);
		if (l.found)
			return lists[i].topic;
	}
	return NULL;
}

static enum status no_help(const char *word)
{
	struct near near = {.typed = word};
	if (topic_of(word))
		return status_fail(STATUS_INPUT, "no help on '%.40s' alone; shardlab help %s has it", word,
		                   topic_of(word));
	for (int c = 0; c < COMMAND_COUNT; c++)
		near_consider(&near, command_rows[c].name);
	for (size_t i = 0; i < TOPICS; i++)
		near_consider(&near, topics[i].name);
	for (int i = 0; i < OPTION_COUNT; i++)
		near_consider(&near, option_row(i)->name);
	for (int i = 0; strategy_at(i); i++)
		near_consider(&near, strategy_at(i)->name);
	for (int i = 0; strategy_contrast_at(i); i++)
		near_consider(&near, strategy_contrast_at(i)->name);
	if (near.name)
		return status_fail(STATUS_INPUT, "no help on '%.40s'%s", word, near_words(&near));
	return status_fail(STATUS_INPUT,
	                   "no help on '%.40s'; there is help on each command (shardlab help) and option, each "
	                   "strategy, and on models, strategies, clusters, stacks, checkpointing, data, config",
	                   word);
}

static enum status help_word(const char *word)
{
	const struct strategy *g = find_strategy(word);
	int option = option_of_word(word);
	if (!g && (option < 0 || option_home((enum option)option) == COMMAND_COUNT))
		return no_help(word);
	if (g)
		help_strategy(g);
	for (int i = 0; !g && i < OPTION_COUNT; i++) /* two commands may have an option each of one name */
		if (!strcmp(option_row(i)->name, option_row(option)->name))
			option_explain((enum option)i, stdout);
	return STATUS_OK;
}

static bool is_command(const char *word, enum command *out)
{
	for (int c = 0; c < COMMAND_COUNT; c++)
		if (!strcmp(command_rows[c].name, word)) {
			*out = (enum command)c;
			return true;
		}
	return false;
}

enum status command_help(const struct options *o)
{
	enum command c = COMMAND_HELP;
	for (size_t i = 0; o->topic && i < TOPICS; i++)
		if (!strcmp(o->topic, topics[i].name)) {
			topics[i].print();
			return STATUS_OK;
		}
	if (o->topic && !is_command(o->topic, &c))
		return help_word(o->topic);
	if (c == COMMAND_HELP)
		commands_help(stdout);
	else
		options_help(c, stdout);
	return STATUS_OK;
}
