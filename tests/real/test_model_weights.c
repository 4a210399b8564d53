/* A model's weights from files: by which names they are found and what is passed over, what is refused, and that a rank
 * reads the slices that it keeps and nothing else. */
#include "real/data/model_weights.h"
#include "real/data/weights_config.h"
#include "real/data/weights_writer.h"
#include "real/rank/memory.h"
#include "real/rank/weights.h"
#include "tests/support/plan_check.h"
#include "tests/support/scratch.h"
#include "tests/support/suite.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char file[96];

static void setup(void)
{
	scratch_make();
	snprintf(file, sizeof file, "%s/f.safetensors", scratch);
}

static void teardown(void)
{
	unlink(file);
	ck_assert_int_eq(rmdir(scratch), 0);
}

/* A tensor besides the model's. */
struct extra {
	const char *name;
	int64_t rows, columns; /* columns 0: a vector */
	float value;           /* of each element */
};

/* Each element of the model is the next whole number. `without`: a tensor that is left out. */
static void put_model(const struct model *m, const char *prefix, const char *without, const struct extra *extra)
{
	struct weights_writer w;
	char name[128];
	int64_t count = 0;
	float next = 0;
	must(weights_writer_create(&w, file, INT64_MAX));
	for (int i = 0; i < m->tensor_count; i++)
		for (int n = 0; n < file_tensor_count(m, i); n++) {
			struct file_tensor f = file_tensor_at(m, i, n);
			snprintf(name, sizeof name, "%s%s", prefix, f.name);
			if (!without || strcmp(without, f.name) != 0)
				must(weights_writer_declare(&w, name, f.dimensions, f.shape));
		}
	if (extra)
		must(weights_writer_declare(&w, extra->name, extra->columns ? 2 : 1,
		                            (int64_t[]){extra->rows, extra->columns}));
	must(weights_writer_begin(&w));
	for (int t = 0; t < w.count; t++)
		for (int64_t i = 0; i < w.shards[0].tensors[t].elements; i++, count++) {
			float value = extra && t == w.count - 1 ? extra->value : next;
			must(weights_writer_write(&w, t, i, 1, &value));
			next += 1;
		}
	must(weights_writer_finish(&w, &count));
	weights_writer_release(&w);
}

static void must_read(const struct model *m)
{
	struct model_weights w = {m, "{init}", {0}};
	float read[4], next = 0;
	must(model_weights_open(&w, file));
	for (int i = 0; i < m->tensor_count; i++) {
		must(model_weights_read(&w, i, 1, 4, read));
		for (int e = 0; e < 4; e++)
			ck_assert_msg(read[e] == next + 1 + (float)e, "%s", m->tensors[i].name);
		next += (float)m->tensors[i].elements;
	}
	model_weights_release(&w);
	model_weights_release(&w);
}

static void must_refuse(const struct model *m, const char *says)
{
	struct model_weights w = {m, "{init}", {0}};
	must_fail(model_weights_open(&w, file), STATUS_INPUT, says);
	ck_assert_ptr_null(w.files.tensors);
}

#define GPT "gpt:layers=1,width=8,heads=2,context=8,vocabulary=256"
#define LLAMA "llama:layers=2,width=16,heads=4,kv_heads=2,hidden=24,context=16,vocabulary=256"

START_TEST(names)
{
	struct model m;
	must(model_open(&m, GPT, 0));
	put_model(&m, "", NULL, NULL);
	must_read(&m);
	put_model(&m, "transformer.", NULL, NULL);
	must_read(&m);
	put_model(&m, "model.", NULL, NULL);
	must_refuse(&m, "has no tensor 'wte.weight' of gpt");
	model_release(&m);
}

START_TEST(passed_over)
{
	static const struct extra extras[] = {{"h.0.attn.bias", 8, 8, 1},
	                                      {"transformer.h.0.attn.masked_bias", 1, 0, -1e9F},
	                                      {"layers.0.self_attn.rotary_emb.inv_freq", 4, 0, 1}};
	struct model m;
	must(model_open(&m, GPT, 0));
	for (int i = 0; i < COUNT(extras); i++) {
		put_model(&m, "", NULL, &extras[i]);
		must_read(&m);
	}
	put_model(&m, "", NULL, &(struct extra){"h.1.attn.c_attn.bias", 24, 0, 1});
	must_refuse(&m, "has a tensor 'h.1.attn.c_attn.bias', which gpt:layers=1");
	put_model(&m, "", "h.0.ln_2.bias", NULL);
	must_refuse(&m, "has no tensor 'h.0.ln_2.bias' of gpt");
	model_release(&m);
}

/* A type that no weight has is found out before any is read. */
START_TEST(type)
{
	struct model m;
	char bytes[256];
	must(model_open(&m, GPT, 0));
	put_model(&m, "", NULL, NULL);
	FILE *f = fopen(file, "r+b");
	ck_assert(f && fread(bytes, 1, sizeof bytes - 1, f) == sizeof bytes - 1);
	bytes[sizeof bytes - 1] = '\0';
	const char *at = strstr(bytes + 8, "\"F32\""); /* behind the header's length */
	ck_assert(at && !fseek(f, at + 1 - bytes, SEEK_SET) && fputc('I', f) == 'I' && !fclose(f));
	must_refuse(&m, "is I32; weights are read from F32, F16 and BF16");
	model_release(&m);
}

