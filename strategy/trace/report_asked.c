/* The model's keys and those settings of which a report has no figures. Without them the reports of two runs may look
 * alike. */
#include <string.h>

#include "strategy/base/number.h"
#include "strategy/base/version.h"
#include "strategy/trace/report.h"

/* Settings that the title shows elsewhere, or that are not the user's. */
static bool has_place(enum setting i)
{
	static const enum setting with[] = {SETTING_MODEL,      SETTING_STRATEGY,    SETTING_RANKS,
	                                    SETTING_BATCH,      SETTING_MICRO_BATCH, SETTING_ACCUMULATE,
	                                    SETTING_SEQUENCE,   SETTING_PRECISION,   SETTING_STOCHASTIC_ROUNDING,
	                                    SETTING_OFFLOAD,    SETTING_COLLECTIVES, SETTING_CHECKPOINTING,
	                                    SETTING_CHECKPOINTS};
	for (size_t k = 0; k < sizeof with / sizeof with[0]; k++)
		if (with[k] == i)
			return true;
	return false;
}

static void print_value(enum setting i, const struct settings *s, char *out, size_t size)
{
	const struct setting_row *row = &setting_rows[i];
	if (row->type == TAKES_REAL)
		snprintf(out, size, "%g", *(const double *)((const char *)s + row->offset));
	else if (row->type == TAKES_SIZE)
		number_exact_bytes(out, (int)size, *(const int64_t *)((const char *)s + row->offset));
	else
		setting_print(i, s, out, size);
}

/* "clip 1 · seed 7" */
static void print_others(const struct settings *s, char *out, size_t size)
{
	*out = 0;
	for (enum setting i = 0; i < SETTING_COUNT; i++) {
		char value[SETTING_TEXT], name[32];
		size_t at = strlen(out);
		if (has_place(i) || setting_is_rule(i, s) || !setting_differs(i, s))
			continue;
		print_value(i, s, value, sizeof value);
		snprintf(name, sizeof name, "%s", setting_rows[i].name);
		for (char *c = name; *c; c++)
			*c = *c == '_' ? ' ' : *c;
		snprintf(out + at, size - at, "%s%s %s", at ? " · " : "", name, value);
	}
}

/* A file's model is asked for by its path, and its keys are the file's. */
static const char *keys_of(const char *model)
{
	const char *keys = strchr(model, ':');
	return keys && !strstr(keys, ":name=") && !strstr(keys, ",name=") ? keys + 1 : "";
}

static bool has_pair(const char *specification, const char *pair)
{
	size_t n = strlen(pair);
	for (const char *at = specification; (at = strstr(at, pair)); at += n)
		if (at > specification && strchr(":,", at[-1]) && (!at[n] || strchr(":,", at[n])))
			return true;
	return false;
}

/* Those that the model does not have by its name alone, or all of them. */
static void list_keys(const struct model *plain, const char *given, bool all, char *out, size_t size)
{
	char keys[sizeof((struct settings *)0)->model], *rest = keys;
	snprintf(keys, sizeof keys, "%s", given);
	*out = 0;
	for (char *pair; (pair = strsep(&rest, ",:"));) {
		size_t at = strlen(out);
		if (*pair && (all || !has_pair(plain->specification, pair)))
			snprintf(out + at, size - at, "%s%s", at ? "," : "", pair);
	}
}

/* Is it the same model with these keys alone? */
static bool suffices(const char *name, const char *keys, const char *model)
{
	struct model a, b;
	char text[2 * sizeof((struct settings *)0)->model];
	snprintf(text, sizeof text, "%s%s%s", name, *keys ? ":" : "", keys);
	if (model_open(&a, text, 0))
		return false;
	bool same = !model_open(&b, model, 0);
	if (same) {
		same = !strcmp(a.specification, b.specification);
		model_release(&b);
	}
	model_release(&a);
	return same;
}

/* A plan's text says all keys that there are: shown are those that the model would not have without them. A key may
 * have the name's own value and be needed: with other heads kv_heads is no longer what it was. */
static void print_keys(const char *model, char *out, size_t size)
{
	struct model plain;
	char name[sizeof((struct settings *)0)->model];
	const char *keys = keys_of(model);
	snprintf(name, sizeof name, "%.*s", (int)strcspn(model, ":"), model);
	*out = 0;
	if (!*keys || model_open(&plain, name, 0))
		return;
	list_keys(&plain, keys, false, out, size);
	if (!suffices(name, out, model))
		list_keys(&plain, keys, true, out, size);
	model_release(&plain);
}

void report_asked(struct report_asked *a, const struct settings *s)
{
	print_keys(s->model, a->model_keys, sizeof a->model_keys);
	print_others(s, a->others, sizeof a->others);
	a->seed = s->seed;
	snprintf(a->version, sizeof a->version, "%s", SHARDLAB_VERSION);
}
