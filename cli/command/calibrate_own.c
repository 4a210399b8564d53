#include "cli/command/calibrate_own.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/command/compare_trace.h"
#include "cli/command/job.h"
#include "cli/show/table.h"
#include "sim/own.h"
#include "strategy/base/character.h"
#include "strategy/base/file.h"
#include "strategy/base/number.h"
#include "strategy/cluster/effective.h"
#include "strategy/cluster/links.h"
#include "strategy/cluster/stack_fields.h"

/* ---- which of the two it is ---- */

bool calibrate_is_own(const struct options *o)
{
	return option_given(o, OPTION_OWN_STEP) || option_given(o, OPTION_PEAK) || option_given(o, OPTION_TRACE);
}

static bool is_in(const enum option *list, size_t count, int i)
{
	size_t k = 0;
	while (k < count && (int)list[k] != i)
		k++;
	return k < count;
}

enum status calibrate_check_options(const struct options *o)
{
	static const enum option measuring[] = {OPTION_DEVICE, OPTION_NO_GRAPH, OPTION_THREADS,
	                                        OPTION_HOSTS,  OPTION_QUICK,    OPTION_VERBOSE};
	static const enum option both[] = {OPTION_RANKS, OPTION_COMM, OPTION_OUTPUT, OPTION_JSON};
	bool own = calibrate_is_own(o);
	for (int i = 0; i < OPTION_COUNT; i++) {
		bool measures = is_in(measuring, sizeof measuring / sizeof *measuring, i);
		if (!option_given(o, (enum option)i) || is_in(both, sizeof both / sizeof *both, i) || measures != own)
			continue;
		return own ? status_fail(
		                     STATUS_INPUT,
		                     "--%s is of measuring this machine, and with --step, --peak or --trace nothing "
		                     "is run; leave it out",
		                     option_name((enum option)i))
		           : status_fail(
		                     STATUS_INPUT,
		                     "--%s says whose step it is: give what it took, as --step 1.53s, or leave it out",
		                     option_name((enum option)i));
	}
	return STATUS_OK;
}

/* ---- what was measured ---- */

struct own {
	struct options options[OWN_STEPS]; /* of each step */
	struct job jobs[OWN_STEPS];
	struct cluster ceilings[OWN_STEPS];
	struct own_step steps[OWN_STEPS];
	struct own_peak peaks[OWN_STEPS];
	int count;
	struct stack before, stack;
	struct profile recorded;
	struct arena arena;
};

/* Bytes separated by commas, none smaller than the one before: allocated, held, in use on the device. */
static enum status read_peak(const struct options *o, struct own_peak *out)
{
	int64_t *const figures[] = {&out->peak, &out->reserved, &out->device};
	const char *text = option_given(o, OPTION_PEAK) ? option_text(o, OPTION_PEAK) : NULL;
	enum status s = STATUS_OK;
	for (size_t i = 0; !s && text && i < sizeof figures / sizeof *figures; i++) {
		char one[64];
		size_t n = i + 1 < sizeof figures / sizeof *figures ? strcspn(text, ",") : strlen(text);
		snprintf(one, sizeof one, "%.*s", (int)(n < sizeof one ? n : sizeof one - 1), text);
		s = number_bytes(one, "--peak", i ? *figures[i - 1] : 1, INT64_C(1) << 50, figures[i]);
		text = text[n] ? text + n + 1 : NULL;
	}
	return s;
}

/* The cluster's words without the stack that is named there. */
static const char *without_stack(struct arena *a, const char *cluster)
{
	static const char *const keys[] = {":stack=", ":class="};
	char *text = arena_copy(a, cluster);
	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
		char *at = strstr(text, keys[i]);
		size_t n = at ? 1 + strcspn(at + 1, ":") : 0;
		if (at)
			memmove(at, at + n, strlen(at + n) + 1);
	}
	return arena_print(a, "%s:stack=" STACK_CEILING, text);
}

static enum status refuse_cluster(const struct cluster *c)
{
	if (!strcmp(c->name, CLUSTER_LOCAL) || c->kind != DEVICE_GPU)
		return status_fail(STATUS_INPUT,
		                   "{step}: {cluster} %.60s is of CPUs, and a stack is of GPUs: name the one that the "
		                   "step ran on, such as a100-80gb; help clusters lists them",
		                   c->name);
	return status_fail(STATUS_INPUT,
	                   "{step}: {cluster} %.60s has no stack that could be calibrated: its rates were measured, or "
	                   "are asked for without one",
	                   c->name);
}

