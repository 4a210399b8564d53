/* Inside the reader of cluster files and of stack files: where in the file it is, and the values that a rate is made
 * of. */
#ifndef SHARDLAB_CLUSTER_READER_H
#define SHARDLAB_CLUSTER_READER_H

#include <yaml.h>

#include "strategy/cluster/cluster.h"
#include "strategy/cluster/fields.h"

enum { READER_KEYS = 4096, READER_TEXT = 128 };

struct reader {
	struct cluster *c; /* of a stack: NULL */
	yaml_document_t document;
	const char *file;
	const char *what; /* "cluster", "stack" */
	char where[400];  /* "file:line:column: section.key", for the messages of number_*() */
};

/* Takes the text apart; NULL in root: it is empty. On success the reader is to be released. */
enum status reader_open(struct reader *r, const char *text, size_t size, const yaml_node_t **root);
void reader_release(struct reader *r);

/* Puts the place of a node, and what stands there, into `where`. */
void reader_place(struct reader *r, const yaml_node_t *node, const char *what);
/* STATUS_INPUT, with `where` before the message. */
enum status reader_fail(struct reader *r, const char *format, ...) __attribute__((format(printf, 2, 3)));
#define FAIL(r, node, ...) (reader_place(r, node, ""), reader_fail(r, __VA_ARGS__))

yaml_node_t *reader_node(struct reader *r, int index);
/* Text of a scalar; NULL for anything else, for what is too long, and for text with a zero byte in it. */
const char *reader_scalar(const yaml_node_t *node);
/* STATUS_INPUT unless the node is a mapping whose keys are words. */
enum status reader_mapping(struct reader *r, const yaml_node_t *node, const char *what);

/* The keys that a mapping may have. */
struct reader_keys {
	const char *const *name; /* NULL: none of that number */
	int count;
	const char *known; /* for the message; NULL: the names */
};
/* Reads a mapping: value[i] is what name[i] has, NULL where it is missing. An unknown key, or one that is there twice,
 * is STATUS_INPUT. what: the mapping's own name; "" for the file. */
enum status reader_values(struct reader *r, const yaml_node_t *node, const char *what, const struct reader_keys *keys,
                          const yaml_node_t **value);

/* Printable text of one line, of fewer than `size` bytes. */
enum status reader_text(struct reader *r, const yaml_node_t *node, const char *key, char *out, size_t size);
/* A number in the bounds and the unit of a field. */
enum status reader_number(struct reader *r, const yaml_node_t *node, const char *what, const struct field *f,
                          int64_t *out);
/* NUMBER is assumed; {measured: NUMBER, min: NUMBER, max: NUMBER} is measured. */
enum status reader_rate(struct reader *r, const yaml_node_t *node, const char *what, const struct field *f,
                        struct rate *out);

#endif
