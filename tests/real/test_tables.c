/* Tables and pairs of IDX files for models with numbers as inputs: fields as people write them, which column is the
 * label, how numbers are scaled, and every way in which a table can be wrong. */
#include "real/data/csv.h"
#include "real/data/data.h"
#include "real/data/sampler.h"
#include "tests/support/refusal.h"
#include "tests/support/scratch.h"
#include "tests/support/suite.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

static enum status open_rows(struct dataset *d, const char *path, const char *keys, int inputs, int classes)
{
	char list[512];
	snprintf(list, sizeof list, "%s%s", path, keys);
	struct dataset_spec spec = {.kind = DATASET_IMAGES, .path = list, .pixels = inputs, .classes = classes};
	return dataset_open(d, &spec);
}

static void assert_refused(const char *path, const char *keys, int inputs, int classes, const char *says)
{
	struct dataset d;
	must_fail(open_rows(&d, path, keys, inputs, classes), STATUS_INPUT, says);
}

/* ---- fields ---- */

static void assert_fields(const char *text, const char *const *fields, const char *ends)
{
	struct csv c;
	csv_begin(&c, "fields", (const unsigned char *)text, (int64_t)strlen(text));
	for (int i = 0; fields[i]; i++) {
		must(csv_next(&c));
		ck_assert_msg(!c.at_end && !strcmp(c.text, fields[i]), "%s: field %d is '%s'", text, i, c.text);
		ck_assert_int_eq(c.ends_row, ends[i] == '|');
	}
	must(csv_next(&c));
	ck_assert(c.at_end);
}

START_TEST(fields_as_people_write_them)
{
	static const char *const six[] = {"1", "b c", "3", "4", "", "6", NULL};
	assert_fields("1,b c,3\n4,,6\n", six, "  |  |");
	assert_fields("\xef\xbb\xbf\n 1 , b c ,3 \r\n  \r\n4, ,6", six, "  |  |");
	assert_fields("1;b c;3\r4;;6\r", six, "  |  |");
	assert_fields("1\tb c\t3\n\n4\t\t6\n\n", six, "  |  |");
	assert_fields("\"1\",\"b c\" ,3\n4,\"\",\"6\"", six, "  |  |");
	static const char *const quoted[] = {"a\"b,\nc", "2", "", NULL};
	assert_fields("\"a\"\"b,\nc\",2,\n", quoted, "  |");
	static const char *const none[] = {NULL};
	assert_fields("", none, "");
	assert_fields("\n \r\n\t\n", none, "");
}

START_TEST(wrong_fields)
{
	char text[600];
	assert_refused(scratch_text("a.csv", "1,2,0\n1,\"2,1\n"), "", 2, 2, "a.csv:3: a quote is not closed");
	assert_refused(scratch_text("a.csv", "1,2,0\n1,\"2\"x,1\n"), "", 2, 2, "a.csv:2: text behind a closing quote");
	assert_refused(scratch_put("a.csv", "1,2,0\n1,\0,1\n", 12), "", 2, 2, "a.csv:2: a byte of zero");
	snprintf(text, sizeof text, "1,2,0\n1,%0300d,1\n", 7);
	assert_refused(scratch_text("a.csv", text), "", 2, 2, "a.csv:2: a field is longer than 255 bytes");
}

/* ---- labels ---- */

/* The first sample of an epoch and the label of row `row`, numbers as they are. */
static void assert_label(const char *text, const char *keys, int classes, int row, int label)
{
	struct dataset d;
	char all[128];
	snprintf(all, sizeof all, ":normalize=none%s", keys);
	must(open_rows(&d, scratch_text("a.csv", text), all, 2, classes));
	for (int64_t i = 0; i < d.training_samples; i++) {
		float input[2];
		int32_t target;
		dataset_fill(&d, 1, i, 1, input, &target);
		if (sampler_image(1, d.training_samples, i) != row)
			continue;
		ck_assert_msg(target == label, "%s: label %d", text, target);
		ck_assert(input[0] == (float)(10 * row) && input[1] == (float)(10 * row) + 0.5F);
	}
	dataset_release(&d);
}

