/* A model's tensors as files have them: each of them whole, or in pieces that are tensors of their own there, such as
 * q, k and v. The model's buffers are numbered after its tensors.
 *
 *     struct model_weights w = {&model, "{init}"};
 *     s = model_weights_open(&w, "Qwen3-0.6B");
 *     s = model_weights_read(&w, number, first, count, out);     (by the model's own elements)
 *     model_weights_release(&w);
 */
#ifndef SHARDLAB_MODEL_WEIGHTS_H
#define SHARDLAB_MODEL_WEIGHTS_H

#include "real/data/weights_file.h"
#include "strategy/model/model.h"

struct model_weights {
	const struct model *model;
	const char *setting; /* for messages: "{init}" */
	struct weights_file files;
};

/* Opens a file or a folder (weights_file.h), whose config.json must be of this model, and which must hold every tensor
 * and every buffer of the model, in its shape, and no other tensor: those that files have besides parameters are passed
 * over. On failure w is released. */
enum status model_weights_open(struct model_weights *w, const char *path);
void model_weights_release(struct model_weights *w); /* accepts NULL and a zeroed one */

/* Elements [first, first + count) of a tensor or a buffer. */
enum status model_weights_read(const struct model_weights *w, int number, int64_t first, int64_t count, float *out);

/* ---- for those that write files ---- */

struct file_tensor {
	const char *name;
	int dimensions;
	int64_t shape[2];
	int64_t first, elements; /* where in the model's tensor */
};

/* The number of files' tensors that make up a tensor or a buffer, and the i-th of them. */
int file_tensor_count(const struct model *m, int number);
struct file_tensor file_tensor_at(const struct model *m, int number, int i);

/* The elements [first, first + count) of a tensor that one of its files' tensors holds. */
struct stretch_of_file {
	int64_t first, count; /* in that tensor */
	int64_t at;           /* among the elements asked for */
};
struct stretch_of_file file_tensor_stretch(const struct file_tensor *f, int64_t first, int64_t count);

#endif
