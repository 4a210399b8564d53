/* Whatever has saved a state, anything restores it: all pairs of strategies and contrasts on 1, 2, 3, 4 and 8 ranks, by
 * the checksum of the state, with state in memory and on disk; and every strategy, precision and offload on 4 ranks
 * there and back. All ranks are in this process, and of their plans the sections save and restore are carried out, on
 * files. (Whole runs: tests/mpi/mpi_checkpoint.c.)
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "real/checkpoint/manifest.h"
#include "real/checkpoint/pieces.h"
#include "real/data/new_folder.h"
#include "real/rank/bind.h"
#include "strategy/base/path.h"
#include "tests/support/plans.h"
#include "tests/support/refusal.h"
#include "tests/support/suite.h"

#define MODEL "gpt:layers=8,width=24,heads=24,context=4,vocabulary=48"
static const char *const strategies[] = {"single", "dp",     "ddp",   "zero1",    "zero2", "zero3",
                                         "fsdp",   "hybrid", "model", "pipeline", "tensor"};
static const int ranks[] = {1, 2, 3, 4, 8};
/* Where state that a plan keeps in memory elsewhere goes through staging, as it is saved and restored. */
static const char *const places[] = {"none", "optimizer:to=disk", "optimizer:to=disk,parameters:to=disk"};
enum { MOST = COUNT(strategies) * COUNT(ranks) * COUNT(places) };

static char folder[256];

static void setup(void)
{
	snprintf(folder, sizeof folder, "%s/test_resume_pairs.XXXXXX", support_folder());
	ck_assert(mkdtemp(folder));
}

static void remove_entry(void *context, const char *name)
{
	(void)context;
	char *path = path_in_folder(folder, name);
	folder_remove(path, MANIFEST_NAME);
	free(path);
}

static void teardown(void)
{
	folder_each(folder, remove_entry, NULL);
	ck_assert(!rmdir(folder));
}

/* ---- stores ---- */

/* Every 16-bit type has these numbers; no two neighbours are equal. */
static enum status load_truth(void *context, enum item item, int tensor, int64_t first, int64_t count, float *out)
{
	(void)context;
	for (int64_t i = 0; i < count; i++)
		out[i] = (float)((7 * (first + i) + 13 * (int)item + 31 * tensor + 31) % 127);
	return STATUS_OK;
}

static enum status load_nothing(void *context, enum item item, int tensor, int64_t first, int64_t count, float *out)
{
	(void)context;
	(void)item;
	(void)tensor;
	(void)first;
	for (int64_t i = 0; i < count; i++)
		out[i] = 0;
	return STATUS_OK;
}

struct total {
	const struct model *model;
	uint64_t checksum;
	int64_t elements;
};

static enum status add(void *context, enum item item, int tensor, int64_t first, int64_t count, const float *values)
{
	struct total *t = context;
	t->checksum += piece_checksum(
	        t->model, &(struct piece){.item = item, .tensor = tensor, .first = first, .count = count}, values);
	t->elements += count;
	return STATUS_OK;
}

/* ---- a rank ---- */

static void run_section(struct rank_memory *m, const struct section *s, struct state_store store)
{
	m->state = store;
	for (int i = s->begin; i < s->end; i++)
		must(rank_execute(m, i));
	m->state = (struct state_store){.load = NULL};
}

/* What the rank has now is added to the total. */
static void add_up(struct rank_memory *m, struct total *t)
{
	run_section(m, &m->role->save, (struct state_store){.context = t, .save = add});
}

static void forget_state(struct rank_memory *m)
{
	run_section(m, &m->role->restore, (struct state_store){.load = load_nothing});
}

/* model: the whole, where a plan has a slice of it. */
static void write_rank(struct rank_memory *m, const struct model *model, const char *path)
{
	struct piece_writer w;
	piece_writer_init(&w, model);
	run_section(m, &m->role->save, piece_writer_store(&w));
	piece_writer_learnt(&w);
	must(piece_writer_begin(&w, path));
	run_section(m, &m->role->save, piece_writer_store(&w));
	must(piece_writer_finish(&w));
	piece_writer_release(&w);
}

static void open_rank(struct rank_memory *m, const struct plan *p, int64_t rank)
{
	static const struct input_source none = {.context = NULL};
	must(rank_memory_open(m, p, rank, &none, false, support_folder(), NULL));
}

