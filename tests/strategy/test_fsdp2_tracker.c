/* PyTorch's own estimate of FSDP2's memory beside our plan of `fsdp`: tests/golden/fsdp2_tracker.csv, which
 * tests/oracle/fsdp2_tracker.py made with FSDPMemTracker. Each figure of both is a sum of terms that are written out
 * here, term by term, so that what is different between the two is known to the byte.
 *
 * A step peaks where the gradient of the logits is made, where that of the head is, or in the second block that goes
 * backward, at the product with the MLP's second matrix. What is different at the peak:
 *
 * - theirs alone: rows of the token table that fill the last rank's share
 * - theirs alone: AdamW's step counters
 * - theirs alone: of cross-entropy the gradient twice, out of place
 * - theirs alone: positions, and the cosines and sines of rotary embedding, as tensors
 * - theirs alone: of Llama silu(gate) and each norm's x / rms
 * - theirs alone: a block's parameters once more as they are gathered
 * - ours alone: lasting gradients, which FSDP2 allocates unit by unit
 * - ours alone: the root's gradient as a whole from the start
 * - ours alone: a block that is gathered ahead at the loss
 * - ours alone: the gradient of the head's input, where our peak is at the head and theirs at the loss
 * - ours alone: pads of logits; the staging of a ring (1 MiB)
 *
 * docs/strategies.md shows these figures.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "strategy/base/file.h"
#include "strategy/base/number.h"
#include "tests/support/plan_check.h"
#include "tests/support/suite.h"

enum { MOST_ROWS = 400, ELEMENT = 4, RING = 1048588, KINDS = 10 };

/* ---- the table: model,ranks,quantity,bytes ---- */

static struct row {
	char model[32], quantity[32];
	long long ranks, bytes;
} rows[MOST_ROWS];
static int row_count;

static void read_table(void)
{
	char line[200];
	FILE *f = fopen("tests/golden/fsdp2_tracker.csv", "r");
	ck_assert_ptr_nonnull(f);
	row_count = 0;
	while (fgets(line, sizeof line, f)) {
		struct row *r = &rows[row_count];
		if (*line == '#' || !strncmp(line, "model,", 6))
			continue;
		ck_assert_int_lt(++row_count, MOST_ROWS);
		ck_assert_int_eq(sscanf(line, "%31[^,],%lld,%31[^,],%lld", r->model, &r->ranks, r->quantity, &r->bytes),
		                 4);
	}
	fclose(f);
}

static int64_t theirs(const char *model, int64_t ranks, const char *quantity)
{
	for (int i = 0; i < row_count; i++)
		if (!strcmp(rows[i].model, model) && rows[i].ranks == ranks && !strcmp(rows[i].quantity, quantity))
			return rows[i].bytes;
	ck_abort_msg("the table has no %s of %s on %lld ranks", quantity, model, (long long)ranks);
}

/* ---- the sizes ---- */

static const struct sizes {
	const char *model, *ours, *title;                                     /* the title in docs/strategies.md */
	int64_t layers, width, heads, tokens, vocabulary, keys, size, hidden; /* keys 0: GPT-2 */
} sizes[] = {
        {"gpt2-124m", "gpt2-124m", "`gpt2-124m`", 12, 768, 12, 1024, 50257, 0, 64, 3072},
        {"gpt2-355m", "gpt2-355m", "`gpt2-355m`", 24, 1024, 16, 1024, 50257, 0, 64, 4096},
        {"gpt2-774m", "gpt2-774m", "`gpt2-774m`", 36, 1280, 20, 1024, 50257, 0, 64, 5120},
        {"gpt2-1558m", "gpt2-1558m", "`gpt2-1558m`", 48, 1600, 25, 1024, 50257, 0, 64, 6400},
        {"llama 1b", NULL, "Llama 3.2 1B, untied", 16, 2048, 32, 2048, 128256, 8, 64, 8192},
        {"llama 3b", NULL, "Llama 3.2 3B, untied", 28, 3072, 24, 2048, 128256, 8, 128, 8192},
        {"llama 8b", NULL, "Llama 3 8B", 32, 4096, 32, 4096, 128256, 8, 128, 14336},
        {"llama 70b", NULL, "Llama 2 70B", 80, 8192, 64, 4096, 32000, 8, 128, 28672},
};
static const int64_t ranks_of[] = {8, 64};

