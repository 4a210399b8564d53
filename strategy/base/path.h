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

/* The caller frees them. Running out of memory ends the program. */
char *path_in_folder(const char *folder, const char *name);
char *path_beside(const char *file, const char *name);

#endif
