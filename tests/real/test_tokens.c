/* Files of token ids: each kind of file, found out or told; samples, which never go from one file into the next; what
 * is wrong, refused with the file and the place; files larger than memory. */
#include "real/data/data.h"
#include "real/data/sampler.h"
#include "real/data/token_file.h"
#include "tests/support/refusal.h"
#include "tests/support/scratch.h"
#include "tests/support/suite.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

enum { TOKENS = 8, VOCABULARY = 50257 };

static FILE *begin(const char *name)
{
	FILE *f = fopen(scratch_path(name), "wb");
	ck_assert_ptr_nonnull(f);
	return f;
}

static void put_number(FILE *f, uint32_t n, int bytes)
{
	for (int i = 0; i < bytes; i++)
		fputc((int)(n >> 8 * i & 255), f);
}

/* llm.c's header. */
static void put_header(FILE *f, uint32_t magic, uint32_t version, uint32_t count)
{
	put_number(f, magic, 4);
	put_number(f, version, 4);
	put_number(f, count, 4);
	for (int i = 3; i < 256; i++)
		put_number(f, 0, 4);
}

/* Ids that tell the file and the place. */
static void put_ids(FILE *f, uint32_t first, int count, int bytes)
{
	for (int i = 0; i < count; i++)
		put_number(f, first + (uint32_t)i, bytes);
}

static const char *put_raw(const char *name, uint32_t first, int count, int bytes)
{
	FILE *f = begin(name);
	put_ids(f, first, count, bytes);
	ck_assert_int_eq(fclose(f), 0);
	return scratch_path(name);
}

static const char *put_llm_c(const char *name, uint32_t magic, uint32_t version, uint32_t first, int count, int bytes)
{
	FILE *f = begin(name);
	put_header(f, magic, version, (uint32_t)count);
	put_ids(f, first, count, bytes);
	ck_assert_int_eq(fclose(f), 0);
	return scratch_path(name);
}

static const char *put_npy(const char *name, const char *dictionary, uint32_t first, int count, int bytes)
{
	FILE *f = begin(name);
	fwrite("\x93NUMPY\x01\x00", 1, 8, f);
	put_number(f, (uint32_t)strlen(dictionary), 2);
	fputs(dictionary, f);
	put_ids(f, first, count, bytes);
	ck_assert_int_eq(fclose(f), 0);
	return scratch_path(name);
}

/* Ids of two bytes below 256. */
static const char *put_packed(const char *name)
{
	gzFile f = gzopen(scratch_path(name), "wb");
	ck_assert_ptr_nonnull(f);
	for (int i = 0; i < 1000; i++) {
		gzputc(f, i % 200);
		gzputc(f, 0);
	}
	ck_assert_int_eq(gzclose(f), Z_OK);
	return scratch_path(name);
}

static struct dataset_spec spec_of(const char *path)
{
	return (struct dataset_spec){.kind = DATASET_TEXT, .path = path, .tokens = TOKENS, .classes = VOCABULARY};
}

static void open_data(struct dataset *d, const char *path)
{
	struct dataset_spec spec = spec_of(path);
	must(dataset_open(d, &spec));
}

static void assert_refused(const char *path, const char *type, const char *says)
{
	struct dataset d;
	struct dataset_spec spec = spec_of(path);
	spec.type = type;
	must_fail(dataset_open(&d, &spec), STATUS_INPUT, says);
	ck_assert_int_eq(d.training_samples, 0);
}

/* ---- kinds of files ---- */

static void assert_ids(const char *path, int64_t vocabulary, enum token_type type, uint32_t first, int count)
{
	struct token_file f;
	struct token_spec spec = {.vocabulary = vocabulary};
	int32_t inputs[4], targets[4];
	must(token_file_open(&f, path, &spec));
	ck_assert_int_eq(f.type, type);
	ck_assert_int_eq(f.count, count);
	for (int64_t i = 0; i + 4 < count; i++) {
		must(token_file_sample(&f, i, 4, inputs, targets));
		for (int t = 0; t < 4; t++) {
			ck_assert_int_eq(inputs[t], first + i + t);
			ck_assert_int_eq(targets[t], first + i + t + 1);
		}
	}
	token_file_release(&f);
	token_file_release(&f);
}

