#include "real/rank/thread_slice.h"

#include <linux/sched/types.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { SLICE_LEAST_NS = 100 * 1000, SCHEDULED_AS_OTHERS = 0 /* SCHED_OTHER */ };

void thread_slice_shortest(void)
{
	/* glibc has no functions for these before 2.41. Other attributes, such as nice, stay as they are. */
	struct sched_attr a = {.size = sizeof a};
	if (syscall(SYS_sched_getattr, 0, &a, sizeof a, 0) || a.sched_policy != SCHEDULED_AS_OTHERS)
		return;
	a.sched_runtime = SLICE_LEAST_NS;
	(void)syscall(SYS_sched_setattr, 0, &a, 0); /* if it is refused, that only costs time */
}
