/* A lesson in another language is a file of the same name in that language's folder, lessons/zh/03-ring-all-reduce.md:
 * the same pieces in the same order, with the same commands, outputs, pictures and right answers, in other words. So
 * what is checked by running it is run once, for the original.
 */
#ifndef SHARDLAB_LESSON_TRANSLATION_H
#define SHARDLAB_LESSON_TRANSLATION_H

#include "cli/lesson/folder.h"

/* A difference is STATUS_INPUT, and the message names both places of the first one. */
enum status lesson_check_translation(const struct lesson *l, const struct lesson *translated);

/* Checks that every lesson of the folder, or the one at the path `only`, has its translation, and every translation its
 * lesson. update: outputs that differ are copied from the originals. */
enum status translations_check(const struct lesson_folder *originals, const char *language, const char *only,
                               bool update);

#endif
