/* FSDP, as Accelerate's configurations and Trainer's arguments say it alike. */
#include <inttypes.h>
#include <string.h>
#include <strings.h>

#include "strategy/model/model.h"
#include "strategy/recipe/reader.h"

static bool is_text(const struct tree *v, const char *word)
{
	return v && v->kind == TREE_TEXT && !strcasecmp(v->text, word);
}

/* Where the file is silent, the training script decides: accelerator.save_state takes shards or not by version, and
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

/* ---- units ---- */

/* The sizes that size_based_auto_wrap_policy looks at: elements of a block, of the largest module inside one, and of
 * the largest table beside the blocks. */
struct sizes {
	int64_t block, part, table, model;
};

/* "mlp" of "model.layers.0.mlp.up_proj.weight": the module of a block that a tensor belongs to. */
static const char *module_of(const char *name, size_t *length)
{
	const char *at = name;
	for (const char *p = name; *p; p++)
		if (*p == '.' && p > name && p[-1] >= '0' && p[-1] <= '9')
			at = p + 1;
	*length = strcspn(at, ".");
	return at;
}

static int64_t module_elements(const struct model *m, int tensor)
{
	size_t length, other;
	const char *module = module_of(m->tensors[tensor].name, &length);
	int64_t n = 0;
	for (int t = 0; t < m->tensor_count; t++) {
		const char *name = module_of(m->tensors[t].name, &other);
		bool same = m->tensors[t].unit == m->tensors[tensor].unit && other == length;
		n += same && !strncmp(name, module, length) ? m->tensors[t].elements : 0;
	}
	return n;
}

static void raise_to(int64_t *most, int64_t n)
{
	*most = n > *most ? n : *most;
}

static enum status measure(const struct recipe *r, struct sizes *out)
{
	struct model m;
	enum status s = model_open(&m, r->question.model, 0);
	*out = (struct sizes){0};
	if (s)
		return s;
	out->model = m.parameters;
	int first = -1; /* blocks are alike */
	for (int t = 0; t < m.tensor_count; t++) {
		int unit = m.tensors[t].unit;
		first = first < 0 && m.units[unit].block ? unit : first;
		if (!m.units[unit].block)
			raise_to(&out->table, m.tensors[t].elements);
		else if (unit == first)
			raise_to(&out->part, module_elements(&m, t));
		raise_to(&out->block, m.units[unit].block ? m.units[unit].elements : 0);
	}
	model_release(&m);
	return STATUS_OK;
}

/* From the inside out, what is left of a module and is as large becomes a unit; in version 2 every module is that is
 * larger. */
static bool is_wrapped(const struct fsdp_policy *p, int64_t elements, int64_t least)
{
	return p->version == 2 ? elements > least : elements >= least;
}

static const char *units_by_size(struct recipe *r, struct fsdp_policy *p, const struct tree *v)
{
	struct sizes z;
	int64_t least = recipe_whole(r, p->least, p->least_usual);
	const struct tree *at = recipe_find(r, p->least);
	if (!r->question.model || measure(r, &z)) {
		recipe_bar(r, v, "%s: SIZE_BASED_WRAP depends on the model; give {model}", p->path);
		return "";
	}
	p->kept = p->version != 2 && (least <= 0 || z.model < least);
	bool part = is_wrapped(p, z.part, least), block = is_wrapped(p, z.block, least),
	     table = is_wrapped(p, z.table, least);
	if (least <= 0 && p->version != 2)
		part = block = table = false; /* then Accelerate leaves the policy out */
	if (part || (table && !block)) {
		recipe_bar(r, v,
		           "%s: with %s of %" PRId64
		           " a unit is %s, which cannot be said here; a block can (TRANSFORMER_BASED_WRAP), and the "
		           "whole model (NO_WRAP)",
		           p->path, strrchr(p->least, '.') + 1, least,
		           part ? "a part of a block" : "the embedding alone, and another all blocks");
		return "";
	}
	recipe_say(r, v, block ? "a block is a unit" : "units=model");
	if (block && table)
		recipe_note(r, v, "%s: the embedding is a unit of its own there, and here it is one with the head",
		            p->path);
	recipe_say(r, at, block ? "a block has as many" : "no block has as many");
	return block ? "" : ":units=model";
}

const char *fsdp_units(struct recipe *r, struct fsdp_policy *p)
{
	const struct tree *v = recipe_find(r, p->path), *least = recipe_find(r, p->least);
	const char *policy = v && v->kind == TREE_TEXT ? v->text : p->usual;
	if (!strcasecmp(policy, "SIZE_BASED_WRAP"))
		return units_by_size(r, p, v);
	recipe_say(r, least, "nothing, without SIZE_BASED_WRAP");
	if (!strcasecmp(policy, "NO_WRAP")) {
		p->kept = p->version != 2;
		recipe_say(r, v, "units=model");
		if (!v)
			recipe_note(r, NULL, "%s is NO_WRAP by default: the whole model is one unit", p->path);
		return ":units=model";
	}
	if (wrapped_by_class(r, p->classes))
		recipe_say(r, v, "as here: a block is a unit");
	return "";
}

/* ---- gathers ahead, in version 1 ---- */

/* forward_prefetch issues the next gather before the unit is at work, and so has two under way beside it; without
 * limit_all_gathers nothing holds one back (_limiter_utils.py, _runtime_utils.py). */
static const char *ahead_in_forward(struct recipe *r, const struct fsdp_order *o, const char *nothing)
{
	const struct tree *next = recipe_find(r, o->forward), *limit = o->limit ? recipe_find(r, o->limit) : NULL;
	bool all = o->limit && !recipe_flag(r, o->limit, true), two = recipe_flag(r, o->forward, false);
	const char *said = !two ? "as here" : all ? "prefetch=all says it" : "prefetch=two";
	recipe_say(r, next, nothing ? nothing : said);
	recipe_say(r, limit, nothing ? nothing : all ? "prefetch=all" : "as here");
	return all ? ":prefetch=all" : two ? ":prefetch=two" : "";
}

const char *fsdp_order(struct recipe *r, const struct fsdp_order *o, const char *nothing)
{
	const struct tree *v = recipe_find(r, o->backward);
	const char *forward = ahead_in_forward(r, o, nothing);
	const char *backward = is_text(v, "BACKWARD_PRE")    ? *forward ? "backward=unit" : ""
	                       : is_text(v, "BACKWARD_POST") ? "backward=post"
	                                                     : "backward=none";
	recipe_say(r, v, nothing ? nothing : *backward ? backward : "as here");
	if (nothing)
		return "";
	if (!v)
		recipe_note(r, NULL, "%s is NO_PREFETCH by default: backward=none", o->backward);
	return arena_print(&r->arena, "%s%s%s", forward, *backward ? ":" : "", backward);
}
