/* Rates, measured ranges and exposed communication in words. */
#include <inttypes.h>
#include <stdio.h>

#include "strategy/base/language.h"
#include "viz/scene/lane_area.h"
#include "viz/scene/lane_cards.h"
#include "viz/scene/lane_foreign.h"
#include "viz/timeline/op_words.h"

const char *rate_word(char *out, double rate)
{
	static const char *const units[] = {"B/s", "kB/s", "MB/s", "GB/s", "TB/s"};
	size_t unit = 0;
	while (rate >= 1000 && unit + 1 < sizeof units / sizeof units[0]) {
		rate /= 1000;
		unit++;
	}
	snprintf(out, WORD, rate >= 100 ? "%.0f %s" : rate >= 10 ? "%.1f %s" : "%.2f %s", rate, units[unit]);
	return out;
}

double speed_share(const struct speed *s)
{
	return s->link > 0 && s->bus > 0 && !s->assumed ? s->bus / s->link : 0;
}

/* "10.0 GB/s", "8 × 25.0 GB/s" */
static const char *link_word(char *out, size_t size, const struct speed *s)
{
	char rate[WORD];
	if (s->parts > 1)
		snprintf(out, size, "%" PRId64 " × %s", s->parts, rate_word(rate, s->link / (double)s->parts));
	else
		snprintf(out, size, "%s", rate_word(rate, s->link));
	return out;
}

/* A link that carries more than it can was calibrated on a slower day. */
static void say_link(const struct speed *s, char *out, size_t size)
{
	char rate[2 * WORD];
	out[0] = 0;
	if (speed_share(s) > 0)
		snprintf(out, size,
		         speed_share(s) >= 1.005 ? tr(", %.0f %% of the %s's %s: calibrate anew")
		                                 : tr(", %.0f %% of the %s's %s"),
		         100 * speed_share(s), tr(s->link_name), link_word(rate, sizeof rate, s));
	else if (s->link > 0 && s->bus > 0)
		snprintf(out, size, tr("; the %s's %s are assumed"), tr(s->link_name), link_word(rate, sizeof rate, s));
}

const char *speed_words(char *out, const struct speed *s)
{
	char payload[WORD], wire[WORD], time[WORD], algorithm[WORD], bus[WORD], link[112], more[64] = "",
	                                                                                   on_bus[64] = "";
	if (s->wire_bytes >= 0 && s->wire_bytes != s->payload_bytes)
		snprintf(more, sizeof more, tr(" (%s on the wire)"), bytes_word(wire, s->wire_bytes));
	if (s->bus > 0 && s->ranks != 1)
		snprintf(on_bus, sizeof on_bus, tr(", on the bus %s"), rate_word(bus, s->bus));
	say_link(s, link, sizeof link);
	snprintf(out, SPEED_WORDS, tr("%s%s in %s: %s%s%s"), bytes_word(payload, s->payload_bytes), more,
	         time_word(time, s->moves), rate_word(algorithm, s->algorithm), on_bus, link);
	return out;
}

const char *speed_words_brief(char *out, const struct speed *s)
{
	char rate[WORD], share[48] = "";
	bool bus = s->bus > 0 && s->ranks != 1;
	if (speed_share(s) > 0)
		snprintf(share, sizeof share, tr(", %.0f %% of its %s's"), 100 * speed_share(s), tr(s->link_name));
	snprintf(out, SPEED_WORDS, "%s%s%s", bus ? tr("bus ") : "", rate_word(rate, s->bus > 0 ? s->bus : s->algorithm),
	         share);
	return out;
}

/* ---- ranges ---- */

void measured_words(const struct lanes *l, int lane, const struct measured *m, char *out, size_t size)
{
	char who[LANE_RANKS], compute[WORD], communication[WORD], exposed[WORD], bubble[WORD], sent[WORD];
	double part = 100.0 / (double)(m->length ? m->length : 1);
	lane_ranks(who, l, &l->lanes[lane]);
	snprintf(out, size,
	         tr("%s: compute %s (%.1f %%), communication %s (%.1f %%), exposed %s (%.1f %%), %s %s (%.1f %%), %s "
	            "%s, "
	            "%" PRId64 " operation%s"),
	         who, time_word(compute, m->compute), part * (double)m->compute,
	         time_word(communication, m->communication), part * (double)m->communication,
	         time_word(exposed, m->exposed), part * (double)m->exposed, l->timeline ? tr("bubble") : tr("idle"),
	         time_word(bubble, m->bubble), part * (double)m->bubble, l->timeline ? tr("sends") : tr("carries"),
	         bytes_word(sent, m->sent_bytes), m->operations, m->operations == 1 ? "" : "s");
	language_space(out, size);
}

/* ---- exposed communication ---- */

void exposed_name(const struct lanes *l, const struct exposed *e, char *out, size_t size)
{
	char words[OP_WORDS];
	if (!l->timeline) {
		foreign_name(words, &l->file->spans[l->lanes[e->rank].spans[e->op].number]);
		snprintf(out, size, "%s", words);
		return;
	}
	const struct role *role = plan_role_of(l->timeline->plan, e->rank);
	snprintf(out, size, "%s", op_words(words, l->timeline, role, &role->ops[e->op]));
}

void exposed_when(const struct lanes *l, const struct exposed *e, char *out, size_t size)
{
	char begin[WORD], micro[48] = "";
	const struct op *op = l->timeline ? &plan_role_of(l->timeline->plan, e->rank)->ops[e->op] : NULL;
	if (op && op->micro >= 0 && l->timeline->plan->settings.accumulate > 1)
		snprintf(micro, sizeof micro, tr(" of micro-batch %d"), op->micro);
	snprintf(out, size, tr("%s%s%sat %s"), op && op->pass ? tr(pass_name(op->pass)) : "", micro,
	         op && op->pass ? ", " : "", time_word(begin, e->begin));
}

void exposed_words(const struct lanes *l, const struct exposed *e, char *out, size_t size)
{
	char name[256], when[96], time[WORD], bytes[WORD], speed[SPEED_WORDS], more[SPEED_WORDS + 80] = "", where[208];
	struct speed s;
	exposed_name(l, e, name, sizeof name);
	exposed_when(l, e, when, sizeof when);
	if (exposed_speed(l, e, &s))
		snprintf(more, sizeof more, ", %s", speed_words(speed, &s));
	else if (e->bytes)
		snprintf(more, sizeof more, ", %s", bytes_word(bytes, e->bytes));
	if (l->timeline)
		snprintf(where, sizeof where, tr("rank %" PRId64), e->rank);
	else
		snprintf(where, sizeof where, "%s, %s", l->lanes[e->rank].process, l->lanes[e->rank].name);
	snprintf(out, size,
	         tr(l->timeline ? "%s (%.1f %% of the step) on %s: %s, %s%s"
	                        : "%s (%.1f %% of the time) on %s: %s, %s%s"),
	         time_word(time, e->time), 100 * (double)e->time / (double)exposed_whole(l), where, name, when, more);
	language_space(out, size);
}
