/* Makes Linux schedule a thread soon after it wakes up for microseconds of work while others compute.
 *
 * Since 6.12 the scheduler (EEVDF) takes the thread whose time slice would end first. A thread that moves messages has
 * the same slice as one that computes, 3 ms, unless it asks for less: on a machine with a core a rank it would often
 * stand behind its own rank's kernels for that long, and the rank at the other end of a message with it.
 */
#ifndef SHARDLAB_THREAD_SLICE_H
#define SHARDLAB_THREAD_SLICE_H

/* Gives the calling thread the shortest slice there is. Older kernels ignore it, and schedule a thread that slept at
 * once. */
void thread_slice_shortest(void);

#endif
