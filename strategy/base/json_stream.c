#include "strategy/base/json_stream.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool stream_fail(struct json_stream *j, const char *format, ...)
{
	char what[256];
	int line = 1;
	const char *start = j->begin;
	if (j->failed)
		return false;
	WITH_ARGS(format, vsnprintf(what, sizeof what, format, args));
	for (const char *p = j->begin; p < j->at && p < j->end; p++)
		if (*p == '\n') {
			line++;
			start = p + 1;
		}
	j->failed = status_fail(STATUS_INPUT, "%s:%d:%d: %s", j->name, line, (int)(j->at - start) + 1, what);
	return false;
}

static void skip_space(struct json_stream *j)
{
	while (j->at < j->end && (*j->at == ' ' || *j->at == '\n' || *j->at == '\t' || *j->at == '\r'))
		j->at++;
}

/* Skips white space. False at the end of the input, which is an error. */
static bool has_more(struct json_stream *j)
{
	if (j->failed)
		return false;
	skip_space(j);
	return j->at < j->end || stream_fail(j, "ends in the middle: truncated?");
}

char stream_peek(struct json_stream *j)
{
	if (!has_more(j))
		return 0;
	char c = *j->at;
	if (c == '-' || (c >= '0' && c <= '9'))
		return '0';
	if (c == '"' || c == '{' || c == '[' || c == 't' || c == 'f' || c == 'n')
		return c;
	stream_fail(j, "not JSON: unexpected character");
	return 0;
}

static bool expect(struct json_stream *j, char kind, const char *what)
{
	char c = stream_peek(j);
	return c && (c == kind || stream_fail(j, "expected %s", what));
}

bool stream_enter(struct json_stream *j, char open)
{
	if (!expect(j, open, open == '{' ? "an object" : "a list"))
		return false;
	if (j->depth == STREAM_DEPTH)
		return stream_fail(j, "nested more than %d deep", STREAM_DEPTH);
	j->at++;
	j->closers[j->depth] = open == '{' ? '}' : ']';
	j->fresh[j->depth++] = true;
	return true;
}

bool stream_element(struct json_stream *j)
{
	if (!has_more(j))
		return false;
	char closer = j->closers[j->depth - 1];
	if (*j->at == closer) {
		j->at++;
		j->depth--;
		return false;
	}
	if (!j->fresh[j->depth - 1]) {
		if (*j->at != ',')
			return stream_fail(j, "expected a comma or the end of the %s",
			                   closer == '}' ? "object" : "list");
		j->at++;
		skip_space(j);
	}
	j->fresh[j->depth - 1] = false;
	return true;
}

bool stream_key(struct json_stream *j, struct stream_text *key)
{
	if (!stream_element(j) || !stream_string(j, key))
		return false;
	if (!has_more(j))
		return false;
	if (*j->at != ':')
		return stream_fail(j, "expected a colon behind a key");
	j->at++;
	return true;
}

bool stream_string(struct json_stream *j, struct stream_text *out)
{
	if (!expect(j, '"', "a text in quotes"))
		return false;
	const char *p = j->at + 1;
	*out = (struct stream_text){.text = p};
	while (p < j->end && *p != '"') {
		if (*p == '\\') {
			out->escaped = true;
			p++;
		}
		if (p < j->end)
			p++;
	}
	if (p >= j->end)
		return stream_fail(j, "a text does not end: truncated?");
	out->size = (size_t)(p - out->text);
	j->at = p + 1;
	return true;
}

