/* The bytes that every strategy sends for `gpt`: Ψ = 4 · 4,837,376 = 19,349,504 bytes in fp32. On 2, 4 and 8 ranks
 * nothing is padded. A micro-batch of 4 samples of 128 tokens is 4·128·4 = 2,048 bytes of inputs, and of outputs (256
 * logits a token) 4·128·256·4 = 524,288. */
#include "tests/support/plan_check.h"
#include "tests/support/suite.h"

#define PSI INT64_C(19349504)
enum { INPUTS = 2048, OUTPUTS = 524288 };

static void assert_moved(struct moved m, const char *what, int64_t calls, int64_t payload, int64_t sent,
                         int64_t received)
{
	ck_assert_msg(m.calls == calls && m.payload == payload && m.sent == sent && m.received == received,
	              "%s: %lld calls, payload %lld, sent %lld, received %lld instead of %lld, %lld, %lld, %lld", what,
	              (long long)m.calls, (long long)m.payload, (long long)m.sent, (long long)m.received,
	              (long long)calls, (long long)payload, (long long)sent, (long long)received);
}

/* How often Ψ(N−1)/N leaves a rank under each kind, over a step of `accumulate` micro-batches. */
static const struct {
	const char *strategy;
	int accumulate, all_reduce, reduce_scatter, all_gather; /* times; an all-reduce counts twice */
} shares[] = {
        {"ddp", 1, 2, 0, 0},
        {"ddp", 3, 2, 0, 0}, /* on the last micro-batch only */
        {"ddp:algorithm=ring", 1, 2, 0, 0},
        {"zero1", 1, 0, 1, 1},
        {"zero1", 3, 0, 1, 1},
        {"zero2", 1, 0, 1, 1},
        {"zero2", 3, 0, 3, 1}, /* on every one */
        {"zero3", 1, 0, 1, 2},
        {"zero3", 3, 0, 3, 6},
        {"fsdp", 1, 0, 1, 2},
        {"fsdp", 3, 0, 3, 6},
        {"fsdp:sync=every", 3, 0, 3, 6},
        {"fsdp:sync=last", 3, 0, 1, 6},
        {"fsdp:reshard=no", 1, 0, 1, 1},
        {"fsdp:reshard=no", 3, 0, 3, 3},
        {"fsdp:reshard=no:sync=last", 3, 0, 1, 3},
};

START_LOOP_TEST(shares_of_psi, 0, (int)(sizeof shares / sizeof *shares))
{
	for (int64_t ranks = 2; ranks <= 8; ranks *= 2)
		for (int mixed = 0; mixed < 2; mixed++) {
			const struct plan *p = made_plan("gpt %s ranks=%d micro_batch=4 accumulate=%d precision=%s",
			                                 shares[_i].strategy, (int)ranks, (int)shares[_i].accumulate,
			                                 mixed ? "bf16" : "fp32");
			int64_t share = PSI / (mixed ? 2 : 1) / ranks * (ranks - 1);
			for (int64_t rank = 0; rank < ranks; rank++) {
				struct moved all = plan_moved_all(p, rank);
				struct moved kind[] = {plan_moved(p, rank, TRAFFIC_ALL_REDUCE),
				                       plan_moved(p, rank, TRAFFIC_REDUCE_SCATTER),
				                       plan_moved(p, rank, TRAFFIC_ALL_GATHER)};
				int want[] = {shares[_i].all_reduce, shares[_i].reduce_scatter, shares[_i].all_gather};
				for (int k = 0; k < 3; k++) {
					ck_assert_int_eq(kind[k].sent, want[k] * share);
					ck_assert_int_eq(kind[k].received, want[k] * share);
					ck_assert_int_eq(kind[k].payload,
					                 (k ? want[k] : want[k] / 2) * (PSI / (mixed ? 2 : 1)));
				}
				ck_assert_int_eq(all.sent, (want[0] + want[1] + want[2]) * share);
			}
		}
}

/* ZeRO++'s hpZ: the first gather of a unit in a step is over all ranks, later ones over the K that keep a second copy,
 * which is 1/K of the parameters on each. */
