
#include "cli/options/options_table.h"

void arguments_begin(struct arguments *a, const char *command)
{
	*a = (struct arguments){0};
	a->list[a->count++] = arena_copy(&a->arena, command);
}

void arguments_set(struct arguments *a, enum option i, const char *format, ...)
{
	char value[8192];
	WITH_ARGS(format, vsnprintf(value, sizeof value, format, args));
	a->set[i] = true;
	a->list[a->count++] = arena_print(&a->arena, "--%s=%s", option_row(i)->name, value);
}

void arguments_flag(struct arguments *a, enum option i)
{
	a->set[i] = true;
	a->list[a->count++] = arena_print(&a->arena, "--%s", option_row(i)->name);
}

void arguments_drop(struct arguments *a, enum option i)
{
	a->set[i] = true;
}

void arguments_pass(struct arguments *a, enum command c, const struct options *o)
{
	for (int i = 0; i < OPTION_COUNT; i++) {
		if (a->set[i] || !o->value[i].given || !option_of((enum option)i, c))
			continue;
		if (option_row(i)->type == TAKES_FLAG)
			arguments_flag(a, (enum option)i);
		else
			a->list[a->count++] = arena_print(&a->arena, "--%s=%s", option_row(i)->name, o->value[i].text);
	}
}

void arguments_release(struct arguments *a)
{
	arena_release(&a->arena);
	*a = (struct arguments){0};
}
