/* Against PyTorch: the same initial weights, the same samples, 20 steps of AdamW on one rank through the plan, the
 * device and the executor. tests/oracle/golden_training.py made the files in tests/golden/ and says what is in them.
 *
 * Losses are within 1e-5 of PyTorch's, the first step's gradients within 1e-4 of their tensor's norm. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kernels/update.h"
#include "real/data/safetensors.h"
#include "real/rank/checksum.h"
#include "tests/support/json.h"
#include "tests/support/plan_check.h"
#include "tests/support/suite.h"
#include "tests/support/trainer.h"

static const double LIMIT = 1e-4;
/* fp32 and double are at most 5e-7 apart, and so are we; at 1e-4 a wrong beta2 would pass. */
static const double LOSS_LIMIT = 1e-5;

/* ---- the files ---- */

struct golden {
	char name[32], specification[128];
	json_t *json;
	bool is_text;
	double worst; /* relative error of a loss so far */
};

static void golden_open(struct golden *g, const char *name)
{
	char path[128];
	*g = (struct golden){0};
	snprintf(g->name, sizeof g->name, "%s", name);
	snprintf(path, sizeof path, "tests/golden/%s.json", name);
	g->json = json_open(path);
	const json_t *model = member_of(g->json, "model");
	g->is_text = !strcmp(text_of(model, "kind"), "gpt");
	if (g->is_text) {
		snprintf(g->specification, sizeof g->specification,
		         "gpt:layers=%" PRId64 ",width=%" PRId64 ",heads=%" PRId64 ",context=%" PRId64
		         ",vocabulary=%" PRId64,
		         whole_of(model, "layers"), whole_of(model, "width"), whole_of(model, "heads"),
		         whole_of(model, "context"), whole_of(model, "vocabulary"));
		return;
	}
	int length = snprintf(g->specification, sizeof g->specification, "mlp:sizes");
	for (size_t i = 0; i < json_array_size(member_of(model, "sizes")); i++)
		length += snprintf(g->specification + length, sizeof g->specification - (size_t)length, "%c%d",
		                   i ? '-' : '=', (int)number_at(member_of(model, "sizes"), (int)i));
	if (json_object_get(model, "norm"))
		snprintf(g->specification + length, sizeof g->specification - (size_t)length, ",norm=%s",
		         text_of(model, "norm"));
}

static struct settings golden_settings(const struct golden *g, const char *strategy, int64_t accumulate)
{
	const json_t *optimizer = member_of(g->json, "optimizer");
	struct settings s = settings_of("%s %s optimizer=%s", g->specification, strategy, text_of(optimizer, "name"));
	ck_assert_int_eq(whole_of(g->json, "batch") % accumulate, 0);
	ck_assert_int_eq(whole_of(g->json, "seed"), s.seed);
	if (s.optimizer == OPTIMIZER_ADAMW)
		ck_assert_double_eq(number_of(optimizer, "weight_decay"), s.weight_decay);
	s.micro_batch = whole_of(g->json, "batch") / accumulate;
	s.accumulate = accumulate;
	s.learning_rate = number_of(optimizer, "lr");
	return s;
}

static void open_training(struct trainer *t, const struct golden *g, const struct settings *s)
{
	ck_assert_msg(trainer_open(t, right_plan_of(s), g->is_text ? "tests/golden/text.txt" : NULL, false) ==
	                      STATUS_OK,
	              "%s: %s", g->name, status_message());
}

/* ---- what is compared ---- */

static void assert_checksum(const json_t *object, const char *key, uint64_t sum, const char *what)
{
	char text[17];
	snprintf(text, sizeof text, "%016" PRIx64, sum);
	ck_assert_msg(!strcmp(text, text_of(object, key)), "%s: %s is %s instead of %s", what, key, text,
	              text_of(object, key));
}

static void check_initial(const struct golden *g, struct trainer *t)
{
	const struct model *m = t->plan->model;
	uint64_t all = 0;
	int64_t place = 0;
	ck_assert_uint_eq(json_array_size(member_of(g->json, "tensors")), (size_t)m->tensor_count);
	for (int i = 0; i < m->tensor_count; i++) {
		const struct tensor *tensor = &m->tensors[i];
		const json_t *want = json_array_get(member_of(g->json, "tensors"), (size_t)i);
		const float *values = trainer_tensor(t, "parameters", i);
		ck_assert_str_eq(tensor->name, text_of(want, "name"));
		ck_assert_int_eq(tensor->rows, (int64_t)number_at(member_of(want, "shape"), 0));
		ck_assert_int_eq(tensor->columns, (int64_t)number_at(member_of(want, "shape"), 1));
		assert_checksum(want, "initial_checksum", weights_checksum(0, tensor->elements, values), tensor->name);
		all += weights_checksum(place, tensor->elements, values);
		place += tensor->elements;
	}
	assert_checksum(g->json, "initial_checksum", all, g->name);
}

