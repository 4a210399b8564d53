/* The plan as text. The form, by example:
 *
 *     shardlab plan 1
 *     set model gpt:layers=6,…
 *     set strategy zero2
 *     set ranks 4
 *     …
 *     group bucket.0 base 0 elements 98816 padded 98816 tensors 75 74
 *     role rank ranks 0 4
 *     buffer parameters parameters device fp32 4837376 state
 *     prologue
 *     0: alloc step
 *     step
 *     12: linear.forward block.0.qkv on compute micro 0 x=block.0.ln_1.y[0:32768] … -> y=… after 9
 *
 * A region is buffer[offset:count], or buffer[offset:count/r] for this rank's slice of it. Operands that are added to
 * are written name+=region. Behind `after` stands what an operation waits for, by number.
 *
 * A plan with checkpoints is of version 2, and has two sections more:
 *
 *     save
 *     58: save on compute group bucket.0 item first_moment x=first_moment[0:27]
 *     restore
 *     62: restore on compute group bucket.0 item first_moment -> x=first_moment[0:27]
 *
 * With `set checkpoint_async yes` what is saved has a place in host memory:
 *
 *     58: save on compute group bucket.0 item first_moment x=first_moment[0:27] -> snapshot=snapshot.first_moment[0:27]
 *
 * A plan whose ranks have more than one axis says so behind its settings, and names the axes of slices and collectives:
 *
 *     axis replica 2 data
 *     axis shard 4 data
 *     31: all_gather on communication over shard … x=parameters[0:9] …
 */
#include <inttypes.h>
#include <string.h>

#include "strategy/plan/plan.h"

static void write_settings(const struct plan *p, FILE *out)
{
	struct settings s = p->settings;
	char value[SETTING_TEXT];
	s.sequence = p->model->tokens;
	for (int line = 1; line <= SETTING_COUNT; line++)
		for (int i = 0; i < SETTING_COUNT; i++) {
			bool shown = setting_rows[i].line == line ||
			             (setting_rows[i].line == -line && setting_differs((enum setting)i, &s));
			if (!shown)
				continue;
			setting_print((enum setting)i, &s, value, sizeof value);
			fprintf(out, "set %s %s\n", setting_rows[i].name,
			        i == SETTING_MODEL ? p->model->specification : value);
		}
}

/* One axis of samples is what a plan has if it does not say anything else. */
static void write_mesh(const struct plan *p, FILE *out)
{
	if (p->axis_count == 1 && p->axes[0].data && !strcmp(p->axes[0].name, "rank"))
		return;
	for (int i = 0; i < p->axis_count; i++)
		fprintf(out, "axis %s %" PRId64 "%s%s\n", p->axes[i].name, p->axes[i].size,
		        p->axes[i].data ? " data" : "", p->axes[i].sequence ? " sequence" : "");
}

/* "replica,shard"; "r" for all of them. */
static void write_axes(const struct plan *p, unsigned axes, FILE *out)
{
	bool first = true;
	if (axes == plan_all_axes(p)) {
		fputc('r', out);
		return;
	}
	for (int i = 0; i < p->axis_count; i++)
		if (axes >> i & 1) {
			fprintf(out, "%s%s", first ? "" : ",", p->axes[i].name);
			first = false;
		}
}

static void write_region(const struct plan *p, const struct role *r, const struct region *g, FILE *out)
{
	fprintf(out, "%s[%" PRId64 ":%" PRId64, r->buffers[g->buffer].name, g->offset, g->count);
	if (g->slice) {
		fputc('/', out);
		write_axes(p, g->slice, out);
	}
	fputc(']', out);
}

/* In issue order, what is read first, then "->" and what is written. */
static void write_operands(const struct plan *p, const struct role *r, const struct op *op, FILE *out)
{
	for (int written = 0; written < 2; written++) {
		bool first = true;
		for (int i = 0; i < op_operand_count(op->kind); i++) {
			char access = op_access(op, i);
			if (!access || (access != 'r') != written)
				continue;
			fprintf(out, first && written ? " -> %s" : " %s", op_operand_name(op->kind, i));
			fputs(op->accumulate >> i & 1 ? "+=" : "=", out);
			write_region(p, r, &op->operand[i], out);
			first = false;
		}
	}
}

