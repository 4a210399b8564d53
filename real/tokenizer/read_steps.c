/* Normalizer, pre_tokenizer, decoder and post_processor. */
#include <string.h>

#include "real/tokenizer/read.h"

#define LENGTH(array) (sizeof(array) / sizeof *(array))

/* GPT-2's, of encoder.py, as the `tokenizers` library has it. */
#define GPT2_PATTERN "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+"

/* {"String": "▁"} or {"Regex": "\\s+"} */
static enum status read_pattern(const struct part *p, struct pattern *out)
{
	struct part pattern = part_at(p, "pattern");
	const char *text, *expression;
	TRY(part_check(&pattern, "String Regex"));
	TRY(part_text(&pattern, "String", "", &text));
	TRY(part_text(&pattern, "Regex", "", &expression));
	if (!*text == !*expression)
		return part_fail(&pattern, "either String or Regex is needed, and not empty");
	const char *where = arena_print(&p->reader->parts->arena, "%s %s: %s", status_words("{tokenizer}"),
	                                p->reader->path, p->place);
	return *text ? pattern_open_text(out, where, text) : pattern_open_expression(out, where, expression);
}

/* ---- normalizer ---- */

static struct normal_step *add_normal(const struct part *p, enum normal_kind kind)
{
	struct tokenizer_parts *parts = p->reader->parts;
	parts->normal = arena_grow(&parts->arena, parts->normal, parts->normal_count, &parts->normal_capacity,
	                           sizeof *parts->normal);
	parts->normal[parts->normal_count] = (struct normal_step){.kind = kind};
	return &parts->normal[parts->normal_count++];
}

#define WITHOUT_KEYS(name, kind)                                                                                       \
	static enum status read_##name(const struct part *p)                                                           \
	{                                                                                                              \
		add_normal(p, kind);                                                                                   \
		return part_check(p, "type");                                                                          \
	}
WITHOUT_KEYS(NFC, NORMAL_NFC)
WITHOUT_KEYS(NFD, NORMAL_NFD)
WITHOUT_KEYS(NFKC, NORMAL_NFKC)
WITHOUT_KEYS(NFKD, NORMAL_NFKD)
WITHOUT_KEYS(lowercase, NORMAL_LOWERCASE)
WITHOUT_KEYS(strip_accents, NORMAL_STRIP_ACCENTS)

static enum status read_prepend(const struct part *p)
{
	enum status s = part_check(p, "type prepend");
	return s ? s : part_text(p, "prepend", NULL, &add_normal(p, NORMAL_PREPEND)->content);
}

static enum status read_replace(const struct part *p)
{
	struct normal_step *step = add_normal(p, NORMAL_REPLACE);
	TRY(part_check(p, "type pattern content"));
	TRY(part_text(p, "content", NULL, &step->content));
	return read_pattern(p, &step->pattern);
}

static enum status read_normalizers(const struct part *p)
{
	enum status s = part_check(p, "type normalizers");
	return s ? s : part_read_list(p, "normalizers", tokenizer_read_normalizer);
}

enum status tokenizer_read_normalizer(const struct part *p)
{
	static const struct part_reader readers[] = {{"NFC", read_NFC},
	                                             {"NFD", read_NFD},
	                                             {"NFKC", read_NFKC},
	                                             {"NFKD", read_NFKD},
	                                             {"Lowercase", read_lowercase},
	                                             {"StripAccents", read_strip_accents},
	                                             {"Prepend", read_prepend},
	                                             {"Replace", read_replace},
	                                             {"Sequence", read_normalizers}};
	return part_read(p, readers, LENGTH(readers));
}

/* ---- pre_tokenizer ---- */

