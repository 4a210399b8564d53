/* Completion for shells: one list of words for each place, from the tables. */
#include <stdio.h>
#include <string.h>

#include "cli/options/manual.h"
#include "cli/options/options_table.h"
#include "strategy/cluster/cluster.h"
#include "strategy/model/model.h"
#include "strategy/strategies/alone.h"
#include "strategy/strategies/strategy.h"

static void put_name(void *context, const char *name, const char *what)
{
	(void)context;
	(void)what;
	printf("%s ", name);
}

static void put_strategies(void)
{
	for (int i = 0; strategy_at(i); i++)
		printf("%s ", strategy_at(i)->name);
	for (int i = 0; strategy_contrast_at(i); i++)
		printf("%s ", strategy_contrast_at(i)->name);
}

static void put_collectives(void)
{
	struct alone one;
	for (int i = 0; alone_at(i, &one); i++)
		printf("%s ", one.name);
}

/* "a|b|c", and of a list "a|b[,…]". */
static void put_choices(const char *argument)
{
	for (; *argument && *argument != '['; argument++)
		putchar(*argument == '|' ? ' ' : *argument);
}

/* A form, "NAME|FILE" or "A:B", is none. */
static bool has_choices(const struct option_row *row)
{
	size_t length = strcspn(row->argument, "[");
	return memchr(row->argument, '|', length) && strcspn(row->argument, " :=ABCDEFGHIJKLMNOPQRSTUVWXYZ") >= length;
}

/* The words behind an option; none: files. */
static bool put_values(enum option i)
{
	if (i == OPTION_STRATEGY)
		put_strategies();
	else if (i == OPTION_MODEL)
		model_list(put_name, NULL);
	else if (i == OPTION_CLUSTER)
		cluster_list(put_name, NULL);
	else if (i == OPTION_STACK)
		stack_list(put_name, NULL);
	else if (i == OPTION_COLLECTIVE)
		put_collectives();
	else if (has_choices(option_row(i)))
		put_choices(option_row(i)->argument);
	else
		return false;
	return true;
}

/* Offers the topics of help. */
static void put_topics(void)
{
	fputs("models strategies clusters stacks as checkpointing data config man bash zsh ", stdout);
	for (int c = 0; c < COMMAND_COUNT; c++)
		printf("%s ", command_rows[c].name);
	put_strategies();
}

/* The words behind commands that take one. */
static void put_arguments(void)
{
	fputs("    help) words='", stdout);
	put_topics();
	fputs("' ;;\n    cluster) words='", stdout);
	cluster_list(put_name, NULL);
	fputs("' ;;\n    stack) words='", stdout);
	stack_list(put_name, NULL);
	fputs("' ;;\n    collective) words='", stdout);
	put_collectives();
	puts("' ;;\n    checkpoint) words='show verify weights' ;;");
}

/* Lines "    PATTERN) words='…' ;;", as both shells read them. */
static void put_cases(void)
{
	puts("  case $before in");
	for (int i = 0; i < OPTION_COUNT; i++) {
		if (option_row(i)->type == TAKES_FLAG || option_home((enum option)i) == COMMAND_COUNT)
			continue;
		printf("    --%s) words='", option_row(i)->name);
		put_values((enum option)i);
		puts("' ;;");
	}
	puts("    shardlab) words='");
	for (int c = 0; c < COMMAND_COUNT; c++)
		printf("%s ", command_rows[c].name);
	puts("' ;;");
	put_arguments();
	puts("    *) case $command in");
	for (int c = 0; c < COMMAND_COUNT; c++) {
		bool files = c == COMMAND_CONFIG || c == COMMAND_TRACE; /* unless an option is begun */
		printf("      %s) %swords='", command_rows[c].name, files ? "[[ $typed == -* ]] && " : "");
		for (int i = 0; i < OPTION_COUNT; i++)
			if (option_of((enum option)i, (enum command)c))
				printf("--%s ", option_row(i)->name);
		puts("' ;;");
	}
	puts("    esac ;;\n  esac");
}

void completion_bash(void)
{
	puts("# Completion of shardlab for bash, made by: shardlab help bash\n"
	     "_shardlab() {\n"
	     "  local before=${COMP_WORDS[COMP_CWORD-1]##*/} command=${COMP_WORDS[1]} words=''\n"
	     "  local word=${COMP_WORDS[COMP_CWORD]} list=''\n"
	     "  [[ $before == = ]] && before=${COMP_WORDS[COMP_CWORD-2]}   # --option=word is three words to bash\n"
	     "  [[ $word == = ]] && word=''\n"
	     "  [[ $word == *,* ]] && list=${word%,*}, word=${word##*,}    # the last of a list");
	puts("  local typed=$word");
	put_cases();
	puts("  COMPREPLY=($(compgen -P \"$list\" -W \"$words\" -- \"$word\"))\n"
	     "}\n"
	     "complete -o default -F _shardlab shardlab");
}

void completion_zsh(void)
{
	puts("#compdef shardlab\n"
	     "# Completion of shardlab for zsh, made by: shardlab help zsh\n"
	     "_shardlab() {\n"
	     "  local before=${words[CURRENT-1]:t} command=${words[2]}\n"
	     "  local words='' typed=$PREFIX");
	put_cases();
	puts("  if [[ -n $words ]]; then compadd -- ${=words}; else _files; fi\n"
	     "}\n"
	     "_shardlab \"$@\"");
}
