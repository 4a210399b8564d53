/* Finds the hosts of a run that answer. Each is asked for a connection to ssh's port; taken or refused, that is an
 * answer. The machine's kernel gives it, so one that is busy or starts slowly answers as fast as any, and one that is
 * gone, or whose cable is out, does not.
 *
 *     reach_watch(&hosts);                                 // before the first start, while all should be there
 *     while (…) {
 *             reach_look();                                // never waits
 *             name = reach_missing(&hosts, limit_ns);
 *     }
 *     reach_settle(&hosts);                                // between two starts: who is gone is left out from here on
 *
 * A host that has never answered is not missed, unless there is no route to it: its network may drop what is asked. But
 * it is where mpirun does not get anywhere either (reach_expect).
 */
#ifndef SHARDLAB_REACH_H
#define SHARDLAB_REACH_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/command/hosts.h"

/* Notes the hosts, the first REACH_MOST of them, but this machine, and asks them. Those that it knows it keeps. */
enum { REACH_MOST = 256 };
void reach_watch(const struct hosts *h);
/* Takes the answers, and asks each that was not asked within a second. */
void reach_look(void);
/* All are known to be there by other means: takes the answers, and forgets what else was asked, so that the next look
 * begins anew. */
void reach_rest(void);
/* For how long it has not answered, since it was asked; 0: it did, or is not missed. */
int64_t reach_missed_ns(const char *name);
/* It was asked, has answered before, and its answer is still to come. */
bool reach_is_awaited(const char *name);
/* The first of these hosts that has not answered for so long; NULL: there is none. */
const char *reach_missing(const struct hosts *h, int64_t limit_ns);
/* From now on those of them that never answered are missed, too: mpirun has reached none either. */
void reach_expect(const struct hosts *h);
/* Waits for answers, two seconds at most, and takes those that did not give any for gone. False if that changes
 * nothing: the same are gone as before. */
bool reach_settle(void);
/* Was it gone when that was looked at last? */
bool reach_is_gone(const char *name);
/* "node2, node3": those that are gone; "": none. */
void reach_list_gone(char *out, size_t size);

#endif
