#include "real/cuda/fit.h"

#include <inttypes.h>
#include <stdio.h>

#include "strategy/strategies/strategy.h"
#include "strategy/strategies/variants.h"

int64_t cuda_fit_bytes(const struct plan *p, const struct role *r)
{
	struct layout l;
	layout_make(&l, p, r, 0);
	int64_t bytes = l.arena_bytes[SPACE_DEVICE];
	layout_release(&l);
	return bytes;
}

static bool fits(const struct settings *s, int64_t available)
{
	struct model m = {0};
	struct plan p = {0};
	bool ok = !model_open(&m, s->model, s->sequence) && !plan_compile(&p, &m, s);
	for (int r = 0; ok && r < p.role_count; r++)
		ok = cuda_fit_bytes(&p, &p.roles[r]) <= available;
	plan_release(&p);
	model_release(&m);
	return ok;
}

/* Those that take one change, or more ranks. */
static void list_changes(const struct settings *given, int64_t available, char *out, size_t size)
{
	struct variant list[VARIANTS];
	int count = variants_of(given, list), had = -1;
	size_t n = 0;
	*out = 0;
	for (int i = 0; i < count && n < size; i++) {
		if (list[i].family == had || !fits(&list[i].settings, available))
			continue;
		had = list[i].family;
		n += (size_t)snprintf(out + n, size - n, "%s%s", n ? ", or " : "", status_words(list[i].change));
	}
}

enum status cuda_fit_failed(const struct plan *p, const char *gpu, int64_t need, int64_t available)
{
	char changes[512];
	list_changes(&p->settings, available, changes, sizeof changes);
	if (!*changes)
		snprintf(changes, sizeof changes, "%s",
		         status_words(
		                 "more {ranks} under {strategy} fsdp, a smaller {micro_batch}, "
		                 "{activation_checkpointing} full and {offload} optimizer, several of them together"));
	return status_fail(STATUS_INPUT,
	                   "%s is too small: the plan needs %" PRId64 " bytes, %" PRId64 " are there, %" PRId64
	                   " are missing; it would fit with: %s",
	                   gpu, need, available, need - available, changes);
}
