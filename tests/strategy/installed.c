/* A program of somebody else, built by installed.sh against what `make install` puts in place. */
#include <stdio.h>

#include "sim/sim.h"
#include "strategy/strategies/strategy.h"

int main(void)
{
	struct settings s = settings_default();
	struct model m;
	struct plan p;
	struct cluster c;
	struct report r;
	s.ranks = 4;
	snprintf(s.strategy, sizeof s.strategy, "zero2");
	if (settings_resolve(&s, strategy_data_ranks(&s)) || model_open(&m, s.model, s.sequence) ||
	    plan_compile(&p, &m, &s) || plan_verify(&p, NULL) || cluster_open(&c, "a100-80gb", p.ranks) ||
	    sim_run(&p, &c, GRAIN_OPERATION, NULL, &r)) {
		fprintf(stderr, "%s\n", status_message());
		return 1;
	}
	plan_write(&p, NULL, stdout);
	fprintf(stderr, "%.15g\n", (double)r.time.step / 1e9);
	report_release(&r);
	cluster_release(&c);
	plan_release(&p);
	model_release(&m);
	return 0;
}
