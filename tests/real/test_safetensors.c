/* Safetensors files: what is written is read back, by ranges; every way in which a header can be wrong is refused with
 * a line that names the file; nothing half-written stands at the final name. */
#include "real/data/safetensors.h"
#include "tests/support/refusal.h"
#include "tests/support/scratch.h"
#include "tests/support/suite.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char file[96];

static void setup(void)
{
	scratch_make();
	snprintf(file, sizeof file, "%s/f.safetensors", scratch);
}

static void teardown(void)
{
	unlink(file);
	ck_assert_int_eq(rmdir(scratch), 0); /* and so: nothing else was left in it */
}

static void put_bytes(const void *bytes, size_t size)
{
	scratch_put("f.safetensors", bytes, size);
}

/* Header text, then so many bytes of data: 0, 1, 2, … */
static void put_file(const char *header, size_t data_bytes)
{
	unsigned char bytes[4096] = {0};
	size_t length = strlen(header);
	ck_assert_uint_le(8 + length + data_bytes, sizeof bytes);
	bytes[0] = (unsigned char)(length & 0xff);
	bytes[1] = (unsigned char)(length >> 8);
	memcpy(bytes + 8, header, length);
	for (size_t i = 0; i < data_bytes; i++)
		bytes[8 + length + i] = (unsigned char)i;
	put_bytes(bytes, 8 + length + data_bytes);
}

static void assert_refused(const char *word)
{
	struct safetensors f;
	ck_assert_int_eq(safetensors_open(&f, file), STATUS_INPUT);
	ck_assert_ptr_null(f.tensors);
	ck_assert_msg(strstr(status_message(), file) && strstr(status_message(), word), "\"%s\" without \"%s\"",
	              status_message(), word);
	for (const char *c = status_message(); *c; c++)
		ck_assert_msg((unsigned char)*c >= ' ', "control character in the message");
}

static const float seven[7] = {1.5F, -2.0F, 3.25F, 0.0F, -0.0F, 1e-40F, 1e30F};

static void declare_two(struct safetensors_writer *w)
{
	ck_assert_int_eq(safetensors_declare(w, "a.weight", 2, (int64_t[]){2, 3}), STATUS_OK);
	ck_assert_int_eq(safetensors_declare(w, "scalar", 0, NULL), STATUS_OK);
}

START_TEST(round_trip_by_ranges)
{
	struct safetensors_writer w;
	ck_assert_int_eq(safetensors_create(&w, file), STATUS_OK);
	declare_two(&w);
	ck_assert_int_eq(safetensors_begin(&w), STATUS_OK);
	ck_assert_int_eq(safetensors_write(&w, 1, 0, 1, seven + 6), STATUS_OK);
	ck_assert_int_eq(safetensors_write(&w, 0, 4, 2, seven + 4), STATUS_OK);
	ck_assert_int_eq(safetensors_write(&w, 0, 0, 4, seven), STATUS_OK);
	ck_assert_int_eq(access(file, F_OK), -1);
	ck_assert_int_eq(safetensors_finish(&w, w.elements_written), STATUS_OK);
	safetensors_writer_release(&w);
	ck_assert_int_eq(folder_entries(scratch), 1);

	struct safetensors f;
	ck_assert_int_eq(safetensors_open(&f, file), STATUS_OK);
	ck_assert_int_eq(f.count, 2);
	ck_assert_int_eq(f.data_at % 8, 0);
	ck_assert_ptr_null(safetensors_find(&f, "b.weight"));
	const struct safetensors_tensor *t = safetensors_find(&f, "a.weight");
	ck_assert_ptr_nonnull(t);
	ck_assert_int_eq(t->rank, 2);
	ck_assert_int_eq(t->shape[1], 3);
	for (int64_t first = 0; first <= 6; first++) {
		for (int64_t count = 0; count <= 6 - first; count++) {
			float part[6];
			ck_assert_int_eq(safetensors_read(&f, t, first, count, part), STATUS_OK);
			ck_assert_mem_eq(part, seven + first, (size_t)count * sizeof(float));
		}
	}
	float scalar = 0;
	ck_assert_int_eq(safetensors_read(&f, safetensors_find(&f, "scalar"), 0, 1, &scalar), STATUS_OK);
	ck_assert(scalar == seven[6]);
	safetensors_release(&f);
	safetensors_release(&f);
}

