#include "real/data/weights_config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "strategy/base/path.h"
#include "strategy/model/config.h"

/* Two specifications are compared: "llama:layers=2,width=64,…" */
struct pair {
	const char *text;
	int key, whole; /* the lengths of "layers" and of "layers=2"; 0: there is none */
};

static struct pair next_pair(const char **at)
{
	struct pair p = {.text = *at + 1, .key = (int)strcspn(*at + 1, "=,"), .whole = (int)strcspn(*at + 1, ",")};
	*at = p.text + p.whole;
	return p;
}

static const char *pairs_of(const char *specification)
{
	const char *colon = strchr(specification, ':');
	return colon ? colon : "";
}

/* The pair of the same key. */
static struct pair find(const char *specification, const struct pair *like)
{
	for (const char *at = pairs_of(specification); *at;) {
		struct pair p = next_pair(&at);
		if (p.key == like->key && !strncmp(p.text, like->text, (size_t)p.key))
			return p;
	}
	return (struct pair){.text = "no such key", .whole = (int)strlen("no such key")};
}

/* Keys that a run may choose for itself: the weights are as good for shorter sequences and without dropout. */
static bool is_free(const struct pair *p)
{
	static const char *const names[] = {"context", "window", "name", "dropout", "attention"};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (p->key == (int)strlen(names[i]) && !strncmp(p->text, names[i], (size_t)p->key))
			return true;
	return false;
}

/* The first pair of one specification that the other does not have. */
static struct pair differing(const char *one, const char *other)
{
	for (const char *at = pairs_of(one); *at;) {
		struct pair p = next_pair(&at), q = find(other, &p);
		if (!is_free(&p) && (p.whole != q.whole || strncmp(p.text, q.text, (size_t)p.whole) != 0))
			return p;
	}
	return (struct pair){0};
}

static enum status compare(const char *folder, const struct model *theirs, const struct model *m, const char *setting)
{
	struct pair p = differing(theirs->specification, m->specification);
	if (!p.whole)
		p = differing(m->specification, theirs->specification);
	if (!p.whole)
		return STATUS_OK;
	struct pair in_file = find(theirs->specification, &p), in_model = find(m->specification, &p);
	return status_fail(STATUS_INPUT,
	                   "%s %s: its config.json has %.*s, and {model} has %.*s; make them agree, or name the file "
	                   "of weights, or their index, in place of the folder",
	                   status_words(setting), folder, in_file.whole, in_file.text, in_model.whole, in_model.text);
}

enum status weights_config_check(const char *folder, const struct model *m, const char *setting)
{
	const char *specification;
	struct arena arena = {0};
	struct model theirs = {0};
	if (!path_folder_has(folder, "config.json"))
		return STATUS_OK;
	char *path = path_in_folder(folder, "config.json");
	enum status s = model_config_read(&arena, path, &specification);
	if (!s)
		s = model_open(&theirs, specification, 0);
	if (!s)
		s = compare(folder, &theirs, m, setting);
	model_release(&theirs);
	arena_release(&arena);
	free(path);
	return s;
}
