/* Token ids and the tokenizer that belongs to them: one that does not have the ids is of something else. */
#include <inttypes.h>
#include <stdlib.h>

#include "real/tokenizer/tokenizer.h"
#include "real/train/internal.h"
#include "strategy/base/path.h"

static enum status check_has(const struct training *t, const char *tokenizer)
{
	int64_t size;
	enum status s = tokenizer_count(tokenizer, &size);
	if (s || !size || t->data.largest_id < size)
		return s;
	return status_fail(STATUS_INPUT,
	                   "{data} %.300s: has the id %" PRId64 ", and %.300s has tokens up to %" PRId64
	                   "; make the ids with this tokenizer, or move it away",
	                   t->data.largest_in, t->data.largest_id, tokenizer, size - 1);
}

static enum status check_beside(const struct training *t, char *tokenizer)
{
	enum status s = path_is_there(tokenizer) ? check_has(t, tokenizer) : STATUS_OK;
	free(tokenizer);
	return s;
}

enum status training_check_vocabulary(const struct training *t)
{
	const char *init = t->options->init;
	if (!t->data.largest_in)
		return STATUS_OK;
	enum status s = check_beside(t, path_beside(t->data.largest_in, "tokenizer.json"));
	if (!s && init && path_is_folder(init))
		s = check_beside(t, path_in_folder(init, "tokenizer.json"));
	return s;
}
