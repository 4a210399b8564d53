/* Shared by the files that draw a collective. */
#ifndef SHARDLAB_VIZ_RING_PARTS_H
#define SHARDLAB_VIZ_RING_PARTS_H

#include "viz/scene/scene.h"
#include "viz/timeline/values.h"

/* How ranks stand: as the messages go. */
enum ring_shape {
	RING_CIRCLE, /* neighbours beside each other */
	RING_TREE,   /* the root on top, below it a row for each level of the binomial tree */
	RING_STAR,   /* the root in the middle */
};

/* Up to that many ranks a chunk's slots stand side by side, and there is room to say whose they are. */
enum { RING_SLOTS_ABREAST = 4 };

struct ring {
	struct canvas *c;
	const struct view *v;
	const struct state *state;       /* the state whose chunks are drawn */
	const struct state_group *group; /* of that state */
	const struct collective *collective;
	const struct values *values; /* of that state; NULL: none are shown */
	int64_t n;
	struct box area; /* of the cards and links */
	enum ring_shape shape;
	bool title_inside;                       /* in the middle of the circle, not above it */
	struct box card[TIMELINE_MESSAGE_RANKS]; /* of each place in the group */
};

/* Prepares a ring without its cards. group: the state's group; NULL: chunks are not drawn one by one. */
struct ring ring_make(struct canvas *c, const struct view *v, const struct state *state,
                      const struct state_group *group, const struct collective *one);

/* Up to so many groups that carry out a collective stand side by side, above the ranks that take no part. */
enum { RING_GROUPS = 4 };
struct ring_cells {
	struct box cell[RING_GROUPS];
	int count;
	struct box strip;
	int others[TIMELINE_MESSAGE_RANKS], other_count; /* of the ranks that are shown */
};
void ring_divide(struct ring_cells *out, const struct state *st, struct box b);
/* The ranks that take no part, each with what it does meanwhile. */
void ring_strip(struct canvas *c, const struct state *st, const struct ring_cells *cells);
/* The card of a rank in the strip. */
struct box ring_strip_card(const struct ring_cells *cells, int i);

/* The part of the scene's box that has the ledger. small: it has none. */
struct box ring_ledger_box(struct box b, bool small);
/* Places the cards in b; n is at most TIMELINE_MESSAGE_RANKS. small: a part of the overview. */
void ring_place(struct ring *r, struct box b, bool small);
/* A message's arrow shows at least so much of itself beside its plate, whose text is of this size. */
double ring_arrow(const struct ring *r);
double ring_plate_size(const struct ring *r);
/* The ends of the link between two cards, moved aside by so much: it runs through no other card. */
void ring_link(const struct ring *r, int64_t from, int64_t to, double aside, double *x0, double *y0, double *x1,
               double *y1);

/* Draws the card of a place in the group. */
void ring_card(const struct ring *r, int64_t rank);

/* The title: inside the circle, or above it on two lines. room: its width. */
enum { RING_TITLE_INSIDE = 84 };
double ring_title_height(const struct canvas *c);
/* A card's margin, and the least size of its numbers. */
enum { RING_PADDING = 10, RING_LEAST_NUMBER = 8 };
#define RING_LONGEST_SUM "18 + 24 = 42"
void ring_title(const struct ring *r, struct box b, double room);

/* The card of a place in the group (ring_card.c). */
void ring_card(const struct ring *r, int64_t rank);
/* True if a card has room for the chunks' numbers above them, and for what they hold below. */
bool ring_is_numbered(const struct ring *r, struct box card);
bool ring_is_labelled(const struct ring *r, struct box card);

/* ---- numbers of chunks (ring_values.c) ---- */

bool ring_values_shown(const struct view *v, const struct collective *c);
/* A chunk's number; of a fresh one "5 + 3 = 8", if there is room. False: there is none, so that it ought to stand
 * beside the rank's name. Where it would hide slots that lie on each other, nothing is drawn. */
bool ring_value(const struct ring *r, struct box place, int64_t member, int number, bool fresh);
/* The box of a chunk's number: on the chunk, or above a lower chunk where its slots lie on each other. */
struct box ring_value_box(const struct ring *r, struct box *chunk);
/* The least height of a chunk with its number; 0: none are shown. */
double ring_value_height(const struct ring *r);
void ring_value_beside(const struct ring *r, int64_t member, int number, double right, double y, double room);
/* The values before the messages of the last step. */
void ring_values_before(struct values *v, const struct state *st, const struct collective *c);

/* More ranks than cards can be drawn of: a row for a rank, a column for a chunk. */
void ring_matrix(struct canvas *c, const struct view *v, const struct collective *one, struct box b);
/* The same without the title. */
void ring_matrix_alone(struct canvas *c, const struct view *v, const struct collective *one, struct box b);

/* More ranks of a ring than TIMELINE_MESSAGE_RANKS: the first and the last, those between as one
 * (ring_schematic.c); below it the matrix, where there is room. */
bool ring_is_schematic(const struct collective *one);
void ring_schematic(struct canvas *c, const struct view *v, const struct collective *one, struct box b, bool small);
/* The rank whose card is there; -1: none. */
int64_t ring_schematic_rank(struct canvas *c, const struct view *v, const struct collective *one, struct box b,
                            bool small, double x, double y);

#endif
