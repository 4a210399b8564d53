/* Weights in folders: one file or shards with an index are read alike; whatever is missing or contradicts itself is
 * refused with a line that names it. */
#include "real/data/weights_file.h"
#include "real/data/weights_index.h"
#include "tests/support/refusal.h"
#include "tests/support/scratch.h"
#include "tests/support/suite.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A shard with tensors of two elements each: the letter's number, and a hundred more. The names end with NULL. */
static void put_shard(const char *file, ...)
{
	struct safetensors_writer w;
	va_list names;
	must(safetensors_create(&w, scratch_path(file)));
	va_start(names, file);
	for (const char *name; (name = va_arg(names, const char *));)
		must(safetensors_declare(&w, name, 1, (int64_t[]){2}));
	va_end(names);
	must(safetensors_begin(&w));
	for (int i = 0; i < w.count; i++) {
		float letter = (float)w.tensors[i].name[0];
		must(safetensors_write(&w, i, 0, 2, (float[]){letter, letter + 100}));
	}
	must(safetensors_finish(&w, w.elements_written));
	safetensors_writer_release(&w);
}

#define SHARD1 "model-00001-of-00002.safetensors"
#define SHARD2 "model-00002-of-00002.safetensors"
#define INDEX "model.safetensors.index.json"

static void put_shards(void)
{
	put_shard(SHARD1, "b", "a", (const char *)NULL);
	put_shard(SHARD2, "c", (const char *)NULL);
}

static void put_index(const char *total, const char *map)
{
	char text[512];
	snprintf(text, sizeof text, "{\"metadata\": {\"total_size\": %s}, \"weight_map\": {%s}}\n", total, map);
	scratch_text(INDEX, text);
}

#define WHOLE_MAP "\"a\": \"" SHARD1 "\", \"b\": \"" SHARD1 "\", \"c\": \"" SHARD2 "\""

static void must_have(const struct weights_file *w, const char *name, float value)
{
	float read[2];
	const struct weights_tensor *t = weights_file_find(w, name);
	ck_assert_msg(t != NULL, "no %s", name);
	must(weights_file_read(t, 0, 2, read));
	ck_assert(read[0] == value && read[1] == value + 100);
	must(weights_file_read(t, 1, 1, read));
	ck_assert(read[0] == value + 100);
}

static void must_have_all(const char *path)
{
	struct weights_file w;
	must(weights_file_open(&w, path));
	ck_assert_int_eq(w.count, 3);
	must_have(&w, "a", 'a');
	must_have(&w, "b", 'b');
	must_have(&w, "c", 'c');
	ck_assert_ptr_null(weights_file_find(&w, "d"));
	ck_assert_ptr_null(weights_file_find(&w, "transformer.x"));
	weights_file_release(&w);
	weights_file_release(&w);
}

START_TEST(one_file)
{
	put_shard("model.safetensors", "c", "a", "b", (const char *)NULL);
	must_have_all(scratch_path("model.safetensors"));
	must_have_all(scratch);
}

START_TEST(shards)
{
	put_shards();
	put_index("24", WHOLE_MAP);
	must_have_all(scratch);
	must_have_all(scratch_path(INDEX));
	must_have_all(scratch_path(""));
	put_index("24.0", WHOLE_MAP);
	must_have_all(scratch);
	scratch_text(INDEX, "{\"weight_map\": {" WHOLE_MAP "}}");
	must_have_all(scratch);
}

/* transformers' rule: the one file is the model, whatever lies beside it. */
START_TEST(one_file_goes_before_an_index)
{
	put_shard("model.safetensors", "c", "a", "b", (const char *)NULL);
	scratch_text(INDEX, "left over");
	must_have_all(scratch);
}

START_TEST(names_with_and_without_prefix)
{
	struct weights_file w;
	put_shard("model.safetensors", "transformer.h.0.ln_1.weight", "wte.weight", "layers.0.norm",
	          (const char *)NULL);
	must(weights_file_open(&w, scratch));
	ck_assert_ptr_nonnull(weights_file_find(&w, "h.0.ln_1.weight"));
	ck_assert_ptr_nonnull(weights_file_find(&w, "transformer.wte.weight"));
	ck_assert_ptr_nonnull(weights_file_find(&w, "model.layers.0.norm"));
	ck_assert_ptr_null(weights_file_find(&w, "0.norm"));
	weights_file_release(&w);
}

