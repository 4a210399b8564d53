/* Stacks: files and their errors, what classes give, the catalogue, and how they stand behind a cluster. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "strategy/cluster/effective.h"
#include "strategy/cluster/links.h"
#include "tests/support/plan_check.h"
#include "tests/support/refusal.h"
#include "tests/support/scratch.h"
#include "tests/support/suite.h"

static enum status read_text(struct stack *s, const char *text)
{
	return stack_read(s, text, strlen(text), "mine.yaml", "");
}

static char *print_of(const struct stack *s)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	ck_assert_ptr_nonnull(out);
	stack_print(s, out);
	fclose(out);
	return text;
}

/* Given values count, and the class gives the rest. */
START_TEST(classes_give_the_rest)
{
	struct stack s, class;
	must(read_text(&s,
	               "name: mine\nclass: megatron\ncard: hopper\nproduct: {share: 0.61}\nstep: {constant: 2e-3}\n"));
	must(stack_open(&class, "megatron", "hopper"));
	for (int i = 0; i < STACK_VALUES; i++)
		if (i == STACK_PRODUCT_SHARE)
			ck_assert_int_eq(s.value[i], 610000);
		else if (i == STACK_STEP_CONSTANT)
			ck_assert_int_eq(s.value[i], 2000000);
		else
			ck_assert_int_eq(s.value[i], class.value[i]);
	ck_assert(stack_is_class(&s));
}

static const struct {
	const char *text, *says;
} bad[] = {
        {"", "mine.yaml:1:1: empty; a stack file begins with"},
        {"name: x\ncard: ampere\n", "mine.yaml:1:1: 'class' is missing"},
        {"name: x\nclass: fused\n", "mine.yaml:1:1: 'card' is missing"},
        {"class: fused\ncard: ampere\n", "mine.yaml:1:1: 'name' is missing"},
        {"name: x\nclass: quick\ncard: ampere\n", "mine.yaml:2:8: class 'quick' is not one of: pytorch-eager|"},
        {"name: x\nclass: fused\ncard: pascal\n", "mine.yaml:3:7: card 'pascal' is not one of: volta|"},
        {"name: x\nclass: fused\ncard: ampere\nproduct: {share: 1.2}\n",
         "mine.yaml:4:18: product.share is 1.2, above the ceiling"},
        {"name: x\nclass: fused\ncard: ampere\nnetwork:\n  between: 3\n",
         "mine.yaml:5:12: network.between is 3, above the ceiling"},
        {"name: x\nclass: fused\ncard: ampere\nproduct: {share: 0}\n", "mine.yaml:4:18: product.share"},
        {"name: x\nclass: fused\ncard: ampere\nproduct: {rate: 0.5}\n", "unknown key 'rate' in product"},
        {"name: x\nclass: fused\ncard: ampere\nspeed: {share: 0.5}\n", "unknown key 'speed'"},
        {"name: x\nclass: fused\ncard: ampere\nfit: {rows: 0}\n", "mine.yaml:4:13: fit.rows"},
        {"name: x\nclass: fused\ncard: ampere\nfit: {width_least: 64}\n", "mine.yaml:4:6: fit: 'rows' is missing"},
        {"name: x\nclass: fused\ncard: ampere\nfit: {rows: 1, ranks_least: 9, ranks_most: 8}\n",
         "mine.yaml:4:6: fit: ranks_least is 9, above ranks_most, 8"},
        {"name: [x\n", "not YAML"},
        {"[[[[[[[[[[[[[[[[[[[[", "a stack file is flat"},
};

START_LOOP_TEST(bad_files, 0, COUNT(bad))
{
	struct stack s;
	must_fail(read_text(&s, bad[_i].text), STATUS_INPUT, bad[_i].says);
}

/* Behind a cluster that says its card, a stack of another is refused where its file says so. */
START_TEST(another_card)
{
	struct stack s;
	static const char text[] = "name: x\nclass: fused\ncard: hopper\n";
	must(stack_read(&s, text, strlen(text), "mine.yaml", "hopper"));
	must_fail(stack_read(&s, text, strlen(text), "mine.yaml", "ampere"), STATUS_INPUT,
	          "mine.yaml:3:7: the stack is for hopper, and the cluster's card is ampere");
}

