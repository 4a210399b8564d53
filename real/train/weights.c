/* Each rank reads the weights that it keeps, from the user's files. */
#include <string.h>

#include "real/train/internal.h"

enum status training_open_init(struct training *t)
{
	t->init = (struct model_weights){&t->model, "{init}", {0}};
	return t->options->init ? model_weights_open(&t->init, t->options->init) : STATUS_OK;
}

enum status training_no_weights(void *context, int tensor, int64_t first, int64_t count, float *out)
{
	(void)context;
	(void)tensor;
	(void)first;
	memset(out, 0, (size_t)count * sizeof *out);
	return STATUS_OK;
}

enum status training_read_weights(void *context, int tensor, int64_t first, int64_t count, float *out)
{
	const struct training *t = context;
	return model_weights_read(&t->init, tensor, first, count, out);
}
