#include "tests/support/cluster_text.h"

#include <check.h>
#include <stdio.h>

char *cluster_text(const struct cluster *c)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);
	ck_assert_ptr_nonnull(f);
	cluster_print(c, f);
	fclose(f);
	return text;
}
