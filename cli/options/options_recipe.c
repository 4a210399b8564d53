/* --config FILE: a recipe's settings become options, as if they had been given. An option beside it that says something
 * else is refused, but for what the file leaves to its program. */
#include <inttypes.h>
#include <string.h>

#include "cli/options/options_table.h"

#include "strategy/base/character.h"
#include "strategy/recipe/tree.h"
#include "strategy/strategies/strategy.h"

struct recipe_question options_question(const struct options *o)
{
	const struct option_value *reader = &o->value[OPTION_READER];
	struct recipe_question q = {.reader = RECIPE_GUESSED};
	for (int i = 0; reader->given && i < RECIPE_READER_COUNT; i++)
		if (!strcmp(reader->text, recipe_reader_name((enum recipe_reader)i)))
			q.reader = (enum recipe_reader)i;
	for (int i = 0; i < SETTING_COUNT; i++)
		if (o->value[i].given)
			q.given[i] = o->value[i].text;
	q.model = q.given[SETTING_MODEL];
	q.ranks = o->value[SETTING_RANKS].given ? o->value[SETTING_RANKS].whole : o->hosts_ranks;
	return q;
}

static bool agrees(const struct option_row *row, const struct option_value *a, const struct option_value *b)
{
	switch (row->type) {
	case TAKES_WHOLE:
	case TAKES_SIZE:
		return a->whole == b->whole;
	case TAKES_REAL:
		return a->real == b->real;
	default:
		return !strcmp(a->text, b->text);
	}
}

/* compare puts strategies of its own beside the file's. */
static bool may_differ(const struct options *o, const struct recipe_pair *p)
{
	return !p->from || (o->command == COMMAND_COMPARE && p->setting == SETTING_STRATEGY);
}

static enum status take_pair(struct options *o, const struct recipe *r, const struct recipe_pair *p)
{
	const struct option_row *row = option_row((int)p->setting);
	struct option_value value = {.given = true, .by_file = true}, *at = &o->value[p->setting];
	enum status s = option_read_value(row, false, arena_copy(&o->arena, p->text), &value);
	if (s)
		return p->from ? status_prefix(s, "%s:%d:%d: %s", character_plain(r->file.where), p->from->line,
		                               p->from->column, tree_path(&o->arena, p->from))
		               : s;
	if (!at->given || p->setting == SETTING_AS) { /* what was given, and a switch of the file's */
		*at = value;
		if (p->from)
			o->place[p->setting] = arena_print(&o->arena, "%s:%d:%d: %s", r->file.where, p->from->line,
			                                   p->from->column, tree_path(&o->arena, p->from));
	}
	if (!may_differ(o, p) && !agrees(row, at, &value))
		return status_fail(STATUS_INPUT, "--%s %s: %s:%d:%d says %s; leave one of them out", row->name,
		                   at->text, r->file.where, p->from->line, p->from->column, p->text);
	return STATUS_OK;
}

/* compare has `single` stand for one rank; to advise it is one among others on one rank, and none on more. */
static bool is_beside(const struct options *o, const struct strategy *g)
{
	return o->command == COMMAND_COMPARE || g->one_rank == (o->value[SETTING_RANKS].whole == 1);
}

/* The file's own first, then those of `all` that it is not. */
static void widen_list(struct options *o, const char *own)
{
	const char *list = own;
	size_t length = strcspn(own, ":");
	for (int i = 0; strategy_at(i); i++) {
		const char *name = strategy_at(i)->name;
		if (is_beside(o, strategy_at(i)) && (strlen(name) != length || strncmp(own, name, length) != 0))
			list = arena_print(&o->arena, "%s,%s", list, name);
	}
	o->value[SETTING_STRATEGY].given = o->widened = true;
	o->value[SETTING_STRATEGY].text = list;
}

/* "ds.json:3:4: ", or "ds.json: " of all of it. */
static void tell_place(const struct recipe *r, const struct recipe_remark *m)
{
	if (m->line)
		fprintf(stderr, "%s:%d:%d: ", character_plain(r->file.where), m->line, m->column);
	else
		fprintf(stderr, "%s: ", character_plain(r->file.where));
}

static void tell(const struct options *o, const struct recipe *r)
{
	fprintf(stderr, "%s: read as %s reads it (%s)%s%s\n", character_plain(r->file.where), recipe_judge(r->reader),
	        recipe_version(r->reader), r->why ? ": " : "", r->why ? r->why : "");
	for (int i = 0; i < r->refusals.count; i++) { /* of its syntax */
		tell_place(r, &r->refusals.list[i]);
		fprintf(stderr, "%s would refuse this: %s\n", r->refusals.list[i].by,
		        character_plain(r->refusals.list[i].text));
	}
	for (int i = 0; i < r->notes.count; i++) {
		tell_place(r, &r->notes.list[i]);
		fprintf(stderr, "note: %s\n", character_plain(r->notes.list[i].text));
	}
	if (r->ranks_from)
		fprintf(stderr, "ranks by %s\n", r->ranks_from);
	else if (o->hosts_ranks)
		fprintf(stderr, "ranks by --hosts %s\n", o->place[SETTING_RANKS]);
	else if (r->question.ranks)
		fprintf(stderr, "ranks by %s: %" PRId64 "\n", o->ranks_from ? o->ranks_from : "--ranks",
		        r->question.ranks);
}