START_TEST(a_second_copy_is_gathered_nearby)
{
	for (int64_t k = 2; k <= 8; k *= 2)
		for (int a = 1; a <= 3; a += 2) {
			const struct plan *p =
			        made_plan("gpt zero3:secondary=%d ranks=8 micro_batch=4 accumulate=%d", (int)k, a);
			struct moved m = plan_moved(p, 0, TRAFFIC_ALL_GATHER);
			int64_t far = PSI / 8 * 7, near = PSI / k * (k - 1);
			assert_moved(m, "gathers", m.calls, 2 * a * PSI, far + (2 * a - 1) * near,
			             far + (2 * a - 1) * near);
			ck_assert_int_eq(plan_moved(p, 0, TRAFFIC_REDUCE_SCATTER).sent, a * far);
			ck_assert_int_eq(plan_most_live(&p->roles[0], "secondary.", NULL), PSI / 4 / k);
		}
}

START_TEST(load_of_the_root)
{
	static const int64_t others[] = {1, 3, 7};
	for (int i = 0; i < 3; i++)
		for (int accumulate = 1; accumulate <= 3; accumulate += 2) {
			int64_t n = others[i], ranks = n + 1, a = accumulate;
			const struct plan *p =
			        made_plan("gpt dp ranks=%d micro_batch=4 accumulate=%d", (int)ranks, (int)a);
			assert_moved(plan_moved(p, 0, TRAFFIC_BROADCAST), "root's broadcast", a, a * PSI, a * n * PSI,
			             0);
			assert_moved(plan_moved(p, 0, TRAFFIC_REDUCE), "root's reduce", a, a * PSI, 0, a * n * PSI);
			assert_moved(plan_moved(p, 0, TRAFFIC_SCATTER_INPUTS), "root's inputs", a, a * ranks * INPUTS,
			             a * n * INPUTS, 0);
			assert_moved(plan_moved(p, 0, TRAFFIC_GATHER_OUTPUTS), "root's outputs", a, a * ranks * OUTPUTS,
			             0, a * n * OUTPUTS);
			assert_moved(plan_moved(p, 0, TRAFFIC_SCATTER_OUTPUT_GRADIENTS), "root's output gradients", a,
			             a * ranks * OUTPUTS, a * n * OUTPUTS, 0);
			assert_moved(plan_moved_all(p, 0), "root", 5 * a,
			             a * (2 * PSI + ranks * (INPUTS + 2 * OUTPUTS)), a * n * (PSI + INPUTS + OUTPUTS),
			             a * n * (PSI + OUTPUTS));
			for (int64_t rank = 1; rank < ranks; rank++)
				assert_moved(plan_moved_all(p, rank), "worker", 5 * a,
				             a * (2 * PSI + ranks * (INPUTS + 2 * OUTPUTS)), a * (PSI + OUTPUTS),
				             a * (PSI + INPUTS + OUTPUTS));
		}
}

/* A tree's root sends ⌈log2 N⌉ times, a chain's once; everything that is sent arrives. */
START_TEST(routes_of_the_root)
{
	static const struct {
		const char *strategy;
		int64_t broadcast, reduce; /* at the root of 8, in Ψ */
	} want[] = {{"dp:broadcast=star:reduce=star", 7, 7},
	            {"dp:broadcast=tree:reduce=tree", 3, 3},
	            {"dp:broadcast=chain:reduce=chain", 1, 1},
	            {"dp:broadcast=tree", 3, 7},
	            {"dp:reduce=chain", 7, 1}};
	for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
		struct moved all[2] = {{0}};
		const struct plan *p = made_plan("gpt %s ranks=8", want[i].strategy);
		ck_assert_int_eq(plan_moved(p, 0, TRAFFIC_BROADCAST).sent, want[i].broadcast * PSI);
		ck_assert_int_eq(plan_moved(p, 0, TRAFFIC_REDUCE).received, want[i].reduce * PSI);
		for (int rank = 0; rank < 8; rank++)
			for (int k = 0; k < 2; k++) {
				struct moved one = plan_moved(p, rank, k ? TRAFFIC_REDUCE : TRAFFIC_BROADCAST);
				all[k].sent += one.sent;
				all[k].received += one.received;
			}
		for (int k = 0; k < 2; k++) {
			ck_assert_int_eq(all[k].sent, 7 * PSI);
			ck_assert_int_eq(all[k].received, 7 * PSI);
		}
	}
}

