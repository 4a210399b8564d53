#include "strategy/base/near.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { LONGEST = 40 };

static void simplify(char out[LONGEST + 1], const char *text)
{
	int n = 0;
	for (; *text && n < LONGEST; text++)
		if (isalnum((unsigned char)*text))
			out[n++] = (char)tolower((unsigned char)*text);
	out[n] = 0;
}

/* Levenshtein's distance: insertions, deletions and substitutions that make b of a. */
static int distance(const char *a, const char *b)
{
	int row[LONGEST + 1];
	int columns = (int)strlen(b);
	for (int j = 0; j <= columns; j++)
		row[j] = j;
	for (int i = 0; a[i]; i++) {
		int diagonal = row[0];
		row[0] = i + 1;
		for (int j = 0; j < columns; j++) {
			int best = diagonal + (a[i] != b[j]);
			diagonal = row[j + 1];
			if (row[j] + 1 < best)
				best = row[j] + 1;
			if (diagonal + 1 < best)
				best = diagonal + 1;
			row[j + 1] = best;
		}
	}
	return row[columns];
}

void near_consider(struct near *n, const char *name)
{
	char typed[LONGEST + 1] = "", known[LONGEST + 1] = "";
	simplify(typed, n->typed);
	simplify(known, name);
	int d = distance(typed, known), length = (int)strlen(typed);
	size_t listed = strlen(n->known);
	snprintf(n->known + listed, sizeof n->known - listed, "%s%s", listed ? ", " : "", name);
	/* Short words must be nearer than long ones. */
	bool near = d <= 1 + length / 4 || (length >= 3 && !strncmp(typed, known, (size_t)length));
	if (near && (!n->name || d < n->distance)) {
		n->name = name;
		n->distance = d;
	}
}

void near_line(void *near, const char *name, const char *what)
{
	(void)what;
	near_consider(near, name);
}

const char *near_words(struct near *n)
{
	if (n->name)
		snprintf(n->words, sizeof n->words, " (did you mean %s?)", n->name);
	return n->words;
}
