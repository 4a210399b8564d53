/* One setting: from text, as text, and whether it was left alone. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "strategy/base/keys.h"
#include "strategy/base/number.h"
#include "strategy/settings/checkpointing.h"
#include "strategy/settings/settings.h"
#include "strategy/settings/software.h"

const struct setting_row setting_rows[SETTING_COUNT] = {
#define X(constant, name, field, type, values, low, high, fallback, line, help)                                        \
	{#name,                                                                                                        \
	 values,                                                                                                       \
	 fallback,                                                                                                     \
	 help,                                                                                                         \
	 (double)(low),                                                                                                \
	 (double)(high),                                                                                               \
	 offsetof(struct settings, field),                                                                             \
	 sizeof((struct settings *)0)->field,                                                                          \
	 TAKES_##type,                                                                                                 \
	 line},
        SETTING_LIST(X)
#undef X
};

struct settings settings_default(void)
{
	struct settings s = {0};
	for (int i = 0; i < SETTING_COUNT; i++)
		if (*setting_rows[i].fallback && setting_read((enum setting)i, "", setting_rows[i].fallback, &s))
			abort();
	return s;
}

static enum status read_text(enum setting i, const char *where, const char *text, char *out, size_t size)
{
	struct checkpointing c;
	struct software software;
	if (strlen(text) >= size)
		return status_fail(STATUS_INPUT, "%s: the value has more than %zu characters", where, size - 1);
	memcpy(out, text, strlen(text) + 1);
	return i == SETTING_CHECKPOINTING ? checkpointing_parse(text, &c)
	       : i == SETTING_AS          ? software_parse(text, &software)
	                                  : STATUS_OK;
}

static bool counts_from_one(const struct setting_row *row)
{
	return !*row->fallback;
}

static enum status read_choice(const struct setting_row *row, const char *where, const char *text, void *out)
{
	int place;
	enum status s = word_parse(row->values, where, text, &place);
	place += counts_from_one(row);
	if (!s && row->size == sizeof(bool))
		*(bool *)out = place;
	else if (!s)
		memcpy(out, &place, sizeof place);
	return s;
}

/* fp8 is a way to multiply: all else is as in bf16. */
static enum status read_precision(const char *where, const char *text, struct settings *s)
{
	int place;
	enum status status = word_parse(setting_rows[SETTING_PRECISION].values, where, text, &place);
	bool fp8 = place == TYPE_FP16 + 1;
	if (status)
		return status;
	s->precision = fp8 ? TYPE_BF16 : (enum type)place;
	if (fp8 && !s->fp8)
		s->fp8 = FP8_DYNAMIC;
	return STATUS_OK;
}

enum status setting_read(enum setting i, const char *where, const char *text, struct settings *s)
{
	const struct setting_row *row = &setting_rows[i];
	void *out = (char *)s + row->offset;
	/* 2^63 is no int64_t */
	int64_t low = (int64_t)row->low, high = row->high >= 9.2e18 ? INT64_MAX : (int64_t)row->high;
	int place;
	switch (row->type) {
	case TAKES_TEXT:
		return read_text(i, where, text, out, row->size);
	case TAKES_CHOICE:
		return i == SETTING_PRECISION ? read_precision(where, text, s) : read_choice(row, where, text, out);
	case TAKES_WHOLE:
		return number_whole(text, where, low, high, out);
	case TAKES_SIZE:
		return number_bytes(text, where, low, high, out);
	case TAKES_REAL:
		return number_real(text, where, row->low, row->high, out);
	case TAKES_FLAG:
		*(bool *)out = true;
		return word_parse("yes", where, text, &place);
	case TAKES_OFFLOAD:
		return offload_parse(text, out);
	}
	return STATUS_OK;
}

void setting_print(enum setting i, const struct settings *s, char *out, size_t size)
{
	const struct setting_row *row = &setting_rows[i];
	const void *at = (const char *)s + row->offset;
	int place = 0;
	switch (row->type) {
	case TAKES_TEXT:
		snprintf(out, size, "%s", (const char *)at);
		break;
	case TAKES_CHOICE:
		memcpy(&place, at, row->size);
		word_at(row->values, place - counts_from_one(row), out, size);
		break;
	case TAKES_WHOLE:
	case TAKES_SIZE:
		snprintf(out, size, "%lld", (long long)*(const int64_t *)at);
		break;
	case TAKES_REAL:
		snprintf(out, size, "%.17g", *(const double *)at);
		break;
	case TAKES_FLAG:
		snprintf(out, size, "%s", *(const bool *)at ? "yes" : "no");
		break;
	case TAKES_OFFLOAD:
		offload_print(at, out, size);
		break;
	}
}

bool setting_differs(enum setting i, const struct settings *s)
{
	char given[SETTING_TEXT], fallback[SETTING_TEXT];
	const struct settings d = settings_default();
	setting_print(i, s, given, sizeof given);
	setting_print(i, &d, fallback, sizeof fallback);
	return strcmp(given, fallback) != 0;
}

void setting_print_short(enum setting i, const struct settings *s, char *out, size_t size)
{
	const struct setting_row *row = &setting_rows[i];
	setting_print(i, s, out, size);
	if (row->type == TAKES_SIZE)
		number_exact_bytes(out, (int)size, *(const int64_t *)((const char *)s + row->offset));
	if (row->type != TAKES_REAL)
		return;
	char text[NUMBER_REAL];
	number_exact_real(text, *(const double *)((const char *)s + row->offset));
	snprintf(out, size, "%s", text);
}

bool setting_is_rule(enum setting i, const struct settings *s)
{
	const struct loss_scale_rule *rule = loss_scale_rule(s->loss_scaler);
	return (i == SETTING_LOSS_SCALER && s->loss_scaler != LOSS_SCALER_PYTORCH) ||
	       (i == SETTING_LOSS_SCALE && (!s->loss_scaler || s->loss_scale == rule->initial)) ||
	       (i == SETTING_LOSS_SCALE_WINDOW && (!s->loss_scaler || s->loss_scale_window == rule->window));
}
