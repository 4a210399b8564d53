/* The rows of what if: which settings, in which order, and the values that they go through. */
#include "cli/command/view_rows.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "strategy/base/language.h"
#include "strategy/cluster/links.h"

/* number: with the largest that ← and → come to; a user may type more. */
const struct row rows[] = {
        {"ranks", NULL, NULL, SETTING_RANKS, VALUES_COUNT, 1, 1024},
        {"model", NULL, NULL, SETTING_MODEL, VALUES_MODELS, 0, 0},
        {"cluster", "cluster", "the hardware to predict for", ROW_CLUSTER, VALUES_CLUSTERS, 0, 0},
        {"link", "link-bandwidth", "bytes a second inside a node, of a device and in each direction", ROW_LINK,
         VALUES_RATE, LINK_LEAST, LINK_MOST},
        {"network", "network-bandwidth", "bytes a second between nodes, of one of a node's NICs", ROW_NETWORK,
         VALUES_RATE, LINK_LEAST, LINK_MOST},
        {"batch", NULL, NULL, SETTING_BATCH, VALUES_COUNT, 1, 1024},
        {"micro-batch", NULL, NULL, SETTING_MICRO_BATCH, VALUES_COUNT, 1, 128},
        {"accumulate", NULL, NULL, SETTING_ACCUMULATE, VALUES_COUNT, 1, 64},
        {"sequence", NULL, NULL, SETTING_SEQUENCE, VALUES_COUNT, 32, 4096},
        {"bucket", NULL, NULL, SETTING_BUCKET, VALUES_BYTES, 1 << 16, 1 << 28},
        {"checkpointing", NULL, NULL, SETTING_CHECKPOINTING, VALUES_WORDS, 0, 0},
        {"offload", NULL, NULL, SETTING_OFFLOAD, VALUES_WORDS, 0, 0},
        {"precision", NULL, NULL, SETTING_PRECISION, VALUES_WORDS, 0, 0},
};
const int row_count = sizeof rows / sizeof rows[0];
_Static_assert(sizeof rows / sizeof rows[0] <= WHATIF_ROWS, "a panel has room for all");

const char *row_name(int row)
{
	return rows[row].setting < SETTING_COUNT ? option_name((enum option)rows[row].setting) : rows[row].name;
}

const char *row_what(int row)
{
	return rows[row].setting < SETTING_COUNT ? setting_rows[rows[row].setting].help : rows[row].what;
}

int row_find(const char *text, size_t length)
{
	for (int i = 0; i < row_count; i++)
		if (strlen(row_name(i)) == length && !strncmp(row_name(i), text, length))
			return i;
	return -1;
}

/* ---- values ---- */

/* 7500000000 → "7.5GB", 1048576 → "1MiB" */
static void print_bytes(char *out, int64_t value, bool binary)
{
	static const char *const decimal[] = {"B", "kB", "MB", "GB", "TB"}, *const powers[] = {"B", "KiB", "MiB",
	                                                                                       "GiB"};
	double part = (double)value, by = binary ? 1024 : 1000;
	int unit = 0;
	while (part >= by && unit < (binary ? 3 : 4)) {
		part /= by;
		unit++;
	}
	snprintf(out, WHATIF_VALUE, "%.12g%s", part, binary ? powers[unit] : decimal[unit]);
}

static int64_t rate_of(const struct loaded *l, int setting)
{
	return setting == ROW_LINK ? l->links.link : l->links.network;
}

static int64_t row_number(int row, const struct loaded *l)
{
	const struct row *r = &rows[row];
	int64_t value = 0;
	if (r->values == VALUES_RATE)
		return rate_of(l, r->setting);
	if (r->setting == SETTING_SEQUENCE)
		return l->job.plan.model->tokens;
	if (r->values == VALUES_COUNT || r->values == VALUES_BYTES)
		memcpy(&value, (const char *)&l->job.settings + setting_rows[r->setting].offset, sizeof value);
	return r->setting == SETTING_BUCKET && !value ? (INT64_C(25) << 20) : value;
}

void row_print(int row, const struct loaded *l, char out[WHATIF_VALUE])
{
	const struct row *r = &rows[row];
	char text[SETTING_TEXT];
	if (r->setting == ROW_CLUSTER)
		snprintf(out, WHATIF_VALUE, "%.*s", (int)(links_find(l->cluster) - l->cluster), l->cluster);
	else if (r->values == VALUES_RATE && !rate_of(l, r->setting))
		snprintf(out, WHATIF_VALUE, "none");
	else if (r->values == VALUES_RATE)
		print_bytes(out, rate_of(l, r->setting), false);
	else if (r->values == VALUES_COUNT)
		snprintf(out, WHATIF_VALUE, "%" PRId64, row_number(row, l));
	else if (r->setting == SETTING_BUCKET && !l->job.settings.bucket)
		snprintf(out, WHATIF_VALUE, "%s", tr("1, then 25 MiB"));
	else if (r->setting == SETTING_BUCKET)
		print_bytes(out, l->job.settings.bucket, l->job.settings.bucket % 1024 == 0);
	else {
		setting_print((enum setting)r->setting, &l->job.settings, text, sizeof text);
		snprintf(out, WHATIF_VALUE, "%.127s", text);
	}
}

