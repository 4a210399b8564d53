/* Paths: names, endings, and what is there. */
#include <stdlib.h>
#include <unistd.h>

#include "strategy/base/path.h"
#include "tests/support/suite.h"

START_TEST(names_and_endings)
{
	static const char *const tables[] = {".csv", ".tsv", NULL};
	ck_assert_str_eq(path_name("saved/a.csv"), "a.csv");
	ck_assert_str_eq(path_name("a.csv"), "a.csv");
	ck_assert_str_eq(path_name("saved/"), "");
	ck_assert_ptr_null(path_name(NULL));
	ck_assert(path_ends_in("saved/a.csv", ".csv") && !path_ends_in("a.csv.gz", ".csv"));
	ck_assert(!path_ends_in(".csv", ".csv") && !path_ends_in("csv", ".csv") && !path_ends_in(NULL, ".csv"));
	ck_assert(path_ends_in_any("a.tsv", tables) && !path_ends_in_any("a.txt", tables));
}

static void is(char *path, const char *want)
{
	ck_assert_str_eq(path, want);
	free(path);
}

START_TEST(paths_made_of_others)
{
	is(path_in_folder("saved", "a.csv"), "saved/a.csv");
	is(path_in_folder("saved/", "a.csv"), "saved/a.csv");
	is(path_in_folder("/", "a.csv"), "/a.csv");
	is(path_in_folder("", "a.csv"), "a.csv");
	is(path_beside("saved/a.csv", "b.csv"), "saved/b.csv");
	is(path_beside("a.csv", "b.csv"), "b.csv");
}

/* As /dev/stdout, or as the shell names >(command). */
START_TEST(descriptors)
{
	static const struct {
		const char *path;
		int fd;
		bool named;
	} rows[] = {{"/dev/stdout", STDOUT_FILENO, true},
	            {"/dev/stderr", STDERR_FILENO, true},
	            {"/dev/fd/63", 63, true},
	            {"/proc/self/fd/1", STDOUT_FILENO, true},
	            {"/proc/12/fd/3", -1, true},
	            {"/dev/fd/", -1, false},
	            {"/dev/fd/63/a", -1, false},
	            {"/proc/12/fd/3x", -1, false},
	            {"/proc/12/maps", -1, false},
	            {"63", -1, false}};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		ck_assert_int_eq(path_descriptor(rows[i].path), rows[i].fd);
		ck_assert_int_eq(path_is_descriptor(rows[i].path), rows[i].named);
	}
	char path[PATH_OF_DESCRIPTOR];
	ck_assert(path_is_there(path_of_descriptor(STDOUT_FILENO, path)) && path_is_descriptor(path));
}

START_TEST(what_is_there)
{
	char folder[] = "/tmp/shardlab-path-XXXXXX";
	ck_assert_ptr_nonnull(mkdtemp(folder));
	char *link = path_in_folder(folder, "link");
	ck_assert_int_eq(symlink("nowhere", link), 0);
	ck_assert(path_is_there(folder) && path_is_folder(folder));
	ck_assert(path_is_there("/dev/null") && !path_is_folder("/dev/null"));
	ck_assert(path_folder_has("/dev", "null") && !path_folder_has("/dev/null", "null"));
	ck_assert(!path_is_there(link) && !path_folder_has(folder, "link"));
	ck_assert(!path_is_there(NULL) && !path_is_folder(NULL) && !path_folder_has(NULL, "null"));
	unlink(link);
	rmdir(folder);
	free(link);
}

SUITE("path", 0)
