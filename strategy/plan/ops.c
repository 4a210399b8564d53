#include "strategy/plan/ops.h"

#include <assert.h>
#include <string.h>

#include "strategy/model/slice.h"
#include "strategy/settings/loss_scale.h"

/* ---- the table as data ---- */

struct operand_row {
	const char *name;
	int access; /* a letter; an access_rule and its operand in the bits above */
	enum part part;
	enum operand_type type;
	const char *presence; /* the condition, as written */
};

struct op_row {
	const char *name;
	enum op_class class;
	unsigned sections;
	int kernel; /* enum kernel_kind; -1 */
	enum pass pass;
	int operand_count;
	struct operand_row operand[OP_OPERANDS];
};

enum { READ = 'r', WRITE = 'w', CHANGE = 'x', ADD = 'a' };
#define BY(letter, rule, operand) ((letter) | (rule) << 8 | (operand) << 16)
#define CHANGE_WITH(operand) BY('x', ACCESS_CHANGE_WITH, operand)
#define REMAKE_FROM(operand) BY('x', ACCESS_REMAKE_FROM, operand)
#define LOOK_UP(operand) BY('r', ACCESS_LOOK_UP, operand)

enum {
	PROLOGUE = 1 << SECTION_PROLOGUE,
	STEP = 1 << SECTION_STEP,
	EVALUATION = 1 << SECTION_EVALUATE,
	SAVING = 1 << SECTION_SAVE,
	RESTORING = 1 << SECTION_RESTORE,
	EPILOGUE = 1 << SECTION_EPILOGUE,
	ANYWHERE = PROLOGUE | STEP | EVALUATION | SAVING | RESTORING | EPILOGUE
};

enum {
	NOTHING = 0
#define OP(constant, ...) , constant##_OPERANDS = 0
#define OPERAND(...) +1
#include "strategy/plan/ops.def"
};

