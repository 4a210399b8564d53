/* Weights in folders that Hugging Face's transformers wrote: logits and the losses of 20 steps from them are those of
 * transformers, in fp32. tests/oracle/weights.py made tests/golden/weights and says what is in it. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "real/data/model_weights.h"
#include "tests/support/json.h"
#include "tests/support/plan_check.h"
#include "tests/support/suite.h"
#include "tests/support/trainer.h"

#define FOLDER "tests/golden/weights"
#define TEXT "tests/golden/text.txt"

/* Logits reach 4, and losses 6. */
static const double LOGIT_LIMIT = 1e-5, LOSS_LIMIT = 1e-5;

static enum status read_weights(void *context, int tensor, int64_t first, int64_t count, float *out)
{
	return model_weights_read(context, tensor, first, count, out);
}

/* A model with the weights of a folder, ready to train. */
struct started {
	struct model_weights weights;
	struct trainer trainer;
};

static void start(struct started *s, const json_t *row, const struct plan *p)
{
	char path[256];
	snprintf(path, sizeof path, FOLDER "/%s", text_of(row, "init"));
	s->weights = (struct model_weights){p->model, "{init}", {0}};
	must(model_weights_open(&s->weights, path));
	must(trainer_open_from(&s->trainer, p, TEXT, &(struct weight_source){&s->weights, read_weights, NULL}));
}

static void stop(struct started *s)
{
	trainer_release(&s->trainer);
	model_weights_release(&s->weights);
}

static void check_tokens(struct trainer *t, const json_t *row)
{
	const int32_t *tokens = rank_memory_buffer(&t->device, role_buffer(t->device.role, "tokens"));
	const json_t *want = member_of(row, "tokens");
	for (int i = 0; i < (int)json_array_size(want); i++)
		ck_assert_int_eq(tokens[i], (int32_t)number_at(want, i));
}

/* The rows of the last tokens of the first sample. */
static void check_logits(const json_t *row, const struct plan *p, const float *logits)
{
	struct safetensors golden;
	float want[16 * 256];
	double worst = 0;
	must(safetensors_open(&golden, FOLDER "/logits.safetensors"));
	const struct safetensors_tensor *t = safetensors_find(&golden, text_of(row, "name"));
	ck_assert(t && t->shape[1] == p->model->classes && t->elements <= COUNT(want));
	must(safetensors_read(&golden, t, 0, t->elements, want));
	for (int64_t i = 0; i < t->shape[0]; i++)
		for (int64_t c = 0; c < t->shape[1]; c++) {
			int64_t token = p->model->tokens - t->shape[0] + i;
			double got = (double)logits[token * p->model->logits_stride + c];
			worst = fmax(worst, fabs(got - (double)want[i * t->shape[1] + c]));
			ck_assert_msg(isfinite(got) && worst <= LOGIT_LIMIT,
			              "%s, token %" PRId64 ", logit %" PRId64 ": %.7g, not %.7g", text_of(row, "name"),
			              token, c, got, (double)want[i * t->shape[1] + c]);
		}
	printf("%s: logits within %.1e\n", text_of(row, "name"), worst);
	safetensors_release(&golden);
}

START_LOOP_TEST(logits_agree, 0, 14)
{
	json_t *golden = json_open(FOLDER "/golden.json");
	const json_t *row = json_array_get(golden, (size_t)_i);
	const struct plan *p = right_plan("%s single", text_of(row, "specification"));
	struct started s;
	const float *logits;
	start(&s, row, p);
	must(trainer_logits(&s.trainer, &logits));
	check_tokens(&s.trainer, row);
	check_logits(row, p, logits);
	stop(&s);
	json_decref(golden);
}

START_LOOP_TEST(losses_agree, 0, 6)
{
	json_t *golden = json_open(FOLDER "/golden.json");
	const json_t *row = json_array_get(golden, (size_t)_i), *losses = member_of(row, "losses");
	struct settings q = settings_of("%s single", text_of(row, "specification"));
	struct started s;
	double loss, worst = 0;
	q.micro_batch = whole_of(row, "batch");
	q.learning_rate = number_of(row, "rate");
	start(&s, row, right_plan_of(&q));
	ck_assert_uint_eq(json_array_size(losses), 20);
	for (int step = 0; step < 20; step++) {
		must(trainer_step(&s.trainer, &loss));
		worst = fmax(worst, fabs(loss - number_at(losses, step)));
		ck_assert_msg(isfinite(loss) && worst <= LOSS_LIMIT, "%s, step %d: loss %.9g, not %.9g",
		              text_of(row, "name"), step + 1, loss, number_at(losses, step));
	}
	printf("%s: losses within %.1e\n", text_of(row, "name"), worst);
	stop(&s);
	json_decref(golden);
}

SUITE("golden weights", 120)
