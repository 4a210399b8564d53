#include "cli/command/advise_chart.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/show/show_advice.h"
#include "strategy/base/arena.h"
#include "strategy/base/number.h"
#include "strategy/base/version.h"
#include "viz/export/export.h"
#include "viz/scene/chart_cloud.h"

/* ---- points ---- */

static int series_of(struct cloud *cloud, const char *strategy)
{
	int i = 0;
	while (i < cloud->series_count && strncmp(cloud->series[i], strategy, sizeof cloud->series[i] - 1) != 0)
		i++;
	if (i == CLOUD_SERIES)
		return CLOUD_SERIES - 1;
	if (i == cloud->series_count)
		snprintf(cloud->series[cloud->series_count++], sizeof cloud->series[0], "%.63s", strategy);
	return i;
}

static void add_limit(struct cloud *cloud, const struct report_tightest *t)
{
	for (int i = 0; i < cloud->limit_count; i++)
		if (!strcmp(cloud->limits[i].name, space_name(t->space)))
			return;
	if (cloud->limit_count == CLOUD_LIMITS)
		return;
	struct cloud_limit *limit = &cloud->limits[cloud->limit_count++];
	snprintf(limit->name, sizeof limit->name, "%s", space_name(t->space));
	limit->bytes = t->capacity_bytes;
}

static struct cloud_point *add_point(struct cloud *cloud, const struct settings *s, const struct report_tightest *t)
{
	if (cloud->point_count == CLOUD_POINTS)
		return NULL;
	struct cloud_point *p = &cloud->points[cloud->point_count++];
	*p = (struct cloud_point){.bytes = t->needed_bytes, .series = series_of(cloud, s->strategy)};
	add_limit(cloud, t);
	return p;
}

/* "zero2 bf16, 4 × 2, full, offload optimizer" */
static void name_point(struct cloud_point *p, const struct advised *x)
{
	const struct settings *s = &x->settings;
	char offload[OFFLOAD_TEXT], checkpointing[80] = "", where[OFFLOAD_TEXT + 16] = "", count[32], name[32];
	advice_strategy(s->strategy, name, sizeof name);
	offload_print(&s->offload, offload, sizeof offload);
	if (strcmp(s->checkpointing, "none") != 0)
		snprintf(checkpointing, sizeof checkpointing, ", %.60s", s->checkpointing);
	if (strcmp(offload, "none") != 0)
		snprintf(where, sizeof where, ", offload %s", offload);
	snprintf(p->label, sizeof p->label, "%s %s, %" PRId64 " × %" PRId64 "%.24s%.40s: %s a second", name,
	         type_name(s->precision), s->micro_batch, s->accumulate, checkpointing, where,
	         number_format_count(count, (int64_t)(x->tokens_per_s + 0.5)));
}

/* The memory of the axis: the devices', unless no line fills that most. */
static enum space axis_of(const struct advice *a)
{
	for (int i = 0; i < a->fit_count; i++)
		if (a->fit[i].tightest.space == SPACE_DEVICE)
			return SPACE_DEVICE;
	return a->fit_count ? a->fit[0].tightest.space : a->lack_count ? a->lack[0].tightest.space : SPACE_DEVICE;
}

/* Lines that fit and are of another memory than the axis: they are left out. */
static int others_of(const struct advice *a)
{
	int others = 0;
	for (int i = 0; i < a->fit_count; i++)
		others += a->fit[i].tightest.space != axis_of(a);
	return others;
}

static void add_points(struct cloud *cloud, const struct advice *a)
{
	enum space axis = axis_of(a);
	for (int i = 0; i < a->fit_count; i++) {
		const struct advised *x = &a->fit[i];
		if (x->tightest.space != axis)
			continue;
		struct cloud_point *p = add_point(cloud, &x->settings, &x->tightest);
		if (!p)
			return;
		p->rate = x->tokens_per_s;
		p->frontier = x->frontier;
		name_point(p, x);
	}
	for (int i = 0; i < a->lack_count; i++)
		if (a->lack[i].tightest.space == axis)
			(void)add_point(cloud, &a->lack[i].settings, &a->lack[i].tightest);
}

static void title(struct cloud *cloud, const struct advice *a, const char *model)
{
	const struct advise_request *q = &a->request;
	char count[32], sequence[40] = "", others[80] = "";
	struct report_asked asked;
	cloud->tokens = a->tokens > 1;
	if (cloud->tokens)
		snprintf(sequence, sizeof sequence, " · sequence %" PRId64, a->tokens);
	snprintf(cloud->title, sizeof cloud->title, "Memory against speed: %.60s on %" PRId64 " rank%s of %.40s", model,
	         q->given.ranks, q->given.ranks == 1 ? "" : "s", q->cluster);
	report_asked(&asked, &q->given);
	if (others_of(a))
		snprintf(others, sizeof others, ", of which %d fill another memory more and are not drawn",
		         others_of(a));
	cloud->spared = 100 * q->margin;
	snprintf(cloud->subtitle, sizeof cloud->subtitle,
	         "batch %s%s%s%s%s%.80s · %" PRId64 " candidates: %d line%s fit%s%s · simulated by shardlab %s",
	         number_format_count(count, q->given.batch), sequence, *a->stack ? " · stack " : "", a->stack,
	         *asked.others ? " · " : "", asked.others, a->candidates, a->fit_count, a->fit_count == 1 ? "" : "s",
	         a->fit_count == 1 ? "s" : "", others, SHARDLAB_VERSION);
}

enum status advise_chart_write(const struct advice *a, const char *model, const char *path)
{
	struct fonts fonts = {0};
	struct cloud *cloud = array_make(1, sizeof *cloud);
	cloud->theme = THEME_PAPER;
	cloud->fonts = &fonts;
	title(cloud, a, model);
	add_points(cloud, a);
	enum status s = fonts_open(&fonts);
	if (!s)
		s = export_chart(path, "{export}", cloud_draw, cloud);
	fonts_release(&fonts);
	free(cloud);
	return s;
}