static const struct plan *plan_as(const struct sizes *z, int64_t ranks, const char *as)
{
	if (z->ours)
		return made_plan("%s fsdp ranks=%d micro_batch=1 as=%s", z->ours, (int)ranks, as);
	return made_plan(
	        "llama:layers=%d,width=%d,heads=%d,kv_heads=%d,head_size=%d,hidden=%d,context=%d,vocabulary=%d "
	        "fsdp ranks=%d micro_batch=1 as=%s",
	        (int)z->layers, (int)z->width, (int)z->heads, (int)z->keys, (int)z->size, (int)z->hidden,
	        (int)z->tokens, (int)z->vocabulary, (int)ranks, as);
}

static const struct plan *plan_of(const struct sizes *z, int64_t ranks)
{
	return plan_as(z, ranks, "shardlab");
}

/* Bytes of the terms that both are made of. */
struct terms {
	int64_t rows;                   /* of the hidden stream: tokens × width */
	int64_t hidden;                 /* tokens × hidden */
	int64_t logits, padded_logits;  /* tokens × vocabulary, and as our rows have it */
	int64_t root, block, all;       /* parameters */
	int64_t fill;                   /* of the token table: whole shares for all ranks */
	int64_t block_saved, last_norm; /* bytes that both keep for the backward pass */
	int64_t block_more, norm_more;  /* bytes that PyTorch keeps besides */
	int64_t positions;              /* their tensors of positions */
	int64_t tensors, index;         /* how many parameters, theirs; 32-bit tokens of a sample */
};

static struct terms terms_of(const struct sizes *z, const struct plan *p, int64_t ranks)
{
	const struct model *m = p->model;
	int64_t w = z->width, s = z->tokens, q = z->heads * z->size, k = z->keys * z->size, f = z->hidden;
	bool llama = z->keys > 0;
	struct terms t = {.rows = ELEMENT * s * w,
	                  .hidden = ELEMENT * s * f,
	                  .logits = ELEMENT * s * z->vocabulary,
	                  .padded_logits = ELEMENT * s * m->logits_stride,
	                  .root = ELEMENT * m->units[0].elements,
	                  .block = ELEMENT * m->units[1].elements,
	                  .all = ELEMENT * m->parameters,
	                  .fill = ELEMENT * w * (round_up(z->vocabulary, ranks) - z->vocabulary),
	                  .index = ELEMENT * s};
	if (llama) {
		t.block_saved = ELEMENT * s * (4 * w + 2 * q + 2 * k + 3 * f + z->heads + 2);
		t.last_norm = 2 * t.rows + ELEMENT * s;
		t.norm_more = t.rows;                      /* x / rms, which the weight is multiplied by */
		t.block_more = t.hidden + 2 * t.norm_more; /* silu(gate) */
		t.positions = 2 * ELEMENT * s * z->size;   /* cosines and sines */
		t.tensors = 9 * z->layers + 3;
		t.fill *= 2; /* the head has a table of its own */
	} else {
		t.block_saved = ELEMENT * s * (16 * w + z->heads + 4);
		t.last_norm = 2 * t.rows + 2 * ELEMENT * s;
		t.positions = 8 * s; /* 64-bit numbers */
		t.tensors = 12 * z->layers + 4;
	}
	return t;
}

/* ---- theirs ---- */

enum { LOSS = 2 * ELEMENT }; /* and the number of tokens that it is the mean over */

static int64_t saved_by_them(const struct sizes *z, const struct terms *t)
{
	return z->layers * (t->block_saved + t->block_more) + t->last_norm + t->norm_more + t->logits + t->positions +
	       LOSS;
}

static const char *const kinds[KINDS] = {
        "sharded_param", "unsharded_param", "sharded_grad",   "unsharded_grad", "activation",
        "temp",          "all_gather",      "reduce_scatter", "optstate",       "inputs"};

/* The moments at which a step may peak. */
enum moment { AT_LOSS, AT_HEAD, IN_BLOCK, MOMENTS };

