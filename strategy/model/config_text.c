/* The text of a config.json as a specification: the family of its type, its rows, and the preset that is the same
 * model.
 */
#include <string.h>

#include "strategy/model/config.h"
#include "strategy/model/config_file.h"
#include "strategy/model/model.h"

static const struct config_family *const families[] = {&config_llama, &config_gpt2, &config_mpt, &config_opt};
enum { FAMILIES = sizeof families / sizeof families[0] };

/* ---- the specification ---- */

/* The file's keys, less those that the user's replace, and the user's. */
static const char *join(const struct config *c, const char *base, const char *overrides)
{
	const char *text = arena_print(c->arena, "%s:", base), *comma = "";
	for (int i = 0; i < c->pair_count; i++) {
		const struct config_pair *p = &c->pairs[i];
		text = arena_print(c->arena, "%s%s%s=%s", text, comma, p->key, p->value);
		comma = ",";
	}
	return overrides ? arena_print(c->arena, "%s%s%s", text, comma, overrides) : text;
}

static void drop_pair(struct config *c, const char *key, size_t length)
{
	int kept = 0;
	for (int i = 0; i < c->pair_count; i++)
		if (strlen(c->pairs[i].key) != length || strncmp(c->pairs[i].key, key, length) != 0)
			c->pairs[kept++] = c->pairs[i];
	c->pair_count = kept;
}

/* A scaling of the user's has none of the file's numbers. */
static void make_way(struct config *c, const char *overrides)
{
	static const char *const numbers[] = {"factor", "original", "low", "high"};
	for (const char *p = overrides; p && *p; p += strcspn(p, ","), p += *p == ',') {
		size_t length = strcspn(p, "=,");
		drop_pair(c, p, length);
		for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
			if (length == 7 && !strncmp(p, "scaling", length))
				drop_pair(c, numbers[i], strlen(numbers[i]));
	}
}

/* A preset that is the same model. */
struct preset {
	struct arena *arena;
	const char *begins, *keys; /* names begin with one of a|b; its keys, in the order of specifications */
	const char *name, *what;   /* found; NULL */
};

static bool begins_with_one(const char *words, const char *text)
{
	for (;; words++) {
		size_t length = strcspn(words, "|");
		if (!strncmp(words, text, length))
			return true;
		words += length;
		if (!*words)
			return false;
	}
}

static void compare_preset(void *context, const char *name, const char *what)
{
	struct preset *p = context;
	struct model m;
	(void)what;
	if (p->name || !begins_with_one(p->begins, name) || model_open(&m, name, 0))
		return;
	const char *colon = strchr(m.specification, ':');
	if (colon && !strcmp(colon, p->keys))
		p->name = arena_copy(p->arena, name);
	model_release(&m);
}

/* Opens what the file says, so that whatever is still wrong is said here, and equal models have equal texts. */
static enum status settle(const struct config *c, const struct config_family *f, const char *raw, const char *name,
                          const char **out)
{
	struct model m;
	enum status s = model_open(&m, raw, 0);
	if (s)
		return status_prefix(s, "%s", c->where);
	*out = arena_copy(c->arena, m.specification);
	model_release(&m);
	struct preset p = {.arena = c->arena, .begins = f->presets, .keys = strchr(*out, ':')};
	model_list(compare_preset, &p);
	if (p.name)
		*out = p.name;
	if (name && *name && strcmp(name, *out) != 0 && !strstr(*out, "name="))
		*out = arena_print(c->arena, "%s%cname=%s", *out, p.name ? ':' : ',', name);
	return STATUS_OK;
}

/* ---- the file ---- */

static const struct config_family *find_family(const char *type, int *place)
{
	for (int f = 0; f < FAMILIES; f++)
		for (*place = 0; *place < CONFIG_TYPES && families[f]->types[*place]; ++*place)
			if (!strcmp(families[f]->types[*place], type))
				return families[f];
	return NULL;
}

/* Goes into text_config, where the model is that of a text and more. */
static enum status follow_text(struct config *c)
{
	const json_t *text = config_find(c, "text_config");
	const char *type = NULL, *outer = c->type;
	if (!text || json_is_null(text))
		return STATUS_OK;
	if (!json_is_object(text))
		return config_fail(c, "text_config", "is not an object");
	c->object = text;
	c->inside = "text_config.";
	enum status s = config_text(c, "model_type", &type);
	if (!s && !type && !(type = config_text_type(outer)))
		s = config_fail(c, "model_type", "missing");
	c->type = type;
	return s;
}

static enum status find_type(struct config *c)
{
	int place;
	enum status s = config_text(c, "model_type", &c->type);
	if (s)
		return s;
	if (!c->type && config_given(c, "peft_type"))
		c->type = "";
	if (!c->type)
		return config_fail(c, "model_type", "missing; a config.json of transformers has it");
	if ((s = config_check_file(c)) || find_family(c->type, &place))
		return s;
	const json_t *outer = c->object;
	s = follow_text(c);
	return s || c->object == outer ? s : config_check_file(c);
}

static enum status read_object(struct config *c, const char *overrides, const char *name, const char **out)
{
	int place = 0;
	TRY(find_type(c));
	const struct config_family *f = find_family(c->type ? c->type : "", &place);
	if (!f)
		return config_refuse_type(c);
	TRY(config_rows(c, f->rows, f->count, place));
	TRY(f->finish(c, place));
	make_way(c, overrides);
	if (*c->inside && name && *name) /* what else the file describes is left out */
		name = arena_print(c->arena, "%s-text", name);
	return settle(c, f, join(c, f->base[place], overrides), name, out);
}

enum status model_config_text(struct arena *a, const char *text, size_t size, const char *where, const char *overrides,
                              const char *name, const char **specification)
{
	json_error_t error;
	json_t *file = json_loadb(text, size, JSON_REJECT_DUPLICATES, &error);
	*specification = NULL;
	for (char *p = error.text; !file && *p; p++)
		if ((unsigned char)*p < ' ' || *p == 0x7f)
			*p = '?';
	if (!file)
		return status_fail(STATUS_INPUT, "%s:%d:%d: not JSON: %s", where, error.line, error.column, error.text);
	struct config c = {.arena = a, .where = where, .file = file, .object = file, .inside = ""};
	enum status s = json_is_object(file)
	                        ? read_object(&c, overrides, name, specification)
	                        : status_fail(STATUS_INPUT, "%s: not a JSON object, which a config.json is", where);
	json_decref(file);
	return s;
}