START_TEST(two_writers_make_one_file)
{
	struct safetensors_writer root, other;
	ck_assert_int_eq(safetensors_create(&root, file), STATUS_OK);
	declare_two(&root);
	ck_assert_int_eq(safetensors_begin(&root), STATUS_OK);
	ck_assert_int_eq(safetensors_join(&other, root.temporary), STATUS_OK);
	declare_two(&other);
	ck_assert_int_eq(safetensors_begin(&other), STATUS_OK);
	ck_assert_int_eq(safetensors_write(&other, 0, 3, 3, seven + 3), STATUS_OK);
	ck_assert_int_eq(safetensors_write(&root, 0, 0, 3, seven), STATUS_OK);
	ck_assert_int_eq(safetensors_write(&root, 1, 0, 1, seven + 6), STATUS_OK);
	int64_t written = root.elements_written + other.elements_written;
	safetensors_writer_release(&other);
	ck_assert_int_eq(access(root.temporary, F_OK), 0);
	ck_assert_int_eq(safetensors_finish(&root, written), STATUS_OK);
	safetensors_writer_release(&root);

	struct safetensors f;
	float whole[6];
	ck_assert_int_eq(safetensors_open(&f, file), STATUS_OK);
	ck_assert_int_eq(safetensors_read(&f, safetensors_find(&f, "a.weight"), 0, 6, whole), STATUS_OK);
	ck_assert_mem_eq(whole, seven, sizeof whole);
	safetensors_release(&f);
}

START_TEST(unfinished_leaves_the_old_file)
{
	put_bytes("old", 3);
	struct safetensors_writer w;
	ck_assert_int_eq(safetensors_create(&w, file), STATUS_OK);
	declare_two(&w);
	ck_assert_int_eq(safetensors_begin(&w), STATUS_OK);
	ck_assert_int_eq(safetensors_write(&w, 0, 0, 6, seven), STATUS_OK);
	must_fail(safetensors_finish(&w, w.elements_written), STATUS_RUN, "6 elements were written");
	ck_assert_int_eq(folder_entries(scratch), 2);
	safetensors_writer_release(&w);
	safetensors_writer_release(&w);
	ck_assert_int_eq(folder_entries(scratch), 1);
	struct stat info;
	ck_assert_int_eq(stat(file, &info), 0);
	ck_assert_int_eq(info.st_size, 3);
}

START_TEST(writer_refuses)
{
	struct safetensors_writer w;
	char path[128];
	snprintf(path, sizeof path, "%s/none/f.safetensors", scratch);
	must_fail(safetensors_create(&w, path), STATUS_INPUT, path);
	ck_assert_int_eq(safetensors_create(&w, scratch), STATUS_INPUT);
	ck_assert_int_eq(safetensors_join(&w, path), STATUS_RUN);

	ck_assert_int_eq(safetensors_create(&w, file), STATUS_OK);
	ck_assert_int_eq(safetensors_declare(&w, "twice", 0, NULL), STATUS_OK);
	ck_assert_int_eq(safetensors_declare(&w, "twice", 0, NULL), STATUS_OK);
	must_fail(safetensors_begin(&w), STATUS_INPUT, "twice");
	safetensors_writer_release(&w);

	ck_assert_int_eq(safetensors_create(&w, file), STATUS_OK);
	ck_assert_int_eq(safetensors_declare(&w, "huge", 2, (int64_t[]){INT64_C(1) << 40, INT64_C(1) << 40}),
	                 STATUS_INPUT);
	safetensors_writer_release(&w);
}