static void check_entry(void *context, const char *name, const char *what)
{
	static const char *const clusters[] = {"a100-80gb", "h100", "v100-16gb", "rtx-4090", "b200", "t4", "mi300x"};
	int *found = context, opened = 0;
	ck_assert_uint_gt(strlen(what), 5);
	for (int i = 0; i < COUNT(clusters); i++) {
		struct cluster c;
		struct stack again;
		char behind[128];
		snprintf(behind, sizeof behind, "%s:stack=%s", clusters[i], name);
		if (cluster_open(&c, behind, 16)) {
			ck_assert_ptr_nonnull(strstr(status_message(), "this cluster's card is"));
			continue;
		}
		opened++;
		ck_assert_str_eq(c.name, clusters[i]); /* the stack is no part of it */
		if (!strcmp(name, STACK_CEILING)) {
			ck_assert_str_eq(c.stack.name, "");
			continue;
		}
		ck_assert_str_eq(c.stack.name, name);
		ck_assert_str_eq(c.stack.card, c.card);
		for (int k = 0; k < STACK_OF_CLASS; k++)
			ck_assert_int_ge(c.stack.value[k], 0);
		/* what is printed is what is read */
		char *text = print_of(&c.stack);
		must(stack_read(&again, text, strlen(text), name, c.card));
		char *text_again = print_of(&again);
		ck_assert_str_eq(text, text_again);
		free(text);
		free(text_again);
		cluster_release(&c);
	}
	ck_assert_int_gt(opened, 0);
	*found += 1;
}

START_TEST(the_catalogue)
{
	int found = 0;
	stack_list(check_entry, &found);
	ck_assert_int_ge(found, 5);
}

/* Links, nodes and a stack stand behind a cluster in any order. */
START_TEST(behind_a_cluster)
{
	struct cluster c;
	must(cluster_open(&c, "a100-80gb:stack=fused:link=50GB:node=4:nic=1600", 8));
	ck_assert_str_eq(c.name, "a100-80gb:link=50GB:node=4:nic=1600");
	ck_assert_str_eq(c.stack.name, "fused");
	ck_assert_int_eq(c.devices, 4);
	ck_assert_int_eq(c.link.bandwidth.value, 50000 * c.stack.value[STACK_NETWORK_INSIDE]);
	/* 1600 Gb/s are 192 GB/s as NCCL has it, over 8 rails */
	ck_assert_int_eq(c.network.bandwidth.value, 24000 * c.stack.value[STACK_NETWORK_BETWEEN]);
	cluster_release(&c);
}

static const struct {
	const char *cluster, *stack;
} unnamed[] = {
        {"a100-80gb", "fused"},
        {"h100:link=50GB", "fused"},
        {"local-cuda", "fused"}, /* not calibrated here: an H100's data sheet */
        {"h100:class=deepspeed", "deepspeed"},
        {"h100:class=deepspeed:stack=megatron", "megatron"},
        {"h100:stack=ceiling", ""},
        {"h100:class=deepspeed:stack=ceiling", ""},
        {"laptop", ""},
        {"laptop:class=deepspeed", ""},
        {"laptop:stack=ceiling", ""},
};

/* GPUs of which nothing was measured have a class where no stack is named. */
START_LOOP_TEST(without_a_name, 0, COUNT(unnamed))
{
	struct cluster c;
	setenv("SHARDLAB_CONFIG", "/nonexistent/local.yaml", 1);
	must(cluster_open(&c, unnamed[_i].cluster, 1));
	ck_assert_str_eq(c.stack.name, unnamed[_i].stack);
	ck_assert_int_eq(c.stack.by_default, *c.stack.name && strcmp(c.stack.name, "megatron") != 0);
	if (*c.stack.name)
		ck_assert_int_lt(c.link.bandwidth.value, c.unscaled.link);
	cluster_release(&c);
}

