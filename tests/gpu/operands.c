/* A call's operands lie one after another in one piece of the device's memory, and a copy of it in pinned memory takes
 * them there and back in one go each:
 *
 *     guard │ dy … │ guard │ x … │ guard │ weight … │ guard
 */
#include "tests/gpu/operands.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 256, MOST_OPERANDS = 24 };
enum reach { NEITHER, READS, WRITES };

/* Memory of a test. */
struct piece {
	struct piece *next;
	unsigned char *host;
	size_t bytes;
	size_t at; /* in the device's memory, in the call at hand; 0: it is no operand of that */
	enum reach reach;
	const char *name; /* of the operand that it is */
};

static struct {
	const struct cuda_api *device;
	struct kernel_context *memory; /* what the two below were taken with */
	struct cuda_api api;
	struct piece *pieces;
	size_t live;                   /* bytes that all pieces take at most */
	unsigned char *there, *staged; /* device's and pinned memory */
	size_t capacity;
	void (*tell)(const char *what);
	/* the call at hand */
	const char *kernel;
	struct piece *operands[MOST_OPERANDS];
	int count;
	size_t used;
} o;

static void tell(const char *what)
{
	if (!o.tell)
		ck_abort_msg("%s", what);
	o.tell(what);
}

void operands_tell(void (*tell_instead)(const char *what))
{
	o.tell = tell_instead;
}

static void need(int error, const char *what)
{
	if (!error)
		return;
	fprintf(stderr, "error: %s: %s: %s\n", o.kernel ? o.kernel : "operands", what, o.device->error_text(error));
	exit(EXIT_FAILURE);
}

/* ---- guards ---- */

/* NaNs in every type, and in fp32 and bf16 signalling ones: one that a kernel adds to becomes another. */
static unsigned char guard_byte(size_t at)
{
	return at % 2 ? 0xff : 0xbf;
}

static void fill_guard(size_t from, size_t to)
{
	for (size_t i = from; i < to; i++)
		o.staged[i] = guard_byte(i);
}

/* The first place that is no guard any more, or `to`. */
static size_t damage(size_t from, size_t to)
{
	while (from < to && o.staged[from] == guard_byte(from))
		from++;
	return from;
}

/* ---- pieces ---- */

