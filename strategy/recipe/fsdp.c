/* FSDP, as Accelerate's configurations and Trainer's arguments say it alike. */
#include <string.h>
#include <strings.h>

#include "strategy/recipe/reader.h"

static bool is_text(const struct tree *v, const char *word)
{
	return v && v->kind == TREE_TEXT && !strcasecmp(v->text, word);
}

/* Where the file says nothing, the training script decides: accelerator.save_state takes shards or not by version, and
 * get_state_dict gathers whatever the file says. */
const char *fsdp_saving(struct recipe *r, const char *path, bool shards)
{
	const struct tree *v = recipe_find(r, path);
	bool full = v && (is_text(v, "FULL_STATE_DICT") || tree_same(v, "1"));
	if (full && !shards)
		recipe_say(r, v, "not in the figures");
	else
		recipe_say(r, v, full ? "save=full" : "save=shards");
	if (full && !shards)
		recipe_note(r, v, "%s %s: the weights that are gathered to be saved are not in the figures of hybrid",
		            path, tree_shown(&r->arena, v));
	return full && shards ? ":save=full" : "";
}
