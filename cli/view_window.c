#include "cli/view_open.h"

enum status viewer_window(struct viewer *v)
{
	(void)v;
	return status_fail(STATUS_INPUT, "no window yet");
}
