/* The files of a checkpoint: the manifest, names of pieces, writing and reading them, and the folder of a run,
 * which one run at a time has. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "real/checkpoint/folder.h"
#include "real/checkpoint/lock.h"
#include "real/checkpoint/manifest.h"
#include "real/checkpoint/pieces.h"
#include "strategy/base/file.h"
#include "strategy/base/path.h"
#include "tests/support/plans.h"
#include "tests/support/refusal.h"
#include "tests/support/scratch.h"
#include "tests/support/suite.h"

static char folder[256];

static void setup(void)
{
	snprintf(folder, sizeof folder, "%s/test_checkpoint.XXXXXX", support_folder());
	ck_assert(mkdtemp(folder));
}

static void remove_entry(void *context, const char *name)
{
	(void)context;
	char *path = path_in_folder(folder, name);
	if (unlink(path))
		folder_remove(path, MANIFEST_NAME);
	free(path);
}

static void teardown(void)
{
	folder_each(folder, remove_entry, NULL);
	ck_assert(!rmdir(folder));
}

static const struct model *the_model(void)
{
	static struct model m;
	if (!m.tensor_count)
		must(model_open(&m, "mlp:sizes=4-3-2,norm=batch", 0));
	return &m;
}

/* ---- the manifest ---- */

static struct manifest a_manifest(struct manifest_file *files, int count)
{
	struct manifest m = {.step = 7,
	                     .model = "mlp:sizes=4-3-2",
	                     .data_samples = 5,
	                     .data_checksum = UINT64_C(0xfedcba9876543210),
	                     .data_whole = 2,
	                     .state_checksum = 1,
	                     .files = files,
	                     .file_count = count};
	for (int i = 0; i < count; i++) {
		files[i] = (struct manifest_file){.bytes = 100 + i, .checksum = UINT64_MAX - (unsigned)i};
		checkpoint_file_name(i, files[i].name);
	}
	m.settings[SETTING_RANKS] = "2";
	m.settings[SETTING_STRATEGY] = "zero3:reuse=\"9\"";
	return m;
}

START_TEST(a_manifest_comes_back)
{
	struct manifest_file files[2];
	struct manifest m = a_manifest(files, 2), back;
	must(manifest_write(&m, folder));
	must(manifest_read(&back, folder));
	ck_assert_int_eq(back.step, 7);
	ck_assert_str_eq(back.model, m.model);
	ck_assert_str_eq(back.settings[SETTING_STRATEGY], m.settings[SETTING_STRATEGY]);
	ck_assert(!back.settings[SETTING_SEED]);
	ck_assert(back.data_checksum == m.data_checksum && back.state_checksum == 1 && back.data_samples == 5);
	ck_assert(back.has_whole && back.data_whole == 2);
	ck_assert_int_eq(back.file_count, 2);
	ck_assert(back.files[1].bytes == 101 && back.files[1].checksum == UINT64_MAX - 1);
	manifest_release(&back);
}

#define HEAD "{\"format\": \"shardlab checkpoint\", \"version\": 1, "
#define REST "\"model\": \"mlp\", \"settings\": {\"ranks\": \"1\"}, "
static const struct {
	const char *text, *says;
} wrong[] = {
        {"{}", "has no format"},
        {"", "1:1"},
        {"{\"format\": \"other\"}", "format must be"},
        {"{\"format\": \"shardlab checkpoint\", \"version\": 2}", "reads version 1"},
        {HEAD REST "\"files\": []}", "has no step"},
        {HEAD "\"step\": 3}", "has no model"},
        {HEAD REST "\"step\": -3}", "step is negative"},
        {HEAD REST "\"step\": 3, \"files\": []}", "has no files"},
        {HEAD REST "\"step\": 3, \"files\": [{\"name\": \"../rank-00000.safetensors\"}]}", "must be rank-00000"},
        {HEAD REST "\"step\": 3, \"files\": [{\"name\": \"rank-00000.safetensors\"}]}", "no bytes"},
        {HEAD "\"state_checksum\": \"12\"}", "16 hexadecimal digits"},
        {HEAD "\"settings\": {\"ranks\": \"1\", \"ranks\": \"2\"}}", "comes twice"},
        {HEAD "\"step\": 3, \"checksum\": \"0123456789abcdef\"}", "not as it was saved"},
};

START_LOOP_TEST(a_wrong_manifest_is_refused, 0, COUNT(wrong))
{
	struct manifest m;
	must_fail(manifest_parse(&m, "it.json", wrong[_i].text, strlen(wrong[_i].text)), STATUS_INPUT, wrong[_i].says);
	ck_assert(strstr(status_message(), "it.json"));
}