static double norm_of(int64_t n, const float *x, const float *minus)
{
	double sum = 0;
	for (int64_t i = 0; i < n; i++) {
		double d = (double)x[i] - (minus ? (double)minus[i] : 0);
		sum += d * d;
	}
	return sqrt(sum);
}

/* A tensor's norm and eight of its elements. */
static void check_summary(const json_t *want, const struct tensor *tensor, const float *values)
{
	double norm = number_of(want, "norm");
	ck_assert_msg(fabs(norm_of(tensor->elements, values, NULL) - norm) <= LIMIT * norm, "%s: norm %g instead of %g",
	              tensor->name, norm_of(tensor->elements, values, NULL), norm);
	size_t i;
	json_t *sample;
	json_array_foreach(member_of(want, "samples"), i, sample)
	{
		int64_t place = (int64_t)number_at(sample, 0);
		ck_assert_msg(fabs((double)values[place] - number_at(sample, 1)) <= LIMIT * norm,
		              "%s[%" PRId64 "]: %g instead of %g", tensor->name, place, (double)values[place],
		              number_at(sample, 1));
	}
}

static void check_summaries(const struct golden *g, struct trainer *t, const char *state, const char *key)
{
	for (int i = 0; i < t->plan->model->tensor_count; i++)
		check_summary(member_of(json_array_get(member_of(g->json, "tensors"), (size_t)i), key),
		              &t->plan->model->tensors[i], trainer_tensor(t, state, i));
}

static void check_whole_gradients(const struct golden *g, struct trainer *t)
{
	char path[128];
	struct safetensors file;
	snprintf(path, sizeof path, "tests/golden/%s_gradients.safetensors", g->name);
	must(safetensors_open(&file, path));
	ck_assert_int_eq(file.count, t->plan->model->tensor_count);
	for (int i = 0; i < file.count; i++) {
		const struct tensor *tensor = &t->plan->model->tensors[i];
		const struct safetensors_tensor *stored = safetensors_find(&file, tensor->name);
		float *want = malloc((size_t)tensor->elements * sizeof *want);
		ck_assert(stored && want);
		ck_assert_int_eq(stored->elements, tensor->elements);
		ck_assert_int_eq(safetensors_read(&file, stored, 0, tensor->elements, want), STATUS_OK);
		double apart = norm_of(tensor->elements, trainer_tensor(t, "gradients", i), want);
		double norm = norm_of(tensor->elements, want, NULL);
		ck_assert_msg(apart <= LIMIT * norm, "%s: gradients are %g apart, their norm is %g", tensor->name,
		              apart, norm);
		free(want);
	}
	safetensors_release(&file);
}

static void check_loss(struct golden *g, const json_t *losses, int step, double loss)
{
	double want = number_at(losses, step), error = fabs(loss - want) / want;
	ck_assert_msg(error <= LOSS_LIMIT, "%s, step %d: loss %.9g instead of %.9g", g->name, step + 1, loss, want);
	g->worst = fmax(g->worst, error);
}

/* Running statistics after the last step, and a validation loss that rests on them. */
static void check_buffers(const struct golden *g, struct trainer *t)
{
	const struct model *m = t->plan->model;
	const json_t *buffers = json_object_get(g->json, "buffers");
	ck_assert_uint_eq(json_array_size(buffers), (size_t)m->buffer_count);
	if (!m->buffer_count)
		return;
	const float *all = rank_memory_buffer(&t->device, role_buffer(t->device.role, "running"));
	for (int i = 0; i < m->buffer_count; i++) {
		const json_t *want = json_array_get(buffers, (size_t)i), *values = member_of(want, "values");
		ck_assert_str_eq(m->buffers[i].name, text_of(want, "name"));
		ck_assert_uint_eq(json_array_size(values), (size_t)m->buffers[i].elements);
		for (int c = 0; c < (int)m->buffers[i].elements; c++) {
			double got = (double)all[m->buffers[i].offset + c];
			ck_assert_msg(fabs(got - number_at(values, c)) <= LOSS_LIMIT * (1 + fabs(number_at(values, c))),
			              "%s[%d]: %.9g instead of %.9g", m->buffers[i].name, c, got, number_at(values, c));
		}
	}
	double loss, want = number_of(member_of(g->json, "evaluation"), "loss");
	ck_assert_int_eq(whole_of(member_of(g->json, "evaluation"), "samples"), t->plan->settings.micro_batch);
	ck_assert_int_eq(trainer_evaluate(t, &loss), STATUS_OK);
	ck_assert_msg(fabs(loss - want) <= LOSS_LIMIT * want, "validation loss %.9g instead of %.9g", loss, want);
}

/* ---- the runs ---- */