/* The bytes alive at the peak, in the order of kinds. At the loss: the gradient of log-softmax's output, and of its
 * input.
 */
static void their_peak(const struct sizes *z, const struct terms *t, int64_t ranks, enum moment moment,
                       int64_t out[KINDS])
{
	int64_t shard = (t->all + t->fill) / ranks, saved = saved_by_them(z, t);
	bool llama = z->keys > 0;
	int64_t matrix = ELEMENT * z->hidden * z->width, vector = ELEMENT * z->width;
	int64_t loss[KINDS] = {
	        shard,       t->root + t->fill, 0, 0, saved, 2 * t->logits, 0, 0, 2 * shard + ELEMENT * t->tensors,
	        4 * t->index};
	memcpy(out, loss, sizeof loss);
	if (moment == AT_LOSS)
		return;
	/* The gradients of the head and of the residual stream; a block is gathered ahead. */
	out[4] -= t->logits;
	out[5] = ELEMENT * z->vocabulary * z->width + t->rows;
	out[6] = t->block;
	if (moment == AT_HEAD)
		out[5] += t->logits;
	if (moment == AT_HEAD)
		return;
	out[1] += t->block;
	out[2] = t->block / ranks;
	out[4] -= t->last_norm + t->norm_more + t->block_saved + t->block_more;
	/* And those of the last norm and of the MLP's second layer. */
	out[5] += matrix + t->hidden + (llama ? vector : 3 * vector);
	out[7] = t->block; /* the gradients that the block before has reduced */
	if (llama) {       /* the product's factors, and the product is no longer needed */
		out[5] += 2 * t->hidden;
		out[4] -= t->hidden;
	}
}

static int64_t sum_of(const int64_t *list, int count)
{
	int64_t sum = 0;
	for (int i = 0; i < count; i++)
		sum += list[i];
	return sum;
}

static void check_their_peak(const struct sizes *z, const struct terms *t, int64_t ranks)
{
	int64_t most = 0, peak[KINDS] = {0}, one[KINDS];
	char name[48];
	for (int m = 0; m < MOMENTS; m++) {
		their_peak(z, t, ranks, (enum moment)m, one);
		if (sum_of(one, KINDS) <= most)
			continue;
		most = sum_of(one, KINDS);
		memcpy(peak, one, sizeof peak);
	}
	for (int i = 0; i < KINDS; i++) {
		snprintf(name, sizeof name, "peak.%s", kinds[i]);
		int64_t have = theirs(z->model, ranks, name);
		ck_assert_msg(have == peak[i], "%s on %lld ranks: %s is %lld, and by its terms %lld", z->model,
		              (long long)ranks, name, (long long)have, (long long)peak[i]);
	}
	ck_assert_int_eq(theirs(z->model, ranks, "peak.total"), most);
}

static void check_theirs(const struct sizes *z, const struct terms *t, int64_t ranks)
{
	int64_t shard = (t->all + t->fill) / ranks;
	ck_assert_int_eq(theirs(z->model, ranks, "sharded_parameters"), shard);
	ck_assert_int_eq(theirs(z->model, ranks, "sharded_gradients"), shard);
	ck_assert_int_eq(theirs(z->model, ranks, "optimizer"), 2 * shard + ELEMENT * t->tensors);
	ck_assert_int_eq(theirs(z->model, ranks, "forward.unsharded"), t->root + t->fill);
	ck_assert_int_eq(theirs(z->model, ranks, "forward.activations"), saved_by_them(z, t));
	check_their_peak(z, t, ranks);
}

/* ---- ours ---- */

/* The targets are done with, and the logits have become their gradient. In the block they, the last norm and the last
 * block are done with too. */
