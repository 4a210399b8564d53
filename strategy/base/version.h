/* The release, in `--version` and in what is written to be compared later. */
#ifndef SHARDLAB_VERSION_H
#define SHARDLAB_VERSION_H

#define SHARDLAB_VERSION "0.1"

#endif