static void run_and_compare(struct golden *g, const struct settings *s, bool gradients)
{
	const json_t *losses = member_of(g->json, "losses");
	struct trainer t;
	double loss;
	open_training(&t, g, s);
	if (gradients)
		check_initial(g, &t);
	for (int step = 0; step < (int)json_array_size(losses); step++) {
		ck_assert_int_eq(trainer_step(&t, &loss), STATUS_OK);
		check_loss(g, losses, step, loss);
		if (step || !gradients)
			continue;
		check_summaries(g, &t, "gradients", "gradient");
		if (strstr(g->name, "_tiny"))
			check_whole_gradients(g, &t);
	}
	check_buffers(g, &t);
	trainer_release(&t);
}

static void run_clipped(struct golden *g)
{
	const json_t *clipped = member_of(g->json, "clipped"), *losses = member_of(clipped, "losses"),
	             *norms = member_of(clipped, "norms");
	struct settings s = golden_settings(g, "single", 1);
	struct trainer t;
	double loss;
	s.clip = number_of(clipped, "max_norm");
	open_training(&t, g, &s);
	const float *squares = rank_memory_buffer(&t.device, role_buffer(t.device.role, "norm"));
	int clips = 0;
	for (int step = 0; step < (int)json_array_size(losses); step++) {
		ck_assert_int_eq(trainer_step(&t, &loss), STATUS_OK);
		check_loss(g, losses, step, loss);
		double norm = sqrt((double)*squares), want = number_at(norms, step);
		ck_assert_msg(fabs(norm - want) <= LIMIT * want, "%s, step %d: norm %g instead of %g", g->name,
		              step + 1, norm, want);
		clips += want > s.clip;
	}
	ck_assert_int_gt(clips, 0);
	trainer_release(&t);
}

static void finish(struct golden *g)
{
	printf("%s: losses within %.1e\n", g->name, g->worst);
	fflush(stdout);
	json_decref(g->json);
}

static const char *const names[] = {"gpt_tiny", "gpt", "mlp_tiny", "mlp", "mlp_norm_tiny"};
enum { NAMES = sizeof names / sizeof *names, NORM = NAMES - 1 };

START_LOOP_TEST(losses_and_gradients, 0, SUITE_CASES(2, 1))
{
	struct golden g;
	golden_open(&g, names[_i]);
	struct settings s = golden_settings(&g, "single", 1);
	run_and_compare(&g, &s, true);
	finish(&g);
}

/* Accumulation adds the same gradients in pieces. */
START_LOOP_TEST(accumulation, 0, 1)
{
	struct golden g;
	golden_open(&g, names[_i]);
	for (int64_t accumulate = 2; accumulate <= 4; accumulate *= 2) {
		struct settings s = golden_settings(&g, "single", accumulate);
		run_and_compare(&g, &s, true);
	}
	finish(&g);
}

/* On one rank every strategy is the same computation. */
START_LOOP_TEST(strategies_on_one_rank, 0, 1)
{
	struct golden g;
	golden_open(&g, names[_i]);
	for (int i = 0; strategy_at(i); i++) {
		/* A batch in two pieces is normalized in two pieces. */
		struct settings s = golden_settings(&g, strategy_at(i)->name, _i == NORM ? 1 : 2);
		run_and_compare(&g, &s, false);
	}
	finish(&g);
}

START_LOOP_TEST(clipping, 0, SUITE_CASES(2, 1))
{
	struct golden g;
	golden_open(&g, names[_i]);
	run_clipped(&g);
	finish(&g);
}

/* Linear warm-up to the rate, then linear decay to a tenth, worked out by hand. */
START_TEST(the_learning_rate_of_each_step)
{
	static const struct {
		int64_t warmup, decay;
		double rates[12]; /* of steps 1 … 12 */
	} cases[] = {{0, 0, {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}},
	             {4, 0, {0.25, 0.5, 0.75, 1, 1, 1, 1, 1, 1, 1, 1, 1}},
	             {0, 9, {0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1, 0.1, 0.1, 0.1}},
	             {2, 11, {0.5, 1, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1, 0.1}}};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const struct update u = {.learning_rate = 0.02, .warmup = cases[i].warmup, .decay = cases[i].decay};
		for (int step = 1; step <= 12; step++)
			ck_assert_double_eq_tol(update_rate(&u, step), 0.02 * cases[i].rates[step - 1], 1e-15);
	}
}

int main(void)
{
	bool images = !access(DATASET_IMAGES_DEFAULT, R_OK);
	if (images) {
		suite_add(&losses_and_gradients, 0, 2, NAMES);
		suite_add(&accumulation, 0, 2, 3);
		suite_add(&strategies_on_one_rank, 0, 2, 3);
		suite_add(&strategies_on_one_rank, 0, NORM, NAMES);
	}
	int status = suite_run("golden training", 120);
	if (status || images)
		return status;
	return suite_skip("the MLPs were left out: no " DATASET_IMAGES_DEFAULT "; install " DATASET_IMAGES_PACKAGE);
}
