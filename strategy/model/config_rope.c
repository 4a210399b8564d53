/* Rotary embedding in a config.json. Files of transformers 5 have it in `rope_parameters`, older ones in `rope_theta`
 * and `rope_scaling`, which goes before the other where a file has both.
 */
#include <math.h>
#include <string.h>

#include "strategy/base/keys.h"
#include "strategy/model/config_file.h"
#include "strategy/model/rotary.h"

#define USUAL_THETA 1e4

/* The file's object as a file of its own, so that messages name its keys. */
static struct config rope_object(const struct config *c)
{
	static const char *const names[] = {"rope_scaling", "rope_parameters"};
	struct config r = *c;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		r.object = config_find(c, names[i]);
		r.inside = arena_print(c->arena, "%s%s.", c->inside, names[i]);
		if (json_object_size(r.object))
			return r;
	}
	r.object = NULL;
	return r;
}

static enum status check_form(const struct config *c, const struct config *r)
{
	static const char *const names[] = {"rope_scaling", "rope_parameters"};
	static const char *const nested[] = {"full_attention", "sliding_attention"};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (config_given(c, names[i]) && !json_is_object(config_find(c, names[i])))
			return config_fail(c, names[i], "'%s' is not an object",
			                   config_shown(c, config_find(c, names[i])));
	for (size_t i = 0; i < sizeof nested / sizeof *nested; i++)
		if (config_given(r, nested[i]))
			return config_fail(r, nested[i],
			                   "layers with rotary embeddings of their own; shardlab has one "
			                   "for all");
	return STATUS_OK;
}

static enum status check_part(const struct config *c)
{
	double part = 1;
	enum status s = config_real(c, "partial_rotary_factor", &part);
	if (!s && part < 1)
		s = config_fail(c, "partial_rotary_factor",
		                "%g: only a part of each head is turned; shardlab turns "
		                "all of it",
		                part);
	return s;
}

static enum status read_type(const struct config *r, enum rotary_scaling *out)
{
	static const char *const missing[][2] = {
	        {"longrope", "lists of factors, one for each pair"},
	        {"su", "lists of factors, one for each pair"},
	        {"mrope", "positions of images, in three directions"},
	        {"proportional", "pairs that are not turned"},
	};
	const char *type = "default", *key = config_given(r, "rope_type") ? "rope_type" : "type";
	TRY(config_text(r, key, &type));
	int place = word_find(ROTARY_SCALINGS, !strcmp(type, "default") ? "none" : type);
	if (place >= 0) {
		*out = (enum rotary_scaling)place;
		return STATUS_OK;
	}
	for (size_t i = 0; i < sizeof missing / sizeof *missing; i++)
		if (!strcmp(type, missing[i][0]))
			return config_fail(r, key, "%s is not read: it has %s", type, missing[i][1]);
	return config_fail(r, key, "'%s' is not one of: default, linear, dynamic, llama3, yarn",
	                   config_shown(r, config_find(r, key)));
}

/* Yarn's own scale of queries and keys is all there is. */
static enum status check_yarn(const struct config *r, double factor)
{
	double usual = factor > 1 ? 0.1 * log(factor) + 1 : 1, scale = usual, m = 0, all = 0;
	bool truncate = true;
	const json_t *zero = config_find(r, "mscale");
	enum status s = config_real(r, "attention_factor", &scale);
	if (!s && !(json_is_number(zero) && json_number_value(zero) <= 0))
		s = config_real(r, "mscale", &m);
	zero = config_find(r, "mscale_all_dim");
	if (!s && !(json_is_number(zero) && json_number_value(zero) <= 0))
		s = config_real(r, "mscale_all_dim", &all);
	if (!s)
		s = config_flag(r, "truncate", &truncate);
	if (s)
		return s;
	if (!config_given(r, "attention_factor") && m > 0 && all > 0 && factor > 1)
		scale = (0.1 * m * log(factor) + 1) / (0.1 * all * log(factor) + 1);
	if (fabs(scale - usual) > 1e-6 * usual)
		return config_fail(r, config_given(r, "attention_factor") ? "attention_factor" : "mscale",
		                   "queries and keys are multiplied by %.6g; shardlab has 0.1·ln(factor) + 1 = %.6g",
		                   scale, usual);
	return truncate ? STATUS_OK
	                : config_fail(r, "truncate",
	                              "false is not read: the ends of yarn's ramp are whole numbers here");
}

