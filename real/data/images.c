/* Images with labels, in the IDX files of MNIST and those that are like it: four in a folder, or a pair. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "real/data/file.h"
#include "real/data/form.h"
#include "real/data/images.h"
#include "real/data/sampler.h"
#include "strategy/base/arena.h"
#include "strategy/base/number.h"
#include "strategy/base/path.h"

enum { PATH_BYTES = 4096 };

/* Images with their labels, one byte a pixel. */
struct set {
	int64_t count;
	unsigned char *pixels_file, *labels_file; /* the files' contents, to be freed */
	const unsigned char *pixels, *labels;     /* in it, behind the headers */
};

struct images {
	struct set training, validation; /* of a pair all is in `training`, and every tenth to validate with */
	bool is_pair;
	float pixel_value[256]; /* the value of each byte after normalisation */
};

static const struct dataset_form images_form;

/* DIR/NAME.gz, or else DIR/NAME. */
static enum status find_file(char path[PATH_BYTES], const char *folder, const char *name, const char *advice)
{
	static const char *const ending[] = {".gz", ""};
	for (int i = 0; i < 2; i++) {
		int n = snprintf(path, PATH_BYTES, "%s/%s%s", folder, name, ending[i]);
		if (n < 0 || n >= PATH_BYTES)
			return status_fail(STATUS_INPUT, "%s: the path is too long", folder);
		if (path_is_there(path))
			return STATUS_OK;
	}
	return status_fail(STATUS_INPUT, "%s: no %s.gz and no %s in it; %s", folder, name, name, advice);
}

