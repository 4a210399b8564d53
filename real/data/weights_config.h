/* The config.json that lies beside weights says which model they are of: sizes that tensors do not show, such as heads
 * and the angles of rotary embedding, must be the model's. */
#ifndef SHARDLAB_WEIGHTS_CONFIG_H
#define SHARDLAB_WEIGHTS_CONFIG_H

#include "strategy/base/status.h"
#include "strategy/model/model.h"

/* folder: where config.json is looked for; without one, or where this is no folder, nothing is checked. STATUS_INPUT:
 * it is of another model, with a line that names the key. `setting`: for messages, "{init}". */
enum status weights_config_check(const char *folder, const struct model *m, const char *setting);

#endif
