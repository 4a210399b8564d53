#include "real/cpu_device.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "kernels/kernels.h"
#include "real/cpu_operations.h"
#include "strategy/base/number.h"

#define LARGE_PAGE ((int64_t)2 << 20)
#define GUARD_BYTE 0xa5
#define POISON_BYTE 0xff /* 0xffffffff is a NaN, and no token */

enum status cpu_device_open(struct cpu_device *d, const struct plan *p, int64_t rank, const struct input_source *input,
                            bool guard)
{
	*d = (struct cpu_device){.plan = p, .role = plan_role_of(p, rank), .rank = rank, .guard = guard};
	if (input)
		d->input = *input;
	layout_make(&d->layout, p, d->role, guard ? CPU_DEVICE_GUARD : 0);
	d->arena_bytes = d->layout.arena_bytes[SPACE_DEVICE];
	/* Pages come when they are first touched, so a rank under a memory limit takes what it uses. Large pages make
	 * the kernel's copies between ranks several times as cheap, and have to be asked for. */
	d->mapped_bytes = (size_t)d->arena_bytes + LARGE_PAGE;
	d->mapped = mmap(NULL, d->mapped_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (d->mapped == MAP_FAILED) {
		d->mapped = NULL;
		int64_t bytes = d->arena_bytes;
		cpu_device_release(d);
		return status_fail(
		        STATUS_RUN,
		        "no memory for an arena of %lld bytes; use more ranks, a smaller batch, or a strategy "
		        "that shards more",
		        (long long)bytes);
	}
	d->arena = (unsigned char *)round_up((int64_t)(intptr_t)d->mapped, LARGE_PAGE);
	(void)madvise(d->arena, (size_t)d->arena_bytes, MADV_HUGEPAGE); /* where there are none, ordinary ones do */
	for (int q = 0; q < QUEUE_COUNT; q++) {
		d->touched[q] = calloc((size_t)d->role->buffer_count + 1, sizeof *d->touched[q]);
		if (!d->touched[q])
			abort();
	}
	if (guard)
		memset(d->arena, GUARD_BYTE, (size_t)d->arena_bytes);
	return STATUS_OK;
}

void cpu_device_release(struct cpu_device *d)
{
	if (!d)
		return;
	if (d->mapped)
		munmap(d->mapped, d->mapped_bytes);
	for (int q = 0; q < QUEUE_COUNT; q++)
		free(d->touched[q]);
	layout_release(&d->layout);
	*d = (struct cpu_device){0};
}

void *cpu_device_buffer(const struct cpu_device *d, int buffer)
{
	return d->arena + d->layout.offset[buffer];
}

void *cpu_device_region(const struct cpu_device *d, const struct region *r, int64_t *count)
{
	int64_t offset;
	*count = 0;
	if (r->buffer < 0)
		return NULL;
	region_resolve(d->plan, r, d->rank, &offset, count);
	return (unsigned char *)cpu_device_buffer(d, r->buffer) + offset * type_bytes(d->role->buffers[r->buffer].type);
}

void cpu_device_touch(struct cpu_device *d, const struct op *op, int operand, int64_t count)
{
	const struct region *r = &op->operand[operand];
	int64_t begin, n;
	if (r->buffer < 0 || count <= 0)
		return;
	region_resolve(d->plan, r, d->rank, &begin, &n);
	struct touched *t = &d->touched[op->queue][r->buffer];
	if (t->end <= t->begin)
		*t = (struct touched){begin, begin + count};
	if (begin < t->begin)
		t->begin = begin;
	if (begin + count > t->end)
		t->end = begin + count;
}

/* ---- memory, with guard ---- */

static void poison(struct cpu_device *d, int buffer)
{
	memset(cpu_device_buffer(d, buffer), POISON_BYTE, (size_t)buffer_bytes(&d->role->buffers[buffer]));
}

static enum status check_zone(const struct cpu_device *d, int buffer)
{
	const struct buffer *b = &d->role->buffers[buffer];
	const unsigned char *at = cpu_device_buffer(d, buffer);
	for (int i = 1; i <= CPU_DEVICE_GUARD; i++)
		if (at[-i] != GUARD_BYTE || at[buffer_bytes(b) + i - 1] != GUARD_BYTE)
			return status_fail(STATUS_RUN, "something wrote outside buffer '%s'", b->name);
	return STATUS_OK;
}

static void set_zone(struct cpu_device *d, int buffer)
{
	const struct buffer *b = &d->role->buffers[buffer];
	unsigned char *at = cpu_device_buffer(d, buffer);
	memset(at - CPU_DEVICE_GUARD, GUARD_BYTE, CPU_DEVICE_GUARD);
	memset(at + buffer_bytes(b), GUARD_BYTE, CPU_DEVICE_GUARD);
}

static enum status execute_memory(struct cpu_device *d, const struct op *op)
{
	int buffer = op->operand[0].buffer;
	if (!d->guard)
		return STATUS_OK;
	if (op->kind == OP_ALLOC) {
		set_zone(d, buffer);
		poison(d, buffer);
		return STATUS_OK;
	}
	enum status s = check_zone(d, buffer);
	poison(d, buffer);
	return s;
}

enum status cpu_device_check(const struct cpu_device *d)
{
	enum status s = STATUS_OK;
	for (int i = 0; i < d->role->buffer_count && d->guard && !s; i++)
		if (d->role->buffers[i].state)
			s = check_zone(d, i);
	return s;
}

enum status cpu_device_execute(struct cpu_device *d, int number)
{
	const struct op *op = &d->role->ops[number];
	assert(op_class(op->kind) != OP_CLASS_C);
	if (op_class(op->kind) == OP_CLASS_M)
		return execute_memory(d, op);
	return cpu_operation_table[op->kind](d, op);
}

/* ---- what was used ---- */

static int64_t touched_bytes(const struct cpu_device *d, int buffer)
{
	struct touched all = {INT64_MAX, INT64_MIN};
	for (int q = 0; q < QUEUE_COUNT; q++) {
		const struct touched *t = &d->touched[q][buffer];
		if (t->end <= t->begin)
			continue;
		if (t->begin < all.begin)
			all.begin = t->begin;
		if (t->end > all.end)
			all.end = t->end;
	}
	return all.end > all.begin ? (all.end - all.begin) * type_bytes(d->role->buffers[buffer].type) : 0;
}

void cpu_device_memory(const struct cpu_device *d, struct memory_use *out)
{
	const struct role *r = d->role;
	int64_t live[CATEGORY_COUNT] = {0}, total = 0;
	*out = (struct memory_use){.peak_op = -1, .arena_bytes = d->arena_bytes};
	for (int i = 0; i < r->buffer_count; i++)
		if (r->buffers[i].state) {
			live[r->buffers[i].category] += touched_bytes(d, i);
			total += touched_bytes(d, i);
		}
	memcpy(out->steady, live, sizeof live);
	memcpy(out->at_peak, live, sizeof live);
	out->peak_bytes = total;
	for (int i = r->step.begin; i < r->step.end; i++) {
		const struct op *op = &r->ops[i];
		if (op_class(op->kind) != OP_CLASS_M)
			continue;
		int buffer = op->operand[0].buffer;
		int64_t bytes = op->kind == OP_ALLOC ? touched_bytes(d, buffer) : -touched_bytes(d, buffer);
		live[r->buffers[buffer].category] += bytes;
		total += bytes;
		if (total <= out->peak_bytes)
			continue;
		out->peak_bytes = total;
		out->peak_op = i;
		memcpy(out->at_peak, live, sizeof live);
	}
}