static void our_peak(const struct sizes *z, const struct terms *t, int64_t ranks, bool in_block,
                     int64_t out[CATEGORY_COUNT])
{
	memset(out, 0, CATEGORY_COUNT * sizeof *out);
	out[CATEGORY_PARAMETERS] = out[CATEGORY_GRADIENTS] = t->all / ranks;
	out[CATEGORY_OPTIMIZER] = 2 * t->all / ranks;
	out[CATEGORY_BUFFERS] = RING;
	out[CATEGORY_ACTIVATIONS] = z->layers * t->block_saved + t->last_norm + t->padded_logits + t->index + t->rows;
	out[CATEGORY_GATHERED] = 2 * t->root + t->block;
	if (!in_block)
		return;
	out[CATEGORY_ACTIVATIONS] = (z->layers - 1) * t->block_saved + t->index + t->rows;
	out[CATEGORY_ACTIVATIONS] += z->keys ? 2 * t->hidden : t->hidden;
	out[CATEGORY_GATHERED] = 2 * t->root + 4 * t->block;
}

static void check_ours(const struct sizes *z, const struct terms *t, const struct plan *p, int64_t ranks)
{
	struct memory_use use;
	int64_t head[CATEGORY_COUNT], block[CATEGORY_COUNT];
	plan_memory(p, &p->roles[0], SPACE_DEVICE, &use);
	our_peak(z, t, ranks, false, head);
	our_peak(z, t, ranks, true, block);
	const int64_t *want = sum_of(block, CATEGORY_COUNT) > sum_of(head, CATEGORY_COUNT) ? block : head;
	for (int c = 0; c < CATEGORY_COUNT; c++)
		ck_assert_msg(use.at_peak[c] == want[c], "%s on %lld ranks: our %s are %lld, and by their terms %lld",
		              z->model, (long long)ranks, category_name((enum category)c), (long long)use.at_peak[c],
		              (long long)want[c]);
	ck_assert_int_eq(use.peak_bytes, sum_of(want, CATEGORY_COUNT));
}

START_LOOP_TEST(both_are_known_to_the_byte, 0, COUNT(sizes))
{
	const struct sizes *z = &sizes[_i];
	read_table();
	for (int n = 0; n < COUNT(ranks_of); n++) {
		const struct plan *p = plan_of(z, ranks_of[n]);
		struct terms t = terms_of(z, p, ranks_of[n]);
		ck_assert_int_eq(t.all, t.root + z->layers * t.block);
		check_theirs(z, &t, ranks_of[n]);
		check_ours(z, &t, p, ranks_of[n]);
		plans_forget();
	}
}

/* ---- ours, as PyTorch does it ---- */

/* At the loss all but their counters, positions, 64-bit tokens, and rows that fill a share; and our pads, and 12 bytes
 * for the step and the loss. */
static int64_t loss_as_they_do(const struct sizes *z, const struct terms *t, int64_t ranks)
{
	return 3 * t->all / ranks + t->root + z->layers * (t->block_saved + t->block_more) + t->last_norm +
	       t->norm_more + 3 * t->padded_logits + 2 * t->index + 12;
}

/* A peak at the loss matches to the byte. In a block PyTorch has the gradients of some of its matrices, and ours have
 * been copied into the unit's. */
START_LOOP_TEST(as_pytorch_comes_to_theirs, 0, COUNT(sizes))
{
	const struct sizes *z = &sizes[_i];
	read_table();
	for (int n = 0; n < COUNT(ranks_of); n++) {
		struct memory_use use;
		int64_t total = theirs(z->model, ranks_of[n], "peak.total"), at_loss[KINDS];
		const struct plan *p = plan_as(z, ranks_of[n], "pytorch");
		struct terms t = terms_of(z, p, ranks_of[n]);
		plan_memory(p, &p->roles[0], SPACE_DEVICE, &use);
		their_peak(z, &t, ranks_of[n], AT_LOSS, at_loss);
		if (sum_of(at_loss, KINDS) == total)
			ck_assert_int_eq(use.peak_bytes, loss_as_they_do(z, &t, ranks_of[n]));
		ck_assert_msg(llabs((long long)(use.peak_bytes - total)) < total / 100,
		              "%s on %lld ranks: %lld, and as pytorch %lld", z->model, (long long)ranks_of[n],
		              (long long)total, (long long)use.peak_bytes);
		plans_forget();
	}
}

/* ---- the page ---- */

/* In GB, as the page has them: four digits, and of less than one three decimals. */
static const char *gb(int64_t bytes)
{
	static char text[8][24];
	static int next;
	next = (next + 1) % 8;
	snprintf(text[next], sizeof text[next], bytes >= 1000000000 || !bytes ? "%#.4g" : "%.3f", (double)bytes / 1e9);
	return bytes ? text[next] : "0";
}

