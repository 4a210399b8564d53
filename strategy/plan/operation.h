/* One operation of a plan: its operands as the table of operations (strategy/plan/ops.def) sees them, what it moves,
 * and what it computes. */
#ifndef SHARDLAB_PLAN_OPERATION_H
#define SHARDLAB_PLAN_OPERATION_H

#include "strategy/plan/types.h"

/* ---- operands ---- */

/* 'r', 'w' or 'x' for the operand as the operation uses it ('a' resolved by its accumulate bit), 0 if absent. */
char op_access(const struct op *op, int operand);
/* The operand that stands for this part; NULL: this kind of operation has none. */
const struct region *op_region(const struct op *op, enum part part);
/* The buffer of its first operand that is there; -1. */
int op_buffer(const struct op *op);
bool op_uses(const struct op *op, int buffer);
/* True if it names the operation `other` in `after`. */
bool op_waits_for(const struct op *op, int other);
/* The sizes of which the table's expressions are made (strategy/plan/ops.h). */
struct op_sizes op_sizes_of(const struct plan *p, const struct op *op);
/* The type that an operand must have; its own, where any will do. */
enum type op_operand_type(const struct plan *p, const struct role *r, const struct op *op, int operand);
/* A batch norm that asks the other ranks. */
bool kernel_synchronises(const struct plan *p, const struct kernel *k);

/* ---- what it moves and computes ---- */

/* A collective's operation, and its schedule. Messages and other classes have OPERATION_COUNT. */
enum operation op_operation(enum op_kind k);
/* True if communication of this kind may be counted as that traffic. */
bool op_may_count_as(enum op_kind k, enum traffic_kind t);
/* Elements of the whole of which each rank has a share; a rank that has only its share knows the whole from it. */
int64_t op_whole_elements(const struct plan *p, const struct op *op);
struct schedule op_schedule(const struct plan *p, const struct op *op);
/* Elements that leave and reach `rank`, with padding. 0 for operations of other classes and for one rank. */
int64_t op_sent_bytes(const struct plan *p, const struct role *r, const struct op *op, int64_t rank);
int64_t op_received_bytes(const struct plan *p, const struct role *r, const struct op *op, int64_t rank);
int64_t op_payload_bytes(const struct role *r, const struct op *op);
int64_t op_element_bytes(const struct role *r, const struct op *op); /* a `sum` sends doubles */

/* The queue that carries an operation out, from where its operands stand; QUEUE_COUNT: none can. */
enum queue op_queue_for(const struct role *r, const struct op *op);
/* A copy between spaces: what it is counted under, and its bytes. Other operations: TRANSFER_COUNT, 0. */
enum transfer_kind op_transfer(const struct role *r, const struct op *op);
int64_t op_transfer_bytes(const struct plan *p, const struct role *r, const struct op *op);

/* It multiplies in fp8: a linear layer's product, but for that of the logits. */
bool op_is_fp8(const struct plan *p, const struct op *op);
/* The FLOPs of an operation, and the bytes that its operands read and write. */
int64_t op_flops(const struct plan *p, const struct op *op);
int64_t op_bytes(const struct plan *p, const struct role *r, const struct op *op);
/* The part of these that is a product's weights, if they are large: the rest of a step has driven them out of the
 * caches since they were last used, unlike activations that were just made. A backward pass goes down their columns. In
 * rows of whole pages these are of one set of the first cache, which holds too few lines if each piece of a row begins
 * inside one and needs two: so they come twice. */
int64_t op_weight_bytes(const struct plan *p, const struct role *r, const struct op *op);
/* The part that belongs to large tensors of a vector operation that begin inside a cache line, as what follows an odd
 * number of others in a bucket does: every other access touches two lines. */
int64_t op_straddling_bytes(const struct plan *p, const struct role *r, const struct op *op);
/* A copy of offloaded state between device and host memory that is not page-locked (--as): on a GPU it is slower, and
 * whoever asks for it waits. */
bool op_is_pageable(const struct plan *p, const struct op *op);
/* Gradients of a bucket that leave for the host, and of which each rank has not a slice there but a piece of the model,
 * one layer after another (--as …:copies=one): bytes of the rank that has the most of this bucket to copy, for which
 * the others wait. 0: an operation that is none of these. */
int64_t op_bytes_in_turn(const struct plan *p, const struct role *r, const struct op *op);
/* The type whose rates an operation takes: a kernel of the model, that of the plan; other work, that of its first
 * operand; fp32 where that holds no floating-point numbers. */
enum type op_compute_type(const struct plan *p, const struct role *r, const struct op *op);

#endif