START_TEST(a_changed_or_longer_manifest_is_found)
{
	struct manifest_file file;
	struct manifest m = a_manifest(&file, 1), back;
	char *path = path_in_folder(folder, MANIFEST_NAME), *text, *at;
	size_t size;
	must(manifest_write(&m, folder));
	must(file_read(path, "x", 1 << 20, &text, &size));
	must(manifest_parse(&back, "it.json", text, size));
	manifest_release(&back);
	at = strstr(text, "\"step\": 7");
	ck_assert(at);
	at[8] = '8';
	must_fail(manifest_parse(&back, "it.json", text, size), STATUS_INPUT, "not as it was saved");
	at[8] = '7';
	char longer[4096];
	ck_assert(size < sizeof longer - 32);
	snprintf(longer, sizeof longer, "%.*s, \"step\": 8}", (int)(strrchr(text, '}') - text), text);
	must_fail(manifest_parse(&back, "it.json", longer, strlen(longer)), STATUS_INPUT, "something follows");
	free(text);
	free(path);
}

START_TEST(a_flipped_bit_is_found)
{
	struct manifest_file file;
	struct manifest m = a_manifest(&file, 1);
	char *path = path_in_folder(folder, file.name);
	for (int bad = 0; bad < 3; bad++) {
		file_put_text(path, bad == 0 ? "0123456789" : bad == 1 ? "0123456799" : "012345678");
		if (!bad) {
			must(checkpoint_file_checksum(path, &m.files[0].bytes, &m.files[0].checksum));
			must(manifest_check_file(&m, folder, 0));
		} else {
			must_fail(manifest_check_file(&m, folder, 0), STATUS_INPUT,
			          bad == 1 ? "its checksum has changed" : "its size has changed");
		}
	}
	free(path);
}

/* ---- pieces ---- */

static const struct {
	const char *name;
	struct piece piece; /* count 0: it is refused */
	int64_t stride, rows;
} names[] = {
        {"master@0:1", {.count = 0}, 0, 1},
        {"parameters/0.weight@1:2+4*3", {.first = 1, .count = 2}, 4, 3},
        {"parameters/0.weight@1:2+4*4", {.count = 0}, 0, 1},
        {"parameters/0.weight@1:2+1*2", {.count = 0}, 0, 1},
        {"parameters/0.weight@1:2+0*2", {.count = 0}, 0, 1},
        {"parameters/0.weight@1:2+4*0", {.count = 0}, 0, 1},
        {"parameters/0.weight@1:2+4", {.count = 0}, 0, 1},
        {"step@0:2", {.item = ITEM_STEP, .tensor = -1, .count = 2}, 0, 1},
        {"scaler@0:4", {.item = ITEM_SCALER, .tensor = -1, .count = 4}, 0, 1},
        {"first_moment/0.weight@3:4", {.item = ITEM_FIRST_MOMENT, .first = 3, .count = 4}, 0, 1},
        {"parameters/0.weight@0:13", {.count = 0}, 0, 1},
        {"parameters/0.weight@9:4", {.count = 0}, 0, 1},
        {"parameters/0.weight@9:0", {.count = 0}, 0, 1},
        {"parameters/0.weight@-1:2", {.count = 0}, 0, 1},
        {"parameters/0.weight@1", {.count = 0}, 0, 1},
        {"parameters/0.weight", {.count = 0}, 0, 1},
        {"parameters/none@0:1", {.count = 0}, 0, 1},
        {"parameters@0:1", {.count = 0}, 0, 1},
        {"step/0.weight@0:1", {.count = 0}, 0, 1},
        {"moment/0.weight@0:1", {.count = 0}, 0, 1},
        {"", {.count = 0}, 0, 1},
};

START_LOOP_TEST(pieces_have_names, 0, COUNT(names))
{
	const struct piece *want = &names[_i].piece;
	struct piece_run r;
	const struct piece *p = &r.piece;
	char back[PIECE_NAME];
	ck_assert_int_eq(piece_parse(names[_i].name, the_model(), &r), want->count > 0);
	if (!want->count)
		return;
	ck_assert(p->item == want->item && p->tensor == want->tensor);
	ck_assert(p->first == want->first && p->count == want->count);
	ck_assert(r.rows == names[_i].rows && r.stride == names[_i].stride);
	piece_name(&r, the_model(), back);
	ck_assert_str_eq(back, names[_i].name);
}

/* Ranks save parts of tensors, in any order and by any cut; every range of them is read. */
static void save_all(struct piece_writer *w, int rank)
{
	struct state_store s = piece_writer_store(w);
	float values[12];
	for (int i = 0; i < 12; i++)
		values[i] = (float)i;
	if (rank) {
		must(s.save(s.context, ITEM_PARAMETERS, 0, 7, 5, values + 7));
		return;
	}
	must(s.save(s.context, ITEM_PARAMETERS, 0, 4, 3, values + 4));
	must(s.save(s.context, ITEM_STEP, -1, 0, 2, values));
	must(s.save(s.context, ITEM_PARAMETERS, 0, 0, 4, values));
}

