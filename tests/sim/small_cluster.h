/* A cluster whose devices have a part of the memory that a plan needs, and the steps that fit it. */
#ifndef SHARDLAB_TESTS_SMALL_CLUSTER_H
#define SHARDLAB_TESTS_SMALL_CLUSTER_H

#include <check.h>
#include <stdio.h>
#include <unistd.h>

#include "sim/sim.h"
#include "strategy/cluster/effective.h"
#include "tests/support/cluster_text.h"
#include "tests/support/plans.h"
#include "tests/support/suite.h"

/* a100-40gb with so much memory as a part of what the plan needs besides libraries, as a file, whose path is put into
 * `path`. The caller removes it. */
static inline void small_cluster_write(char *path, size_t size, const struct plan *p, int percent)
{
	struct cluster c, opened; /* the file has no stack, so that it is opened under the card's class */
	struct report r = {0};
	ck_assert(!cluster_open(&c, "a100-40gb:stack=ceiling", p->ranks));
	ck_assert(!cluster_open(&opened, "a100-40gb", p->ranks));
	ck_assert(!sim_run(p, &c, GRAIN_OPERATION, NULL, &r));
	c.device_memory = effective_overhead(&opened) + (r.tightest.needed_bytes - c.overhead.value) * percent / 100;
	cluster_release(&opened);
	report_release(&r);
	snprintf(path, size, "%s/small_%ld.yaml", support_folder(), (long)getpid());
	FILE *f = fopen(path, "w");
	ck_assert_ptr_nonnull(f);
	cluster_print(&c, f);
	fclose(f);
	cluster_release(&c);
}

/* The step of settings on it, if it leaves a margin of its memory; -1: it does not fit, or makes no sense. */
static inline int64_t small_cluster_step(const char *path, double margin, const struct settings *s)
{
	struct made m;
	struct cluster c;
	struct report r = {0};
	int64_t step = -1;
	if (made_open(&m, s))
		return -1;
	ck_assert(!cluster_open(&c, path, m.plan.ranks));
	c.device_spared = (int64_t)(margin * (double)c.device_memory);
	if (!sim_run(&m.plan, &c, GRAIN_OPERATION, NULL, &r) && r.fits)
		step = r.time.step;
	report_release(&r);
	cluster_release(&c);
	made_release(&m);
	return step;
}

#endif