static struct cut_step *add_cut(const struct part *p, enum cut_kind kind)
{
	struct tokenizer_parts *parts = p->reader->parts;
	parts->cuts =
	        arena_grow(&parts->arena, parts->cuts, parts->cut_count, &parts->cut_capacity, sizeof *parts->cuts);
	parts->cuts[parts->cut_count] = (struct cut_step){.kind = kind, .behavior = CUT_ISOLATED};
	return &parts->cuts[parts->cut_count++];
}

/* trim_offsets is about places in the text, which nobody asks for here. */
#define BYTE_LEVEL_KEYS "type add_prefix_space trim_offsets use_regex"

static enum status read_byte_level(const struct part *p)
{
	bool space, cuts;
	enum status s = part_check(p, BYTE_LEVEL_KEYS);
	if (!s)
		s = part_flag(p, "add_prefix_space", true, &space);
	if (!s)
		s = part_flag(p, "use_regex", true, &cuts);
	if (s)
		return s;
	if (space)
		add_cut(p, CUT_SPACE_BEFORE);
	if (cuts)
		s = pattern_open_expression(&add_cut(p, CUT_PATTERN)->pattern, p->place, GPT2_PATTERN);
	add_cut(p, CUT_BYTES);
	return s;
}

static enum status read_split(const struct part *p)
{
	struct cut_step *step = add_cut(p, CUT_PATTERN);
	int behavior = 0;
	enum status s = part_check(p, "type pattern behavior invert");
	if (!s)
		s = part_word(p, "behavior", "Removed|Isolated|MergedWithPrevious|MergedWithNext|Contiguous",
		              &behavior);
	step->behavior = (enum cut_behavior)behavior;
	if (!s)
		s = part_flag(p, "invert", false, &step->invert);
	return s ? s : read_pattern(p, &step->pattern);
}

static enum status read_digits(const struct part *p)
{
	struct cut_step *step = add_cut(p, CUT_DIGITS);
	enum status s = part_check(p, "type individual_digits");
	if (!s)
		s = part_flag(p, "individual_digits", false, &step->individual);
	step->behavior = step->individual ? CUT_ISOLATED : CUT_CONTIGUOUS;
	return s;
}

/* Files of older releases say add_prefix_space where newer ones have a scheme, and str_rep beside the replacement. */
#define METASPACE_KEYS "type replacement add_prefix_space prepend_scheme split str_rep"
#define SCHEMES "always|never|first"

static enum status read_metaspace_keys(const struct part *p, const char **replacement, enum cut_scheme *scheme)
{
	bool space;
	int word = SCHEME_ALWAYS;
	const char *again;
	TRY(part_check(p, METASPACE_KEYS));
	TRY(part_text(p, "replacement", NULL, replacement));
	TRY(part_text(p, "str_rep", *replacement, &again));
	TRY(part_flag(p, "add_prefix_space", true, &space));
	if (json_object_get(p->object, "prepend_scheme"))
		TRY(part_word(p, "prepend_scheme", SCHEMES, &word));
	if (!**replacement || strcmp(*replacement, again) != 0)
		return part_fail(p, "replacement: a character is needed, and str_rep, if it is there, the same");
	*scheme = space ? (enum cut_scheme)word : SCHEME_NEVER;
	return STATUS_OK;
}

static enum status read_metaspace(const struct part *p)
{
	struct cut_step *step = add_cut(p, CUT_METASPACE);
	enum status s = read_metaspace_keys(p, &step->replacement, &step->scheme);
	step->behavior = CUT_WITH_NEXT;
	if (!s)
		s = part_flag(p, "split", true, &step->split);
	return s ? s : pattern_open_text(&step->pattern, p->place, step->replacement);
}

static enum status read_whitespace(const struct part *p)
{
	struct cut_step *step = add_cut(p, CUT_WORDS);
	step->behavior = CUT_REMOVED;
	step->invert = true;
	return part_check(p, "type");
}

static enum status read_whitespace_split(const struct part *p)
{
	add_cut(p, CUT_SPACES)->behavior = CUT_REMOVED;
	return part_check(p, "type");
}

