/* Datasets: what is in the batches, against the files themselves and against numpy; and every way in which a file can
 * be wrong, refused with a line that names it. */
#include "real/data/data.h"
#include "real/data/file.h"
#include "real/data/sampler.h"
#include "real/data/token_file.h"
#include "real/rank/checksum.h"
#include "tests/support/json.h"
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

static const char *const names[4] = {"train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte",
                                     "t10k-labels-idx1-ubyte"};
static char text_path[96];
static const struct dataset_spec tiny_spec = {.kind = DATASET_IMAGES, .path = scratch, .pixels = 6, .classes = 10};

/* Three training images of 2 × 3 and two for validation. */
static const unsigned char images_3[34] = {0, 0, 8, 3, 0, 0, 0, 3, 0,  0,  0,  2,  0,  0,  0,  3,  1,
                                           2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 255};
static const unsigned char labels_3[11] = {0, 0, 8, 1, 0, 0, 0, 3, 9, 0, 4};
static const unsigned char images_2[28] = {0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 2, 0,  0,
                                           0, 3, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
static const unsigned char labels_2[10] = {0, 0, 8, 1, 0, 0, 0, 2, 7, 6};

static void path_of(char path[128], const char *name, const char *ending)
{
	snprintf(path, 128, "%s/%s%s", scratch, name, ending);
}

static void put_named(int which, const void *bytes, size_t size)
{
	char path[128];
	path_of(path, names[which], "");
	file_put(path, bytes, size);
}

/* One gzip member. */
static size_t pack(unsigned char *out, size_t room, const void *bytes, size_t size)
{
	z_stream z = {0};
	ck_assert_int_eq(deflateInit2(&z, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
	z.next_in = (Bytef *)(uintptr_t)bytes;
	z.avail_in = (uInt)size;
	z.next_out = out;
	z.avail_out = (uInt)room;
	ck_assert_int_eq(deflate(&z, Z_FINISH), Z_STREAM_END);
	size_t packed = z.total_out;
	deflateEnd(&z);
	return packed;
}

static void put_tiny(void)
{
	put_named(0, images_3, sizeof images_3);
	put_named(1, labels_3, sizeof labels_3);
	put_named(2, images_2, sizeof images_2);
	put_named(3, labels_2, sizeof labels_2);
}

static void setup(void)
{
	scratch_make();
	snprintf(text_path, sizeof text_path, "%s/text", scratch);
	put_tiny();
}

static void assert_refused(const struct dataset_spec *spec, const char *name, const char *word)
{
	struct dataset d;
	ck_assert_int_eq(dataset_open(&d, spec), STATUS_INPUT);
	ck_assert_int_eq(d.training_samples, 0);
	ck_assert_msg(strstr(status_message(), name) && strstr(status_message(), word), "\"%s\" without \"%s\", \"%s\"",
	              status_message(), name, word);
}

/* ---- images ---- */

START_TEST(images_match_their_files)
{
	struct dataset d;
	must(dataset_open(&d, &tiny_spec));
	ck_assert_int_eq(d.training_samples, 3);
	ck_assert_int_eq(d.validation_samples, 2);
	ck_assert_int_eq(d.inputs_per_sample, 6);
	ck_assert_int_eq(d.targets_per_sample, 1);

	float inputs[3][6];
	int32_t targets[3];
	bool seen[3] = {false};
	dataset_fill(&d, 1, 30, 3, inputs, targets); /* the eleventh epoch: each image once */
	for (int i = 0; i < 3; i++) {
		int image = (int)sampler_permute(1, 10, 3, i);
		ck_assert(!seen[image]);
		seen[image] = true;
		ck_assert_int_eq(targets[i], labels_3[8 + image]);
		for (int p = 0; p < 6; p++)
			ck_assert(inputs[i][p] == (float)((images_3[16 + 6 * image + p] / 255.0 - 0.2860) / 0.3530));
	}
	dataset_fill_validation(&d, 0, 2, inputs, targets);
	ck_assert_int_eq(targets[1], 6);
	ck_assert(inputs[0][0] == (float)(-0.2860 / 0.3530));
	dataset_release(&d);
	dataset_release(&d);
}

/* Four ranks of two samples get what one rank of eight gets. */
START_TEST(batches_do_not_depend_on_the_rank)
{
	struct dataset d;
	ck_assert_int_eq(dataset_open(&d, &tiny_spec), STATUS_OK);
	float whole[8][6], part[2][6];
	int32_t targets[8], part_targets[2];
	dataset_fill(&d, 5, 8, 8, whole, targets);
	for (int rank = 0; rank < 4; rank++) {
		dataset_fill(&d, 5, 8 + 2 * rank, 2, part, part_targets);
		ck_assert_mem_eq(part, whole[2 * rank], sizeof part);
		ck_assert_mem_eq(part_targets, targets + 2 * rank, sizeof part_targets);
	}
	dataset_release(&d);
}

START_TEST(packed_images_are_the_same)
{
	unsigned char packed[256];
	char path[128];
	struct dataset d;
	put_named(0, "not this one", 12);
	path_of(path, names[0], ".gz");
	file_put(path, packed, pack(packed, sizeof packed, images_3, sizeof images_3));
	must(dataset_open(&d, &tiny_spec));
	float input[6];
	int32_t target;
	dataset_fill(&d, 1, 0, 1, input, &target);
	int image = (int)sampler_permute(1, 0, 3, 0);
	ck_assert(input[5] == (float)((images_3[16 + 6 * image + 5] / 255.0 - 0.2860) / 0.3530));
	dataset_release(&d);
}

START_TEST(wrong_images)
{
	unsigned char bytes[64] = {0};
	char path[128];
	for (size_t n = 0; n < sizeof images_3; n++) { /* truncated anywhere */
		put_named(0, images_3, n);
		assert_refused(&tiny_spec, names[0], n < 4 ? "not an IDX file of images" : "truncated");
	}
	memcpy(bytes, images_3, sizeof images_3);
	put_named(0, bytes, sizeof images_3 + 5);
	assert_refused(&tiny_spec, names[0], "5 bytes of trailing data");
	memset(bytes + 4, 0xff, 12); /* dimensions whose product overflows */
	put_named(0, bytes, sizeof images_3);
	assert_refused(&tiny_spec, names[0], "truncated");
	memset(bytes + 4, 0, 12);
	put_named(0, bytes, sizeof images_3);
	assert_refused(&tiny_spec, names[0], "holds no images");
	put_named(0, labels_3, sizeof labels_3);
	assert_refused(&tiny_spec, names[0], "not an IDX file of images");
	put_named(0, images_2, sizeof images_2);
	assert_refused(&tiny_spec, names[1], "3 labels");

	put_tiny();
	memcpy(bytes, labels_2, sizeof labels_2);
	bytes[9] = 10;
	put_named(3, bytes, sizeof labels_2);
	assert_refused(&tiny_spec, names[3], "label 10 of image 1");

	put_tiny();
	struct dataset_spec large = tiny_spec;
	large.pixels = 784;
	assert_refused(&large, names[0], "6 pixels");
	path_of(path, names[3], "");
	unlink(path);
	assert_refused(&tiny_spec, names[3], scratch);
	ck_assert_int_eq(mkdir(path, 0777), 0);
	assert_refused(&tiny_spec, names[3], "is a folder");
	ck_assert_int_eq(rmdir(path), 0);
	struct dataset_spec absent = tiny_spec;
	absent.path = "/none/at/all";
	assert_refused(&absent, "/none/at/all", "four IDX files");
}

START_TEST(wrong_gzip)
{
	unsigned char packed[256];
	char path[128];
	size_t size = pack(packed, sizeof packed, images_3, sizeof images_3);
	path_of(path, names[0], ".gz");
	for (size_t n = 0; n < size; n++) {
		file_put(path, packed, n);
		assert_refused(&tiny_spec, names[0], n < 2 ? "not an IDX file" : "truncated");
	}
	packed[size - 6] ^= 1; /* the checksum at its end */
	file_put(path, packed, size);
	assert_refused(&tiny_spec, names[0], "corrupt gzip");
	packed[size - 6] ^= 1;
	packed[2] = 7; /* a method that does not exist */
	file_put(path, packed, size);
	assert_refused(&tiny_spec, names[0], "corrupt gzip");
	packed[2] = 8;
	memset(packed + size, 0, 3);
	file_put(path, packed, size + 3);
	assert_refused(&tiny_spec, names[0], "3 bytes of trailing data");
}

/* ---- text ---- */

static uint64_t sum_of_text(const char *bytes, size_t size)
{
	struct dataset d;
	const struct dataset_spec spec = {.kind = DATASET_TEXT, .path = text_path, .tokens = 16, .classes = 256};
	file_put(text_path, bytes, size);
	must(dataset_open(&d, &spec));
	uint64_t sum = dataset_checksum(&d);
	dataset_release(&d);
	return sum;
}

static void assert_seen(char *bytes, size_t size, size_t at, uint64_t sum)
{
	bytes[at] ^= 1;
	ck_assert_msg(sum_of_text(bytes, size) != sum, "character %zu went unseen", at);
	bytes[at] ^= 1;
}

/* Of 1000 characters 900 are to train on, and 97 to validate with. Of nine million the ends of what is read at once,
 * and of what a thread does, are among those that change. */
START_TEST(checksum_sees_every_id)
{
	enum { SMALL = 1000, LARGE = 9000000, AT_ONCE = 1 << 16, PIECE = 8100000 / 2 };
	char *bytes = malloc(LARGE);
	ck_assert_ptr_nonnull(bytes);
	for (int i = 0; i < LARGE; i++)
		bytes[i] = (char)(32 + i % 91);
	uint64_t sum = sum_of_text(bytes, SMALL);
	for (size_t at = 0; at < 997; at += at < 880 ? 7 : 1)
		assert_seen(bytes, SMALL, at, sum);
	sum = sum_of_text(bytes, LARGE);
	const size_t places[] = {0, AT_ONCE - 1, AT_ONCE, PIECE - 17, PIECE - 1, PIECE, PIECE + 1, 8099999, 8100000};
	for (size_t i = 0; i < sizeof places / sizeof *places; i++)
		assert_seen(bytes, LARGE, places[i], sum);
	ck_assert(sum_of_text(bytes, LARGE) == sum);
	free(bytes);
}

START_TEST(text_is_shifted_by_one)
{
	char bytes[1000];
	for (int i = 0; i < 1000; i++)
		bytes[i] = (char)(1 + i % 251);
	file_put(text_path, bytes, sizeof bytes);
	struct dataset d;
	struct dataset_spec spec = {.kind = DATASET_TEXT, .path = text_path, .tokens = 16, .classes = 256};
	must(dataset_open(&d, &spec));
	ck_assert_int_eq(d.training_samples, 884);
	ck_assert_int_eq(d.validation_samples, 6); /* 99 / 16 */

	int32_t inputs[8][16], targets[8][16];
	for (int64_t first = 0; first < 4000; first += 8) {
		dataset_fill(&d, 3, first, 8, inputs, &targets[0][0]);
		for (int i = 0; i < 8; i++) {
			int64_t start = sampler_start(3, 884, first + i);
			ck_assert_int_lt(start + 16, 900);
			for (int t = 0; t < 16; t++) {
				ck_assert_int_eq(inputs[i][t], 1 + (start + t) % 251);
				ck_assert_int_eq(targets[i][t], 1 + (start + t + 1) % 251);
			}
		}
	}
	dataset_fill_validation(&d, 1, 5, inputs, &targets[0][0]);
	ck_assert_int_eq(inputs[0][0], 1 + 916 % 251);
	ck_assert_int_eq(targets[4][15], 1 + 996 % 251);
	dataset_release(&d);
}

START_TEST(short_texts)
{
	char bytes[64];
	memset(bytes, 'x', sizeof bytes);
	struct dataset d;
	struct dataset_spec spec = {.kind = DATASET_TEXT, .path = text_path, .tokens = 16, .classes = 256};
	for (size_t n = 0; n < 18; n++) {
		file_put(text_path, bytes, n);
		assert_refused(&spec, text_path, "too few");
	}
	int32_t inputs[16], targets[16];
	for (size_t n = 18; n < 64; n++) {
		file_put(text_path, bytes, n);
		must(dataset_open(&d, &spec));
		ck_assert_int_eq(d.validation_samples, 0);
		ck_assert_int_eq(d.training_samples, (int64_t)n - 16);
		for (int64_t i = 0; i < 100; i++)
			dataset_fill(&d, 1, i, 1, inputs, targets);
		dataset_release(&d);
	}
	spec.tokens = INT64_MAX;
	assert_refused(&spec, text_path, "too few");
	spec.path = scratch;
	assert_refused(&spec, scratch, "is a folder");
	spec.path = "/dev/null";
	assert_refused(&spec, "/dev/null", "not a regular file");
	spec.path = "/none/text";
	assert_refused(&spec, "/none/text", "no such file");
}

/* Two members, each of which unpacks to more than the first guess of its size; limits to the byte. */
START_TEST(gzip_members_and_limits)
{
	enum { SIZE = 100000 };
	unsigned char *plain = malloc(SIZE), *packed = malloc(SIZE);
	ck_assert(plain && packed);
	for (int i = 0; i < SIZE; i++)
		plain[i] = (unsigned char)(i / 7 % 256);
	size_t size = pack(packed, SIZE, plain, SIZE - 10);
	size += pack(packed + size, SIZE - size, plain + SIZE - 10, 10);
	for (int64_t limit = SIZE - 3; limit <= SIZE + 3; limit++) {
		struct data_file f = {.bytes = malloc(size), .size = (int64_t)size};
		ck_assert_ptr_nonnull(f.bytes);
		memcpy(f.bytes, packed, size);
		enum status s = data_file_unpack(&f, "members.gz", limit);
		if (limit < SIZE) {
			must_fail(s, STATUS_INPUT, "members.gz: unpacks to more than");
			ck_assert_ptr_null(f.bytes);
		} else {
			must(s);
			ck_assert_int_eq(f.size, SIZE);
			ck_assert_mem_eq(f.bytes, plain, SIZE);
		}
		data_file_release(&f);
	}
	free(plain);
	free(packed);
}

/* The bytes of gzip are no ids: only those of the text are below the vocabulary. */
START_TEST(packed_text_is_checked_unpacked)
{
	static const char text[] = "abc abc abc abd";
	unsigned char packed[256];
	struct token_spec spec = {.vocabulary = 'c' + 1};
	struct token_file f;
	file_put(text_path, packed, pack(packed, sizeof packed, text, 11));
	must(token_file_open(&f, text_path, &spec));
	ck_assert_int_eq(f.count, 11);
	ck_assert_mem_eq(f.ids, text, 11);
	token_file_release(&f);
	file_put(text_path, packed, pack(packed, sizeof packed, text, 15));
	must_fail(token_file_open(&f, text_path, &spec), STATUS_INPUT, "id 100 at place 14");
}

/* A hundred megabytes of zeros in a tenth of one: in gigabytes, every rank would fill the memory. */
START_TEST(gzip_that_swells_is_refused)
{
	enum { SIZE = 100 << 20, ROOM = 1 << 20 };
	unsigned char *plain = calloc(SIZE, 1), *packed = malloc(ROOM);
	ck_assert(plain && packed);
	struct data_file f = {.size = (int64_t)pack(packed, ROOM, plain, SIZE), .bytes = packed};
	free(plain);
	must_fail(data_file_unpack(&f, "bomb.gz", INT64_C(1) << 32), STATUS_INPUT,
	          "bomb.gz: unpacks to more than 200 times");
	data_file_release(&f);
}

/* ---- what the product trains on ---- */

static void assert_first_batch(const char *golden_path, const struct dataset_spec *spec)
{
	json_t *golden = json_open(golden_path);
	uint64_t seed = (uint64_t)whole_of(golden, "seed");
	int64_t batch = whole_of(golden, "batch");
	const char *expected = text_of(golden, "first_inputs_checksum");

	struct dataset d;
	must(dataset_open(&d, spec));
	for (int64_t i = 0; i < batch; i++)
		ck_assert_int_eq(d.kind == DATASET_IMAGES ? sampler_image(seed, d.training_samples, i)
		                                          : sampler_start(seed, d.training_samples, i),
		                 (int64_t)number_at(member_of(golden, "sample_places"), (int)i));
	int64_t elements = batch * d.inputs_per_sample;
	float *inputs = malloc((size_t)elements * sizeof *inputs);
	int32_t *targets = malloc((size_t)(batch * d.targets_per_sample) * sizeof *targets);
	ck_assert(inputs && targets);
	dataset_fill(&d, seed, 0, batch, inputs, targets);
	char text[17];
	snprintf(text, sizeof text, "%016" PRIx64, weights_checksum(0, elements, inputs));
	ck_assert_str_eq(text, expected);
	free(inputs);
	free(targets);
	dataset_release(&d);
	json_decref(golden);
}

START_TEST(batches_agree_with_numpy)
{
	struct dataset_spec images = {.kind = DATASET_IMAGES, .pixels = 784, .classes = 10};
	struct dataset_spec text = {
	        .kind = DATASET_TEXT, .path = "tests/golden/text.txt", .tokens = 128, .classes = 256};
	assert_first_batch("tests/golden/mlp.json", &images);
	assert_first_batch("tests/golden/gpt.json", &text);
	text.tokens = 16;
	assert_first_batch("tests/golden/gpt_tiny.json", &text);
}

START_TEST(default_data_is_there)
{
	struct dataset d;
	struct dataset_spec spec = {.kind = DATASET_IMAGES, .pixels = 784, .classes = 10};
	must(dataset_open(&d, &spec));
	ck_assert_int_eq(d.training_samples, 60000);
	ck_assert_int_eq(d.validation_samples, 10000);
	int count[10] = {0};
	for (int64_t i = 0; i < d.training_samples; i++) {
		int32_t label;
		dataset_fill(&d, 1, i, 1, NULL, &label); /* an epoch has each image once */
		count[label]++;
	}
	for (int c = 0; c < 10; c++)
		ck_assert_int_eq(count[c], 6000);
	dataset_release(&d);

	spec = (struct dataset_spec){.kind = DATASET_TEXT, .tokens = 128, .classes = 256};
	must(dataset_open(&d, &spec));
	ck_assert_int_ge(d.training_samples, 900000);
	dataset_release(&d);
}

SUITE_WITH("data", 60, setup, scratch_remove)
