/* Sentences in other languages: which language a user has, what is looked up, and that every translation takes the
 * arguments of its original. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "strategy/base/language.h"
#include "tests/support/suite.h"

/* ---- whose language ---- */

START_TEST(names_of_languages)
{
	static const struct {
		const char *name, *language;
	} rows[] = {{"zh", "zh"},          {"zh_CN.UTF-8", "zh"}, {"zh-TW", "zh"}, {"zh:en", "zh"},
	            {"en_US.UTF-8", "en"}, {"C.UTF-8", "en"},     {"", "en"},      {"z", "en"},
	            {"zhx", "en"},         {"fr", "en"}};
	for (int i = 0; i < COUNT(rows); i++)
		ck_assert_msg(!strcmp(language_of(rows[i].name), rows[i].language), "%s is %s", rows[i].name,
		              language_of(rows[i].name));
}

START_TEST(the_first_variable_that_is_set_counts)
{
	static const char *const variables[] = {"LANG", "LC_MESSAGES", "LC_ALL", "LANGUAGE"};
	for (int i = 0; i < COUNT(variables); i++)
		unsetenv(variables[i]);
	ck_assert_str_eq(language_of_user(), "en");
	for (int i = 0; i < COUNT(variables); i++) {
		setenv(variables[i], "", 1);
		ck_assert_str_eq(language_of_user(), i % 2 ? "zh" : "en");
		setenv(variables[i], i % 2 ? "en_US.UTF-8" : "zh_CN.UTF-8", 1);
		ck_assert_str_eq(language_of_user(), i % 2 ? "en" : "zh");
	}
}

START_TEST(what_the_table_lacks_stays_english)
{
	struct sentence first;
	ck_assert(language_sentence("zh", 0, &first));
	ck_assert_str_eq(tr(first.english), first.english);
	language_set("zh");
	ck_assert_str_eq(tr(first.english), first.translated);
	ck_assert_str_eq(tr("No table has this."), "No table has this.");
	ck_assert_str_eq(tr_in("en", first.english), first.english);
	ck_assert_str_eq(tr_in("zh", first.english), first.translated);
	language_set("en");
	ck_assert_str_eq(tr(first.english), first.english);
}

START_TEST(a_name_has_a_key_of_its_own)
{
	static const char *const keys[] = {"worker:", "root:", NULL};
	ck_assert_str_eq(tr_name("root", keys), "root");
	language_set("zh");
	ck_assert_str_eq(tr_name("root", keys), "根");
	ck_assert_str_eq(tr_name("roo", keys), "roo");
	ck_assert_str_eq(tr_name("stage 1", keys), "stage 1");
	ck_assert_str_eq(tr_name("root", keys + 2), "root");
	language_set("en");
}

START_TEST(spaces_are_those_of_the_language)
{
	static const struct {
		const char *text, *spaced;
	} rows[] = {{"每个 rank 读入 4个样本", "每个 rank 读入 4 个样本"},
	            {"bucket.0的 全归约 ，完成", "bucket.0 的全归约，完成"},
	            {"参数 1 MB, 梯度 2 MB", "参数 1 MB，梯度 2 MB"},
	            {"显存: 3 GB; 4 GB", "显存：3 GB; 4 GB"},
	            {"rank 0, 2–3: 4,096 B", "rank 0, 2–3: 4,096 B"},
	            {"  in English  ", "  in English  "},
	            {"", ""}};
	char text[64];
	snprintf(text, sizeof text, "%s", rows[0].text);
	language_space(text, sizeof text); /* in English nothing changes */
	ck_assert_str_eq(text, rows[0].text);
	language_set("zh");
	ck_assert_str_eq(language_chosen(), "zh");
	for (int i = 0; i < COUNT(rows); i++) {
		snprintf(text, sizeof text, "%s", rows[i].text);
		language_space(text, sizeof text);
		ck_assert_str_eq(text, rows[i].spaced);
	}
	char small[8] = "a字";
	language_space(small, strlen(small) + 1); /* no room for the space */
	ck_assert_str_eq(small, "a字");
	language_set("en");
}

/* ---- conversions ---- */

enum { ARGUMENTS = 16 };

/* The type of each argument, such as "ld" or "s"; 0: nothing takes it. */
struct arguments {
	char type[ARGUMENTS][8];
	int count; /* or one of: */
};
enum { MIXED = -1, NO_FORMAT = -2 }; /* with a position and without; a per cent sign that is meant as one */

