/* The fields of a stack file, made of STACK_LIST. */
#ifndef SHARDLAB_STACK_FIELDS_H
#define SHARDLAB_STACK_FIELDS_H

#include "strategy/cluster/fields.h"
#include "strategy/cluster/stack.h"

const struct field *stack_field(int value);

#endif
