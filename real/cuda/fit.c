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

static void try_one(struct advice *a, const struct settings *s, const char *option)
{
	size_t n = strlen(a->text);
	if (fits(*s, a->available))
		snprintf(a->text + n, sizeof a->text - n, "%s%s", n ? ", or " : "", status_words(option));
}

/* The largest micro-batch below the plan's that fits, with more micro-batches in its place. */
static void try_micro_batches(struct advice *a, const struct settings *given)
{
	char option[64];
	for (int64_t micro = given->micro_batch / 2; micro >= 1; micro /= 2) {
		struct settings s = *given;
		s.micro_batch = micro;
		if (given->micro_batch % micro || !fits(s, a->available))
			continue;
		snprintf(option, sizeof option, "{micro_batch} %" PRId64, micro);
		try_one(a, &s, option);
		return;
	}
}

static void try_ranks(struct advice *a, const struct settings *given)
{
	char option[64];
	for (int64_t ranks = 2 * given->ranks; ranks <= 64 * given->ranks && given->ranks > 1; ranks *= 2) {
		struct settings s = *given;
		s.ranks = ranks;
		if (!fits(s, a->available))
			continue;
		snprintf(option, sizeof option, "{ranks} %" PRId64, ranks);
		try_one(a, &s, option);
		return;
	}
}

enum status cuda_fit_failed(const struct plan *p, const char *gpu, int64_t need, int64_t available)
{
	const struct settings *given = &p->settings;
	struct advice a = {.available = available};
	struct settings s = *given;
	try_micro_batches(&a, given);
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
	try_ranks(&a, given);
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
