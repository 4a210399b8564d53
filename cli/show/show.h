/* Reports as text for people. */
#ifndef SHARDLAB_SHOW_H
#define SHARDLAB_SHOW_H

#include <stdio.h>

#include "strategy/trace/report.h"

/* Which settings a heading names. */
enum { SHOW_PRECISION = 1, SHOW_CHECKPOINTING = 2, SHOW_OFFLOAD = 4, SHOW_ALL = 7 };

/* "zero2 on 4 ranks · gpt, 4,837,376 parameters · fp32 · batch 16 = 4 ranks × 4 · sequence 128" */
void show_heading(const struct report *r, unsigned settings, FILE *out);

/* One report, in full: what `sim` prints. */
void show_report(const struct report *r, FILE *out);

/* Several, a column for each role of each. */
struct column {
	const char *heading; /* "zero2", "predicted" */
	const struct report *report;
};
void show_columns(const struct column *columns, int count, FILE *out);
/* A pipeline's bubble in closed form, beside the report's; nothing of other plans. `whose` begins the line. */
void show_bubble(const struct report *r, const char *whose, FILE *out);
void show_bubbles(const struct column *columns, int count, FILE *out);

/* What activation checkpointing has to say besides: nothing where it is not used. The first column is the prediction.
 */
void show_checkpointing(const struct column *columns, int count, FILE *out);

/* The same figures, exact, a line for each role of each. */
void show_csv(const struct column *columns, int count, FILE *out);

/* What a measured run has besides: losses, validation, checksum, memory as the operating system sees it. */
void show_run(const struct report *r, FILE *out);

/* The tables of one report. Memory: by category, a pair of columns for each role; of the other spaces nothing where
 * nothing is offloaded. */
void show_space(const struct report *r, int space, FILE *out);
void show_spaces(const struct report *r, FILE *out);  /* the host's and the disk's */
void show_traffic(const struct report *r, FILE *out); /* and copies between spaces */

/* Many combinations as one table, a line each: what fits, how much memory the fullest rank takes and what most of it
 * is, what it sends, and how long a step is and waits. Settings that are the same for all are left to the heading,
 * which is made of `heading`. */
void show_grid(const struct report *heading, const struct column *columns, int count, FILE *out);

/* What a GPU's memory holds beside the arena, as runs measured it: a column for each, of the role with the most of it;
 * nothing if none was on GPUs. Begins with an empty line. */
void show_overhead(const struct column *columns, int count, FILE *out);

/* The role whose ranks take most of the device's memory. */
const struct report_role *show_fullest(const struct report *r);
/* Of many roles (the stages of a long pipeline) the first, the one that needs most, and the last are shown. */
bool show_has_role(const struct report *r, int role);

/* What the fullest memory belongs to: a "device", a "node" (on CPUs devices are in it), a "disk". */
const char *show_memory_name(const struct report_tightest *t);

/* Is the model params=, whose times mean little? */
bool show_is_states_only(const struct report *r);
/* What its figures leave out; nothing of other models. */
void show_model_note(const struct report *r, FILE *out);

/* A line that says on which rates times rest, where they are not measured. */
void show_rates(const struct report *r, FILE *out);

#endif