START_TEST(each_kind_of_file)
{
	assert_ids(put_llm_c("a.bin", 20240520, 1, 50000, 100, 2), VOCABULARY, TOKEN_UINT16, 50000, 100);
	assert_ids(put_llm_c("b.bin", 20240801, 7, 128000, 100, 4), 128256, TOKEN_UINT32, 128000, 100);
	assert_ids(put_llm_c("c", 20240520, 1, 7, 100, 2), VOCABULARY, TOKEN_UINT16, 7, 100);
	assert_ids(put_raw("train.bin", 100, 100, 2), 200, TOKEN_UINT16, 100, 100);
	assert_ids(put_raw("wide.bin", 127000, 100, 4), 128256, TOKEN_UINT32, 127000, 100);
	assert_ids(put_npy("a.npy", "{'descr': '<u2', 'fortran_order': False, 'shape': (100,), }\n", 9, 100, 2),
	           VOCABULARY, TOKEN_UINT16, 9, 100);
	assert_ids(put_npy("b.npy", "{'shape': (100,), 'fortran_order': False, 'descr': '<i4'}\n", 9, 100, 4),
	           VOCABULARY, TOKEN_UINT32, 9, 100);
	assert_ids(put_raw("words.txt", 40, 100, 1), 256, TOKEN_BYTES, 40, 100);
}

/* Nothing is guessed: a file that may be either is refused until it is said what it is. */
START_TEST(types_that_are_told)
{
	struct token_file f;
	const char *path = put_raw("either.bin", 5, 100, 4);
	assert_refused(path, NULL, "may be uint16 or uint32; say which with data_type");
	for (int i = 0; i < 2; i++) {
		struct token_spec spec = {.vocabulary = VOCABULARY, .type = i ? TOKEN_UINT16 : TOKEN_UINT32};
		must(token_file_open(&f, path, &spec));
		ck_assert_int_eq(f.count, i ? 200 : 100);
		token_file_release(&f);
	}
	char told[160];
	struct dataset d;
	snprintf(told, sizeof told, "%s:type=uint32", path);
	open_data(&d, told);
	ck_assert_int_eq(d.training_samples, 90 - TOKENS);
	ck_assert_ptr_nonnull(strstr(d.words, "uint32"));
	dataset_release(&d);
	struct dataset_spec spec = spec_of(path);
	spec.type = "bytes";
	must(dataset_open(&d, &spec));
	ck_assert_int_eq(d.training_samples, 360 - TOKENS);
	dataset_release(&d);

	assert_refused(put_llm_c("a.bin", 20240520, 1, 5, 100, 2), "uint32", "its header says uint16");
	snprintf(told, sizeof told, "%s:type=int64", path);
	assert_refused(told, NULL, "'int64' is not one of: uint16, uint32, bytes");
	snprintf(told, sizeof told, "%s:kind=uint16", path);
	assert_refused(told, NULL, "unknown key 'kind'");
	ck_assert_msg(strstr(status_message(), path), "%s", status_message());
	const char *binary = put_raw("weights.safetensors", 5, 300, 2);
	assert_refused(binary, NULL, "weights.safetensors: holds bytes of zero, so it is no text");
	spec = spec_of(binary);
	spec.type = "bytes";
	must(dataset_open(&d, &spec));
	dataset_release(&d);
	assert_refused(put_packed("ids.bin.gz"), NULL, "ids.bin.gz: unpacks to bytes of zero, so it is no text");
	assert_refused(put_packed("ids.bin.gz"), "uint16", "ids.bin.gz: is packed");
	spec = spec_of(put_packed("ids.bin.gz"));
	spec.type = "bytes";
	must(dataset_open(&d, &spec));
	dataset_release(&d);
	assert_refused(NULL, "uint16", "give data too");
	struct dataset_spec numbers = {.kind = DATASET_IMAGES, .type = "uint16", .pixels = 6, .classes = 10};
	must_fail(dataset_open(&d, &numbers), STATUS_INPUT, "this model takes numbers");
}

/* ---- samples ---- */