/* 4·4 + 4 = 20 elements, padded to 21 on 3 ranks and on 7; 5·4 + 4 = 24, padded to 28 on 7. */
START_TEST(padding_is_sent_and_is_no_payload)
{
	static const struct {
		const char *model;
		int64_t ranks, elements, padded;
	} want[] = {{"mlp:sizes=4-4", 3, 20, 21},
	            {"mlp:sizes=4-4", 7, 20, 21},
	            {"mlp:sizes=5-4", 7, 24, 28},
	            {"mlp:sizes=5-4", 3, 24, 24}};
	for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
		int64_t n = want[i].ranks, share = want[i].padded / n * 4 * (n - 1), payload = want[i].elements * 4;
		const struct plan *ddp = made_plan("%s ddp ranks=%d", want[i].model, (int)n),
		                  *zero3 = made_plan("%s zero3 ranks=%d", want[i].model, (int)n);
		assert_moved(plan_moved_all(ddp, n - 1), "ddp", 1, payload, 2 * share, 2 * share);
		ck_assert_int_eq(plan_model_states(ddp, 0), 16 * want[i].padded);
		assert_moved(plan_moved(zero3, 0, TRAFFIC_ALL_GATHER), "zero3", 2, 2 * payload, 2 * share, 2 * share);
		assert_moved(plan_moved(zero3, 0, TRAFFIC_REDUCE_SCATTER), "zero3", 1, payload, share, share);
		ck_assert_int_eq(plan_model_states(zero3, 0), 16 * want[i].padded / n);
	}
}

/* Halving and doubling sends as much as the ring where N is a power of two. */
START_TEST(halving_doubling)
{
	const struct plan *p = made_plan("gpt ddp:algorithm=halving-doubling ranks=8");
	for (int rank = 0; rank < 8; rank++)
		ck_assert_int_eq(plan_moved_all(p, rank).sent, 2 * PSI / 8 * 7);
}

START_TEST(control_is_apart)
{
	/* The loss; with clipping, where gradients are sharded, the norm as well. A double up a tree to rank 0
	 * and down again: rank 1 passes on what it gets from rank 3, which is a leaf. */
	static const struct {
		const char *strategy;
		double clip;
		int calls;
	} want[] = {{"ddp", 0, 1},   {"ddp", 1, 1},  {"zero1", 0, 1}, {"zero1", 1, 2},
	            {"zero2", 1, 2}, {"fsdp", 1, 2}, {"dp", 1, 0}};
	for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
		const struct plan *p = made_plan("gpt %s ranks=4 clip=%g", want[i].strategy, want[i].clip);
		int64_t calls = want[i].calls;
		for (int rank = 0; rank < 2; rank++)
			assert_moved(plan_moved(p, rank, TRAFFIC_CONTROL), "rank 0 or 1", calls, 8 * calls, 16 * calls,
			             16 * calls);
		assert_moved(plan_moved(p, 3, TRAFFIC_CONTROL), "rank 3", calls, 8 * calls, 8 * calls, 8 * calls);
	}
}

START_TEST(one_rank_sends_nothing)
{
	for (int i = 0; strategy_at(i); i++) {
		const struct plan *p = made_plan("gpt %s ranks=1 accumulate=2 clip=1", strategy_at(i)->name);
		for (int k = 0; k < TRAFFIC_COUNT; k++)
			assert_moved(plan_moved(p, 0, (enum traffic_kind)k), strategy_at(i)->name, 0, 0, 0, 0);
	}
}

/* DDP's broadcast of the parameters belongs to the prologue, once. */
START_TEST(ddp_broadcasts_once)
{
	const struct plan *p = made_plan("gpt ddp ranks=4");
	const struct role *r = &p->roles[0];
	int64_t elements = 0;
	for (int i = r->prologue.begin; i < r->prologue.end; i++)
		if (r->ops[i].kind == OP_BROADCAST)
			elements += r->ops[i].operand[BROADCAST_X].count;
	ck_assert_int_eq(elements, 4837376);
	ck_assert_int_eq(plan_moved(p, 0, TRAFFIC_BROADCAST).calls, 0);
}

SUITE("traffic", 0)
