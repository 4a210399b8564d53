/* Every strategy with every combination of techniques that it takes: each caption of each step is a whole sentence of
 * plain words. A combination that the settings or the strategy refuse is none of the catalogue.
 */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/suite.h"
#include "tests/support/viewed.h"
#include "tests/viz/each_caption.h"
#include "tests/viz/plain_words.h"

#define GPT "gpt:layers=2,width=8,heads=4,context=8,vocabulary=24"

static const char *const strategies[] = {
        "single ranks=1", "dp ranks=2",       "ddp ranks=2",    "zero1 ranks=2",
        "zero2 ranks=2",  "zero3 ranks=2",    "fsdp ranks=2",   "hybrid:shard=2 ranks=4",
        "model ranks=2",  "pipeline ranks=2", "tensor ranks=2", "tensor:sequence=yes ranks=2",
};
static const char *const checkpointing[] = {"none", "full", "selective"};
static const char *const offload[] = {"none", "optimizer", "parameters", "activations"};
static const char *const precision[] = {"fp32", "fp16 clip=1"};
enum { COMBINATIONS = COUNT(checkpointing) * COUNT(offload) * COUNT(precision) };
/* So many of them every strategy takes, and none of these falls out unseen. */
enum { TAKEN = 18 };

/* The k-th combination: the lists count up like the digits of a number. */
static const char *combination(int strategy, int k)
{
	static char words[400];
	snprintf(words, sizeof words, GPT " %s accumulate=2 activation_checkpointing=%s offload=%s precision=%s",
	         strategies[strategy], checkpointing[k / COUNT(precision) / COUNT(offload)],
	         offload[k / COUNT(precision) % COUNT(offload)], precision[k % COUNT(precision)]);
	return words;
}

static const char *looked_at;

static void look(const struct state *st, const char *caption)
{
	(void)st;
	ck_assert_msg(caption[strlen(caption) - 1] == '.', "%s: '%s' is cut", looked_at, caption);
	ck_plain(caption);
}

static bool is_taken(const char *words)
{
	struct made made;
	if (made_open_words(&made, words))
		return false;
	made_release(&made);
	return true;
}

START_LOOP_TEST(captions_are_plain, 0, COUNT(strategies))
{
	int taken = 0;
	for (int k = 0; k < COMBINATIONS; k++) {
		struct viewed v;
		looked_at = combination(_i, k);
		if (!is_taken(looked_at))
			continue;
		taken++;
		viewed_open(&v, "%s", looked_at);
		for (int step_size = 0; step_size < STEP_SIZE_COUNT; step_size++)
			each_caption(&v.shown.timeline, (enum step_size)step_size, look);
		viewed_release(&v);
	}
	ck_assert_int_ge(taken, TAKEN);
}

SUITE("catalogue", 60)
