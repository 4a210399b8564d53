/* How fast products and attention are on this card, and what share that is of what it can do.
 *
 *     bench-cuda-matrix [--repeats N] [--peak TFLOPS]         --peak: dense 16-bit, of the card; H100 and H200: 989
 *
 * Products: TFLOP/s in each type, squares and those of GPT-2 124M at 16 × 1024 tokens, with their epilogues. Attention:
 * causal, bf16, 65536 tokens: half of 4·T²·D products a head forward, 2.5 times as many backward; against the largest
 * rate of a bf16 product in this run.
 */
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "kernels/cuda/product.h"
#include "kernels/cuda/table.h"

namespace
{

struct bench {
	struct cuda c;
	struct cuda_api api;
	cuda_stream stream;
	int repeats;
	double peak, product_rate; /* TFLOP/s; of the fastest bf16 product so far */
};

void check(int error, const char *what)
{
	if (!error)
		return;
	fprintf(stderr, "error: %s: %s (%d)\n", what,
	        error < 1000 ? cudaGetErrorString(static_cast<cudaError_t>(error)) : "not an error of CUDA's", error);
	exit(2);
}

void *allocate(int64_t bytes)
{
	void *p = nullptr;
	check(cudaMalloc(&p, static_cast<size_t>(bytes)), "memory for the benchmark");
	return p;
}

/* Numbers as in training: products of all zeros draw less power, and run faster than they should. */
void fill(struct bench *b, enum element type, int64_t n, void *p)
{
	std::vector<uint16_t> halves;
	std::vector<float> floats;
	uint32_t state = 1;
	for (int64_t i = 0; i < n; i++) {
		state = state * 1664525U + 1013904223U;
		float x = static_cast<float>(state >> 8) / 8388608.0F - 1.0F;
		uint32_t bits;
		memcpy(&bits, &x, sizeof bits);
		if (type == ELEMENT_FP32)
			floats.push_back(x);
		else if (type == ELEMENT_BF16)
			halves.push_back(static_cast<uint16_t>(bits >> 16));
		else /* between 2^-14 and 2^0, any fraction: sign, exponent 1 … 14, fraction */
			halves.push_back(static_cast<uint16_t>((bits >> 16 & 0x8000) | (11 + (state >> 30)) << 10 |
			                                       (state >> 12 & 0x3ff)));
	}
	const void *from = type == ELEMENT_FP32 ? static_cast<const void *>(floats.data()) : halves.data();
	check(cudaMemcpyAsync(p, from, static_cast<size_t>(n * element_bytes(type)), cudaMemcpyHostToDevice, b->stream),
	      "numbers for the benchmark");
	check(cudaStreamSynchronize(b->stream), "numbers for the benchmark");
}

/* The median of the repeats, in seconds. */
template <typename F> double seconds_of(struct bench *b, F run)
{
	std::vector<float> times(static_cast<size_t>(b->repeats));
	cudaEvent_t begin, end;
	check(cudaEventCreate(&begin), "an event");
	check(cudaEventCreate(&end), "an event");
	for (int i = 0; i < 3; i++)
		check(run(), "a kernel");
	for (float &t : times) {
		check(cudaEventRecord(begin, b->stream), "an event");
		check(run(), "a kernel");
		check(cudaEventRecord(end, b->stream), "an event");
		check(cudaEventSynchronize(end), "a kernel");
		check(cudaEventElapsedTime(&t, begin, end), "an event");
	}
	check(cudaEventDestroy(begin), "an event");
	check(cudaEventDestroy(end), "an event");
	std::sort(times.begin(), times.end());
	return 1e-3 * static_cast<double>(times[times.size() / 2]);
}

/* tf32's peak is half of that of 16 bits; fp32's, without tensor cores, is not known here. */
void product_line(struct bench *b, const char *name, const char *type, double flops, double seconds, double peak)
{
	double rate = 1e-12 * flops / seconds;
	printf("%-34s %-5s %9.1f us %8.1f TFLOP/s", name, type, 1e6 * seconds, rate);
	if (peak > 0)
		printf(" %5.1f%% of peak", 100 * rate / peak);
	printf("\n");
	if (!strcmp(type, "bf16"))
		b->product_rate = std::max(b->product_rate, rate);
}

void squares(struct bench *b)
{
	static const struct {
		const char *name;
		enum element type;
		bool tf32;
	} types[] = {{"bf16", ELEMENT_BF16, false},
	             {"fp16", ELEMENT_FP16, false},
	             {"tf32", ELEMENT_FP32, true},
	             {"fp32", ELEMENT_FP32, false}};
	for (const auto &t : types)
		for (int64_t n = 1024; n <= 8192; n *= 2) {
			const struct linear_shape shape = {n, n, n, false, false, t.type};
			void *x = allocate(n * n * element_bytes(t.type)), *w = allocate(n * n * element_bytes(t.type)),
			     *y = allocate(n * n * element_bytes(t.type));
			char name[64];
			fill(b, t.type, n * n, x);
			fill(b, t.type, n * n, w);
			product_allow_tf32(&b->c, t.tf32);
			double seconds = seconds_of(b, [&] {
				return b->api.linear_forward(&b->c, b->stream, &shape, x, w, nullptr, nullptr, y,
				                             nullptr);
			});
			snprintf(name, sizeof name, "product of %lld", static_cast<long long>(n));
			double peak = t.type != ELEMENT_FP32 ? b->peak : t.tf32 ? b->peak / 2 : 0;
			product_line(b, name, t.name,
			             2.0 * static_cast<double>(n) * static_cast<double>(n) * static_cast<double>(n),
			             seconds, peak);
			for (void *p : {x, w, y})
				check(cudaFree(p), "memory");
		}
	product_allow_tf32(&b->c, false);
}

/* GPT-2 124M's layers: forward; and backward, which has twice the products. */
void layers(struct bench *b)
{
	static const struct {
		const char *name;
		int64_t in, out;
		bool in_out, gelu, bias, residual;
	} all[] = {{"attn.c_attn", 768, 2304, true, false, true, false},
	           {"attn.c_proj + residual", 768, 768, true, false, true, true},
	           {"mlp.c_fc + GELU", 768, 3072, true, true, true, false},
	           {"mlp.c_proj + residual", 3072, 768, true, false, true, true},
	           {"logits, 50257 classes", 768, 50257, false, false, false, false},
	           {"logits, 50304 classes", 768, 50304, false, false, false, false}};
	const int64_t rows = 16 * 1024;
	for (const auto &l : all) {
		const struct linear_shape shape = {rows, l.in, l.out, l.in_out, l.gelu, ELEMENT_BF16};
		void *x = allocate(2 * rows * l.in), *w = allocate(2 * l.in * l.out), *bias = allocate(2 * l.out),
		     *residual = allocate(2 * rows * l.out), *y = allocate(2 * rows * l.out),
		     *pre = allocate(2 * rows * l.out), *dx = allocate(2 * rows * l.in),
		     *dw = allocate(2 * l.in * l.out), *dbias = allocate(2 * l.out);
		const double flops =
		        2.0 * static_cast<double>(rows) * static_cast<double>(l.in) * static_cast<double>(l.out);
		char name[64];
		fill(b, ELEMENT_BF16, rows * l.in, x);
		fill(b, ELEMENT_BF16, l.in * l.out, w);
		fill(b, ELEMENT_BF16, l.out, bias);
		fill(b, ELEMENT_BF16, rows * l.out, residual);
		double forward = seconds_of(b, [&] {
			return b->api.linear_forward(&b->c, b->stream, &shape, x, w, l.bias ? bias : nullptr,
			                             l.residual ? residual : nullptr, y, l.gelu ? pre : nullptr);
		});
		double backward = seconds_of(b, [&] {
			return b->api.linear_backward(&b->c, b->stream, &shape, residual, x, w, l.gelu ? pre : nullptr,
			                              dx, dw, false, l.bias ? dbias : nullptr, false);
		});
		snprintf(name, sizeof name, "%s, forward", l.name);
		product_line(b, name, "bf16", flops, forward, b->peak);
		snprintf(name, sizeof name, "%s, backward", l.name);
		product_line(b, name, "bf16", 2 * flops, backward, b->peak);
		for (void *p : {x, w, bias, residual, y, pre, dx, dw, dbias})
			check(cudaFree(p), "memory");
	}
}

void attention(struct bench *b)
{
	for (int64_t size : {64, 128})
		for (int64_t tokens : {1024, 4096}) {
			const struct attention_shape s = {65536 / tokens, tokens, 768 / size, size, ELEMENT_BF16};
			const int64_t n = s.samples * tokens * s.heads * size;
			void *qkv = allocate(6 * n), *y = allocate(2 * n), *dy = allocate(2 * n),
			     *dqkv = allocate(6 * n), *sums = allocate(4 * s.samples * s.heads * tokens);
			fill(b, ELEMENT_BF16, 3 * n, qkv);
			fill(b, ELEMENT_BF16, n, dy);
			const double flops = 2.0 * static_cast<double>(n) * static_cast<double>(tokens);
			double forward = seconds_of(b, [&] {
				return b->api.attention_forward(&b->c, b->stream, &s, qkv, y,
				                                static_cast<float *>(sums));
			});
			double backward = seconds_of(b, [&] {
				return b->api.attention_backward(&b->c, b->stream, &s, dy, qkv, y,
				                                 static_cast<float *>(sums), dqkv);
			});
			for (bool back : {false, true}) {
				double seconds = back ? backward : forward,
				       rate = 1e-12 * (back ? 2.5 : 1) * flops / seconds;
				printf("attention %-8s head %3lld T %5lld   bf16  %9.1f us %8.1f TFLOP/s %5.1f%% of "
				       "products'\n",
				       back ? "backward" : "forward", static_cast<long long>(size),
				       static_cast<long long>(tokens), 1e6 * seconds, rate,
				       100 * rate / b->product_rate);
			}
			for (void *p : {qkv, y, dy, dqkv, sums})
				check(cudaFree(p), "memory");
		}
}

} // namespace

