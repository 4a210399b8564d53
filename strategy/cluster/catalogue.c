/* The clusters that are known by name: data sheets and published figures, so every rate here is an assumption.
 *
 * Sources:
 *
 * - Peaks, memory bandwidth: NVIDIA A100 whitepaper, table 4 (V100, A100); ml-engineering, compute/accelerator (H100,
 *   H200): github.com/stas00/ml-engineering.
 * - Matrix products: peak × the best efficiency that was measured: ml-engineering's MAMF table, bf16: A100 271.2 of
 *   312, H100 794.5 of 989 (H200 the same). V100 and fp32 have no row: V100 takes H100's 80.3 %, fp32 and tf32 (half of
 *   bf16's peak) the efficiency of their device.
 *   The peaks themselves, dense: V100 125 (fp16), A100 312, H100 and H200 989.4 TFLOP/s; tf32 half of it; fp32 15.7,
 *   19.5 and 67 without tensor cores (the whitepapers of NVIDIA's V100, A100 and H100).
 * - Attention: FlashAttention-2 (arXiv 2307.08691): 50 to 73 % of peak on A100, 25 to 40 % its predecessor (V100);
 *   FlashAttention-3 (arXiv 2407.08608): 35 % on H100. The lower end.
 * - Links inside a node: NCCL's own model, src/graph/topo.h: 20 GB/s a link on V100 and A100, 20.6 on H100, with 6, 12
 *   and 18 links (measured busbw: 235 of 240 on A100, 367.6 of 370.8 on H200).
 * - Network: NCCL's model: 12.0 GB/s per 100 Gb/s; NICs of DGX-1, DGX-2, DGX A100, DGX H100.
 * - Latencies: NCCL src/graph/tuning.cc, ring, Simple: 8.4 us a collective, a hop 3.4 us on NVLink, 14 between nodes.
 * - Host link: 12 GB/s over PCIe 3, 25 over PCIe 4, 55.4 over PCIe 5 (ml-engineering, network).
 * - Host memory: DGX-1 128, DGX-2 199 GB/s measured on such CPUs (AnandTech 11544); DGX A100: 2 sockets of 8 channels
 *   DDR4-3200; DGX H100: 2 sockets of 8 channels DDR5-4800.
 * - Overhead: CUDA context 0.47 GiB (A100, loaded lazily), 1343 MiB (V100: Hugging Face, model_memory_anatomy), and
 *   1.45 GiB for the first collective (ml-engineering, performance).
 * - Memory: as nvidia-smi or PyTorch reports it where published (16160 MiB V100, 40537 MiB A100-40, 79.15 GiB A100-80,
 *   143771 MiB H200); V100-32 is twice V100-16, H100 as A100-80.
 * - Disk: DGX-2: 28 GB/s (ZeRO-Infinity, SC21 slides); A100 nodes: 10 GB/s read and 5 written, measured on four NVMe
 *   drives (DeepSpeed, blogs/deepspeed-gds); H100 and H200 nodes have eight, and twice that; DGX-1: four SATA SSDs,
 *   0.5 GB/s each.
 *
 * Without a source, to be replaced by measuring: 100 us a request to the disk, 2 us a kernel launch, 10 us a copy over
 * the host link, 8 % of the multiprocessors for a running collective (NCCL takes one for each of its channels, some 8
 * to 16 of 80 to 132), and 30 GFLOP/s a host core.
 */
#include "strategy/cluster/cluster.h"

#include <string.h>

#define NODE(devices, cores, memory, bandwidth)                                                                        \
	"kind: gpu\n"                                                                                                  \
	"node: {devices: " devices ", cores: " cores ", memory: " memory ", memory_bandwidth: " bandwidth              \
	", core_compute: 3e10}\n"
#define DEVICE(memory, overhead, bandwidth)                                                                            \
	"device: {memory: " memory ", overhead: " overhead ", memory_bandwidth: " bandwidth                            \
	", launch: 2e-6, collective_launch: 8.4e-6, collective_share: 0.08}\n"
#define LINKS(link, nic, rails, host)                                                                                  \
	"link: {latency: 3.4e-6, bandwidth: " link "}\n"                                                               \
	"network: {latency: 14e-6, bandwidth: " nic ", rails: " rails "}\n"                                            \
	"host_link: {latency: 10e-6, bandwidth: " host "}\n"
#define DISK(read, write, capacity)                                                                                    \
	"disk: {latency: 100e-6, read_bandwidth: " read ", write_bandwidth: " write ", capacity: " capacity "}\n"
/* plain: what kernels without matrix products reach, in every type; 16: fp16, or fp16 and bf16 */
#define FP16(rate) ", fp16: " rate
#define BOTH16(rate) ", fp16: " rate ", bf16: " rate
#define RATES(key, fp32, types16) "  " key ": {fp32: " fp32 types16 "}\n"
#define COMPUTE(types16, tf32, plain, matrix32, matrix16, attention16)                                                 \
	"compute:\n" RATES("default", plain, types16(plain)) RATES("linear", matrix32, types16(matrix16) tf32)         \
	        RATES("abstract", matrix32, types16(matrix16) tf32) RATES("attention", matrix32, types16(attention16))
