#include "strategy/trace/json_form.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "strategy/base/character.h"

bool form_expect(struct form *f, bool holds, const char *key, const char *what)
{
	if (!holds && !f->status)
		f->status = status_fail(STATUS_RUN, "a report whose '%s' is not %s", key, what);
	return !f->status;
}

static const json_t *take(struct form *f, const char *key)
{
	const json_t *v = json_object_get(f->o, key);
	if (!v && !f->status)
		f->status = status_fail(STATUS_RUN, "a report without '%s'", key);
	return f->status ? NULL : v;
}

static void put(struct form *f, const char *key, json_t *v)
{
	json_object_set_new(f->o, key, v);
}

void form_whole_or_null(struct form *f, const char *key, int64_t *v, int64_t none)
{
	if (!f->reads)
		put(f, key, *v == none ? json_null() : json_integer(*v));
	else if (json_is_null(json_object_get(f->o, key)))
		*v = none;
	else if (form_expect(f, json_is_integer(take(f, key)), key, "a whole number"))
		*v = json_integer_value(json_object_get(f->o, key));
}

void form_whole(struct form *f, const char *key, int64_t *v)
{
	if (f->reads)
		form_expect(f, !json_is_null(json_object_get(f->o, key)), key, "a whole number");
	form_whole_or_null(f, key, v, INT64_MIN);
}

void form_countable(struct form *f, const char *key, int64_t *v)
{
	form_whole_or_null(f, key, v, -1);
}

json_t *form_real_to_json(double v)
{
	return isfinite(v) ? json_real(v) : json_null();
}

double form_real_from_json(struct form *f, const json_t *v, const char *key)
{
	return form_expect(f, json_is_number(v) || json_is_null(v), key, "a number") && !json_is_null(v)
	               ? json_number_value(v)
	               : (double)NAN;
}

void form_real(struct form *f, const char *key, double *v)
{
	if (f->reads)
		*v = form_real_from_json(f, take(f, key), key);
	else
		put(f, key, form_real_to_json(*v));
}

void form_seconds(struct form *f, const char *key, int64_t *ns)
{
	double s = (double)*ns / 1e9;
	form_real(f, key, &s);
	if (f->reads && form_expect(f, s >= 0 && s < 9e9, key, "a time in seconds"))
		*ns = llround(s * 1e9);
}

void form_yes_no(struct form *f, const char *key, bool *v)
{
	if (!f->reads)
		put(f, key, json_boolean(*v));
	else if (form_expect(f, json_is_boolean(take(f, key)), key, "true or false"))
		*v = json_is_true(json_object_get(f->o, key));
}

/* A file's name need not be UTF-8. */
static json_t *plain_to_json(const char *text)
{
	char plain[1024];
	snprintf(plain, sizeof plain, "%s", text);
	character_make_plain(plain);
	return json_string(plain);
}

void form_text(struct form *f, const char *key, char *v, size_t size)
{
	if (!f->reads)
		put(f, key, plain_to_json(v));
	else if (form_expect(f, json_string_length(take(f, key)) < size && json_is_string(json_object_get(f->o, key)),
	                     key, "text of that length"))
		snprintf(v, size, "%s", json_string_value(json_object_get(f->o, key)));
}

int form_word(struct form *f, const char *key, int place, const char *const *words)
{
	char value[16] = "";
	snprintf(value, sizeof value, "%s", words[place]);
	FORM_TEXT(f, key, value);
	for (place = 0; words[place] && strcmp(words[place], value) != 0; place++)
		;
	return form_expect(f, words[place] != NULL, key, "one of its words") ? place : 0;
}

bool form_absent(const struct form *f, const char *key, bool out)
{
	return f->reads ? !json_object_get(f->o, key) : out;
}

bool form_null(struct form *f, const char *key, bool none)
{
	if (!f->reads && none)
		put(f, key, json_null());
	return f->reads ? json_is_null(json_object_get(f->o, key)) : none;
}

json_t *form_enter(struct form *f, const char *key)
{
	json_t *outer = f->o;
	if (!f->reads)
		put(f, key, json_object());
	else if (!form_expect(f, json_is_object(take(f, key)), key, "an object"))
		return NULL;
	f->o = json_object_get(outer, key);
	return outer;
}

json_t *form_leave(struct form *f, json_t *outer)
{
	f->o = outer;
	return NULL;
}

json_t *form_element(const struct form *f, json_t *list, int64_t i)
{
	if (!f->reads)
		json_array_append_new(list, json_object());
	return json_array_get(list, (size_t)i);
}

json_t *form_list(struct form *f, const char *key, int64_t most)
{
	if (f->reads)
		return form_expect(f, json_is_array(take(f, key)) && (int64_t)json_array_size(take(f, key)) <= most,
		                   key, "a list of that length")
		               ? json_object_get(f->o, key)
		               : NULL;
	json_t *list = json_array();
	put(f, key, list);
	return list;
}
