#include "real/cuda/fit.h"

#include <inttypes.h>
#include <string.h>

#include "strategy/strategies/strategy.h"

int64_t cuda_fit_bytes(const struct plan *p, const struct role *r)
{
	struct layout l;
	layout_make(&l, p, r, 0);
	int64_t bytes = l.arena_bytes[SPACE_DEVICE];
	layout_release(&l);
	return bytes;
}

static bool fits(struct settings s, int64_t available)
{
	struct model m = {0};
	struct plan p = {0};
	s.batch = 0; /* follows from the others */
	bool ok = !settings_resolve(&s, strategy_data_ranks(&s)) && !model_open(&m, s.model, s.sequence) &&
	          !plan_compile(&p, &m, &s);
	for (int r = 0; ok && r < p.role_count; r++)
		ok = cuda_fit_bytes(&p, &p.roles[r]) <= available;
	plan_release(&p);
	model_release(&m);
	return ok;
}

struct advice {
	char text[512];
	int64_t available;
};

static void add(struct advice *a, const char *option)
{
	size_t n = strlen(a->text);
	snprintf(a->text + n, sizeof a->text - n, "%s%s", n ? ", or " : "", status_words(option));
}

static void try_one(struct advice *a, const struct settings *s, const char *option)
{
	if (fits(*s, a->available))
		add(a, option);
}

/* Does it fit? Then the option is said with its number. */
static bool try_number(struct advice *a, const struct settings *s, const char *option, int64_t number)
{
	char text[64];
	if (!fits(*s, a->available))
		return false;
	snprintf(text, sizeof text, "%s %" PRId64, option, number);
	add(a, text);
	return true;
}

/* The largest micro-batch below the plan's that fits, with more micro-batches in its place. */
static void try_micro_batches(struct advice *a, struct settings s)
{
	const int64_t given = s.micro_batch;
	for (s.micro_batch /= 2; s.micro_batch >= 1; s.micro_batch /= 2)
		if (given % s.micro_batch == 0 && try_number(a, &s, "{micro_batch}", s.micro_batch))
			return;
}

static void try_ranks(struct advice *a, struct settings s)
{
	const int64_t given = s.ranks;
	for (s.ranks *= 2; s.ranks <= 64 * given && given > 1; s.ranks *= 2)
		if (try_number(a, &s, "{ranks}", s.ranks))
			return;
}

enum status cuda_fit_failed(const struct plan *p, const char *gpu, int64_t need, int64_t available)
{
	const struct settings *given = &p->settings;
	struct advice a = {.available = available};
	struct settings s = *given;
	try_micro_batches(&a, s);
	snprintf(s.checkpointing, sizeof s.checkpointing, "full");
	try_one(&a, &s, "{activation_checkpointing} full");
	s = *given;
	s.offload.optimizer = true;
	if (!given->offload.optimizer)
		try_one(&a, &s, "{offload} optimizer");
	s = *given;
	snprintf(s.strategy, sizeof s.strategy, "fsdp");
	if (given->ranks > 1 && strcmp(p->strategy, "fsdp") != 0 && strcmp(p->strategy, "zero3") != 0)
		try_one(&a, &s, "{strategy} fsdp");
	try_ranks(&a, *given);
	if (!*a.text)
		snprintf(a.text, sizeof a.text, "%s",
		         status_words(
		                 "more {ranks} under {strategy} fsdp, a smaller {micro_batch}, "
		                 "{activation_checkpointing} full and {offload} optimizer, several of them together"));
	return status_fail(STATUS_INPUT,
	                   "%s is too small: the plan needs %" PRId64 " bytes, %" PRId64 " are there, %" PRId64
	                   " are missing; it would fit with: %s",
	                   gpu, need, available, need - available, a.text);
}