START_TEST(which_column_is_the_label)
{
	assert_label("0,0.5,1\n10,10.5,0\n20,20.5,2\n", "", 3, 2, 2);
	assert_label("1,0,0.5\n0,10,10.5\n2,20,20.5\n", "", 3, 1, 0);
	assert_label("1,0,0.5\n0,10,10.5\n", "", 3, 0, 1);
	assert_label("x,Label,y\n0,1,0.5\n10,0,10.5\n", "", 2, 1, 0);
	assert_label("x,kind,y\n0,1,0.5\n10,0,10.5\n", ":label=kind", 2, 0, 1);
	assert_label("x,kind,y\n0,1,0.5\n10,0,10.5\n", ":label=2", 2, 0, 1);
	assert_label("0,0.5,1\n10,10.5,0\n", ":label=last", 2, 0, 1);
	assert_label("1,0,0.5\n0,10,10.5\n", ":label=first", 2, 0, 1);
	assert_label("label,0,1\n1,0,0.5\n0,10,10.5\n", "", 2, 0, 1); /* a header with numbers in it */
	/* Words, in the order of their bytes and not of the rows. */
	assert_label("0,0.5,b\n10,10.5,a\n20,20.5,b\n", "", 2, 0, 1);
	assert_label("x,y,kind\n0,0.5,b\n10,10.5,a\n", "", 2, 1, 0);
	assert_label("\"Iris, b\",0,0.5\n\"Iris, a\",10,10.5\n", "", 2, 0, 1);
}

static void assert_rows(const char *text, const char *keys, int inputs, int64_t rows, const char *says)
{
	struct dataset d;
	must(open_rows(&d, scratch_text("a.csv", text), keys, inputs, 3));
	int64_t got = d.training_samples + d.validation_samples;
	ck_assert_msg(got == rows, "%s: %d rows, not %d", text, (int)got, (int)rows);
	ck_assert_msg(strstr(d.words, says), "'%s' is not in: %s", says, d.words);
	dataset_release(&d);
}

START_TEST(columns_named_by_numbers)
{
	assert_rows("0,1,2,species\n5,4,3,a\n5,4,2,b\n5,4,1,a\n", "", 3, 3, "the label is column 4 (species)");
	assert_rows("species,0,1,2\na,5,4,3\nb,5,4,2\n", "", 3, 2, "the label is column 1 (species)");
	assert_rows("2019,2020,species\n5,4,a\n5,3,b\n", "", 2, 2, "the label is column 3 (species)");
	assert_rows("1,2,kind\n5,4,1\n5,3,0\n", "", 2, 2, "the label is column 3 (kind)");
	assert_rows("0,1,2,3\n5,4,3,1\n5,4,3,0\n", "", 3, 2, "the label is column 4 (3)");
	assert_rows("0,1,2,3\n5,4,3,1\n5,4,3,0\n", ":label=last", 3, 2, "the label is column 4 (3)");
	/* These are rows: a class comes again, numbers are none of names, three of them are too few to say so. */
	assert_rows("1,2,a\n5,4,b\n5,3,a\n", "", 2, 3, "the label is column 3;");
	assert_rows("1,2.5,a\n5,4,b\n5,3,b\n", "", 2, 3, "the label is column 3;");
	assert_rows("2,1,a\n5,4,b\n5,3,b\n", "", 2, 3, "the label is column 3;");
	assert_rows("0,1,2\n5,4,1\n5,3,0\n", "", 2, 3, "the label is column 3;");
	assert_rows("0,1,2,2\n5,4,3,1\n5,4,3,0\n", "", 3, 3, "the label is column 4;");
	assert_refused(scratch_text("a.csv", "0,1,species\n5,\"4\n"), "", 2, 3, "a quote is not closed");
}

