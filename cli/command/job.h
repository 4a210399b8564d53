/* A job: one strategy with its model and its plan, verified and ready to be printed, simulated or run; and what
 * commands do with one.
 *
 *     struct settings s;
 *     struct job j;
 *     struct report r = {0};
 *     enum status status = options_settings(&options, &s);
 *     …
 *     status = job_open(&j, &s);               // model, compile, verify
 *     status = job_predict(&j, "a100-80gb", GRAIN_OPERATION, 0, NULL, &r);
 *     job_release(&j);
 */
#ifndef SHARDLAB_JOB_H
#define SHARDLAB_JOB_H

#include <jansson.h>

#include "cli/options/options.h"
#include "sim/sim.h"
#include "strategy/model/model.h"
#include "strategy/plan/plan.h"

struct job {
	struct settings settings; /* resolved */
	struct model model;
	struct plan plan;
	bool verified;
	bool from_file;     /* the plan was read, not compiled */
	int64_t ranks_each; /* of each host, where they are on several; else 0 */
	bool tf32;          /* predict with the cluster's rates of tf32 where it has any; the report says whether */
};

/* Opens the model, compiles the plan and verifies it. On failure `j` is released. */
enum status job_open(struct job *j, const struct settings *settings);
void job_release(struct job *j); /* accepts NULL and a zeroed struct */
/* To another place: the plan refers to the model, which moves with it. `from` is zeroed. */
void job_move(struct job *to, struct job *from);

/* Refuses options that repeat what a file says. file: the option that names the file. */
enum status check_file_alone(const struct options *o, enum option file);

/* For commands that take one strategy: reads --plan if it was given, else compiles the settings. */
enum status job_from_options(struct job *j, const struct options *o);
/* The same, and the plan is not verified yet: for commands whose next step is job_predict. */
enum status job_to_predict(struct job *j, const struct options *o);

/* The collective of that name alone, in place of a strategy (strategy/strategies/alone.h), by --ranks and --bytes:
 * without --bytes two elements a rank. where: what the name was given to. */
enum status job_alone(struct job *j, const struct options *o, const char *where, const char *name);

/* --cluster; where ranks compute on GPUs, `local` is this machine's: `local-cuda`. */
const char *job_cluster(const struct options *o);

/* Simulates one step on a cluster; a plan that is not verified yet is verified meanwhile. threads: of each rank on a cpu, 0: as the cluster says. trace: NULL, or zeroed. */
enum status job_predict(struct job *j, const char *cluster, enum grain grain, int64_t threads, struct trace *trace,
                        struct report *out);
/* The step that ranks of this machine will take, with the threads and products that the options name. */
enum status job_predict_run(struct job *j, const struct options *o, struct report *out);
/* STATUS_INPUT, with the cheapest change, if that step does not fit this machine's memory: its ranks would end in the
 * kernel's hands. --force goes on, and so does a --cluster that is not this machine. */
enum status job_check_fits(const struct job *j, const struct options *o, const struct report *predicted);
/* A job that is only simulated: opened, predicted and released. */
enum status job_simulate(const struct settings *settings, const char *cluster, enum grain grain, struct report *out);
/* Finds a change that would make a plan fit which does not: the same for `sim` and `compare`. */
enum status job_find_change(const struct settings *settings, const char *cluster, struct report_change *out);
enum status job_require_fit(const struct report *r); /* STATUS_CHECK */

/* ---- lists of strategies ---- */

enum { MEMBERS = 32 };

/* The settings of each strategy of a list, resolved: `single` stands for one rank with the same global batch. */
struct members {
	struct settings member[MEMBERS];
	int count;
};

/* Splits --strategy at the commas; `all` stands for all seven. A --micro-batch that is given holds for those that serve
 * the same samples on all ranks too, which take the global batch in more of them. */
enum status members_from_options(struct members *m, const struct options *o);
/* Another strategy beside one whose settings are resolved: with the same global batch in as many micro-batches. */
enum status settings_beside(struct settings *out, const struct settings *base, const char *strategy);

/* ---- output ---- */

/* Prints an object on stdout, on one line or indented, and takes the reference. */
void print_json(json_t *object, bool one_line);

#endif
