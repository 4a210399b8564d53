/* Notes beside a file: settings that have another value there, each with the key that says it, and why. */
#include <string.h>

#include "strategy/emit/emit_rows.h"

enum {
	D = 1 << EMIT_DEEPSPEED,
	A = 1 << EMIT_ACCELERATE,
	T = 1 << EMIT_TRAINER,
	N = 1 << EMIT_TORCHTITAN,
};
#define ZERO "zero_optimization."
#define SIZES ZERO "stage3_prefetch_bucket_size, stage3_max_live_parameters, stage3_max_reuse_distance"
#define LEFT_TO_DEEPSPEED "Accelerate's own keys for DeepSpeed leave it to DeepSpeed's default"

/* Notes on the programs with these files, where a setting's value begins so or has these keys ({as}: gets them there).
 * All that hold are said.
 * key: where it is another one than that from which the value comes. */
static const struct {
	int targets;
	enum setting setting;
	const char *begins, *has, *key, *why;
} reasons[] = {
        {D, SETTING_STRATEGY, "single", "", NULL, "its engine is the same on one rank, with nobody to send to"},
        {A, SETTING_STRATEGY, "zero", "", NULL, LEFT_TO_DEEPSPEED},
        {D | T, SETTING_STRATEGY, "zero3", "", SIZES,
         "numbers of elements there, and these are those of a block, with what is at work"},
        {N, SETTING_STRATEGY, "tensor", "", NULL, "what is not divided by weights is divided by tokens there, always"},
        {A | N, SETTING_STRATEGY, "fsdp", "sync=last", NULL,
         "when gradients travel is none of the file's: they do with each micro-batch"},
        {N, SETTING_STRATEGY, "fsdp", "save=full", NULL, "ranks save their shards there"},
        {N, SETTING_STRATEGY, "fsdp", "units=model", NULL, "a block is a unit there, always"},
        {D | A | T, SETTING_BUCKET, "0", "", NULL, "its buckets are of one size"},
        {A, SETTING_BUCKET, "", "", NULL, LEFT_TO_DEEPSPEED},
        {T, SETTING_BUCKET, "26214400", "", NULL, "25 is accelerate's own default, which it does not hand on"},
        {N, SETTING_BUCKET, "", "", NULL, "its DDP has buckets of 100 MiB, always"},
        {D | T, SETTING_LOSS_SCALE, "", "", NULL, "it is a power of two there"},
        {A, SETTING_LOSS_SCALE, "", "", NULL, LEFT_TO_DEEPSPEED},
        {A, SETTING_OFFLOAD, "", "", NULL, LEFT_TO_DEEPSPEED},
        {A | T, SETTING_AS, "", "gradients=fp32", NULL, "autocast keeps parameters and gradients in fp32"},
        {A, SETTING_AS, "", "copies=one", NULL, LEFT_TO_DEEPSPEED},
        {N, SETTING_AS, "", "", NULL,
         "parameters stay fp32, are rounded for each gather, and gradients travel in fp32"},
};

static void emit_note_add(struct emission *e, struct emit_note note)
{
	e->notes = arena_grow(&e->arena, e->notes, e->note_count, &e->note_capacity, sizeof *e->notes);
	e->notes[e->note_count++] = note;
}

void emit_note(struct emission *e, const char *format, ...)
{
	char text[400];
	WITH_ARGS(format, status_format(text, sizeof text, format, args));
	emit_note_add(e, (struct emit_note){.text = arena_copy(&e->arena, text)});
}

static const char *joined(struct emission *e, const char *a, const char *b, const char *between)
{
	return !a ? b : arena_print(&e->arena, "%s%s%s", a, between, b);
}

static void explain(struct emission *e, enum setting i, struct emit_note *n)
{
	char value[SETTING_TEXT];
	setting_print(i, e->settings, value, sizeof value);
	const char *keys = i == SETTING_AS ? n->there : value;
	for (size_t k = 0; k < sizeof reasons / sizeof *reasons; k++) {
		bool holds = reasons[k].targets >> e->target & 1 && reasons[k].setting == i &&
		             !strncmp(value, reasons[k].begins, strlen(reasons[k].begins)) &&
		             strstr(keys, reasons[k].has);
		if (!holds || (n->why && !*reasons[k].has))
			continue;
		n->why = joined(e, n->why, reasons[k].why, "; ");
		if (reasons[k].key)
			n->key = reasons[k].key;
	}
}

/* "{bucket} 1MiB: there it is 26214400 (zero_optimization.reduce_bucket_size): why". */
void emit_note_differs(struct emission *e, enum setting i, const struct tree *from, const char *here, const char *there)
{
	const char *name = arena_print(&e->arena, "{%s}", setting_rows[i].name);
	struct emit_note n = {.option = arena_copy(&e->arena, status_words(name)),
	                      .here = arena_copy(&e->arena, here),
	                      .there = arena_copy(&e->arena, there),
	                      .key = from ? tree_path(&e->arena, from) : NULL};
	explain(e, i, &n);
	n.text = arena_print(&e->arena, "%s %s: there it is %s (%s)%s%s", n.option, n.here, n.there,
	                     n.key ? n.key : "by no key of the file", n.why ? ": " : "", n.why ? n.why : "");
	emit_note_add(e, n);
}
