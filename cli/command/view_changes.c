/* Changes of what if: from text, as text, and the settings that they lead to. */
#include <stdio.h>
#include <string.h>

#include "cli/command/view_rows.h"
#include "cli/command/view_whatif.h"
#include "strategy/base/language.h"
#include "strategy/base/near.h"
#include "strategy/cluster/links.h"
#include "strategy/model/config.h"
#include "strategy/strategies/strategy.h"

bool changes_equal(const struct changes *a, const struct changes *b)
{
	bool equal = true;
	for (int i = 0; i < row_count; i++)
		equal &= !strcmp(a->value[i], b->value[i]);
	return equal;
}

bool changes_any(const struct changes *c)
{
	static const struct changes none;
	return !changes_equal(c, &none);
}

/* ---- text ---- */

void changes_print(const struct changes *c, char *out, size_t size)
{
	size_t at = 0;
	*out = 0;
	for (int i = 0; i < row_count; i++)
		if (*c->value[i] && at < size)
			at += (size_t)snprintf(out + at, size - at, "%s%s=%s", at ? "," : "", row_name(i), c->value[i]);
}

/* The row that begins here, as in "bucket=1MB"; -1. */
static int row_at(const char *text)
{
	size_t n = strcspn(text, "=,");
	return text[n] == '=' ? row_find(text, n) : -1;
}

/* A value with keys has commas too ("gpt:layers=2,width=64"): one ends it only where a row follows. */
static size_t length_of(const char *value)
{
	size_t n = strcspn(value, ",");
	bool keys = memchr(value, ':', n);
	while (value[n] && keys && row_at(value + n + 1) < 0)
		n += 1 + strcspn(value + n + 1, ",");
	return n;
}

static enum status unknown(const char *text)
{
	char name[40];
	size_t n = strcspn(text, "=,");
	struct near near = {.typed = name};
	snprintf(name, sizeof name, "%.*s", (int)(n < sizeof name ? n : sizeof name - 1), text);
	for (int i = 0; i < row_count; i++)
		near_consider(&near, row_name(i));
	if (text[n] == '=' && n)
		return status_fail(STATUS_INPUT, "--what-if: unknown setting '%s'%s; known: %s", name,
		                   near_words(&near), near.known);
	return status_fail(STATUS_INPUT, "--what-if: '%.40s' is not NAME=VALUE[,NAME=VALUE…]; names: %s", text,
	                   near.known);
}

enum status changes_read(struct changes *c, const char *text)
{
	*c = (struct changes){0};
	for (;;) {
		int row = row_at(text);
		if (row < 0)
			return unknown(text);
		text += strlen(row_name(row)) + 1;
		size_t n = length_of(text);
		if (!n || n >= WHATIF_VALUE)
			return status_fail(STATUS_INPUT, "--what-if %s=: the value has %s", row_name(row),
			                   n ? "more than 127 characters" : "no characters");
		if (*c->value[row])
			return status_fail(STATUS_INPUT, "--what-if: %s comes twice; leave one out", row_name(row));
		memcpy(c->value[row], text, n);
		text += n;
		if (!*text)
			return STATUS_OK;
		text++;
	}
}

/* ---- settings ---- */

static int row_of(int setting)
{
	for (int i = 0; i < row_count; i++)
		if (rows[i].setting == setting)
			return i;
	return -1;
}

static const char *value_of(const struct changes *c, int setting)
{
	return c->value[row_of(setting)];
}

/* One of batch, micro-batch and accumulate follows from the other two and the ranks: one that the user has not changed.
 */
static void let_batch_follow(const struct changes *c, struct settings *s)
{
	if (!s->batch || !s->micro_batch || !s->accumulate || !changes_any(c))
		return;
	if (!*value_of(c, SETTING_BATCH))
		s->batch = 0;
	else if (!*value_of(c, SETTING_MICRO_BATCH))
		s->micro_batch = 0;
	else if (!*value_of(c, SETTING_ACCUMULATE))
		s->accumulate = 0;
}

/* "a100-80gb:link=50GB": what is not changed stays as the cluster has it, its stack too. */
static enum status name_cluster(const struct changes *c, const struct options *o, char out[CLUSTER_TEXT])
{
	static const struct {
		int setting;
		const char *key;
	} links[] = {{ROW_LINK, ":link="}, {ROW_NETWORK, ":network="}, {-1, ":node="},  {-1, ":nic="},
	             {-1, ":clock="},      {-1, ":memory="},           {-1, ":stack="}, {-1, ":class="}};
	const char *base = *value_of(c, ROW_CLUSTER) ? value_of(c, ROW_CLUSTER) : load_cluster(o),
	           *pairs = links_find(base);
	int at = snprintf(out, CLUSTER_TEXT, "%.*s", (int)(pairs - base), base);
	for (size_t i = 0; i < sizeof links / sizeof links[0] && at < CLUSTER_TEXT; i++) {
		const char *was = strstr(pairs, links[i].key),
		           *value = links[i].setting < 0 ? "" : value_of(c, links[i].setting);
		if (*value)
			at += snprintf(out + at, (size_t)(CLUSTER_TEXT - at), "%s%s", links[i].key, value);
		else if (was)
			at += snprintf(out + at, (size_t)(CLUSTER_TEXT - at), ":%.*s", (int)strcspn(was + 1, ":"),
			               was + 1);
	}
	return at < CLUSTER_TEXT
	               ? STATUS_OK
	               : status_fail(STATUS_INPUT, "{cluster}: the name has more than %d characters", CLUSTER_TEXT - 1);
}

