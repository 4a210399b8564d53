/* A race of the algorithms of one operation: all with the same bytes on the same ranks and links, in true proportion of
 * time. A caller that knows the simulator fills it in (struct window_host); here it is read and drawn.
 *
 *     struct race r = {.operation = OPERATION_ALL_REDUCE, .ranks = 8, .bytes = 4000000};
 *     host.race(host.context, &r);
 *     race_draw(&canvas, &r, now, box);       // now: nanoseconds since the start
 *     race_release(&r);
 */
#ifndef SHARDLAB_VIZ_RACE_H
#define SHARDLAB_VIZ_RACE_H

#include <stdio.h>

#include "strategy/collective/schedule.h"
#include "viz/draw/draw.h"

enum { RACERS = 6, RACE_PARTS = 2, RACE_POINTS = 13, RACE_GRID = 16, RACE_MOST_RANKS = 1024 };

/* An algorithm: one schedule, or a reduce and then a broadcast. */
struct racer {
	char name[24]; /* "ring" */
	struct schedule part[RACE_PARTS];
	int parts;
	int64_t ns;      /* the whole */
	int rounds;      /* of all parts */
	int64_t *ends;   /* [rounds] ns, ascending: when each is over on all ranks; owned */
	int64_t out, in; /* bytes that leave and reach the rank that moves most */
	int place;       /* 1: nobody is faster */
};

/* Times over the size of the message on the same ranks, or over the number of ranks with the same bytes per message. */
enum race_over { RACE_OVER_SIZES, RACE_OVER_RANKS };
struct race_curve {
	enum race_over over;
	enum operation operation;
	int64_t fixed; /* ranks, or bytes */
	int points;
	int64_t at[RACE_POINTS], ns[RACERS][RACE_POINTS]; /* at: bytes, or ranks; ascending */
};

struct race {
	enum operation operation;
	enum race_over over; /* of the chart */
	int64_t ranks, bytes;
	char cluster[80];
	bool by_message; /* every message was simulated; else collectives by formula, whose rounds share the time */
	struct racer racer[RACERS];
	int count;
	int64_t longest;   /* ns */
	char refused[256]; /* why nothing can run; "": it can */
	struct race_curve curve;
};

void race_release(struct race *r); /* accepts a zeroed struct */

/* Rounds that are over at a time, and the next time after it (the last before it) at which one is. */
int race_rounds_over(const struct racer *one, int64_t now);
int64_t race_next(const struct race *r, int64_t now);
int64_t race_previous(const struct race *r, int64_t now);

/* The points, ascending, at which the fastest racer changes: from this many bytes or ranks on it is `after`. Over sizes
 * it is where lines cross; over ranks it is the first number at which another is fastest. Returns how many there are.
 */
struct race_crossing {
	int64_t at;
	int before, after; /* racers */
};
int race_crossings(const struct race *r, struct race_crossing out[RACE_POINTS]);
/* "Fastest up to 61 kB: halving-doubling; above, ring." */
enum { RACE_WORDS = 256 };
const char *race_words(char *out, const struct race *r);

/* The chunks that ranks hold after so many rounds: for each chunk the share, 0 … 1, of the contributions that it will
 * have in the end. Above RACE_GRID ranks chunks is 0. The caller frees the parts. */
struct race_held {
	int chunks;
	double *part; /* [rank * chunks + chunk] */
};
void race_held_make(struct race_held *out, const struct race *r, const struct racer *one, int rounds);

/* Writes time and bytes in symbols to the caller's buffers: "launch + 2 (n − 1) · hop(S/n)", as sim/cost.h has it, and
 * "all ranks send 2 (n − 1) · S". */
enum { RACE_FORM = 96 };
/* A place of the chart's axis: "4.000 MB", "8 ranks"; out: WORD bytes. */
const char *race_point_word(char *out, const struct race_curve *v, int64_t at);
const char *race_time_form(char *out, const struct racer *one, int64_t ranks);
const char *race_bytes_form(char *out, const struct racer *one);

/* The canvas' least size of text holds, which is 2 % of the height where the window presents. */
void race_draw(struct canvas *c, const struct race *r, int64_t now, struct box b);
void race_draw_chart(struct canvas *c, const struct race *r, struct box b);
/* The colour of an algorithm, the same in every race. */
colour race_colour(const struct racer *one);
void race_describe(const struct race *r, FILE *out);

#endif
