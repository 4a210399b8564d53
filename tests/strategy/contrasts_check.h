/* For the tests of model, pipeline and hybrid. */
#ifndef SHARDLAB_CONTRASTS_CHECK_H
#define SHARDLAB_CONTRASTS_CHECK_H

#include "tests/support/plan_check.h"

#define GPT "gpt:layers=4,width=8,heads=2,context=4,vocabulary=9"
#define MLP "mlp:sizes=6-8-8-8-4"

#endif
