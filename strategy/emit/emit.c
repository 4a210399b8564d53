#include "strategy/emit/emit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "strategy/base/memory.h"
#include "strategy/base/path.h"
#include "strategy/emit/emit_rows.h"
#include "strategy/settings/software.h"
#include "strategy/strategies/strategy.h"

static const struct {
	const char *name, *version;
	enum tree_form form;
	enum recipe_reader reader;
} targets[] = {
#define X(constant, name, form, reader, version, strategies) {name, version, FORM_##form, RECIPE_##reader},
        EMIT_TARGETS(X)
#undef X
};

const char *emit_target_name(enum emit_target t)
{
	return targets[t].name;
}

const char *emit_target_version(enum emit_target t)
{
	return targets[t].version;
}

enum recipe_reader emit_target_reader(enum emit_target t)
{
	return targets[t].reader;
}

/* A file for Trainer's argument `deepspeed` is DeepSpeed's. */
enum emit_target emit_target_of(enum recipe_reader r)
{
	int t = EMIT_TARGET_COUNT - 1;
	while (t > 0 && targets[t].reader != r)
		t--;
	return (enum emit_target)t;
}

/* DeepSpeed alone has ZeRO, whoever starts it. */
const char *emit_target_class(enum emit_target t, const char *strategy)
{
	bool starts = t == EMIT_ACCELERATE || t == EMIT_TRAINER;
	return t == EMIT_DEEPSPEED || (starts && !strncmp(strategy, "zero", 4)) ? "deepspeed" : "pytorch-eager";
}

bool emit_target_named(const char *text, enum emit_target *out)
{
	size_t n = strcspn(text, ":");
	for (int t = 0; t < EMIT_TARGET_COUNT; t++) {
		*out = (enum emit_target)t;
		if (strlen(targets[t].name) == n && !strncmp(text, targets[t].name, n))
			return true;
	}
	return false;
}

const struct emit_row *emit_rows(enum emit_target t)
{
	static const struct emit_row *const rows[] = {[EMIT_DEEPSPEED] = emit_deepspeed_rows,
	                                              [EMIT_ACCELERATE] = emit_accelerate_rows,
	                                              [EMIT_TRAINER] = emit_trainer_rows,
	                                              [EMIT_TORCHTITAN] = emit_torchtitan_rows};
	return rows[t];
}

/* ---- the text ---- */

static const char *number_of(struct emission *e, enum setting i)
{
	char text[SETTING_TEXT];
	setting_print(i, e->settings, text, sizeof text);
	return arena_copy(&e->arena, text);
}

/* Puts the rows into the file, below a section or at the top (""). */
static void emit_put(struct emission *e, const struct emit_row *rows, const char *section)
{
	for (const struct emit_row *row = rows; *row->path; row++) {
		const char *literal = row->value ? row->value(e) : number_of(e, row->setting);
		if (!literal)
			continue;
		tree_put(&e->file, &e->arena, arena_print(&e->arena, "%s%s", section, row->path), literal);
		e->said[row->setting] = true;
	}
}

/* JSON and YAML are read by the end of the name; torchtitan has TOML alone. */
static enum tree_form form_of(const struct emission *e)
{
	enum tree_form usual = targets[e->target].form;
	bool several = e->target == EMIT_ACCELERATE || e->target == EMIT_TRAINER;
	if (!several || !e->where)
		return usual;
	return path_ends_in(e->where, ".json")                                     ? FORM_JSON
	       : path_ends_in(e->where, ".yaml") || path_ends_in(e->where, ".yml") ? FORM_YAML
	                                                                           : usual;
}

static void write_text(const struct tree_file *f, enum tree_form form, char **text, size_t *size)
{
	FILE *out = open_memstream(text, size);
	if (!out)
		memory_exhausted();
	tree_write(f->root, form, out);
	if (fclose(out))
		memory_exhausted();
}

/* Accelerate's second file, where the first has a name: launch.yaml has launch.deepspeed.json beside it. */
static void write_beside(struct emission *e)
{
	struct tree_file first = e->file;
	const char *where = e->where, *dot = where ? strrchr(where, '.') : NULL;
	if (e->target != EMIT_ACCELERATE || !emit_is_zero(e) || !where || strpbrk(where, "\"\\"))
		return;
	size_t n = dot && !strchr(dot, '/') ? (size_t)(dot - where) : strlen(where);
	e->beside_where = arena_print(&e->arena, "%.*s.deepspeed.json", (int)n, where);
	e->file = (struct tree_file){.where = e->beside_where};
	emit_put(e, emit_rows(EMIT_DEEPSPEED), "");
	write_text(&e->file, FORM_JSON, &e->beside_text, &e->beside_size);
	e->file = first;
}

/* ---- as it is read ---- */

/* A size or a rate: another value is another figure, and no other plan in kind. */
static bool is_detail(enum setting i)
{
	return i == SETTING_BUCKET || i == SETTING_LOSS_SCALE || i == SETTING_LOSS_SCALE_WINDOW ||
	       i == SETTING_LEARNING_RATE || i == SETTING_WEIGHT_DECAY || i == SETTING_WARMUP || i == SETTING_DECAY;
}

