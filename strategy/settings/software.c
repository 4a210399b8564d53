#include "strategy/settings/software.h"

#include <stdio.h>
#include <string.h>

#include "strategy/base/keys.h"

const struct software_row software_rows[SOFTWARE_SWITCHES] = {
#define X(constant, key, words, shardlab, pytorch, deepspeed, megatron, help)                                          \
	{#key, words, help, {shardlab, pytorch, deepspeed, megatron}},
        SOFTWARE_SWITCH_LIST(X)
#undef X
};

static const char software_names[] = ""
#define X(constant, name) #name "|"
        SOFTWARE_LIST(X)
#undef X
        ;

const char *software_name(enum software_name name)
{
	static const char *const names[SOFTWARE_NAMES] = {
#define X(constant, name) #name,
	        SOFTWARE_LIST(X)
#undef X
	};
	return names[name];
}

static enum status read_name(const char *text, struct software *out, char name[32])
{
	char words[sizeof software_names];
	int place;
	snprintf(words, sizeof words, "%.*s", (int)sizeof software_names - 2,
	         software_names); /* without the last bar */
	snprintf(name, 32, "%.*s", (int)strcspn(text, ":"), text);
	enum status s = word_parse(words, status_words("{as}"), name, &place);
	out->name = s ? SOFTWARE_OF_SHARDLAB : (enum software_name)place;
	return s;
}

enum { COMPILE = SOFTWARE_SWITCHES, KEYS }; /* the key beside the switches */

static enum status take_compile(const struct key_value value[KEYS], struct software *out)
{
	if (!value[COMPILE].given)
		return STATUS_OK;
	if (value[SOFTWARE_KERNELS].given)
		return status_fail(STATUS_INPUT, "{as}: compile and kernels say the same; give one");
	out->does[SOFTWARE_KERNELS] = key_is(&value[COMPILE], "yes") ? KERNELS_FUSED : KERNELS_EAGER;
	return STATUS_OK;
}

enum status software_parse(const char *text, struct software *out)
{
	char name[32];
	struct key list[KEYS];
	struct key_value value[KEYS];
	const struct keys keys = {"{as}", name, list, KEYS, ":", 0, 0};
	const char *pairs = strchr(text, ':');
	*out = (struct software){0};
	TRY(read_name(text, out, name));
	for (int i = 0; i < SOFTWARE_SWITCHES; i++) {
		const struct software_row *row = &software_rows[i];
		list[i] = (struct key){row->key, row->words, row->way[out->name], row->help};
	}
	list[COMPILE] = (struct key){"compile", "no|yes", "no", "kernels=eager, or fused"};
	TRY(keys_read(&keys, pairs ? pairs + 1 : NULL, value));
	for (int i = 0; i < SOFTWARE_SWITCHES; i++)
		out->does[i] = key_word(&value[i], list[i].values, 0);
	return take_compile(value, out);
}

const char *software_class(const struct software *s)
{
	static const char *const classes[SOFTWARE_NAMES] = {NULL, "pytorch-eager", "deepspeed", "megatron"};
	bool compiled = s->name == SOFTWARE_OF_PYTORCH && s->does[SOFTWARE_KERNELS] == KERNELS_FUSED;
	return compiled ? "pytorch-compiled" : classes[s->name];
}

enum status software_check_runs(const char *text)
{
	struct software s;
	enum status status = software_parse(text, &s);
	if (status || software_is_own(&s))
		return status;
	return status_fail(
	        STATUS_INPUT,
	        "{as} %s is simulated only: what runs here is shardlab's own trainer; leave it out, or ask sim", text);
}

bool software_is_own(const struct software *s)
{
	bool own = s->name == SOFTWARE_OF_SHARDLAB;
	for (int i = 0; i < SOFTWARE_SWITCHES; i++)
		own &= !s->does[i];
	return own;
}
