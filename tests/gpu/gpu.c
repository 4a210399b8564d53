#include "tests/gpu/gpu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "real/cuda/library.h"

/* The devices of NVIDIA's kernel driver, and of Windows' driver for Linux. */
static bool has_card(void)
{
	const char *visible = getenv("CUDA_VISIBLE_DEVICES");
	if (visible && (!*visible || *visible == '-'))
		return false;
	return !access("/dev/nvidiactl", F_OK) || !access("/dev/dxg", F_OK);
}

/* Without a GPU the advice in the message is left out. */
static enum gpu_found failed(struct gpu *g)
{
	static const char option[] = "device cuda: ";
	const char *text = status_message();
	bool broken = has_card();
	if (!strncmp(text, option, sizeof option - 1))
		text += sizeof option - 1;
	snprintf(g->why, sizeof g->why, "%s%s", broken ? "error: " : "no GPU: ", text);
	if (!broken)
		g->why[strcspn(g->why, ";")] = 0;
	return broken ? GPU_BROKEN : GPU_MISSING;
}

enum gpu_found gpu_find(struct gpu *out)
{
	*out = (struct gpu){.devices = 0};
	enum status s = cuda_library_open(&out->api);
	if (!s)
		s = cuda_library_devices(out->api, &out->devices);
	if (!s)
		s = cuda_library_describe(out->api, 0, &out->properties);
	return s ? failed(out) : GPU_FOUND;
}