static bool same_strategy(const char *a, const char *b)
{
	const struct strategy *g, *h;
	if (strategy_parse(a, &g) || strategy_parse(b, &h) || g != h)
		return false;
	struct choices x = strategy_choices(g, a), y = strategy_choices(h, b);
	return choices_same(&x, &y);
}

static bool same_software(const char *a, const char *b)
{
	struct software x, y;
	return !software_parse(a, &x) && !software_parse(b, &y) && x.name == y.name &&
	       !memcmp(x.does, y.does, sizeof x.does);
}

/* The same strategy in other numbers, but for who shares a copy and the order of gathers; and on one rank there is
 * nothing that tells them apart. */
static bool alike(const struct settings *s, const char *there)
{
	const struct strategy *g, *h;
	size_t n = strcspn(s->strategy, ":");
	if (s->ranks > 1 && !strategy_parse(s->strategy, &g) && !strategy_parse(there, &h)) {
		struct choices x = strategy_choices(g, s->strategy), y = strategy_choices(h, there);
		bool zero = !strncmp(s->strategy, "zero", 4); /* what its words do, numbers say there */
		if (x.shard != y.shard || (!zero && (x.backward != y.backward || x.prefetch != y.prefetch)))
			return false;
	}
	return s->ranks == 1 || (strcspn(there, ":") == n && !strncmp(s->strategy, there, n));
}

/* The same things in the same places: what is set aside besides is a size. */
static bool same_places(const char *here, const char *there)
{
	struct offload a, b;
	if (offload_parse(here, &a) || offload_parse(there, &b))
		return false;
	a.buffers = b.buffers = a.staging = b.staging = 0;
	char x[OFFLOAD_TEXT], y[OFFLOAD_TEXT];
	offload_print(&a, x, sizeof x);
	offload_print(&b, y, sizeof y);
	return !strcmp(x, y);
}

static enum status differs(struct emission *e, const struct recipe_pair *p, const char *here, const char *there)
{
	enum setting i = p->setting;
	const char *name = arena_print(&e->arena, "{%s}", setting_rows[i].name);
	if (i == SETTING_BUCKET && !e->settings->bucket && emit_is(e, "zero3"))
		return STATUS_OK; /* a unit's gradients travel together, whatever it is */
	e->otherwise = true;
	if (!is_detail(i) && i != SETTING_AS && !(i == SETTING_STRATEGY && alike(e->settings, there)) &&
	    !(i == SETTING_OFFLOAD && same_places(here, there)))
		return status_fail(STATUS_INPUT, "%s %.100s cannot be said there; it would be %.100s",
		                   status_words(name), *here ? here : "none", there);
	if (i == SETTING_BUCKET && !e->settings->bucket)
		here = "of 25 MiB, the first of 1 MiB";
	else if (i == SETTING_BUCKET && !strcmp(there, "0"))
		there = "25 MiB, the first 1 MiB";
	emit_note_differs(e, i, p->from, here, there);
	return STATUS_OK;
}

static bool is_same(struct emission *e, enum setting i, const char *here, const char *there)
{
	if (i == SETTING_STRATEGY)
		return same_strategy(here, there);
	if (i == SETTING_AS)
		return same_software(here, there);
	const char *tokens = i == SETTING_SEQUENCE ? emit_sequence(e) : NULL;
	return !strcmp(tokens ? tokens : here, there);
}

/* One setting, as it is read: the same, left to the program, or another one. */
static enum status compare(struct emission *e, const struct recipe_pair *p)
{
	struct settings back = settings_default();
	char here[SETTING_TEXT], there[SETTING_TEXT];
	TRY(setting_read(p->setting, setting_rows[p->setting].name, p->text, &back));
	setting_print(p->setting, e->settings, here, sizeof here);
	setting_print(p->setting, &back, there, sizeof there);
	bool same = is_same(e, p->setting, here, there);
	e->said[p->setting] = same || p->from || is_detail(p->setting) || p->setting == SETTING_AS;
	if (p->setting == SETTING_WEIGHT_DECAY && e->settings->optimizer == OPTIMIZER_SGD)
		return STATUS_OK; /* SGD has none, here and in the file */
	if (p->setting == SETTING_AS && !same)
		e->software = arena_copy(&e->arena, there);
	return e->said[p->setting] && !same ? differs(e, p, here, there) : STATUS_OK;
}

/* Checks what was written before it has a file name: recipe_plan's refusals without the place. */
static enum status must_be_taken(const struct recipe *r)
{
	if (r->refusals.count)
		return status_fail(STATUS_INPUT, "%s would refuse: %s", r->refusals.list[0].by,
		                   r->refusals.list[0].text);
	return r->barriers.count ? status_fail(STATUS_INPUT, "%s", r->barriers.list[0].text) : STATUS_OK;
}

