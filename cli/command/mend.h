/* A change that makes a plan fit, as a command: options that a configuration (--config) says cannot be given beside it.
 *
 *     fit_find_change(&j.plan, cluster, &r.change);
 *     mend_spell(o, &j.settings, &r.change);           // change.command, where --config was given
 */
#ifndef SHARDLAB_MEND_H
#define SHARDLAB_MEND_H

#include "cli/options/options.h"
#include "strategy/trace/report.h"

/* Fills in `command`, and in `emit` the program for which --emit can write the changed settings; both stay "" without
 * --config, or without a change. s: what the change is of, resolved. */
void mend_spell(const struct options *o, const struct settings *s, struct report_change *change);

#endif