static enum status take_cluster(struct own *w, int i)
{
	const char *text = option_text(&w->options[i], OPTION_CLUSTER);
	struct cluster c;
	enum status s = cluster_open(&c, text, w->jobs[i].plan.ranks);
	if (s)
		return s;
	if (!cluster_has_stack(&c))
		s = refuse_cluster(&c);
	if (!s && !i)
		w->before = w->stack = c.stack;
	cluster_release(&c);
	return s ? s : cluster_open(&w->ceilings[i], without_stack(&w->arena, text), w->jobs[i].plan.ranks);
}

static enum status open_step(struct own *w, int i)
{
	struct options *o = &w->options[i];
	struct own_step *step = &w->steps[i];
	enum status s = calibrate_check_options(o);
	if (s || (s = job_from_options(&w->jobs[i], o)))
		return s;
	w->count = i + 1;
	*step = (struct own_step){.plan = &w->jobs[i].plan, .ceilings = &w->ceilings[i]};
	w->peaks[i] = (struct own_peak){.plan = &w->jobs[i].plan, .ceilings = &w->ceilings[i]};
	if (option_given(o, OPTION_OWN_STEP))
		s = number_time(option_text(o, OPTION_OWN_STEP), "--step", &step->measured);
	if (!s)
		s = read_peak(o, &w->peaks[i]);
	return s ? s : take_cluster(w, i);
}

static enum status read_arguments(struct own *w, const struct options *given, int i)
{
	char **list = arena_alloc(&w->arena, (size_t)given->given_count * sizeof *list);
	int n = arguments_of_step(given->given_count, given->given, i, list);
	return options_parse(&w->options[i], COMMAND_CALIBRATE, n, list);
}

static enum status open_all(struct own *w, const struct options *given)
{
	int count = given->given ? arguments_count_steps(given->given_count, given->given) : 1;
	enum status s = STATUS_OK;
	if (count > OWN_STEPS)
		return status_fail(STATUS_INPUT, "--step: more than %d steps", OWN_STEPS);
	if (count > 1 && option_given(given, OPTION_TRACE))
		return status_fail(STATUS_INPUT, "--trace is of one step: give --step once, or not at all");
	w->options[0] = *given;
	if (option_given(given, OPTION_TRACE))
		s = recorded_open(&w->recorded, &w->options[0]);
	for (int i = 0; !s && i < count; i++) {
		if (i)
			s = read_arguments(w, given, i);
		if (!s)
			s = open_step(w, i);
	}
	return s;
}

static void release(struct own *w)
{
	for (int i = 0; i < w->count; i++) {
		job_release(&w->jobs[i]);
		cluster_release(&w->ceilings[i]);
		if (i)
			options_release(&w->options[i]);
	}
	profile_release(&w->recorded);
	arena_release(&w->arena);
}

/* ---- fitting ---- */

static enum status fit_trace(struct own *w)
{
	const struct options *o = &w->options[0];
	if (w->recorded.source == PROFILE_OPERATORS)
		return status_fail(STATUS_INPUT,
		                   "--trace %.200s has no kernels of a GPU: record with ProfilerActivity.CUDA",
		                   option_text(o, OPTION_TRACE));
	return own_fit_trace(&w->stack, &w->steps[0], &w->recorded, option_text(o, OPTION_TRACE));
}

static enum status fit(struct own *w)
{
	enum status s = STATUS_OK;
	if (option_given(&w->options[0], OPTION_TRACE))
		s = fit_trace(w);
	if (!s && option_given(&w->options[0], OPTION_OWN_STEP))
		s = own_fit_steps(&w->stack, w->steps, w->count);
	return s ? s : own_fit_peaks(&w->stack, w->peaks, w->count);
}

static bool has_steps(const struct own *w)
{
	bool some = false;
	for (int i = 0; i < w->count; i++)
		some |= w->steps[i].measured > 0;
	return some;
}

/* The word for what the calibration stands on. */
static const char *source_of(const struct own *w)
{
	return has_steps(w) ? "steps" : option_given(&w->options[0], OPTION_TRACE) ? "traces" : "peaks";
}

