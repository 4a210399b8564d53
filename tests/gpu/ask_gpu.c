/* Prints which GPU this machine has, as lines for the scripts in this folder:
 *
 *     name=NVIDIA H200
 *     devices=1
 *     memory_bytes=150754820096
 *     driver_cuda=13.0                    the newest CUDA that its driver knows
 *
 * Exit status 0; 77 where there is none and 1 where one does not answer, with a line that says why.
 */
#include <inttypes.h>
#include <stdio.h>

#include "tests/gpu/gpu.h"

int main(void)
{
	struct gpu gpu;
	enum gpu_found found = gpu_find(&gpu);
	const struct cuda_properties *p = &gpu.properties;
	if (found != GPU_FOUND) {
		puts(gpu.why);
		return found;
	}
	printf("name=%s\ndevices=%d\nmemory_bytes=%" PRId64 "\ndriver_cuda=%d.%d\n", p->name, gpu.devices,
	       p->memory_bytes, p->driver / 1000, p->driver % 1000 / 10);
	return 0;
}