static void take(struct arguments *a, int i, const char *type, int length)
{
	if (i >= ARGUMENTS || length > 7 || (a->type[i][0] && strncmp(a->type[i], type, (size_t)length) != 0)) {
		a->count = MIXED;
		return;
	}
	snprintf(a->type[i], sizeof a->type[i], "%.*s", length, type);
	a->count = i + 1 > a->count ? i + 1 : a->count;
}

/* "2$" at *at, from 1; 0: there is none. */
static int read_position(const char **at)
{
	char *end;
	long position = isdigit((unsigned char)**at) ? strtol(*at, &end, 10) : 0;
	if (!position || *end != '$')
		return 0;
	*at = end + 1;
	return (int)position;
}

/* Moves *at behind a conversion, whose per cent sign is before it. *next: the argument that it takes without a
 * position.
 */
static void read_conversion(struct arguments *a, const char **at, int *next, int *placed)
{
	int position = read_position(at);
	for (*at += strspn(*at, "-+ #0"); **at && strchr("0123456789.*", **at); (*at)++)
		if (**at == '*')
			take(a, position ? ARGUMENTS : (*next)++, "*", 1);
	const char *type = *at;
	*at += strspn(*at, "hlzjt");
	if (!**at || !strchr("diuoxXfeEgGcsp", **at)) {
		a->count = NO_FORMAT;
		return;
	}
	(*at)++;
	*placed += position > 0;
	take(a, position ? position - 1 : (*next)++, type, (int)(*at - type));
}

static struct arguments arguments_of(const char *format)
{
	struct arguments a = {.count = 0};
	int next = 0, placed = 0;
	for (const char *at = strchr(format, '%'); at && a.count >= 0; at = strchr(at, '%')) {
		if (*++at == '%')
			at++;
		else
			read_conversion(&a, &at, &next, &placed);
	}
	if (placed && next && a.count >= 0)
		a.count = MIXED;
	return a;
}

/* printf must know the type of each argument up to the last. */
static bool same_arguments(const char *english, const char *translated)
{
	struct arguments a = arguments_of(english), b = arguments_of(translated);
	bool same = a.count == b.count && b.count != MIXED;
	if (a.count == NO_FORMAT)
		return true;
	for (int i = 0; same && i < a.count; i++)
		same = a.type[i][0] && !strcmp(a.type[i], b.type[i]);
	return same;
}

START_TEST(arguments_are_compared)
{
	static const struct {
		const char *english, *translated;
		bool same;
	} rows[] = {
	        {"none", "没有", true},           {"%d of %s", "%d %s", true},
	        {"%d of %s", "%2$s %1$d", true},  {"%d of %s", "%2$s%1$.0d", true},
	        {"%d of %s", "%2$d %1$s", false}, {"%d of %s", "%s %d", false},
	        {"%d of %s", "%d", false},        {"%d of %s", "%2$s", false},
	        {"%d of %s", "%1$d %s", false},   {"%d", "%ld", false},
	        {"%ld", "%1$ld", true},           {"%5.1f %%", "%.0f %%", true},
	        {"%.*s", "%.*s", true},           {"%.*s", "%s", false},
	        {"%d half", "%d 50 %。", false},  {"such as 50 %.", "例如 50 %。", true},
	};
	for (int i = 0; i < COUNT(rows); i++)
		ck_assert_msg(same_arguments(rows[i].english, rows[i].translated) == rows[i].same, "%s: %s",
		              rows[i].english, rows[i].translated);
}

/* ---- the table ---- */

static char last(const char *text)
{
	return *text ? text[strlen(text) - 1] : 0;
}

static size_t tabs(const char *text)
{
	size_t n = 0;
	for (; *text; text++)
		n += *text == '\t';
	return n;
}

static void check_row(size_t i, const struct sentence *s)
{
	struct sentence other;
	ck_assert_msg(same_arguments(s->english, s->translated), "'%s' takes other arguments than '%s'", s->translated,
	              s->english);
	ck_assert_msg(*s->translated && (last(s->english) == '\n') == (last(s->translated) == '\n') &&
	                      tabs(s->english) == tabs(s->translated),
	              "'%s' has not the lines and columns of '%s'", s->translated, s->english);
	for (size_t j = 0; j < i && language_sentence("zh", j, &other); j++)
		ck_assert_msg(strcmp(other.english, s->english) != 0, "'%s' comes twice", s->english);
}

START_TEST(every_translation_takes_the_arguments_of_its_original)
{
	struct sentence s;
	size_t count = 0;
	for (; language_sentence("zh", count, &s); count++)
		check_row(count, &s);
	ck_assert_uint_ge(count, 20);
}

SUITE("language", 0)