static enum status read_pre_tokenizers(const struct part *p)
{
	enum status s = part_check(p, "type pretokenizers");
	return s ? s : part_read_list(p, "pretokenizers", tokenizer_read_pre_tokenizer);
}

enum status tokenizer_read_pre_tokenizer(const struct part *p)
{
	static const struct part_reader readers[] = {
	        {"ByteLevel", read_byte_level},   {"Split", read_split},
	        {"Digits", read_digits},          {"Metaspace", read_metaspace},
	        {"Whitespace", read_whitespace},  {"WhitespaceSplit", read_whitespace_split},
	        {"Sequence", read_pre_tokenizers}};
	return part_read(p, readers, LENGTH(readers));
}

/* ---- decoder ---- */

static struct decode_step *add_decode(const struct part *p, enum decode_kind kind)
{
	struct tokenizer_parts *parts = p->reader->parts;
	bool fused = parts->decode_count && parts->decode[parts->decode_count - 1].fused;
	parts->decode = arena_grow(&parts->arena, parts->decode, parts->decode_count, &parts->decode_capacity,
	                           sizeof *parts->decode);
	parts->decode[parts->decode_count] = (struct decode_step){.kind = kind, .fused = fused || kind == DECODE_FUSE};
	return &parts->decode[parts->decode_count++];
}

static enum status decode_byte_level(const struct part *p)
{
	add_decode(p, DECODE_BYTES);
	return part_check(p, BYTE_LEVEL_KEYS);
}

static enum status decode_fallback(const struct part *p)
{
	add_decode(p, DECODE_FALLBACK);
	return part_check(p, "type");
}

static enum status decode_fuse(const struct part *p)
{
	add_decode(p, DECODE_FUSE);
	return part_check(p, "type");
}

static enum status decode_replace(const struct part *p)
{
	struct decode_step *step = add_decode(p, DECODE_REPLACE);
	struct part pattern = part_at(p, "pattern");
	enum status s = part_check(p, "type pattern content");
	if (!s)
		s = part_check(&pattern, "String");
	if (!s)
		s = part_text(&pattern, "String", NULL, &step->pattern);
	if (!s)
		s = part_text(p, "content", NULL, &step->content);
	return s || *step->pattern ? s : part_fail(p, "pattern: it is empty");
}

static enum status decode_strip(const struct part *p)
{
	struct decode_step *step = add_decode(p, DECODE_STRIP);
	TRY(part_check(p, "type content start stop"));
	TRY(part_text(p, "content", NULL, &step->content));
	TRY(part_whole(p, "start", -1, &step->start));
	TRY(part_whole(p, "stop", -1, &step->stop));
	if (!*step->content)
		return part_fail(p, "content: it is empty");
	if (step->fused && step->stop)
		return part_fail(p, "stop: taking away the end of a text that still grows is not supported");
	return STATUS_OK;
}

static enum status decode_metaspace(const struct part *p)
{
	struct decode_step *step = add_decode(p, DECODE_METASPACE);
	enum cut_scheme scheme = SCHEME_ALWAYS;
	bool split;
	enum status s = read_metaspace_keys(p, &step->pattern, &scheme);
	step->keeps_first = scheme == SCHEME_NEVER;
	return s ? s : part_flag(p, "split", true, &split);
}

static enum status read_one_decoder(const struct part *p);

static enum status read_decoders(const struct part *p)
{
	enum status s = part_check(p, "type decoders");
	return s ? s : part_read_list(p, "decoders", read_one_decoder);
}

static enum status read_one_decoder(const struct part *p)
{
	static const struct part_reader readers[] = {{"ByteLevel", decode_byte_level},  {"Replace", decode_replace},
	                                             {"ByteFallback", decode_fallback}, {"Fuse", decode_fuse},
	                                             {"Strip", decode_strip},           {"Metaspace", decode_metaspace},
	                                             {"Sequence", read_decoders}};
	return part_read(p, readers, LENGTH(readers));
}

