/* The panel "what if": settings changed while one looks (viz/scene/whatif.h draws it). Changes are values of rows, as
 * a user would write them behind the options that were given; so a step that was changed is the one that `view`, `sim`
 * and `compare` make of the same options.
 */
#ifndef SHARDLAB_VIEW_WHATIF_H
#define SHARDLAB_VIEW_WHATIF_H

#include "cli/command/view_load.h"
#include "viz/scene/whatif.h"

/* The changed value of each row; "": unchanged. */
struct changes {
	char value[WHATIF_ROWS][WHATIF_VALUE];
};

bool changes_equal(const struct changes *a, const struct changes *b);
bool changes_any(const struct changes *c);
/* "ranks=8,bucket=1MB", and back. A row that is not known, or an empty value, is STATUS_INPUT. */
void changes_print(const struct changes *c, char *out, size_t size);
enum status changes_read(struct changes *c, const char *text);

enum { CLUSTER_TEXT = 512 };

/* The settings of a strategy, resolved, and the cluster, with the changes made to what the options say. */
enum status changes_settings(const struct changes *c, const struct options *o, const char *strategy,
                             struct settings *out, char cluster[CLUSTER_TEXT]);
/* Another value of a row: so many places on (or, with `to`, that place), or the text. A value that is what it was
 * without the change is none. base: the step without changes. STATUS_INPUT: there is no such place. */
enum status changes_step(struct changes *c, const struct options *o, const struct loaded *base,
                         const struct loaded *now, int row, int number, bool to);
enum status changes_type(struct changes *c, const struct options *o, const struct loaded *now, int row,
                         const char *text);

/* Leaves out what changes nothing. */
void changes_simplify(struct changes *c, const struct options *o, const char *strategy);
/* The ranks and the batch that a step has, said whole; 0: as it was. */
void changes_set_batch(struct changes *c, int64_t ranks, int64_t batch, int64_t accumulate);

/* Fills the rows and figures. before: NULL where the strategy makes sense with the changes alone. */
void panel_fill(struct whatif *w, const struct changes *c, const struct loaded *base, const struct loaded *before,
                const struct loaded *now);

#endif
