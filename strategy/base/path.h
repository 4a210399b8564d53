/* Paths of files. NULL is no path: its name is NULL, and nothing is there.
 *
 *     path_name("saved/a.csv")                  "a.csv"
 *     path_ends_in("saved/a.csv", ".csv")       true
 *     path_in_folder("saved", "config.json")    "saved/config.json"
 *     path_beside("saved/a.csv", "b.csv")       "saved/b.csv"
 */
#ifndef SHARDLAB_PATH_H
#define SHARDLAB_PATH_H

#include <stdbool.h>

const char *path_name(const char *path); /* the part behind the last slash */

/* Whether the path ends so, with something before the ending. */
bool path_ends_in(const char *path, const char *ending);
bool path_ends_in_any(const char *path, const char *const *endings); /* the list ends with NULL */

bool path_is_there(const char *path); /* a link to nothing is not */
bool path_is_folder(const char *path);
bool path_folder_has(const char *folder, const char *name);

/* The descriptor of this process that a path names: /dev/stdout, or /dev/fd/63 and /proc/self/fd/63, which the shell
 * makes of >(command). -1: none. */
int path_descriptor(const char *path);
/* True if the path names a descriptor of this process, or of another as /proc/PID/fd/63. */
bool path_is_descriptor(const char *path);
/* A path to a descriptor of this process, for other processes too. */
enum { PATH_OF_DESCRIPTOR = 64 };
const char *path_of_descriptor(int fd, char out[PATH_OF_DESCRIPTOR]);

/* This program's own file, for whoever starts it again or looks beside it; `ps` shows a process by that name, where
 * /proc/self/exe would make it "exe". False, with errno, where /proc is not mounted. */
enum { PATH_OF_PROGRAM = 4096 };
bool path_of_program(char out[PATH_OF_PROGRAM]);
/* The folder that it is in; "": not known. */
const char *path_of_program_folder(char out[PATH_OF_PROGRAM]);

/* The caller frees them. Running out of memory ends the program. */
char *path_in_folder(const char *folder, const char *name);
char *path_beside(const char *file, const char *name);

/* A file where a name of a catalogue could stand: it has a slash, or ends in .yaml or .yml. */
bool path_is_yaml(const char *text);

#endif