/* A file of one's own: its ceilings as the catalogue's, unless a rate was measured, or it does not say its card. */
START_TEST(files_without_a_name)
{
	static const char *const changes[][2] = {
	        {"", ""}, {"launch: 2e-6", "launch: {measured: 2e-6, min: 1e-6, max: 3e-6}"}, {"card: hopper\n", ""}};
	for (int i = 0; i < COUNT(changes); i++) {
		struct cluster c;
		const char *text = text_replaced(cluster_catalogue("h100"), changes[i][0], changes[i][1]);
		scratch_make();
		must(cluster_open(&c, scratch_text("it.yaml", text), 1));
		ck_assert_str_eq(c.stack.name, i ? "" : "fused");
		cluster_release(&c);
		scratch_remove();
	}
}

START_TEST(refused_behind_a_cluster)
{
	struct cluster c;
	must_fail(cluster_open(&c, "a100-80gb:class=slow", 1), STATUS_INPUT, "unknown stack 'slow'");
	must_fail(cluster_open(&c, "laptop:stack=fused", 1), STATUS_INPUT, "is of CPUs");
	must_fail(cluster_open(&c, "a100-80gb:stack=fussed", 1), STATUS_INPUT, "did you mean fused");
	must_fail(cluster_open(&c, "a100-80gb:stack=./nowhere.yaml", 1), STATUS_INPUT, "nowhere.yaml");
	must_fail(cluster_open(&c, "laptop:node=2", 1), STATUS_INPUT, "how many GPUs a node has");
	must_fail(cluster_open(&c, "a100-80gb:node=0", 1), STATUS_INPUT, "node");
	must_fail(cluster_open(&c, "a100-80gb:clock=1.5", 1), STATUS_INPUT, "clock: '1.5' is above 1");
	must_fail(cluster_open(&c, "laptop:memory=1GB", 1), STATUS_INPUT, "is of a GPU");
	must_fail(cluster_open(&c, "laptop:nic=100", 1), STATUS_INPUT, "has no 'network'");
}

/* As people count devices. */
START_TEST(counted_devices)
{
	static const struct {
		const char *typed, *cluster;
		int64_t ranks;
		bool of_nodes;
	} rows[] = {{"8xh100", "h100:node=8", 8, false},
	            {"8XH100:link=50GB", "h100:node=8:link=50GB", 8, false},
	            {"2x4xa100-80gb", "a100-80gb:node=4", 8, true},
	            {"4\xc3\x97l4", "l4:node=4", 4, false},
	            {"2xp4d.24xlarge", "p4d.24xlarge", 16, true},
	            {"2x4xp4d.24xlarge", "p4d.24xlarge:node=4", 8, true},
	            {"8xno-such-card", "no-such-card:node=8", 8, false}};
	static const char *const others[] = {"h100",   "x8",          "0xh100",
	                                     "8x",     "8x./a.yaml",  "123456xh100",
	                                     "8h100",  "4xmine.yaml", "4xmine.yml:link=50GB",
	                                     "8xlocal"};
	struct links_count count;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		ck_assert(links_counted(rows[i].typed, &count));
		ck_assert_str_eq(count.cluster, rows[i].cluster);
		ck_assert_int_eq(count.ranks, rows[i].ranks);
		ck_assert_int_eq(count.of_nodes, rows[i].of_nodes);
	}
	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		ck_assert_msg(!links_counted(others[i], &count), "%s", others[i]);
}

/* Whoever rents a machine out says so first. */
static void check_machine(void *context, const char *name, const char *what)
{
	static const char *const makers[] = {"AWS: ", "Google Cloud: ", "Azure: "};
	int *machines = context;
	bool rented = false;
	for (size_t i = 0; i < sizeof makers / sizeof *makers; i++)
		rented |= !strncmp(what, makers[i], strlen(makers[i]));
	ck_assert_msg(cluster_is_machine(name) == (rented || !strcmp(name, "dgx-2")), "%s", name);
	*machines += rented;
}

START_TEST(rented_machines_are_whole)
{
	int machines = 0;
	cluster_list(check_machine, &machines);
	ck_assert_int_gt(machines, 0);
	ck_assert(!cluster_is_machine("p4")); /* the beginning of a name */
}

SUITE("stacks", 0)