/* ---- all ranks ---- */

/* A folder that has the files of all ranks, of the true state. The caller frees it. */
static char *save(const struct made *made, const char *name, struct total *t)
{
	const struct plan *p = &made->plan;
	char *path = path_in_folder(folder, name);
	*t = (struct total){.model = &made->model};
	ck_assert(!mkdir(path, 0777));
	for (int64_t rank = 0; rank < p->ranks; rank++) {
		struct rank_memory m;
		char file[MANIFEST_FILE_NAME];
		open_rank(&m, p, rank);
		run_section(&m, &m.role->restore, (struct state_store){.load = load_truth});
		add_up(&m, t);
		checkpoint_file_name(rank, file);
		char *at = path_in_folder(path, file);
		write_rank(&m, &made->model, at);
		free(at);
		rank_memory_release(&m);
	}
	return path;
}

/* What the ranks of a plan have once each has read what others saved. */
static void restore(const struct plan *p, const struct piece_reader *const *from, int count, struct total *t)
{
	for (int64_t rank = 0; rank < p->ranks; rank++) {
		struct rank_memory m;
		open_rank(&m, p, rank);
		for (int i = 0; i < count; i++) {
			forget_state(&m);
			run_section(&m, &m.role->restore,
			            piece_reader_store((struct piece_reader *)(uintptr_t)from[i]));
			add_up(&m, &t[i]);
		}
		rank_memory_release(&m);
	}
}

static enum status open_plan(struct made *m, const char *strategy, int n, const char *words)
{
	char all[400];
	bool hybrid = !strcmp(strategy, "hybrid");
	snprintf(all, sizeof all, MODEL " %s%s ranks=%d checkpoints=yes %s", strategy,
	         !hybrid      ? ""
	         : n % 2 == 0 ? ":shard=2"
	                      : ":shard=1",
	         n, words);
	return made_open_words(m, all);
}

/* ---- tests ---- */

static struct made made[MOST];
static struct total has_saved[MOST], read_back[MOST];
static struct piece_reader reader[MOST];

/* Saves, as number `count`, unless a strategy has no such ranks or no such offload. */
static bool save_one(int count, const char *strategy, int n, const char *place)
{
	char words[64], name[16];
	snprintf(words, sizeof words, "offload=%s", place);
	if (open_plan(&made[count], strategy, n, words))
		return false;
	snprintf(name, sizeof name, "%d", count);
	char *path = save(&made[count], name, &has_saved[count]);
	must(piece_reader_open(&reader[count], &made[count].model, path, (int)made[count].plan.ranks));
	ck_assert(has_saved[count].checksum == has_saved[0].checksum);
	ck_assert_int_eq(has_saved[count].elements, has_saved[0].elements);
	free(path);
	return true;
}

/* From `first` on; returns how many there are then. */
static int save_all(int first, const char *place)
{
	int count = first;
	for (size_t s = 0; s < COUNT(strategies); s++)
		for (size_t n = 0; n < COUNT(ranks); n++)
			if ((s || !n) && save_one(count, strategies[s], ranks[n], place))
				count++;
	return count;
}

/* What number `i` has once it has restored what each of those has saved. */
static void restore_each(int i, const int *from, int count)
{
	const struct piece_reader *readers[MOST];
	for (int k = 0; k < count; k++) {
		readers[k] = &reader[from[k]];
		read_back[k] = (struct total){.model = &made[i].model};
	}
	restore(&made[i].plan, readers, count, read_back);
	for (int k = 0; k < count; k++)
		ck_assert_msg(read_back[k].checksum == has_saved[0].checksum,
		              "%s on %d ranks restores other state than %s on %d has saved",
		              made[i].plan.settings.strategy, (int)made[i].plan.ranks,
		              made[from[k]].plan.settings.strategy, (int)made[from[k]].plan.ranks);
}

/* Those in memory; or of them those whose ranks each save a shard. Returns how many. */
static int list(int *out, int memory, const char *strategy)
{
	int n = 0;
	for (int i = 0; i < memory; i++)
		if (!strategy || !strcmp(made[i].plan.settings.strategy, strategy))
			out[n++] = i;
	return n;
}

