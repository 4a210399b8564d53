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
 * - Other cards: peaks (dense, accumulated in fp32), bandwidth and multiprocessors as their makers state them: NVIDIA's
 *   white papers of Turing (T4, Titan RTX), GA102 (RTX 3090, A10), Ada (RTX 4090, L4, L40S) and Blackwell (RTX 5060 Ti,
 *   5090, RTX PRO 6000, B200), the H100 PCIe's data sheet, AMD's of the MI300X, which has 304 compute units. Products:
 *   B200 1745 of 2250, MI300X 668.4 of 1307.4, A100 PCIe 252.9 of 312 (the MAMF table). H100 PCIe has the H100's 80.3
 *   %, RTX PRO 6000, whose power holds it back less, 90 %. All others have their peak as ceiling, since their clocks
 *   rise above the data sheet's. Attention: half of the ceiling of products (FlashAttention-2's lower end), on B200 35
 *   % of the peak as on H100, on MI300X 30 % of products. Memory as nvidia-smi or rocm-smi shows it.
 * - fp8, dense, sums in fp32: peaks as the makers state them, twice the 16-bit ones; H100 1402.6 of 1979 and B200
 *   3432.5 of 4500 (the MAMF table, fp8), H100 PCIe the H100's 70.9 %, MI300X the 51.1 % of its bf16, RTX PRO 6000
 *   the 90 % of its own, all others their peak. Cards before Ada and Hopper have none, and refuse it.
 * - Their links: NCCL's model of NVLink 5 (40.1 GB/s, 18 links), AMD's xGMI (7 × 64 GB/s, 312.9 measured on 8), two
 *   thirds of PCIe's rate where devices have no other link (20 GB/s with 3 or more A100 PCIe: nccl-tests, issue 178),
 *   with NCCL's hop of 5.7 us over PCIe.
 * - Cloud machines, at NCCL's 12.0 GB/s per 100 Gb/s; the NICs of the GPUs alone; cores are half of the vCPUs. AWS:
 *   GPUs, their memory, vCPUs, memory and network of p3, p3dn, g4dn, g5, g6: AWS Batch user guide, GPU jobs; of p4d,
 * p4de, p5, p5en, g6e the vCPUs, memory and EFA devices that pytorch/torchx has of them (specs/named_resources_aws.py),
 * 100 Gb/s each, those of p5en 200: p5 and p5en have 3,200 Gb/s (skypilot, examples/aws_efa; torchx, pull request 995);
 *   p6-b200 3,200 Gb/s (Next Platform, 146009) and 2,048 GiB (openshift-docs, pull request 98009). Google Cloud:
 * Compute Engine, Networking and GPU machines: A2 up to 100 Gb/s, A3 High 1,000, A3 Mega 1,800, A3 Ultra and A4 3,600,
 * of which 200, 200, 400 and 400 are not the GPUs'; their memory as its machine types are listed, but of A3 Ultra and
 * A4 that of DGX H100. Azure: Microsoft Learn, ND-A100-v4, NDm-A100-v4, ND-H100-v5, ND-H200-v5 and ND-MI300X-v5 size
 *   series: an InfiniBand port a GPU, of 200 or 400 Gb/s, and 900, 1,900, 1,900, 1,850 and 1,850 GiB.
 *
 * Without a source, to be replaced by measuring: 100 us a request to the disk, 2 us a kernel launch, 10 us a copy over
 * the host link, 8 % of the multiprocessors for a running collective (NCCL takes one for each of its channels, some 8
 * to 16 of 80 to 132), and 30 GFLOP/s a host core.
 */
#include "strategy/cluster/cluster.h"

#include <string.h>

#define NODE(card, devices, cores, memory, bandwidth)                                                                  \
	"kind: gpu\ncard: " card "\n"                                                                                  \
	"node: {devices: " devices ", cores: " cores ", memory: " memory ", memory_bandwidth: " bandwidth              \
	", core_compute: 3e10}\n"
