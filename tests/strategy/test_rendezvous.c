/* Instances of collectives and messages, their groups and members, against what is worked out by hand.
 */
#include <string.h>

#include "strategy/plan/rendezvous.h"
#include "tests/strategy/contrasts_check.h"
#include "tests/support/suite.h"

/* ---- a mesh by hand ---- */

enum { STAGE = 1, SHARD = 2, STAGES = 3, OPS = 8 };

/*     axes stage 3, shard 2        role stage.0 │ ranks 0 1 │     over shard: 0 1 | 2 3 | 4 5
 *                                  role stage.1 │ ranks 2 3 │     over stage: 0 2 4 | 1 3 5    its ends: 0 4 | 1 5
 *                                  role stage.2 │ ranks 4 5 │     to stage+1: 0 → 2, 1 → 3, 2 → 4, 3 → 5
 */
struct mesh {
	struct plan plan;
	struct op ops[STAGES][OPS];
};

static int add(struct mesh *m, int stage, struct op op)
{
	struct role *r = &m->plan.roles[stage];
	op.queue = QUEUE_COMMUNICATION;
	m->ops[stage][r->op_count] = op;
	r->step.end = r->epilogue.begin = r->epilogue.end = r->evaluate.begin = r->evaluate.end = r->op_count + 1;
	return r->op_count++;
}

static void mesh_init(struct mesh *m)
{
	memset(m, 0, sizeof *m);
	m->plan.ranks = 6;
	m->plan.role_count = STAGES;
	plan_add_axis(&m->plan, "stage", STAGES, false);
	plan_add_axis(&m->plan, "shard", 2, true);
	for (int i = 0; i < STAGES; i++)
		m->plan.roles[i] = (struct role){.name = "stage", .first_rank = 2 * i, .ranks = 2, .ops = m->ops[i]};
}

static const struct op send = {.kind = OP_SEND, .axes = STAGE, .neighbour = 1},
                       receive = {.kind = OP_RECEIVE, .axes = STAGE, .neighbour = -1},
                       gather = {.kind = OP_ALL_GATHER, .axes = SHARD},
                       ends = {.kind = OP_ALL_REDUCE, .axes = STAGE, .ends_only = true},
                       along = {.kind = OP_ALL_REDUCE, .axes = STAGE}, all = {.kind = OP_SUM};

static void check_participants(const struct instance *x, int count, const int (*want)[2])
{
	ck_assert_int_eq(x->participant_count, count);
	for (int i = 0; i < count; i++) {
		ck_assert_int_eq(x->participants[i].role, want[i][0]);
		ck_assert_int_eq(x->participants[i].op, want[i][1]);
	}
}

/* The groups of an instance, each a row of ranks. */
static void check_groups(const struct rendezvous *v, const struct instance *x, int groups, int members,
                         const int64_t *want)
{
	ck_assert_int_eq(x->missing, 0);
	ck_assert_int_eq(instance_groups(v, x), groups);
	ck_assert_int_eq(instance_members(v, x), members);
	for (int g = 0; g < groups; g++)
		for (int i = 0; i < members; i++) {
			int64_t rank = want[g * members + i];
			ck_assert_int_eq(instance_group(v, x, rank), g);
			ck_assert_int_eq(instance_member(v, x, rank), i);
			for (int k = 0; k < members; k++)
				ck_assert_int_eq(instance_rank(v, x, rank, k), want[g * members + k]);
		}
}

START_TEST(groups_follow_from_axes)
{
	struct mesh m;
	struct rendezvous v;
	mesh_init(&m);
	int first = add(&m, 0, send), own = add(&m, 0, gather), tied = add(&m, 0, ends), column = add(&m, 0, along);
	int world = add(&m, 0, all);
	add(&m, 1, receive);
	int second = add(&m, 1, send), inner = add(&m, 1, gather);
	add(&m, 1, along);
	add(&m, 1, all);
	add(&m, 2, receive);
	add(&m, 2, gather);
	add(&m, 2, ends);
	add(&m, 2, along);
	add(&m, 2, all);
	rendezvous_init(&v, &m.plan, SECTION_STEP);
	const struct role *r = m.plan.roles;
	ck_assert_int_eq(v.instance_count, 8); /* 2 messages, 3 gathers, ends, along, all */

	check_participants(rendezvous_instance(&v, &r[0], first), 2, (const int[][2]){{0, 0}, {1, 0}});
	check_groups(&v, rendezvous_instance(&v, &r[0], first), 2, 2, (const int64_t[]){0, 2, 1, 3});
	check_participants(rendezvous_instance(&v, &r[1], second), 2, (const int[][2]){{1, 1}, {2, 0}});
	check_groups(&v, rendezvous_instance(&v, &r[1], second), 2, 2, (const int64_t[]){2, 4, 3, 5});
	check_participants(rendezvous_instance(&v, &r[0], own), 1, (const int[][2]){{0, 1}});
	check_groups(&v, rendezvous_instance(&v, &r[0], own), 1, 2, (const int64_t[]){0, 1});
	check_groups(&v, rendezvous_instance(&v, &r[1], inner), 1, 2, (const int64_t[]){2, 3});
	check_participants(rendezvous_instance(&v, &r[0], tied), 2, (const int[][2]){{0, 2}, {2, 2}});
	check_groups(&v, rendezvous_instance(&v, &r[0], tied), 2, 2, (const int64_t[]){0, 4, 1, 5});
	ck_assert_int_eq(instance_member(&v, rendezvous_instance(&v, &r[0], tied), 2), -1);
	check_participants(rendezvous_instance(&v, &r[0], column), 3, (const int[][2]){{0, 3}, {1, 3}, {2, 3}});
	check_groups(&v, rendezvous_instance(&v, &r[0], column), 2, 3, (const int64_t[]){0, 2, 4, 1, 3, 5});
	check_groups(&v, rendezvous_instance(&v, &r[0], world), 1, 6, (const int64_t[]){0, 1, 2, 3, 4, 5});
	rendezvous_release(&v);
}

