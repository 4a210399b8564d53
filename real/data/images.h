/* Datasets of images. Between the parts of real/data. */
#ifndef SHARDLAB_DATA_IMAGES_H
#define SHARDLAB_DATA_IMAGES_H

#include "real/data/data.h"

/* The four files of a folder, or of the one that is there by default. */
enum status dataset_open_images(struct dataset *d, const struct dataset_spec *spec);
/* Every tenth image is to validate with. */
enum status dataset_open_pair(struct dataset *d, const struct dataset_spec *spec, const char *images,
                              const char *labels);

#endif
