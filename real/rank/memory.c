#include "real/rank/memory.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "real/rank/disk.h"
#include "strategy/base/number.h"

#define LARGE_PAGE ((int64_t)2 << 20)
#define GUARD_BYTE 0xa5
#define POISON_BYTE 0xff /* 0xffffffff is a NaN, and no token */

/* Pages come when they are first touched, so a rank under a memory limit takes only what it uses. Large pages make the
 * kernel's copies between ranks several times cheaper, and must be asked for. */
static enum status map_arena(struct rank_memory *memory, enum space space)
{
	int64_t bytes = memory->layout.arena_bytes[space];
	if (!bytes && space != SPACE_DEVICE)
		return STATUS_OK;
	if (memory->remote) {
		void *there = NULL;
		enum status s = memory->remote->take(memory->remote->context, space, bytes, &there);
		memory->arena[space] = there;
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
	memory->mapped[space].at = at;
	memory->mapped[space].bytes = size;
	memory->arena[space] = (unsigned char *)round_up((int64_t)(intptr_t)at, LARGE_PAGE);
	(void)madvise(memory->arena[space], (size_t)bytes, MADV_HUGEPAGE); /* without large pages, ordinary ones do */
	if (memory->guard)
		memset(memory->arena[space], GUARD_BYTE, (size_t)bytes);
	return STATUS_OK;
}

/* Allocates the tables beside the arenas. */
static void take_tables(struct rank_memory *memory)
{
	const struct plan *p = memory->plan;
	for (int q = 0; q < QUEUE_COUNT; q++)
		memory->touched[q] = array_make((size_t)memory->role->buffer_count, sizeof *memory->touched[q]);
	if (type_bytes(p->settings.precision) == 2 && p->model->values[p->model->input].type == VALUE_ACTIVATION)
		memory->sample = array_make((size_t)p->model->input_elements, sizeof *memory->sample);
}

enum status rank_memory_open(struct rank_memory *memory, const struct plan *p, int64_t rank,
                             const struct input_source *input, bool guard, const char *folder,
                             const struct remote_memory *remote)
{
	*memory = (struct rank_memory){
	        .plan = p, .role = plan_role_of(p, rank), .rank = rank, .guard = guard, .remote = remote};
	if (input)
		memory->input = *input;
	layout_make(&memory->layout, p, memory->role, guard ? RANK_MEMORY_GUARD : 0);
	take_tables(memory);
	enum status s = map_arena(memory, SPACE_DEVICE);
	if (!s)
		s = map_arena(memory, SPACE_HOST);
	if (!s && memory->layout.arena_bytes[SPACE_DISK])
		s = disk_open(&memory->disk, folder, memory->layout.arena_bytes[SPACE_DISK]);
	if (!s && memory->disk && p->settings.offload.queue)
		disk_ask(memory->disk, p->settings.offload.queue);
	if (!s)
		s = rank_types_check(memory);
	if (s)
		rank_memory_release(memory);
	return s;
}

void rank_memory_release(struct rank_memory *memory)
{
	if (!memory)
		return;
	for (int space = 0; space < SPACE_COUNT; space++)
		if (memory->mapped[space].at)
			munmap(memory->mapped[space].at, memory->mapped[space].bytes);
	disk_close(memory->disk);
	for (int q = 0; q < QUEUE_COUNT; q++)
		free(memory->touched[q]);
	free(memory->sample);
	layout_release(&memory->layout);
	*memory = (struct rank_memory){0};
}

void *rank_memory_buffer(const struct rank_memory *memory, int buffer)
{
	unsigned char *arena = memory->arena[memory->role->buffers[buffer].space];
	return arena ? arena + memory->layout.offset[buffer] : NULL;
}

void *rank_memory_region(const struct rank_memory *memory, const struct region *r, int64_t *count)
{
	int64_t offset;
	*count = 0;
	if (r->buffer < 0)
		return NULL;
	region_resolve(memory->plan, r, memory->rank, &offset, count);
	unsigned char *buffer = rank_memory_buffer(memory, r->buffer);
	return buffer ? buffer + offset * type_bytes(memory->role->buffers[r->buffer].type) : NULL;
}

void rank_memory_touch(struct rank_memory *memory, const struct op *op, int operand, int64_t count)
{
	const struct region *r = &op->operand[operand];
	int64_t begin, n;
	if (r->buffer < 0 || count <= 0)
		return;
	region_resolve(memory->plan, r, memory->rank, &begin, &n);
	struct touched *t = &memory->touched[op->queue][r->buffer];
	if (t->end <= t->begin)
		*t = (struct touched){begin, begin + count};
	if (begin < t->begin)
		t->begin = begin;
	if (begin + count > t->end)
		t->end = begin + count;
}

/* ---- to and from the disk ---- */

/* The place of a region in its arena, and its length in bytes. */
static int64_t region_place(const struct rank_memory *memory, const struct region *r, int64_t *bytes)
{
	int64_t offset, count, size = type_bytes(memory->role->buffers[r->buffer].type);
	region_resolve(memory->plan, r, memory->rank, &offset, &count);
	*bytes = count * size;
	return memory->layout.offset[r->buffer] + offset * size;
}

enum status rank_memory_disk(struct rank_memory *memory, const struct op *op)
{
	enum transfer_kind kind = op_transfer(memory->role, op);
	bool writes = kind == TRANSFER_DISK_WRITE;
	int64_t n, bytes;
	void *here = rank_memory_region(memory, &op->operand[writes ? COPY_X : COPY_Y], &n);
	int64_t place = region_place(memory, &op->operand[writes ? COPY_Y : COPY_X], &bytes);
	enum status s =
	        writes ? disk_write(memory->disk, place, here, bytes) : disk_read(memory->disk, place, here, bytes);
	rank_memory_touch(memory, op, COPY_X, n);
	rank_memory_touch(memory, op, COPY_Y, n);
	rank_memory_count(memory, kind, bytes);
	return s;
}

void rank_memory_count(struct rank_memory *memory, enum transfer_kind kind, int64_t bytes)
{
	memory->transfer[kind].calls++;
	memory->transfer[kind].bytes += bytes;
}

/* ---- memory, with guard ---- */

enum { CHUNK = 4096 };

/* Bytes of the space's arena, wherever it is. */
static enum status fill(struct rank_memory *memory, enum space space, int64_t at, int64_t bytes, int byte)
{
	unsigned char chunk[CHUNK];
	if (space != SPACE_DISK) {
		memset(memory->arena[space] + at, byte, (size_t)bytes);
		return STATUS_OK;
	}
	memset(chunk, byte, sizeof chunk);
	for (int64_t done = 0; done < bytes; done += CHUNK)
		TRY(disk_write(memory->disk, at + done, chunk, bytes - done < CHUNK ? bytes - done : CHUNK));
	return STATUS_OK;
}

enum status rank_memory_fill(struct rank_memory *memory, int buffer, int byte, int64_t most)
{
	const struct buffer *b = &memory->role->buffers[buffer];
	int64_t bytes = buffer_bytes(b);
	return fill(memory, b->space, memory->layout.offset[buffer], bytes < most ? bytes : most, byte);
}

static enum status poison(struct rank_memory *memory, int buffer)
{
	return rank_memory_fill(memory, buffer, POISON_BYTE, INT64_MAX);
}

static enum status zone_is_intact(const struct rank_memory *memory, const struct buffer *b, int64_t at)
{
	unsigned char chunk[RANK_MEMORY_GUARD];
	const unsigned char *zone = chunk;
	if (b->space != SPACE_DISK) {
		zone = memory->arena[b->space] + at;
	} else {
		TRY(disk_read(memory->disk, at, chunk, RANK_MEMORY_GUARD));
	}
	for (int i = 0; i < RANK_MEMORY_GUARD; i++)
		if (zone[i] != GUARD_BYTE)
			return status_fail(STATUS_RUN, "something wrote outside buffer '%s'", b->name);
	return STATUS_OK;
}

static enum status check_zone(const struct rank_memory *memory, int buffer)
{
	const struct buffer *b = &memory->role->buffers[buffer];
	int64_t at = memory->layout.offset[buffer];
	enum status s = zone_is_intact(memory, b, at - RANK_MEMORY_GUARD);
	return s ? s : zone_is_intact(memory, b, at + buffer_bytes(b));
}

static enum status set_zone(struct rank_memory *memory, int buffer)
{
	const struct buffer *b = &memory->role->buffers[buffer];
	int64_t at = memory->layout.offset[buffer];
	enum status s = fill(memory, b->space, at - RANK_MEMORY_GUARD, RANK_MEMORY_GUARD, GUARD_BYTE);
	return s ? s : fill(memory, b->space, at + buffer_bytes(b), RANK_MEMORY_GUARD, GUARD_BYTE);
}

enum status rank_memory_mark(struct rank_memory *memory, const struct op *op)
{
	int buffer = op_buffer(op);
	if (!memory->guard)
		return STATUS_OK;
	if (op->kind == OP_ALLOC) {
		enum status set = set_zone(memory, buffer);
		return set ? set : poison(memory, buffer);
	}
	enum status s = check_zone(memory, buffer);
	return s ? s : poison(memory, buffer);
}

enum status rank_memory_check(const struct rank_memory *memory)
{
	enum status s = STATUS_OK;
	for (int i = 0; i < memory->role->buffer_count && memory->guard && !s; i++)
		if (memory->role->buffers[i].state)
			s = check_zone(memory, i);
	return s;
}

/* ---- what was used ---- */

static int64_t touched_bytes(const struct rank_memory *memory, int buffer)
{
	struct touched all = {INT64_MAX, INT64_MIN};
	for (int q = 0; q < QUEUE_COUNT; q++) {
		const struct touched *t = &memory->touched[q][buffer];
		if (t->end <= t->begin)
			continue;
		if (t->begin < all.begin)
			all.begin = t->begin;
		if (t->end > all.end)
			all.end = t->end;
	}
	return all.end > all.begin ? (all.end - all.begin) * type_bytes(memory->role->buffers[buffer].type) : 0;
}

void rank_memory_used_in(const struct rank_memory *memory, const struct section *s, enum space space,
                         struct memory_use *out)
{
	const struct role *r = memory->role;
	int64_t live[CATEGORY_COUNT] = {0}, total = 0;
	*out = (struct memory_use){.peak_op = -1, .arena_bytes = memory->layout.arena_bytes[space]};
	for (int i = 0; i < r->buffer_count; i++)
		if (r->buffers[i].state && r->buffers[i].space == space) {
			live[r->buffers[i].category] += touched_bytes(memory, i);
			total += touched_bytes(memory, i);
		}
	memcpy(out->steady, live, sizeof live);
	memcpy(out->at_peak, live, sizeof live);
	out->peak_bytes = total;
	for (int i = s->begin; i < s->end; i++) {
		const struct op *op = &r->ops[i];
		if (op_class(op->kind) != OP_CLASS_M)
			continue;
		int buffer = op_buffer(op);
		if (r->buffers[buffer].space != space)
			continue;
		int64_t bytes = op->kind == OP_ALLOC ? touched_bytes(memory, buffer) : -touched_bytes(memory, buffer);
		live[r->buffers[buffer].category] += bytes;
		total += bytes;
		if (total <= out->peak_bytes)
			continue;
		out->peak_bytes = total;
		out->peak_op = i;
		memcpy(out->at_peak, live, sizeof live);
	}
}

void rank_memory_used(const struct rank_memory *memory, enum space space, struct memory_use *out)
{
	rank_memory_used_in(memory, &memory->role->step, space, out);
}