static uint64_t write_file(int rank)
{
	struct piece_writer w;
	char name[MANIFEST_FILE_NAME];
	checkpoint_file_name(rank, name);
	char *path = path_in_folder(folder, name);
	piece_writer_init(&w, the_model());
	save_all(&w, rank);
	piece_writer_learnt(&w);
	ck_assert_int_eq(w.count, rank ? 1 : 2); /* what follows one another is one piece */
	must(piece_writer_begin(&w, path));
	save_all(&w, rank);
	must(piece_writer_finish(&w));
	uint64_t sum = w.checksum;
	ck_assert(w.bytes > 0);
	piece_writer_sum(&w);
	save_all(&w, rank);
	ck_assert(w.checksum == sum);
	piece_writer_release(&w);
	free(path);
	return sum;
}

START_TEST(any_range_is_read_back)
{
	struct piece_reader r;
	float out[12];
	ck_assert(write_file(0) != write_file(1));
	must(piece_reader_open(&r, the_model(), folder, 2));
	for (int first = 0; first < 12; first++)
		for (int count = 1; first + count <= 12; count++) {
			must(piece_read(&r, ITEM_PARAMETERS, 0, first, count, out));
			for (int i = 0; i < count; i++)
				ck_assert(out[i] == (float)(first + i));
		}
	must_fail(piece_read(&r, ITEM_FIRST_MOMENT, 0, 2, 3, out), STATUS_INPUT, "has no first_moment/0.weight@2:3");
	piece_reader_release(&r);
	must(piece_reader_open(&r, the_model(), folder, 1));
	must_fail(piece_read(&r, ITEM_PARAMETERS, 0, 5, 4, out), STATUS_INPUT, "@7:2");
	piece_reader_release(&r);
}

/* Columns of a matrix are one tensor of the file. */
START_TEST(slices_are_one_tensor)
{
	struct piece_writer w;
	struct piece_reader r;
	float values[12], out[12];
	char *path = path_in_folder(folder, "rank-00000.safetensors");
	for (int i = 0; i < 12; i++)
		values[i] = (float)i;
	piece_writer_init(&w, the_model());
	for (int pass = 0; pass < 2; pass++) {
		struct state_store s = piece_writer_store(&w);
		for (int row = 2; row >= 0; row--)
			must(s.save(s.context, ITEM_PARAMETERS, 0, 4 * (int64_t)row + 1, 2, values + 4 * row + 1));
		if (pass)
			break;
		piece_writer_learnt(&w);
		must(piece_writer_begin(&w, path));
	}
	must(piece_writer_finish(&w));
	must(piece_reader_open(&r, the_model(), folder, 1));
	ck_assert_int_eq(r.files[0].count, 1);
	ck_assert_str_eq(r.files[0].tensors[0].name, "parameters/0.weight@1:2+4*3");
	for (int row = 0; row < 3; row++) {
		must(piece_read(&r, ITEM_PARAMETERS, 0, 4 * (int64_t)row + 1, 2, out));
		ck_assert(out[0] == (float)(4 * row + 1) && out[1] == (float)(4 * row + 2));
	}
	must_fail(piece_read(&r, ITEM_PARAMETERS, 0, 1, 3, out), STATUS_INPUT, "@3:1");
	piece_reader_release(&r);
	piece_writer_release(&w);
	free(path);
}

/* A file that cannot be written ends no section; the end says why. */
START_TEST(a_failure_to_write_is_told_in_the_end)
{
	struct piece_writer w;
	piece_writer_init(&w, the_model());
	save_all(&w, 0);
	piece_writer_learnt(&w);
	ck_assert(piece_writer_begin(&w, "/proc/none/rank-00000.safetensors"));
	save_all(&w, 0);
	must_fail(piece_writer_finish(&w), STATUS_RUN, "/proc/none/rank-00000.safetensors: cannot be written");
	piece_writer_release(&w);
}

/* ---- the folder ---- */

static void make(int64_t step, int64_t keep)
{
	struct new_folder f;
	struct manifest_file file;
	struct manifest m = a_manifest(&file, 1);
	m.step = step;
	must(checkpoint_folder_make(&f, folder, step));
	must(manifest_write(&m, f.temporary));
	must(checkpoint_folder_finish(&f, folder, step, keep));
	new_folder_release(&f);
}

static void must_find(const char *given, const char *want)
{
	char *found, *path = path_in_folder(folder, want);
	must(checkpoint_find(given, folder, &found));
	ck_assert_str_eq(found, path);
	free(found);
	free(path);
}

