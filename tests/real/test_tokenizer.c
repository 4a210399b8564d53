/* Tokenizers against Hugging Face's `tokenizers`: ids of a hundred texts for a file of each kind, and what becomes of
 * them as text again. tests/oracle/tokenizer.py made tests/golden/tokenizers and says what is in it. Then what a file
 * must not say. */
#include "real/tokenizer/tokenizer.h"

#include <stdio.h>
#include <string.h>

#include "real/generate/codec.h"
#include "tests/support/json.h"
#include "tests/support/refusal.h"
#include "tests/support/scratch.h"
#include "tests/support/suite.h"

#define FOLDER "tests/golden/tokenizers/"

static const char *const kinds[] = {"gpt2", "llama3", "qwen2",     "llama2",    "mistral",
                                    "neox", "digits", "quicktour", "lowercase", "words"};

static void open_kind(struct tokenizer *t, const char *kind)
{
	char path[256];
	snprintf(path, sizeof path, FOLDER "%s.json", kind);
	must(tokenizer_open(t, path));
}

static void check_ids(const char *kind, const json_t *text, const struct token_list *got, const json_t *want)
{
	char line[4096] = "";
	for (size_t i = 0, n = 0; i < got->count && n < sizeof line - 16; i++, n = strlen(line))
		snprintf(line + n, sizeof line - n, " %d", got->list[i]);
	ck_assert_msg(got->count == json_array_size(want), "%s, '%s': %zu ids, not %zu:%s", kind,
	              json_string_value(text), got->count, json_array_size(want), line);
	for (size_t i = 0; i < got->count; i++)
		ck_assert_msg(got->list[i] == (int32_t)json_integer_value(json_array_get(want, i)),
		              "%s, '%s': id %zu is %d, not %d:%s", kind, json_string_value(text), i, got->list[i],
		              (int)json_integer_value(json_array_get(want, i)), line);
}

START_LOOP_TEST(encodes, 0, COUNT(kinds))
{
	json_t *golden = json_open(FOLDER "ids.json");
	const json_t *texts = member_of(golden, "texts"), *ids = member_of(member_of(golden, kinds[_i]), "ids");
	struct tokenizer t;
	open_kind(&t, kinds[_i]);
	ck_assert_uint_ge(json_array_size(texts), 100);
	for (size_t i = 0; i < json_array_size(texts); i++) {
		const json_t *text = json_array_get(texts, i);
		struct token_list got = {0};
		must(tokenizer_encode(&t, json_string_value(text), json_string_length(text), &got));
		check_ids(kinds[_i], text, &got, json_array_get(ids, i));
		token_list_release(&got);
	}
	tokenizer_release(&t);
	json_decref(golden);
}

/* A byte that belongs to no character is U+FFFD there. */
START_LOOP_TEST(decodes, 0, COUNT(kinds))
{
	json_t *golden = json_open(FOLDER "ids.json"), *kind = member_of(golden, kinds[_i]);
	const json_t *ids = member_of(kind, "ids"), *texts = member_of(kind, "decoded");
	struct tokenizer t;
	open_kind(&t, kinds[_i]);
	for (size_t i = 0; i < json_array_size(ids); i++) {
		const json_t *list = json_array_get(ids, i);
		struct bytes got = {0}, whole = {0};
		for (size_t k = 0; k < json_array_size(list); k++)
			tokenizer_decode(&t, (int32_t)json_integer_value(json_array_get(list, k)), k == 0, &got);
		codec_take_whole(&got, true, &whole);
		bytes_add(&whole, "", 1);
		ck_assert_str_eq(whole.at, json_string_value(json_array_get(texts, i)));
		bytes_release(&got);
		bytes_release(&whole);
	}
	tokenizer_release(&t);
	json_decref(golden);
}

/* ---- what a file must not say ---- */

#define VOCABULARY "\"vocab\":{\"a\":0,\"b\":1,\"ab\":2}"
#define MODEL(more) "\"model\":{\"type\":\"BPE\"," VOCABULARY "," more "}"
#define DECODER "\"decoder\":{\"type\":\"Fuse\"}"
#define GOOD MODEL("\"merges\":[\"a b\"]") "," DECODER