static enum status read_idx(struct idx *x, struct data_file *f, const char *path, enum idx_rank rank,
                            const char *advice)
{
	TRY(data_file_read(f, path, DATA_FILE_LIMIT, advice));
	TRY(data_file_unpack(f, path, DATA_FILE_LIMIT));
	return idx_parse(x, path, f->bytes, f->size, rank);
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

/* The two files of a set. */
struct pair {
	const char *images_path, *labels_path;
	struct data_file images_file, labels_file;
	struct idx images, labels;
};

static enum status read_pair(struct pair *p, const struct dataset_spec *spec, const char *advice)
{
	TRY(read_idx(&p->images, &p->images_file, p->images_path, IDX_IMAGES, advice));
	if (p->images.item_bytes != spec->pixels)
		return status_fail(STATUS_INPUT,
		                   "%s: images of %lld pixels, but the model takes %lld; choose data or a model "
		                   "that go together",
		                   p->images_path, (long long)p->images.item_bytes, (long long)spec->pixels);
	TRY(read_idx(&p->labels, &p->labels_file, p->labels_path, IDX_LABELS, advice));
	if (p->labels.count != p->images.count)
		return status_fail(STATUS_INPUT, "%s: %lld labels, but %s has %lld images", p->labels_path,
		                   (long long)p->labels.count, p->images_path, (long long)p->images.count);
	return check_labels(&p->labels, p->labels_path, spec->classes);
}

static enum status open_set(struct set *out, const struct dataset_spec *spec, const char *images, const char *labels,
                            const char *advice, int64_t *bytes_held)
{
	struct pair p = {.images_path = images, .labels_path = labels};
	enum status s = read_pair(&p, spec, advice);
	if (s) {
		data_file_release(&p.images_file);
		data_file_release(&p.labels_file);
		return s;
	}
	*out = (struct set){.count = p.images.count,
	                    .pixels_file = p.images_file.bytes,
	                    .labels_file = p.labels_file.bytes,
	                    .pixels = p.images.items,
	                    .labels = p.labels.items};
	*bytes_held += p.images_file.size + p.labels_file.size;
	return STATUS_OK;
}

/* set: "train" or "t10k". */
static enum status open_named(struct set *out, const struct dataset_spec *spec, const char *folder, const char *set,
                              const char *advice, int64_t *bytes_held)
{
	char name[64], images[PATH_BYTES], labels[PATH_BYTES];
	snprintf(name, sizeof name, "%s-images-idx3-ubyte", set);
	enum status s = find_file(images, folder, name, advice);
	snprintf(name, sizeof name, "%s-labels-idx1-ubyte", set);
	if (!s)
		s = find_file(labels, folder, name, advice);
	return s ? s : open_set(out, spec, images, labels, advice, bytes_held);
}

static enum status open_folder(struct dataset *d, struct images *all, const struct dataset_spec *spec)
{
	const char *folder = spec->path ? spec->path : DATASET_IMAGES_DEFAULT;
	const char *advice = spec->path
	                             ? "give the folder with the four IDX files of Fashion-MNIST or MNIST, or a table "
	                               "(.csv)"
	                             : status_words("run `apt-get install " DATASET_IMAGES_PACKAGE
	                                            "`, or give a folder with {data}");
	struct stat info;
	if (stat(folder, &info) != 0)
		return status_fail(STATUS_INPUT, "%s: %s; %s", folder, strerror(errno), advice);
	if (!S_ISDIR(info.st_mode))
		return status_fail(STATUS_INPUT, "%s: not a folder; %s", folder, advice);
	enum status s = open_named(&all->training, spec, folder, "train", advice, &d->bytes_held);
	return s ? s : open_named(&all->validation, spec, folder, "t10k", advice, &d->bytes_held);
}

static struct images *begin(struct dataset *d, const struct dataset_spec *spec)
{
	struct images *all = array_make(1, sizeof *all);
	d->form = &images_form;
	d->own = all;
	d->type = "pixels";
	d->inputs_per_sample = spec->pixels;
	d->targets_per_sample = 1;
	for (int i = 0; i < 256; i++)
		all->pixel_value[i] = (float)((i / 255.0 - 0.2860) / 0.3530);
	return all;
}

static void describe(struct dataset *d, const char *name, const char *how)
{
	char n[32], m[32];
	snprintf(d->words, sizeof d->words,
	         "%.100s: images of %" PRId64 " pixels, of 0 to 1 less 0.286, divided by 0.353: %s to train on, %s to "
	         "validate with%s",
	         name, d->inputs_per_sample, number_format_count(n, d->training_samples),
	         number_format_count(m, d->validation_samples), how);
}

enum status dataset_open_images(struct dataset *d, const struct dataset_spec *spec)
{
	struct images *all = begin(d, spec);
	TRY(open_folder(d, all, spec));
	d->files = 4;
	d->training_samples = all->training.count;
	d->validation_samples = all->validation.count;
	describe(d, spec->path ? spec->path : DATASET_IMAGES_DEFAULT, "");
	return STATUS_OK;
}

enum status dataset_open_pair(struct dataset *d, const struct dataset_spec *spec, const char *images,
                              const char *labels)
{
	struct images *all = begin(d, spec);
	TRY(open_set(&all->training, spec, images, labels, "give a file of images and one of labels", &d->bytes_held));
	all->is_pair = true;
	d->files = 2;
	d->validation_samples = all->training.count / 10;
	d->training_samples = all->training.count - d->validation_samples;
	describe(d, images, ", every tenth");
	return STATUS_OK;
}

static void release_set(struct set *s)
{
	free(s->pixels_file);
	free(s->labels_file);
}

static void release_images(struct dataset *d)
{
	struct images *all = d->own;
	release_set(&all->training);
	release_set(&all->validation);
	free(all);
}

static enum status fill_image(const struct dataset *d, bool validation, int64_t which, void *input, int32_t *target)
{
	const struct images *all = d->own;
	const struct set *set = validation && !all->is_pair ? &all->validation : &all->training;
	if (all->is_pair)
		which = tenth_kept(set->count, validation, which);
	const unsigned char *pixels = set->pixels + which * d->inputs_per_sample;
	float *out = input;
	for (int64_t i = 0; out && i < d->inputs_per_sample; i++)
		out[i] = all->pixel_value[pixels[i]];
	if (target)
		*target = set->labels[which];
	return STATUS_OK;
}

static const struct dataset_form images_form = {sampler_image, fill_image, NULL, release_images, NULL};
