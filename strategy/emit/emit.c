#include "strategy/emit/emit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "strategy/base/memory.h"
#include "strategy/base/path.h"
#include "strategy/emit/emit_rows.h"
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

const struct emit_row *emit_rows(enum emit_target t)
{
	static const struct emit_row *const rows[] = {[EMIT_DEEPSPEED] = emit_deepspeed_rows,
	                                              [EMIT_ACCELERATE] = emit_accelerate_rows,
	                                              [EMIT_TRAINER] = emit_trainer_rows,
	                                              [EMIT_TORCHTITAN] = emit_torchtitan_rows};
	return rows[t];
}

/* One line that says what the program does otherwise. */
static __attribute__((format(printf, 2, 3))) void emit_note(struct emission *e, const char *format, ...)
{
	char text[400];
	WITH_ARGS(format, status_format(text, sizeof text, format, args));
	e->notes = arena_grow(&e->arena, e->notes, e->note_count, &e->note_capacity, sizeof *e->notes);
	e->notes[e->note_count++] = arena_copy(&e->arena, text);
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

static void write_text(struct emission *e, enum tree_form form)
{
	FILE *out = open_memstream(&e->text, &e->size);
	if (!out)
		memory_exhausted();
	tree_write(e->file.root, form, out);
	if (fclose(out))
		memory_exhausted();
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

/* The same strategy in other numbers; and on one rank there is nothing that tells them apart. */
static bool alike(const struct settings *s, const char *there)
{
	size_t n = strcspn(s->strategy, ":");
	return s->ranks == 1 || (strcspn(there, ":") == n && !strncmp(s->strategy, there, n));
}

static enum status differs(struct emission *e, enum setting i, const char *here, const char *there)
{
	const char *name = arena_print(&e->arena, "{%s}", setting_rows[i].name);
	e->otherwise = true;
	if (!is_detail(i) && !(i == SETTING_STRATEGY && alike(e->settings, there)))
		return status_fail(STATUS_INPUT, "{emit} %s: %s %.100s cannot be said there; it would be %.100s",
		                   emit_target_name(e->target), status_words(name), *here ? here : "none", there);
	if (i == SETTING_BUCKET && !e->settings->bucket)
		emit_note(e, "%s: the first is as large as the others there, %s bytes", status_words(name), there);
	else
		emit_note(e, "%s %s: there it is %s", status_words(name), here, there);
	return STATUS_OK;
}

/* One setting, as it is read: the same, left to the program, or another one. */
static enum status compare(struct emission *e, const struct recipe_pair *p)
{
	struct settings back = settings_default();
	char here[SETTING_TEXT], there[SETTING_TEXT];
	enum status s = setting_read(p->setting, setting_rows[p->setting].name, p->text, &back);
	if (s)
		return s;
	setting_print(p->setting, e->settings, here, sizeof here);
	setting_print(p->setting, &back, there, sizeof there);
	bool same = p->setting == SETTING_STRATEGY ? same_strategy(here, there) : !strcmp(here, there);
	e->said[p->setting] = same || p->from || is_detail(p->setting);
	if (p->setting == SETTING_WEIGHT_DECAY && e->settings->optimizer == OPTIMIZER_SGD)
		return STATUS_OK; /* it is AdamW's */
	return e->said[p->setting] && !same ? differs(e, p->setting, here, there) : STATUS_OK;
}

static enum status compare_all(struct emission *e, const struct recipe *r)
{
	enum status s = recipe_plan(r);
	memset(e->said, 0, sizeof e->said);
	for (int i = 0; !s && i < r->pair_count; i++)
		s = compare(e, &r->pairs[i]);
	for (int i = 0; !s && i < r->notes.count; i++)
		emit_note(e, "%s", r->notes.list[i].text);
	return s;
}

static enum status read_again(struct emission *e, enum tree_form form)
{
	struct recipe r;
	const struct recipe_question q = {.reader = targets[e->target].reader, .model = e->settings->model};
	enum status s = recipe_read(&r, e->text, e->size, form == FORM_YAML ? "emitted.yaml" : "emitted.json", &q);
	if (!s) {
		s = compare_all(e, &r);
		recipe_release(&r);
	}
	return s;
}

/* ---- what nothing here reads ---- */

/* The strategy with those of its keys that the target's rows say. */
static const char *strategy_there(struct emission *e)
{
	struct choices c = emit_choices(e);
	int n = (int)strcspn(e->settings->strategy, ":");
	const char *name = arena_print(&e->arena, "%.*s", n, e->settings->strategy);
	if (emit_is(e, "fsdp") && c.keep)
		return "fsdp:reshard=no";
	if (emit_is(e, "hybrid"))
		return arena_print(&e->arena, "hybrid:shard=%lld", (long long)c.shard);
	return emit_is(e, "pipeline") && c.schedule == PIPELINE_GPIPE ? "pipeline:schedule=gpipe" : name;
}

/* Trainer hands its DeepSpeed section on: what is said of that holds. */
static enum status take_notes(struct emission *e)
{
	struct emission inner;
	struct settings plain = *e->settings; /* the schedule is an argument */
	plain.warmup = plain.decay = 0;
	enum status s = emit_make(&inner, EMIT_DEEPSPEED, NULL, &plain, e->nodes);
	for (int i = 0; !s && i < inner.note_count; i++)
		emit_note(e, "%s", inner.notes[i]);
	e->otherwise |= inner.otherwise;
	emit_release(&inner);
	return s;
}

static enum status judge_unread(struct emission *e)
{
	const struct settings *s = e->settings;
	if (e->target == EMIT_TRAINER && emit_is_zero(e))
		return take_notes(e);
	const char *there = strategy_there(e);
	if (!same_strategy(s->strategy, there))
		return differs(e, SETTING_STRATEGY, s->strategy, there);
	if (emit_is(e, "ddp") && s->bucket && e->target == EMIT_TRAINER)
		emit_note(e, "ddp_bucket_cap_mb: there the first bucket has 1 MiB");
	return STATUS_OK;
}

/* ---- what is beside the file ---- */

static bool is_beside(const struct emission *e, enum setting i)
{
	static const enum setting never[] = {SETTING_BATCH, SETTING_COLLECTIVES, SETTING_CHECKPOINTS};
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

/* What no file says, and its user has to know. */
static void note_places(struct emission *e)
{
	const struct offload *o = &e->settings->offload;
	if ((o->optimizer_on_disk || o->parameters_on_disk) && e->target != EMIT_TRAINER)
		emit_note(e, "nvme_path /local_nvme is a place to change: the folder on the disk");
	if (e->target == EMIT_ACCELERATE && e->nodes > 1)
		emit_note(e, "each of the %lld machines starts it with --machine_rank and --main_process_ip",
		          (long long)e->nodes);
	if (e->target == EMIT_TORCHTITAN && e->settings->clip <= 0)
		emit_note(e, "training.max_norm inf: there the norm is computed all the same");
	if (e->target == EMIT_TRAINER && e->settings->decay)
		emit_note(e, "lr_scheduler_type linear falls to 0, and {decay} to a tenth: only the learning rate");
}

enum status emit_make(struct emission *e, enum emit_target target, const char *where, const struct settings *s,
                      int64_t nodes)
{
	*e = (struct emission){.target = target, .where = where, .settings = s, .nodes = nodes > 0 ? nodes : 1};
	enum tree_form form = form_of(e);
	enum status status = emit_check(e);
	if (!status) {
		emit_put(e, emit_rows(target), "");
		if (target == EMIT_TRAINER && emit_is_zero(e))
			emit_put(e, emit_rows(EMIT_DEEPSPEED), "deepspeed.");
		write_text(e, form);
		status = targets[target].reader == RECIPE_GUESSED ? judge_unread(e) : read_again(e, form);
	}
	if (status) {
		emit_release(e);
		return status;
	}
	note_places(e);
	list_beside(e);
	return STATUS_OK;
}

void emit_release(struct emission *e)
{
	if (!e)
		return;
	free(e->text);
	arena_release(&e->arena);
	*e = (struct emission){0};
}
