/* shardlab help: commands, options, and the models, strategies and clusters there are. */
#include <stdio.h>
#include <string.h>

#include "cli/command.h"
#include "cli/table.h"
#include "strategy/checkpointing.h"
#include "strategy/cluster/cluster.h"
#include "strategy/model/model.h"
#include "strategy/strategy.h"

static void list_line(void *context, const char *name, const char *what)
{
	struct table *t = context;
	table_add_row(t, STYLE_PLAIN);
	table_cell(t, 0, "%s", name);
	table_cell(t, 1, "%s", what);
}

static void help_list(void (*list)(void (*line)(void *, const char *, const char *), void *))
{
	struct table t;
	table_init(&t, stdout, 2);
	t.text_columns = 2;
	list(list_line, &t);
	table_print(&t, 2);
	table_release(&t);
}

static void help_models(void)
{
	puts("--model NAME[:key=value,…]\n");
	help_list(model_list);
	puts("\nmlp:sizes=784-256-10 sets the layers of the MLP. layers, width, heads, context and vocabulary are keys "
	     "of\n"
	     "gpt and of its presets: gpt:layers=12,width=768,heads=12. units is the key of params=: "
	     "params=7.5e9,units=32.");
}

static void help_clusters(void)
{
	puts("--cluster NAME|FILE\n");
	help_list(cluster_list);
	puts("\nA file is YAML, with a '/' in its path or ending in .yaml; calibrate writes one, and it is a good "
	     "start for\n"
	     "your own: shardlab calibrate --output mine.yaml. With --device cuda it measures GPUs, which is what "
	     "local\n"
	     "means for train and validate with --device cuda.");
}

static void list_strategies(const struct strategy *at(int i))
{
	struct table t;
	table_init(&t, stdout, 3);
	t.text_columns = 3;
	for (int i = 0; at(i); i++) {
		table_add_row(&t, STYLE_PLAIN);
		table_cell(&t, 0, "%s", at(i)->name);
		table_cell(&t, 1, "%s", at(i)->what);
		table_cell_style(&t, 0, STYLE_HEAD);
	}
	table_print(&t, 2);
	table_release(&t);
}

static void add_keys(struct table *t, const struct strategy *at(int i))
{
	for (int i = 0; at(i); i++)
		for (int k = 0; k < STRATEGY_KEYS && at(i)->keys[k].name; k++) {
			const struct key *key = &at(i)->keys[k];
			table_add_row(t, STYLE_PLAIN);
			table_cell(t, 0, "%s:%s=%s", at(i)->name, key->name, key->values);
			table_cell(t, 1, "%s", key->help);
		}
}

static void help_strategies(void)
{
	struct table t;
	puts("--strategy NAME[:key=value:…]     a list is separated by commas; all is the first seven\n");
	list_strategies(strategy_at);
	puts("\nWhat they are compared with:\n");
	list_strategies(strategy_contrast_at);
	puts("\nTheir keys, the default first:\n");
	table_init(&t, stdout, 2);
	t.text_columns = 2;
	add_keys(&t, strategy_at);
	add_keys(&t, strategy_contrast_at);
	table_print(&t, 2);
	table_release(&t);
}

static void help_checkpointing(void)
{
	struct table t;
	puts("--activation-checkpointing none|full|every=K|selective[:key=value:…]\n\n"
	     "  none       every activation that the backward pass needs is kept\n"
	     "  full       of a block, only its input; the rest is made again before its backward pass\n"
	     "  every=K    the same, with K blocks between two checkpoints\n"
	     "  selective  everything but attention's inner part (gpt only)\n\n"
	     "A block is a transformer block of a gpt, a linear layer of the mlp. Keys, the default first:\n");
	table_init(&t, stdout, 2);
	t.text_columns = 2;
	for (int k = 0; k < CHECKPOINTING_KEYS; k++) {
		table_add_row(&t, STYLE_PLAIN);
		table_cell(&t, 0, "%s=%s", checkpointing_keys[k].name, checkpointing_keys[k].values);
		table_cell(&t, 1, "%s", checkpointing_keys[k].help);
	}
	table_print(&t, 2);
	table_release(&t);
}

static const struct {
	const char *name;
	void (*print)(void);
} topics[] = {{"models", help_models},
              {"strategies", help_strategies},
              {"clusters", help_clusters},
              {"checkpointing", help_checkpointing}};

enum status help_topic(const char *topic, bool more)
{
	enum command c;
	if (more)
		return status_fail(STATUS_INPUT,
		                   "help takes one word: a command, models, strategies, clusters or checkpointing");
	if (!topic || !strcmp(topic, "--help")) {
		commands_help(stdout);
		return STATUS_OK;
	}
	for (size_t i = 0; i < sizeof topics / sizeof topics[0]; i++)
		if (!strcmp(topic, topics[i].name)) {
			topics[i].print();
			return STATUS_OK;
		}
	enum status s = command_find(topic, &c);
	if (s)
		return status_fail(STATUS_INPUT,
		                   "no help on '%.40s'; there is help on the commands (shardlab help), and on "
		                   "models, strategies, clusters, checkpointing",
		                   topic);
	if (c == COMMAND_HELP)
		commands_help(stdout);
	else
		options_help(c, stdout);
	return STATUS_OK;
}

enum status command_help(const struct options *o)
{
	(void)o;
	commands_help(stdout);
	return STATUS_OK;
}