void plan_write_op(const struct plan *p, const struct role *r, int number, FILE *out)
{
	const struct op *op = &r->ops[number];
	fprintf(out, "%d: %s", number, op_name(op->kind));
	if (op_class(op->kind) == OP_CLASS_M) {
		fprintf(out, " %s\n", r->buffers[op_buffer(op)].name);
		return;
	}
	if (op->kernel >= 0)
		fprintf(out, " %s", p->model->kernels[op->kernel].name);
	fprintf(out, " on %s", queue_name(op->queue));
	if (op->axes && !op_is_message(op->kind)) {
		fputs(" over ", out);
		write_axes(p, op->axes, out);
	}
	if (op->ends_only)
		fputs(" ends", out);
	if (op->joined)
		fputs(" joined", out);
	/* The kind of a kernel's operation says its pass, unless it is recomputed. */
	if (op_class(op->kind) == OP_CLASS_K ? op->pass == PASS_RECOMPUTE : op->pass != PASS_NONE)
		fprintf(out, " in %s", pass_name(op->pass));
	if (op->group >= 0)
		fprintf(out, " group %s", p->groups[op->group].name);
	if (op_has_item(op->kind))
		fprintf(out, " item %s", item_name(op->item));
	if (op->kind == OP_COPY && op->unit >= 0)
		fprintf(out, " unit %s", p->model->units[op->unit].name);
	if (op->micro >= 0)
		fprintf(out, " micro %d", op->micro);
	if (op->in_a_row)
		fputs(" row", out);
	if (op->all_ranks)
		fputs(" wide", out);
	if (op->stochastic)
		fputs(" stochastic", out);
	if (op_has_scale(op->kind))
		fprintf(out, " scale %.17g", op->scale);
	if (op_class(op->kind) == OP_CLASS_C) {
		if (op_is_message(op->kind)) {
			int axis = __builtin_ctz(op_axes(p, op));
			fprintf(out, " %s %s%+d", op->kind == OP_SEND ? "to" : "from", p->axes[axis].name,
			        op->neighbour);
		} else if (op->kind != OP_SUM) {
			fprintf(out, " by %s root %d", schedule_row(op->algorithm)->name, op->root);
		}
		fprintf(out, " as %s payload %" PRId64, traffic_name(op->traffic), op->payload);
	}
	write_operands(p, r, op, out);
	for (int i = 0; i < op->after_count; i++)
		fprintf(out, i ? " %d" : " after %d", op->after[i]);
	fputc('\n', out);
}

static void write_role(const struct plan *p, const struct role *r, FILE *out)
{
	fprintf(out, "role %s ranks %" PRId64 " %" PRId64 "\n", r->name, r->first_rank, r->ranks);
	for (int i = 0; i < r->buffer_count; i++) {
		const struct buffer *b = &r->buffers[i];
		fprintf(out, "buffer %s %s %s %s %" PRId64 "%s\n", b->name, category_name(b->category),
		        space_name(b->space), type_name(b->type), b->elements, b->state ? " state" : "");
	}
	for (int k = 0; k < SECTION_KINDS; k++) {
		const struct section *s = section_of(r, (enum section_kind)k);
		if (section_is_of_checkpoints((enum section_kind)k) && !p->settings.checkpoints)
			continue;
		fprintf(out, "%s\n", section_name((enum section_kind)k));
		for (int i = s->begin; i < s->end; i++)
			plan_write_op(p, r, i, out);
	}
}

void plan_write(const struct plan *p, const char *role, FILE *out)
{
	fprintf(out, "shardlab plan %d\n", p->settings.checkpoints ? PLAN_VERSION_CHECKPOINTS : PLAN_VERSION);
	write_settings(p, out);
	write_mesh(p, out);
	for (int i = 0; i < p->group_count; i++) {
		const struct group *g = &p->groups[i];
		fprintf(out, "group %s base %" PRId64 " elements %" PRId64 " padded %" PRId64 " tensors", g->name,
		        g->base, g->elements, g->padded);
		for (int t = 0; t < g->tensor_count; t++)
			fprintf(out, " %s", p->model->tensors[g->tensors[t]].name);
		fputc('\n', out);
	}
	for (int i = 0; i < p->role_count; i++)
		if (!role || !strcmp(role, p->roles[i].name))
			write_role(p, &p->roles[i], out);
}

/* ---- Graphviz ---- */

static void dot_node(const struct plan *p, int role, int number, FILE *out)
{
	static const char *const colours[QUEUE_COUNT] = {"#cfe3f5", "#f8dfc0", "#e4d4ee",
	                                                 "#e4d4ee", "#d6ead2", "#e6e0cf"};
	const struct op *op = &p->roles[role].ops[number];
	char text[160];
	op_describe(p, op, text, sizeof text);
	fprintf(out, "    r%d_%d [label=\"%d %s\\n%s\", fillcolor=\"%s\"];\n", role, number, number, op_name(op->kind),
	        text, colours[op->queue]);
}

static void dot_role(const struct plan *p, int role, FILE *out)
{
	const struct role *r = &p->roles[role];
	int last[QUEUE_COUNT];
	memset(last, -1, sizeof last);
	fprintf(out, "  subgraph cluster_%d {\n    label=\"role %s\";\n", role, r->name);
	for (int i = r->step.begin; i < r->step.end; i++) {
		const struct op *op = &r->ops[i];
		if (op_class(op->kind) == OP_CLASS_M)
			continue;
		dot_node(p, role, i, out);
		if (last[op->queue] >= 0)
			fprintf(out, "    r%d_%d -> r%d_%d [weight=10];\n", role, last[op->queue], role, i);
		last[op->queue] = i;
		for (int w = 0; w < op->after_count; w++)
			fprintf(out, "    r%d_%d -> r%d_%d [style=dashed];\n", role, op->after[w], role, i);
	}
	fprintf(out, "  }\n");
}

void plan_write_dot(const struct plan *p, const char *role, FILE *out)
{
	fprintf(out, "digraph plan {\n  rankdir=TB;\n  node [shape=box, style=filled, fontname=\"sans-serif\"];\n");
	for (int i = 0; i < p->role_count; i++)
		if (!role || !strcmp(role, p->roles[i].name))
			dot_role(p, i, out);
	fprintf(out, "}\n");
}
