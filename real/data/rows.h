/* A dataset of rows. Between the parts of real/data. */
#ifndef SHARDLAB_DATA_ROWS_H
#define SHARDLAB_DATA_ROWS_H

#include "real/data/data.h"
#include "real/data/sources.h"
#include "real/data/table.h"

enum status dataset_open_rows(struct dataset *d, const struct sources *s, const struct dataset_spec *spec);

/* Finishes the table, which is the dataset's then, after a failure too. training: rows before those to validate with;
 * 0: every tenth row is. how: "columns", "whole" or "none", and "" for what suits. */
enum status dataset_take_rows(struct dataset *d, const struct table *table, int64_t training, const char *how);

#endif
