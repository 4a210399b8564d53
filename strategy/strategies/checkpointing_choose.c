/* number_checkpoints=auto. More checkpoints keep more, fewer make more again at once: between them is the least peak,
 * and where, depends on the strategy, the precision and the batch. So plans are compiled and compared; nothing is
 * estimated.
 *
 * Every number is tried. In a model with more blocks than EVERY_NUMBER, only numbers that make the largest segment, of
 * ⌈blocks/N⌉, smaller: about 2·√blocks plans.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "strategy/plan/checkpoints.h"
#include "strategy/strategies/strategy.h"

enum { EVERY_NUMBER = 128, MOST_BLOCKS = 1024 };

/* Replaces auto by `number` in the setting. */
static void with_number(const char *text, int64_t number, char *out, size_t size)
{
	static const char word[] = "number_checkpoints=auto";
	const char *at = strstr(text, word);
	snprintf(out, size, "%.*snumber_checkpoints=%" PRId64 "%s", (int)(at - text), text, number,
	         at + sizeof word - 1);
}

struct need {
	int64_t peak, arena;
};

static enum status measure(const struct model *m, const struct settings *settings, struct need *out)
{
	struct plan p;
	enum status s = plan_compile(&p, m, settings);
	*out = (struct need){0};
	if (s)
		return s;
	for (int i = 0; i < p.role_count; i++) {
		struct memory_use use;
		plan_memory(&p, &p.roles[i], SPACE_DEVICE, &use);
		out->peak = use.peak_bytes > out->peak ? use.peak_bytes : out->peak;
		out->arena = use.arena_bytes > out->arena ? use.arena_bytes : out->arena;
	}
	plan_release(&p);
	return STATUS_OK;
}

enum status checkpointing_choose(const struct model *m, struct settings *settings)
{
	struct checkpointing c;
	struct settings trial = *settings;
	struct need best = {INT64_MAX, INT64_MAX};
	int64_t blocks = model_blocks(m);
	TRY(checkpointing_parse(settings->checkpointing, &c));
	if (!c.automatic)
		return STATUS_OK;
	if (blocks > MOST_BLOCKS)
		return status_fail(
		        STATUS_INPUT,
		        "{activation_checkpointing} full: number_checkpoints=auto tries models of at most %d "
		        "blocks, and %s has %" PRId64 "; give a number",
		        MOST_BLOCKS, m->name, blocks);
	settings->checkpointing_tried = 0;
	for (int64_t number = blocks; number > 0; number--) {
		struct need need;
		int64_t size =
		        (blocks + number - 1) / number; /* of the largest segment; a smaller number may have the same */
		if (blocks > EVERY_NUMBER && number > 1 && (blocks + number - 2) / (number - 1) == size)
			continue;
		with_number(settings->checkpointing, number, trial.checkpointing, sizeof trial.checkpointing);
		TRY(measure(m, &trial, &need));
		settings->checkpointing_tried++;
		if (need.peak > best.peak || (need.peak == best.peak && need.arena >= best.arena))
			continue;
		best = need;
		c.number = number;
	}
	with_number(settings->checkpointing, c.number, trial.checkpointing, sizeof trial.checkpointing);
	memcpy(settings->checkpointing, trial.checkpointing, sizeof settings->checkpointing);
	return STATUS_OK;
}