int main(int argc, char **argv)
{
	struct bench b = {};
	struct cudaDeviceProp device;
	b.repeats = 20;
	b.peak = 989;
	for (int i = 1; i < argc; i += 2) {
		if (i + 1 < argc && !strcmp(argv[i], "--repeats") && atoi(argv[i + 1]) > 0) {
			b.repeats = atoi(argv[i + 1]);
		} else if (i + 1 < argc && !strcmp(argv[i], "--peak") && atof(argv[i + 1]) > 0) {
			b.peak = atof(argv[i + 1]);
		} else {
			fprintf(stderr, "usage: %s [--repeats N] [--peak TFLOPS]\n", argv[0]);
			return 2;
		}
	}
	check(cudaGetDeviceProperties(&device, 0), "no GPU that can be used");
	check(cudaStreamCreate(&b.stream), "a stream");
	b.c.multiprocessors = device.multiProcessorCount;
	b.c.shared_bytes = static_cast<int>(device.sharedMemPerBlockOptin);
	b.c.major = device.major;
	b.c.minor = device.minor;
	b.c.workspace_bytes = 64 << 20;
	b.c.workspace = allocate(64 << 20);
	check(product_open(&b.c), "cuBLASLt");
	cuda_fill_linear(&b.api);
	cuda_fill_attention(&b.api);
	printf("%s, %d multiprocessors; median of %d\n", device.name, device.multiProcessorCount, b.repeats);
	squares(&b);
	layers(&b);
	attention(&b);
	product_close(&b.c);
	return 0;
}