/* The number of the same strategy and ranks in memory. */
static int in_memory(int i, int count)
{
	for (int m = 0; m < count; m++)
		if (!strcmp(made[m].plan.settings.strategy, made[i].plan.settings.strategy) &&
		    made[m].plan.ranks == made[i].plan.ranks)
			return m;
	ck_abort_msg("%s is nowhere in memory", made[i].plan.settings.strategy);
}

/* Then whoever restores the one restores the other. */
static void assert_same_files(int i, int m)
{
	for (int64_t rank = 0; rank < made[i].plan.ranks; rank++) {
		char name[MANIFEST_FILE_NAME], path[2][400];
		int64_t bytes[2];
		uint64_t sum[2];
		checkpoint_file_name(rank, name);
		for (int k = 0; k < 2; k++) {
			snprintf(path[k], sizeof path[k], "%s/%d/%s", folder, k ? m : i, name);
			must(checkpoint_file_checksum(path[k], &bytes[k], &sum[k]));
		}
		ck_assert_msg(bytes[0] == bytes[1] && sum[0] == sum[1], "%s on %d ranks: %s depends on %s",
		              made[i].plan.settings.strategy, (int)made[i].plan.ranks, name, path[0]);
	}
}

START_TEST(all_pairs)
{
	int memory = save_all(0, places[0]), count = memory, all[MOST], shards[MOST];
	for (size_t p = 1; p < COUNT(places); p++)
		count = save_all(count, places[p]);
	ck_assert_int_eq(memory, 51); /* `single` is on one rank */
	ck_assert_int_eq(count, 117);
	ck_assert_int_eq(list(all, memory, NULL), memory);
	ck_assert_int_eq(list(shards, memory, "zero3"), COUNT(ranks));
	for (int i = 0; i < memory; i++)
		restore_each(i, all, memory);
	/* A disk changes where restored state goes, and not how it is read. */
	for (int i = memory; i < count; i++) {
		assert_same_files(i, in_memory(i, memory));
		restore_each(i, shards, COUNT(ranks));
	}
	for (int i = 0; i < count; i++) {
		piece_reader_release(&reader[i]);
		made_release(&made[i]);
	}
}

static const char *const precisions[] = {"fp32", "bf16", "fp16"};
static const char *const offloads[] = {"none", "optimizer", "optimizer,parameters", "optimizer:to=disk",
                                       "optimizer:to=disk,parameters:to=disk"};

/* Saved by one rank and read by these, and saved by these and read by one. */
static void there_and_back(const struct made *one, const struct piece_reader *whole, const struct total *truth,
                           const struct made *other)
{
	struct total saved, read = {.model = &other->model};
	struct piece_reader back;
	const struct piece_reader *from = whole;
	char *path = save(other, "other", &saved);
	ck_assert(saved.checksum == truth->checksum);
	restore(&other->plan, &from, 1, &read);
	ck_assert_msg(read.checksum == truth->checksum, "%s on %d ranks", other->plan.settings.strategy,
	              (int)other->plan.ranks);
	must(piece_reader_open(&back, &one->model, path, (int)other->plan.ranks));
	from = &back;
	read = (struct total){.model = &one->model};
	restore(&one->plan, &from, 1, &read);
	ck_assert(read.checksum == truth->checksum);
	piece_reader_release(&back);
	folder_remove(path, MANIFEST_NAME);
	free(path);
}

START_LOOP_TEST(every_precision_and_offload, 0, COUNT(precisions))
{
	struct made one, other;
	struct total truth;
	struct piece_reader whole;
	char words[128];
	int tried = 0;
	snprintf(words, sizeof words, "precision=%s", precisions[_i]);
	must(open_plan(&one, "single", 1, words));
	char *path = save(&one, "one", &truth);
	must(piece_reader_open(&whole, &one.model, path, 1));
	for (size_t s = 1; s < COUNT(strategies); s++)
		for (size_t o = 0; o < COUNT(offloads); o++) {
			snprintf(words, sizeof words, "precision=%s offload=%s", precisions[_i], offloads[o]);
			if (open_plan(&other, strategies[s], 4, words))
				continue;
			there_and_back(&one, &whole, &truth, &other);
			made_release(&other);
			tried++;
		}
	ck_assert_int_eq(tried, 36);
	piece_reader_release(&whole);
	made_release(&one);
	free(path);
}

SUITE_WITH("resume_pairs", 120, setup, teardown)
