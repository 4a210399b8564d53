/* Reads what write.c writes (the form is described there): a line at a time, in the order in which it is written.
 *
 * The text comes from outside, so nothing in it is believed: names must be known, numbers are checked for range and
 * their products for overflow, groups must hold the model. What the operations *do* is the verifier's business. */
#include "strategy/plan/text/read.h"

#include <stdlib.h>
#include <string.h>

#include "strategy/base/file.h"

/* ---- groups ---- */

static enum status read_group_tensors(struct reader *r, struct group *g)
{
	struct plan *p = r->p;
	g->tensors = arena_alloc(&p->arena, (r->scan.count - r->scan.next) * sizeof *g->tensors);
	while (r->scan.next < r->scan.count) {
		int t;
		TRY(scan_known(&r->scan, "tensor", &r->tensors, &t));
		if (p->tensor_group[t] >= 0)
			return scan_fail(&r->scan, r->scan.next - 1, "tensor '%.60s' is in group %.60s already",
			                 p->model->tensors[t].name,
			                 p->tensor_group[t] < p->group_count ? p->groups[p->tensor_group[t]].name
			                                                     : g->name);
		p->tensor_group[t] = p->group_count;
		p->tensor_offset[t] = g->elements;
		g->elements += p->model->tensors[t].elements;
		g->tensors[g->tensor_count++] = t;
	}
	if (!g->tensor_count)
		return scan_fail(&r->scan, r->scan.next, "the group has no tensor");
	return STATUS_OK;
}

static enum status read_group(struct reader *r)
{
	struct scan *c = &r->scan;
	struct group g = {0};
	int64_t elements;
	char *name;
	enum status s = read_model(r);
	if (s)
		return s;
	if (r->role)
		return scan_fail(c, 0, "groups come before roles; move this line up");
	if ((s = scan_word(c, "a group's name", &name)) || (s = scan_expect(c, "base")) ||
	    (s = scan_whole(c, "a base", 0, READ_MOST_ELEMENTS, &g.base)) || (s = scan_expect(c, "elements")) ||
	    (s = scan_whole(c, "elements", 1, READ_MOST_ELEMENTS, &elements)) || (s = scan_expect(c, "padded")) ||
	    (s = scan_whole(c, "elements", 1, READ_MOST_ELEMENTS, &g.padded)) || (s = scan_expect(c, "tensors")))
		return s;
	g.name = arena_copy(&r->p->arena, name);
	if (!names_add(&r->groups, g.name, r->p->group_count))
		return scan_fail(c, 1, "there is a group '%.60s' already", name);
	if ((s = read_group_tensors(r, &g)))
		return s;
	if (g.base != r->p->group_elements || elements != g.elements || g.padded < elements ||
	    g.padded - elements >= r->p->ranks)
		return scan_fail(c, 2, "base, elements and padded of its tensors are %lld, %lld and %lld to %lld",
		                 (long long)r->p->group_elements, (long long)g.elements, (long long)g.elements,
		                 (long long)(g.elements + r->p->ranks - 1));
	r->p->group_elements += g.padded;
	r->p->groups[r->p->group_count++] = g;
	return STATUS_OK;
}

/* ---- roles, buffers, sections ---- */

static struct section *section_at(struct role *role, int i)
{
	struct section *all[SECTION_KINDS] = {&role->prologue, &role->step,    &role->evaluate,
	                                      &role->save,     &role->restore, &role->epilogue};
	return all[i];
}

static void open_section(struct reader *r, int section)
{
	if (section)
		section_at(r->role, section - 1)->end = r->role->op_count;
	section_at(r->role, section)->begin = section_at(r->role, section)->end = r->role->op_count;
	r->section = section;
}

/* A plan without checkpoints has their sections empty, and does not say so. */
static void skip_sections(struct reader *r)
{
	while (!r->p->settings.checkpoints && section_is_of_checkpoints((enum section_kind)(r->section + 1)))
		open_section(r, r->section + 1);
}