/* A tied head may be in the file once more, but no other head. */
START_TEST(tied_head)
{
	struct model tied, untied;
	must(model_open(&tied, LLAMA ",tied=yes", 0));
	must(model_open(&untied, LLAMA, 0));
	put_model(&tied, "", NULL, &(struct extra){"lm_head.weight", 256, 16, 3});
	must_refuse(&tied, "tensor 'lm_head.weight' is not the table 'model.embed_tokens.weight'");
	put_model(&untied, "", NULL, NULL);
	must_read(&untied);
	must_refuse(&tied, "is not the table");
	model_release(&tied);
	model_release(&untied);
}

/* config.json shows what tensors do not; a run chooses how long its sequences are. */
START_TEST(config_of_another_model)
{
	static const struct {
		const char *keys, *says;
	} other[] = {{"theta=50000", "its config.json has theta=10000, and model has theta=50000; make them agree"},
	             {"heads=2,kv_heads=1,head_size=8", "its config.json has heads=4, and model has heads=2"},
	             {"scaling=linear,factor=2", "its config.json has no such key, and model has scaling=linear"}};
	const char *folder = "tests/golden/weights/llama";
	struct model m;
	must(model_open(&m, "llama:layers=2,width=16,heads=4,kv_heads=2,hidden=24,context=512,vocabulary=256", 0));
	must(weights_config_check(folder, &m, "{init}"));
	must(weights_config_check("tests/golden/weights", &m, "{init}"));
	must(weights_config_check("tests/golden/weights/llama/model.safetensors", &m, "{init}"));
	model_release(&m);
	for (int i = 0; i < COUNT(other); i++) {
		char text[256];
		snprintf(text, sizeof text, "llama:layers=2,width=16,hidden=24,vocabulary=256,%s%s", other[i].keys,
		         strstr(other[i].keys, "heads") ? "" : ",heads=4,kv_heads=2");
		must(model_open(&m, text, 16));
		must_fail(weights_config_check(folder, &m, "{init}"), STATUS_INPUT, other[i].says);
		model_release(&m);
	}
}

/* ---- what each rank reads ---- */

/* The bytes that this process has asked the system for, by reading files; to ask is LOOK bytes more. */
enum { LOOK = 24 };

static int64_t bytes_read(void)
{
	int64_t bytes = -1;
	char text[LOOK + 1] = "";
	int f = open("/proc/self/io", O_RDONLY);
	ck_assert_int_eq(read(f, text, LOOK), LOOK);
	close(f);
	ck_assert_int_eq(sscanf(text, "rchar: %" SCNd64, &bytes), 1);
	return bytes;
}

static enum status read_weights(void *context, int tensor, int64_t first, int64_t count, float *out)
{
	return model_weights_read(context, tensor, first, count, out);
}

static void no_samples(void *context, int64_t first, int64_t count, void *inputs, int32_t *targets)
{
	(void)context, (void)first, (void)count, (void)inputs, (void)targets;
}

static void initialize(struct rank_memory *memory)
{
	const struct role *r = memory->role;
	for (int i = r->prologue.begin; i < r->prologue.end; i++)
		if (r->ops[i].kind == OP_INITIALIZE)
			must(rank_initialize(memory, &r->ops[i]));
}

/* The bytes that the rank reads to fill what it keeps. */
static int64_t read_by(const struct plan *p, struct model_weights *w, int64_t rank)
{
	struct rank_memory memory;
	struct input_source input = {NULL, no_samples, no_samples, 0};
	must(rank_memory_open(&memory, p, rank, &input, false, NULL, NULL));
	memory.weights = (struct weight_source){.context = w, .read = read_weights};
	int64_t before = bytes_read();
	initialize(&memory);
	int64_t after = bytes_read();
	rank_memory_release(&memory);
	return after - before - LOOK;
}

static const struct {
	const char *words;
	int64_t whole;  /* elements of tensors that each rank keeps whole: a tensor group's norms */
	int64_t copies; /* in mixed precision there is a master copy */
} cases[] = {{"single ranks=1", 0, 1},  {"zero3 ranks=2", 0, 1},
             {"zero3 ranks=4", 0, 1},   {"fsdp ranks=3", 0, 1},
             {"fsdp ranks=4", 0, 1},    {"tensor ranks=2", 5 * 16, 1},
             {"ddp ranks=2", 12112, 1}, {"zero3 ranks=2 precision=bf16", 0, 2}};

START_LOOP_TEST(ranks_read_what_they_keep, 0, COUNT(cases))
{
	const struct plan *p = right_plan(LLAMA " %s", cases[_i].words);
	struct model m;
	must(model_open(&m, LLAMA, 0));
	put_model(&m, "", NULL, NULL);
	struct model_weights w = {&m, "{init}", {0}};
	must(model_weights_open(&w, file));
	int64_t whole = 4 * cases[_i].copies * cases[_i].whole, divided = 4 * cases[_i].copies * m.parameters - whole;
	int64_t padding = 16 * cases[_i].copies * p->group_count, all = 0;
	for (int64_t rank = 0; rank < p->ranks; rank++) {
		int64_t bytes = read_by(p, &w, rank);
		ck_assert_msg(llabs(bytes - whole - divided / p->ranks) <= padding,
		              "rank %" PRId64 " reads %" PRId64 " bytes, not about %" PRId64, rank, bytes,
		              whole + divided / p->ranks);
		all += bytes;
	}
	ck_assert_int_eq(all, divided + whole * p->ranks);
	model_weights_release(&w);
	model_release(&m);
}

SUITE_WITH("model weights", 60, setup, teardown)
