#include "strategy/trace/ratio.h"

double ratio_spread(bool ranges)
{
	return ranges ? RATIO_SPREAD : RATIO_TIE;
}

struct ratio ratio_of(int64_t step, int64_t other, bool ranges)
{
	const double spread = 1 + ratio_spread(ranges), value = (double)step / (double)(other ? other : 1);
	return (struct ratio){value, value / spread, value * spread, value <= spread && 1 <= value * spread};
}

void ratio_to_json(json_t *object, const struct ratio *r, bool ranges)
{
	json_object_set_new(object, "ratio", json_real(r->value));
	json_object_set_new(object, "ratio_range", ranges ? json_pack("[f, f]", r->low, r->high) : json_null());
}
