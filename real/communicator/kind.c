#include "real/communicator/kind.h"

#include <stddef.h>
#include <string.h>

static const struct communicator_kind kinds[] = {
#define X(name, library, device, host) {name, library, device, host},
        COMMUNICATOR_LIST(X)
#undef X
};

const struct communicator_kind *communicator_kind(const char *name)
{
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		if (!strcmp(kinds[i].name, name))
			return &kinds[i];
	return NULL;
}