static const struct {
	const char *total, *map, *says;
} contradictions[] = {
        {"24", "\"a\": \"" SHARD1 "\", \"c\": \"" SHARD2 "\"", "tensor b: is in /"},
        {"24", WHOLE_MAP ", \"d\": \"" SHARD2 "\"", "tensor d: is not in " SHARD2},
        {"24", WHOLE_MAP ", \"B\": \"" SHARD2 "\"", "tensor B: is not in " SHARD2},
        {"24", "\"a\": \"" SHARD1 "\", \"b\": \"" SHARD2 "\", \"c\": \"" SHARD2 "\"", "tensor b: is not in " SHARD2},
        {"28", WHOLE_MAP, "metadata.total_size: 28 bytes, but the tensors of its shards have 24"},
        {"20", WHOLE_MAP, "metadata.total_size: 20 bytes, but the tensors of its shards have 24"},
        {"24", WHOLE_MAP ", \"a\": \"" SHARD2 "\"", "tensor a: is listed twice"},
        {"24", "\"a\": \"" SHARD1 "\", \"d\": \"more.safetensors\"", "shard more.safetensors is not there"},
        {"24", "\"a\": \"../f.safetensors\"", INDEX ":1:55: '../f.safetensors' leads out of the folder"},
        {"24", "\"a\": \"x/../../f.safetensors\"", "leads out of the folder"},
        {"24", "\"a\": \"/tmp/f.safetensors\"", "leads out of the folder"},
        {"24", "\"a\": \"pytorch_model.bin\"", "is no .safetensors file"},
        {"24", "\"a\": 3", INDEX ":1:54: expected a text in quotes"},
        {"24", "\"\": \"f.safetensors\"", "is no name of a tensor"},
        {"24", "", "its weight_map is empty"},
        {"24.5", WHOLE_MAP, INDEX ":1:29: '24.5' is no number of bytes"},
        {"-24", WHOLE_MAP, "is no number of bytes"},
        {"\"24\"", WHOLE_MAP, "expected a number"},
};

/* Paths that lead to one shard are one shard. */
START_TEST(spellings_of_a_shard)
{
	struct weights_index x;
	static const char text[] = "{\"weight_map\": {\"a\": \"x/a.safetensors\", \"b\": \"./x//a.safetensors\", "
	                           "\"c\": \"././x/./a.safetensors\", \"d\": \"a.safetensors\"}}";
	must(weights_index_parse(&x, "index", text, sizeof text - 1));
	ck_assert_int_eq(x.file_count, 2);
	ck_assert_str_eq(x.files[0], "x/a.safetensors");
	ck_assert_str_eq(x.files[1], "a.safetensors");
	weights_index_release(&x);
	put_shards();
	put_index("24", "\"a\": \"" SHARD1 "\", \"b\": \"./" SHARD1 "\", \"c\": \"" SHARD2 "\"");
	must_have_all(scratch);
}

START_LOOP_TEST(contradiction, 0, COUNT(contradictions))
{
	struct weights_file w;
	put_shards();
	put_index(contradictions[_i].total, contradictions[_i].map);
	must_fail(weights_file_open(&w, scratch), STATUS_INPUT, contradictions[_i].says);
	must_fail(weights_file_open(&w, scratch), STATUS_INPUT, scratch);
	ck_assert_ptr_null(w.files);
}

START_TEST(tensor_in_two_shards)
{
	struct weights_file w;
	put_shard(SHARD1, "b", "a", (const char *)NULL);
	put_shard(SHARD2, "b", "c", (const char *)NULL);
	put_index("32", WHOLE_MAP);
	must_fail(weights_file_open(&w, scratch), STATUS_INPUT, "tensor b: is in ");
	ck_assert(strstr(status_message(), SHARD1) && strstr(status_message(), SHARD2));
}

/* A cut at the line's end loses nothing. */
START_TEST(truncated_anywhere)
{
	static const char text[] = "{\"metadata\": {\"total_size\": 24}, \"weight_map\": {" WHOLE_MAP "}}";
	struct weights_index x;
	for (size_t n = 0; n < sizeof text - 1; n++)
		must_fail(weights_index_parse(&x, "index", text, n), STATUS_INPUT, "index:1:");
	must(weights_index_parse(&x, "index", text, sizeof text - 1));
	ck_assert(x.count == 3 && x.file_count == 2 && x.total_bytes == 24);
	weights_index_release(&x);
	weights_index_release(&x);
}

START_TEST(wrong_index)
{
	struct weights_file w;
	put_shards();
	scratch_text(INDEX, "{}");
	must_fail(weights_file_open(&w, scratch), STATUS_INPUT, "has no weight_map");
	scratch_text(INDEX, "{\"weight_map\": {},\n \"weight_map\": {}}");
	must_fail(weights_file_open(&w, scratch), STATUS_INPUT, INDEX ":2:3: 'weight_map' comes twice");
	scratch_text(INDEX, "[]");
	must_fail(weights_file_open(&w, scratch), STATUS_INPUT, "expected an object");
}

START_TEST(wrong_folder)
{
	struct weights_file w;
	must_fail(weights_file_open(&w, scratch), STATUS_INPUT, "holds neither model.safetensors nor " INDEX);
	scratch_text("pytorch_model.bin", "PK");
	must_fail(weights_file_open(&w, scratch), STATUS_INPUT, "convert it with transformers");
	must_fail(weights_file_open(&w, scratch_path("pytorch_model.bin")), STATUS_INPUT, "*.bin files are not read");
	must_fail(weights_file_open(&w, "a/config.json"), STATUS_INPUT,
	          "a/config.json: holds no weights; name the folder");
	must_fail(weights_file_open(&w, "model.gguf"), STATUS_INPUT, "*.gguf files are not read");
	must_fail(weights_file_open(&w, scratch_path("none")), STATUS_INPUT, "No such file");
	must_fail(weights_file_open(&w, scratch_path(INDEX)), STATUS_INPUT, "no such file");
	scratch_text("model.safetensors", "version https://git-lfs.github.com/spec/v1\n");
	must_fail(weights_file_open(&w, scratch), STATUS_INPUT, "not a safetensors file");
}

SUITE_WITH("weights file", 0, scratch_make, scratch_remove)
