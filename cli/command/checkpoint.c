/* shardlab checkpoint show|verify|weights DIR: looks at what train --checkpoint wrote, without training. */
#include "real/checkpoint/whole.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/command/command.h"
#include "cli/command/descriptor.h"
#include "real/checkpoint/folder.h"
#include "strategy/base/character.h"
#include "strategy/base/number.h"

static const char *setting_of(const struct checkpoint *c, enum setting i)
{
	return c->manifest.settings[i] ? c->manifest.settings[i] : "unknown";
}

static int64_t bytes_of(const struct checkpoint *c)
{
	int64_t bytes = 0;
	for (int i = 0; i < c->manifest.file_count; i++)
		bytes += c->manifest.files[i].bytes;
	return bytes;
}

static enum status show(const struct checkpoint *c, const struct options *o)
{
	char text[40];
	(void)o;
	printf("%s\n", character_plain(c->path));
	printf("  step        %s\n", number_format_count(text, c->manifest.step));
	printf("  model       %s", character_plain(c->manifest.model));
	printf(", %s parameters\n", number_format_count(text, c->model.parameters));
	printf("  saved by    %s on %s ranks, %s, %s\n", setting_of(c, SETTING_STRATEGY), setting_of(c, SETTING_RANKS),
	       setting_of(c, SETTING_PRECISION), setting_of(c, SETTING_OPTIMIZER));
	printf("  batch       %s, seed %s\n", setting_of(c, SETTING_BATCH), setting_of(c, SETTING_SEED));
	number_format_bytes(text, sizeof text, bytes_of(c));
	printf("  size        %s in %d files\n", text, c->manifest.file_count);
	printf("  state       %016" PRIx64 "\n", c->manifest.state_checksum);
	for (int i = 0; i < ITEM_COUNT; i++) {
		int64_t n = checkpoint_elements(c, (enum item)i);
		if (n)
			printf("  %-14s %16s elements\n", item_name((enum item)i), number_format_count(text, n));
	}
	return STATUS_OK;
}

static enum status verify(const struct checkpoint *c, const struct options *o)
{
	(void)o;
	enum status s = checkpoint_verify(c);
	if (!s)
		printf("%s: whole: %d file%s, state %016" PRIx64 "\n", character_plain(c->path), c->manifest.file_count,
		       c->manifest.file_count == 1 ? "" : "s", c->manifest.state_checksum);
	return s;
}

/* A run's checkpoints, as they are told. */
struct verified {
	const struct options *options;
	int count, amiss;
	char why[1024];   /* of the newest that is amiss */
	char whole[1024]; /* the newest that is not; "": none */
};

static void verify_one(void *context, const char *path)
{
	struct verified *v = context;
	struct checkpoint c;
	enum status s = checkpoint_open(&c, path);
	if (!s)
		s = verify(&c, v->options);
	checkpoint_release(&c);
	v->count++;
	v->amiss += s != STATUS_OK;
	if (!s) {
		snprintf(v->whole, sizeof v->whole, "%s", path);
		return;
	}
	snprintf(v->why, sizeof v->why, "%s", status_message());
	printf("%s: not whole\n", character_plain(path));
}

/* All of a run's folder: so the one to go on from has a name. */
static enum status verify_all(const struct options *o, bool *any)
{
	struct verified v = {.options = o};
	*any = checkpoint_each(o->second, verify_one, &v) > 0;
	if (!v.amiss)
		return STATUS_OK;
	if (v.count == 1)
		return status_fail(STATUS_CHECK, "%s", v.why);
	return status_fail(STATUS_CHECK, "%s; %d of %d checkpoints are not whole; the newest that is: %s", v.why,
	                   v.amiss, v.count, *v.whole ? v.whole : "none");
}

static enum status weights(const struct checkpoint *c, const struct options *o)
{
	const char *path = option_text(o, OPTION_SAVE);
	char out[PATH_OF_DESCRIPTOR] = "";
	if (!option_given(o, OPTION_SAVE))
		return status_fail(STATUS_INPUT,
		                   "checkpoint weights: where to? Give {save} PATH: a file.safetensors, or "
		                   "a folder that transformers loads");
	enum status s = checkpoint_verify(c);
	if (!s)
		s = descriptor_free_stdout(path, "{save}", out);
	if (!s)
		s = checkpoint_weights(c, *out ? out : path, option_whole(o, OPTION_SAVE_SHARD));
	if (!s)
		printf("wrote %s\n", character_plain(path));
	return s;
}

static const struct {
	const char *name;
	enum status (*carry_out)(const struct checkpoint *c, const struct options *o);
} tasks[] = {{"show", show}, {"verify", verify}, {"weights", weights}};

enum status command_checkpoint(const struct options *o)
{
	size_t i = 0, n = sizeof tasks / sizeof *tasks;
	while (i < n && (!o->topic || strcmp(tasks[i].name, o->topic) != 0))
		i++;
	if (i == n || !o->second)
		return status_fail(
		        STATUS_INPUT,
		        "checkpoint takes what to do and a checkpoint: shardlab checkpoint show|verify|weights "
		        "DIR");
	if (tasks[i].carry_out != weights && (option_given(o, OPTION_SAVE) || option_given(o, OPTION_SAVE_SHARD)))
		return status_fail(STATUS_INPUT, "{save}: only checkpoint weights writes anything; leave it out");
	struct checkpoint c;
	bool any = false;
	enum status s = tasks[i].carry_out == verify ? verify_all(o, &any) : STATUS_OK;
	if (s || any)
		return s;
	s = checkpoint_open(&c, o->second);
	if (!s)
		s = tasks[i].carry_out(&c, o);
	checkpoint_release(&c);
	return s;
}
