/* Reports as text for people. */
#ifndef SHARDLAB_SHOW_H
#define SHARDLAB_SHOW_H

#include <stdio.h>

#include "cli/show/table.h"
#include "strategy/trace/report.h"

/* The settings that a heading names. */
enum { SHOW_PRECISION = 1, SHOW_CHECKPOINTING = 2, SHOW_OFFLOAD = 4, SHOW_MICRO = 8, SHOW_OTHERS = 16, SHOW_ALL = 31 };

/* "fsdp:reshard=no on 4 ranks · gpt:vocabulary=512, 4,837,376 parameters · fp32 · batch 16 = 4 ranks × 4 ·
 * sequence 128 · clip 1 · seed 7 · cluster local · grain operation · shardlab 0.1" */
void show_heading(const struct report *r, unsigned settings, FILE *out);

/* One report, in full: what `sim` prints. */
void show_report(const struct report *r, FILE *out);

/* The change that would make it fit, or the part of the work to reduce. Prints nothing if none was looked for. */
void show_change(const struct report *r, FILE *out);

enum style show_fit_style(const struct report *r);

/* Several, a column for each role of each. */
struct column {
	const char *heading; /* "zero2", "predicted" */
	const struct report *report;
};
/* The fastest step among the columns that fit; INT64_MAX: none does. */
int64_t show_fastest_step(const struct column *columns, int count);
/* Whether two take the batch in other micro-batches; `single`, which has one rank for all of it, is no other. */
bool show_micros_differ(const struct column *columns, int count);
void show_columns(const struct column *columns, int count, FILE *out);
/* Names the strategies that divide more over the ranks than another and still take more memory at the peak. Prints
 * nothing if there are none. */
void show_departure(const struct column *columns, int count, FILE *out);
/* A pipeline's bubble in closed form, beside the report's; nothing of other plans. `whose` begins the line. */
void show_bubble(const struct report *r, const char *whose, FILE *out);

/* Figures of activation checkpointing; nothing where it is not used. The first column is the prediction. */
void show_checkpointing(const struct column *columns, int count, FILE *out);

/* The same figures, exact, a line for each role of each. */
void show_csv(const struct column *columns, int count, FILE *out);

/* Figures that only a real run has: losses, validation, checksum, memory as the operating system sees it. */
void show_run(const struct report *r, FILE *out);
const char *show_units(const struct report *r); /* the model's unit of data: "tokens" or "samples" */

/* The tables of one report. Memory: by category, a pair of columns for each role; of the other spaces nothing where
 * nothing is offloaded. */
void show_space(const struct report *r, int space, FILE *out);
void show_spaces(const struct report *r, FILE *out);    /* the host's and the disk's */
void show_traffic(const struct report *r, FILE *out);   /* and copies between spaces */
void show_gathering(const struct report *r, FILE *out); /* the epilogue's time and memory, if it gathers the weights */

/* Many combinations as one table, a line each: what fits, how much memory the fullest rank takes and what most of it
 * is, what it sends, and how long a step is and waits. Settings that are the same for all are left to the heading,
 * which is made of `heading`. */
void show_grid(const struct report *heading, const struct column *columns, int count, FILE *out);

/* GPU memory beside the arena, as runs measured it: a column for each run, of the role that uses most; nothing if no
 * run was on GPUs. Begins with an empty line. */
void show_overhead(const struct column *columns, int count, FILE *out);

/* The role whose ranks take most of the device's memory. */
const struct report_role *show_fullest(const struct report *r);
/* True if a role is shown. Of many roles (the stages of a long pipeline), the first, the fullest and the last are. */
bool show_has_role(const struct report *r, int role);

/* The owner of the fullest memory: a "device", a "node" (on CPUs devices are in it), a "disk". */
const char *show_memory_name(const struct report_tightest *t);

/* True if the model is params=, whose times mean little. */
bool show_is_states_only(const struct report *r);
/* Says what the figures of such a model leave out; nothing for other models. */
void show_model_note(const struct report *r, FILE *out);

/* A line that says that times rest on assumed rates, if they do. */
void show_rates(const struct report *r, FILE *out);

#endif