static enum status read_factor(const struct config *c, const struct config *r, enum rotary_scaling scaling,
                               int64_t original, double *factor)
{
	enum status s = config_real(r, "factor", factor);
	if (!s && *factor <= 0 && scaling == ROTARY_YARN && config_find(r, "factor"))
		*factor = (double)config_pair_whole(c, "context") / (double)original; /* null: by the lengths */
	if (!s && *factor <= 0)
		s = config_fail(r, "factor", "missing");
	if (!s && *factor < 1)
		s = config_fail(r, "factor", "%g is below 1", *factor);
	return s;
}

/* The two bounds of llama3, which have no default, and of yarn. */
static enum status read_bounds(const struct config *r, enum rotary_scaling scaling, double *low, double *high)
{
	bool llama3 = scaling == ROTARY_LLAMA3;
	const char *lower = llama3 ? "low_freq_factor" : "beta_slow",
	           *upper = llama3 ? "high_freq_factor" : "beta_fast";
	*low = 1;
	*high = 32;
	if (llama3 && !config_given(r, lower))
		return config_fail(r, lower, "missing");
	if (llama3 && !config_given(r, upper))
		return config_fail(r, upper, "missing");
	TRY(config_real(r, lower, low));
	TRY(config_real(r, upper, high));
	if (*low >= *high)
		return config_fail(r, lower, "%g must be below %s, %g", *low, upper, *high);
	return STATUS_OK;
}

/* The context before scaling. Beside the object it goes before what is in it. */
static enum status read_original(const struct config *c, const struct config *r, int64_t *out)
{
	*out = config_pair_whole(c, "context");
	enum status s = config_whole(r, "original_max_position_embeddings", out);
	return s ? s : config_whole(c, "original_max_position_embeddings", out);
}

static enum status read_scaling(struct config *c, const struct config *r)
{
	enum rotary_scaling scaling = ROTARY_NONE;
	double factor = 0, low, high;
	int64_t original = 0;
	char word[16];
	TRY(read_type(r, &scaling));
	if (scaling == ROTARY_NONE)
		return STATUS_OK;
	TRY(read_original(c, r, &original));
	TRY(read_factor(c, r, scaling, original, &factor));
	if (scaling == ROTARY_LINEAR && factor <= 1)
		return STATUS_OK;
	word_at(ROTARY_SCALINGS, (int)scaling, word, sizeof word);
	config_set(c, "scaling", "%s", word);
	config_set(c, "factor", "%.17g", factor);
	if (scaling < ROTARY_LLAMA3) /* dynamic goes by max_position_embeddings */
		return STATUS_OK;
	TRY(read_bounds(r, scaling, &low, &high));
	config_set(c, "original", "%lld", (long long)original);
	config_set(c, "low", "%.17g", low);
	config_set(c, "high", "%.17g", high);
	return scaling == ROTARY_YARN ? check_yarn(r, factor) : STATUS_OK;
}

enum status config_rope(struct config *c)
{
	struct config r = rope_object(c);
	double theta = USUAL_THETA;
	TRY(check_form(c, &r));
	TRY(check_part(c));
	TRY(check_part(&r));
	TRY(config_real(c, "rope_theta", &theta));
	TRY(config_real(&r, "rope_theta", &theta));
	if (theta <= 1)
		return config_fail(config_given(&r, "rope_theta") ? &r : c, "rope_theta", "%g must be above 1", theta);
	config_set(c, "theta", "%.17g", theta);
	return read_scaling(c, &r);
}