/* ---- the values that ← and → go through ---- */

static void add(struct ladder *l, const char *text, int64_t number)
{
	if (l->count == LADDER)
		return;
	snprintf(l->text[l->count], sizeof l->text[0], "%.127s", text);
	l->number[l->count++] = number;
}

static void add_line(void *ladder, const char *name, const char *what)
{
	(void)what;
	if (!strchr(name, '=')) /* an example of a value that has to be typed */
		add(ladder, name, 0);
}

/* 1 2 3 4 6 8 12 16 … */
static void add_counts(struct ladder *l, const struct row *r)
{
	char text[24];
	for (int64_t power = 1; power <= r->most; power *= 2)
		for (int half = 2; half <= 3; half++) {
			int64_t n = power * half / 2;
			if ((power == 1 && half == 3) || n < r->least || n > r->most)
				continue;
			snprintf(text, sizeof text, "%" PRId64, n);
			add(l, text, n);
		}
}

static void add_sizes(struct ladder *l, const struct row *r)
{
	char text[WHATIF_VALUE];
	for (int64_t n = r->least; n <= r->most; n *= 2) {
		print_bytes(text, n, true);
		add(l, text, n);
	}
}

/* From a sixteenth of what it was to 16 times as much. */
static void add_rates(struct ladder *l, int64_t base)
{
	char text[WHATIF_VALUE];
	for (int i = -4; base && i <= 4; i++) {
		int64_t n = i < 0 ? base >> -i : base > LINK_MOST >> i ? LINK_MOST : base << i;
		print_bytes(text, n, false);
		add(l, i ? text : "", n);
	}
}

/* "none|full|every=K|selective|operations[:key=value…]": of a pattern an example. */
static void add_words(struct ladder *l, const char *words)
{
	for (; *words; words++) {
		size_t n = strcspn(words, "|");
		char text[WHATIF_VALUE];
		snprintf(text, sizeof text, "%.*s", (int)strcspn(words, "|["), words);
		char *pattern = strstr(text, "=K");
		if (pattern)
			pattern[1] = '2';
		add(l, text, 0);
		words += n;
		if (!*words)
			break;
	}
}

static bool has(const struct ladder *l, const char *text)
{
	for (int i = 0; i < l->count; i++)
		if (!strcmp(l->text[i], text))
			return true;
	return false;
}

void ladder_make(struct ladder *l, int row, const struct loaded *base)
{
	const struct row *r = &rows[row];
	char was[WHATIF_VALUE];
	l->count = 0;
	row_print(row, base, was);
	switch (r->values) {
	case VALUES_COUNT:
		add_counts(l, r);
		break;
	case VALUES_BYTES:
		add_sizes(l, r);
		break;
	case VALUES_RATE:
		add_rates(l, rate_of(base, r->setting));
		break;
	case VALUES_WORDS:
		add_words(l, setting_rows[r->setting].values);
		break;
	case VALUES_MODELS:
		model_list(add_line, l);
		break;
	case VALUES_CLUSTERS:
		cluster_list(add_line, l);
		break;
	}
	if (r->values > VALUES_RATE && !has(l, was) && l->count < LADDER) { /* where it began is among them */
		memmove(l->text[1], l->text[0], (size_t)l->count * sizeof l->text[0]);
		l->count++;
		l->text[0][0] = 0;
	}
}

int ladder_place(const struct ladder *l, int row, const struct loaded *base, const struct loaded *now)
{
	char text[WHATIF_VALUE], was[WHATIF_VALUE];
	int place = -1;
	row_print(row, now, text);
	row_print(row, base, was);
	for (int i = 0; i < l->count; i++)
		if (rows[row].values <= VALUES_RATE ? l->number[i] <= row_number(row, now)
		                                    : !strcmp(*l->text[i] ? l->text[i] : was, text))
			place = i;
	return place < 0 && rows[row].values <= VALUES_RATE && l->count ? 0 : place;
}

int ladder_next(const struct ladder *l, int row, const struct loaded *base, const struct loaded *now, int by)
{
	int place = ladder_place(l, row, base, now);
	int64_t number = row_number(row, now);
	if (rows[row].values > VALUES_RATE)
		return place + by;
	while (by > 0 && place < l->count && l->number[place] <= number)
		place++;
	while (by < 0 && place >= 0 && l->number[place] >= number)
		place--;
	return place + by - (by > 0 ? 1 : -1);
}
