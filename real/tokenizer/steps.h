/* Lists of steps: those done to a text before its words are merged, and to tokens that become text again. Sequences
 * within sequences have become one list. */
#ifndef SHARDLAB_TOKENIZER_STEPS_H
#define SHARDLAB_TOKENIZER_STEPS_H

#include "real/tokenizer/pattern.h"
#include "real/tokenizer/tokenizer.h"

/* ---- normalizer ---- */

enum normal_kind {
	NORMAL_NFC,
	NORMAL_NFD,
	NORMAL_NFKC,
	NORMAL_NFKD,
	NORMAL_PREPEND,
	NORMAL_REPLACE,
	NORMAL_LOWERCASE,
	NORMAL_STRIP_ACCENTS, /* combining marks go, such as NFD makes */
};

struct normal_step {
	enum normal_kind kind;
	struct pattern pattern; /* replace */
	const char *content;    /* prepend, replace */
};

/* The text becomes what all steps make of it. */
enum status normalize(const struct normal_step *steps, int count, struct bytes *text);

/* ---- pre_tokenizer ---- */

enum cut_kind {
	CUT_PATTERN,
	CUT_DIGITS,
	CUT_SPACE_BEFORE, /* puts a space before a piece that has none */
	CUT_BYTES,        /* bytes become their printable stand-ins */
	CUT_METASPACE,
	CUT_WORDS,  /* word characters, and others, without the spaces */
	CUT_SPACES, /* what lies between spaces */
};

/* A match, `a-b` by "-", becomes: */
enum cut_behavior {
	CUT_REMOVED,     /* a, b */
	CUT_ISOLATED,    /* a, -, b */
	CUT_WITH_BEFORE, /* a-, b */
	CUT_WITH_NEXT,   /* a, -b */
	CUT_CONTIGUOUS,  /* neighbouring matches are one */
};

enum cut_scheme { SCHEME_ALWAYS, SCHEME_NEVER, SCHEME_FIRST };

struct cut_step {
	enum cut_kind kind;
	struct pattern pattern; /* metaspace: its replacement */
	enum cut_behavior behavior;
	bool invert; /* takes the text between matches instead */
	bool individual;
	bool split;
	enum cut_scheme scheme;
	const char *replacement;
};

/* Pieces of a text, one after another: piece i ends at ends[i]. */
struct pieces {
	struct bytes text;
	size_t *ends, count, capacity;
};
void pieces_release(struct pieces *p);
void pieces_clear(struct pieces *p);
/* Ends a piece with all that has been added since the last; no bytes are no piece. */
void pieces_end(struct pieces *p);

/* `now` becomes what all steps make of it, by way of `next`. first: it begins where the whole text does. */
enum status cut(const struct cut_step *steps, int count, bool first, struct pieces *now, struct pieces *next);

/* ---- decoder ---- */

enum decode_kind {
	DECODE_BYTES,
	DECODE_REPLACE,
	DECODE_FALLBACK,
	DECODE_FUSE, /* from here on, a strip is of the whole text */
	DECODE_STRIP,
	DECODE_METASPACE,
	DECODE_JOIN, /* a space before each but the first */
};

struct decode_step {
	enum decode_kind kind;
	const char *pattern, *content; /* replace; strip: content; metaspace: pattern */
	int64_t start, stop;           /* strip: so many at most */
	bool fused;                    /* of the whole text */
	bool keeps_first;              /* metaspace: no space was put before the text */
};

/* A token's text becomes what it stands for. first: it is the first of the whole text. */
void decode_steps(const struct decode_step *steps, int count, bool first, struct bytes *text);

/* Each of all occurrences becomes `content`. */
void bytes_replace(struct bytes *text, const char *pattern, const char *content);

#endif
