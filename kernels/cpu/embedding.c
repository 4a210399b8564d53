/* Token and position embedding. */
#include "kernels/cpu/bodies.h"

void embedding_forward(enum element type, int64_t samples, int64_t tokens, int64_t width, const int32_t *ids,
                       const void *token_table, const void *position_table, void *y)
{
	struct embedding_task t = {.samples = samples,
	                           .tokens = tokens,
	                           .width = width,
	                           .ids = ids,
	                           .token_table = token_table,
	                           .position_table = position_table,
	                           .y = y};
	parallel_for(kernel_bodies(type)->embedding_forward, &t, samples * tokens, 1);
}

void embedding_backward(enum element type, int64_t samples, int64_t tokens, int64_t width, int64_t vocabulary,
                        int64_t context, const int32_t *ids, const void *dy, void *dtoken_table, bool accumulate_token,
                        void *dposition_table, bool accumulate_position)
{
	struct embedding_task token = {
	        .samples = samples, .tokens = tokens, .width = width, .ids = ids, .dy = dy, .dtable = dtoken_table};
	struct embedding_task position = token;
	position.dtable = dposition_table;
	position.accumulate = accumulate_position;

	if (!accumulate_token)
		vector_zero(type, vocabulary * width, dtoken_table);
	parallel_for(kernel_bodies(type)->embedding_token_rows, &token, width, 64);
	parallel_for(kernel_bodies(type)->embedding_position_rows, &position, context, 1);
}
