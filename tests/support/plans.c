#include "tests/support/plans.h"
#include "strategy/strategies/strategy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *support_folder(void)
{
	const char *folder = getenv("TMPDIR");
	return folder && *folder ? folder : "/tmp";
}

struct settings request_settings(const struct request *r)
{
	struct settings s = settings_default();
	snprintf(s.model, sizeof s.model, "%s", r->model);
	snprintf(s.strategy, sizeof s.strategy, "%s", r->strategy);
	if (r->checkpointing)
		snprintf(s.checkpointing, sizeof s.checkpointing, "%s", r->checkpointing);
	s.ranks = r->ranks ? r->ranks : 1;
	s.micro_batch = r->micro_batch ? r->micro_batch : 1;
	s.accumulate = r->accumulate;
	s.sequence = r->sequence;
	s.bucket = r->bucket;
	s.precision = r->precision;
	s.optimizer = r->optimizer;
	s.clip = r->clip;
	s.learning_rate = r->learning_rate > 0 ? r->learning_rate : s.learning_rate;
	s.library_collectives = r->library_collectives;
	s.stochastic_rounding = r->stochastic_rounding;
	s.loss_scaler = r->loss_scaler;
	s.loss_scale = r->loss_scale;
	s.loss_scale_window = r->loss_scale_window;
	if (offload_parse(r->offload ? r->offload : "none", &s.offload)) {
		fprintf(stderr, "%s\n", status_message());
		abort();
	}
	if (settings_resolve(&s, strategy_data_ranks(&s))) {
		fprintf(stderr, "%s\n", status_message());
		abort();
	}
	return s;
}

static enum status open_settings(struct made *m, const struct settings *s)
{
	*m = (struct made){0};
	enum status status = model_open(&m->model, s->model, s->sequence);
	if (!status)
		status = plan_compile(&m->plan, &m->model, s);
	if (status)
		made_release(m);
	return status;
}

enum status made_open(struct made *m, const struct request *r)
{
	struct settings s = request_settings(r);
	return open_settings(m, &s);
}

static enum status read_word(const char *word, int number, struct settings *s)
{
	size_t length = strcspn(word, "=");
	if (number < 2)
		return setting_read(number ? SETTING_STRATEGY : SETTING_MODEL, "word", word, s);
	for (int i = 0; i < SETTING_COUNT; i++)
		if (word[length] && strlen(setting_rows[i].name) == length &&
		    !strncmp(word, setting_rows[i].name, length))
			return setting_read((enum setting)i, setting_rows[i].name, word + length + 1, s);
	fprintf(stderr, "no setting: %s\n", word);
	abort();
}

enum status made_open_words(struct made *m, const char *words)
{
	struct settings s = settings_default();
	char text[1024], *rest = text;
	enum status status = STATUS_OK;
	snprintf(text, sizeof text, "%s", words);
	for (int i = 0; *rest && !status; i++) {
		char *word = rest;
		rest += strcspn(rest, " ");
		if (*rest)
			*rest++ = 0;
		if (*word)
			status = read_word(word, i, &s);
	}
	*m = (struct made){0};
	if (!s.batch && !s.micro_batch)
		s.micro_batch = 1;
	if (!status)
		status = settings_resolve(&s, strategy_data_ranks(&s));
	return status ? status : open_settings(m, &s);
}

void made_release(struct made *m)
{
	plan_release(&m->plan);
	model_release(&m->model);
}

static void add_moved(struct moved *sum, const struct plan *p, const struct role *r, const struct op *op, int64_t rank)
{
	sum->calls++;
	sum->payload += op_payload_bytes(r, op);
	sum->sent += op_sent_bytes(p, r, op, rank);
	sum->received += op_received_bytes(p, r, op, rank);
}

static struct moved moved(const struct plan *p, int64_t rank, int kind)
{
	const struct role *r = plan_role_of(p, rank);
	struct moved sum = {0};
	for (int i = r->step.begin; i < r->step.end; i++) {
		const struct op *op = &r->ops[i];
		if (op_class(op->kind) != OP_CLASS_C)
			continue;
		if (kind < 0 ? op->traffic != TRAFFIC_CONTROL : (int)op->traffic == kind)
			add_moved(&sum, p, r, op, rank);
	}
	return sum;
}

struct moved plan_moved(const struct plan *p, int64_t rank, enum traffic_kind kind)
{
	return moved(p, rank, (int)kind);
}

struct moved plan_moved_all(const struct plan *p, int64_t rank)
{
	return moved(p, rank, -1);
}

int64_t plan_model_states(const struct plan *p, int64_t rank)
{
	struct memory_use use;
	plan_memory(p, plan_role_of(p, rank), SPACE_DEVICE, &use);
	return use.steady[CATEGORY_PARAMETERS] + use.steady[CATEGORY_GRADIENTS] + use.steady[CATEGORY_OPTIMIZER];
}

int64_t plan_most_live(const struct role *r, const char *begins, const char *without)
{
	int64_t live = 0, most = 0;
	for (int i = r->step.begin; i < r->step.end; i++) {
		const struct op *op = &r->ops[i];
		if (op_class(op->kind) != OP_CLASS_M)
			continue;
		const struct buffer *b = &r->buffers[op_buffer(op)];
		if (strncmp(b->name, begins, strlen(begins)) ||
		    (without && !strncmp(b->name, without, strlen(without))))
			continue;
		live += op->kind == OP_ALLOC ? b->elements : -b->elements;
		if (live > most)
			most = live;
	}
	return most;
}

int plans_strategies(void)
{
	int n = 0;
	while (strategy_at(n))
		n++;
	return n;
}

bool read_precision(const char *text, enum type *out)
{
	struct settings s = settings_default();
	enum status status = setting_read(SETTING_PRECISION, "precision", text, &s);
	*out = s.precision;
	return !status;
}
