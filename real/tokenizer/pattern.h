/* Patterns of a tokenizer.json, matched as HF's tokenizers would: a text, or a regular expression.
 *
 * Expressions are written for Oniguruma and matched by PCRE2. Both read letters, classes, \p{…}, groups, lookahead and
 * repetition alike. `\s` is spelled out, since PCRE2 counts one more character as a space. Expressions with anything
 * else (\h, {2}+, backreferences …) are refused.
 */
#ifndef SHARDLAB_TOKENIZER_PATTERN_H
#define SHARDLAB_TOKENIZER_PATTERN_H

#include <stdbool.h>
#include <stddef.h>

#include "strategy/base/status.h"

/* A zeroed one is released. */
struct pattern {
	char *text; /* to be found as it is; NULL: */
	size_t size;
	struct pattern_expression *expression;
};

/* where: for messages. On failure the pattern is released. */
enum status pattern_open_text(struct pattern *p, const char *where, const char *text);
enum status pattern_open_expression(struct pattern *p, const char *where, const char *expression);
void pattern_release(struct pattern *p); /* accepts NULL */

/* The next match that begins at `from` or behind. *end is 0 if there is none. The text is UTF-8. An expression that
 * takes too many steps is STATUS_INPUT. */
enum status pattern_find(const struct pattern *p, const char *text, size_t size, size_t from, size_t *begin,
                         size_t *end);

#endif
