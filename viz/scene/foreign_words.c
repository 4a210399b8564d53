/* Another program's trace in words. */
#include <math.h>
#include <string.h>

#include "strategy/base/language.h"
#include "strategy/base/number.h"
#include "strategy/base/search.h"
#include "viz/scene/lane_cards.h"
#include "viz/scene/lane_foreign.h"

/* Behind what is there, as far as there is room. */
static void append(char *out, size_t size, const char *format, ...) __attribute__((format(printf, 3, 4)));
static void append(char *out, size_t size, const char *format, ...)
{
	size_t at = strlen(out);
	WITH_ARGS(format, status_format(out + at, size - at, format, args));
}

const char *counter_word(char *out, const struct foreign_counter *counter, double value)
{
	if (counter->bytes && fabs(value) < 1e18)
		number_format_bytes(out, COUNTER_WORD, llround(value));
	else if (fabs(value) >= 1000 && fabs(value) < 1e15)
		number_format_count(out, llround(value));
	else
		snprintf(out, COUNTER_WORD, "%g", value);
	return out;
}

static double share(const struct gpu_use *u, int64_t ns)
{
	return 100 * (double)ns / (double)(u->end > u->begin ? u->end - u->begin : 1);
}

/* "python (GPU 0): compute 3 ms (60.0 %), communication …, exposed …, idle …" */
static void gpu_words(const struct lanes *l, const struct gpu_process *g, char *out, size_t size)
{
	const struct gpu_use *u = &l->gpus;
	char compute[WORD], communication[WORD], exposed[WORD], idle[WORD];
	snprintf(out, size,
	         tr("%.80s: compute %s (%.1f %%), communication %s (%.1f %%), exposed %s (%.1f %%), idle %s (%.1f %%)"),
	         l->file->processes[g->process].name, time_word(compute, g->compute), share(u, g->compute),
	         time_word(communication, g->communication), share(u, g->communication), time_word(exposed, g->exposed),
	         share(u, g->exposed), time_word(idle, g->idle), share(u, g->idle));
}

/* ---- a span ---- */

/* Parts of names that take room and carry no information. */
static size_t skipped(const char *name)
{
	static const char *const parts[] = {"void ", "(anonymous namespace)::", "at::native::"};
	for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
		if (!strncmp(name, parts[i], strlen(parts[i])))
			return strlen(parts[i]);
	return 0;
}

/* The arguments of a function stand right behind its name: "f<float>(int)", but not "Memcpy HtoD (Pinned -> Device)".
 */
static void shorten(const char *name, char *out, size_t size)
{
	size_t at = 0, skip;
	int depth = 0;
	for (const char *p = name; *p && at + 1 < size; p += skip ? skip : 1) {
		skip = skipped(p);
		depth += *p == '<' ? 1 : *p == '>' ? -1 : 0;
		if (!skip && *p == '(' && depth <= 0 && p > name && p[-1] != ' ')
			break;
		if (!skip)
			out[at++] = *p;
	}
	out[at] = 0;
}

const char *foreign_name(char *out, const struct foreign_span *s)
{
	char name[FOREIGN_NAME - 44];
	shorten(s->name, name, sizeof name);
	if (s->collective)
		snprintf(out, FOREIGN_NAME, "%.40s (%s)", s->collective, name);
	else
		snprintf(out, FOREIGN_NAME, "%s", name);
	return out;
}

const char *foreign_title(char *out, const struct trace_file *f, const struct foreign_span *s)
{
	char name[FOREIGN_NAME];
	const char *what;
	gpu_kind_of_span(f, s, &what);
	snprintf(out, FOREIGN_TITLE, *what && !s->collective ? "%s (%s)" : "%s", foreign_name(name, s), what);
	return out;
}

/* "; from cudaLaunchKernel", and how many others. */
static void append_flows(const struct trace_file *f, size_t number, bool from, char *out, size_t size)
{
	const char *name = NULL;
	size_t count = 0;
	for (size_t i = 0; i < f->flow_count; i++) {
		const struct foreign_flow *flow = &f->flows[i];
		if ((from ? flow->to : flow->from) != number)
			continue;
		name = name ? name : f->spans[from ? flow->from : flow->to].name;
		count++;
	}
	if (count)
		append(out, size, from ? "; launched by %.60s" : "; leads to %.60s", name);
	if (count > 1)
		append(out, size, " and %zu others", count - 1);
}

void exposed_phrase(const struct lanes *l, const struct lane *lane, const struct lane_span *s, char *out, size_t size)
{
	const struct gpu_process *g = gpu_of_process(&l->gpus, lane->process_number);
	char word[WORD];
	int64_t exposed = g && s->kind == GPU_COMMUNICATION ? gpu_exposed(g, s->begin, s->end) : -1;
	*out = 0;
	if (exposed > 0)
		snprintf(out, size, tr("exposed for %s"), time_word(word, exposed));
	else if (!exposed)
		snprintf(out, size, tr("hidden behind computing"));
}