START_TEST(labels_that_are_wrong)
{
	assert_refused(scratch_text("a.csv", "0,1.5,1\n1,2.5,0\n"), "", 2, 2, "both of the first and the last column");
	assert_refused(scratch_text("a.csv", "0.5,1.5,1\n1,2.5,2\n"), "", 2, 2,
	               "none of the first and the last column");
	assert_refused(scratch_text("a.csv", "a,1.5,b\nb,2.5,a\n"), "", 2, 2, "both of the first and the last column");
	assert_refused(scratch_text("a.csv", "5,1.5,1\n1,2.5,2\n"), ":label=last", 2, 2,
	               "label 2 in row 2, but the model has classes 0 to 1; the label is column 3");
	assert_refused(scratch_text("a.csv", "5,1.5,0.5\n1,2.5,1\n"), ":label=last", 2, 2, "label 0.5 in row 1");
	assert_refused(scratch_text("a.csv", "1,1.5,a\n1,2.5,b\n2,2,c\n"), "", 2, 2, "3 different labels in column 3");
	assert_refused(scratch_text("a.csv", "1,1.5,a\n1,2.5,b\n2,2,c\n"), ":label=3", 2, 2, "'c' is a class too many");
	assert_refused(scratch_text("a.csv", "1,1.5,0\n1,2.5,b\n"), "", 2, 2,
	               "a.csv:2: column 3: 'b' stands in a column of both numbers and words");
	assert_refused(scratch_text("a.csv", "1,1.5,a\n1,2.5,1\n"), "", 2, 2, "'1' stands in a column of both");
	static const char *const beyond[] = {"4", "0", "99999999999999999999"};
	for (int i = 0; i < COUNT(beyond); i++) {
		char keys[40];
		snprintf(keys, sizeof keys, ":label=%s", beyond[i]);
		assert_refused(scratch_paths[0], keys, 2, 2, "a.csv: label: '");
		ck_assert_msg(!strchr(status_message(), '{'), "%s", status_message());
	}
	assert_refused(scratch_paths[0], ":label=4", 2, 2, "'4' is above 3");
	assert_refused(scratch_paths[0], ":label=", 2, 2, "a.csv: label: the value is missing");
	assert_refused(scratch_paths[0], ":label=none", 2, 2, "no column is named 'none'");
	assert_refused(scratch_paths[0], ":normalize=all", 2, 2,
	               "a.csv: normalize: 'all' is not one of: columns, whole, none");
	assert_refused(scratch_paths[0], ":sort=yes", 2, 2, "a.csv: unknown key 'sort'");
}

START_TEST(rows_that_are_wrong)
{
	assert_refused(scratch_text("a.csv", ""), "", 2, 2, "a.csv: holds no rows");
	assert_refused(scratch_text("a.csv", "x,y,label\n"), "", 2, 2, "a.csv: holds no rows");
	assert_refused(scratch_text("a.csv", "1\n2\n"), "", 2, 2, "one column");
	assert_refused(scratch_text("a.csv", "1,2,3,0\n"), "", 2, 2,
	               "3 numbers in a row beside the label, but the model takes 2");
	assert_refused(scratch_text("a.csv", "1,2,0\n1,2\n"), "", 2, 2, "a.csv:2: fewer than the 3 columns");
	assert_refused(scratch_text("a.csv", "1,2,0\n1,2,0,4\n"), "", 2, 2, "a.csv:2: more than the 3 columns");
	assert_refused(scratch_text("a.csv", "1,2,0\n1,,1\n"), "", 2, 2, "a.csv:2: column 2 is empty; fill it in");
	assert_refused(scratch_text("a.csv", "1,2,0\n1,\"\033[1m\n\",1\n"), "", 2, 2,
	               "column 2: '?[1m?' is not a number");
	static const char *const decimal = "column 2: '2,5' has a decimal comma; write a point";
	assert_refused(scratch_text("a.csv", "x;y;label\n1,5;2,5;0\n"), ":label=last", 2, 2,
	               "'1,5' has a decimal comma");
	assert_refused(scratch_text("a.csv", "1;2;0\n1;2,5;1\n"), "", 2, 2, decimal);
	assert_refused(scratch_text("a.csv", "1,5;2,5;0\n3,5;4,5;1\n"), "", 2, 2, decimal);
	assert_refused(scratch_text("a.csv", "1;2;0\n1;2,x;1\n"), "", 2, 2, "'2,x' is not a number");
	static const char *const numbers[] = {"x", "nan", "inf", "0x10", "1e999", "1.5.", "--1", "1 2"};
	for (int i = 0; i < COUNT(numbers); i++) {
		char text[64], says[64];
		snprintf(text, sizeof text, "1,2,0\n\n1,%s,1\n", numbers[i]);
		snprintf(says, sizeof says, "a.csv:3: column 2: '%s' is not a number", numbers[i]);
		assert_refused(scratch_text("a.csv", text), "", 2, 2, says);
	}
	assert_refused("/none/a.csv", "", 2, 2, "/none/a.csv: no such file");
}

