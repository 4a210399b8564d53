/* The folder of a run's checkpoints:
 *
 *     run/step-00000500/    checkpoint.json, rank-00000.safetensors, …
 *     run/step-00001000/
 *     run/latest            "step-00001000": the last that was written
 *
 * A checkpoint is written under a temporary name (real/data/new_folder.h) and takes its own when it is whole and on the
 * disk; then `latest` is replaced. Whatever ends the run, `latest` leads to a whole checkpoint.
 */
#ifndef SHARDLAB_CHECKPOINT_FOLDER_H
#define SHARDLAB_CHECKPOINT_FOLDER_H

#include <stdbool.h>
#include <stdint.h>

#include "real/data/new_folder.h"

#define CHECKPOINT_LATEST "latest" /* in the run's folder, replaced with every checkpoint */

/* Whether a run's folder has a file of this name from its checkpoints: "step-00001000", "latest". */
bool checkpoint_has_name(const char *name);

/* "run/step-00001000", which the caller frees. */
char *checkpoint_path(const char *folder, int64_t step);

/* Makes the run's folder if it is not there, tries whether a checkpoint could be made in it, and removes what killed
 * runs left of theirs. STATUS_INPUT if not. */
enum status checkpoint_folder_check(const char *folder);

/* STATUS_INPUT: another run than the one that goes on from `resume` (NULL: it begins) has saved there: both would lie
 * there in one order, and the latest would be of either. Any step's folder tells so, whole or not, and a `latest` that
 * leads nowhere. */
enum status checkpoint_folder_check_own(const char *folder, const char *resume);

/* A temporary folder there, for new_folder_release to remove: to try what the ranks can do in it. */
enum status checkpoint_folder_try(struct new_folder *f, const char *folder);

/* Removes what a run that is over left unfinished there. */
void checkpoint_folder_sweep(const char *folder);

/* A temporary folder for the checkpoint of a step, to be finished by checkpoint_folder_keep. An older one of the same
 * step, of a run that was resumed before it, goes. */
enum status checkpoint_folder_make(struct new_folder *f, const char *folder, int64_t step);
/* Gives it its name, once its files are on the disk, and makes it the latest. Of the older ones `keep` - 1 stay; 0:
 * all. */
enum status checkpoint_folder_finish(struct new_folder *f, const char *folder, int64_t step, int64_t keep);

/* Finds the checkpoint to resume from; the caller frees its path. `given` is a checkpoint, a run's folder, the file
 * `latest` in it, or the word latest (of `folder`; NULL: none is known). A folder and `latest` mean the run's latest
 * checkpoint. If `latest` does not lead to a checkpoint, the newest one there is taken. */
enum status checkpoint_find(const char *given, const char *folder, char **out);

/* Calls it for each checkpoint of a run's folder, whole or not, by step. Returns how many; 0: it is no such folder. */
int checkpoint_each(const char *folder, void (*visit)(void *context, const char *path), void *context);

#endif