static bool is_there(const char *name)
{
	struct stat info;
	char *path = path_in_folder(folder, name);
	bool there = !stat(path, &info);
	free(path);
	return there;
}

START_TEST(latest_leads_to_the_last_that_is_whole)
{
	char *found;
	must_fail(checkpoint_find("latest", folder, &found), STATUS_INPUT, "there is no checkpoint");
	must_fail(checkpoint_find("latest", NULL, &found), STATUS_INPUT, "of which run?");
	make(10, 0);
	make(20, 0);
	must_find("latest", "step-00000020");
	must_find(folder, "step-00000020");
	char *file = path_in_folder(folder, "latest");
	must_find(file, "step-00000020");
	free(file);
	char *ten = checkpoint_path(folder, 10), *twenty = checkpoint_path(folder, 20);
	must_find(ten, "step-00000010");
	folder_remove(twenty, MANIFEST_NAME); /* killed while it was made anew */
	must_find("latest", "step-00000010");
	free(ten);
	free(twenty);
}

START_TEST(the_oldest_go)
{
	for (int64_t step = 1; step <= 4; step++)
		make(step, 2);
	ck_assert(!is_there("step-00000001") && !is_there("step-00000002"));
	ck_assert(is_there("step-00000003") && is_there("step-00000004"));
	make(3, 1); /* resumed before 4, which is not older */
	ck_assert(is_there("step-00000003") && is_there("step-00000004"));
	must_find("latest", "step-00000003");
}

START_TEST(what_the_dead_left_goes)
{
	char *stale = path_in_folder(folder, "step-00000009.1.0.partial"),
	     *other = path_in_folder(folder, "step-x.partial");
	ck_assert(!mkdir(stale, 0777) && !mkdir(other, 0777));
	must(checkpoint_folder_check(folder));
	ck_assert(!is_there("step-00000009.1.0.partial") && is_there("step-x.partial"));
	free(stale);
	free(other);
}

/* ---- one run at a time ---- */

START_TEST(a_run_mixes_with_no_other)
{
	char *ten = checkpoint_path(folder, 10);
	must(checkpoint_folder_check_own(folder, NULL));
	make(10, 0);
	must_fail(checkpoint_folder_check_own(folder, NULL), STATUS_INPUT, "of another run, up to step-00000010");
	must_fail(checkpoint_folder_check_own(folder, "/elsewhere"), STATUS_INPUT, "there is no checkpoint");
	must(checkpoint_folder_check_own(folder, "latest"));
	must(checkpoint_folder_check_own(folder, ten));
	char *latest = path_in_folder(folder, "latest"), *manifest = path_in_folder(ten, "checkpoint.json");
	ck_assert(!unlink(latest));
	must_fail(checkpoint_folder_check_own(folder, NULL), STATUS_INPUT, "of another run, up to step-00000010");
	must(checkpoint_folder_check_own(folder, "latest"));
	ck_assert(!unlink(manifest));
	must_fail(checkpoint_folder_check_own(folder, NULL), STATUS_INPUT, "of another run, up to step-00000010");
	folder_remove(ten, "checkpoint.json");
	must(checkpoint_folder_check_own(folder, NULL));
	ck_assert(!symlink("nowhere", latest));
	must_fail(checkpoint_folder_check_own(folder, NULL), STATUS_INPUT, "of another run, up to latest");
	free(latest);
	free(manifest);
	free(ten);
}

/* A process that has the lock; it is there once this returns. */
static pid_t holder(void)
{
	int ends[2];
	char byte;
	ck_assert(!pipe(ends));
	pid_t child = fork();
	if (!child) {
		struct checkpoint_lock l;
		byte = checkpoint_lock_take(&l, folder, &(int){0}) ? 'x' : 'y';
		_exit(write(ends[1], &byte, 1) == 1 ? pause() : 1);
	}
	ck_assert(read(ends[0], &byte, 1) == 1 && byte == 'y');
	return child;
}

START_TEST(one_run_at_a_time_has_the_folder)
{
	struct checkpoint_lock l;
	char who[64];
	pid_t other = holder();
	snprintf(who, sizeof who, "another run writes there, process %ld on ", (long)other);
	must_fail(checkpoint_lock_take(&l, folder, &(int){0}), STATUS_INPUT, who);
	ck_assert(is_there(CHECKPOINT_LOCK));
	ck_assert(!kill(other, SIGKILL) && waitpid(other, NULL, 0) == other);
	must(checkpoint_lock_take(&l, folder, &(int){0}));
	checkpoint_lock_release(&l);
	ck_assert(!is_there(CHECKPOINT_LOCK));
}

SUITE_WITH("checkpoint", 20, setup, teardown)