#define V100_COMPUTE COMPUTE(FP16, "", "15.7e12", "12.6e12", "100e12", "31e12") RATES("peak", "15.7e12", FP16("125e12"))
#define A100_COMPUTE                                                                                                   \
	COMPUTE(BOTH16, ", tf32: 135.6e12", "19.5e12", "16.9e12", "271.2e12", "156e12")                                \
	RATES("peak", "19.5e12", BOTH16("312e12") ", tf32: 156e12")
#define H100_COMPUTE                                                                                                   \
	COMPUTE(BOTH16, ", tf32: 397.2e12", "67e12", "53.8e12", "794.5e12", "346e12")                                  \
	RATES("peak", "67e12", BOTH16("989.4e12") ", tf32: 494.7e12")

#define DGX1 NODE("8", "40", "512GB", "128e9") DISK("2e9", "2e9", "7.68TB")
#define DGX2 NODE("16", "48", "1500GB", "199e9") DISK("28e9", "28e9", "30TB")
#define DGX_A100(memory) NODE("8", "128", memory, "409.6e9") DISK("10e9", "5e9", "15.3TB")
#define DGX_H100 NODE("8", "112", "2TB", "614.4e9") DISK("20e9", "10e9", "30.7TB")

#define ENTRY(name, what, text)                                                                                        \
	{                                                                                                              \
		name, what, "name: " name "\nabout: '" what "'\n" text                                                 \
	}

static const struct {
	const char *name, *what, *text;
} entries[] = {
        ENTRY("laptop", "2 CPU cores, 8 GB, one rank a core: the same everywhere, for examples",
              "kind: cpu\n"
              "node: {cores: 2, memory: 8GB, memory_bandwidth: 20e9}\n"
              "device: {threads: 1, overhead: 64MiB, memory_bandwidth: 12e9, launch: 1e-6, collective_launch: 5e-6,\n"
              "  collective_cores: 0.5}\n"
              "compute:\n"
              "  default: {fp32: 5e9, bf16: 5e9, fp16: 5e9}\n"
              "  linear: {fp32: 50e9, bf16: 50e9, fp16: 50e9}\n"
              "  abstract: {fp32: 50e9, bf16: 50e9, fp16: 50e9}\n"
              "  attention: {fp32: 20e9, bf16: 20e9, fp16: 20e9}\n"
              "link: {latency: 2e-6, bandwidth: 5e9}\n"
              "disk: {latency: 100e-6, read_bandwidth: 2e9, write_bandwidth: 1e9, capacity: 256GB}\n"),
        ENTRY("v100-16gb", "DGX-1: 8 V100 with 16 GB, NVLink, 4 × 100 Gb/s",
              DGX1 DEVICE("16160MiB", "2828MiB", "900e9") LINKS("120e9", "12e9", "4", "12e9") V100_COMPUTE),
        ENTRY("v100-32gb", "DGX-1: 8 V100 with 32 GB, NVLink, 4 × 100 Gb/s",
              DGX1 DEVICE("32320MiB", "2828MiB", "900e9") LINKS("120e9", "12e9", "4", "12e9") V100_COMPUTE),
        ENTRY("dgx-2", "16 V100 with 32 GB, NVLink, 8 × 100 Gb/s: what the ZeRO paper used",
              DGX2 DEVICE("32320MiB", "2828MiB", "900e9") LINKS("120e9", "12e9", "8", "12e9") V100_COMPUTE),
        ENTRY("a100-40gb", "DGX A100: 8 A100 with 40 GB, NVLink, 8 × 200 Gb/s",
              DGX_A100("1TB") DEVICE("40537MiB", "1966MiB", "1555e9") LINKS("240e9", "24e9", "8", "25e9") A100_COMPUTE),
        ENTRY("a100-80gb", "DGX A100: 8 A100 with 80 GB, NVLink, 8 × 200 Gb/s",
              DGX_A100("2TB") DEVICE("81049MiB", "1966MiB", "2039e9") LINKS("240e9", "24e9", "8", "25e9") A100_COMPUTE),
        ENTRY("h100", "DGX H100: 8 H100 with 80 GB, NVLink, 8 × 400 Gb/s",
              DGX_H100 DEVICE("81049MiB", "1966MiB", "3350e9") LINKS("370.8e9", "48e9", "8", "55.4e9") H100_COMPUTE),
        ENTRY("h200", "8 H200 with 141 GB, NVLink, 8 × 400 Gb/s",
              DGX_H100 DEVICE("143771MiB", "1966MiB", "4800e9") LINKS("370.8e9", "48e9", "8", "55.4e9") H100_COMPUTE),
};

enum { ENTRY_COUNT = sizeof entries / sizeof *entries };

const char *cluster_catalogue(const char *name)
{
	for (int i = 0; i < ENTRY_COUNT; i++)
		if (!strcmp(name, entries[i].name))
			return entries[i].text;
	return NULL;
}

void cluster_list(void (*line)(void *context, const char *name, const char *what), void *context)
{
	line(context, CLUSTER_LOCAL, "this machine: as calibrated, else with assumed rates");
	line(context, CLUSTER_LOCAL_CUDA, "its GPUs: as calibrated with {device} cuda, else those of an H100 assumed");
	for (int i = 0; i < ENTRY_COUNT; i++)
		line(context, entries[i].name, entries[i].what);
}
