/* The part of a report's list (report_json.c) that only a real run has. */
#ifndef SHARDLAB_REPORT_FORM_H
#define SHARDLAB_REPORT_FORM_H

#include "strategy/trace/json_form.h"
#include "strategy/trace/report.h"

void report_form_run(struct form *f, struct report *r);

#endif