/* ---- scaling, and what is kept to validate with ---- */

static void write_rows(FILE *f, int from, int to)
{
	for (int i = from; i < to; i++)
		fprintf(f, "%d,7,%d\n", i, i % 2);
}

START_TEST(columns_are_scaled)
{
	char text[4096] = "";
	FILE *f = fmemopen(text, sizeof text, "w");
	write_rows(f, 0, 25);
	fclose(f);
	struct dataset d;
	must(open_rows(&d, scratch_text("a.csv", text), ":label=last", 2, 2));
	ck_assert_int_eq(d.training_samples, 23);
	ck_assert_int_eq(d.validation_samples, 2);
	ck_assert_ptr_nonnull(strstr(d.words, "each column less its mean"));
	ck_assert_ptr_nonnull(strstr(d.words, "23 to train on, 2 to validate with, every tenth"));
	/* Rows 9 and 19 are kept. */
	double sum = 300 - 9 - 19, mean = sum / 23, squares = 0;
	for (int i = 0; i < 25; i++)
		squares += i == 9 || i == 19 ? 0 : (i - mean) * (i - mean);
	double deviation = sqrt(squares / 23);
	float input[2];
	int32_t target;
	for (int64_t i = 0; i < 23; i++) {
		int64_t which = sampler_image(1, 23, i), row = which + (which >= 9) + (which >= 18);
		dataset_fill(&d, 1, i, 1, input, &target);
		ck_assert_int_eq(target, row % 2);
		ck_assert_float_eq_tol(input[0], (float)(((double)row - mean) / deviation), 1e-6F);
		ck_assert(input[1] == 0);
	}
	for (int i = 0; i < 2; i++) {
		dataset_fill_validation(&d, i, 1, input, &target);
		ck_assert_float_eq_tol(input[0], (float)((10 * i + 9 - mean) / deviation), 1e-6F);
		ck_assert_int_eq(target, 1);
	}
	dataset_release(&d);
}

/* Pictures are scaled as a whole: a pixel that is hardly ever set is none that counts for more. */
START_TEST(pictures_are_scaled_as_a_whole)
{
	char text[4096] = "";
	FILE *f = fmemopen(text, sizeof text, "w");
	for (int row = 0; row < 4; row++) {
		fprintf(f, "%d", row % 2);
		for (int i = 0; i < 64; i++)
			fprintf(f, ",%d", row == 1 ? 255 : 0);
		fputc('\n', f);
	}
	fclose(f);
	struct dataset d;
	float input[64];
	int32_t target;
	must(open_rows(&d, scratch_text("a.csv", text), "", 64, 2));
	ck_assert_ptr_nonnull(strstr(d.words, "less 63.75, divided by 110.4"));
	for (int64_t i = 0; i < 4; i++) {
		dataset_fill(&d, 1, i, 1, input, &target);
		float want = sampler_image(1, 4, i) == 1 ? 1.7320508F : -0.57735027F;
		ck_assert_float_eq_tol(input[63], want, 1e-5F);
	}
	dataset_release(&d);
}