/* Makes spaces unbreakable, so that a name stays on one line. */
static const char *together(char out[2 * SPEED_WORDS], const char *words)
{
	size_t at = 0;
	for (; *words && at + 3 < 2 * SPEED_WORDS; words++) {
		if (*words == ' ')
			out[at++] = '\xc2';
		out[at++] = *words == ' ' ? '\xa0' : *words;
	}
	out[at] = 0;
	return out;
}

/* The caption beside the card. */
static void span_in_brief(const struct lanes *l, int64_t lane, int64_t span, char *out, size_t size)
{
	const struct lane *in = &l->lanes[lane];
	const struct lane_span *s = &in->spans[span];
	char title[FOREIGN_TITLE], time[WORD], begin[WORD], exposed[64], rate[SPEED_WORDS], whole[2 * SPEED_WORDS];
	struct speed speed;
	snprintf(out, size, tr("%s: %s, from %s"), foreign_title(title, l->file, &l->file->spans[s->number]),
	         time_word(time, s->end - s->begin), time_word(begin, s->begin));
	exposed_phrase(l, in, s, exposed, sizeof exposed);
	if (*exposed)
		append(out, size, "; %s", exposed);
	if (speed_of_span(l->file, s->number, &speed))
		append(out, size, "; %s", together(whole, speed_words_brief(rate, &speed)));
}

void foreign_span_words(const struct lanes *l, int64_t lane, int64_t span, char *out, size_t size)
{
	const struct foreign_span *f = &l->file->spans[l->lanes[lane].spans[span].number];
	span_in_brief(l, lane, span, out, size);
	if (f->args)
		append(out, size, "; %s", f->args);
	append_flows(l->file, (size_t)(f - l->file->spans), true, out, size);
	append_flows(l->file, (size_t)(f - l->file->spans), false, out, size);
}

/* ---- a counter's peak ---- */

static const struct counter_point *peak_of(const struct foreign_counter *counter)
{
	for (size_t i = 0; i < counter->point_count; i++)
		if (counter->points[i].value >= counter->most)
			return &counter->points[i];
	return NULL;
}

int64_t counter_peak(const struct foreign_counter *counter)
{
	const struct counter_point *peak = peak_of(counter);
	return peak ? peak->time : 0;
}

/* The outermost operation of a thread at a time, which asked for the memory; NULL: none. */
static const char *caller_at(const struct trace_file *f, int lane, int64_t time)
{
	static const char engine[] = "autograd::engine::evaluate_function: ";
	for (size_t i = 0; lane >= 0 && i < f->span_count; i++) {
		const struct foreign_span *s = &f->spans[i];
		if (s->lane == lane && s->begin <= time && time <= s->end && !strcmp(s->category, "cpu_op"))
			return s->name + (strncmp(s->name, engine, sizeof engine - 1) ? 0 : sizeof engine - 1);
	}
	return NULL;
}

/* The span that began last up to a time, in any lane; NULL: none has. */
static const struct lane_span *last_to_begin(const struct lanes *l, int64_t time)
{
	const struct lane_span *best = NULL;
	for (int i = 0; i < l->lane_count; i++) {
		const struct lane *lane = &l->lanes[i];
		int64_t span = lane->kind == LANE_SPANS ? lane_previous_span(lane, time + 1, 0) : -1;
		if (span >= 0 && (!best || lane->spans[span].begin > best->begin ||
		                  (lane->spans[span].begin == best->begin && lane->spans[span].kind != GPU_NONE)))
			best = &lane->spans[span];
	}
	return best;
}

void counter_peak_cause(const struct lanes *l, const struct foreign_counter *counter, char *out, size_t size)
{
	const struct counter_point *peak = peak_of(counter);
	const char *caller = peak ? caller_at(l->file, peak->lane, peak->time) : NULL;
	const struct lane_span *span = peak && !caller ? last_to_begin(l, peak->time) : NULL;
	*out = 0;
	if (caller)
		snprintf(out, size, tr("in %.80s"), caller);
	else if (span)
		snprintf(out, size,
		         tr(span->begin == peak->time ? "as this begins: %.80s" : "after the beginning of %.80s"),
		         span->name);
}

void counter_peak_words(const struct lanes *l, const struct foreign_counter *counter, char *out, size_t size)
{
	char value[COUNTER_WORD], time[WORD], cause[128];
	counter_peak_cause(l, counter, cause, sizeof cause);
	if (!counter->point_count)
		snprintf(out, size, tr("without a value"));
	else
		snprintf(out, size, tr("at most %s at %s%s%s"), counter_word(value, counter, counter->most),
		         time_word(time, counter_peak(counter)), *cause ? ", " : "", cause);
}

/* ---- the caption ---- */

