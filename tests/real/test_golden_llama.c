/* The Llama family, MPT and OPT against Hugging Face's transformers: parameters of published models, frequencies of
 * rotary embedding, and the losses of 20 steps through the plan, the device and the executor. tests/oracle/llama.py
 * made tests/golden/llama.json and says what is in it. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "strategy/model/rotary.h"
#include "tests/strategy/checkpointing_check.h"
#include "tests/support/json.h"
#include "tests/support/plan_check.h"
#include "tests/support/suite.h"
#include "tests/support/trainer.h"

/* fp32 and double are at most 2e-7 apart. */
static const double LOSS_LIMIT = 1e-5;

static const json_t *rows_of(json_t *golden, const char *key, size_t least)
{
	const json_t *rows = member_of(golden, key);
	ck_assert_uint_ge(json_array_size(rows), least);
	return rows;
}

START_TEST(parameters)
{
	json_t *golden = json_open("tests/golden/llama.json");
	size_t i;
	json_t *row;
	json_array_foreach(rows_of(golden, "counts", 40), i, row)
	{
		struct model m;
		ck_assert_msg(!model_open(&m, text_of(row, "specification"), 16), "%s: %s", text_of(row, "name"),
		              status_message());
		ck_assert_msg(m.parameters == whole_of(row, "parameters"), "%s: %" PRId64 " parameters, not %" PRId64,
		              text_of(row, "name"), m.parameters, whole_of(row, "parameters"));
		model_release(&m);
	}
	json_decref(golden);
}

/* transformers computes them in fp32, where powers lose a few units. */
START_TEST(frequencies)
{
	json_t *golden = json_open("tests/golden/llama.json");
	size_t i;
	json_t *row;
	json_array_foreach(rows_of(golden, "rotary", 8), i, row)
	{
		float frequency[128], amplitude;
		int64_t size = whole_of(row, "size");
		const struct rotary r = {
		        .theta = number_of(row, "theta"),
		        .scaling = (enum rotary_scaling)word_find(ROTARY_SCALINGS, text_of(row, "scaling")),
		        .factor = number_of(row, "factor"),
		        .low = number_of(row, "low"),
		        .high = number_of(row, "high"),
		        .original = whole_of(row, "original")};
		ck_assert_int_ge((int)r.scaling, 0);
		rotary_frequencies(&r, size, whole_of(row, "tokens"), frequency, &amplitude);
		ck_assert_double_eq_tol((double)amplitude, number_of(row, "amplitude"), 1e-7);
		ck_assert_uint_eq(json_array_size(member_of(row, "frequency")), (size_t)size / 2);
		for (int f = 0; f < (int)size / 2; f++) {
			double want = number_at(member_of(row, "frequency"), f);
			ck_assert_msg(fabs((double)frequency[f] - want) <= 2e-6 * want,
			              "row %zu, pair %d: %.9g, not %.9g", i, f, (double)frequency[f], want);
		}
	}
	json_decref(golden);
}

/* From the plan, what a block's forward pass leaves alive. */
START_LOOP_TEST(saved_bytes, 0, 3)
{
	json_t *golden = json_open("tests/golden/llama.json");
	const json_t *row = json_array_get(rows_of(golden, "saved", 3), (size_t)_i);
	const struct plan *p = right_plan("%s single precision=bf16 micro_batch=%d", text_of(row, "specification"),
	                                  (int)whole_of(row, "samples"));
	const struct role *r = &p->roles[0];
	int64_t ours = alive_after(r, end_of_forward(r, 3)) - alive_after(r, end_of_forward(r, 2));
	ck_assert_int_eq(ours + whole_of(row, "gate") + whole_of(row, "norms") + whole_of(row, "turns") +
	                         whole_of(row, "heads"),
	                 whole_of(row, "bytes"));
	json_decref(golden);
}

static void check_losses(const json_t *row, const struct settings *s)
{
	const json_t *losses = member_of(row, "losses");
	struct trainer t;
	double loss, worst = 0;
	ck_assert_msg(!trainer_open(&t, right_plan_of(s), "tests/golden/text.txt", false), "%s: %s",
	              text_of(row, "name"), status_message());
	for (int step = 0; step < (int)json_array_size(losses); step++) {
		double want = number_at(losses, step);
		ck_assert_int_eq(trainer_step(&t, &loss), STATUS_OK);
		worst = fmax(worst, fabs(loss - want) / want);
		ck_assert_msg(fabs(loss - want) <= LOSS_LIMIT * want, "%s, step %d: loss %.9g instead of %.9g",
		              text_of(row, "name"), step + 1, loss, want);
	}
	printf("%s: losses within %.1e\n", text_of(row, "name"), worst);
	trainer_release(&t);
}

/* On one rank every strategy is the same computation; activations that are made again, too. */
START_LOOP_TEST(losses, 0, 7)
{
	static const char *const cases[] = {"single", "single activation_checkpointing=full",
	                                    "single activation_checkpointing=selective", "zero3",
	                                    "fsdp offload=optimizer"};
	json_t *golden = json_open("tests/golden/llama.json");
	const json_t *row = json_array_get(rows_of(golden, "training", 7), (size_t)_i);
	for (int c = 0; c < COUNT(cases); c++) {
		struct settings s = settings_of("%s %s", text_of(row, "specification"), cases[c]);
		s.micro_batch = whole_of(row, "batch");
		s.learning_rate = number_of(row, "rate");
		check_losses(row, &s);
	}
	json_decref(golden);
}

SUITE("golden llama", 120)