static enum status end_role(struct reader *r)
{
	if (!r->role)
		return STATUS_OK;
	if (r->section == SECTION_EVALUATE)
		skip_sections(r);
	if (r->section < SECTION_KINDS - 1)
		return scan_fail(&r->scan, 0, "role %.60s ends here without a section '%s'", r->role->name,
		                 section_name((enum section_kind)(r->section + 1)));
	section_at(r->role, r->section)->end = r->role->op_count;
	enum status s = resolve_waits(r);
	names_release(&r->buffers);
	names_release(&r->labels);
	return s;
}

static enum status read_role(struct reader *r)
{
	struct scan *c = &r->scan;
	struct plan *p = r->p;
	int64_t first, ranks, next = 0;
	char *name;
	enum status s;
	if ((s = read_model(r)) || (s = end_role(r)))
		return s;
	if (p->role_count == PLAN_ROLES)
		return scan_fail(c, 0, "a plan has at most %d roles", PLAN_ROLES);
	if ((s = scan_word(c, "a role's name", &name)) || (s = scan_expect(c, "ranks")) ||
	    (s = scan_whole(c, "its first rank", 0, READ_MOST_RANKS, &first)) ||
	    (s = scan_whole(c, "how many ranks it has", 1, READ_MOST_RANKS, &ranks)) || (s = scan_end(c)))
		return s;
	for (int i = 0; i < p->role_count; i++) {
		next += p->roles[i].ranks;
		if (!strcmp(p->roles[i].name, name))
			return scan_fail(c, 1, "there is a role '%.60s' already", name);
	}
	if (first != next || ranks > p->ranks - next)
		return scan_fail(c, 3, "roles cover ranks 0 to %lld in order; this one must begin at %lld",
		                 (long long)p->ranks - 1, (long long)next);
	r->role = &p->roles[p->role_count++];
	*r->role = (struct role){.name = arena_copy(&p->arena, name), .first_rank = first, .ranks = ranks};
	r->section = -1;
	return STATUS_OK;
}

static enum status read_buffer(struct reader *r)
{
	struct scan *c = &r->scan;
	struct role *role = r->role;
	char *name;
	int category, space, type;
	int64_t elements;
	enum status s;
	if (!role || r->section >= 0)
		return scan_fail(c, 0, "buffers stand between 'role' and 'prologue'");
	if ((s = scan_word(c, "a buffer's name", &name)) ||
	    (s = scan_name(c, "category", category_name, CATEGORY_COUNT, &category)) ||
	    (s = scan_name(c, "space", space_name, SPACE_COUNT, &space)) ||
	    (s = scan_name(c, "type", type_name, TYPE_COUNT, &type)) ||
	    (s = scan_whole(c, "elements", 1, READ_MOST_ELEMENTS, &elements)))
		return s;
	bool state = scan_is(c, "state");
	role->buffers = arena_grow(&r->p->arena, role->buffers, role->buffer_count, &role->buffer_capacity,
	                           sizeof *role->buffers);
	role->buffers[role->buffer_count] = (struct buffer){.name = arena_copy(&r->p->arena, name),
	                                                    .category = (enum category)category,
	                                                    .space = (enum space)space,
	                                                    .type = (enum type)type,
	                                                    .elements = elements,
	                                                    .state = state};
	if (!names_add(&r->buffers, role->buffers[role->buffer_count].name, role->buffer_count))
		return scan_fail(c, 1, "there is a buffer '%.60s' already", name);
	role->buffer_count++;
	return scan_end(c);
}

static enum status begin_section(struct reader *r, int section)
{
	if (r->role && section == SECTION_EPILOGUE)
		skip_sections(r);
	if (!r->role || r->section != section - 1)
		return scan_fail(&r->scan, 0,
		                 "sections of a role are prologue, step, evaluate, %sepilogue, in this order, each "
		                 "once",
		                 r->p->settings.checkpoints ? "save, restore, " : "");
	open_section(r, section);
	return scan_end(&r->scan);
}

