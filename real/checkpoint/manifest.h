/* checkpoint.json: what a checkpoint is of, and whether its files are whole. It is written last, so a folder that has
 * none is no checkpoint.
 *
 *     {"format": "shardlab checkpoint", "version": 1, "step": 1000, "model": "gpt:layers=6,…",
 *      "settings": {"strategy": "zero2", "ranks": "4", …},
 *      "data": {"samples": 60000, "checksum": "16 hex digits", "whole": "16 hex digits"},
 *      "state_checksum": "16 hex digits",
 *      "files": [{"name": "rank-00000.safetensors", "bytes": 4096, "checksum": "16 hex digits"}, …],
 *      "checksum": "16 hex digits"}
 *
 * The checksum of the state (pieces.h) does not depend on how it is spread over ranks; that of a file is the checksum
 * of its 32-bit words (real/rank/checksum.h), zeros behind the last byte. The last one is of the text before it, and
 * may be missing.
 *
 *     struct manifest m;
 *     s = manifest_read(&m, "run/step-00001000");
 *     … m.step, m.files[0].bytes …
 *     manifest_release(&m);
 */
#ifndef SHARDLAB_MANIFEST_H
#define SHARDLAB_MANIFEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "strategy/base/arena.h"
#include "strategy/settings/settings.h"

#define MANIFEST_NAME "checkpoint.json"
enum { MANIFEST_FILES_MOST = 1 << 16, MANIFEST_FILE_NAME = 40 };

struct manifest_file {
	char name[MANIFEST_FILE_NAME]; /* checkpoint_file_name */
	int64_t bytes;
	uint64_t checksum;
};

/* Owns its texts, if it was read. */
struct manifest {
	struct arena arena;
	int64_t step;
	const char *model;                   /* its specification */
	const char *settings[SETTING_COUNT]; /* as setting_print has them; NULL: not there */
	int64_t data_samples;
	uint64_t data_checksum, data_whole, state_checksum; /* data: of the run's first samples; dataset_checksum */
	bool has_whole;                                     /* older ones have no data_whole */
	struct manifest_file *files;                        /* of rank 0, 1, … at save */
	int file_count, file_capacity;
};

/* Errors are STATUS_INPUT with name, line and column, or with the member that is missing. On failure m is released. */
enum status manifest_parse(struct manifest *m, const char *name, const char *text, size_t size);
/* The manifest of a checkpoint's folder. */
enum status manifest_read(struct manifest *m, const char *folder);
/* Into a folder, synced. */
enum status manifest_write(const struct manifest *m, const char *folder);
void manifest_release(struct manifest *m); /* accepts NULL and a zeroed one */

/* The size and checksum of a file, as above. */
enum status checkpoint_file_checksum(const char *path, int64_t *bytes, uint64_t *checksum);
/* STATUS_INPUT if a file that is there has another size than was saved: before its header is read, which would be told
 * as if the file were a download that was cut short. */
enum status manifest_check_sizes(const struct manifest *m, const char *folder);
/* STATUS_INPUT if one of its files is another than was saved. */
enum status manifest_check_file(const struct manifest *m, const char *folder, int file);

/* "rank-00003.safetensors" */
void checkpoint_file_name(int64_t rank, char out[MANIFEST_FILE_NAME]);

#endif