/* Messages both ways between two roles are two channels, and so are those to the role before and behind. */
START_TEST(messages_meet_by_direction_and_order)
{
	struct mesh m;
	struct rendezvous v;
	struct op back = send, from_behind = receive;
	back.neighbour = -1;
	from_behind.neighbour = 1;
	mesh_init(&m);
	int down = add(&m, 0, send), down_2 = add(&m, 0, send), up = add(&m, 0, from_behind);
	add(&m, 1, back); /* comes first here, and meets what comes last there */
	add(&m, 1, receive);
	add(&m, 1, receive);
	int on = add(&m, 1, send);
	add(&m, 2, receive);
	rendezvous_init(&v, &m.plan, SECTION_STEP);
	ck_assert_int_eq(v.instance_count, 4);
	check_participants(rendezvous_instance(&v, m.plan.roles, down), 2, (const int[][2]){{0, 0}, {1, 1}});
	check_participants(rendezvous_instance(&v, m.plan.roles, down_2), 2, (const int[][2]){{0, 1}, {1, 2}});
	check_participants(rendezvous_instance(&v, m.plan.roles, up), 2, (const int[][2]){{0, 2}, {1, 0}});
	check_groups(&v, rendezvous_instance(&v, m.plan.roles, up), 2, 2, (const int64_t[]){2, 0, 3, 1});
	check_participants(rendezvous_instance(&v, &m.plan.roles[1], on), 2, (const int[][2]){{1, 3}, {2, 0}});
	rendezvous_release(&v);
}

START_TEST(roles_that_do_not_come_are_missing)
{
	struct mesh m;
	struct rendezvous v;
	mesh_init(&m);
	int world = add(&m, 0, all), twice = add(&m, 0, all), lost = add(&m, 0, send), tied = add(&m, 0, ends);
	add(&m, 1, all);
	int behind = add(&m, 2, send); /* behind the last stage there is none */
	add(&m, 2, all);
	rendezvous_init(&v, &m.plan, SECTION_STEP);
	ck_assert_int_eq(rendezvous_instance(&v, m.plan.roles, world)->missing, 0);
	ck_assert_int_eq(rendezvous_instance(&v, m.plan.roles, twice)->missing, 2);
	ck_assert_int_eq(rendezvous_instance(&v, m.plan.roles, lost)->missing, 1);
	ck_assert_int_eq(rendezvous_instance(&v, m.plan.roles, tied)->missing, 1);
	ck_assert_int_eq(rendezvous_instance(&v, &m.plan.roles[2], behind)->missing, 1);
	rendezvous_release(&v);
}

/* ---- plans of strategies ---- */

static const struct {
	const char *strategy;
	int64_t ranks;
} plans[] = {{"ddp", 4},  {"dp", 4},     {"zero2", 3},    {"zero3", 4},
             {"fsdp", 2}, {"tensor", 2}, {"pipeline", 4}, {"hybrid:shard=2", 6}};

/* Every rank finds itself at its own place, and all members of its group find the same group. */
static void check_rank(const struct rendezvous *v, const struct instance *x, int64_t rank)
{
	int64_t own = instance_member(v, x, rank), n = instance_members(v, x);
	ck_assert_int_eq(x->missing, 0);
	ck_assert_int_eq(instance_rank(v, x, rank, own), rank);
	for (int64_t i = 0; i < n; i++) {
		int64_t there = instance_rank(v, x, rank, i);
		ck_assert_ptr_nonnull(instance_participant(v, x, there));
		ck_assert_int_eq(instance_member(v, x, there), i);
		ck_assert_int_eq(instance_group(v, x, there), instance_group(v, x, rank));
	}
	ck_assert_int_lt(instance_group(v, x, rank), instance_groups(v, x));
}

START_LOOP_TEST(ranks_find_their_group, 0, COUNT(plans))
{
	const struct plan *p = right_plan(GPT " %s ranks=%d accumulate=2", plans[_i].strategy, (int)plans[_i].ranks);
	int64_t places = 0, met = 0;
	for (int k = 0; k < SECTION_KINDS; k++) {
		struct rendezvous v;
		rendezvous_init(&v, p, (enum section_kind)k);
		for (int i = 0; i < v.instance_count; i++)
			places += instance_groups(&v, &v.instances[i]) * instance_members(&v, &v.instances[i]);
		for (int64_t rank = 0; rank < p->ranks; rank++) {
			const struct role *r = plan_role_of(p, rank);
			const struct section *s = section_of(r, (enum section_kind)k);
			for (int op = s->begin; op < s->end; op++) {
				if (rendezvous_number(&v, r, op) < 0)
					continue;
				met++;
				check_rank(&v, rendezvous_instance(&v, r, op), rank);
			}
		}
		rendezvous_release(&v);
	}
	ck_assert_int_gt(met, 0);
	ck_assert_int_eq(met, places);
}

static int count_instances(int ranks)
{
	struct rendezvous v;
	rendezvous_init(&v, made_plan("gpt3-175b zero3 ranks=%d", ranks), SECTION_STEP);
	int count = v.instance_count;
	rendezvous_release(&v);
	return count;
}

START_TEST(instances_do_not_grow_with_ranks)
{
	ck_assert_int_gt(count_instances(8), 0);
	ck_assert_int_eq(count_instances(16384), count_instances(8));
}

SUITE("rendezvous", 0)
