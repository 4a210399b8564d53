/* Fuzz target: a plan's text. What is read must print, read again and print the same; the verifier must come to an
 * answer about it, with a line if it refuses; and what it accepts can be reported. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "strategy/trace/report.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char *print(const struct plan *p, size_t *size)
{
	char *text = NULL;
	FILE *out = open_memstream(&text, size);
	if (!out)
		abort();
	plan_write(p, NULL, out);
	fclose(out);
	return text;
}

static void check_round_trip(const struct plan *p)
{
	struct plan again;
	struct model model;
	size_t first_size, second_size;
	char *first = print(p, &first_size);
	if (plan_read(&again, &model, first, first_size, "again")) {
		fprintf(stderr, "%s\n", status_message());
		abort();
	}
	char *second = print(&again, &second_size);
	if (first_size != second_size || memcmp(first, second, first_size))
		abort();
	free(first);
	free(second);
	plan_release(&again);
	model_release(&model);
}

/* A model of a hundred thousand layers is no error, and takes its time. */
static int is_small(const struct model *m)
{
	return m->kernel_count < 10000;
}

static void check_report(const struct plan *p)
{
	static struct report r; /* too large for a stack */
	report_from_plan(&r, p);
	report_release(&r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct plan p;
	struct model m;
	if (plan_read(&p, &m, (const char *)data, size, "input")) {
		if (strncmp(status_message(), "input:", 6))
			abort();
		return 0;
	}
	if (is_small(&m)) {
		check_round_trip(&p);
		if (!plan_verify(&p, NULL))
			check_report(&p);
		else if (strncmp(status_message(), "rule ", 5))
			abort();
	}
	plan_release(&p);
	model_release(&m);
	return 0;
}
