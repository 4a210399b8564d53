/* The whole catalogue: every strategy, with every technique, and the captions of their steps. */
#ifndef SHARDLAB_CATALOGUE_H
#define SHARDLAB_CATALOGUE_H

#include "tests/support/suite.h"
#include "tests/support/viewed.h"

#define GPT "gpt:layers=2,width=8,heads=4,context=8,vocabulary=24"
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
        GPT " zero1 ranks=2 offload=optimizer",
        GPT " zero3 ranks=4 offload=optimizer:to=disk,parameters",
        GPT " ddp ranks=2 offload=activations",
        MLP ",norm=batch ddp ranks=2 micro_batch=2",
        MLP ",norm=sync-batch ddp ranks=4 micro_batch=2",
        LLAMA ",qk_norm=yes tensor ranks=2",
        "params=1000 zero3 ranks=4",
};
enum { REQUESTS = COUNT(catalogue) };

/* Gives each caption of a step to `look`, with the event that it begins with. */
static inline void each_caption(const struct timeline *s, enum step_size step_size,
                                void (*look)(const struct state *st, const char *caption))
{
	struct state st = {0};
	for (size_t k = 0; k < s->stop_count[step_size]; k++) {
		char caption[CAPTION_SIZE];
		state_make(&st, s, step_size, timeline_stop(s, step_size, k));
		caption_make(&st, caption, sizeof caption);
		look(&st, caption);
	}
	state_release(&st);
}

#endif