START_TEST(several_tables)
{
	char text[4096], list[512];
	FILE *f = fmemopen(text, sizeof text, "w");
	write_rows(f, 0, 25);
	fclose(f);
	struct dataset d;
	scratch_text("x_train.csv", text);
	scratch_text("x_test.csv", "25,7,1\n26,7,0\n");
	must(open_rows(&d, scratch, "", 2, 2));
	ck_assert_int_eq(d.training_samples, 25);
	ck_assert_int_eq(d.validation_samples, 2);
	dataset_release(&d);
	snprintf(list, sizeof list, "%s/x_train.csv,%s", scratch, scratch_text("b.csv", "25,7,1\n26,7,0\n"));
	must(open_rows(&d, list, "", 2, 2));
	ck_assert_int_eq(d.training_samples + d.validation_samples, 27);
	dataset_release(&d);
	snprintf(list, sizeof list, "%s/x_train.csv,%s", scratch, scratch_text("b.csv", "25,7,1,0\n"));
	assert_refused(list, "", 2, 2, "b.csv:1: more than the 3 columns");
	snprintf(list, sizeof list, "%s/x_train.csv,%s", scratch, scratch_text("b.csv", "25,7,1\n26,7,2\n"));
	assert_refused(list, "", 2, 2, "none of the first and the last column");
	snprintf(list, sizeof list, "%s/x_train.csv:label=last,%s", scratch, scratch_paths[2]);
	assert_refused(list, "", 2, 2, "b.csv: label 2 in row 2");
	assert_refused(list, ":label=first", 2, 2, "keys hold for all files");
}

START_TEST(packed_tables)
{
	static const char text[] = "1,2,0\n3,4,1\n";
	char packed[256];
	struct dataset d;
	z_stream z = {0};
	ck_assert_int_eq(deflateInit2(&z, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
	z.next_in = (Bytef *)(uintptr_t)text;
	z.avail_in = sizeof text - 1;
	z.next_out = (Bytef *)packed;
	z.avail_out = sizeof packed;
	ck_assert_int_eq(deflate(&z, Z_FINISH), Z_STREAM_END);
	must(open_rows(&d, scratch_put("a.csv.gz", packed, z.total_out), "", 2, 2));
	ck_assert_int_eq(d.training_samples, 2);
	dataset_release(&d);
	assert_refused(scratch_put("a.csv.gz", packed, z.total_out - 3), "", 2, 2, "truncated");
	deflateEnd(&z);
}

/* ---- a pair of IDX files ---- */

START_TEST(a_pair_of_idx_files)
{
	unsigned char images[16 + 20 * 2] = {0, 0, 8, 3, 0, 0, 0, 20, 0, 0, 0, 1, 0, 0, 0, 2};
	unsigned char labels[8 + 20] = {0, 0, 8, 1, 0, 0, 0, 20};
	char list[512];
	for (int i = 0; i < 20; i++) {
		images[16 + 2 * i] = (unsigned char)i;
		labels[8 + i] = (unsigned char)(i % 3);
	}
	for (int turned = 0; turned < 2; turned++) {
		struct dataset d;
		const char *a = scratch_put("pictures", images, sizeof images),
		           *b = scratch_put("names", labels, sizeof labels);
		snprintf(list, sizeof list, "%s,%s", turned ? b : a, turned ? a : b);
		must(open_rows(&d, list, "", 2, 3));
		ck_assert_int_eq(d.training_samples, 18);
		ck_assert_int_eq(d.validation_samples, 2);
		float input[2];
		int32_t target;
		for (int i = 0; i < 2; i++) {
			int row = 10 * i + 9;
			dataset_fill_validation(&d, i, 1, input, &target);
			ck_assert(input[0] == (float)((row / 255.0 - 0.2860) / 0.3530));
			ck_assert_int_eq(target, row % 3);
		}
		dataset_release(&d);
	}
	assert_refused(scratch_paths[0], "", 2, 3, "an IDX file of images goes with one of labels");
	assert_refused(list, "", 3, 3, "images of 2 pixels, but the model takes 3");
	assert_refused(list, "", 2, 2, "label 2 of image 2");
	snprintf(list, sizeof list, "%s,%s", scratch_paths[0], scratch_put("more", images, sizeof images));
	assert_refused(list, "", 2, 3, "not an IDX file of labels");
}

SUITE_WITH("tables", 60, scratch_make, scratch_remove)
