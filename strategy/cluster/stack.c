/* Stacks: the catalogue, classes, and files. */
#include "strategy/cluster/stack.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "strategy/base/file.h"
#include "strategy/base/keys.h"
#include "strategy/base/near.h"
#include "strategy/base/path.h"
#include "strategy/cluster/stack_fields.h"

const struct stack_row *stack_row(int value)
{
	static const struct stack_row rows[STACK_VALUES] = {
#define X(constant, section, key, kind, low, high, what) {section, key, what},
	        STACK_LIST(X)
#undef X
	};
	return &rows[value];
}

/* ---- classes ---- */

/* Each class's values on ampere, in the order of STACK_LIST and in the units of a file, then the cards' changes to
 * them. docs/prediction.md says which runs they were fitted on and how far they are off. */
static const struct {
	const char *name, *what;
	double value[STACK_OF_CLASS];
} classes[] = {
#define CLASS(name, what, ...) {name, what, {__VA_ARGS__}},
#define CARD(...)
#define STACK(...)
#include "strategy/cluster/stacks.def"
};

static const struct {
	const char *name;
	double product, attention; /* factors of the shares */
	double workspace;          /* at least */
} cards[] = {
#define CLASS(...)
#define CARD(name, product, attention, workspace) {name, product, attention, workspace},
#define STACK(...)
#include "strategy/cluster/stacks.def"
};

/* A name may be there several times, once a card. */
static const struct {
	const char *name, *card, *what, *text;
} entries[] = {
#define CLASS(...)
#define CARD(...)
#define STACK(name, class, card, what, text)                                                                           \
	{name, card, what, "name: " name "\nabout: '" what "'\nclass: " class "\ncard: " card "\n" text},
#include "strategy/cluster/stacks.def"
};

enum {
	CLASS_COUNT = sizeof classes / sizeof *classes,
	CARD_COUNT = sizeof cards / sizeof *cards,
	ENTRY_COUNT = sizeof entries / sizeof *entries
};

static int find_class(const char *name)
{
	int i = CLASS_COUNT - 1;
	while (i >= 0 && strcmp(classes[i].name, name) != 0)
		i--;
	return i;
}

static int find_card(const char *name)
{
	int i = CARD_COUNT - 1;
	while (i > 0 && strcmp(cards[i].name, name) != 0)
		i--;
	return i;
}

/* A class's value on a card. */
static double on_card(double v, int value, int card)
{
	switch (value) {
	case STACK_PRODUCT_SHARE:
		return v * cards[card].product;
	case STACK_ATTENTION_FORWARD:
	case STACK_ATTENTION_BACKWARD:
		return v * cards[card].attention;
	case STACK_LIBRARIES_WORKSPACE:
		return fmax(v, cards[card].workspace);
	default:
		return v;
	}
}

void stack_complete(struct stack *s)
{
	int c = find_class(s->class), card = find_card(s->card);
	for (int i = 0; i < STACK_OF_CLASS && c >= 0; i++) {
		const struct field *f = stack_field(i);
		double v = fmin(on_card(classes[c].value[i], i, card), f->high);
		if (s->value[i] == STACK_MISSING)
			s->value[i] = llround(v * field_scale(f->kind));
	}
}

bool stack_is_class(const struct stack *s)
{
	return s->value[STACK_FIT_ROWS] == STACK_MISSING;
}

/* ---- the catalogue ---- */

void stack_list(void (*line)(void *context, const char *name, const char *what), void *context)
{
	for (int i = 0; i < CLASS_COUNT; i++)
		line(context, classes[i].name, classes[i].what);
	line(context, STACK_CEILING, "none: all of the cluster's rates, which no program reaches at once");
	for (int i = 0; i < ENTRY_COUNT; i++)
		if (!i || strcmp(entries[i].name, entries[i - 1].name) != 0)
			line(context, entries[i].name, entries[i].what);
}

/* The cards of a name of the catalogue, with commas; "": there is none of that name. */
static const char *stack_cards(const char *name, char *out, size_t size)
{
	size_t n = 0;
	*out = 0;
	for (int i = 0; i < ENTRY_COUNT && n < size; i++)
		if (!strcmp(entries[i].name, name))
			n += (size_t)snprintf(out + n, size - n, "%s%s", n ? ", " : "", entries[i].card);
	return out;
}

static enum status open_class(struct stack *s, int class, const char *card)
{
	*s = (struct stack){.name = ""};
	snprintf(s->name, sizeof s->name, "%s", classes[class].name);
	snprintf(s->class, sizeof s->class, "%s", classes[class].name);
	snprintf(s->about, sizeof s->about, "%s", classes[class].what);
	snprintf(s->card, sizeof s->card, "%s", *card ? card : cards[0].name);
	for (int i = 0; i < STACK_VALUES; i++)
		s->value[i] = STACK_MISSING;
	stack_complete(s);
	return STATUS_OK;
}

static enum status unknown(const char *name, const char *card)
{
	char there[128];
	struct near near = {.typed = name};
	if (!strcmp(name, STACK_CEILING))
		return status_fail(STATUS_INPUT, "{stack} " STACK_CEILING
		                                 " is none: what it takes are the rates of {cluster} itself");
	if (*stack_cards(name, there, sizeof there))
		return status_fail(STATUS_INPUT,
		                   "{stack} %.60s is for %s, and this cluster's card is %s; take a class, such as "
		                   "pytorch-eager",
		                   name, there, card);
	stack_list(near_line, &near);
	return status_fail(STATUS_INPUT, "{stack}: unknown stack '%.60s'%s; known: %s, or a file (./NAME.yaml)", name,
	                   near_words(&near), near.known);
}

static enum status read_file(struct stack *s, const char *path, const char *card)
{
	char *text;
	size_t size;
	TRY(file_read(path, "{stack}", 1 << 20, &text, &size));
	enum status status = stack_read(s, text, size, path, card);
	free(text);
	return status;
}

enum status stack_open(struct stack *s, const char *name_or_path, const char *card)
{
	int class = find_class(name_or_path);
	if (path_is_yaml(name_or_path))
		return read_file(s, name_or_path, card);
	if (class >= 0)
		return open_class(s, class, card);
	for (int i = 0; i < ENTRY_COUNT; i++)
		if (!strcmp(entries[i].name, name_or_path) && (!*card || !strcmp(entries[i].card, card)))
			return stack_read(s, entries[i].text, strlen(entries[i].text), name_or_path, card);
	return unknown(name_or_path, card);
}
