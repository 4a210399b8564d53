#include "real/data/file.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { IDX_UNSIGNED_BYTE = 8, PATH_BYTES = 4096 };

static uint32_t big_endian(const unsigned char *b)
{
	return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
}

enum status idx_parse(struct idx *x, const char *name, const unsigned char *bytes, int64_t size, enum idx_rank rank)
{
	const char *what = rank == IDX_IMAGES ? "images" : "labels";
	int64_t header = 4 + 4 * (int64_t)rank;
	uint32_t magic = (uint32_t)IDX_UNSIGNED_BYTE << 8 | (uint32_t)rank;
	if (size < 4 || big_endian(bytes) != magic)
		return status_fail(STATUS_INPUT, "%s: not an IDX file of %s: it must begin with the bytes %08x (hex)",
		                   name, what, (unsigned)magic);
	if (size < header)
		return status_fail(STATUS_INPUT,
		                   "%s: truncated, %lld bytes where the header has %lld; download it again", name,
		                   (long long)size, (long long)header);

	int64_t count = big_endian(bytes + 4), item = 1, total = 0;
	bool too_large = false;
	for (int i = 1; i < (int)rank; i++)
		too_large |= __builtin_mul_overflow(item, (int64_t)big_endian(bytes + 4 + 4 * i), &item);
	if (!too_large && (count == 0 || item == 0))
		return status_fail(STATUS_INPUT, "%s: holds no %s (a dimension is 0)", name, what);
	too_large |= __builtin_mul_overflow(count, item, &total) || total > INT64_MAX - header;
	if (too_large || size < header + total)
		return status_fail(STATUS_INPUT,
		                   "%s: truncated, %lld bytes do not hold the %lld %s of its header; download it again",
		                   name, (long long)size, (long long)count, what);
	if (size > header + total)
		return status_fail(STATUS_INPUT, "%s: %lld bytes of trailing data behind %lld %s; download it again",
		                   name, (long long)(size - header - total), (long long)count, what);
	*x = (struct idx){.count = count, .item_bytes = item, .items = bytes + header};
	return STATUS_OK;
}

/* DIR/NAME.gz, or else DIR/NAME. */
static enum status find_file(char path[PATH_BYTES], const char *folder, const char *name, const char *advice)
{
	static const char *const ending[] = {".gz", ""};
	for (int i = 0; i < 2; i++) {
		int n = snprintf(path, PATH_BYTES, "%s/%s%s", folder, name, ending[i]);
		if (n < 0 || n >= PATH_BYTES)
			return status_fail(STATUS_INPUT, "%s: the path is too long", folder);
		if (access(path, F_OK) == 0)
			return STATUS_OK;
	}
	return status_fail(STATUS_INPUT, "%s: no %s.gz and no %s in it; %s", folder, name, name, advice);
}

static enum status open_idx(struct idx *x, struct data_file *f, char path[PATH_BYTES], const char *folder,
                            const char *name, enum idx_rank rank, const char *advice)
{
	enum status s = find_file(path, folder, name, advice);
	if (!s)
		s = data_file_read(f, path, DATA_FILE_LIMIT, advice);
	if (!s)
		s = data_file_unpack(f, path, DATA_FILE_LIMIT);
	if (!s)
		s = idx_parse(x, path, f->bytes, f->size, rank);
	return s;
}

static enum status check_labels(const struct idx *labels, const char *path, int64_t classes)
{
	for (int64_t i = 0; i < labels->count; i++)
		if (labels->items[i] >= classes)
			return status_fail(STATUS_INPUT,
			                   "%s: label %d of image %lld, but the model has classes 0 to %lld", path,
			                   labels->items[i], (long long)i, (long long)classes - 1);
	return STATUS_OK;
}

static enum status open_pair(struct dataset_images *out, const struct dataset_spec *spec, const char *folder,
                             const char *set, const char *advice, int64_t *bytes_held)
{
	char name[64], images_path[PATH_BYTES], labels_path[PATH_BYTES];
	struct data_file images_file = {0}, labels_file = {0};
	struct idx images = {0}, labels = {0};

	snprintf(name, sizeof name, "%s-images-idx3-ubyte", set);
	enum status s = open_idx(&images, &images_file, images_path, folder, name, IDX_IMAGES, advice);
	if (!s && images.item_bytes != spec->pixels)
		s = status_fail(STATUS_INPUT,
		                "%s: images of %lld pixels, but the model takes %lld; choose data or a model "
		                "that go together",
		                images_path, (long long)images.item_bytes, (long long)spec->pixels);
	if (!s) {
		snprintf(name, sizeof name, "%s-labels-idx1-ubyte", set);
		s = open_idx(&labels, &labels_file, labels_path, folder, name, IDX_LABELS, advice);
	}
	if (!s && labels.count != images.count)
		s = status_fail(STATUS_INPUT, "%s: %lld labels, but %s has %lld images", labels_path,
		                (long long)labels.count, images_path, (long long)images.count);
	if (!s)
		s = check_labels(&labels, labels_path, spec->classes);
	if (s) {
		data_file_release(&images_file);
		data_file_release(&labels_file);
		return s;
	}
	*out = (struct dataset_images){.count = images.count,
	                               .pixels_file = images_file.bytes,
	                               .labels_file = labels_file.bytes,
	                               .pixels = images.items,
	                               .labels = labels.items};
	*bytes_held += images_file.size + labels_file.size;
	return STATUS_OK;
}

enum status dataset_open_images(struct dataset *d, const struct dataset_spec *spec)
{
	if (spec->pixels < 1 || spec->classes < 1)
		abort();
	const char *folder = spec->path ? spec->path : DATASET_IMAGES_DEFAULT;
	const char *advice = spec->path ? "give the folder with the four IDX files of Fashion-MNIST or MNIST"
	                                : status_words("run `apt-get install " DATASET_IMAGES_PACKAGE
	                                               "`, or give a folder with {data}");
	struct stat info;
	if (stat(folder, &info) != 0)
		return status_fail(STATUS_INPUT, "%s: %s; %s", folder, strerror(errno), advice);
	if (!S_ISDIR(info.st_mode))
		return status_fail(STATUS_INPUT, "%s: not a folder; %s", folder, advice);

	enum status s = open_pair(&d->training, spec, folder, "train", advice, &d->bytes_held);
	if (!s)
		s = open_pair(&d->validation, spec, folder, "t10k", advice, &d->bytes_held);
	if (s)
		return s;
	for (int i = 0; i < 256; i++)
		d->pixel_value[i] = (float)((i / 255.0 - 0.2860) / 0.3530);
	d->training_samples = d->training.count;
	d->validation_samples = d->validation.count;
	d->inputs_per_sample = spec->pixels;
	d->targets_per_sample = 1;
	return STATUS_OK;
}