START_TEST(half_types_convert)
{
	static const struct {
		uint16_t half;
		float value;
	} halves[] = {{0x3c00, 1.0F},          {0xc000, -2.0F},    {0x7bff, 65504.0F}, {0x0001, 0x1p-24F},
	              {0x83ff, -0x1.ff8p-15F}, {0x0400, 0x1p-14F}, {0x8000, -0.0F},    {0x7c00, INFINITY}};
	char bytes[256] = {0};
	static const char header[] = "{\"b\":{\"dtype\":\"BF16\",\"shape\":[2],\"data_offsets\":[16,20]},"
	                             "\"h\":{\"dtype\":\"F16\",\"shape\":[8],\"data_offsets\":[0,16]}}";
	bytes[0] = (char)(sizeof header - 1);
	memcpy(bytes + 8, header, sizeof header - 1);
	for (size_t i = 0; i < 8; i++)
		memcpy(bytes + 8 + sizeof header - 1 + 2 * i, &halves[i].half, 2);
	static const uint16_t brains[2] = {0x3f80, 0xc040};
	memcpy(bytes + 8 + sizeof header - 1 + 16, brains, sizeof brains);
	put_bytes(bytes, 8 + sizeof header - 1 + 20);

	struct safetensors f;
	float x[8];
	ck_assert_int_eq(safetensors_open(&f, file), STATUS_OK);
	ck_assert_str_eq(f.tensors[0].name, "h");
	ck_assert_int_eq(safetensors_read(&f, safetensors_find(&f, "h"), 0, 8, x), STATUS_OK);
	for (int i = 0; i < 8; i++)
		ck_assert_msg(memcmp(&x[i], &halves[i].value, sizeof x[i]) == 0, "%04x became %a", halves[i].half,
		              (double)x[i]);
	ck_assert_int_eq(safetensors_read(&f, safetensors_find(&f, "b"), 0, 2, x), STATUS_OK);
	ck_assert(x[0] == 1.0F && x[1] == -3.0F);
	safetensors_release(&f);
}

START_TEST(other_types_open_but_are_not_weights)
{
	put_file("{\"mask\":{\"dtype\":\"BOOL\",\"shape\":[4],\"data_offsets\":[0,4]},\"__metadata__\":{\"a\":\"b\"}}",
	         4);
	struct safetensors f;
	float x[4];
	ck_assert_int_eq(safetensors_open(&f, file), STATUS_OK);
	ck_assert_int_eq(f.count, 1);
	must_fail(safetensors_read(&f, &f.tensors[0], 0, 4, x), STATUS_INPUT, "mask");
	safetensors_release(&f);
}

#define T(dtype, shape, offsets) "{\"dtype\":" dtype ",\"shape\":" shape ",\"data_offsets\":" offsets "}"

static const struct {
	const char *header;
	size_t data_bytes;
	const char *word;
} wrong[] = {
        {"", 0, "not JSON"},
        {"{\"a\":", 0, "not JSON"},
        {"{\"a\x1b[31m\n", 0, "not JSON"},
        {"[1]", 0, "not a JSON object"},
        {"{\"a\":3}", 0, "tensor a: its description"},
        {"{\"a\":{}}", 0, "tensor a: has no dtype"},
        {"{\"a\\u001b[31m\":{}}", 0, "control characters"},
        {"{\"a\":" T("\"F4\\n\"", "[1]", "[0,4]") "}", 4, "tensor a: has no dtype"},
        {"{\"a\":" T("\"F4\"", "[1]", "[0,4]") "}", 4, "tensor a: dtype F4"},
        {"{\"a\":" T("\"F32\"", "1", "[0,4]") "}", 4, "tensor a: its shape"},
        {"{\"a\":" T("\"F32\"", "[-1]", "[0,4]") "}", 4, "tensor a: a dimension"},
        {"{\"a\":" T("\"F32\"", "[1.0]", "[0,4]") "}", 4, "tensor a: a dimension"},
        {"{\"a\":" T("\"F32\"", "[1,1,1,1,1,1,1,1,1]", "[0,4]") "}", 4, "tensor a: more than 8"},
        {"{\"a\":" T("\"F32\"", "[4294967296,4294967296]", "[0,4]") "}", 4, "tensor a: its shape has more"},
        {"{\"a\":" T("\"F32\"", "[4611686018427387904]", "[0,4]") "}", 4, "tensor a: has 4 bytes"},
        {"{\"a\":" T("\"F32\"", "[99999999999999999999]", "[0,4]") "}", 4, "not JSON"},
        {"{\"a\":" T("\"F32\"", "[1]", "[0]") "}", 4, "tensor a: its data_offsets"},
        {"{\"a\":" T("\"F32\"", "[1]", "[0,\"4\"]") "}", 4, "tensor a: its data_offsets"},
        {"{\"a\":" T("\"F32\"", "[1]", "[-4,0]") "}", 4, "tensor a: its data_offsets are not a range"},
        {"{\"a\":" T("\"F32\"", "[1]", "[4,0]") "}", 4, "tensor a: its data_offsets are not a range"},
        {"{\"a\":" T("\"F32\"", "[1]", "[0,4]") "}", 3, "truncated"},
        {"{\"a\":" T("\"F32\"", "[2]", "[0,4]") "}", 4, "tensor a: has 4 bytes"},
        {"{\"a\":" T("\"F16\"", "[1]", "[0,4]") "}", 4, "tensor a: has 4 bytes"},
        {"{\"a\":" T("\"F32\"", "[1]", "[4,8]") "}", 8, "tensor a: a hole of 4"},
        {"{\"a\":" T("\"F32\"", "[1]", "[0,4]") "}", 8, "4 bytes behind the last tensor"},
        {"{}", 1, "1 bytes behind the last tensor"},
        {"{\"a\":" T("\"F32\"", "[2]", "[0,8]") ",\"b\":" T("\"F32\"", "[1]", "[4,8]") "}", 8, "a and b overlap"},
        {"{\"a\":" T("\"F32\"", "[1]", "[0,4]") ",\"a\":" T("\"F32\"", "[1]", "[4,8]") "}", 8, "duplicate"},
};