/* A default of the program's, or an "auto": whatever was typed goes before it. */
static bool is_left_open(const struct recipe_pair *p)
{
	return !p->from || tree_is_auto(p->from);
}

static bool is_typed(const struct options *o, enum setting i)
{
	return o->value[i].given && !o->value[i].by_file;
}

/* Says which facts about the samples neither the file nor an option gives. */
static void tell_samples(const struct options *o, const struct recipe *r)
{
	enum { USUAL_MICRO = 4 };
	if (is_typed(o, SETTING_BATCH) || is_typed(o, SETTING_MICRO_BATCH) || recipe_pair_find(r, SETTING_MICRO_BATCH))
		return;
	if (o->command == COMMAND_ADVISE)
		fprintf(stderr, "batch %" PRId64 ", of micro-batch %d by default\n", o->value[SETTING_BATCH].whole,
		        USUAL_MICRO);
	else
		fprintf(stderr, "micro-batch %d by default\n", USUAL_MICRO);
}

/* advise looks for these, and takes the rest from the file: the batch, the optimizer, and a precision that the file
 * says and does not leave to its program. */
static bool is_searched(const struct options *o, const struct recipe_pair *p)
{
	const enum setting i = p->setting;
	return o->command == COMMAND_ADVISE &&
	       (i == SETTING_STRATEGY || i == SETTING_MICRO_BATCH || i == SETTING_ACCUMULATE ||
	        i == SETTING_CHECKPOINTING || i == SETTING_OFFLOAD || (i == SETTING_PRECISION && !p->from));
}

/* A run has shardlab's own update, whatever the file says of another software's. */
static bool is_simulated_only(const struct options *o, const struct recipe_pair *p)
{
	return o->command == COMMAND_TRAIN && p->setting == SETTING_AS;
}

/* Merges the file's settings with the options given beside it; the file goes first. */
static enum status settings_of_file(const struct options *o, const struct recipe *r, bool with_batch,
                                    struct settings *out)
{
	enum status s = STATUS_OK;
	*out = settings_default();
	for (enum setting i = 0; !s && i < SETTING_COUNT; i++)
		if (o->value[i].given && i != SETTING_STRATEGY && (i != SETTING_BATCH || with_batch) &&
		    !strchr(o->value[i].text, '/'))
			s = setting_read(i, setting_rows[i].name, o->value[i].text, out);
	for (int i = 0; !s && i < r->pair_count; i++) {
		const struct recipe_pair *p = &r->pairs[i];
		if (!is_left_open(p) || !is_typed(o, p->setting))
			s = setting_read(p->setting, setting_rows[p->setting].name, p->text, out);
	}
	return s ? s : settings_resolve(out, strategy_data_ranks(out));
}

/* ---- a batch that was typed ---- */

static void drop_open(struct recipe *r, enum setting i)
{
	int kept = 0;
	for (int k = 0; k < r->pair_count; k++)
		if (r->pairs[k].setting != i || !is_left_open(&r->pairs[k]))
			r->pairs[kept++] = r->pairs[k];
	r->pair_count = kept;
}

/* A batch that was typed goes before what the file leaves open: first the accumulation gives way, then the
 * micro-batch. */
static void make_way(const struct options *o, struct recipe *r)
{
	static const enum setting order[] = {SETTING_ACCUMULATE, SETTING_MICRO_BATCH};
	struct settings all;
	for (size_t i = 0; i < sizeof order / sizeof order[0]; i++)
		if (is_typed(o, SETTING_BATCH) && !r->batch && settings_of_file(o, r, true, &all))
			drop_open(r, order[i]);
}

/* "micro-batch 4 and accumulation 2" of the file; "": it says neither. */
static const char *samples_said(struct options *o, const struct recipe *r)
{
	const char *micro = recipe_pair_find(r, SETTING_MICRO_BATCH), *times = recipe_pair_find(r, SETTING_ACCUMULATE);
	if (!micro && !times)
		return "";
	return arena_print(&o->arena, "%s%s%s%s%s", micro ? "micro-batch " : "", micro ? micro : "",
	                   micro && times ? " and " : "", times ? "accumulation " : "", times ? times : "");
}

