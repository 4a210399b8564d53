/* Dynamic loss scaling: fp16 has five bits of exponent, so small gradients vanish in it and large ones overflow. The
 * gradient of the loss is multiplied by a scale, which is as large as it can be: an overflow halves it, and the step is
 * skipped; many good steps double it. There are two rules; kernels/loss_scale.h carries them out, step by step.
 *
 * DeepSpeed's (deepspeed/runtime/fp16/loss_scaler.py, DynamicLossScaler; consecutive_hysteresis False): the first
 * `hysteresis` - 1 overflows leave the scale, each later one halves it, down to the minimum, where another one is an
 * error. The scale doubles, and hysteresis is full again, at a good step that has a multiple of `window` good steps
 * before it (since the last overflow): with window 2, at the third, the fifth, …
 *
 * PyTorch's (torch.amp.GradScaler, _amp_update_scale_): every overflow halves the scale; `window` good steps in a row
 * double it, unless that is no fp32 number any more. There is no minimum.
 */
#ifndef SHARDLAB_LOSS_SCALE_H
#define SHARDLAB_LOSS_SCALE_H

#include <stdint.h>

#include "strategy/base/status.h"

/* constant, name */
#define LOSS_SCALER_LIST(X)                                                                                            \
	X(NONE, "none")                                                                                                \
	X(DEEPSPEED, "deepspeed")                                                                                      \
	X(PYTORCH, "pytorch")

enum loss_scaler {
#define X(constant, name) LOSS_SCALER_##constant,
	LOSS_SCALER_LIST(X)
#undef X
	        LOSS_SCALER_COUNT
};

struct loss_scale_rule {
	double initial, minimum;
	int64_t window;
	float hysteresis; /* overflows until the scale is halved */
};

/* The state that one step leaves to the next, in the plan's state buffer 'scaler'. All but the scale are whole numbers,
 * small enough to be exact in fp32. */
struct loss_scale {
	float scale;
	float good;       /* good steps since the last overflow or growth */
	float hysteresis; /* overflows left until the scale is halved */
	float skipped;    /* steps, since the beginning */
};
enum { LOSS_SCALE_ELEMENTS = sizeof(struct loss_scale) / sizeof(float) };

#define LOSS_SCALE_MOST_WINDOW (1 << 24) /* good steps are counted in fp32 */

const struct loss_scale_rule *loss_scale_rule(enum loss_scaler s);
struct loss_scale loss_scale_begin(enum loss_scaler s, double scale);

const char *loss_scaler_name(enum loss_scaler s);

#endif