/* Names as many GPUs as there is room for, among them the one with the most exposed communication. */
static void say_gpus(const struct lanes *l, char *out, size_t size)
{
	enum { SAID = 3 };
	const struct gpu_use *u = &l->gpus;
	int worst = 0;
	out[0] = 0;
	for (int i = 1; i < u->count; i++)
		worst = u->gpus[i].exposed > u->gpus[worst].exposed ? i : worst;
	for (int i = 0, said = 0; i < u->count && said < SAID; i++) {
		char words[320];
		if (u->count > SAID && said == SAID - 1 && i < worst)
			i = worst;
		gpu_words(l, &u->gpus[i], words, sizeof words);
		append(out, size, "%s%s.", said++ ? " " : "", words);
	}
	if (u->count > SAID)
		append(out, size, " %d more GPUs: rest the mouse on their names.", u->count - SAID);
}

void foreign_caption(const struct lanes *l, int64_t lane, int64_t span, char *out, size_t size)
{
	if (lane >= 0 && span >= 0)
		span_in_brief(l, lane, span, out, size);
	else if (l->gpus.count)
		say_gpus(l, out, size);
	else
		snprintf(out, size,
		         tr("A trace of another program. No span in it runs on a GPU, so that it has no communication "
		            "to "
		            "look for. ↓ and ↑ select spans, → and ← move the cursor."));
}

/* ---- the mouse ---- */

static double value_at(const struct foreign_counter *counter, int64_t time)
{
	size_t next = FIRST_PAST(counter->points, time, 0, counter->point_count, time);
	return counter->points[next ? next - 1 : 0].value;
}

static void hit_process(const struct lane_area *l, const struct lane *lane, struct hit *h)
{
	static const char *const states[GPU_STATES] = {"idle", "computes", "communication is exposed",
	                                               "computes and communicates"};
	const struct gpu_process *g = gpu_of_process(&l->lanes->gpus, lane->process_number);
	size_t i = g ? gpu_stretch_at(g, h->time) : 0;
	char words[320], time[WORD];
	if (!g)
		return;
	gpu_words(l->lanes, g, words, sizeof words);
	snprintf(h->text, sizeof h->text, "%.200s", words);
	if (i < g->stretch_count && g->stretches[i].begin <= h->time)
		append(h->text, sizeof h->text, "; here: %s, for %s", tr(states[g->stretches[i].state]),
		       time_word(time, g->stretches[i].end - g->stretches[i].begin));
}

void foreign_hit(const struct lane_area *l, int number, int depth, struct hit *h)
{
	const struct lane *lane = &l->lanes->lanes[number];
	char begin[WORD], value[COUNTER_WORD];
	h->first_lane = l->first;
	h->rank = number;
	if (lane->kind == LANE_PROCESS) {
		hit_process(l, lane, h);
	} else if (lane->kind == LANE_COUNTER) {
		char peak[192];
		counter_peak_words(l->lanes, lane->counter, peak, sizeof peak);
		snprintf(h->text, sizeof h->text, tr("%.100s: %s at %s; %s"), lane->name,
		         counter_word(value, lane->counter, value_at(lane->counter, h->time)),
		         time_word(begin, h->time), peak);
	} else {
		int64_t span = lane_span_at(lane, h->time, depth);
		h->op = (int)span;
		if (span >= 0)
			foreign_span_words(l->lanes, number, span, h->text, sizeof h->text);
	}
}

/* ---- --describe ---- */

static void write_lane(const struct lane *lane, FILE *out)
{
	char busy[WORD];
	int64_t time = 0;
	for (size_t k = 0; k < lane->span_count; k++)
		time += lane->spans[k].depth ? 0 : lane->spans[k].end - lane->spans[k].begin;
	fprintf(out, tr("lane     %s%s%s: %zu spans, busy for %s\n"), lane->process, *lane->process ? ", " : "",
	        lane->name, lane->span_count, time_word(busy, time));
}

void foreign_describe(const struct lanes *l, FILE *out)
{
	char word[WORD], words[320], least[COUNTER_WORD], most[COUNTER_WORD];
	for (int i = 0; i < l->gpus.count; i++) {
		gpu_words(l, &l->gpus.gpus[i], words, sizeof words);
		fprintf(out, tr("gpu      %s of %s\n"), words, time_word(word, l->gpus.end - l->gpus.begin));
	}
	if (!l->gpus.count)
		fputs(tr("gpu      no span runs on one\n"), out);
	for (int i = 0; i < l->lane_count; i++) {
		const struct lane *lane = &l->lanes[i];
		if (lane->kind == LANE_SPANS) {
			write_lane(lane, out);
		} else if (lane->kind == LANE_COUNTER) {
			counter_peak_words(l, lane->counter, words, sizeof words);
			fprintf(out, tr("counter  %s, %s: %zu values, %s to %s; %s\n"), lane->process, lane->name,
			        lane->counter->point_count, counter_word(least, lane->counter, lane->counter->least),
			        counter_word(most, lane->counter, lane->counter->most), words);
		}
	}
	if (l->file->flow_count)
		fprintf(out, "flows    %zu\n", l->file->flow_count);
	fprintf(out, "end      %s\n", time_word(word, l->end));
}
