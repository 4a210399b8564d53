/* A GPU as a device. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "real/cuda/executor.h"
#include "real/rank/operand.h"

static enum status open_device(struct device *d, const struct plan *p, int64_t rank, const struct input_source *input,
                               const struct device_choice *c)
{
	struct cuda_device *own = NULL;
	enum status s = cuda_device_open(&own, p, rank, input, c);
	d->own = own;
	d->rank = own ? &own->rank : NULL;
	return s;
}

static enum status start(struct device *d, const struct device_choice *c, struct communicator *communicator)
{
	return cuda_executor_open(&d->executor, d->own, communicator, c);
}

static void release(struct device *d)
{
	cuda_device_close(d->own);
}

/* Adds a name to "hopper, tensor" unless it is there; none is a part of another. */
static void add_name(char *list, size_t size, const char *name)
{
	size_t at = strlen(list);
	if (!strstr(list, name))
		snprintf(list + at, size - at, "%s%s", at ? ", " : "", name);
}

/* "cudnn", or which of its plans that is, where it is not the one that cuDNN advises first. */
static void name_rung(int rung, const struct cuda_attention_choice *choice, char *out, size_t size)
{
	if (rung == CUDA_ATTENTION_CUDNN && choice->cudnn_plan)
		snprintf(out, size, "%s (plan %" PRId64 ")", cuda_attention_names[rung], choice->cudnn_plan);
	else
		snprintf(out, size, "%s", cuda_attention_names[rung]);
}

/* "forward: tensor 412, hopper 301 µs", after what is there. */
static void add_times(char *list, size_t size, bool backward, const struct cuda_attention_choice *choice)
{
	const char *before = backward ? "backward: " : "forward: ";
	size_t at = strlen(list);
	if (choice->why != CUDA_ATTENTION_MEASURED || strstr(list, before))
		return;
	snprintf(list + at, size - at, "%s%s", at ? "; " : "", before);
	for (int r = CUDA_ATTENTION_PLAIN, n = 0; r < CUDA_ATTENTIONS; r++)
		if (choice->seconds[r] > 0) {
			char name[40];
			at = strlen(list);
			name_rung(r, choice, name, sizeof name);
			snprintf(list + at, size - at, "%s%s %.0f", n++ ? ", " : "", name, 1e6 * choice->seconds[r]);
		}
	at = strlen(list);
	snprintf(list + at, size - at, " µs");
}

/* "hopper 98, simple 2" */
static void name_products(const struct cuda_products *p, struct report_slowed *out)
{
	static const char *const names[] = {
#define X(NAME, name) #name,
	        CUDA_PRODUCT_LIST(X)
#undef X
	};
	for (int r = CUDA_PRODUCT_RUNGS - 1; r > CUDA_PRODUCT_CUBLASLT; r--) {
		const size_t at = strlen(out->products_by);
		if (p->by[r])
			snprintf(out->products_by + at, sizeof out->products_by - at, "%s%s %" PRId64, at ? ", " : "",
			         names[r], p->by[r]);
	}
}

static void name_attention(const struct cuda_device *c, struct report_slowed *out)
{
	static const char *const why[] = {[CUDA_ATTENTION_HIGHEST] = "highest",
	                                  [CUDA_ATTENTION_ASKED] = "asked",
	                                  [CUDA_ATTENTION_MEASURED] = "measured"};
	for (int i = 0; i < c->rank.role->op_count; i++) {
		const struct op *op = &c->rank.role->ops[i];
		bool forward = op->kind == OP_ATTENTION_FORWARD, backward = op->kind == OP_ATTENTION_BACKWARD;
		if (!forward && !backward)
			continue;
		struct attention_shape shape = attention_shape_of(&c->rank, op);
		struct cuda_attention_choice choice;
		c->api->attention_choice(c->context, &shape, backward, &choice);
		add_name(forward ? out->attention_forward : out->attention_backward, sizeof out->attention_forward,
		         cuda_attention_names[choice.rung]);
		add_times(out->attention_times, sizeof out->attention_times, backward, &choice);
		snprintf(out->attention_why, sizeof out->attention_why, "%s", why[choice.why]);
		out->attention_refused |= c->attention == CUDA_ATTENTION_CUDNN && choice.rung != CUDA_ATTENTION_CUDNN;
	}
}

/* "768 to 2304: epilogue 202, pass 203 µs", after what is there, if it fits. */
static void add_bias(char *list, size_t size, const struct cuda_bias_choice *choice)
{
	static const char *const ways[] = {[CUDA_BIAS_EPILOGUE] = "epilogue", [CUDA_BIAS_PASS] = "pass"};
	char line[160];
	const size_t at = strlen(list);
	snprintf(line, sizeof line, "%s%" PRId64 " to %" PRId64 "%s: ", at ? "; " : "", choice->shape.in,
	         choice->shape.out, choice->accumulates ? ", accumulated" : "");
	for (int w = 0, n = 0; w < CUDA_BIAS_WAYS; w++)
		if (choice->seconds[w] > 0) {
			const size_t end = strlen(line);
			snprintf(line + end, sizeof line - end, "%s%s %.0f", n++ ? ", " : "", ways[w],
			         1e6 * choice->seconds[w]);
		}
	if (at + strlen(line) + sizeof " µs" <= size)
		snprintf(list + at, size - at, "%s µs", line);
}

static void name_biases(const struct cuda_device *c, struct report_slowed *out)
{
	struct cuda_bias_choice choice[8];
	const int n = c->api->bias_choices(c->context, choice, 8);
	for (int i = 0; i < n && i < 8; i++)
		add_bias(out->bias_times, sizeof out->bias_times, &choice[i]);
}

static void slowed(const struct device *d, struct report_slowed *out)
{
	const struct cuda_device *c = d->own;
	struct cuda_products p;
	c->api->products(c->context, &p);
	name_attention(c, out);
	name_biases(c, out);
	if (!p.by[CUDA_PRODUCT_CUBLASLT])
		name_products(&p, out);
	out->gelu_passes = p.gelu_passes;
	out->plain_products = p.plain;
	snprintf(out->not_captured, sizeof out->not_captured, "%s", c->not_captured);
	if (p.plain)
		snprintf(out->plain_why, sizeof out->plain_why, "%s: %s", p.first, c->api->error_text(p.why));
}

const struct device_table cuda_device_table = {.name = "cuda",
                                               .kind = DEVICE_GPU,
                                               .check = cuda_device_check,
                                               .open = open_device,
                                               .start = start,
                                               .release = release,
                                               .overhead = cuda_overhead,
                                               .slowed = slowed};