static char *page_read(void)
{
	char *page = NULL;
	size_t size;
	ck_assert_msg(!file_read("docs/strategies.md", "page", 1 << 20, &page, &size), "%s", status_message());
	return page;
}

static void must_show(const char *page, const char *line)
{
	ck_assert_msg(strstr(page, line) != NULL, "docs/strategies.md has no '%s'", line);
}

static int64_t our_total(const struct sizes *z, int64_t ranks)
{
	struct memory_use use;
	const struct plan *p = plan_of(z, ranks);
	plan_memory(p, &p->roles[0], SPACE_DEVICE, &use);
	plans_forget();
	return use.peak_bytes;
}

START_LOOP_TEST(the_page_has_the_totals, 0, COUNT(sizes))
{
	const struct sizes *z = &sizes[_i];
	char *page = page_read(), line[200];
	read_table();
	snprintf(line, sizeof line, "| %s | %d,%03d | %s | %s | %s | %s |\n", z->title, (int)z->tokens / 1000,
	         (int)z->tokens % 1000, gb(theirs(z->model, 8, "peak.total")), gb(our_total(z, 8)),
	         gb(theirs(z->model, 64, "peak.total")), gb(our_total(z, 64)));
	must_show(page, line);
	free(page);
}

/* Their kinds and our categories that a line of the second table has. */
struct table_line {
	const char *title;
	int64_t theirs, ours;
};

START_TEST(the_page_has_the_parts)
{
	const int64_t ranks = 8;
	const struct sizes *z = &sizes[6];
	ck_assert_str_eq(z->title, "Llama 3 8B");
	char *page = page_read(), line[200];
	read_table();
	const struct plan *p = plan_of(z, ranks);
	struct terms t = terms_of(z, p, ranks);
	struct memory_use use;
	plan_memory(p, &p->roles[0], SPACE_DEVICE, &use);
	int64_t kept = theirs(z->model, ranks, "peak.activation");
	int64_t ours = use.at_peak[CATEGORY_ACTIVATIONS] - t.rows - t.index;
	const struct table_line parts[] = {
	        {"parameters, optimizer",
	         theirs(z->model, ranks, "peak.sharded_param") + theirs(z->model, ranks, "peak.optstate"),
	         use.at_peak[CATEGORY_PARAMETERS] + use.at_peak[CATEGORY_OPTIMIZER]},
	        {"lasting gradients", theirs(z->model, ranks, "peak.sharded_grad"), use.at_peak[CATEGORY_GRADIENTS]},
	        {"gathered", theirs(z->model, ranks, "peak.unsharded_param"), use.at_peak[CATEGORY_GATHERED]},
	        {"kept by autograd", kept, ours},
	        {"gradients of activations", theirs(z->model, ranks, "peak.temp"), t.rows},
	        {"tokens, the ring's staging", theirs(z->model, ranks, "peak.inputs"),
	         t.index + use.at_peak[CATEGORY_BUFFERS]}};
	int64_t sum[2] = {0};
	for (int i = 0; i < COUNT(parts); i++) {
		snprintf(line, sizeof line, "\n| %s | %s | %s | ", parts[i].title, gb(parts[i].theirs),
		         gb(parts[i].ours));
		must_show(page, line);
		sum[0] += parts[i].theirs;
		sum[1] += parts[i].ours;
	}
	ck_assert_int_eq(sum[0], theirs(z->model, ranks, "peak.total"));
	ck_assert_int_eq(sum[1], use.peak_bytes);
	int64_t gates = z->layers * t.hidden, norms = (2 * z->layers + 1) * t.norm_more;
	ck_assert_int_eq(kept - ours, gates + norms + t.positions + LOSS - (t.padded_logits - t.logits));
	snprintf(line, sizeof line, "silu(gate) %s, x divided by its rms %s, cosines and sines %s: ", gb(gates),
	         gb(norms), gb(t.positions));
	must_show(page, line);
	free(page);
	plans_forget();
}

SUITE("fsdp2 tracker", 120)
