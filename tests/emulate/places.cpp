/* Source lines of instructions, from addr2line. */
#include <unistd.h>

#include "tests/emulate/watch.h"

extern "C" char __executable_start;

/* The first function and line are the innermost; those after it, where it was made part of. */
emulate_place emulate_place_of(const void *site)
{
	char program[4096], command[4352], function[4096], line[4096], address[32];
	emulate_place place;
	ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
	size_t offset = static_cast<size_t>(static_cast<const char *>(site) - &__executable_start);
	program[std::max<ssize_t>(length, 0)] = 0;
	/* a byte before: a return address may be the next line's */
	snprintf(command, sizeof command, "addr2line -e '%s' -s -f -i -C %#zx 2>/dev/null", program, offset - 1);
	snprintf(address, sizeof address, "%p", site);
	FILE *f = popen(command, "r");
	while (f && fgets(function, sizeof function, f) && fgets(line, sizeof line, f)) {
		line[strcspn(line, " \n")] = function[strcspn(function, "\n")] = 0;
		place.lines += (place.lines.empty() ? "" : " in ") + std::string(line);
		place.function = function;
	}
	if (f)
		pclose(f);
	return place.function.empty() ? emulate_place{address, address} : place;
}
