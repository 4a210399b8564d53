#include "real/rank/memory.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "kernels/kernels.h"
#include "real/cpu/operations.h"
#include "real/rank/disk.h"
#include "strategy/base/number.h"

#define LARGE_PAGE ((int64_t)2 << 20)
#define GUARD_BYTE 0xa5
#define POISON_BYTE 0xff /* 0xffffffff is a NaN, and no token */

/* Pages come when they are first touched, so a rank under a memory limit takes what it uses. Large pages make the
 * kernel's copies between ranks several times as cheap, and have to be asked for. */
static enum status map_arena(struct cpu_device *d, enum space space)
{
	int64_t bytes = d->layout.arena_bytes[space];
	if (!bytes && space != SPACE_DEVICE)
		return STATUS_OK;
	if (d->remote) {
		void *there = NULL;
		enum status s = d->remote->take(d->remote->context, space, bytes, &there);
		d->arena[space] = there;
		return s;
	}
	size_t size = (size_t)bytes + LARGE_PAGE;
	void *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (at == MAP_FAILED)
		return status_fail(
		        STATUS_RUN,
		        "no memory for %s arena of %lld bytes; use more ranks, a smaller batch, or a strategy "
		        "that shards more",
		        space == SPACE_DEVICE ? "an" : "a host", (long long)bytes);
	d->mapped[space].at = at;
	d->mapped[space].bytes = size;
	d->arena[space] = (unsigned char *)round_up((int64_t)(intptr_t)at, LARGE_PAGE);
	(void)madvise(d->arena[space], (size_t)bytes, MADV_HUGEPAGE); /* where there are none, ordinary ones do */
	if (d->guard)
		memset(d->arena[space], GUARD_BYTE, (size_t)bytes);
	return STATUS_OK;
}

/* What is kept beside the arenas. */
static enum status take_tables(struct cpu_device *d)
{
	const struct plan *p = d->plan;
	bool taken = true;
	for (int q = 0; q < QUEUE_COUNT; q++) {
		d->touched[q] = calloc((size_t)d->role->buffer_count + 1, sizeof *d->touched[q]);
		taken &= d->touched[q] != NULL;
	}
	if (type_bytes(p->settings.precision) == 2 && p->model->values[p->model->input].type == VALUE_ACTIVATION) {
		d->sample = calloc((size_t)p->model->input_elements, sizeof *d->sample);
		taken &= d->sample != NULL;
	}
	return taken ? STATUS_OK : status_fail(STATUS_MEMORY, "out of memory");
}

static enum status open_rank(struct cpu_device *d, const struct plan *p, int64_t rank, const struct input_source *input,
                             bool guard, const char *folder, const struct remote_memory *remote)
{
	*d = (struct cpu_device){
	        .plan = p, .role = plan_role_of(p, rank), .rank = rank, .guard = guard, .remote = remote};
	if (input)
		d->input = *input;
	layout_make(&d->layout, p, d->role, guard ? CPU_DEVICE_GUARD : 0);
	enum status s = map_arena(d, SPACE_DEVICE);
	if (!s)
		s = map_arena(d, SPACE_HOST);
	if (!s && d->layout.arena_bytes[SPACE_DISK])
		s = disk_open(&d->disk, folder, d->layout.arena_bytes[SPACE_DISK]);
	if (!s)
		s = take_tables(d);
	if (!s)
		s = cpu_types_check(d);
	if (s)
		cpu_device_release(d);
	return s;
}

enum status cpu_device_open_on_disk(struct cpu_device *d, const struct plan *p, int64_t rank,
                                    const struct input_source *input, bool guard, const char *folder)
{
	return open_rank(d, p, rank, input, guard, folder, NULL);
}

enum status cpu_device_open_remote(struct cpu_device *d, const struct plan *p, int64_t rank,
                                   const struct input_source *input, const char *folder,
                                   const struct remote_memory *remote)
{
	return open_rank(d, p, rank, input, false, folder, remote);
}

enum status cpu_device_open(struct cpu_device *d, const struct plan *p, int64_t rank, const struct input_source *input,
                            bool guard)
{
	return cpu_device_open_on_disk(d, p, rank, input, guard, NULL);
}

void cpu_device_release(struct cpu_device *d)
{
	if (!d)
		return;
	for (int space = 0; space < SPACE_COUNT; space++)
		if (d->mapped[space].at)
			munmap(d->mapped[space].at, d->mapped[space].bytes);
	disk_close(d->disk);
	for (int q = 0; q < QUEUE_COUNT; q++)
		free(d->touched[q]);
	free(d->sample);
	layout_release(&d->layout);
	*d = (struct cpu_device){0};
}

void *cpu_device_buffer(const struct cpu_device *d, int buffer)
{
	unsigned char *arena = d->arena[d->role->buffers[buffer].space];
	return arena ? arena + d->layout.offset[buffer] : NULL;
}

