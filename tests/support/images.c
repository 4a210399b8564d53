#include "tests/support/images.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const char *const names[4] = {"train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte",
                                     "t10k-labels-idx1-ubyte"};

static void put32(FILE *f, unsigned value)
{
	for (int shift = 24; shift >= 0; shift -= 8)
		putc((int)(value >> shift & 255), f);
}

static unsigned noise(unsigned i)
{
	i = (i ^ i >> 15) * 0x2c1b3c6dU;
	i = (i ^ i >> 12) * 0x297a2d39U;
	return i ^ i >> 15;
}

static bool write_one(const char *folder, int which, int rows, int columns, int count)
{
	char path[512];
	bool labels = which & 1;
	snprintf(path, sizeof path, "%s/%s", folder, names[which]);
	FILE *f = fopen(path, "wb");
	if (!f)
		return false;
	put32(f, labels ? 0x801 : 0x803);
	put32(f, (unsigned)count);
	for (int i = 0; i < 2 && !labels; i++)
		put32(f, (unsigned)(i ? columns : rows));
	for (int i = 0; i < count; i++) {
		unsigned seed = (unsigned)(i + 1000 * (which / 2)), label = noise(seed) % 10;
		if (labels)
			putc((int)label, f);
		for (int pixel = 0; pixel < rows * columns && !labels; pixel++)
			putc((int)((noise(seed * 7919 + (unsigned)pixel) % 120) + (pixel % 10 == (int)label ? 120 : 0)),
			     f);
	}
	return !fclose(f);
}

bool images_make(char *path, size_t size, int rows, int columns, int training, int validation)
{
	const char *folder = getenv("TMPDIR");
	snprintf(path, size, "%s/shardlab-images-XXXXXX", folder ? folder : "/tmp");
	if (!mkdtemp(path))
		return false;
	for (int i = 0; i < 4; i++)
		if (!write_one(path, i, rows, columns, i < 2 ? training : validation))
			return false;
	return true;
}

void images_remove(const char *path)
{
	char name[512];
	for (int i = 0; i < 4; i++) {
		snprintf(name, sizeof name, "%s/%s", path, names[i]);
		unlink(name);
	}
	rmdir(path);
}
