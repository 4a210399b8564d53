/* shardlab cluster NAME, shardlab stack NAME: an entry of the catalogue as a file to change. Without a name, a line an
 * entry. */
#include <stdio.h>

#include "cli/command/command.h"
#include "cli/show/table.h"
#include "strategy/base/arena.h"
#include "strategy/cluster/links.h"

static void line(void *context, const char *name, const char *what)
{
	table_row(context, STYLE_PLAIN, "%s\t%s", name, status_words(what));
}

static enum status list(void (*all)(void (*line)(void *context, const char *name, const char *what), void *context))
{
	struct table t;
	table_init(&t, stdout, 2, 2);
	all(line, &t);
	table_end(&t, 0);
	return STATUS_OK;
}

enum status command_cluster(const struct options *o)
{
	struct cluster c;
	if (!o->topic)
		return list(cluster_list);
	struct arena a = {0};
	struct links_count count;
	const char *name = o->topic;
	if (links_counted(o->topic, &count)) {
		TRY(links_check_count(o->topic, &count));
		name = count.cluster;
	}
	enum status s = cluster_open(&c, arena_print(&a, "%s:stack=" STACK_CEILING, name), 1);
	arena_release(&a);
	if (s)
		return s;
	cluster_print(&c, stdout);
	cluster_release(&c);
	return STATUS_OK;
}

enum status command_stack(const struct options *o)
{
	struct cluster c;
	struct stack stack;
	if (!o->topic)
		return list(stack_list);
	TRY(cluster_open(&c, option_text(o, OPTION_CLUSTER), 1));
	enum status s = stack_open(&stack, o->topic, c.card);
	if (!s)
		stack_print(&stack, stdout);
	cluster_release(&c);
	return s;
}