void *cpu_device_region(const struct cpu_device *d, const struct region *r, int64_t *count)
{
	int64_t offset;
	*count = 0;
	if (r->buffer < 0)
		return NULL;
	region_resolve(d->plan, r, d->rank, &offset, count);
	unsigned char *buffer = cpu_device_buffer(d, r->buffer);
	return buffer ? buffer + offset * type_bytes(d->role->buffers[r->buffer].type) : NULL;
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

/* ---- between spaces ---- */

/* Where a region stands in its arena, and how long it is, bytes. */
static int64_t region_place(const struct cpu_device *d, const struct region *r, int64_t *bytes)
{
	int64_t offset, count, size = type_bytes(d->role->buffers[r->buffer].type);
	region_resolve(d->plan, r, d->rank, &offset, &count);
	*bytes = count * size;
	return d->layout.offset[r->buffer] + offset * size;
}

enum status cpu_device_transfer(struct cpu_device *d, const struct op *op)
{
	enum transfer_kind kind = op_transfer(d->role, op);
	int64_t n, bytes;
	void *from = cpu_device_region(d, &op->operand[0], &n), *to = cpu_device_region(d, &op->operand[1], &n);
	int64_t place = region_place(d, &op->operand[kind == TRANSFER_DISK_WRITE ? 1 : 0], &bytes);
	enum status s = STATUS_OK;
	if (kind == TRANSFER_DISK_READ)
		s = disk_read(d->disk, place, to, bytes);
	else if (kind == TRANSFER_DISK_WRITE)
		s = disk_write(d->disk, place, from, bytes);
	else
		memcpy(to, from, (size_t)bytes);
	cpu_device_touch(d, op, 0, n);
	cpu_device_touch(d, op, 1, n);
	d->transfer[kind].calls++;
	d->transfer[kind].bytes += bytes;
	return s;
}

/* ---- memory, with guard ---- */

enum { CHUNK = 4096 };

/* Bytes of the space's arena, wherever it is. */
static enum status fill(struct cpu_device *d, enum space space, int64_t at, int64_t bytes, int byte)
{
	unsigned char chunk[CHUNK];
	enum status s = STATUS_OK;
	if (space != SPACE_DISK) {
		memset(d->arena[space] + at, byte, (size_t)bytes);
		return STATUS_OK;
	}
	memset(chunk, byte, sizeof chunk);
	for (int64_t done = 0; done < bytes && !s; done += CHUNK)
		s = disk_write(d->disk, at + done, chunk, bytes - done < CHUNK ? bytes - done : CHUNK);
	return s;
}

enum status cpu_device_fill(struct cpu_device *d, int buffer, int byte, int64_t most)
{
	const struct buffer *b = &d->role->buffers[buffer];
	int64_t bytes = buffer_bytes(b);
	return fill(d, b->space, d->layout.offset[buffer], bytes < most ? bytes : most, byte);
}

static enum status poison(struct cpu_device *d, int buffer)
{
	return cpu_device_fill(d, buffer, POISON_BYTE, INT64_MAX);
}

static enum status zone_is_intact(const struct cpu_device *d, const struct buffer *b, int64_t at)
{
	unsigned char chunk[CPU_DEVICE_GUARD];
	const unsigned char *zone = chunk;
	if (b->space != SPACE_DISK) {
		zone = d->arena[b->space] + at;
	} else {
		enum status s = disk_read(d->disk, at, chunk, CPU_DEVICE_GUARD);
		if (s)
			return s;
	}
	for (int i = 0; i < CPU_DEVICE_GUARD; i++)
		if (zone[i] != GUARD_BYTE)
			return status_fail(STATUS_RUN, "something wrote outside buffer '%s'", b->name);
	return STATUS_OK;
}

static enum status check_zone(const struct cpu_device *d, int buffer)
{
	const struct buffer *b = &d->role->buffers[buffer];
	int64_t at = d->layout.offset[buffer];
	enum status s = zone_is_intact(d, b, at - CPU_DEVICE_GUARD);
	return s ? s : zone_is_intact(d, b, at + buffer_bytes(b));
}

static enum status set_zone(struct cpu_device *d, int buffer)
{
	const struct buffer *b = &d->role->buffers[buffer];
	int64_t at = d->layout.offset[buffer];
	enum status s = fill(d, b->space, at - CPU_DEVICE_GUARD, CPU_DEVICE_GUARD, GUARD_BYTE);
	return s ? s : fill(d, b->space, at + buffer_bytes(b), CPU_DEVICE_GUARD, GUARD_BYTE);
}

static enum status execute_memory(struct cpu_device *d, const struct op *op)
{
	int buffer = op->operand[0].buffer;
	if (!d->guard)
		return STATUS_OK;
	if (op->kind == OP_ALLOC) {
		enum status set = set_zone(d, buffer);
		return set ? set : poison(d, buffer);
	}
	enum status s = check_zone(d, buffer);
	return s ? s : poison(d, buffer);
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

void cpu_device_memory(const struct cpu_device *d, enum space space, struct memory_use *out)
{
	const struct role *r = d->role;
	int64_t live[CATEGORY_COUNT] = {0}, total = 0;
	*out = (struct memory_use){.peak_op = -1, .arena_bytes = d->layout.arena_bytes[space]};
	for (int i = 0; i < r->buffer_count; i++)
		if (r->buffers[i].state && r->buffers[i].space == space) {
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
		if (r->buffers[buffer].space != space)
			continue;
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