/* One that the file's own samples cannot make. */
static enum status check_batch(struct options *o, const struct recipe *r)
{
	const struct option_value *batch = &o->value[SETTING_BATCH];
	struct settings all;
	if (!is_typed(o, SETTING_BATCH) || o->command == COMMAND_ADVISE || strchr(batch->text, '/'))
		return STATUS_OK;
	if (r->batch && !tree_same(r->batch, batch->text))
		return status_fail(STATUS_INPUT, "--batch %s: %s:%d:%d says %s; leave one of them out", batch->text,
		                   character_plain(r->file.where), r->batch->line, r->batch->column,
		                   tree_shown(&o->arena, r->batch));
	const char *said = samples_said(o, r);
	if (!*said || is_typed(o, SETTING_MICRO_BATCH) || is_typed(o, SETTING_ACCUMULATE) ||
	    !settings_of_file(o, r, true, &all) || settings_of_file(o, r, false, &all))
		return STATUS_OK; /* or another message says why not */
	return status_fail(STATUS_INPUT,
	                   "--batch %s: on %" PRId64 " ranks %s says %s; leave --batch out, or change one of them",
	                   batch->text, all.ranks, character_plain(r->file.where), said);
}

static struct option_value whole_value(struct arena *a, int64_t n)
{
	return (struct option_value){.given = true, .text = arena_print(a, "%" PRId64, n), .whole = n, .least = n};
}

/* The file's own line has the batch that was typed, unless the file says another. */
static enum status keep_settings(struct options *o, const struct recipe *r)
{
	struct settings *all = arena_alloc(&o->arena, sizeof *all);
	struct option_value *batch = &o->value[SETTING_BATCH];
	enum status s = settings_of_file(o, r, !r->batch, all);
	if (s && is_typed(o, SETTING_BATCH))
		s = settings_of_file(o, r, false, all);
	if (s)
		return s;
	o->config_settings = all;
	if (!batch->given)
		*batch = whole_value(&o->arena, all->batch);
	return STATUS_OK;
}

/* The file's checkpointing cannot be said here, and advise looks for another choice. */
static void tell_other(const struct recipe *r, const struct recipe_remark *other)
{
	tell_place(r, other);
	fprintf(stderr, "note: %s; the search has other choices, and the file's own is not beside them\n", other->text);
}

static enum status take(struct options *o, struct recipe *r)
{
	bool listed = option_given(o, (enum option)SETTING_STRATEGY);
	const struct recipe_remark *other = NULL;
	enum status s = o->command == COMMAND_ADVISE ? recipe_plan_searched(r, &other) : recipe_plan(r);
	if (!s) {
		make_way(o, r);
		s = check_batch(o, r);
	}
	for (int i = 0; !s && i < r->pair_count; i++)
		if (!is_searched(o, &r->pairs[i]) && !is_simulated_only(o, &r->pairs[i]))
			s = take_pair(o, r, &r->pairs[i]);
	if (!s && o->ranks_from)
		o->value[SETTING_RANKS] = whole_value(&o->arena, r->question.ranks);
	if (!s && !o->value[SETTING_RANKS].given && !o->hosts_ranks)
		s = status_fail(STATUS_INPUT,
		                "%s does not say how many ranks there are: give --ranks N, or --hosts FILE",
		                r->file.where);
	if (s)
		return s;
	o->class = recipe_class(r);
	if (o->command == COMMAND_COMPARE && !listed && !option_given(o, OPTION_TRACE)) /* a trace is of what ran */
		widen_list(o, option_text(o, (enum option)SETTING_STRATEGY));
	if (o->command == COMMAND_ADVISE && (s = keep_settings(o, r)))
		return s;
	if (o->command == COMMAND_ADVISE && !listed)
		widen_list(o, o->config_settings->strategy);
	tell(o, r);
	tell_samples(o, r);
	if (other) {
		o->config_settings = NULL;
		tell_other(r, other);
	}
	if (!o->value[SETTING_MODEL].given)
		fprintf(stderr, "note: neither the file nor --model says which model; this is of %s\n",
		        setting_rows[SETTING_MODEL].fallback);
	return STATUS_OK;
}

/* A file that does not say how many ranks there are is read once more, for as many as something else knows of. */
static enum status open_recipe(struct recipe *r, struct options *o)
{
	const char *path = option_text(o, OPTION_CONFIG);
	struct recipe_question q = options_question(o);
	enum status s = recipe_open(r, path, &q);
	if (s || q.ranks || recipe_pair_find(r, SETTING_RANKS))
		return s;
	s = options_find_ranks(o, &q.ranks);
	if (!s && !q.ranks)
		return s;
	recipe_release(r);
	return s ? s : recipe_open(r, path, &q);
}

/* Afterwards the options say all of it, also to children. */
enum status options_take_recipe(struct options *o)
{
	struct recipe r;
	if (o->value[OPTION_PLAN_FILE].given)
		return status_fail(STATUS_INPUT, "--plan FILE says all that --config FILE does; leave one of them out");
	TRY(open_recipe(&r, o));
	enum status s = take(o, &r);
	o->config = option_text(o, OPTION_CONFIG);
	o->config_reader = r.reader;
	recipe_release(&r);
	o->value[OPTION_CONFIG].given = o->value[OPTION_READER].given = false;
	return s;
}