static bool in_number(char c)
{
	return (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '+' || c == 'e' || c == 'E';
}

bool stream_number(struct json_stream *j, struct stream_text *out)
{
	if (!expect(j, '0', "a number"))
		return false;
	const char *p = j->at, *digit = p + (*p == '-');
	if (digit == j->end || *digit < '0' || *digit > '9') {
		stream_fail(j, digit == j->end ? "ends in the middle: truncated?" : "not JSON: a number needs a digit");
		return false;
	}
	while (p < j->end && in_number(*p))
		p++;
	*out = (struct stream_text){.text = j->at, .size = (size_t)(p - j->at)};
	j->at = p;
	return true;
}

bool stream_text_whole(const struct stream_text *t, int64_t *out)
{
	int64_t v = 0;
	bool negative = t->size && t->text[0] == '-';
	for (size_t i = negative; i < t->size; i++)
		if (t->text[i] < '0' || t->text[i] > '9' || __builtin_mul_overflow(v, 10, &v) ||
		    __builtin_add_overflow(v, t->text[i] - '0', &v))
			return false;
	*out = negative ? -v : v;
	return t->size > (size_t)negative;
}

bool stream_whole(struct json_stream *j, int64_t *out)
{
	struct stream_text t;
	if (!stream_number(j, &t))
		return false;
	return stream_text_whole(&t, out) ||
	       stream_fail(j, "'%.*s' is not a whole number", t.size < 40 ? (int)t.size : 40, t.text);
}

bool stream_boolean(struct json_stream *j, bool *out)
{
	char c = stream_peek(j);
	*out = c == 't';
	if (c && c != 't' && c != 'f')
		stream_fail(j, "expected true or false");
	return c && stream_skip(j);
}

bool stream_thousandths(struct json_stream *j, int64_t *out)
{
	struct stream_text t;
	int64_t v = 0;
	int decimals = -1;
	if (!stream_number(j, &t))
		return false;
	bool negative = t.text[0] == '-', plain = t.size < 30;
	for (size_t i = negative; plain && i < t.size; i++) {
		char c = t.text[i];
		if (c == '.' && decimals < 0)
			decimals = 0;
		else if (c < '0' || c > '9')
			plain = false;
		else if (decimals < 3) {
			plain = !__builtin_mul_overflow(v, 10, &v) && !__builtin_add_overflow(v, c - '0', &v);
			decimals += decimals >= 0;
		} else if (decimals == 3) { /* rounded by the fourth */
			plain = !__builtin_add_overflow(v, c >= '5', &v);
			decimals++;
		}
	}
	for (int i = decimals < 0 ? 0 : decimals; plain && i < 3; i++)
		plain = !__builtin_mul_overflow(v, 10, &v);
	if (!plain) {
		char copy[64];
		snprintf(copy, sizeof copy, "%.*s", t.size < 60 ? (int)t.size : 60, t.text);
		char *end;
		double d = strtod(copy, &end) * 1000;
		if (*end || t.size >= 60 || !isfinite(d) || fabs(d) > 9e18)
			return stream_fail(j, "'%.40s' is not a time", copy);
		*out = (int64_t)llround(d);
		return true;
	}
	*out = negative ? -v : v;
	return true;
}

static bool skip_word(struct json_stream *j, const char *word)
{
	size_t n = strlen(word);
	size_t left = (size_t)(j->end - j->at);
	if (left < n || strncmp(j->at, word, n) != 0) {
		bool cut = left < n && !strncmp(j->at, word, left);
		return stream_fail(j, cut ? "ends in the middle of %s: truncated?" : "not JSON: expected %s", word);
	}
	j->at += n;
	return true;
}

/* A scalar; of an array or an object its beginning. */
static bool skip_token(struct json_stream *j)
{
	struct stream_text t;
	char c = stream_peek(j);
	switch (c) {
	case '{':
	case '[':
		return stream_enter(j, c);
	case '"':
		return stream_string(j, &t);
	case '0':
		return stream_number(j, &t);
	default:
		return c && skip_word(j, c == 't' ? "true" : c == 'f' ? "false" : "null");
	}
}

bool stream_skip(struct json_stream *j)
{
	struct stream_text t;
	int base = j->depth;
	do {
		if (j->depth > base) { /* inside: the next element, or the way out */
			char closer = j->closers[j->depth - 1];
			if (closer == '}' ? !stream_key(j, &t) : !stream_element(j))
				continue;
		}
		skip_token(j);
	} while (!j->failed && j->depth > base);
	return !j->failed;
}

bool stream_finished(struct json_stream *j)
{
	if (j->failed)
		return false;
	skip_space(j);
	return j->at == j->end || stream_fail(j, "there is more behind the end");
}

bool stream_same(const struct stream_text *a, const struct stream_text *b)
{
	return a->size == b->size && (!a->size || !memcmp(a->text, b->text, a->size));
}

/* ---- escapes ---- */

static unsigned hex4(const char *p, const char *end)
{
	static const char digits[] = "0123456789abcdefABCDEF";
	unsigned v = 0;
	for (int i = 0; i < 4; i++) {
		const char *digit = end - p > i && p[i] ? strchr(digits, p[i]) : NULL;
		if (!digit)
			return 0xFFFD;
		v = v << 4 | (unsigned)(digit - digits < 16 ? digit - digits : digit - digits - 6);
	}
	return v;
}

static char *put_utf8(char *out, unsigned v)
{
	int more = v < 0x80 ? 0 : v < 0x800 ? 1 : v < 0x10000 ? 2 : 3; /* bytes, of 6 bits each, after the first */
	static const unsigned char lead[] = {0, 0xC0, 0xE0, 0xF0};
	*out++ = (char)(lead[more] | v >> 6 * more);
	while (more-- > 0)
		*out++ = (char)(0x80 | (v >> 6 * more & 63));
	return out;
}

/* \uXXXX at p, which stands behind the u; a pair of surrogates is one character. */
static const char *unicode(const char *p, const char *end, unsigned *v)
{
	*v = hex4(p, end);
	p = end - p < 4 ? end : p + 4;
	if (*v >= 0xD800 && *v < 0xDC00 && end - p >= 6 && p[0] == '\\' && p[1] == 'u') {
		unsigned low = hex4(p + 2, end);
		if (low >= 0xDC00 && low < 0xE000) {
			*v = 0x10000 + ((*v - 0xD800) << 10) + (low - 0xDC00);
			return p + 6;
		}
	}
	if ((*v >= 0xD800 && *v < 0xE000) || !*v)
		*v = 0xFFFD;
	return p;
}

static unsigned without_control(unsigned v, bool plain)
{
	return plain && (v < ' ' || v == 0x7F) ? ' ' : v;
}

char *stream_copy(struct arena *a, const struct stream_text *t, bool plain, size_t *size)
{
	char *copy = arena_alloc(a, t->size + 1), *out = copy;
	const char *p = t->text, *end = t->text + t->size;
	while (p < end) {
		unsigned v = (unsigned char)*p++;
		if (v != '\\' || p == end) {
			*out++ = (char)without_control(v, plain);
			continue;
		}
		char c = *p++;
		if (c == 'u') {
			p = unicode(p, end, &v);
			out = put_utf8(out, without_control(v, plain));
			continue;
		}
		v = c == 'n' ? '\n' : c == 't' ? '\t' : c == 'r' ? '\r' : c == 'b' || c == 'f' ? ' ' : (unsigned char)c;
		*out++ = (char)without_control(v, plain);
	}
	*out = 0;
	if (size)
		*size = (size_t)(out - copy);
	return copy;
}
