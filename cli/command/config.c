/* shardlab config: a line a key, then what its program would refuse. */
#include <string.h>

#include "cli/command/command.h"
#include "cli/command/job.h"
#include "cli/show/table.h"
#include "strategy/base/character.h"
#include "strategy/strategies/strategy.h"

/* ---- lines and remarks ---- */

static void print_lines(struct recipe *r)
{
	struct table t;
	table_init(&t, stdout, 5, 5);
	table_row(&t, STYLE_HEAD, "key\tvalue\tat\there\tthere");
	for (int i = 0; i < r->line_count; i++) {
		const struct recipe_line *l = &r->lines[i];
		bool bad = l->state == STATE_UNKNOWN || l->state == STATE_REFUSED || l->state == STATE_WRONG;
		table_row(&t, STYLE_PLAIN, "%s\t%s\t%d:%d\t%s\t%s", l->path, tree_shown(&r->arena, l->value),
		          l->value->line, l->value->column, l->here, l->there);
		if (bad)
			table_cell_style(&t, 3, STYLE_BAD);
	}
	table_end(&t, 0);
}

static void print_remarks(const struct recipe *r, const struct recipe_remarks *all, const char *what)
{
	for (int i = 0; i < all->count; i++) {
		const struct recipe_remark *m = &all->list[i];
		printf("%s", character_plain(r->file.where));
		if (m->line)
			printf(":%d:%d", m->line, m->column);
		printf(": %s%s%s\n", m->by ? m->by : "", what, character_plain(m->text));
	}
}

/* ---- what shardlab itself says ---- */

/* All that the file says, and what was given beside it. */
static enum status settings_of(const struct options *o, struct recipe *r, struct settings *out)
{
	enum status s = options_settings(o, out);
	for (int i = 0; !s && i < r->pair_count; i++) {
		const struct recipe_pair *p = &r->pairs[i];
		s = setting_read(p->setting, setting_rows[p->setting].name, p->text, out);
		if (s && p->from)
			status_prefix(s, "%s", tree_path(&r->arena, p->from));
	}
	if (!s && r->question.ranks)
		out->ranks = r->question.ranks;
	return s ? s : settings_resolve(out, strategy_data_ranks(out));
}

/* STATUS_INPUT or STATUS_REFUSED: no plan comes of it, for the reason of the message. A model is looked at if it is
 * known. */
static enum status check_plan(const struct options *o, struct recipe *r)
{
	struct settings settings;
	struct job j;
	bool model = r->question.model || recipe_pair_find(r, SETTING_MODEL);
	enum status s = recipe_plan(r);
	if (s || !(r->question.ranks || recipe_pair_find(r, SETTING_RANKS)))
		return s;
	s = settings_of(o, r, &settings);
	if (s || !model)
		return s;
	s = job_open(&j, &settings);
	if (!s)
		job_release(&j);
	return s;
}

/* NULL: a plan comes of it. Of what is said in `barriers` and `refusals` the first. */
static const char *why_no_plan(const struct options *o, struct recipe *r)
{
	return check_plan(o, r) ? arena_copy(&r->arena, status_message()) : NULL;
}

/* ---- text ---- */

static void print_ranks(const struct options *o, const struct recipe *r)
{
	if (r->ranks_from)
		printf("ranks by %s\n", r->ranks_from);
	else if (o->hosts_ranks)
		printf("ranks by --hosts %s\n", o->place[SETTING_RANKS]);
	else if (r->question.ranks)
		printf("ranks by --ranks: %lld\n", (long long)r->question.ranks);
	else
		printf("ranks: the file does not say how many; --ranks N does, or --hosts FILE\n");
}

static void print_text(const struct options *o, struct recipe *r, const char *why)
{
	printf("%s, as %s reads it (%s)%s%s\n\n", character_plain(r->file.where), recipe_judge(r->reader),
	       recipe_version(r->reader), r->why ? ": " : "", r->why ? r->why : "");
	print_lines(r);
	putchar('\n');
	print_ranks(o, r);
	print_remarks(r, &r->notes, "note: ");
	print_remarks(r, &r->barriers, "shardlab refuses: ");
	if (why && !recipe_plan(r))
		printf("%s: shardlab refuses: %s\n", r->file.where, why);
	print_remarks(r, &r->refusals, " would refuse: ");
	print_remarks(r, &r->others, " would refuse: ");
	if (!r->refusals.count)
		printf("%s: %s takes it\n", character_plain(r->file.where), recipe_judge(r->reader));
}

/* ---- JSON ---- */

static json_t *remarks_to_json(const struct recipe_remarks *all)
{
	json_t *list = json_array();
	for (int i = 0; i < all->count; i++) {
		const struct recipe_remark *m = &all->list[i];
		json_t *one = json_pack("{s:s}", "text", m->text);
		if (m->by)
			json_object_set_new(one, "by", json_string(m->by));
		if (m->line)
			json_object_update_new(one, json_pack("{s:i, s:i}", "line", m->line, "column", m->column));
		json_array_append_new(list, one);
	}
	return list;
}

static json_t *lines_to_json(struct recipe *r)
{
	json_t *list = json_array();
	for (int i = 0; i < r->line_count; i++) {
		const struct recipe_line *l = &r->lines[i];
		json_array_append_new(list, json_pack("{s:s, s:s, s:i, s:i, s:s, s:s, s:s}", "key", l->path, "value",
		                                      tree_shown(&r->arena, l->value), "line", l->value->line, "column",
		                                      l->value->column, "state", recipe_state_name(l->state), "here",
		                                      l->here, "there", l->there));
	}
	return list;
}

static json_t *settings_to_json(const struct recipe *r)
{
	json_t *o = json_object();
	for (int i = 0; i < r->pair_count; i++)
		json_object_set_new(o, setting_rows[r->pairs[i].setting].name, json_string(r->pairs[i].text));
	return o;
}

static void print_object(struct recipe *r, const char *why)
{
	print_json(json_pack("{s:s, s:s, s:s, s:b, s:b, s:s*, s:o, s:o, s:o, s:o, s:o, s:o}", "file", r->file.where,
	                     "reader", recipe_reader_name(r->reader), "version", recipe_version(r->reader), "accepted",
	                     !r->refusals.count, "planned", !why, "why", why, "keys", lines_to_json(r), "settings",
	                     settings_to_json(r), "notes", remarks_to_json(&r->notes), "barriers",
	                     remarks_to_json(&r->barriers), "refusals", remarks_to_json(&r->refusals), "others",
	                     remarks_to_json(&r->others)),
	           false);
}

/* ---- the command ---- */

enum status command_config(const struct options *o)
{
	struct recipe r;
	struct recipe_question q = options_question(o);
	if (!o->topic)
		return status_fail(STATUS_INPUT, "config needs a file: shardlab config ds_config.json");
	enum status s = recipe_open(&r, o->topic, &q);
	if (s)
		return s;
	const char *why = why_no_plan(o, &r);
	if (option_given(o, OPTION_JSON))
		print_object(&r, why);
	else
		print_text(o, &r, why);
	if (r.refusals.count)
		s = status_fail(STATUS_CHECK, "%s would refuse %s", recipe_judge(r.reader), r.file.where);
	recipe_release(&r);
	return s;
}
