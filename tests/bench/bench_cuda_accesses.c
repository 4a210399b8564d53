/* The memory requests of the GPU's kernels, counted on the host: bytes of global memory beside those that must be
 * moved, the share of the sectors of 32 bytes that is made use of, and the share of shared memory's turns that no
 * conflict of banks takes. */
#include <stdio.h>
#include <string.h>

#include "tests/bench/cuda_accesses.h"

enum { NAME_SIZE = 44 };

/* A function as it is called: without namespace, type and parameters. */
static void name_shorten(char name[NAME_SIZE], const char *function)
{
	static const char *const left_out[] = {"void ", "(anonymous namespace)::"}; /* in this order */
	size_t length = 0;
	for (;;) {
		for (size_t i = 0; i < sizeof left_out / sizeof *left_out; i++)
			if (!strncmp(function, left_out[i], strlen(left_out[i])))
				function += strlen(left_out[i]);
		if (!*function || *function == '(' || length + 1 == NAME_SIZE)
			break;
		name[length++] = *function++;
	}
	name[length] = '\0';
}

static void print(const struct emulated_accesses *k)
{
	char name[NAME_SIZE];
	name_shorten(name, k->kernel);
	printf("    %-43s %8.3f MB read %8.3f written  sectors %5.1f%%", name, 1e-6 * (double)k->read_bytes,
	       1e-6 * (double)k->written_bytes, 100 * share(k->least_sectors, k->sectors));
	if (k->wavefronts)
		printf("  shared %5.1f%%", 100 * share(k->least_wavefronts, k->wavefronts));
	putchar('\n');
}

static void print_attention(int64_t head_size, enum element type)
{
	static const char *const names[] = {"forward", "forward by wgmma", "backward"};
	struct attention_shape shape = {1, 256, 1, head_size, type};
	for (enum attention_version v = 0; v < ATTENTION_VERSIONS; v++) {
		const struct emulated_accesses *kernels;
		if (v == ATTENTION_HOPPER && type == ELEMENT_FP32)
			continue;
		int n = attention_accesses(&shape, v, &kernels);
		printf("attention %s, head %d, %d bits\n", names[v], (int)head_size, 8 * (int)element_bytes(type));
		for (int k = 0; k < n; k++)
			print(&kernels[k]);
	}
}

int main(void)
{
	struct job jobs[JOBS];
	if (!emulated_tells()) {
		puts("bench_cuda_accesses: not run: kernels of this build have a sanitizer");
		return 0;
	}
	jobs_of_one_processor(jobs);
	for (int i = 0; i < JOBS; i++) {
		const struct emulated_accesses *kernels;
		if (jobs[i].run == run_copy)
			continue;
		int n = job_accesses(&jobs[i], &kernels);
		printf("%s: %.2f times the %.3f MB that it must move\n", jobs[i].name, job_times(&jobs[i], n, kernels),
		       1e-6 * job_bytes(&jobs[i]));
		for (int k = 0; k < n; k++)
			print(&kernels[k]);
	}
	for (int64_t head_size = 64; head_size <= 128; head_size += 64) {
		print_attention(head_size, ELEMENT_BF16);
		print_attention(head_size, ELEMENT_FP32);
	}
	return 0;
}
