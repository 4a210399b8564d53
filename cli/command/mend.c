#include "cli/command/mend.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command/emit.h"
#include "strategy/emit/emit.h"
#include "strategy/strategies/strategy.h"

static int setting_named(const char *option)
{
	for (int i = 0; i < SETTING_COUNT; i++)
		if (!strcmp(option, option_name((enum option)i)))
			return i;
	return -1;
}

/* "--strategy zero2 --micro-batch 1": each with its value. The batch stays, and what is not said follows from it. */
static enum status change_settings(struct settings *s, const char *words)
{
	char text[sizeof((struct report_change *)0)->words], *rest = NULL;
	enum status status = STATUS_OK;
	snprintf(text, sizeof text, "%s", words);
	s->accumulate = 0;
	for (char *name = strtok_r(text, " ", &rest); !status && name; name = strtok_r(NULL, " ", &rest)) {
		const char *value = strtok_r(NULL, " ", &rest);
		int i = setting_named(name + strspn(name, "-"));
		if (i < 0 || !value)
			return STATUS_INPUT;
		status = setting_read((enum setting)i, name, value, s);
	}
	return status ? status : settings_resolve(s, strategy_data_ranks(s));
}

/* Quotes a word for the shell if it needs it. */
static void put_word(char *out, size_t size, const char *word)
{
	size_t at = strlen(out);
	bool plain = *word && !word[strcspn(word, " \t\n\"'\\$`*?[](){}<>|&;~#!")];
	if (plain) {
		snprintf(out + at, size - at, "%s", word);
		return;
	}
	at += (size_t)snprintf(out + at, size - at, "'");
	for (; *word && at + 6 < size; word++)
		at += (size_t)snprintf(out + at, size - at, *word == '\'' ? "'\\''" : "%c", *word);
	snprintf(out + at, size - at, "'");
}

static void put_option(char *out, size_t size, enum option i, const char *value)
{
	size_t at = strlen(out);
	snprintf(out + at, size - at, " --%s%s", option_name(i), value ? " " : "");
	if (value)
		put_word(out, size, value);
}

/* The plan's settings that differ from their defaults. */
static bool is_said(enum setting i, const struct settings *s)
{
	return i != SETTING_ACCUMULATE && i != SETTING_COLLECTIVES && i != SETTING_CHECKPOINTS &&
	       !setting_is_rule(i, s) &&
	       (i == SETTING_MODEL || i == SETTING_STRATEGY || i == SETTING_RANKS || setting_differs(i, s));
}

static void put_settings(const struct options *o, const struct settings *s, char *out, size_t size)
{
	char value[SETTING_TEXT];
	for (enum setting i = 0; i < SETTING_COUNT; i++) {
		if (!is_said(i, s) || (i == SETTING_SEQUENCE && !s->sequence))
			continue;
		setting_print_short(i, s, value, sizeof value);
		bool path = i == SETTING_MODEL && o->model_path, flag = setting_rows[i].type == TAKES_FLAG;
		put_option(out, size, (enum option)i, flag ? NULL : path ? o->model_path : value);
	}
	if (option_given(o, OPTION_CLUSTER))
		put_option(out, size, OPTION_CLUSTER, option_text(o, OPTION_CLUSTER));
}

/* The program whose file was read, if it can be told the settings too. */
static void find_target(const struct options *o, const struct settings *s, char *out, size_t size)
{
	struct emission e;
	enum emit_target t = emit_target_of(o->config_reader);
	if (emit_make(&e, t, NULL, s, emit_nodes(o, s->ranks)))
		return;
	emit_release(&e);
	snprintf(out, size, "%s", emit_target_name(t));
}

void mend_spell(const struct options *o, const struct settings *s, struct report_change *change)
{
	struct settings changed = *s;
	if (!o->config || !*change->words || change_settings(&changed, change->words))
		return;
	snprintf(change->command, sizeof change->command, "shardlab sim");
	put_settings(o, &changed, change->command, sizeof change->command);
	find_target(o, &changed, change->emit, sizeof change->emit);
}