/* A model may be the path of its file, as it may behind --model. */
static enum status read_model_file(struct settings *s)
{
	struct arena a = {0};
	const char *specification;
	if (!model_config_is_path(s->model))
		return STATUS_OK;
	enum status status = model_config_read(&a, s->model, &specification);
	if (!status)
		status = setting_read(SETTING_MODEL, status_words("{model}"), specification, s);
	arena_release(&a);
	return status;
}

enum status changes_settings(const struct changes *c, const struct options *o, const char *strategy,
                             struct settings *out, char cluster[CLUSTER_TEXT])
{
	const struct strategy *known;
	struct settings base;
	enum status s = options_settings(o, &base);
	for (int i = 0; i < row_count && !s; i++)
		if (*c->value[i] && rows[i].setting < SETTING_COUNT)
			s = setting_read((enum setting)rows[i].setting, row_name(i), c->value[i], &base);
	if (s || (s = read_model_file(&base)) || (s = strategy_parse(base.strategy, &known)) ||
	    (s = name_cluster(c, o, cluster)))
		return s;
	let_batch_follow(c, &base);
	if ((s = settings_resolve(&base, strategy_data_ranks(&base))))
		return s;
	if (strcmp(strategy, base.strategy) != 0)
		return settings_beside(out, &base, strategy);
	*out = base;
	return STATUS_OK;
}

/* ---- one change ---- */

static bool same(const struct settings *a, const struct settings *b)
{
	char x[SETTING_TEXT], y[SETTING_TEXT];
	for (int i = 0; i < SETTING_COUNT; i++) {
		setting_print((enum setting)i, a, x, sizeof x);
		setting_print((enum setting)i, b, y, sizeof y);
		if (strcmp(x, y) != 0)
			return false;
	}
	return true;
}

/* A value that changes nothing is taken back. */
static void simplify(struct changes *c, const struct options *o, const char *strategy, int row)
{
	struct changes without = *c;
	struct settings a, b;
	char x[CLUSTER_TEXT], y[CLUSTER_TEXT];
	memset(without.value[row], 0, sizeof without.value[row]);
	if (!changes_settings(c, o, strategy, &a, x) && !changes_settings(&without, o, strategy, &b, y) &&
	    same(&a, &b) && !strcmp(x, y))
		*c = without;
}

void changes_simplify(struct changes *c, const struct options *o, const char *strategy)
{
	for (int i = 0; i < row_count; i++)
		if (*c->value[i])
			simplify(c, o, strategy, i);
}

static void set(struct changes *c, int row, const char *text)
{
	memset(c->value[row], 0, sizeof c->value[row]);
	snprintf(c->value[row], sizeof c->value[row], "%s", text);
}

void changes_set_batch(struct changes *c, int64_t ranks, int64_t batch, int64_t accumulate)
{
	const struct {
		int setting;
		int64_t value;
	} said[] = {{SETTING_RANKS, ranks}, {SETTING_BATCH, batch}, {SETTING_ACCUMULATE, accumulate}};
	char text[24];
	for (size_t i = 0; i < sizeof said / sizeof said[0]; i++) {
		snprintf(text, sizeof text, "%lld", (long long)said[i].value);
		set(c, row_of(said[i].setting), said[i].value ? text : "");
	}
	set(c, row_of(SETTING_MICRO_BATCH), "");
}

enum status changes_type(struct changes *c, const struct options *o, const struct loaded *now, int row,
                         const char *text)
{
	if (row < 0 || row >= row_count)
		return status_fail(STATUS_INPUT, "There is no such row.");
	if (strlen(text) >= WHATIF_VALUE)
		return status_fail(STATUS_INPUT, "%s: the value has more than %d characters", row_name(row),
		                   WHATIF_VALUE - 1);
	set(c, row, text);
	simplify(c, o, now->job.settings.strategy, row);
	return STATUS_OK;
}

enum status changes_step(struct changes *c, const struct options *o, const struct loaded *base,
                         const struct loaded *now, int row, int number, bool to)
{
	struct ladder l;
	if (row < 0 || row >= row_count)
		return status_fail(STATUS_INPUT, "There is no such row.");
	ladder_make(&l, row, base);
	int place = to ? number : ladder_next(&l, row, base, now, number);
	if (!l.count)
		return status_fail(STATUS_INPUT, tr("%s: this cluster has none"), tr(rows[row].label));
	if (place < 0 || place >= l.count)
		return status_fail(STATUS_INPUT,
		                   place < 0 ? tr("%s: there is nothing before this here; Enter types another value")
		                             : tr("%s: there is nothing beyond this here; Enter types another value"),
		                   tr(rows[row].label));
	return changes_type(c, o, now, row, l.text[place]);
}
