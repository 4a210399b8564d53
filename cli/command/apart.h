/* No file is written over one that the same command reads, nor over another that it writes: under whatever name, link
 * or hard link. Called once the options are read and before anything is opened for writing.
 *
 *     enum status s = outputs_are_apart(&o);
 *
 * A name of which nothing is there yet counts too: two outputs of one name, a file that would become part of a folder
 * of data, or one in the folder that {save} makes.
 */
#ifndef SHARDLAB_APART_H
#define SHARDLAB_APART_H

#include "cli/options/options.h"

/* STATUS_INPUT if an option names a file that another one reads or writes. */
enum status outputs_are_apart(const struct options *o);

/* Every rank reads what its command names, from the beginning: STATUS_INPUT for a pipe, such as the shell's <(command),
 * which can be read once. Called before anything is read. */
enum status inputs_are_files(const struct options *o);

#endif
