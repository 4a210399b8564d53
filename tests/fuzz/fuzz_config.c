/* Fuzz target: a model's config.json. What is taken is a model that opens, its specification is the one that opening it
 * gives, and keys behind the file replace its own; what is refused says where, on one line. */
#include "strategy/model/config.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "strategy/model/model.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_line(void)
{
	const char *line = status_message();
	if (strncmp(line, "input:", 6) != 0 || strchr(line, '\n'))
		abort();
}

static void check_model(const char *specification)
{
	struct model m, again;
	if (model_open(&m, specification, 0) || model_open(&again, m.specification, 0))
		abort();
	if (m.parameters < 1 || m.parameters != again.parameters || strcmp(m.specification, again.specification) != 0)
		abort();
	model_release(&m);
	model_release(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena a = {0};
	const char *specification, *shorter;
	enum status s = model_config_text(&a, (const char *)data, size, "input", NULL, NULL, &specification);
	if (s)
		check_line();
	else
		check_model(specification);
	if (!s && model_config_text(&a, (const char *)data, size, "input", "layers=1,name=x", "y", &shorter))
		abort();
	if (!s && (!strstr(shorter, "layers=1,") || strcmp(strrchr(shorter, ','), ",name=x") != 0))
		abort();
	arena_release(&a);
	return 0;
}