#define DEVICE(multiprocessors, memory, overhead, bandwidth)                                                           \
	"device: {multiprocessors: " multiprocessors ", memory: " memory ", overhead: " overhead                       \
	", memory_bandwidth: " bandwidth ", launch: 2e-6, collective_launch: 8.4e-6, collective_share: 0.08}\n"
#define LINKS_OF(latency, link, nic, rails, host)                                                                      \
	"link: {latency: " latency ", bandwidth: " link "}\n"                                                          \
	"network: {latency: 14e-6, bandwidth: " nic ", rails: " rails "}\n"                                            \
	"host_link: {latency: 10e-6, bandwidth: " host "}\n"
#define LINKS(link, nic, rails, host) LINKS_OF("3.4e-6", link, nic, rails, host)
#define LINKS_PCIE(link, nic, rails, host) LINKS_OF("5.7e-6", link, nic, rails, host)
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
	COMPUTE(BOTH16, ", tf32: 397.2e12, fp8: 1402.6e12", "67e12", "53.8e12", "794.5e12", "346e12")                  \
	RATES("peak", "67e12", BOTH16("989.4e12") ", tf32: 494.7e12, fp8: 1979e12")

#define DGX1 NODE("volta", "8", "40", "512GB", "128e9") DISK("2e9", "2e9", "7.68TB")
#define DGX2 NODE("volta", "16", "48", "1500GB", "199e9") DISK("28e9", "28e9", "30TB")
#define DGX_A100(memory) NODE("ampere", "8", "128", memory, "409.6e9") DISK("10e9", "5e9", "15.3TB")
#define DGX_H100 NODE("hopper", "8", "112", "2TB", "614.4e9") DISK("20e9", "10e9", "30.7TB")

/* A card of which the peaks are the ceilings, tf32 half of bf16's where it has any. */
#define PEAKS(fp32, types16, tf32, matrix16, attention16)                                                              \
	COMPUTE(types16, tf32, fp32, fp32, matrix16, attention16) RATES("peak", fp32, types16(matrix16) tf32)
#define WORKSTATION(card, devices) NODE(card, devices, "32", "256GB", "150e9") DISK("5e9", "3e9", "2TB")
#define SERVER(card, devices) NODE(card, devices, "64", "1TB", "300e9") DISK("5e9", "3e9", "4TB")
#define A100_PCIE_COMPUTE                                                                                              \
	COMPUTE(BOTH16, ", tf32: 126.4e12", "19.5e12", "15.8e12", "252.9e12", "126e12")                                \
	RATES("peak", "19.5e12", BOTH16("312e12") ", tf32: 156e12")
#define H100_PCIE_COMPUTE                                                                                              \
	COMPUTE(BOTH16, ", tf32: 303.5e12, fp8: 1072.7e12", "51e12", "41e12", "607e12", "265e12")                      \
	RATES("peak", "51e12", BOTH16("756e12") ", tf32: 378e12, fp8: 1513e12")
#define B200_COMPUTE                                                                                                   \
	COMPUTE(BOTH16, ", tf32: 872e12, fp8: 3432.5e12", "80e12", "64e12", "1745e12", "787e12")                       \
	RATES("peak", "80e12", BOTH16("2250e12") ", tf32: 1125e12, fp8: 4500e12")
#define MI300X_COMPUTE                                                                                                 \
	COMPUTE(BOTH16, ", tf32: 334e12, fp8: 1334.4e12", "163.4e12", "120e12", "668.4e12", "200e12")                  \
	RATES("peak", "163.4e12", BOTH16("1307.4e12") ", tf32: 653.7e12, fp8: 2610e12")