START_LOOP_TEST(wrong_header, 0, (int)(sizeof wrong / sizeof wrong[0]))
{
	put_file(wrong[_i].header, wrong[_i].data_bytes);
	assert_refused(wrong[_i].word);
}

START_TEST(wrong_file)
{
	struct safetensors f;
	must_fail(safetensors_open(&f, file), STATUS_INPUT, "No such file");
	ck_assert_int_eq(safetensors_open(&f, scratch), STATUS_INPUT);
	put_bytes("\x10\0\0", 3);
	assert_refused("too few");
	put_bytes("\x10\0\0\0\0\0\0\0{}", 10);
	assert_refused("truncated");
	put_bytes("PK\x03\x04 not at all", 16);
	assert_refused("not a safetensors file");
	put_bytes("\xff\xff\xff\xff\xff\xff\xff\xff{}", 10);
	assert_refused("not a safetensors file");
}

START_TEST(truncated_anywhere)
{
	static const char header[] = "{\"a\":" T("\"F32\"", "[2]", "[0,8]") "}";
	char bytes[128] = {0};
	size_t size = 8 + sizeof header - 1 + 8;
	bytes[0] = (char)(sizeof header - 1);
	memcpy(bytes + 8, header, sizeof header - 1);
	for (size_t n = 0; n < size; n++) {
		put_bytes(bytes, n);
		assert_refused("");
	}
	put_bytes(bytes, size);
	struct safetensors f;
	ck_assert_int_eq(safetensors_open(&f, file), STATUS_OK);
	safetensors_release(&f);
}

/* Made by the format's own library. */
START_TEST(reads_what_pytorch_wrote)
{
	struct safetensors f;
	must(safetensors_open(&f, "tests/golden/gpt_tiny_gradients.safetensors"));
	ck_assert_int_eq(f.count, 28);
	const struct safetensors_tensor *t = safetensors_find(&f, "h.1.mlp.c_fc.weight");
	ck_assert_ptr_nonnull(t);
	ck_assert(t->rank == 2 && t->shape[0] == 32 && t->shape[1] == 128);
	safetensors_release(&f);
}

/* A million tensors took ten seconds and a gigabyte. */
START_TEST(too_many_tensors_are_refused_at_once)
{
	static const char one[] = "\"00000000\":{\"dtype\":\"F32\",\"shape\":[0],\"data_offsets\":[0,0]},";
	char path[300];
	const char *tmp = getenv("TMPDIR");
	snprintf(path, sizeof path, "%s/many.%d.safetensors", tmp ? tmp : "/tmp", (int)getpid());
	FILE *f = fopen(path, "wb");
	ck_assert_ptr_nonnull(f);
	uint64_t bytes = 200001 * (sizeof one - 1) + 1;
	fwrite(&bytes, sizeof bytes, 1, f);
	fputc('{', f);
	for (int i = 0; i < 200001; i++)
		fprintf(f, "\"%08d%s", i, one + 9);
	fclose(f);
	struct safetensors many;
	enum status s = safetensors_open(&many, path);
	unlink(path);
	ck_assert_int_eq(s, STATUS_INPUT);
	ck_assert_ptr_nonnull(strstr(status_message(), "more than 200000 tensors"));
}

SUITE_WITH("safetensors", 0, setup, teardown)
