/* The pieces of a checkpoint: parts of whole tensors, in one file a rank.
 *
 *     rank-00000.safetensors    first_moment/h.0.attn.c_attn.weight@0:73728     the first 73728 elements, fp32
 *     rank-00001.safetensors    first_moment/h.0.attn.c_attn.weight@73728:73728
 *                               step@0:2
 *     rank-00000.safetensors    parameters/h.0.attn.c_attn.weight@0:384+768*2304    tensor parallelism: 384 elements in
 *                               every 768, 2304 times
 *
 * So files know nothing of ranks, and any rank reads what it needs, whoever wrote it.
 *
 * Writing: the first save learns which pieces there are, and every save writes them. Saving is the store of a rank's
 * memory (struct state_store), and never fails there: a file that cannot be written is no reason to end a run.
 *
 *     struct piece_writer w;
 *     piece_writer_init(&w, &model);
 *     memory->state = piece_writer_store(&w);
 *     w.doing = PIECES_LEARN;  … section save …
 *     s = piece_writer_begin(&w, "run/step-00001000.4711.0.partial/rank-00000.safetensors");
 *     w.doing = PIECES_WRITE;  … section save …
 *     s = piece_writer_finish(&w);      whole and on the disk, or the first failure; w.checksum is of this rank's state
 *     piece_writer_release(&w);
 *
 * Reading:
 *
 *     struct piece_reader r;
 *     s = piece_reader_open(&r, &model, "run/step-00001000", ranks);
 *     memory->state = piece_reader_store(&r);  … section restore …
 *     piece_reader_release(&r);
 *
 * The checksum of the state is the sum over ranks of checksums of elements (real/rank/checksum.h) whose place is made
 * of the item, the tensor and the place in it. It does not depend on who saves what.
 */
#ifndef SHARDLAB_PIECES_H
#define SHARDLAB_PIECES_H

#include <pthread.h>
#include <stdbool.h>

#include "real/data/safetensors.h"
#include "real/rank/memory.h"

struct piece {
	enum item item;
	int tensor; /* as of struct state_store */
	int64_t first, count;
	int file, number; /* the tensor of a file that it is read from, or written as */
	int64_t at;       /* the tensor's element */
};

/* Pieces of one size at one distance are one tensor of a file, such as a rank's columns of a matrix. */
struct piece_run {
	struct piece piece; /* the first */
	int64_t stride, rows;
};

enum piece_work { PIECES_LEARN, PIECES_WRITE, PIECES_SUM };

/* A zeroed one is released. */
struct piece_writer {
	const struct model *model;
	pthread_mutex_t lock; /* queues save side by side */
	enum piece_work doing;
	struct piece *pieces; /* once learnt, sorted */
	int count;
	size_t capacity;
	struct piece_run *runs;
	int run_count;
	size_t run_capacity;
	struct safetensors_writer file;
	int64_t bytes, state_bytes; /* of a file that is finished, and of them those of elements */
	uint64_t file_checksum, checksum;
	bool fp16;          /* ranks compute in it: weights beyond its range are ruined, gradients that wait are not */
	const char *ruined; /* an item that was saved and has an element that is not finite; NULL: none has */
	enum status failed;
	char line[512]; /* why */
};

void piece_writer_init(struct piece_writer *w, const struct model *m);
struct state_store piece_writer_store(struct piece_writer *w);
void piece_writer_learnt(struct piece_writer *w); /* after the section was run to learn */
enum status piece_writer_begin(struct piece_writer *w, const char *path);
enum status piece_writer_finish(struct piece_writer *w);
/* Whether there would be room for such a file: STATUS_INPUT. The empty one stays, for whoever made the folder. */
enum status piece_writer_try(struct piece_writer *w, const char *path);
void piece_writer_sum(struct piece_writer *w);     /* from now on it adds up the checksum, and writes nothing */
void piece_writer_release(struct piece_writer *w); /* accepts NULL and a zeroed one */

/* A zeroed one is released. */
struct piece_reader {
	const struct model *model;
	struct safetensors *files;
	struct piece *pieces;
	size_t capacity;
	int file_count, count;
};

/* Opens the files of so many ranks and checks every name in them: STATUS_INPUT with file and tensor. */
enum status piece_reader_open(struct piece_reader *r, const struct model *m, const char *folder, int files);
/* Elements [first, first + count) of a tensor; STATUS_INPUT if the checkpoint lacks one of them. */
enum status piece_read(const struct piece_reader *r, enum item item, int tensor, int64_t first, int64_t count,
                       float *out);
struct state_store piece_reader_store(struct piece_reader *r);
void piece_reader_release(struct piece_reader *r); /* accepts NULL and a zeroed one */

/* "first_moment/wte.weight@0:128" */
enum { PIECE_NAME = 512 };
void piece_name(const struct piece_run *r, const struct model *m, char out[PIECE_NAME]);
/* False: it is no such name, or no part of a tensor of this model. */
bool piece_parse(const char *name, const struct model *m, struct piece_run *out);

/* The part of the state's checksum that is these values of a piece. */
uint64_t piece_checksum(const struct model *m, const struct piece *p, const float *values);

#endif
