/* Files of JSON beside weights: tokenizer.json, generation_config.json and their like. Errors are STATUS_INPUT, with
 * file, line and column. */
#ifndef SHARDLAB_TOKENIZER_JSON_FILE_H
#define SHARDLAB_TOKENIZER_JSON_FILE_H

#include <jansson.h>

#include "strategy/base/status.h"

/* setting: begins the line, as "{tokenizer} ". The caller releases *value. */
enum status json_file_read(const char *setting, const char *path, json_t **value);

/* Nothing but an object. */
enum status json_file_read_object(const char *path, json_t **object);

#endif
