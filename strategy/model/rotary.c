#include "strategy/model/rotary.h"

#include <math.h>

static const double TURN = 6.283185307179586;

/* theta grows so that the slowest pair turns over the sequence as far as it did over the original context. */
static double dynamic_theta(const struct rotary *r, int64_t size, int64_t tokens)
{
	double length = (double)(tokens > r->original ? tokens : r->original) / (double)r->original;
	return r->theta * pow(r->factor * length - (r->factor - 1), (double)size / (double)(size - 2));
}

static double llama3_frequency(const struct rotary *r, double frequency)
{
	double turns = (double)r->original * frequency / TURN; /* over the original context */
	double smooth = (turns - r->low) / (r->high - r->low);
	if (turns < r->low)
		return frequency / r->factor;
	if (turns > r->high)
		return frequency;
	return (1 - smooth) * frequency / r->factor + smooth * frequency;
}

/* The number of the pair, with a fraction, that turns so often over the original context. */
static double yarn_pair(const struct rotary *r, int64_t size, double turns)
{
	return (double)size * log((double)r->original / (turns * TURN)) / (2 * log(r->theta));
}

static double yarn_frequency(const struct rotary *r, int64_t size, int64_t pair, double frequency)
{
	double first = fmax(floor(yarn_pair(r, size, r->high)), 0);
	double last = fmin(ceil(yarn_pair(r, size, r->low)), (double)(size - 1));
	double ramp = ((double)pair - first) / (last > first ? last - first : 0.001);
	ramp = fmin(fmax(ramp, 0), 1);
	return frequency / r->factor * ramp + frequency * (1 - ramp);
}

void rotary_frequencies(const struct rotary *r, int64_t size, int64_t tokens, float *frequency, float *amplitude)
{
	double theta = r->scaling == ROTARY_DYNAMIC ? dynamic_theta(r, size, tokens) : r->theta;
	*amplitude = r->scaling == ROTARY_YARN && r->factor > 1 ? (float)(0.1 * log(r->factor) + 1) : 1;
	for (int64_t i = 0; i < size / 2; i++) {
		double f = pow(theta, -2 * (double)i / (double)size);
		if (r->scaling == ROTARY_LINEAR)
			f /= r->factor;
		else if (r->scaling == ROTARY_LLAMA3)
			f = llama3_frequency(r, f);
		else if (r->scaling == ROTARY_YARN)
			f = yarn_frequency(r, size, i, f);
		frequency[i] = (float)f;
	}
}