START_TEST(no_sample_goes_into_another_file)
{
	static const int counts[] = {100, 9, 8, 300, 20};
	struct dataset d;
	char list[1024] = "";
	for (int i = 0; i < 5; i++) {
		char name[32];
		snprintf(name, sizeof name, "part_%d.bin", i);
		size_t n = strlen(list);
		snprintf(list + n, sizeof list - n, "%s%s", i ? "," : "",
		         put_raw(name, (uint32_t)(1000 * (i + 1)), counts[i], 2));
	}
	open_data(&d, list);
	/* 437 ids, of which the last 43 are kept: 23 of the fourth file and the fifth. */
	ck_assert_int_eq(d.training_samples, 92 + 1 + 0 + 269);
	ck_assert_int_eq(d.validation_samples, 2 + 2);
	ck_assert_ptr_nonnull(strstr(d.words, "5 files of ids, uint16"));
	ck_assert_ptr_nonnull(strstr(d.words, "394 tokens to train on, 43 to validate with, the last tenth"));
	ck_assert_ptr_nonnull(strstr(d.words, "1 shorter than a sequence"));
	int32_t inputs[TOKENS], targets[TOKENS];
	bool begun[5] = {false};
	for (int64_t i = 0; i < 5000; i++) {
		dataset_fill(&d, 3, i, 1, inputs, targets);
		int file = inputs[0] / 1000 - 1;
		begun[file] = true;
		for (int t = 0; t < TOKENS; t++) {
			ck_assert_int_eq(inputs[t], inputs[0] + t);
			ck_assert_int_eq(targets[t], inputs[0] + t + 1);
		}
		ck_assert_int_lt(targets[TOKENS - 1] % 1000, file == 3 ? 277 : counts[file]);
	}
	ck_assert(begun[0] && begun[1] && !begun[2] && begun[3] && !begun[4]);
	static const int starts[] = {4277, 4285, 5000, 5008};
	for (int i = 0; i < 4; i++) {
		dataset_fill_validation(&d, i, 1, inputs, targets);
		ck_assert_int_eq(inputs[0], starts[i]);
		ck_assert_int_eq(targets[TOKENS - 1], starts[i] + TOKENS);
	}
	must(dataset_check(&d));
	dataset_release(&d);
}

/* One file and its parts: the same starts, in the order of the stream. */
START_TEST(a_sample_is_its_number)
{
	struct dataset d;
	int32_t inputs[4][TOKENS], one[TOKENS];
	open_data(&d, put_raw("train.bin", 0, 1000, 2));
	ck_assert_int_eq(d.training_samples, 900 - TOKENS);
	dataset_fill(&d, 5, 40, 4, inputs, NULL);
	for (int i = 0; i < 4; i++) {
		ck_assert_int_eq(inputs[i][0], sampler_start(5, 900 - TOKENS, 40 + i));
		dataset_fill(&d, 5, 40 + i, 1, one, NULL);
		ck_assert_mem_eq(one, inputs[i], sizeof one);
	}
	dataset_release(&d);
}

/* ---- folders and patterns ---- */

static void assert_found(const char *path, int64_t training, int64_t validation)
{
	struct dataset d;
	open_data(&d, path);
	ck_assert_int_eq(d.training_samples, training);
	ck_assert_int_eq(d.validation_samples, validation);
	dataset_release(&d);
}

START_TEST(folders_of_nanogpt_and_llm_c)
{
	char pattern[256];
	put_raw("train.bin", 1, 100, 2);
	put_raw("val.bin", 1, 41, 2);
	put_raw("meta.pkl", 1, 41, 2);
	assert_found(scratch, 100 - TOKENS, 5);
	unlink(scratch_path("train.bin"));
	unlink(scratch_path("val.bin"));
	assert_refused(scratch, NULL, "without train.bin or NAME_train_*.bin");
	put_llm_c("x_train_000002.bin", 20240520, 1, 1, 100, 2);
	put_llm_c("x_train_000001.bin", 20240520, 1, 1, 50, 2);
	put_llm_c("x_val_000000.bin", 20240520, 1, 1, 41, 2);
	assert_found(scratch, 100 + 50 - 2 * TOKENS, 5);
	snprintf(pattern, sizeof pattern, "%s/x_*.bin", scratch);
	assert_found(pattern, 100 + 50 - 2 * TOKENS, 5);
	snprintf(pattern, sizeof pattern, "%s/x_train_*.bin,%s/x_val_000000.bin", scratch, scratch);
	assert_found(pattern, 100 + 50 - 2 * TOKENS, 5);
	snprintf(pattern, sizeof pattern, "%s/*val*.bin", scratch); /* there is no other: it is trained on */
	assert_found(pattern, 41 - TOKENS, 0);
	put_llm_c("y_train_000001.bin", 20240520, 1, 1, 50, 2);
	assert_refused(scratch, NULL, "holds several data sets");
	snprintf(pattern, sizeof pattern, "%s/z*.bin", scratch);
	assert_refused(pattern, NULL, "no file has such a name");
	snprintf(pattern, sizeof pattern, "%s/x_*.bin,%s/x_val_000000.bin", scratch, scratch);
	assert_refused(pattern, NULL, "is named twice");
	snprintf(pattern, sizeof pattern, "%s/x_val_000000.bin,%s/./x_val_000000.bin", scratch, scratch);
	assert_refused(pattern, NULL, "/./x_val_000000.bin: is the same file as /tmp");
	ck_assert_int_eq(symlink("x_val_000000.bin", scratch_path("linked.bin")), 0);
	snprintf(pattern, sizeof pattern, "%s/x_val_000000.bin,%s", scratch, scratch_path("linked.bin"));
	assert_refused(pattern, NULL, "linked.bin: is the same file as /tmp");
	snprintf(pattern, sizeof pattern, "%s/x_train_000001.bin,,", scratch);
	assert_refused(pattern, NULL, "a path is empty");
	/* A path that is there is taken as it stands. */
	assert_found(put_raw("a,b*:type=uint32", 33, 60, 1), 60 - TOKENS, 0);
}

