/* The steps that an export has, of the size that the playback has. */
#include "viz/export/export.h"

size_t export_steps(const struct playback *p)
{
	return p->shown->foreign ? 1 : p->shown->timeline.stop_count[p->step_size];
}

void export_go(struct playback *p, size_t step)
{
	playback_go(p, p->shown->foreign ? 0 : timeline_stop(&p->shown->timeline, p->step_size, step));
}