static size_t whole(size_t bytes)
{
	return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

void *operands_memory(size_t bytes)
{
	struct piece *p = calloc(1, sizeof *p);
	void *host = aligned_alloc(ALIGNMENT, whole(bytes ? bytes : 1));
	if (!p || !host)
		abort();
	*p = (struct piece){.next = o.pieces, .host = host, .bytes = bytes};
	o.pieces = p;
	o.live += whole(bytes) + OPERANDS_GUARD;
	return host;
}

void operands_release(void *memory)
{
	struct piece **at = &o.pieces, *p;
	while (memory && *at && (*at)->host != memory)
		at = &(*at)->next;
	p = memory ? *at : NULL;
	if (!p)
		return;
	*at = p->next;
	o.live -= whole(p->bytes) + OPERANDS_GUARD;
	free(p->host);
	free(p);
}

static struct piece *piece_of(const unsigned char *address)
{
	struct piece *p = o.pieces;
	while (p && (address < p->host || address > p->host + p->bytes))
		p = p->next;
	return p;
}

/* ---- there and back ---- */

static void release_room(void)
{
	if (o.there)
		o.device->release(o.memory, o.there);
	if (o.staged)
		o.device->release_host(o.memory, o.staged);
	o.there = o.staged = NULL;
	o.capacity = 0;
}

/* Room for all pieces at once, and for a look at the workspace's guards. */
static void make_room(struct kernel_context *c)
{
	size_t bytes = (size_t)4 * OPERANDS_GUARD + o.live;
	void *there = NULL, *staged = NULL;
	if (bytes <= o.capacity)
		return;
	release_room();
	o.memory = c;
	need(o.device->allocate(o.memory, 2 * bytes, &there), "the device's memory");
	need(o.device->allocate_host(o.memory, 2 * bytes, &staged), "pinned memory");
	o.there = there;
	o.staged = staged;
	o.capacity = 2 * bytes;
}

static void begin_call(struct kernel_context *c, const char *kernel)
{
	make_room(c);
	o.kernel = kernel;
	o.count = 0;
	for (struct piece *p = o.pieces; p; p = p->next)
		p->at = 0;
	o.used = OPERANDS_GUARD;
	fill_guard(0, o.used);
}

static void take(struct piece *p, const char *name)
{
	if (o.count == MOST_OPERANDS)
		abort();
	o.operands[o.count++] = p;
	p->at = o.used;
	p->reach = READS;
	p->name = name;
	o.used += whole(p->bytes) + OPERANDS_GUARD;
	fill_guard(p->at + p->bytes, o.used);
	memcpy(o.staged + p->at, p->host, p->bytes);
}

/* *slot, a pointer into a test's memory, becomes one to the device's. */
static void move(void *slot, enum reach reach, const char *name)
{
	unsigned char *address = NULL;
	char text[160];
	if (reach == NEITHER)
		return;
	memcpy(&address, slot, sizeof address);
	struct piece *p = address ? piece_of(address) : NULL;
	if (p && !p->at)
		take(p, name);
	if (p && reach == WRITES)
		p->reach = WRITES, p->name = name;
	if (address && !p) {
		snprintf(text, sizeof text, "%s: %s is no target_memory()", o.kernel, name);
		tell(text);
	}
	address = p ? o.there + p->at + (address - p->host) : NULL;
	memcpy(slot, &address, sizeof address);
}

/* Pointers in a structure that the host reads: an update's alone are to the device's memory (kernels/update.h). */
static void move_inside(void *shape, bool is_update)
{
	struct update *u = shape;
	if (!is_update)
		return;
	move(&u->step, READS, "step");
	move(&u->squares, READS, "squares");
	move(&u->scaler, READS, "scaler");
	move(&u->overflow, READS, "overflow");
}

static void send_operands(struct kernel_context *c, kernel_stream s)
{
	need(o.device->kernels.copy(c, s, o.there, o.staged, o.used), "copying operands to the device");
}

/* ---- what must be as it was ---- */

/* The guards in front of the operand `before` and behind `behind`, either of which may be NULL. */
static void check_guard(size_t from, size_t to, const struct piece *behind, const struct piece *before)
{
	size_t at = damage(from, to);
	char text[320];
	if (at == to)
		return;
	int n = snprintf(text, sizeof text, "%s wrote", o.kernel);
	if (behind)
		n += snprintf(text + n, sizeof text - (size_t)n, " %zu bytes behind the last of %s, which has %zu",
		              at - from + 1, behind->name, behind->bytes);
	if (before)
		snprintf(text + n, sizeof text - (size_t)n, "%s %zu bytes before %s", behind ? ", or" : "", to - at,
		         before->name);
	tell(text);
}

static void check_guards(void)
{
	size_t from = 0;
	for (int i = 0; i <= o.count; i++) {
		struct piece *behind = i ? o.operands[i - 1] : NULL, *before = i < o.count ? o.operands[i] : NULL;
		check_guard(from, before ? before->at : o.used, behind, before);
		from = before ? before->at + before->bytes : o.used;
	}
}

static void take_back(const struct piece *p)
{
	char text[160];
	if (p->reach == WRITES) {
		memcpy(p->host, o.staged + p->at, p->bytes);
	} else if (memcmp(p->host, o.staged + p->at, p->bytes)) {
		snprintf(text, sizeof text, "%s changed %s, which it only reads", o.kernel, p->name);
		tell(text);
	}
}

/* Copies the workspace's guards from the staged bytes behind the operands, or there. */
static void copy_guards(struct kernel_context *c, kernel_stream s, bool there)
{
	unsigned char *ends[] = {(unsigned char *)c->workspace - OPERANDS_GUARD,
	                         (unsigned char *)c->workspace + c->workspace_bytes};
	int error = 0;
	for (int i = 0; i < 2 && !error; i++) {
		unsigned char *staged = o.staged + o.used + (size_t)i * OPERANDS_GUARD;
		error = there ? o.device->kernels.copy(c, s, ends[i], staged, OPERANDS_GUARD)
		              : o.device->kernels.copy(c, s, staged, ends[i], OPERANDS_GUARD);
	}
	need(error ? error : o.device->stream_synchronize(c, s), "the guards of the workspace");
}

static void fill_guards(struct kernel_context *c, kernel_stream s)
{
	fill_guard(o.used, o.used + (size_t)2 * OPERANDS_GUARD);
	copy_guards(c, s, true);
}

static void check_workspace(struct kernel_context *c, kernel_stream s)
{
	size_t end = o.used + (size_t)2 * OPERANDS_GUARD, at;
	char text[160];
	copy_guards(c, s, false);
	at = damage(o.used, end);
	if (at == end)
		return;
	snprintf(text, sizeof text, "%s wrote %s the workspace of %zu bytes", o.kernel,
	         at < o.used + OPERANDS_GUARD ? "before" : "behind", c->workspace_bytes);
	fill_guards(c, s);
	tell(text);
}

/* Its error, or the device's. After one of the device nothing can be had from it. */
static int end_call(struct kernel_context *c, kernel_stream s, int error)
{
	int device = o.device->stream_synchronize(c, s);
	if (device)
		return error ? error : device;
	need(o.device->kernels.copy(c, s, o.staged, o.there, o.used), "copying operands from the device");
	need(o.device->stream_synchronize(c, s), "copying operands from the device");
	check_guards();
	for (int i = 0; i < o.count; i++)
		take_back(o.operands[i]);
	check_workspace(c, s);
	return error;
}

void operands_guard(struct kernel_context *c)
{
	c->workspace = (char *)c->workspace + OPERANDS_GUARD;
	c->workspace_bytes -= (size_t)2 * OPERANDS_GUARD;
	begin_call(c, "opening");
	fill_guards(c, NULL);
}

void operands_unguard(struct kernel_context *c)
{
	if (!c)
		return;
	c->workspace = (char *)c->workspace - OPERANDS_GUARD;
	c->workspace_bytes += (size_t)2 * OPERANDS_GUARD;
}

/* ---- the table ---- */

/* A parameter of another type does not compile. */
#define REACH(name)                                                                                                    \
	_Generic((name), const void *: READS, void *: WRITES, const float *: READS, float *: WRITES,                   \
	         const int32_t *: READS, int32_t *: WRITES, int64_t *: WRITES, double *: WRITES, unsigned: NEITHER,    \
	         int64_t: NEITHER, bool: NEITHER, float: NEITHER, double: NEITHER)
#define MOVE(type, name) move(&(name), REACH(name), #name);
#define MOVE_INSIDE(type, name)                                                                                        \
	struct type name##_there = *(name);                                                                            \
	move_inside(&name##_there, _Generic(name##_there, struct update : true, default : false));                     \
	(name) = &name##_there;
#define PASS(type, name) , name

#define KERNEL(name, place)                                                                                            \
	static int name##_there(struct kernel_context *c,                                                              \
	                        kernel_stream s PARAMETERS_##name(KERNEL_VALUE, KERNEL_SHAPE))                         \
	{                                                                                                              \
		begin_call(c, #name);                                                                                  \
		PARAMETERS_##name(MOVE, MOVE_INSIDE);                                                                  \
		send_operands(c, s);                                                                                   \
		return end_call(c, s, o.device->kernels.name(c, s PARAMETERS_##name(PASS, PASS)));                     \
	}
#include "kernels/table.def"

static int copy(struct kernel_context *c, kernel_stream s, void *to, const void *from, size_t bytes)
{
	begin_call(c, "copy");
	move(&to, WRITES, "to");
	move(&from, READS, "from");
	send_operands(c, s);
	return end_call(c, s, o.device->kernels.copy(c, s, to, from, bytes));
}

static int fill(struct kernel_context *c, kernel_stream s, void *to, int byte, size_t bytes)
{
	begin_call(c, "fill");
	move(&to, WRITES, "to");
	send_operands(c, s);
	return end_call(c, s, o.device->kernels.fill(c, s, to, byte, bytes));
}

const struct cuda_api *operands_api(const struct cuda_api *device)
{
	o.device = device;
	o.api = *device;
	o.api.kernels.copy = copy;
	o.api.kernels.fill = fill;
#define KERNEL(name, place) o.api.kernels.name = name##_there;
#include "kernels/table.def"
	return &o.api;
}

void operands_end(void)
{
	release_room();
	while (o.pieces)
		operands_release(o.pieces->host);
}