#define A10_COMPUTE PEAKS("31.2e12", BOTH16, ", tf32: 62.5e12", "125e12", "62.5e12")
#define L4_COMPUTE PEAKS("30.3e12", BOTH16, ", tf32: 60.5e12, fp8: 242e12", "121e12", "60.5e12")
#define L40S_COMPUTE PEAKS("91.6e12", BOTH16, ", tf32: 183e12, fp8: 733e12", "362e12", "181e12")
#define T4_COMPUTE PEAKS("8.1e12", FP16, "", "65e12", "16e12")
#define TITAN_RTX_COMPUTE PEAKS("16.3e12", FP16, "", "130.5e12", "33e12")
#define RTX_3090_COMPUTE PEAKS("35.6e12", BOTH16, ", tf32: 35.6e12", "71e12", "35.5e12")
#define RTX_4090_COMPUTE PEAKS("82.6e12", BOTH16, ", tf32: 82.6e12, fp8: 330.3e12", "165.2e12", "82.6e12")
#define RTX_5060TI_COMPUTE PEAKS("23.7e12", BOTH16, ", tf32: 23.7e12, fp8: 94.8e12", "47.4e12", "23.7e12")
#define RTX_5090_COMPUTE PEAKS("104.8e12", BOTH16, ", tf32: 104.8e12, fp8: 419e12", "209.5e12", "104.8e12")
#define RTX_PRO_6000_COMPUTE                                                                                           \
	COMPUTE(BOTH16, ", tf32: 226e12, fp8: 906.8e12", "125e12", "112e12", "453e12", "226e12")                       \
	RATES("peak", "125e12", BOTH16("503.8e12") ", tf32: 251.9e12, fp8: 1007.6e12")
/* Cloud machines: cores and memory of the whole machine, else the node and disks of the maker's own. */
#define HOST_V100(cores, memory) NODE("volta", "8", cores, memory, "128e9") DISK("2e9", "2e9", "7.68TB")
#define HOST_A100(cores, memory) NODE("ampere", "8", cores, memory, "409.6e9") DISK("10e9", "5e9", "15.3TB")
#define HOST_8(card, cores, memory) NODE(card, "8", cores, memory, "614.4e9") DISK("20e9", "10e9", "30.7TB")
#define HOST_PCIE(card, devices, cores, memory) NODE(card, devices, cores, memory, "300e9") DISK("5e9", "3e9", "4TB")
#define V100_16 DEVICE("80", "16160MiB", "2828MiB", "900e9")
#define V100_32 DEVICE("80", "32320MiB", "2828MiB", "900e9")
#define A100_40 DEVICE("108", "40537MiB", "1966MiB", "1555e9")
#define A100_80 DEVICE("108", "81049MiB", "1966MiB", "2039e9")
#define H100_80 DEVICE("132", "81049MiB", "1966MiB", "3350e9")
#define H200_141 DEVICE("132", "143771MiB", "1966MiB", "4800e9")
#define B200_180 DEVICE("148", "183359MiB", "1966MiB", "8000e9")
#define MI300X_192 DEVICE("304", "196592MiB", "1966MiB", "5300e9")
#define L4_24 DEVICE("58", "23034MiB", "1000MiB", "300e9")
#define L40S_48 DEVICE("142", "46068MiB", "1500MiB", "864e9")
#define T4_16 DEVICE("40", "15360MiB", "1000MiB", "320e9")
#define H200_8 DGX_H100 H200_141
#define B200_8 HOST_8("blackwell", "112", "2TB") B200_180
#define MI300X_8 HOST_8("cdna3", "112", "2TB") MI300X_192
#define A10G DEVICE("80", "23028MiB", "1000MiB", "600e9")
#define A10G_COMPUTE PEAKS("31.5e12", BOTH16, ", tf32: 35e12", "70e12", "35e12")

#define ROW(name, what, text, machine)                                                                                 \
	{                                                                                                              \
		name, what, "name: " name "\nabout: '" what "'\n" text, machine                                        \
	}