/* "mine", of "run/mine.yaml". */
static void name_stack(struct own *w, const struct options *o)
{
	const char *path = option_given(o, OPTION_OUTPUT) ? option_text(o, OPTION_OUTPUT) : "own";
	const char *slash = strrchr(path, '/');
	snprintf(w->stack.name, sizeof w->stack.name, "%.*s", (int)strcspn(slash ? slash + 1 : path, "."),
	         slash ? slash + 1 : path);
	snprintf(w->stack.about, sizeof w->stack.about, "%.40s, calibrated by %d of one's own %s on %.60s",
	         w->before.name, w->count, source_of(w), w->ceilings[0].name);
	w->stack.by_default = false;
}

/* ---- showing ---- */

static enum status print_stack(void *context, FILE *out)
{
	stack_print(context, out);
	return STATUS_OK;
}

static double in_unit(const struct stack *s, int i)
{
	return (double)s->value[i] / field_scale(stack_field(i)->kind);
}

static bool changed(const struct own *w, int i)
{
	return i < STACK_RANGE_LOW && w->stack.value[i] != w->before.value[i];
}

static void show_constants(const struct own *w)
{
	struct table t;
	table_init(&t, stdout, 3, 1);
	table_row(&t, STYLE_HEAD, "constant\tbefore\tcalibrated");
	for (int i = 0; i < STACK_VALUES; i++)
		if (changed(w, i))
			table_row(&t, STYLE_PLAIN, "%s.%s\t%.4g\t%.4g", stack_row(i)->section, stack_row(i)->key,
			          in_unit(&w->before, i), in_unit(&w->stack, i));
	table_end(&t, 0);
}

static void show_steps(const struct own *w)
{
	struct table t;
	if (!has_steps(w))
		return;
	putchar('\n');
	table_init(&t, stdout, 4, 1);
	table_row(&t, STYLE_HEAD, "step\tgiven\tbefore\tcalibrated");
	for (int i = 0; i < w->count; i++) {
		const struct own_step *s = &w->steps[i];
		if (!s->measured)
			continue;
		table_row(&t, STYLE_PLAIN, "%s on %" PRId64, s->plan->settings.strategy, s->plan->ranks);
		table_time(&t, 1, s->measured);
		table_time(&t, 2, s->before);
		table_time(&t, 3, s->after);
	}
	table_end(&t, 0);
}

static json_t *to_json(const struct own *w, const char *path)
{
	json_t *o = json_pack("{s:s, s:s}", "stack", w->stack.name, "about", w->stack.about);
	json_t *constants = json_array(), *steps = json_array();
	for (int i = 0; i < STACK_VALUES; i++)
		if (changed(w, i))
			json_array_append_new(constants,
			                      json_pack("{s:s, s:s, s:f, s:f}", "section", stack_row(i)->section, "key",
			                                stack_row(i)->key, "before", in_unit(&w->before, i),
			                                "calibrated", in_unit(&w->stack, i)));
	for (int i = 0; i < w->count; i++)
		if (w->steps[i].measured)
			json_array_append_new(steps, json_pack("{s:s, s:I, s:f, s:f, s:f}", "strategy",
			                                       w->steps[i].plan->settings.strategy, "ranks",
			                                       (json_int_t)w->steps[i].plan->ranks, "given_s",
			                                       (double)w->steps[i].measured / 1e9, "before_s",
			                                       (double)w->steps[i].before / 1e9, "calibrated_s",
			                                       (double)w->steps[i].after / 1e9));
	json_object_set_new(o, "file", path ? json_string(path) : json_null());
	json_object_set_new(o, "constants", constants);
	json_object_set_new(o, "steps", steps);
	return o;
}

static enum status write_and_show(struct own *w, const struct options *o)
{
	const char *path = option_given(o, OPTION_OUTPUT) ? option_text(o, OPTION_OUTPUT) : NULL;
	TRY(path ? file_write(path, "{output}", print_stack, &w->stack) : STATUS_OK);
	if (option_given(o, OPTION_JSON)) {
		print_json(to_json(w, path), false);
	} else if (!path) {
		stack_print(&w->stack, stdout);
	} else {
		show_constants(w);
		show_steps(w);
		printf("\nwritten to %s: sim --stack %s%s --cluster %s\n", path, strchr(path, '/') ? "" : "./",
		       character_plain(path), w->ceilings[0].name);
	}
	return STATUS_OK;
}

enum status calibrate_own(const struct options *o)
{
	static struct own w; /* clusters are large */
	w = (struct own){.count = 0};
	enum status s = open_all(&w, o);
	if (!s)
		s = fit(&w);
	if (!s) {
		name_stack(&w, o);
		s = write_and_show(&w, o);
	}
	release(&w);
	return s;
}
