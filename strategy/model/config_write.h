/* config.json of a folder of weights, as Hugging Face's transformers reads it: which model the tensors are of.
 *
 *     s = model_config_write(&arena, &model, NULL, 0, &text);     "{\n  \"architectures\": [\n \"LlamaForCausalLM\"…"
 *
 * The keys are those of transformers 5, and beside them those that earlier releases need (rope_theta, rope_scaling,
 * torch_dtype).
 */
#ifndef SHARDLAB_CONFIG_WRITE_H
#define SHARDLAB_CONFIG_WRITE_H

#include "strategy/base/arena.h"
#include "strategy/base/status.h"
#include "strategy/model/model.h"

/* origin: the text of the config.json that the weights came with, whose special tokens are kept; NULL: none. A model
 * that transformers has none of is STATUS_INPUT, with a line that begins with "{save}". */
enum status model_config_write(struct arena *a, const struct model *m, const char *origin, size_t origin_bytes,
                               const char **text);

#endif
