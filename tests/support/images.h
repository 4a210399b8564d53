/* Four small IDX files in a folder of their own, so that training can be tested without Fashion-MNIST. */
#ifndef SHARDLAB_TESTS_IMAGES_H
#define SHARDLAB_TESTS_IMAGES_H

#include <stdbool.h>
#include <stddef.h>

/* Makes the folder in TMPDIR, and writes its name to `path`. The label, of ten, can be learnt from the pixels. */
bool images_make(char *path, size_t size, int rows, int columns, int training, int validation);
void images_remove(const char *path);

#endif