/* ---- what is wrong ---- */

START_TEST(wrong_files)
{
	char list[256];
	const char *path = put_llm_c("a.bin", 20240520, 1, 5, 100, 2);
	for (int size = 4; size < 1024 + 200; size += 3) {
		ck_assert_int_eq(truncate(path, size), 0);
		assert_refused(path, NULL, "truncated");
		path = put_llm_c("a.bin", 20240520, 1, 5, 100, 2);
	}
	ck_assert_int_eq(truncate(path, 1024 + 203), 0);
	assert_refused(path, NULL, "3 bytes of trailing data behind the 100 ids");
	assert_refused(put_llm_c("a.bin", 20240520, 2, 5, 100, 2), NULL, "version 2 in the header");
	assert_refused(put_llm_c("a.bin", 20240801, 1, 5, 100, 4), NULL, "of which version 7 is read");
	assert_refused(put_llm_c("a.bin", 20240522, 1, 5, 100, 2), NULL, "questions of an evaluation");
	FILE *f = begin("a.bin");
	put_header(f, 20240520, 1, 0x80000000u);
	fclose(f);
	assert_refused(path, NULL, "promises -2147483648 ids");

	put_raw("odd.bin", 1, 41, 1);
	assert_refused(scratch_path("odd.bin"), NULL, "41 bytes are no whole number of ids of 2 bytes");
	assert_refused(scratch_path("odd.bin"), "uint32", "41 bytes are no whole number of ids of 4 bytes");
	struct dataset d;
	struct dataset_spec spec = spec_of(put_raw("half.bin", 1, 41, 2));
	spec.classes = 128256;
	must_fail(dataset_open(&d, &spec), STATUS_INPUT, "no whole number of ids of 4 bytes");

	/* Ids 50200 to 50299: the 58th is one too many. */
	assert_refused(put_llm_c("a.bin", 20240520, 1, 50200, 100, 2), NULL,
	               "id 50257 at place 57 (byte 1138) is beyond the model's vocabulary of 50257");
	ck_assert(strstr(status_message(),
	                 "make the file with the model's tokenizer, or give model the tokenizer's vocabulary"));
	assert_refused(put_raw("b.bin", 50200, 100, 2), NULL, "id 50257 at place 57 (byte 114)");
	assert_refused(put_raw("b.bin", 0xfffffff0u, 100, 4), "uint32", "id 4294967280 at place 0 (byte 0)");

	snprintf(list, sizeof list, "%s,%s", put_raw("b.bin", 1, 100, 2), put_raw("c.txt", 65, 26, 1));
	assert_refused(list, NULL, "is read as uint16");
	assert_refused(put_raw("b.bin", 1, 9, 2), NULL, "9 ids are too few");
	assert_refused(put_raw("b.bin", 1, 0, 2), NULL, "0 ids are too few");
	put_raw("x_train.bin", 1, 100, 2);
	snprintf(list, sizeof list, "%s,%s", scratch_path("x_train.bin"), put_raw("x_val.bin", 1, 8, 2));
	assert_refused(list, NULL, "x_val.bin: 8 ids are too few");
	assert_refused("/none/train.bin", NULL, "/none/train.bin: no such file");
	spec = spec_of(scratch_path("c.txt"));
	spec.classes = 255;
	must_fail(dataset_open(&d, &spec), STATUS_INPUT, "needs a vocabulary of 256; this one has 255");
}

static const struct {
	const char *dictionary, *says;
} wrong_npy[] = {
        {"{'descr': '<u2', 'fortran_order': False, 'shape': (101,), }\n", "promises 101 ids, and there are 100"},
        {"{'descr': '<u2', 'fortran_order': False, 'shape': (99,), }\n", "2 bytes of trailing data"},
        {"{'descr': '<i8', 'fortran_order': False, 'shape': (25,), }\n", "of another type"},
        {"{'descr': '>u2', 'fortran_order': False, 'shape': (100,), }\n", "of another type"},
        {"{'descr': '<u2', 'fortran_order': False, 'shape': (10, 10), }\n", "several dimensions"},
        {"{'descr': '<u2', 'fortran_order': False, 'shape': (), }\n", "several dimensions, or none"},
        {"{'descr': '<u2', 'shape': (99999999999999999999,), }\n", "several dimensions"},
        {"", "of another type"},
};