static enum status compare_all(struct emission *e, const struct recipe *r)
{
	enum status s = must_be_taken(r);
	memset(e->said, 0, sizeof e->said);
	for (int i = 0; !s && i < r->pair_count; i++)
		if (recipe_pair_find(r, r->pairs[i].setting) == r->pairs[i].text) /* the last counts */
			s = compare(e, &r->pairs[i]);
	for (int i = 0; !s && i < r->notes.count; i++)
		emit_note(e, "%s", r->notes.list[i].text);
	return s;
}

static enum status read_as(struct emission *e, enum tree_form form, const char *software, struct recipe *r)
{
	static const char *const names[] = {
	        [FORM_JSON] = "emitted.json", [FORM_YAML] = "emitted.yaml", [FORM_TOML] = "emitted.toml"};
	const struct recipe_question q = {.reader = targets[e->target].reader,
	                                  .model = e->said[SETTING_MODEL] ? NULL : e->settings->model,
	                                  .beside = e->beside_where,
	                                  .beside_text = e->beside_text,
	                                  .ranks = e->target == EMIT_TRAINER ? e->settings->ranks : 0,
	                                  .given[SETTING_AS] = software};
	return recipe_read(r, e->text, e->size, names[form], &q);
}

/* Does the file alone say all switches that the settings have? */
static bool says_switches(const struct emission *e, const struct recipe *r)
{
	const char *text = recipe_pair_find(r, SETTING_AS);
	return text && same_software(e->settings->software, text);
}

/* As it is read without --as; and where it does not say all switches, beside it. */
static enum status read_again(struct emission *e, enum tree_form form)
{
	struct recipe r;
	const char *software = e->settings->software;
	enum status s = read_as(e, form, NULL, &r);
	if (!s && !says_switches(e, &r)) {
		recipe_release(&r);
		s = read_as(e, form, software, &r);
	}
	if (!s) {
		s = compare_all(e, &r);
		recipe_release(&r);
	}
	return s;
}

/* ---- what is beside the file ---- */

static bool is_beside(const struct emission *e, enum setting i)
{
	static const enum setting never[] = {SETTING_BATCH, SETTING_COLLECTIVES, SETTING_CHECKPOINTS,
	                                     SETTING_CHECKPOINT_ASYNC};
	for (size_t k = 0; k < sizeof never / sizeof never[0]; k++)
		if (never[k] == i)
			return false;
	if (i == SETTING_LOSS_SCALER && e->settings->loss_scaler == LOSS_SCALER_DEEPSPEED)
		return false;
	if (i == SETTING_ACCUMULATE && e->settings->accumulate == 1)
		return false;
	return i == SETTING_MODEL || i == SETTING_RANKS || setting_differs(i, e->settings);
}

static void list_beside(struct emission *e)
{
	for (int i = 0; i < SETTING_COUNT; i++)
		if (!e->said[i] && is_beside(e, (enum setting)i))
			e->beside[e->beside_count++] = (enum setting)i;
}

/* ---- the whole ---- */

/* Notes what no file says and its user has to know. */
static void note_places(struct emission *e)
{
	const struct offload *o = &e->settings->offload;
	if (o->optimizer_on_disk || o->parameters_on_disk)
		emit_note(e, "nvme_path /local_nvme is a place to change: the folder on the disk");
	if (e->target == EMIT_ACCELERATE && emit_is_zero(e) && e->otherwise && !e->where)
		emit_note(e,
		          "%s accelerate:FILE writes a second file beside FILE, which says what these few keys do not",
		          status_words("{emit}"));
	if (e->target == EMIT_ACCELERATE && e->nodes > 1)
		emit_note(e, "each of the %lld machines starts it with --machine_rank and --main_process_ip",
		          (long long)e->nodes);
	if (e->target == EMIT_TRAINER && e->settings->decay)
		emit_note(e, "lr_scheduler_type linear falls to 0, and %s to a tenth: only the learning rate",
		          status_words("{decay}"));
}

enum status emit_make(struct emission *e, enum emit_target target, const char *where, const struct settings *s,
                      int64_t nodes)
{
	*e = (struct emission){.target = target, .where = where, .settings = s, .nodes = nodes > 0 ? nodes : 1};
	enum tree_form form = form_of(e);
	enum status status = emit_check(e);
	if (!status) {
		write_beside(e);
		emit_put(e, emit_rows(target), "");
		if (target == EMIT_TRAINER && emit_is_zero(e))
			emit_put(e, emit_rows(EMIT_DEEPSPEED), "deepspeed.");
		write_text(&e->file, form, &e->text, &e->size);
		status = read_again(e, form);
	}
	if (status) {
		emit_release(e);
		return status;
	}
	note_places(e);
	list_beside(e);
	return STATUS_OK;
}

enum status emit_can(enum emit_target target, const struct settings *s)
{
	struct emission e = {.target = target, .settings = s};
	enum status status = emit_check(&e);
	emit_release(&e);
	return status;
}

void emit_release(struct emission *e)
{
	if (!e)
		return;
	free(e->text);
	free(e->beside_text);
	arena_release(&e->arena);
	*e = (struct emission){0};
}