#define ENTRY(name, what, text) ROW(name, what, text, false)
#define MACHINE(name, what, text) ROW(name, what, text, true)

static const struct {
	const char *name, *what, *text;
	bool machine; /* bought or rented as a whole: it has as many devices as it has */
} entries[] = {
        ENTRY("laptop", "2 CPU cores, 8 GB, one rank a core: the same everywhere, for examples",
              "kind: cpu\n"
              "node: {cores: 2, memory: 8GB, memory_bandwidth: 20e9}\n"
              "device: {threads: 1, overhead: 64MiB, memory_bandwidth: 12e9, launch: 1e-6, collective_launch: 5e-6,\n"
              "  collective_cores: 0.5}\n"
              "compute:\n"
              "  default: {fp32: 5e9, bf16: 5e9, fp16: 5e9}\n"
              "  linear: {fp32: 50e9, bf16: 50e9, fp16: 50e9, fp8: 50e9}\n"
              "  abstract: {fp32: 50e9, bf16: 50e9, fp16: 50e9}\n"
              "  attention: {fp32: 20e9, bf16: 20e9, fp16: 20e9}\n"
              "link: {latency: 2e-6, bandwidth: 5e9}\n"
              "disk: {latency: 100e-6, read_bandwidth: 2e9, write_bandwidth: 1e9, capacity: 256GB}\n"),
        ENTRY("v100-16gb", "DGX-1: 8 V100 with 16 GB, NVLink, 4 × 100 Gb/s",
              DGX1 DEVICE("80", "16160MiB", "2828MiB", "900e9") LINKS("120e9", "12e9", "4", "12e9") V100_COMPUTE),
        ENTRY("v100-32gb", "DGX-1: 8 V100 with 32 GB, NVLink, 4 × 100 Gb/s",
              DGX1 DEVICE("80", "32320MiB", "2828MiB", "900e9") LINKS("120e9", "12e9", "4", "12e9") V100_COMPUTE),
        MACHINE("dgx-2", "16 V100 with 32 GB, NVLink, 8 × 100 Gb/s: what the ZeRO paper used",
                DGX2 DEVICE("80", "32320MiB", "2828MiB", "900e9") LINKS("120e9", "12e9", "8", "12e9") V100_COMPUTE),
        ENTRY("a100-40gb", "DGX A100: 8 A100 with 40 GB, NVLink, 8 × 200 Gb/s",
              DGX_A100("1TB") DEVICE("108", "40537MiB", "1966MiB", "1555e9") LINKS("240e9", "24e9", "8", "25e9")
                      A100_COMPUTE),
        ENTRY("a100-80gb", "DGX A100: 8 A100 with 80 GB, NVLink, 8 × 200 Gb/s",
              DGX_A100("2TB") DEVICE("108", "81049MiB", "1966MiB", "2039e9") LINKS("240e9", "24e9", "8", "25e9")
                      A100_COMPUTE),
        ENTRY("h100", "DGX H100: 8 H100 with 80 GB, NVLink, 8 × 400 Gb/s",
              DGX_H100 DEVICE("132", "81049MiB", "1966MiB", "3350e9") LINKS("370.8e9", "48e9", "8", "55.4e9")
                      H100_COMPUTE),
        ENTRY("h200", "8 H200 with 141 GB, NVLink, 8 × 400 Gb/s",
              H200_8 LINKS("370.8e9", "48e9", "8", "55.4e9") H100_COMPUTE),
        ENTRY("a100-pcie-40gb", "8 A100 PCIe with 40 GB, 2 × 200 Gb/s",
              SERVER("ampere", "8") DEVICE("108", "40537MiB", "1966MiB", "1555e9")
                      LINKS_PCIE("20e9", "24e9", "2", "25e9") A100_PCIE_COMPUTE),
        ENTRY("a100-pcie-80gb", "8 A100 PCIe with 80 GB, 2 × 200 Gb/s",
              SERVER("ampere", "8") DEVICE("108", "81049MiB", "1966MiB", "1935e9")
                      LINKS_PCIE("20e9", "24e9", "2", "25e9") A100_PCIE_COMPUTE),
        ENTRY("h100-pcie", "8 H100 PCIe with 80 GB, 2 × 400 Gb/s",
              SERVER("hopper", "8") DEVICE("114", "81559MiB", "1966MiB", "2000e9")
                      LINKS_PCIE("42e9", "48e9", "2", "55.4e9") H100_PCIE_COMPUTE),
        ENTRY("b200", "DGX B200: 8 B200 with 180 GB, NVLink, 8 × 400 Gb/s",
              B200_8 LINKS("721.8e9", "48e9", "8", "55.4e9") B200_COMPUTE),
        ENTRY("mi300x", "8 MI300X with 192 GB, xGMI, 8 × 400 Gb/s",
              MI300X_8 LINKS("312.9e9", "48e9", "8", "55.4e9") MI300X_COMPUTE),
        ENTRY("l40s", "8 L40S with 48 GB, PCIe, 400 Gb/s",
              SERVER("ada", "8") DEVICE("142", "46068MiB", "1500MiB", "864e9") LINKS_PCIE("20e9", "48e9", "1", "25e9")
                      L40S_COMPUTE),
        ENTRY("l4", "8 L4 with 24 GB, PCIe, 100 Gb/s",
              SERVER("ada", "8") DEVICE("58", "23034MiB", "1000MiB", "300e9") LINKS_PCIE("20e9", "12e9", "1", "25e9")
                      L4_COMPUTE),
        ENTRY("a10", "4 A10 with 24 GB, PCIe, 25 Gb/s",
              SERVER("ampere", "4") DEVICE("72", "23028MiB", "1000MiB", "600e9") LINKS_PCIE("20e9", "3e9", "1", "25e9")
                      A10_COMPUTE),
        ENTRY("t4", "4 T4 with 16 GB, PCIe, 25 Gb/s",
              SERVER("turing", "4") DEVICE("40", "15360MiB", "1000MiB", "320e9") LINKS_PCIE("10e9", "3e9", "1", "12e9")
                      T4_COMPUTE),
        ENTRY("titan-rtx", "2 Titan RTX with 24 GB, NVLink bridge, 25 Gb/s",
              WORKSTATION("turing", "2") DEVICE("72", "24220MiB", "1000MiB", "672e9") LINKS("40e9", "3e9", "1", "12e9")
                      TITAN_RTX_COMPUTE),
        ENTRY("rtx-3090", "4 RTX 3090 with 24 GB, PCIe, 25 Gb/s",
              WORKSTATION("ampere", "4") DEVICE("82", "24268MiB", "1000MiB", "936e9")
                      LINKS_PCIE("20e9", "3e9", "1", "25e9") RTX_3090_COMPUTE),
        ENTRY("rtx-4090", "4 RTX 4090 with 24 GB, PCIe, 25 Gb/s",
              WORKSTATION("ada", "4") DEVICE("128", "24564MiB", "1000MiB", "1008e9")
                      LINKS_PCIE("20e9", "3e9", "1", "25e9") RTX_4090_COMPUTE),
        ENTRY("rtx-5060ti", "1 RTX 5060 Ti with 16 GB",
              WORKSTATION("blackwell", "1") DEVICE("36", "16311MiB", "800MiB", "448e9")
                      LINKS_PCIE("20e9", "3e9", "1", "25e9") RTX_5060TI_COMPUTE),
        ENTRY("rtx-5090", "4 RTX 5090 with 32 GB, PCIe, 25 Gb/s",
              WORKSTATION("blackwell", "4") DEVICE("170", "32607MiB", "1000MiB", "1792e9")
                      LINKS_PCIE("42e9", "3e9", "1", "50e9") RTX_5090_COMPUTE),
        ENTRY("rtx-pro-6000", "8 RTX PRO 6000 with 96 GB, PCIe, 400 Gb/s",
              SERVER("blackwell", "8") DEVICE("188", "97887MiB", "1200MiB", "1792e9")
                      LINKS_PCIE("42e9", "48e9", "1", "50e9") RTX_PRO_6000_COMPUTE),
        MACHINE("p3dn.24xlarge", "AWS: 8 V100 with 32 GB, NVLink, 100 Gb/s",
                HOST_V100("48", "768GiB") V100_32 LINKS("120e9", "12e9", "1", "12e9") V100_COMPUTE),
        MACHINE("p3.16xlarge", "AWS: 8 V100 with 16 GB, NVLink, 25 Gb/s",
                HOST_V100("32", "488GiB") V100_16 LINKS("120e9", "3e9", "1", "12e9") V100_COMPUTE),
        MACHINE("p4d.24xlarge", "AWS: 8 A100 with 40 GB, NVLink, 4 × 100 Gb/s",
                HOST_A100("48", "1152GiB") A100_40 LINKS("240e9", "12e9", "4", "25e9") A100_COMPUTE),
        MACHINE("p4de.24xlarge", "AWS: 8 A100 with 80 GB, NVLink, 4 × 100 Gb/s",
                HOST_A100("48", "1152GiB") A100_80 LINKS("240e9", "12e9", "4", "25e9") A100_COMPUTE),
        MACHINE("p5.48xlarge", "AWS: 8 H100, NVLink, 32 × 100 Gb/s",
                HOST_8("hopper", "96", "2048GiB") H100_80 LINKS("370.8e9", "12e9", "32", "55.4e9") H100_COMPUTE),
        MACHINE("p5en.48xlarge", "AWS: 8 H200, NVLink, 16 × 200 Gb/s",
                HOST_8("hopper", "96", "2048GiB") H200_141 LINKS("370.8e9", "24e9", "16", "55.4e9") H100_COMPUTE),
        MACHINE("p6-b200.48xlarge", "AWS: 8 B200, NVLink, 8 × 400 Gb/s",
                HOST_8("blackwell", "96", "2048GiB") B200_180 LINKS("721.8e9", "48e9", "8", "55.4e9") B200_COMPUTE),
        MACHINE("g4dn.12xlarge", "AWS: 4 T4 with 16 GB, PCIe, 50 Gb/s",
                HOST_PCIE("turing", "4", "24", "192GiB") T4_16 LINKS_PCIE("10e9", "6e9", "1", "12e9") T4_COMPUTE),
        MACHINE("g5.12xlarge", "AWS: 4 A10G with 24 GB, PCIe, 40 Gb/s",
                HOST_PCIE("ampere", "4", "24", "192GiB") A10G LINKS_PCIE("20e9", "4.8e9", "1", "25e9") A10G_COMPUTE),
        MACHINE("g5.48xlarge", "AWS: 8 A10G with 24 GB, PCIe, 100 Gb/s",
                HOST_PCIE("ampere", "8", "96", "768GiB") A10G LINKS_PCIE("20e9", "12e9", "1", "25e9") A10G_COMPUTE),
        MACHINE("g6.48xlarge", "AWS: 8 L4 with 24 GB, PCIe, 100 Gb/s",
                HOST_PCIE("ada", "8", "96", "768GiB") L4_24 LINKS_PCIE("20e9", "12e9", "1", "25e9") L4_COMPUTE),
        MACHINE("g6e.48xlarge", "AWS: 8 L40S with 48 GB, PCIe, 4 × 100 Gb/s",
                HOST_PCIE("ada", "8", "96", "1536GiB") L40S_48 LINKS_PCIE("20e9", "12e9", "4", "25e9") L40S_COMPUTE),
        MACHINE("a2-highgpu-8g", "Google Cloud: 8 A100 with 40 GB, NVLink, 100 Gb/s",
                HOST_A100("48", "680GiB") A100_40 LINKS("240e9", "12e9", "1", "25e9") A100_COMPUTE),
        MACHINE("a2-ultragpu-8g", "Google Cloud: 8 A100 with 80 GB, NVLink, 100 Gb/s",
                HOST_A100("48", "1360GiB") A100_80 LINKS("240e9", "12e9", "1", "25e9") A100_COMPUTE),
        MACHINE("a3-highgpu-8g", "Google Cloud: 8 H100, NVLink, 4 × 200 Gb/s",
                HOST_8("hopper", "104", "1872GiB") H100_80 LINKS("370.8e9", "24e9", "4", "55.4e9") H100_COMPUTE),
        MACHINE("a3-megagpu-8g", "Google Cloud: 8 H100, NVLink, 8 × 200 Gb/s",
                HOST_8("hopper", "104", "1872GiB") H100_80 LINKS("370.8e9", "24e9", "8", "55.4e9") H100_COMPUTE),
        MACHINE("a3-ultragpu-8g", "Google Cloud: 8 H200, NVLink, 8 × 400 Gb/s",
                H200_8 LINKS("370.8e9", "48e9", "8", "55.4e9") H100_COMPUTE),
        MACHINE("a4-highgpu-8g", "Google Cloud: 8 B200, NVLink, 8 × 400 Gb/s",
                B200_8 LINKS("721.8e9", "48e9", "8", "55.4e9") B200_COMPUTE),
        MACHINE("nd-a100-v4", "Azure: 8 A100 with 40 GB, NVLink, 8 × 200 Gb/s",
                HOST_A100("96", "900GiB") A100_40 LINKS("240e9", "24e9", "8", "25e9") A100_COMPUTE),
        MACHINE("ndm-a100-v4", "Azure: 8 A100 with 80 GB, NVLink, 8 × 200 Gb/s",
                HOST_A100("96", "1900GiB") A100_80 LINKS("240e9", "24e9", "8", "25e9") A100_COMPUTE),
        MACHINE("nd-h100-v5", "Azure: 8 H100, NVLink, 8 × 400 Gb/s",
                HOST_8("hopper", "96", "1900GiB") H100_80 LINKS("370.8e9", "48e9", "8", "55.4e9") H100_COMPUTE),
        MACHINE("nd-h200-v5", "Azure: 8 H200, NVLink, 8 × 400 Gb/s",
                HOST_8("hopper", "96", "1850GiB") H200_141 LINKS("370.8e9", "48e9", "8", "55.4e9") H100_COMPUTE),
        MACHINE("nd-mi300x-v5", "Azure: 8 MI300X, xGMI, 8 × 400 Gb/s",
                HOST_8("cdna3", "96", "1850GiB") MI300X_192 LINKS("312.9e9", "48e9", "8", "55.4e9") MI300X_COMPUTE),
};

enum { ENTRY_COUNT = sizeof entries / sizeof *entries };

/* -1: it has none of this name. */
static int find(const char *name)
{
	for (int i = 0; i < ENTRY_COUNT; i++)
		if (!strcmp(name, entries[i].name))
			return i;
	return -1;
}

const char *cluster_catalogue(const char *name)
{
	int i = find(name);
	return i < 0 ? NULL : entries[i].text;
}

bool cluster_is_machine(const char *name)
{
	int i = find(name);
	return i >= 0 && entries[i].machine;
}

void cluster_list(void (*line)(void *context, const char *name, const char *what), void *context)
{
	line(context, CLUSTER_LOCAL, "this machine: as calibrated, else with assumed rates");
	line(context, CLUSTER_LOCAL_CUDA, "its GPUs: as calibrated with {device} cuda, else those of an H100 assumed");
	for (int i = 0; i < ENTRY_COUNT; i++)
		line(context, entries[i].name, entries[i].what);
}