START_LOOP_TEST(wrong_arrays, 0, COUNT(wrong_npy))
{
	const char *path = put_npy("a.npy", wrong_npy[_i].dictionary, 1, 100, 2);
	assert_refused(path, NULL, wrong_npy[_i].says);
	for (int size = 9; size > 5; size--) {
		ck_assert_int_eq(truncate(path, size), 0);
		assert_refused(path, NULL, "truncated");
	}
}

/* ---- large files ---- */

enum { ID_AT = 30 << 20 }; /* between the two ends that are looked at when the file is opened */

static int64_t resident_kib(void)
{
	int64_t kib = -1;
	char line[256];
	FILE *f = fopen("/proc/self/status", "r");
	while (f && fgets(line, sizeof line, f) && sscanf(line, "VmRSS: %" SCNd64 " kB", &kib) != 1)
		continue;
	if (f)
		fclose(f);
	return kib;
}

/* 40 GB with a hole for most of it. */
static const char *put_large(const char *name, off_t size)
{
	const char *path = put_raw(name, 1, 100, 2);
	ck_assert_int_eq(truncate(path, size), 0);
	return path;
}

START_TEST(memory_does_not_grow_with_the_file)
{
	enum { LONG = 4096 };
	struct dataset d;
	struct dataset_spec spec = spec_of(put_large("train.bin", (off_t)40 << 30));
	spec.tokens = LONG;
	spec.type = "uint16";
	int32_t *inputs = calloc(LONG, sizeof *inputs);
	ck_assert_ptr_nonnull(inputs);
	int64_t before = resident_kib();
	must(dataset_open(&d, &spec));
	ck_assert_int_eq(d.training_samples, ((int64_t)20 << 30) / 10 * 9 - LONG);
	ck_assert_int_lt(d.bytes_held, 1000);
	for (int i = 0; i < 3000; i++)
		dataset_fill(&d, 1, i, 1, inputs, inputs);
	must(dataset_check(&d));
	ck_assert_int_ge(before, 0);
	/* 3000 samples are 24 MB, and the ends 16. AddressSanitizer notes what is read, in memory of its own. */
	ck_assert_int_lt(resident_kib() - before, SUITE_CASES(4, 24) << 10);
	dataset_release(&d);
	free(inputs);
}

/* Ids that opening did not look at are checked in use: the sample is zeros, and the fault is told once. */
START_TEST(wrong_ids_in_the_middle)
{
	struct dataset d;
	int32_t inputs[TOKENS], targets[TOKENS];
	const char *path = put_large("train.bin", 2 * (off_t)ID_AT + (off_t)(64 << 20));
	FILE *f = fopen(path, "r+b");
	ck_assert_ptr_nonnull(f);
	ck_assert_int_eq(fseek(f, 2L * ID_AT, SEEK_SET), 0);
	for (int i = 0; i < 1 << 20; i++)
		put_number(f, 60000, 2);
	ck_assert_int_eq(fclose(f), 0);
	struct dataset_spec spec = spec_of(path);
	spec.type = "uint16";
	must(dataset_open(&d, &spec));
	int64_t at = 0, start;
	while ((start = sampler_start(1, d.training_samples, at)) < ID_AT || start >= ID_AT + (1 << 20))
		at++;
	memset(inputs, 1, sizeof inputs);
	must(dataset_check(&d));
	dataset_fill(&d, 1, at, 1, inputs, targets);
	for (int t = 0; t < TOKENS; t++)
		ck_assert(inputs[t] == 0 && targets[t] == 0);
	char says[64];
	snprintf(says, sizeof says, "train.bin: id 60000 at place %" PRId64, start);
	must_fail(dataset_check(&d), STATUS_INPUT, says);
	dataset_fill(&d, 1, at + 1, 1, inputs, targets);
	must_fail(dataset_check(&d), STATUS_INPUT, says);
	dataset_release(&d);
}

START_TEST(files_that_become_shorter)
{
	struct dataset d;
	int32_t inputs[TOKENS];
	const char *path = put_raw("train.bin", 1, 10000, 2);
	open_data(&d, path);
	ck_assert_int_eq(truncate(path, 100), 0);
	for (int i = 0; i < 100; i++)
		dataset_fill(&d, 1, i, 1, inputs, NULL);
	must_fail(dataset_check(&d), STATUS_INPUT, "became shorter while it was read: 100 bytes, and 20000 before");
	dataset_release(&d);
}

SUITE_WITH("tokens", 60, scratch_make, scratch_remove)