/* Without a decoder, the `tokenizers` library puts spaces between the tokens. */
enum status tokenizer_read_decoder(const struct part *p)
{
	if (p->object && !json_is_null(p->object))
		return read_one_decoder(p);
	add_decode(p, DECODE_JOIN);
	return STATUS_OK;
}

/* ---- post_processor ---- */

static enum status ignore_byte_level(const struct part *p)
{
	return part_check(p, BYTE_LEVEL_KEYS);
}

/* The ids of a special token of the template. */
static enum status add_special(const struct part *p, const char *name, struct token_list *to)
{
	struct part all = part_at(p, "special_tokens"), one = part_at(&all, name), ids = part_at(&one, "ids");
	if (!json_is_object(one.object) || !json_is_array(ids.object))
		return part_fail(&all, "'%.40s' is missing, or its ids", name);
	for (size_t i = 0; i < json_array_size(ids.object); i++) {
		const json_t *id = json_array_get(ids.object, i);
		const struct vocabulary *v = &p->reader->parts->all;
		int64_t value = json_integer_value(id);
		if (!json_is_integer(id) || value < 0 || value >= v->size || !v->tokens[value].text)
			return part_fail(&ids, "they are not all tokens of the vocabulary");
		token_list_add(to, (int32_t)value);
	}
	return STATUS_OK;
}

/* {"SpecialToken": {"id": "<s>", "type_id": 0}} or {"Sequence": {"id": "A", "type_id": 0}}; *behind: the text was. */
static enum status read_template(const struct part *p, const struct part *one, struct token_list *before,
                                 struct token_list *after, bool *behind)
{
	struct part special = part_at(one, "SpecialToken"), text = part_at(one, "Sequence");
	const struct part *said = special.object ? &special : &text;
	const char *name;
	TRY(part_check(one, "SpecialToken Sequence"));
	TRY(part_check(said, "id type_id"));
	TRY(part_text(said, "id", NULL, &name));
	if (special.object)
		return add_special(p, name, *behind ? after : before);
	if (*behind || strcmp(name, "A") != 0)
		return part_fail(one, "a single text is needed, named A");
	*behind = true;
	return STATUS_OK;
}

/* It puts its tokens around those that others have put there. */
static void wrap(struct tokenizer_parts *parts, struct token_list *before, const struct token_list *after)
{
	for (size_t i = 0; i < parts->before.count; i++)
		token_list_add(before, parts->before.list[i]);
	for (size_t i = 0; i < after->count; i++)
		token_list_add(&parts->after, after->list[i]);
	token_list_release(&parts->before);
	parts->before = *before;
}

static enum status read_templates(const struct part *p)
{
	struct part single = part_at(p, "single");
	struct token_list before = {0}, after = {0};
	bool behind = false;
	enum status s = part_check(p, "type single pair special_tokens");
	if (!s && !json_is_array(single.object))
		s = part_fail(p, "single: a list is needed");
	for (size_t i = 0; i < json_array_size(single.object) && !s; i++) {
		struct part one = part_element(&single, i);
		s = read_template(p, &one, &before, &after, &behind);
	}
	if (!s && !behind)
		s = part_fail(p, "single: the text is missing");
	if (!s)
		wrap(p->reader->parts, &before, &after);
	else
		token_list_release(&before);
	token_list_release(&after);
	return s;
}

static enum status read_post_processors(const struct part *p)
{
	enum status s = part_check(p, "type processors");
	return s ? s : part_read_list(p, "processors", tokenizer_read_post_processor);
}

enum status tokenizer_read_post_processor(const struct part *p)
{
	static const struct part_reader readers[] = {{"ByteLevel", ignore_byte_level},
	                                             {"TemplateProcessing", read_templates},
	                                             {"Sequence", read_post_processors}};
	return part_read(p, readers, LENGTH(readers));
}
