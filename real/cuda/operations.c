#include "real/cuda/operations.h"

#include <stddef.h>
#include <string.h>

/* Which entries of the table a kind needs, by their place in it. */
static const struct {
	int (*function)(struct cuda_device *c, const struct op *op, cuda_stream s);
	size_t entry, other;
} bound[OP_KIND_COUNT] = {
#define X(kind, function, entry, other)                                                                                \
	[OP_##kind] = {function, offsetof(struct cuda_api, entry), offsetof(struct cuda_api, other)},
        CUDA_OPERATION_LIST(X)
#undef X
};

static bool is_there(const struct cuda_api *api, size_t entry)
{
	void (*function)(void);
	memcpy(&function, (const char *)api + entry, sizeof function);
	return function != NULL;
}

/* Values that this process makes or looks at. */
bool cuda_is_synchronous(const struct op *op)
{
	return op->kind == OP_INITIALIZE || op->kind == OP_WEIGHTS || op->kind == OP_INITIALIZE_BUFFERS ||
	       op->kind == OP_SHOW_BUFFERS;
}

enum status cuda_operations_check(const struct cuda_device *c)
{
	const struct role *r = c->rank.role;
	char what[128];
	for (int i = 0; i < r->op_count; i++) {
		const struct op *op = &r->ops[i];
		bool class = op_class(op->kind) == OP_CLASS_K || op_class(op->kind) == OP_CLASS_V;
		if (!class || op->queue == QUEUE_HOST_COMPUTE || op->queue == QUEUE_DISK || cuda_is_synchronous(op))
			continue;
		if (bound[op->kind].function && is_there(c->api, bound[op->kind].entry) &&
		    is_there(c->api, bound[op->kind].other))
			continue;
		op_describe(c->rank.plan, op, what, sizeof what);
		return status_fail(STATUS_INPUT, "{device} cuda: %s: this build has no %s for GPUs; use {device} cpu",
		                   what, op_name(op->kind));
	}
	return STATUS_OK;
}

enum status cuda_device_issue(struct cuda_device *c, const struct op *op, cuda_stream s)
{
	char what[128];
	if (cuda_is_synchronous(op)) {
		int error = c->api->stream_synchronize(c->cuda, s);
		return error ? cuda_device_error(c, error, op_name(op->kind))
		             : cpu_operation_table[op->kind](&c->rank, op);
	}
	int error = bound[op->kind].function(c, op, s);
	if (!error)
		return STATUS_OK;
	op_describe(c->rank.plan, op, what, sizeof what);
	return cuda_device_error(c, error, what);
}
