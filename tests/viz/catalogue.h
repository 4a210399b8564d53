/* The whole catalogue: every strategy, with every technique. */
#ifndef SHARDLAB_CATALOGUE_H
#define SHARDLAB_CATALOGUE_H

#include "tests/support/suite.h"
#include "tests/support/viewed.h"
#include "tests/viz/each_caption.h"

#define GPT "gpt:layers=2,width=8,heads=4,context=8,vocabulary=24"
#define LLAMA "llama:layers=2,width=16,heads=4,kv_heads=2,hidden=24,context=8,vocabulary=24"
#define MLP "mlp:sizes=12-16-8-4"

static const char *const catalogue[] = {
        GPT " single ranks=1",
        GPT " dp ranks=4",
        GPT " ddp ranks=4 bucket=512",
        MLP " ddp:algorithm=halving-doubling ranks=4 optimizer=sgd",
        GPT " zero1 ranks=4 clip=1",
        GPT " zero2 ranks=4 bucket=512",
        GPT " zero3 ranks=4",
        GPT " fsdp ranks=4",
        GPT " hybrid:shard=2 ranks=4",
        GPT " model ranks=4",
        GPT " pipeline ranks=4 accumulate=4",
        GPT " tensor ranks=4",
        GPT ",dropout=0.1 tensor:sequence=yes ranks=2 precision=bf16",
        GPT " zero3 ranks=4 accumulate=2 activation_checkpointing=full",
        GPT ",dropout=0.1,attention=standard ddp ranks=2 activation_checkpointing=selective",
        GPT " zero2 ranks=4 accumulate=2 precision=fp16 clip=1",
        GPT " ddp ranks=2 precision=fp16 loss_scaler=pytorch",
        GPT " tensor ranks=2 precision=fp16",
        GPT " ddp ranks=2 precision=fp8",
        GPT " fsdp ranks=2 as=pytorch",
        GPT " zero1 ranks=2 offload=optimizer",
        GPT " zero3 ranks=4 offload=optimizer:to=disk,parameters",
        GPT " ddp ranks=2 offload=activations",
        MLP ",norm=batch ddp ranks=2 micro_batch=2",
        MLP ",norm=sync-batch ddp ranks=4 micro_batch=2",
        LLAMA ",qk_norm=yes tensor ranks=2",
        "params=1000 zero3 ranks=4",
};
enum { REQUESTS = COUNT(catalogue) };

#endif
