/* Feeds files to a fuzz target: the main program of tests/fuzz/fuzz_*.c in `make check`, where no fuzzer drives them.
 *
 *     build/tests/fuzz/fuzz_plan tests/fuzz/corpus/plan            every file in a folder, in the order of the names
 *     build/tests/fuzz/fuzz_plan crash-1234                        one file
 *
 * The name of each file is printed before it is read, so the last one is the one that crashed. Every input is read
 * whole and then cut short at a few places, which parsers meet in truncated downloads. A folder without files is an
 * error: a test that reads nothing would not fail either.
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static _Noreturn void fail(const char *what, const char *path)
{
	fprintf(stderr, "fatal: %s %s\n", what, path);
	exit(1);
}

/* A block of exactly `size` bytes, so that a sanitizer sees a read past the end. */
static void replay_bytes(const uint8_t *bytes, size_t size)
{
	uint8_t *copy = malloc(size ? size : 1);
	if (!copy)
		fail("no memory for", "an input");
	if (size)
		memcpy(copy, bytes, size);
	LLVMFuzzerTestOneInput(copy, size);
	free(copy);
}

static void replay_file(const char *path, size_t size)
{
	FILE *file = fopen(path, "rb");
	uint8_t *bytes = malloc(size + 1);
	if (!file || !bytes || fread(bytes, 1, size, file) != size)
		fail("cannot read", path);
	fclose(file);
	printf("%s\n", path);
	fflush(stdout);
	replay_bytes(bytes, size);
	for (size_t eighth = 0; eighth < 8; eighth++)
		replay_bytes(bytes, size / 8 * eighth);
	free(bytes);
}

static int visible(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

static void replay_path(const char *path)
{
	struct stat info;
	if (stat(path, &info))
		fail("cannot find", path);
	if (!S_ISDIR(info.st_mode)) {
		replay_file(path, (size_t)info.st_size);
		return;
	}
	struct dirent **entries;
	int count = scandir(path, &entries, visible, alphasort);
	if (count <= 0)
		fail("no inputs in", path);
	for (int i = 0; i < count; i++) {
		size_t size = strlen(path) + strlen(entries[i]->d_name) + 2;
		char *inner = malloc(size);
		if (!inner)
			fail("no memory for", path);
		snprintf(inner, size, "%s/%s", path, entries[i]->d_name);
		replay_path(inner);
		free(inner);
		free(entries[i]);
	}
	free(entries);
}

int main(int argc, char **argv)
{
	if (argc < 2) {
		fprintf(stderr, "usage: %s FILE|FOLDER...\n", argv[0]);
		return 2;
	}
	for (int i = 1; i < argc; i++)
		replay_path(argv[i]);
	return 0;
}
