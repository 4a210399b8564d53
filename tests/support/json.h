/* Members of JSON objects, in tests with Check: what is not there, or of another kind, fails the test.
 *
 *     json_t *golden = json_open("tests/golden/mlp.json");
 *     int64_t batch = whole_of(golden, "batch");
 */
#ifndef SHARDLAB_TESTS_JSON_H
#define SHARDLAB_TESTS_JSON_H

#include <check.h>
#include <jansson.h>

static inline json_t *json_open(const char *path)
{
	json_error_t error;
	json_t *file = json_load_file(path, 0, &error);
	ck_assert_msg(file != NULL, "%s: %s (tests run in the top folder)", path, error.text);
	return file;
}

static inline json_t *member_of(const json_t *o, const char *key)
{
	json_t *value = json_object_get(o, key);
	ck_assert_msg(value != NULL, "there is no '%s'", key);
	return value;
}

static inline const char *text_of(const json_t *o, const char *key)
{
	ck_assert_msg(json_is_string(member_of(o, key)), "%s is not text", key);
	return json_string_value(json_object_get(o, key));
}

static inline int64_t whole_of(const json_t *o, const char *key)
{
	ck_assert_msg(json_is_integer(member_of(o, key)), "%s is not a whole number", key);
	return json_integer_value(json_object_get(o, key));
}

static inline double number_of(const json_t *o, const char *key)
{
	ck_assert_msg(json_is_number(member_of(o, key)), "%s is not a number", key);
	return json_number_value(json_object_get(o, key));
}

/* The i-th number of a list. */
static inline double number_at(const json_t *list, int i)
{
	return json_number_value(json_array_get(list, (size_t)i));
}

#endif
