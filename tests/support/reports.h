/* Reports in tests with Check: of what a plan says, of its simulation, of training. They stay until the program ends.
 *
 *     const struct report *r = report_simulated_on(right_plan("gpt ddp ranks=4"), "laptop", GRAIN_MESSAGE, NULL);
 */
#ifndef SHARDLAB_TESTS_REPORTS_H
#define SHARDLAB_TESTS_REPORTS_H

#include "real/train/train.h"
#include "sim/sim.h"

struct report *report_kept(void); /* empty */
const struct report *report_planned(const struct plan *p);
/* trace: NULL: none */
const struct report *report_simulated(const struct plan *p, const struct cluster *c, enum grain grain,
                                      struct trace *trace);
const struct report *report_simulated_on(const struct plan *p, const char *cluster, enum grain grain,
                                         struct trace *trace);
const struct report *report_trained(const struct train_options *o);

#endif