/* clang-format off */
#define ROW(constant, field, value) [OP_##constant].field = (value),
#define HEAD(constant, name_, class_, sections_, kernel_, pass_) \
	ROW(constant, name, name_) ROW(constant, class, OP_CLASS_##class_) ROW(constant, sections, sections_) \
	ROW(constant, kernel, kernel_) ROW(constant, pass, PASS_##pass_) \
	ROW(constant, operand_count, constant##_OPERANDS)
static const struct op_row infos[] = {
#define OP(constant, name, class, sections, flops) HEAD(constant, name, class, sections, -1, NONE)
#define KERNEL_OP(constant, name, role, kernel, pass, condition, sections, flops) \
	HEAD(constant, name, K, sections, KERNEL_##kernel, pass)
#define OPERAND(operation, constant, name, access, presence, part, type, elements) \
	[OP_##operation].operand[operation##_##constant] = {#name, access, PART_##part, OPERAND_##type, #presence},
#include "strategy/plan/ops.def"
};
/* clang-format on */

static_assert(sizeof infos / sizeof infos[0] == OP_KIND_COUNT, "one row an operation");

const char *pass_name(enum pass p)
{
	static const char *const names[] = {"", "forward", "recompute", "backward", "update"};
	return names[p];
}

bool section_is_of_checkpoints(enum section_kind k)
{
	return k == SECTION_SAVE || k == SECTION_RESTORE;
}

const char *op_name(enum op_kind k)
{
	return infos[k].name;
}

enum op_class op_class(enum op_kind k)
{
	return infos[k].class;
}

unsigned op_sections(enum op_kind k)
{
	return infos[k].sections;
}

enum pass op_pass(enum op_kind k)
{
	return infos[k].pass;
}

bool op_makes_loss(enum op_kind k)
{
	return op_find(k, PART_LOSS) >= 0;
}

bool op_has_scale(enum op_kind k)
{
	return op_makes_loss(k) || infos[k].kernel == KERNEL_DROPOUT;
}

bool op_has_item(enum op_kind k)
{
	return k == OP_SAVE || k == OP_RESTORE;
}

int op_operand_count(enum op_kind k)
{
	return infos[k].operand_count;
}

const char *op_operand_name(enum op_kind k, int operand)
{
	return infos[k].operand[operand].name;
}

enum part op_part(enum op_kind k, int operand)
{
	return infos[k].operand[operand].part;
}

int op_find(enum op_kind k, enum part part)
{
	for (int i = 0; i < infos[k].operand_count; i++)
		if (infos[k].operand[i].part == part)
			return i;
	return -1;
}

enum operand_type op_type_rule(enum op_kind k, int operand)
{
	return infos[k].operand[operand].type;
}

bool op_operand_optional(enum op_kind k, int operand)
{
	return strcmp(infos[k].operand[operand].presence, "ALWAYS") != 0;
}

char op_declared_access(enum op_kind k, int operand)
{
	return (char)(infos[k].operand[operand].access & 0xff);
}

enum access_rule op_access_rule(enum op_kind k, int operand, int *other)
{
	int access = infos[k].operand[operand].access;
	*other = access >> 16;
	return (enum access_rule)(access >> 8 & 0xff);
}

/* ---- the kernels' operations ---- */

enum op_kind op_of_kernel(enum kernel_kind kernel, enum pass pass)
{
#define MAIN(kernel, pass, operation) [KERNEL_##kernel][PASS_##pass] = OP_##operation + 1,
#define BESIDE(kernel, pass, operation)
#define KERNEL_OP(constant, name, role, kernel, pass, condition, sections, flops) role(kernel, pass, constant)
	static const int kinds[KERNEL_KINDS][PASS_COUNT] = {
#include "strategy/plan/ops.def"
	};
#undef MAIN
#undef BESIDE
	int kind = kinds[kernel][pass == PASS_RECOMPUTE ? PASS_FORWARD : pass];
	return kind ? (enum op_kind)(kind - 1) : OP_KIND_COUNT;
}

/* Some operands are there only if the kernel has a bias. */
static bool backward_reads(const struct kernel *k, enum part part)
{
	const struct op_sizes s = {.bias = k->bias >= 0};
	enum op_kind backward = op_of_kernel(k->kind, PASS_BACKWARD);
	int operand = backward == OP_KIND_COUNT ? -1 : op_find(backward, part);
	return operand >= 0 && operand_presence(backward, operand, &s) != PRESENT_NOT;
}

bool kernel_backward_reads_x(const struct kernel *k)
{
	return backward_reads(k, PART_X);
}

bool kernel_backward_reads_y(const struct kernel *k)
{
	return backward_reads(k, PART_Y);
}

/* ---- the table's expressions ---- */

static int64_t tensor_elements(const struct model *m, int tensor)
{
	return tensor < 0 ? 0 : m->tensors[tensor].elements;
}

/* Twice the pairs of a query and a key that it sees, of one head and sample. */
static int64_t pairs_of(const struct kernel *k)
{
	int64_t window = k->window ? k->window : k->tokens;
	return window * (window + 1) + 2 * window * (k->tokens - window);
}

struct op_sizes kernel_sizes(const struct model *m, const struct kernel *k, int64_t samples)
{
	bool logits = m->logits >= 0 && (k->x == m->logits || k->y == m->logits);
	return (struct op_sizes){.samples = samples,
	                         .tokens = k->tokens,
	                         .rows = samples * k->tokens,
	                         .own_rows = samples * k->tokens / (kernel_scatters(m, k) ? m->slices : 1),
	                         .in = k->in,
	                         .out = k->out,
	                         .stride = logits ? m->logits_stride : k->out,
	                         .heads = k->heads,
	                         .kv_heads = k->kv_heads,
	                         .head_size = k->head_size,
	                         .pairs = pairs_of(k),
	                         .table = tensor_elements(m, k->weight),
	                         .positions = tensor_elements(m, k->bias),
	                         .contributors = 1,
	                         .bias = k->bias >= 0,
	                         .residual = k->residual >= 0,
	                         .nonlinear = k->nonlinear != NONLINEAR_NONE,
	                         .saved = k->saved >= 0,
	                         .needs_dx = k->needs_dx,
	                         .sums = kernel_sums(m, k),
	                         .sliced_logits = m->maxima >= 0};
}

/* A case for each operand, and the sizes by their names. */
#define AT(operation, operand) (OP_##operation * OP_OPERANDS + (operand))
#define X(name) __attribute__((unused)) const int64_t name = s->name;

bool op_carries_out(enum op_kind k, const struct kernel *kernel, const struct op_sizes *s)
{
	OP_SIZES(X)
	if (infos[k].kernel != (int)kernel->kind)
		return false;
	switch (k) {
#define OP(...)
#define KERNEL_OP(constant, name, role, kernel, pass, condition, ...)                                                  \
	case OP_##constant:                                                                                            \
		return condition;
#include "strategy/plan/ops.def"
	default:
		return false;
	}
}

enum presence operand_presence(enum op_kind k, int operand, const struct op_sizes *s)
{
	enum { ALWAYS = PRESENT_ALWAYS, MAYBE = PRESENT_MAYBE };
	OP_SIZES(X)
	switch ((int)k * OP_OPERANDS + operand) {
#define OPERAND(operation, constant, name, access, when, ...)                                                          \
	case AT(operation, operation##_##constant):                                                                    \
		return (enum presence)(when);
#include "strategy/plan/ops.def"
	default:
		return PRESENT_NOT;
	}
}

int64_t operand_elements(enum op_kind k, int operand, const struct op_sizes *s)
{
	enum { ANY_COUNT = -1 };
	OP_SIZES(X)
	switch ((int)k * OP_OPERANDS + operand) {
#define OPERAND(operation, constant, name, access, presence, part, type, elements)                                     \
	case AT(operation, operation##_##constant):                                                                    \
		return elements;
#include "strategy/plan/ops.def"
	default:
		return 0;
	}
}
#undef X

/* ---- work ---- */

/* For a model at the limits of its sizes, the FLOPs of one sample do not fit in 64 bits. */
__extension__ typedef __int128 flops_sum;
#define X(name) __attribute__((unused)) const flops_sum name = s->name;

static flops_sum work_of(enum op_kind k, const struct op_sizes *s)
{
	OP_SIZES(X)
	switch (k) {
#define OP(constant, name, class, sections, flops)                                                                     \
	case OP_##constant:                                                                                            \
		return flops;
#include "strategy/plan/ops.def"
	default:
		return 0;
	}
}
#undef X

int64_t op_flops_of(enum op_kind k, const struct op_sizes *s)
{
	return (int64_t)work_of(k, s);
}

static flops_sum kernel_work(const struct model *m, const struct kernel *k, enum pass pass, int64_t samples)
{
	struct op_sizes s = kernel_sizes(m, k, samples);
	flops_sum work = 0;
	for (int op = 0; op < OP_KIND_COUNT; op++)
		if (infos[op].pass == pass && infos[op].sections & STEP && op_carries_out((enum op_kind)op, k, &s))
			work += work_of((enum op_kind)op, &s);
	return work;
}

int64_t kernel_flops(const struct model *m, const struct kernel *k, enum pass pass, int64_t samples)
{
	return (int64_t)kernel_work(m, k, pass, samples);
}

double model_flops(const struct model *m)
{
	double flops = 0;
	for (int i = 0; i < m->kernel_count; i++)
		flops += (double)(kernel_work(m, &m->kernels[i], PASS_FORWARD, 1) +
		                  kernel_work(m, &m->kernels[i], PASS_BACKWARD, 1));
	return flops;
}
