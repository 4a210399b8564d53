/* Fuzz target: a file of hosts. What is taken has hosts with names and slots, and each rank is on one. */
#include "cli/command/hosts.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct hosts h;
	int64_t hosts, each;
	enum status s = hosts_parse(&h, (const char *)data, size, "input");
	if (s) {
		/* every error says where */
		if (s == STATUS_INPUT && strncmp(status_message(), "input:", 6))
			abort();
		return 0;
	}
	int64_t slots = hosts_slots(&h);
	if (!hosts_place(&h, slots, &hosts, &each) && hosts * each < slots)
		abort();
	if (!*hosts_name(&h, 0) || !*hosts_name(&h, slots - 1) || *hosts_name(&h, slots) || !*hosts_list(&h))
		abort();
	hosts_release(&h);
	return 0;
}