/* ---- the whole ---- */

static enum status read_line(struct reader *r)
{
	if (scan_is(&r->scan, "set"))
		return read_setting(r);
	if (scan_is(&r->scan, "axis"))
		return read_axis(r);
	if (scan_is(&r->scan, "group"))
		return read_group(r);
	if (scan_is(&r->scan, "role"))
		return read_role(r);
	if (scan_is(&r->scan, "buffer"))
		return read_buffer(r);
	for (int i = 0; i < SECTION_KINDS; i++)
		if (scan_is(&r->scan, section_name((enum section_kind)i)))
			return begin_section(r, i);
	const char *word = r->scan.words[0].text;
	if (*word && word[strlen(word) - 1] == ':')
		return read_op(r);
	return scan_fail(
	        &r->scan, 0,
	        "'%.60s' begins no line of a plan; known: set, axis, group, role, buffer, a section's name, NUMBER:",
	        word);
}

static enum status read_title(struct reader *r, bool *more)
{
	int64_t version;
	TRY(scan_line(&r->scan, more));
	if (!*more)
		r->scan.line += !r->scan.line;
	if (!*more || !scan_is(&r->scan, "shardlab") || !scan_is(&r->scan, "plan"))
		return scan_fail(&r->scan, r->scan.next, "this is no plan: the first line must be 'shardlab plan %d'",
		                 PLAN_VERSION);
	TRY(scan_whole(&r->scan, "a version", 0, INT32_MAX, &version));
	if (version != PLAN_VERSION && version != PLAN_VERSION_CHECKPOINTS)
		return scan_fail(&r->scan, 2, "version %lld of the form; this program reads versions %d and %d",
		                 (long long)version, PLAN_VERSION, PLAN_VERSION_CHECKPOINTS);
	r->p->settings.checkpoints = version == PLAN_VERSION_CHECKPOINTS;
	return scan_end(&r->scan);
}

static enum status read_end(struct reader *r)
{
	struct plan *p = r->p;
	int64_t covered = 0;
	TRY(end_role(r));
	r->scan.count = 0;
	for (int i = 0; i < p->role_count; i++)
		covered += p->roles[i].ranks;
	if (!p->role_count || covered != p->ranks)
		return scan_fail(&r->scan, 0,
		                 "the plan ends here, and its roles cover %lld of %lld ranks; print it without {role}",
		                 (long long)covered, (long long)p->ranks);
	for (int t = 0; t < p->model->tensor_count; t++)
		if (p->tensor_group[t] < 0)
			return scan_fail(&r->scan, 0, "the plan ends here, and tensor '%.60s' is in no group",
			                 p->model->tensors[t].name);
	return STATUS_OK;
}

enum status plan_read(struct plan *p, struct model *model, const char *text, size_t size, const char *name)
{
	struct reader r = {.scan = {.name = name, .text = text, .size = size}, .p = p, .model = model, .section = -1};
	bool more = true;
	*p = (struct plan){.settings = settings_default()};
	*model = (struct model){0};
	enum status s = read_title(&r, &more);
	while (!s && !(s = scan_line(&r.scan, &more)) && more)
		s = read_line(&r);
	if (!s)
		s = read_end(&r);
	scan_release(&r.scan);
	names_release(&r.tensors);
	names_release(&r.kernels);
	names_release(&r.units);
	names_release(&r.groups);
	names_release(&r.buffers);
	names_release(&r.labels);
	free(r.waits);
	if (s) {
		plan_release(p);
		model_release(model);
	}
	return s;
}

enum status plan_read_file(struct plan *p, struct model *model, const char *path)
{
	enum { LARGEST = 256 << 20 };
	char *text;
	size_t size;
	TRY(file_read(path, "{plan}", LARGEST, &text, &size));
	enum status s = plan_read(p, model, text, size, path);
	free(text);
	return s;
}
