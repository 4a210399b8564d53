/* The cost of checkpoints: bytes of a plan's sections save and restore, the time that the ranks of a node take to move
 * them over the node's disk, which they share, and how often a run that may fail should write one.
 *
 *     struct checkpoint_cost c;
 *     s = checkpoint_cost(&plan, &cluster, &c);
 *     struct checkpoint_rhythm r = checkpoint_rhythm(&c, 6 * 3600.0);      for a run that fails every 6 hours
 *
 * The best interval and the goodput are Daly's (2006, doi 10.1016/j.future.2004.11.016). With δ the time of a
 * checkpoint, R that of a restart (noticing that a rank is lost, starting the ranks, reading) and M the mean time
 * between failures, the interval is
 *
 *     τ = √(2δM) · (1 + √(δ/2M)/3 + (δ/2M)/9) - δ          if δ < 2M, else M          (equation 37)
 *
 * and of the time that passes, this part makes steps that stay (equation 20):
 *
 *     τ / (M · e^(R/M) · (e^((τ+δ)/M) - 1))
 */
#ifndef SHARDLAB_SIM_CHECKPOINT_H
#define SHARDLAB_SIM_CHECKPOINT_H

#include "strategy/cluster/cluster.h"
#include "strategy/plan/plan.h"

struct checkpoint_cost {
	int64_t rank_bytes, bytes; /* of the rank that saves most, and of all; without the files' headers */
	int64_t read_bytes;        /* of the rank that restores most */
	double write_s, read_s;    /* of the busiest node */
	double copy_s;             /* of the state to a snapshot in host memory, which alone steps wait for then */
	double notice_s, start_s;  /* until a lost rank is noticed, and ranks are started again: the caller's, else 0 */
	bool measured;             /* the disk's rates were */
};

/* The plan has checkpoints. STATUS_INPUT: the cluster has no disk. */
enum status checkpoint_cost(const struct plan *p, const struct cluster *c, struct checkpoint_cost *out);

/* The average wait of a step, in seconds, with a checkpoint after every `every` steps of step_s. async: a checkpoint is
 * copied, and written while steps go on; the next one waits until it is written. */
double checkpoint_stall(const struct checkpoint_cost *c, bool async, int64_t every, double step_s);

struct checkpoint_rhythm {
	double interval_s; /* of steps between two checkpoints */
	double goodput;    /* in [0, 1] */
};
/* async: δ is the time of the copy, and no interval is shorter than writing takes. */
struct checkpoint_rhythm checkpoint_rhythm(const struct checkpoint_cost *c, bool async, double mtbf_s);

#endif
