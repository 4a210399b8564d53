#include "tests/support/cluster_text.h"
#include "tests/support/refusal.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

void must_read_back(const struct cluster *c, struct cluster *again)
{
	char *text = cluster_text(c);
	must(cluster_read(again, text, strlen(text), "print"));
	char *second = cluster_text(again);
	ck_assert_msg(!strcmp(text, second), "'%s' was read back as '%s'", text, second);
	free(text);
	free(second);
}