static const struct {
	const char *text, *says;
} wrong[] = {
        {"", "not JSON"},
        {"{\"model\":", "not JSON"},
        {"[]", "not an object"},
        {"{}", "model: it is missing"},
        {"{\"\":1}", "'' is not supported"},
        {"{\"truncation padding\":1}", "'truncation padding' is not supported"},
        {"{" MODEL("\"merges\":[],\"type vocab\":1") "}", "'type vocab' is not supported"},
        {"{" GOOD ",\"extra\":1}", "'extra' is not supported"},
        {"{\"model\":{\"type\":\"WordPiece\",\"vocab\":{}}}", "type 'WordPiece' is not supported"},
        {"{\"model\":{\"type\":\"Unigram\",\"vocab\":[]}}", "type 'Unigram' is not supported"},
        {"{\"model\":{\"type\":\"BPE\",\"vocab\":{},\"merges\":[]}}", "model.vocab"},
        {"{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":-1},\"merges\":[]}}", "'a' needs an id"},
        {"{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":4194304},\"merges\":[]}}", "'a' needs an id"},
        {"{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0,\"b\":0},\"merges\":[]}}", "have one id"},
        {"{" MODEL("\"merges\":[\"a c\"]") "}", "model.merges: entry 0: 'c' is not in the vocabulary"},
        {"{" MODEL("\"merges\":[\"a b\",[\"b\",\"a\"]]") "}", "entry 1: 'ba' is not in the vocabulary"},
        {"{" MODEL("\"merges\":[\"a b c\"]") "}", "entry 0 is not two tokens"},
        {"{" MODEL("\"merges\":[[\"a\"]]") "}", "entry 0 is not two tokens"},
        {"{" MODEL("\"merges\":[],\"unk_token\":\"x\"") "}", "unk_token 'x' is not in the vocabulary"},
        {"{" MODEL("\"merges\":[],\"dropout\":0.1") "}", "dropout is not supported"},
        {"{" MODEL("\"merges\":[],\"end_of_word_suffix\":\"</w>\"") "}", "end_of_word_suffix '</w>'"},
        {"{\"model\":{\"type\":\"WordLevel\"," VOCABULARY "}}", "unk_token: a WordLevel needs"},
        {"{" GOOD ",\"truncation\":{\"max_length\":5}}", "truncation: it is not supported"},
        {"{" GOOD ",\"normalizer\":{\"type\":\"Nmt\"}}", "normalizer: type 'Nmt'"},
        {"{" GOOD ",\"normalizer\":{\"type\":\"Sequence\",\"normalizers\":[{\"type\":\"NFC\"},{\"type\":\"Strip\"}]}}",
         "normalizer.normalizers[1]: type 'Strip'"},
        {"{" GOOD ",\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":{\"Regex\":\"(a\"},\"behavior\":\"Isolated\","
         "\"invert\":false}}",
         "its pattern is wrong"},
        {"{" GOOD ",\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":{\"Regex\":\"\\\\h\"},\"behavior\":\"Isolated\","
         "\"invert\":false}}",
         "is not supported, at \"\\h"},
        {"{" GOOD ",\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":{\"Regex\":\"a{2}+\"},\"behavior\":\"Isolated\","
         "\"invert\":false}}",
         "+ behind a count"},
        {"{" GOOD ",\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":{\"String\":\"a\"},\"behavior\":\"Often\","
         "\"invert\":false}}",
         "behavior 'Often' is not supported"},
        {"{" GOOD ",\"pre_tokenizer\":{\"type\":\"ByteLevel\",\"use_regex\":1}}", "use_regex: true or false"},
        {"{" GOOD ",\"post_processor\":{\"type\":\"BertProcessing\"}}", "post_processor: type 'BertProcessing'"},
        {"{" GOOD ",\"post_processor\":{\"type\":\"TemplateProcessing\",\"single\":[],\"special_tokens\":{}}}",
         "the text is missing"},
        {"{" GOOD ",\"post_processor\":{\"type\":\"TemplateProcessing\",\"single\":[{\"SpecialToken\":{\"id\":\"x\","
         "\"type_id\":0}}],"
         "\"special_tokens\":{}}}",
         "'x' is missing"},
        {"{" GOOD ",\"added_tokens\":[{\"id\":9,\"content\":\"a\"}]}", "'a' has id 9"},
        {"{" GOOD ",\"added_tokens\":[{\"id\":0,\"content\":\"x\"}]}", "'x' has id 0"},
        {"{" GOOD ",\"added_tokens\":[{\"content\":\"x\"}]}", "'x' needs an id"},
        {"{" GOOD ",\"added_tokens\":[{\"id\":3,\"content\":\"x\",\"strip\":true}]}", "'strip' is not supported"},
};

START_LOOP_TEST(refused, 0, COUNT(wrong))
{
	struct tokenizer t;
	scratch_make();
	must(tokenizer_open(&t, scratch_text("it.json", "{" GOOD "}")));
	ck_assert_int_eq(tokenizer_size(&t), 3);
	tokenizer_release(&t);
	const char *file = scratch_text("it.json", wrong[_i].text);
	must_fail(tokenizer_open(&t, file), STATUS_INPUT, wrong[_i].says);
	ck_assert_ptr_nonnull(strstr(status_message(), file));
	ck_assert_ptr_null(t.parts);
	scratch_remove();
}

/* Bytes are no text of which bytes could be made again: a character that begins there has no end. */
static const struct {
	const char *decoder, *token, *bytes;
} twice[] = {
        {"{\"type\":\"ByteLevel\"},{\"type\":\"ByteLevel\"}", "\\u00c4", "\xc4"},
        {"{\"type\":\"ByteLevel\"},{\"type\":\"ByteLevel\"}", "\\u00e9", "\xe9"},
        {"{\"type\":\"ByteLevel\"},{\"type\":\"ByteLevel\"}", "a\\u00f0", "a\xf0"},
        {"{\"type\":\"ByteFallback\"},{\"type\":\"ByteLevel\"}", "<0xF0>", "\xf0"},
};

START_LOOP_TEST(bytes_of_bytes, 0, COUNT(twice))
{
	struct tokenizer t;
	struct bytes got = {0};
	char text[512];
	scratch_make();
	snprintf(text, sizeof text,
	         "{\"model\":{\"type\":\"BPE\",\"vocab\":{\"%s\":0},\"merges\":[]},"
	         "\"decoder\":{\"type\":\"Sequence\",\"decoders\":[%s]}}",
	         twice[_i].token, twice[_i].decoder);
	must(tokenizer_open(&t, scratch_text("it.json", text)));
	scratch_remove();
	tokenizer_decode(&t, 0, true, &got);
	ck_assert_uint_eq(got.size, strlen(twice[_i].bytes));
	ck_assert_mem_eq(got.at, twice[_i].bytes, got.size);
	bytes_release(&got);
	tokenizer_release(&t);
}

START_TEST(other_text)
{
	struct tokenizer t;
	struct token_list ids = {0};
	open_kind(&t, "gpt2");
	must_fail(tokenizer_encode(&t, "ab\xff", 3, &ids), STATUS_INPUT, "not UTF-8 at byte 2");
	must_fail(tokenizer_encode(&t, "\xed\xa0\x80", 3, &ids), STATUS_INPUT, "not UTF-8 at byte 0");
	must(tokenizer_encode(&t, "a\0b", 3, &ids));
	ck_assert_uint_eq(ids.count, 3);
	token_list_release(&ids);
	tokenizer_release(&t);
}

/* Half a million characters without a place to cut: n·log n, not n². */
START_TEST(long_word)
{
	enum { N = 500 * 1000 };
	struct tokenizer t;
	struct token_list ids = {0};
	struct bytes text = {0};
	for (int i = 0; i < N; i++)
		bytes_add(&text, &"theab"[i % 5], 1);
	open_kind(&t, "gpt2");
	must(tokenizer_encode(&t, text.at, text.size, &ids));
	ck_assert_uint_gt(ids.count, N / 10);
	token_list_release(&ids);
	bytes_release(&text);
	tokenizer_release(&t);
}

SUITE("tokenizer", 60)
