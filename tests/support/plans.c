#include "tests/support/plans.h"

#include <string.h>

const char *support_folder(void)
{
	const char *folder = getenv("TMPDIR");
	return folder && *folder ? folder : "/tmp";
}

static void must(enum status s)
{
	if (!s)
		return;
	fprintf(stderr, "%s\n", status_message());
	abort();
}

/* number: of the word; the first two may be model and strategy. */
static enum status read_word(const char *word, int number, struct settings *s)
{
	size_t length = strcspn(word, "=");
	for (int i = 0; i < SETTING_COUNT; i++)
		if (word[length] && strlen(setting_rows[i].name) == length &&
		    !strncmp(word, setting_rows[i].name, length))
			return setting_read((enum setting)i, setting_rows[i].name, word + length + 1, s);
	if (number < 2) /* without a name */
		return setting_read(number ? SETTING_STRATEGY : SETTING_MODEL, "word", word, s);
	fprintf(stderr, "no setting: %s\n", word);
	abort();
}

static enum status read_words(struct settings *s, const char *words, int number)
{
	char text[1024], *save;
	enum status status = STATUS_OK;
	snprintf(text, sizeof text, "%s", words);
	for (char *word = strtok_r(text, " ", &save); word && !status; word = strtok_r(NULL, " ", &save))
		status = read_word(word, number++, s);
	return status;
}

struct settings settings_of(const char *words, ...)
{
	struct settings s = settings_default();
	WORDS(words, text);
	must(read_words(&s, text, 0));
	return s;
}

struct settings settings_with(const struct settings *s, const char *words, ...)
{
	struct settings other = *s;
	WORDS(words, text);
	must(read_words(&other, text, 2));
	return other;
}

static enum status resolve(struct settings *s)
{
	if (!s->batch && !s->micro_batch)
		s->micro_batch = 1;
	return settings_resolve(s, strategy_data_ranks(s));
}

struct settings settings_resolved(const struct settings *s)
{
	struct settings resolved = *s;
	must(resolve(&resolved));
	return resolved;
}

enum status made_open(struct made *m, const struct settings *s)
{
	struct settings resolved = *s;
	*m = (struct made){0};
	enum status status = resolve(&resolved);
	if (!status)
		status = model_open(&m->model, resolved.model, resolved.sequence);
	if (!status)
		status = plan_compile(&m->plan, &m->model, &resolved);
	if (status)
		made_release(m);
	return status;
}

enum status made_open_words(struct made *m, const char *words)
{
	struct settings s = settings_default();
	*m = (struct made){0};
	enum status status = read_words(&s, words, 0);
	return status ? status : made_open(m, &s);
}

void made_release(struct made *m)
{
	plan_release(&m->plan);
	model_release(&m->model);
}

static void add_moved(struct moved *sum, const struct plan *p, const struct role *r, const struct op *op, int64_t rank)
{
	sum->calls += !op->joined;
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
